/* The lines typed before, in a file: private, appended to at once, so that several prompts can
 * share it, and cut to its newest part when it has grown. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* Lines that are kept. The file is cut when it has twice as many. */
#define HISTORY_LINES ((size_t)1000)

/* Calls `fn` for each of the newest lines, oldest first. A file that is missing is an empty one.
 * One that is not a file of ours (a link, somebody else's) is E_DENIED. */
int history_file_load(const char *path, void (*fn)(void *user, const char *line), void *user,
                      struct error *err);

int history_file_add(const char *path, const char *line, struct error *err);
