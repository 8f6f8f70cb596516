/* Shared by job_keep.c (what is to be done), job_work.c (how the bus and the engine are asked),
 * job_chain.c (what is done, step by step) and job_hook.c (requests of clients). */
#pragma once

#include "base/buf.h"
#include "cluster/beat.h"
#include "cluster/job_bus.h"
#include "cluster/job_call.h"
#include "cluster/job_keep.h"
#include "cluster/job_seal.h"
#include "cluster/job_table.h"
#include "cluster/node_internal.h"

/* Of one message: sealed, and as the server gives it back in base64, it is below 1 MiB. */
#define JOB_PIECE (512 * KIB)

enum job_put { PUT_DONE, PUT_TAKEN, PUT_FAILED };

/* One thing that is done with one job: steps, of which each asks the bus or the engine and names
 * the next. */
struct job_work {
    TAILQ_ENTRY(job_work) link;
    struct job_keep *keep;
    struct kept_job *job;  /* NULL: of a hook */
    struct job_hook *hook; /* NULL: none, or its client has gone */
    char id[ID_SIZE];
    void (*next)(struct job_work *w);
    void (*then)(struct job_work *w); /* when the head is there */
    unsigned home; /* which home this node was when it began: another one may take the job */
    struct job_call *call;
    char place[CLUSTER_SUBJECT_MAX]; /* that is read */

    /* --- of the last step --- */
    enum job_put put;
    int status;      /* of the engine; 0: it did not answer. Of the bus: 200, 404 or 0 */
    struct buf text; /* that came */

    uint64_t sequence; /* of the message that was put */

    /* --- what is deleted --- */
    json_t *places; /* subjects, or numbers of messages */
    size_t place_at;
    void (*after)(struct job_work *w);

    /* --- what was collected --- */
    uint64_t put_pieces[JOB_PIECES]; /* of the request: numbers of messages */
    json_t *head;                    /* of h.1 */
    json_t *shown;                   /* the job as its home shows it */
    struct buf payload;              /* the request, or the result */
    size_t piece, pieces;

    /* --- what is brought to the engine: the end that was known when that began, or the request ---
     */
    bool is_end;
    unsigned end_home;
    uint64_t end_number;
};

struct alive {
    char name[13];
    uint64_t ready_ns;
};

struct job_keep {
    struct node *node;
    struct job_seal seal;
    struct job_bus *bus;
    struct job_table table;
    TAILQ_HEAD(, job_work) works;
    size_t n_works, n_takes, n_open; /* jobs here that are not over */
    struct alive alive[CLUSTER_NAMES_MAX];
    size_t n_alive;
    uint64_t up_ns;
    bool is_up, is_looking, is_scanned, has_stream, looks_again;
    unsigned look;
    uint64_t last_sequence, messages;      /* of the stream when it was looked at, to the end */
    uint64_t seen_sequence, seen_messages; /* of the look that is under way */
    uint64_t look_ns;
    char said[256];
};

/* Each once, until there is another. */
void job_keep_complain(struct job_keep *keep, const char *what, const struct error *err);

/* The stream is to be looked at soon. */
void job_keep_look(struct job_keep *keep);

/* --- job_work.c --- */

/* NULL: out of memory. */
struct job_work *job_work_new(struct job_keep *keep, struct kept_job *job);

/* It is over; nothing is done with its job for so long. */
void job_work_end(struct job_work *w, uint64_t rest_ms);

/* The next step follows from the loop. */
void job_work_put(struct job_work *w, char kind, unsigned home, uint64_t number, struct span text,
                  void (*next)(struct job_work *w));
void job_work_get(struct job_work *w, char kind, unsigned home, uint64_t number,
                  void (*next)(struct job_work *w));

/* --- job_delete.c --- */

/* All of the job, or the pieces of its request. The next step follows, perhaps at once. */
void job_work_delete(struct job_work *w, void (*next)(struct job_work *w));
void job_work_delete_request(struct job_work *w, void (*next)(struct job_work *w));
/* The message that was put last. */
void job_work_delete_last(struct job_work *w, void (*next)(struct job_work *w));
/* Sets the job's end where it has one. The status is 200, or 0 where nobody can tell. */
void job_work_find_end(struct job_work *w, void (*next)(struct job_work *w));
/* `path` is behind "/v1/jobs/ID" or, for PUT, "/v1/cluster/jobs/ID". */
void job_work_call(struct job_work *w, const char *method, const char *path, const struct buf *body,
                   size_t max, void (*next)(struct job_work *w));

/* --- job_chain.c --- */

/* Begins; the job has no work yet. */
void job_chain_homes(struct job_keep *keep, struct kept_job *job);
void job_chain_watch(struct job_keep *keep, struct kept_job *job, unsigned wait_s);
void job_chain_take(struct job_keep *keep, struct kept_job *job);
void job_chain_import(struct job_keep *keep, struct kept_job *job);
void job_chain_fence(struct job_keep *keep, struct kept_job *job);
void job_chain_purge(struct job_keep *keep, struct kept_job *job);

/* For a hook: job_hook_done() follows, unless the hook has gone. -1: out of memory. Takes both over
 * in any case. */
int job_chain_store(struct job_keep *keep, struct job_hook *hook, const char *id, json_t *head,
                    struct buf *request);
int job_chain_drop(struct job_keep *keep, struct job_hook *hook, const char *id);
void job_hook_done(struct job_hook *hook, bool is_good);
void job_hook_set_work(struct job_hook *hook, struct job_work *work);
