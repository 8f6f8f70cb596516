/* Says when what was committed to a store survives a power failure (base/group_sync.h). A commit is
 * in SQLite's log when it returns. */
#pragma once

#include "base/group_sync.h"

struct log_sync;

/* `path` is that of the store; its directory has to be there. */
int log_sync_new(struct loop *loop, const char *path, struct log_sync **ret_sync,
                 struct error *err);

/* Nobody who waits is told any more. Accepts NULL. */
void log_sync_free(struct log_sync *sync);

/* Call it after the commit. */
void log_sync_wait(struct log_sync *sync, struct group_sync_wait *wait);
