/* Durable jobs on the disk: what was asked for, how often it was tried, and what became of it.
 *
 * A file of its own beside that of skills and states, so that neither fills the other's space. This
 * module knows nothing of runs: api/durable.h says when a job is tried, and with what. Every
 * function is one transaction. Times are milliseconds of the wall clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/id.h"
#include "base/sha256.h"
#include "store/store.h"
#include "wire/pack.h"

#define JOB_ID_SIZE    ID_SIZE
#define JOB_OWNER_SIZE 80

/* Bytes that a job is charged beside its texts. */
#define JOB_ROW_BYTES 1024

enum job_state {
    JOB_WAITING, /* for its first or next attempt */
    JOB_RUNNING, /* an attempt has begun */
    JOB_DONE,    /* with the result of a run */
    JOB_FAILED,  /* there is no result: Belljar could not run it */
    JOB_LOST,    /* the server ended while it ran, and it may not be run again */
    JOB_CANCELLED,
    JOB_STATES,
};

/* Those whose time is up are deleted a little later (job_record_expire), and found by nobody. */
#define JOB_IS_KEPT                                                                                \
    "(expires IS NULL OR expires > CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))"

/* NULL: there is no such state. */
const char *job_state_name(enum job_state state);

/* Results after which a job is tried again, as bits. */
enum job_retry { JOB_RETRY_ERROR = 1, JOB_RETRY_TIMEOUT = 2, JOB_RETRY_MEMORY = 4 };

/* The bit of the status of a result, or 0. */
unsigned job_retry_bit(const char *status);

/* The conditions of its attempts. */
struct job_terms {
    uint32_t max_attempts;
    bool is_repeatable; /* false: it is begun once at most */
    unsigned retry_on;  /* bits of enum job_retry */
    uint64_t retry_ms;  /* before the second attempt; then twice as long each time */
    uint64_t keep_ms;   /* how long it is kept when it is over */
};

struct job_order_record {
    const char *id, *owner, *correlation_id;
    const uint8_t *key, *body; /* hashes of SHA256_BYTES (http/idempotency_key.h); NULL: no key */
    struct job_terms terms;
    int64_t now_ms, due_ms;
    struct span request; /* the body of the request, as text */
};

/* The file of the jobs of this user, or NULL and *err. */
struct store *job_records_open(char **ret_path, struct error *err);

int job_record_add(struct store *store, const struct job_order_record *order, struct error *err);

/* A job of another server, with all that was known of it. Where it is not over, it waits. */
struct job_import {
    struct job_order_record order; /* `request`: empty where it is over */
    enum job_state state;
    uint32_t attempts;
    int64_t ended_ms, expires_ms; /* of one that is over */
    const char *outcome;          /* or NULL */
    struct span error;            /* JSON; empty: none */
    struct span result;           /* empty: none */
    const json_t *history;        /* as job_record_show() has it, and checked; may be shorter */
};

/* E_NOT_FOUND: somebody else has a job of that id. One that the owner has is left as it is. */
int job_record_import(struct store *store, const struct job_import *import, struct error *err);

/* 1: the owner has asked for this job under that key; 0: it has not. */
int job_record_by_key(struct store *store, const char *owner, const uint8_t key[SHA256_BYTES],
                      char ret_id[JOB_ID_SIZE], uint8_t ret_body[SHA256_BYTES], struct error *err);

/* Jobs of an owner that are not over, and bytes of everything that is kept for it. */
struct job_usage {
    int64_t unfinished, bytes;
};
int job_record_usage(struct store *store, const char *owner, struct job_usage *ret_usage,
                     struct error *err);

/* --- for clients --- */

/* As clients see it. E_NOT_FOUND: the owner has none of that id. */
int job_record_show(struct store *store, const char *owner, const char *id, json_t **ret_job,
                    struct error *err);

/* The newest first; those older than `before` (NULL: all). `state`: JOB_STATES for any. */
int job_record_list(struct store *store, const char *owner, enum job_state state,
                    const char *before, size_t limit, json_t **ret_list, struct error *err);

int job_record_state(struct store *store, const char *owner, const char *id,
                     enum job_state *ret_state, int64_t *ret_result_bytes, struct error *err);

/* Cancels it if it waits. *ret_state: what it is now. */
int job_record_cancel(struct store *store, const char *owner, const char *id, int64_t now_ms,
                      enum job_state *ret_state, struct error *err);

/* Deletes one that is over. E_INVALID: it is not. */
int job_record_delete(struct store *store, const char *owner, const char *id, struct error *err);

/* Adds one piece of the result to `out`. Returns 1; 0: there are no more. */
#define JOB_PIECE_BYTES ((size_t)256 << 10)
int job_record_read(struct store *store, const char *id, uint32_t number, struct buf *out,
                    struct error *err);

/* --- for whoever runs them --- */

/* The next owner behind `after` with a job that waits. 0: there is none. */
int job_record_next_owner(struct store *store, const char *after, char ret_owner[JOB_OWNER_SIZE],
                          struct error *err);

/* The owner's job that has waited the longest, behind the first `skip`. 0: there is none. */
int job_record_next(struct store *store, const char *owner, int64_t now_ms, size_t skip,
                    char ret_id[JOB_ID_SIZE], struct error *err);

/* When the next job is due that is not yet; 0: none is. */
int job_record_next_due(struct store *store, int64_t now_ms, int64_t *ret_due_ms,
                        struct error *err);

struct job_task {
    struct job_terms terms;
    uint32_t attempts; /* so far */
    char *correlation_id;
};
int job_record_load(struct store *store, const char *id, struct job_task *ret_task,
                    struct buf *request, struct error *err);
void job_task_done(struct job_task *task);

/* Attempt `number` begins, as that run. */
int job_record_begin(struct store *store, const char *id, uint32_t number, const char *run,
                     int64_t now_ms, struct error *err);

/* A piece of the result of an attempt that has ended; job_record_end() or the next attempt decides
 * whether it counts. */
int job_record_add_piece(struct store *store, const char *id, uint32_t number, struct span data,
                         struct error *err);

/* Attempt `number` is over with that outcome; 0: there was none. */
struct job_end {
    uint32_t number;
    const char *outcome;  /* a status of a run, or "failed" */
    enum job_state state; /* JOB_WAITING: it is tried again */
    int64_t now_ms;
    int64_t due_ms;       /* then */
    int64_t result_bytes; /* in pieces; 0: there is no result */
    struct span error;    /* of one that failed: JSON, masked; empty: none */
};
int job_record_end(struct store *store, const char *id, const struct job_end *end,
                   struct error *err);

/* After the end of the server that ran them: jobs that were running wait again, or are lost. */
int job_record_recover(struct store *store, int64_t now_ms, struct error *err);

/* Deletes at most `max` of those whose time is up. *ret_more: there may be more. */
int job_record_expire(struct store *store, int64_t now_ms, size_t max, bool *ret_more,
                      struct error *err);

/* Deletes at most `max` of an owner's. *ret_more: there may be more. */
int job_record_forget(struct store *store, const char *owner, size_t max, bool *ret_more,
                      struct error *err);

struct job_counts {
    int64_t by_state[JOB_STATES];
};
int job_record_count(struct store *store, struct job_counts *ret_counts, struct error *err);
