/* Brings the log of an SQLite file (WAL) into the file itself, without making the event loop wait
 * for the disk.
 *
 * SQLite does that in the commit that makes the log long: it waits for the disk twice, and with it
 * a server's other clients. Here Linux syncs the files while the loop goes on (base/sync.h),
 * and the steps in between are copies in memory:
 *
 * 1. a second connection begins to read: as long as it does, nobody begins the log anew,
 * 2. the log is synced,
 * 3. what it had in step 1 is copied into the file,
 * 4. the file is synced,
 * 5. if nothing was written meanwhile the log is cut to nothing. Otherwise it all begins again.
 *
 * So the file and the log together are whole at any moment at which the power may fail: a page is
 * copied only from a log that is on the disk, and the log is cut only when the file is. SQLite's
 * own syncs are switched off meanwhile. A new log begins in an empty file, where no older record
 * can be taken for a new one.
 */
#pragma once

#include <stdbool.h>

#include <sqlite3.h>

#include "base/error.h"
#include "base/loop.h"

struct checkpoint;

/* For the connection `db` to the file `path`, which has a log; it waits so long for others. On
 * failure checkpoint_end() has to be called, too. */
int checkpoint_new(struct loop *loop, sqlite3 *db, const char *path, unsigned busy_ms,
                   struct checkpoint **ret_checkpoint, struct error *err);

/* Waits for what is under way. From now on SQLite syncs itself. Returns the descriptor that has to
 * be closed after `db`, or -1: closing it would take the locks of the file from `db`. */
int checkpoint_end(struct checkpoint *checkpoint);

/* The disk does not keep up: no more should be written for now. */
bool checkpoint_is_behind(const struct checkpoint *checkpoint);
