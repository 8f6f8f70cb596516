/* Durable jobs on the disk: the tables, and the steps of a job's life. job_record_read.c has what
 * clients and the queue read. */
#include "store/job_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/paths.h"

/* A job goes with its attempts and texts. `usage` is kept by triggers, so that nobody ever counts
 * all rows. In `piece` the request is kind 0, the result kind 1. */
static const char tables[] =
    "CREATE TABLE IF NOT EXISTS job(id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL,"
    " state INTEGER NOT NULL, due INTEGER NOT NULL, created INTEGER NOT NULL, ended INTEGER,"
    " expires INTEGER, attempts INTEGER NOT NULL, max_attempts INTEGER NOT NULL,"
    " repeatable INTEGER NOT NULL, retry_on INTEGER NOT NULL, retry_ms INTEGER NOT NULL,"
    " keep_ms INTEGER NOT NULL, idempotency BLOB, body BLOB, correlation TEXT NOT NULL,"
    " outcome TEXT, error TEXT, result_bytes INTEGER NOT NULL, bytes INTEGER NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS job_line ON job(state, owner, due, id);"
    "CREATE INDEX IF NOT EXISTS job_due ON job(state, due);"
    "CREATE INDEX IF NOT EXISTS job_owner ON job(owner, id);"
    "CREATE INDEX IF NOT EXISTS job_list ON job(owner, state, id);"
    "CREATE INDEX IF NOT EXISTS job_expires ON job(expires) WHERE expires IS NOT NULL;"
    "CREATE UNIQUE INDEX IF NOT EXISTS job_key ON job(owner, idempotency)"
    " WHERE idempotency IS NOT NULL;"
    "CREATE TABLE IF NOT EXISTS attempt(job TEXT NOT NULL, number INTEGER NOT NULL,"
    " run TEXT NOT NULL, begun INTEGER NOT NULL, ended INTEGER, outcome TEXT,"
    " PRIMARY KEY(job, number), FOREIGN KEY(job) REFERENCES job(id) ON DELETE CASCADE)"
    " WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS piece(job TEXT NOT NULL, kind INTEGER NOT NULL,"
    " number INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY(job, kind, number),"
    " FOREIGN KEY(job) REFERENCES job(id) ON DELETE CASCADE);"
    "CREATE TABLE IF NOT EXISTS usage(owner TEXT NOT NULL, state INTEGER NOT NULL,"
    " jobs INTEGER NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY(owner, state)) WITHOUT ROWID;"
    "CREATE TRIGGER IF NOT EXISTS job_added AFTER INSERT ON job BEGIN"
    " INSERT INTO usage VALUES(new.owner, new.state, 1, new.bytes) ON CONFLICT DO UPDATE SET"
    " jobs=jobs+1, bytes=bytes+excluded.bytes; END;"
    "CREATE TRIGGER IF NOT EXISTS job_removed AFTER DELETE ON job BEGIN"
    " UPDATE usage SET jobs=jobs-1, bytes=bytes-old.bytes"
    " WHERE owner=old.owner AND state=old.state;"
    " DELETE FROM usage WHERE owner=old.owner AND state=old.state AND jobs=0; END;"
    "CREATE TRIGGER IF NOT EXISTS job_changed AFTER UPDATE OF state, bytes ON job BEGIN"
    " UPDATE usage SET jobs=jobs-1, bytes=bytes-old.bytes"
    " WHERE owner=old.owner AND state=old.state;"
    " DELETE FROM usage WHERE owner=old.owner AND state=old.state AND jobs=0;"
    " INSERT INTO usage VALUES(new.owner, new.state, 1, new.bytes) ON CONFLICT DO UPDATE SET"
    " jobs=jobs+1, bytes=bytes+excluded.bytes; END;";

static const struct store_kind kind = {
    .tables = tables,
    .version = 1,
    .max_bytes = LIMIT_JOBS_BYTES,
    .full = "delete jobs that are over with `belljar jobs rm`",
};

struct store *job_records_open(char **ret_path, struct error *err)
{
    cleanup_free char *path = paths_state("jobs.sqlite", err);
    struct store *store = path ? store_new_of(path, &kind) : NULL;

    if (path && !store)
        error_memory(err);
    if (store)
        *ret_path = take_ptr(path);
    return store;
}

const char *job_state_name(enum job_state state)
{
    static const char *const names[JOB_STATES] = {
        [JOB_WAITING] = "waiting", [JOB_RUNNING] = "running", [JOB_DONE] = "done",
        [JOB_FAILED] = "failed",   [JOB_LOST] = "lost",       [JOB_CANCELLED] = "cancelled",
    };

    return (unsigned)state < JOB_STATES ? names[state] : NULL;
}

unsigned job_retry_bit(const char *status)
{
    if (strcmp(status, "error") == 0)
        return JOB_RETRY_ERROR;
    if (strcmp(status, "timeout") == 0)
        return JOB_RETRY_TIMEOUT;
    return strcmp(status, "memory_exceeded") == 0 ? JOB_RETRY_MEMORY : 0;
}

/* --- the beginning --- */

static int set_key(struct store *store, const struct job_order_record *order, struct error *err)
{
    const char *key = (const char *)order->key, *body = (const char *)order->body;

    /* One whose time is up gives its key away before it is deleted. */
    if (store_do(store, err,
                 "UPDATE job SET idempotency=NULL WHERE owner=? AND idempotency=? AND"
                 " NOT " JOB_IS_KEPT,
                 "sB", order->owner, key, (size_t)SHA256_BYTES) < 0)
        return -1;
    return store_do(store, err, "UPDATE job SET idempotency=?, body=? WHERE id=?", "BBs", key,
                    (size_t)SHA256_BYTES, body, (size_t)SHA256_BYTES, order->id);
}

static int add(struct store *store, const struct job_order_record *order, struct error *err)
{
    const struct job_terms *terms = &order->terms;

    if (store_do(
            store, err,
            "INSERT INTO job VALUES(?,?,0,?,?,NULL,NULL,0,?,?,?,?,?,NULL,NULL,?,NULL,NULL,0,?)",
            "ssiiiiiiisi", order->id, order->owner, order->due_ms, order->now_ms,
            (int64_t)terms->max_attempts, (int64_t)terms->is_repeatable, (int64_t)terms->retry_on,
            (int64_t)terms->retry_ms, (int64_t)terms->keep_ms, order->correlation_id,
            (int64_t)(order->request.len + JOB_ROW_BYTES)) < 0)
        return -1;
    if (order->key && set_key(store, order, err) < 0)
        return -1;
    return store_do(store, err, "INSERT INTO piece VALUES(?,0,0,?)", "sb", order->id,
                    order->request.data, order->request.len);
}

int job_record_add(struct store *store, const struct job_order_record *order, struct error *err)
{
    if (store_begin(store, err) < 0)
        return -1;
    return store_commit(store, add(store, order, err), err);
}

/* --- attempts --- */

static int drop_result(struct store *store, const char *id, struct error *err)
{
    return store_do(store, err, "DELETE FROM piece WHERE job=? AND kind=1", "s", id);
}

static int begin(struct store *store, const char *id, uint32_t number, const char *run,
                 int64_t now_ms, struct error *err)
{
    int64_t changed = 0;

    if (drop_result(store, id, err) < 0 ||
        store_do(store, err, "UPDATE job SET state=1, attempts=? WHERE id=? AND state=0", "is",
                 (int64_t)number, id) < 0 ||
        store_number(store, 0, &changed, err, "SELECT changes()", "") < 0)
        return -1;
    if (!changed) /* it was cancelled, since it could not be made safe */
        return error_set(err, E_NOT_FOUND, "the job no longer waits");
    return store_do(store, err, "INSERT INTO attempt VALUES(?,?,?,?,NULL,NULL)", "sisi", id,
                    (int64_t)number, run, now_ms);
}

int job_record_begin(struct store *store, const char *id, uint32_t number, const char *run,
                     int64_t now_ms, struct error *err)
{
    if (store_begin(store, err) < 0)
        return -1;
    return store_commit(store, begin(store, id, number, run, now_ms, err), err);
}

int job_record_add_piece(struct store *store, const char *id, uint32_t number, struct span data,
                         struct error *err)
{
    return store_do(store, err,
                    "INSERT OR REPLACE INTO piece SELECT id, 1, ?, ? FROM job WHERE id=?", "ibs",
                    (int64_t)number, data.data, data.len, id);
}

static int end_attempt(struct store *store, const char *id, const struct job_end *end,
                       struct error *err)
{
    if (!end->number)
        return 0;
    return store_do(store, err, "UPDATE attempt SET ended=?, outcome=? WHERE job=? AND number=?",
                    "issi", end->now_ms, end->outcome, id, (int64_t)end->number);
}

/* Its request is needed no more. */
static int end_job(struct store *store, const char *id, const struct job_end *end,
                   struct error *err)
{
    int64_t bytes = JOB_ROW_BYTES + end->result_bytes + (int64_t)end->error.len;

    if (!end->result_bytes && drop_result(store, id, err) < 0)
        return -1;
    if (store_do(store, err, "DELETE FROM piece WHERE job=? AND kind=0", "s", id) < 0 ||
        store_do(store, err,
                 "UPDATE job SET state=?, ended=?2, expires=?2+keep_ms, outcome=?, result_bytes=?,"
                 " bytes=? WHERE id=?",
                 "iisiis", (int64_t)end->state, end->now_ms, end->outcome, end->result_bytes, bytes,
                 id) < 0)
        return -1;
    return end->error.len ? store_do(store, err, "UPDATE job SET error=? WHERE id=?", "bs",
                                     end->error.data, end->error.len, id)
                          : 0;
}

static int end_or_wait(struct store *store, const char *id, const struct job_end *end,
                       struct error *err)
{
    if (end_attempt(store, id, end, err) < 0)
        return -1;
    if (end->state != JOB_WAITING)
        return end_job(store, id, end, err);
    if (drop_result(store, id, err) < 0)
        return -1;
    return store_do(store, err, "UPDATE job SET state=0, due=?, outcome=? WHERE id=?", "iss",
                    end->due_ms, end->outcome, id);
}

int job_record_end(struct store *store, const char *id, const struct job_end *end,
                   struct error *err)
{
    if (store_begin(store, err) < 0)
        return -1;
    return store_commit(store, end_or_wait(store, id, end, err), err);
}

/* --- the end of the server --- */

#define INTERRUPTED "(SELECT id FROM job WHERE state=1)"

/* Three ways: not repeatable, no attempts left, or another attempt at once. */
static int recover(struct store *store, int64_t now_ms, struct error *err)
{
    static const char lost[] =
        "{\"code\":\"system\",\"message\":\"the server ended while the job ran, and it is not "
        "repeatable\",\"hint\":\"it may have run in part; submit it again if that does no harm\"}";
    static const char failed[] =
        "{\"code\":\"system\",\"message\":\"the server ended during the last attempt\","
        "\"hint\":\"see `belljar jobs show`; submit it again with more `attempts`\"}";

    if (store_do(store, err,
                 "UPDATE attempt SET ended=?, outcome='interrupted'"
                 " WHERE ended IS NULL AND job IN " INTERRUPTED,
                 "i", now_ms) < 0 ||
        store_do(store, err, "DELETE FROM piece WHERE kind=1 AND job IN " INTERRUPTED, "") < 0 ||
        store_do(store, err,
                 "UPDATE job SET state=0, due=?, outcome='interrupted'"
                 " WHERE state=1 AND repeatable AND attempts < max_attempts",
                 "i", now_ms) < 0 ||
        store_do(store, err, "DELETE FROM piece WHERE kind=0 AND job IN " INTERRUPTED, "") < 0)
        return -1;
    return store_do(store, err,
                    "UPDATE job SET state=CASE WHEN repeatable THEN 3 ELSE 4 END,"
                    " error=CASE WHEN repeatable THEN ?2 ELSE ?3 END, ended=?1,"
                    " expires=?1+keep_ms, outcome='interrupted', bytes=?4 WHERE state=1",
                    "issi", now_ms, failed, lost, (int64_t)JOB_ROW_BYTES);
}

int job_record_recover(struct store *store, int64_t now_ms, struct error *err)
{
    if (store_begin(store, err) < 0)
        return -1;
    return store_commit(store, recover(store, now_ms, err), err);
}

/* --- cancelling and deleting --- */

static int not_found(struct error *err)
{
    error_set(err, E_NOT_FOUND, "there is no job with that id");
    return error_hint(err,
                      "a job is deleted some time after its end; `belljar jobs list` lists them");
}

int job_record_state(struct store *store, const char *owner, const char *id,
                     enum job_state *ret_state, int64_t *ret_result_bytes, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row = store_query(
        store, err, "SELECT state, result_bytes FROM job WHERE id=? AND owner=? AND " JOB_IS_KEPT,
        "ss", id, owner);
    int r = row ? store_step(store, row, err) : -1;

    if (r < 0)
        return -1;
    if (!r)
        return not_found(err);
    *ret_state = (enum job_state)sqlite3_column_int(row, 0);
    *ret_result_bytes = sqlite3_column_int64(row, 1);
    return 0;
}

static int cancel(struct store *store, const char *owner, const char *id, int64_t now_ms,
                  enum job_state *ret_state, struct error *err)
{
    const struct job_end end = {.state = JOB_CANCELLED, .now_ms = now_ms, .outcome = "cancelled"};
    int64_t bytes;

    if (job_record_state(store, owner, id, ret_state, &bytes, err) < 0)
        return -1;
    if (*ret_state != JOB_WAITING)
        return 0;
    *ret_state = JOB_CANCELLED;
    return end_job(store, id, &end, err);
}

int job_record_cancel(struct store *store, const char *owner, const char *id, int64_t now_ms,
                      enum job_state *ret_state, struct error *err)
{
    if (store_begin(store, err) < 0)
        return -1;
    return store_commit(store, cancel(store, owner, id, now_ms, ret_state, err), err);
}

static int delete_over(struct store *store, const char *owner, const char *id, struct error *err)
{
    enum job_state state;
    int64_t bytes;

    if (job_record_state(store, owner, id, &state, &bytes, err) < 0)
        return -1;
    if (state == JOB_WAITING || state == JOB_RUNNING) {
        error_set(err, E_INVALID, "the job is not over");
        return error_hint(err, "cancel it first");
    }
    return store_do(store, err, "DELETE FROM job WHERE id=?", "s", id);
}

int job_record_delete(struct store *store, const char *owner, const char *id, struct error *err)
{
    if (store_begin(store, err) < 0)
        return -1;
    return store_commit(store, delete_over(store, owner, id, err), err);
}

int job_record_expire(struct store *store, int64_t now_ms, size_t max, bool *ret_more,
                      struct error *err)
{
    int64_t count = 0;

    if (store_do(store, err,
                 "DELETE FROM job WHERE id IN (SELECT id FROM job WHERE expires <= ?"
                 " ORDER BY expires LIMIT ?)",
                 "ii", now_ms, (int64_t)max) < 0 ||
        store_number(store, 0, &count, err, "SELECT changes()", "") < 0)
        return -1;
    *ret_more = (size_t)count == max;
    return 0;
}

int job_record_forget(struct store *store, const char *owner, size_t max, bool *ret_more,
                      struct error *err)
{
    int64_t count = 0;

    *ret_more = false;
    if (!store_is_there(store))
        return 0;
    if (store_do(store, err,
                 "DELETE FROM job WHERE id IN (SELECT id FROM job WHERE owner=? LIMIT ?)", "si",
                 owner, (int64_t)max) < 0 ||
        store_number(store, 0, &count, err, "SELECT changes()", "") < 0)
        return -1;
    *ret_more = (size_t)count == max;
    return 0;
}
