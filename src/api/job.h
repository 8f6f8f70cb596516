/* Runs on behalf of clients: each is a job from its submission until its answer is forgotten.
 *
 * A job belongs to an owner, and only the owner finds it, by the id of its run. While it runs, a
 * request may wait for it; when that request's client goes away, the run is cancelled. A client
 * that follows its events has a while to come back first. Before it runs it waits for its turn
 * (admit/queue.h), unless its caller has used up its allowance (admit/quota.h). When it is done its
 * answer, as text, stays for a while: a bounded number per owner, a bounded number of bytes for
 * all. A run that was asked for under a key (api/idempotency.h) goes on without its client, who
 * will ask again. So does one that was detached: nobody waits for it, and its owner asks for its
 * output and its answer by its id.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "admit/queue.h"
#include "api/idempotency.h"
#include "api/metrics.h"
#include "base/error.h"
#include "base/loop.h"
#include "base/run.h"
#include "base/spool.h"
#include "engine/pool.h"
#include "engine/session.h"
#include "http/request.h"

struct jobs;
struct job;

struct jobs_options {
    struct loop *loop;
    struct pool *pool;
    struct sessions *sessions;
    struct queue *queue; /* in front of both */
    struct metrics *metrics;
    struct events *events;           /* told of every run; NULL: nobody is */
    struct recorder *recorder;       /* of what never gets to the pool */
    struct spool_directory *spools;  /* where whole outputs go; NULL: nowhere */
    struct idempotency *idempotency; /* keys that stand for runs */
    size_t max_kept;                 /* answers of one owner, */
    size_t max_keyed;                /* and of those that were asked for under a key */
    size_t max_bytes;                /* of all answers */
    uint64_t max_age_ms;             /* of an answer; 0: any */
    size_t max_pending;              /* bytes of programs that are not over; 0: any */
};

int jobs_new(const struct jobs_options *options, struct jobs **ret_jobs, struct error *err);
void jobs_free(struct jobs *jobs); /* when nothing runs any more */

/* One owner's: what runs is cancelled, answers are given to nobody any more. */
void jobs_forget(struct jobs *jobs, const char *owner);

/* The caller's rights have changed: cancels what it may no longer have (admission_check_run). */
void jobs_recheck(struct jobs *jobs, const struct caller *caller);

/* Interrupts everything that runs; the answers follow. */
void jobs_cancel_all(struct jobs *jobs);

/* A waiter for an answer, embedded in its owner. */
struct job_watch {
    struct job_watch *next;
    void (*on_answer)(struct job_watch *watch, struct job *job); /* once, from the loop */
};

/* The job has to run. */
void job_watch(struct job *job, struct job_watch *watch);
void job_unwatch(struct job *job, struct job_watch *watch);

/* A line that the run waits for; `closes`: there are no more after it. */
int job_give_line(struct job *job, struct span text, bool closes, struct error *err);

/* Interrupts it; the answer follows. */
void job_cancel(struct job *job);

/* Nothing new is begun. */
void jobs_close(struct jobs *jobs);
bool jobs_is_closed(const struct jobs *jobs);

/* The text of the answer, with its newline, and its status; NULL: it runs. */
const char *job_answer(const struct job *job, size_t *ret_len, int *ret_status);

/* How it ended: the status of its result, or "failed"; NULL: it runs. */
const char *job_outcome(const struct job *job);
int job_exit_code(const struct job *job);

/* The answer as above, for somebody who keeps it. The caller's reference. */
struct shared *job_share_answer(const struct job *job);

/* Answers the request as the one that started the job was, when it is done or at once. */
void job_repeat(struct job *job, struct request *request);

/* An answer of another shape than the native one. */
struct job_form {
    /* The body, for whatever became of the run, its own failure (run->result.error) included; and
     * the HTTP status where it is not 200. */
    int (*write)(const struct run *run, void *user, struct buf *out, int *ret_status,
                 struct error *err);
    void (*free)(void *user); /* with the job; optional */
    /* The run is over; write() follows job_settled(), which it calls now or later. Optional. */
    void (*settle)(struct job *job, const struct run *run, void *user);
    void *user;
};

/* Told of what happens to a run while it is still whole. */
struct job_follower {
    void (*on_event)(void *user, const struct run_event *event); /* optional */
    /* It is over, also by a failure of its own (run->result.error). The run is lent. */
    void (*on_done)(void *user, const struct run *run);
    void *user;
};

/* For whoever has something to write down before the program begins. `at_turn` is called when a
 * place is free, which the job then holds; nothing happens until job_pass(). */
struct job_gate {
    void (*at_turn)(void *user, struct job *job);
    void *user;
};

/* A job to be started: what runs, for whom, and who is told. */
struct job_order {
    struct run *run;         /* admitted (admit/request.h) */
    struct session *session; /* it is a cell of this one; NULL: it has its own sandbox */
    const char *owner;
    struct caller *caller;
    const struct idempotency_key *key; /* under which it is asked for; NULL: none */
    bool is_detached;           /* it goes on without a client; `request` is answered at once */
    bool is_helper;             /* code of ours that looks at a session: no cell of a notebook */
    const char *correlation_id; /* NULL: one is made up */
    const char *traceparent;    /* NULL: none */
    struct job_form form;       /* write NULL: the native one */
    enum hint_reader reader;    /* of its hints; 0: a client of the HTTP interface */
    struct job_follower follower;
    struct job_gate gate; /* at_turn NULL: there is none */
    /* Answered when the run is done, or, where its client wants them and the form is the native
     * one, with events as they happen; NULL: nobody waits. */
    struct request *request;
};

/* An order of the request's caller, under the request's key; the request waits for the answer. */
struct job_order job_order_of(struct request *request, struct run *run);

/* Starts it: the one way in. Takes the run and what belongs to the form over, also when it fails.
 * After E_BUSY *ret_retry_s says when to try again, where that is known. A request that waits is
 * not answered with the error. */
int jobs_start(struct jobs *jobs, const struct job_order *order, unsigned *ret_retry_s,
               struct job **ret_job, struct error *err);

/* Starts the order of a request. NULL: it failed, and the request has been answered with the error.
 */
struct job *jobs_start_or_answer(struct jobs *jobs, struct request *request,
                                 const struct job_order *order);

/* The form has done what had to be done before the answer. */
void job_settled(struct job *job);

/* It may begin; or, if it was cancelled meanwhile, it is answered. */
void job_pass(struct job *job);

/* The follower is not told any more, and the run cancelled. */
void job_abandon(struct job *job);

bool job_has_terminal(const struct job *job);
size_t job_count_readers(const struct job *job);

const char *job_id(const struct job *job);
const struct run *job_run(const struct job *job); /* NULL: it is done */

/* The files of the form that `write` belongs to; NULL: the job has another one. */
void *job_form_user(const struct job *job, const struct job_form *form);

/* E_NOT_FOUND for an unknown, forgotten or foreign id. `owner` NULL: of anybody. */
/* The answer of the server outside to a call of that number: {"value"} or {"error"}. E_NOT_FOUND:
 * it does not wait. */
int job_answer_call(struct job *job, uint64_t number, const json_t *answer, struct error *err);

struct job *jobs_find(struct jobs *jobs, const char *owner, const char *id, struct error *err);

/* Like jobs_find(), but for a command of that session. */
struct job *jobs_find_command(struct jobs *jobs, const char *owner, const char *session,
                              const char *id, struct error *err);

/* Of a command in a session: engine/session.h. E_NOT_FOUND: it has ended. */
int job_input(struct job *job, const char *data, size_t len, bool closes, struct error *err);
int job_signal(struct job *job, int sig, struct error *err);
int job_resize(struct job *job, uint16_t columns, uint16_t rows, struct error *err);

/* Whether its output is left unread for now: whoever is given it is behind. */
void job_hold(struct job *job, bool is_held);

/* Answers the request with what is known of it. */
void job_show(struct job *job, struct request *request);

/* Answers the request with its events, those behind the one that `Last-Event-ID` names. */
void job_follow(struct job *job, struct request *request);

/* Answers the request with the output so far and what follows, as events. `after` are the bytes of
 * stdout and stderr that the client has. Without `waits` the events end with what there is. */
void job_read_output(struct job *job, struct request *request, const uint64_t after[2], bool waits);

/* Somebody who reads the output of a run along, at its own pace; there may be several. */
struct job_reader;

struct job_piece {
    bool is_stderr;
    uint64_t dropped; /* bytes in front of it that are not kept */
    uint64_t offset;  /* of its first byte in all that was written */
    const char *data;
    size_t len;
};

struct job_reader_to {
    struct loop_line *line; /* in which its pieces wait for a turn */
    bool holds;             /* while it is behind, the program waits */
    /* False: nothing more until job_reader_go_on(). */
    bool (*on_piece)(void *user, const struct job_piece *piece);
    /* One of these follows, once, and the reader is gone: the run is over and all of it was read;
     * what there is was read (NULL: it waits for what follows); the run is forgotten. */
    void (*on_end)(void *user, struct job *job);
    void (*on_present)(void *user, struct job *job);
    void (*on_lost)(void *user, struct job *job);
    bool (*on_silence)(void *user); /* now and then, for connections that must not rest; or NULL */
    void *user;
};

/* Pieces follow, those behind so many bytes of stdout and stderr. The run is not over. */
struct job_reader *job_reader_new(struct job *job, const struct job_reader_to *to,
                                  const uint64_t after[2], struct error *err);
void job_reader_go_on(struct job_reader *reader);
void job_reader_free(struct job_reader *reader);

/* One owner's runs, or with NULL all, the last first: at most `limit` of those that a filter lets
 * through. NULL: out of memory. The caller frees it. */
struct job_filter {
    const char *session;  /* the id of a session; NULL: any */
    const char *state;    /* "waiting", "running" or how it ended; NULL: any */
    const char *language; /* its name; NULL: any */
    const char *text;     /* in the first line, without regard to case; NULL: any */
    bool is_live;         /* only those that wait or run */
    bool is_command;      /* only commands */
};
json_t *jobs_list(const struct jobs *jobs, const char *owner, const struct job_filter *filter,
                  size_t limit);

/* Of objects with an `id`: says of each whether its answer is kept (`is_kept`), and takes out those
 * that have not ended. Looks at the newest runs only. */
void jobs_mark_kept(const struct jobs *jobs, json_t *list);

/* How many of this owner, or with NULL of all, run and wait. */
void jobs_count_live(const struct jobs *jobs, const char *owner, size_t *ret_running,
                     size_t *ret_waiting);

/* The cells of a session whose program and answer are kept, the oldest first: the last `limit`
 * before that id (NULL: the last), as far as their texts fit into `bytes`. E_NOT_FOUND: there is no
 * cell of that id. */
int jobs_list_cells(const struct jobs *jobs, const char *session, const char *before, size_t limit,
                    size_t bytes, struct buf *out, struct error *err);

/* The whole output of one stream, or NULL where the answer has all of it. */
const struct spool *job_spool(const struct job *job, bool is_stderr);

struct jobs_level {
    size_t running, kept, kept_bytes;
};

void jobs_level(const struct jobs *jobs, struct jobs_level *ret_level);
