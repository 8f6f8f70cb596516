/* Durable jobs on the disk: what clients see of them, and which comes next. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/date.h"
#include "base/json.h"
#include "base/limits.h"
#include "store/job_record.h"

static const char *text(sqlite3_stmt *row, int column)
{
    return (const char *)sqlite3_column_text(row, column);
}

static void copy_text(sqlite3_stmt *row, int column, char *ret_text, size_t size)
{
    const char *value = text(row, column);
    size_t len = value ? strnlen(value, size - 1) : 0;

    if (len)
        memcpy(ret_text, value, len);
    ret_text[len] = '\0';
}

/* --- for clients --- */

static json_t *date(sqlite3_stmt *row, int column)
{
    int64_t ms = sqlite3_column_int64(row, column);
    const struct timespec at = {.tv_sec = (time_t)(ms / 1000),
                                .tv_nsec = (long)(ms % 1000) * 1000000};
    char written[DATE_SIZE];

    if (sqlite3_column_type(row, column) == SQLITE_NULL)
        return json_null();
    date_millis(&at, written);
    return json_string(written);
}

static json_t *seconds(sqlite3_stmt *row, int column)
{
    return json_real((double)sqlite3_column_int64(row, column) / 1000);
}

static json_t *retry_list(unsigned bits)
{
    static const char *const statuses[] = {"error", "timeout", "memory_exceeded"};
    json_t *list = json_array();

    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
        if (bits & job_retry_bit(statuses[i]))
            (void)json_array_append_new(list, json_string(statuses[i]));
    return list;
}

static json_t *error_of(sqlite3_stmt *row, int column)
{
    const char *written = text(row, column);
    json_t *error = written ? json_text_own(written, strlen(written)) : NULL;

    return error ? error : json_null();
}

#define HEAD_COLUMNS                                                                               \
    "id, state, outcome, attempts, max_attempts, repeatable, retry_on, retry_ms, keep_ms,"         \
    " correlation, created, due, ended, expires, result_bytes, error"

static json_t *head(sqlite3_stmt *row)
{
    int64_t bytes = sqlite3_column_int64(row, 14);

    return json_pack(
        "{s:s, s:s, s:o, s:I, s:I, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "id",
        text(row, 0), "state", job_state_name((enum job_state)sqlite3_column_int(row, 1)),
        "outcome", json_string_or_null(text(row, 2)), "attempts",
        (json_int_t)sqlite3_column_int64(row, 3), "max_attempts",
        (json_int_t)sqlite3_column_int64(row, 4), "repeatable", sqlite3_column_int(row, 5),
        "retry_on", retry_list((unsigned)sqlite3_column_int(row, 6)), "retry_delay_s",
        seconds(row, 7), "keep_s", seconds(row, 8), "correlation_id",
        json_string_or_null(text(row, 9)), "created_at", date(row, 10), "due_at", date(row, 11),
        "ended_at", date(row, 12), "expires_at", date(row, 13), "result_bytes", (json_int_t)bytes,
        "error", error_of(row, 15));
}

static int add_history(struct store *store, const char *id, json_t *job, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row = store_query(
        store, err,
        "SELECT number, run, begun, ended, outcome FROM attempt WHERE job=? ORDER BY number", "s",
        id);
    json_t *list = json_array();
    int r = row ? 0 : -1;

    (void)json_object_set_new(job, "history", list);
    while (row && (r = store_step(store, row, err)) > 0)
        (void)json_array_append_new(list,
                                    json_pack("{s:I, s:o, s:o, s:o, s:o}", "number",
                                              (json_int_t)sqlite3_column_int64(row, 0), "run_id",
                                              json_string_or_null(text(row, 1)), "started_at",
                                              date(row, 2), "ended_at", date(row, 3), "outcome",
                                              json_string_or_null(text(row, 4))));
    return r;
}

static int show(struct store *store, const char *owner, const char *id, json_t **ret_job,
                struct error *err)
{
    enum job_state state;
    int64_t bytes;
    int r = job_record_state(store, owner, id, &state, &bytes, err);
    cleanup(store_end) sqlite3_stmt *row =
        r < 0 ? NULL
              : store_query(store, err, "SELECT " HEAD_COLUMNS " FROM job WHERE id=?", "s", id);
    json_t *job;

    if (!row || store_step(store, row, err) <= 0)
        return -1;
    job = head(row);
    if (!job)
        return error_memory(err);
    if (add_history(store, id, job, err) < 0) {
        json_decref(job);
        return -1;
    }
    *ret_job = job;
    return 0;
}

int job_record_show(struct store *store, const char *owner, const char *id, json_t **ret_job,
                    struct error *err)
{
    int r;

    /* One transaction: a job and its attempts belong together. */
    if (store_do(store, err, "BEGIN", "") < 0)
        return -1;
    r = show(store, owner, id, ret_job, err);
    (void)store_do(store, NULL, "ROLLBACK", ""); /* nothing was changed */
    return r;
}

/* Behind all ids. */
#define LAST_ID "~"

int job_record_list(struct store *store, const char *owner, enum job_state state,
                    const char *before, size_t limit, json_t **ret_list, struct error *err)
{
    /* Two questions, so that each has an index that leads to its answers. */
    static const char of_any[] = "SELECT " HEAD_COLUMNS " FROM job WHERE owner=? AND ?2 = ?2"
                                 " AND id < ?3 AND " JOB_IS_KEPT " ORDER BY id DESC LIMIT ?4";
    static const char of_state[] = "SELECT " HEAD_COLUMNS " FROM job WHERE owner=? AND state=?2"
                                   " AND id < ?3 AND " JOB_IS_KEPT " ORDER BY id DESC LIMIT ?4";
    cleanup(store_end) sqlite3_stmt *row =
        store_query(store, err, state == JOB_STATES ? of_any : of_state, "sisi", owner,
                    (int64_t)state, before ? before : LAST_ID, (int64_t)limit);
    json_t *list = json_array();
    int r = row ? 0 : -1;

    while (row && (r = store_step(store, row, err)) > 0)
        (void)json_array_append_new(list, head(row));
    if (r < 0) {
        json_decref(list);
        return -1;
    }
    *ret_list = list;
    return 0;
}

int job_record_by_key(struct store *store, const char *owner, const uint8_t key[SHA256_BYTES],
                      char ret_id[JOB_ID_SIZE], uint8_t ret_body[SHA256_BYTES], struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row = store_query(
        store, err, "SELECT id, body FROM job WHERE owner=? AND idempotency=? AND " JOB_IS_KEPT,
        "sB", owner, (const char *)key, (size_t)SHA256_BYTES);
    int r = row ? store_step(store, row, err) : -1;

    if (r <= 0)
        return r;
    copy_text(row, 0, ret_id, JOB_ID_SIZE);
    memset(ret_body, 0, SHA256_BYTES);
    if (sqlite3_column_bytes(row, 1) == SHA256_BYTES)
        memcpy(ret_body, sqlite3_column_blob(row, 1), SHA256_BYTES);
    return 1;
}

int job_record_usage(struct store *store, const char *owner, struct job_usage *ret_usage,
                     struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row =
        store_query(store, err,
                    "SELECT COALESCE(SUM(CASE WHEN state < 2 THEN jobs END), 0),"
                    " COALESCE(SUM(bytes), 0) FROM usage WHERE owner=?",
                    "s", owner);

    if (!row || store_step(store, row, err) <= 0)
        return -1;
    *ret_usage = (struct job_usage){sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1)};
    return 0;
}

int job_record_count(struct store *store, struct job_counts *ret_counts, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row =
        store_query(store, err, "SELECT state, SUM(jobs) FROM usage GROUP BY state", "");
    int r = row ? 0 : -1;

    *ret_counts = (struct job_counts){0};
    while (row && (r = store_step(store, row, err)) > 0) {
        int state = sqlite3_column_int(row, 0);

        if (state >= 0 && state < JOB_STATES)
            ret_counts->by_state[state] = sqlite3_column_int64(row, 1);
    }
    return r;
}

int job_record_read(struct store *store, const char *id, uint32_t number, struct buf *out,
                    struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row =
        store_query(store, err, "SELECT data FROM piece WHERE job=? AND kind=1 AND number=?", "si",
                    id, (int64_t)number);
    int r = row ? store_step(store, row, err) : -1;

    if (r <= 0)
        return r;
    return buf_add(out, sqlite3_column_blob(row, 0), (size_t)sqlite3_column_bytes(row, 0), err) < 0
               ? -1
               : 1;
}

/* --- for whoever runs them --- */

int job_record_next_owner(struct store *store, const char *after, char ret_owner[JOB_OWNER_SIZE],
                          struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row = store_query(
        store, err, "SELECT owner FROM job WHERE state=0 AND owner > ? ORDER BY owner LIMIT 1", "s",
        after);
    int r = row ? store_step(store, row, err) : -1;

    if (r > 0)
        copy_text(row, 0, ret_owner, JOB_OWNER_SIZE);
    return r;
}

int job_record_next(struct store *store, const char *owner, int64_t now_ms, size_t skip,
                    char ret_id[JOB_ID_SIZE], struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row =
        store_query(store, err,
                    "SELECT id FROM job WHERE state=0 AND owner=? AND due <= ? ORDER BY due, id"
                    " LIMIT 1 OFFSET ?",
                    "sii", owner, now_ms, (int64_t)skip);
    int r = row ? store_step(store, row, err) : -1;

    if (r > 0)
        copy_text(row, 0, ret_id, JOB_ID_SIZE);
    return r;
}

int job_record_next_due(struct store *store, int64_t now_ms, int64_t *ret_due_ms, struct error *err)
{
    return store_number(store, 0, ret_due_ms, err,
                        "SELECT MIN(due) FROM job WHERE state=0 AND due > ?", "i", now_ms);
}

static int load_request(struct store *store, const char *id, struct buf *request, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row =
        store_query(store, err, "SELECT data FROM piece WHERE job=? AND kind=0", "s", id);
    int r = row ? store_step(store, row, err) : -1;

    if (r <= 0)
        return r < 0 ? -1 : error_set(err, E_SYSTEM, "the request of job %s is missing", id);
    return buf_add(request, sqlite3_column_blob(row, 0), (size_t)sqlite3_column_bytes(row, 0), err);
}

int job_record_load(struct store *store, const char *id, struct job_task *ret_task,
                    struct buf *request, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row =
        store_query(store, err,
                    "SELECT max_attempts, repeatable, retry_on, retry_ms, keep_ms, attempts,"
                    " correlation FROM job WHERE id=? AND state=0",
                    "s", id);
    int r = row ? store_step(store, row, err) : -1;
    char *correlation;

    if (r <= 0)
        return r < 0 ? -1 : error_set(err, E_NOT_FOUND, "the job no longer waits");
    if (load_request(store, id, request, err) < 0)
        return -1;
    correlation = strdup(text(row, 6) ? text(row, 6) : "");
    if (!correlation)
        return error_memory(err);
    *ret_task = (struct job_task){
        .terms = {.max_attempts = (uint32_t)sqlite3_column_int64(row, 0),
                  .is_repeatable = sqlite3_column_int(row, 1) != 0,
                  .retry_on = (unsigned)sqlite3_column_int(row, 2),
                  .retry_ms = (uint64_t)sqlite3_column_int64(row, 3),
                  .keep_ms = (uint64_t)sqlite3_column_int64(row, 4)},
        .attempts = (uint32_t)sqlite3_column_int64(row, 5),
        .correlation_id = correlation,
    };
    return 0;
}

void job_task_done(struct job_task *task)
{
    free(task->correlation_id);
    task->correlation_id = NULL;
}
