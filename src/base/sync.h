/* fdatasync(2) that nobody waits for: Linux does it (AIO, Linux 4.18), and says when it is
 * done. Where Linux does not offer that, it is done at once and costs its time. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/loop.h"

struct sync;

/* `done` is called from the loop, with 0 or a negative errno. */
typedef void (*sync_fn)(void *arg, int result);

/* loop: may be NULL; then only sync_wait() makes `done` be called. */
int sync_new(struct loop *loop, sync_fn done, void *arg, struct sync **ret_sync, struct error *err);
void sync_free(struct sync *sync); /* nothing is under way any more */

bool sync_is_busy(const struct sync *sync);

/* Not while one is under way. The descriptor may be closed meanwhile. */
void sync_start(struct sync *sync, int fd);

/* Waits for what is under way; `done` has been called when this returns. */
void sync_wait(struct sync *sync);
