/* A job that another server had: it is written down as if it had been here from the beginning. */
#include <string.h>

#include "base/cleanup.h"
#include "base/date.h"
#include "base/json.h"
#include "store/job_record.h"

static int add_job(struct store *store, const struct job_import *i, struct error *err)
{
    const struct job_order_record *order = &i->order;
    const struct job_terms *terms = &order->terms;
    size_t texts = order->request.len + i->result.len + i->error.len;

    if (store_do(store, err,
                 "INSERT INTO job VALUES(?,?,?,?,?,NULL,NULL,?,?,?,?,?,?,NULL,NULL,?,?,NULL,?,?)",
                 "ssiiiiiiiiissii", order->id, order->owner, (int64_t)i->state, order->due_ms,
                 order->now_ms, (int64_t)i->attempts, (int64_t)terms->max_attempts,
                 (int64_t)terms->is_repeatable, (int64_t)terms->retry_on, (int64_t)terms->retry_ms,
                 (int64_t)terms->keep_ms, order->correlation_id, i->outcome, (int64_t)i->result.len,
                 (int64_t)(texts + JOB_ROW_BYTES)) < 0)
        return -1;
    if (order->key &&
        store_do(store, err, "UPDATE OR IGNORE job SET idempotency=?, body=? WHERE id=?", "BBs",
                 (const char *)order->key, (size_t)SHA256_BYTES, (const char *)order->body,
                 (size_t)SHA256_BYTES, order->id) < 0)
        return -1;
    if (i->error.len && store_do(store, err, "UPDATE job SET error=? WHERE id=?", "bs",
                                 i->error.data, i->error.len, order->id) < 0)
        return -1;
    if (i->state == JOB_WAITING)
        return store_do(store, err, "INSERT INTO piece VALUES(?,0,0,?)", "sb", order->id,
                        order->request.data, order->request.len);
    return store_do(store, err, "UPDATE job SET ended=?, expires=? WHERE id=?", "iis", i->ended_ms,
                    i->expires_ms, order->id);
}

static int add_result(struct store *store, const struct job_import *i, struct error *err)
{
    size_t done = 0;

    for (uint32_t number = 0; done < i->result.len; number++) {
        size_t len = i->result.len - done;

        len = len < JOB_PIECE_BYTES ? len : JOB_PIECE_BYTES;
        if (store_do(store, err, "INSERT INTO piece VALUES(?,1,?,?)", "sib", i->order.id,
                     (int64_t)number, i->result.data + done, len) < 0)
            return -1;
        done += len;
    }
    return 0;
}

/* Attempts of which nothing is known but that their machine was lost. */
static int add_attempt(struct store *store, const struct job_import *i, uint32_t number,
                       const json_t *known, struct error *err)
{
    int64_t begun = date_read_millis(json_get_text(known, "started_at"));
    int64_t ended = date_read_millis(json_get_text(known, "ended_at"));
    const char *outcome = json_get_text(known, "outcome");

    begun = begun < 0 ? i->order.now_ms : begun;
    return store_do(store, err, "INSERT INTO attempt VALUES(?,?,?,?,?,?)", "sisiis", i->order.id,
                    (int64_t)number, json_get_text(known, "run_id"), begun,
                    ended < 0 ? date_now_ms() : ended, *outcome ? outcome : "interrupted");
}

static int add_history(struct store *store, const struct job_import *i, struct error *err)
{
    for (uint32_t n = 1; n <= i->attempts; n++)
        if (add_attempt(store, i, n, json_array_get(i->history, n - 1), err) < 0)
            return -1;
    return 0;
}

static int import_all(struct store *store, const struct job_import *i, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row =
        store_query(store, err, "SELECT owner FROM job WHERE id=?", "s", i->order.id);
    int r = row ? store_step(store, row, err) : -1;

    if (r < 0)
        return -1;
    if (r > 0 && strcmp((const char *)sqlite3_column_text(row, 0), i->order.owner) != 0)
        return error_set(err, E_NOT_FOUND, "there is no job with that id");
    if (r > 0)
        return 0;
    if (add_job(store, i, err) < 0 || add_result(store, i, err) < 0)
        return -1;
    return add_history(store, i, err);
}

int job_record_import(struct store *store, const struct job_import *import, struct error *err)
{
    if (store_begin(store, err) < 0)
        return -1;
    return store_commit(store, import_all(store, import, err), err);
}
