/* Shared by durable.c (the file, and whose turn it is), durable_attempt.c (one attempt) and
 * durable_client.c (requests that wait). */
#pragma once

#include <sys/queue.h>

#include "api/api.h"
#include "api/durable.h"
#include "api/store_read.h"
#include "base/id.h"
#include "base/task.h"
#include "store/log_sync.h"

/* An owner of jobs: there are as many as there are tokens. */
struct durable_line {
    struct durable_line *next;
    char owner[JOB_OWNER_SIZE];
    size_t n_active;
    uint64_t paused_until_ns; /* the server had no room for its runs */
    bool is_forgotten;        /* its jobs are being deleted */
};

enum attempt_step {
    ATTEMPT_LOADS,  /* reads what was asked for */
    ATTEMPT_QUEUED, /* waits for its turn */
    ATTEMPT_BEGINS, /* its number is being written down */
    ATTEMPT_RUNS,
    ATTEMPT_ENDS, /* its result is being written down */
};

struct attempt {
    struct job_watch watch; /* first: it is how the attempt is found again */
    struct durable *durable;
    LIST_ENTRY(attempt) link;
    struct durable_line *line;
    struct caller *caller;
    char id[JOB_ID_SIZE];
    enum attempt_step step;
    struct job_task of; /* what was asked for */
    uint32_t number;    /* 0: the program has not begun */
    struct job *job;    /* NULL: not yet, or not any more */
    char run[ID_SIZE];
    bool is_cancelled; /* by its owner */
    bool is_orphan;    /* its job was deleted */
    bool is_unsafe;    /* its number is not on the disk */
    struct group_sync_wait sync;

    /* --- loading --- */
    struct task task;
    struct buf request;
    json_t *body;
    struct store_read fresh;
    struct error err; /* why it could not be begun */

    /* --- progress, as the program says --- */
    bool has_progress;
    uint64_t done, total;
    char text[256];

    /* --- the end --- */
    struct shared *answer;
    char outcome[24];
    struct job_end end;
    json_t *error;
    struct buf error_text;
    size_t written;
    unsigned n_failures; /* to write it */
    struct loop_watch *again;
    struct loop_work work;
};

struct durable_wait; /* durable_client.c */
struct durable_accept;

struct durable {
    struct api *api;
    struct loop *loop;
    struct store *store; /* NULL: not open */
    char *path;
    struct log_sync *sync;
    int lock;
    LIST_HEAD(, attempt) attempts;
    size_t n_active;
    struct durable_line *lines;
    char last_owner[JOB_OWNER_SIZE]; /* whose job was begun last */
    struct loop_watch *turn;         /* something may be begun */
    struct loop_watch *tick;         /* jobs whose time is up; and a lock that another server has */
    uint64_t paused_until_ns;        /* the disk is full */
    struct loop_work forgetting;
    LIST_HEAD(, durable_wait) waits;
    LIST_HEAD(, durable_accept) accepts;
    bool is_stopping, is_freed;
    loop_fn on_idle;
    void *on_idle_arg;
};

/* --- durable.c --- */

/* Something has changed: looks soon what can be begun. */
void durable_look(struct durable *durable);
void durable_pause(struct durable *durable, unsigned seconds);

/* An attempt is over. */
void durable_drop(struct attempt *attempt);

/* --- durable_attempt.c --- */

/* Begins to read what was asked for. False: the disk cannot be read now. */
bool attempt_start(struct durable *durable, struct durable_line *line, struct caller *caller,
                   const char *id);
void attempt_cancel(struct attempt *attempt);
struct attempt *attempt_find(const struct durable *durable, const char *id);
void attempt_free(struct attempt *attempt);

/* --- durable_client.c --- */

/* The job is over, or has gone. */
void durable_tell(struct durable *durable, const char *id);
void durable_drop_waits(struct durable *durable);

/* Writes it down and answers the request when it is safe. -1: it was not answered. */
int durable_import(struct durable *durable, struct request *request,
                   const struct job_import *import, struct error *err);
