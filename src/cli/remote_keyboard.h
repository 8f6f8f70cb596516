/* The keys of our terminal for a command of a server: a process of its own, since the one that
 * reads the command's output waits for that. It ends with its parent, or when the command is over.
 */
#pragma once

#include <sys/types.h>

#include <jansson.h>

#include "base/error.h"
#include "http/client.h"

/* "cols" and "rows" of our terminal. NULL: out of memory. */
json_t *remote_keyboard_size(void);

/* `path` is that of the command. *ret_pid is for remote_keyboard_end(). */
int remote_keyboard_begin(const struct client *client, const char *path, int keyboard,
                          pid_t *ret_pid, struct error *err);
void remote_keyboard_end(pid_t pid);
