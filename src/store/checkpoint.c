#include "store/checkpoint.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sync.h"

/* Pages of 4 KiB in the log. It is brought in after a MiB. When the disk is slow and writers are
 * not, it is done again at once from four on; from 16 on they are refused. Copying so much takes
 * some ten milliseconds. */
#define START_PAGES  256
#define AGAIN_PAGES  1024
#define BEHIND_PAGES 4096

enum step { RESTS, SYNCS_LOG, SYNCS_FILE };

struct checkpoint {
    sqlite3 *db;
    sqlite3 *reader; /* keeps the log from being begun anew */
    char *log_path;
    int file; /* closed after `db` */
    struct sync *sync;
    enum step step;
    bool is_ending;
    int pages;            /* in the log, as of the last commit */
    bool is_whole;        /* all of it was copied into the file */
    bool has_commits;     /* since */
    unsigned busy_ms;     /* what the connection waits for others */
    bool is_synced_by_us; /* false: SQLite syncs itself */
};

static bool run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* NORMAL: SQLite syncs where it has to. */
static void let_sqlite_sync(struct checkpoint *c, bool does)
{
    if (run(c->db, does ? "PRAGMA synchronous=NORMAL" : "PRAGMA synchronous=OFF"))
        c->is_synced_by_us = !does;
}

static void rest(struct checkpoint *c)
{
    (void)run(c->reader, "ROLLBACK");
    c->step = RESTS;
}

/* With SQLite's own syncs: there are none when nothing is left to copy, and another process may
 * have written. If it fails, since another process reads, the next to begin the log anew has to
 * sync. */
static void cut_log(struct checkpoint *c)
{
    let_sqlite_sync(c, true);
    if (c->is_synced_by_us)
        return;
    (void)sqlite3_busy_timeout(c->db, 0);
    if (sqlite3_wal_checkpoint_v2(c->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) ==
        SQLITE_OK) {
        c->pages = 0;
        let_sqlite_sync(c, false);
    }
    (void)sqlite3_busy_timeout(c->db, (int)c->busy_ms);
}

/* The disk or SQLite fails: done as SQLite does it, here and now. */
static void fall_back(struct checkpoint *c)
{
    rest(c);
    cut_log(c);
}

static void begin(struct checkpoint *c)
{
    cleanup_close int log = open(c->log_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (log < 0 || !run(c->reader, "BEGIN; SELECT COUNT(*) FROM sqlite_schema")) {
        fall_back(c);
        return;
    }
    c->step = SYNCS_LOG;
    sync_start(c->sync, log);
}

static void copy_pages(struct checkpoint *c)
{
    bool was_synced_by_us = c->is_synced_by_us;
    int pages = 0, copied = 0, r;

    let_sqlite_sync(c, false); /* the log is on the disk, the file is next */
    r = sqlite3_wal_checkpoint_v2(c->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied);
    if (!was_synced_by_us)
        let_sqlite_sync(c, true);
    if (r != SQLITE_OK) { /* another process is at it, or the disk is full: the next commit tries */
        rest(c);
        return;
    }
    c->is_whole = pages == copied;
    c->has_commits = false;
    c->step = SYNCS_FILE;
    sync_start(c->sync, c->file);
}

static void on_synced(void *arg, int result)
{
    struct checkpoint *c = arg;

    if (c->is_ending) {
        rest(c);
    } else if (result < 0) {
        fall_back(c);
    } else if (c->step == SYNCS_LOG) {
        copy_pages(c);
    } else {
        rest(c);
        if (c->is_whole && !c->has_commits)
            cut_log(c);
        else if (c->pages >= AGAIN_PAGES)
            begin(c);
    }
}

static int on_commit(void *arg, sqlite3 *db, const char *name, int pages)
{
    struct checkpoint *c = arg;
    bool is_anew = pages < c->pages; /* another process has copied all of the log */

    (void)db;
    (void)name;
    c->pages = pages;
    c->has_commits = true;
    if (c->step == RESTS && (pages >= START_PAGES || is_anew))
        begin(c);
    return SQLITE_OK;
}

static int open_all(struct checkpoint *c, struct loop *loop, const char *path, struct error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW;

    if (asprintf(&c->log_path, "%s-wal", path) < 0) {
        c->log_path = NULL;
        return error_memory(err);
    }
    c->file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (c->file < 0)
        return error_errno(err, "open `%s`", path);
    if (sqlite3_open_v2(path, &c->reader, flags, NULL) != SQLITE_OK)
        return error_set(err, E_SYSTEM, "`%s`: %s", path,
                         c->reader ? sqlite3_errmsg(c->reader) : "out of memory");
    return sync_new(loop, on_synced, c, &c->sync, err);
}

int checkpoint_new(struct loop *loop, sqlite3 *db, const char *path, unsigned busy_ms,
                   struct checkpoint **ret_checkpoint, struct error *err)
{
    struct checkpoint *c = calloc(1, sizeof(*c));

    if (!c)
        return error_memory(err);
    *c = (struct checkpoint){.db = db, .file = -1, .busy_ms = busy_ms};
    *ret_checkpoint = c;
    if (open_all(c, loop, path, err) < 0)
        return -1;
    (void)sqlite3_wal_hook(db, on_commit, c);
    cut_log(c); /* of those before us; then we sync */
    return 0;
}

int checkpoint_end(struct checkpoint *c)
{
    int file;

    if (!c)
        return -1;
    c->is_ending = true;
    if (c->sync)
        sync_wait(c->sync);
    sync_free(c->sync);
    (void)sqlite3_wal_hook(c->db, NULL, NULL);
    let_sqlite_sync(c, true);
    (void)sqlite3_close(c->reader);
    file = c->file;
    free(c->log_path);
    free(c);
    return file;
}

bool checkpoint_is_behind(const struct checkpoint *c)
{
    return c && c->pages >= BEHIND_PAGES && c->step != RESTS;
}
