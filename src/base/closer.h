/* A helper process that closes descriptors for this one.
 *
 * Linux frees the pages of a deleted file, of a memory file or of a whole tmpfs in the process that
 * drops the last reference. For two gigabytes that takes half a second, in which the event loop
 * would answer nobody. So such descriptors are sent to a helper, and this process drops its own
 * reference first. The helper has no other descriptor of ours and ends with this process.
 *
 * Nothing here waits. Without a helper (never started, killed, too far behind) descriptors are
 * closed directly.
 */
#pragma once

#include "base/error.h"
#include "base/loop.h"

/* One per process; `loop` must outlive it. Does nothing when there is one already. */
int closer_start(struct loop *loop, struct error *err);

/* Ends the helper and waits for its end. Harmless when there is none. */
void closer_stop(void);

/* Closes and forgets a descriptor that may hold a whole file system. Accepts -1. */
void closer_close(int *fd);

/* Closes a file whose file system is held by somebody else: a small file is closed directly, as
 * long as few bytes were freed that way in this turn of the loop. */
void closer_close_file(int *fd);
