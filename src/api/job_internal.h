/* Shared by job.c (runs and how they are kept), job_answer.c (their answers) and job_stream.c
 * (their events). */
#pragma once

#include <sys/queue.h>

#include "api/job.h"
#include "base/shared.h"
#include "base/task.h"
#include "base/utf8.h"
#include "http/sse.h"

/* Bytes of a character that is cut in two between two reads. */
struct job_cut {
    char bytes[4];
    size_t len;
};

struct job {
    struct jobs *jobs;
    TAILQ_ENTRY(job) link; /* by age */
    char id[32];
    char owner[REQUEST_OWNER_MAX];
    char *correlation_id;
    enum hint_reader reader;
    struct run *run;            /* NULL: it is done */
    struct job_watch *watches;  /* who waits for the answer */
    struct idempotency_key key; /* under which it was asked for; is_set: there is one */
    struct queue_place place;
    char session_id[32]; /* of a cell; "": it is none */
    unsigned retry_s;    /* of a refusal; 0: not said */
    char traceparent[REQUEST_TRACE_SIZE];
    uint64_t begun_ns, turn_ns;   /* 0: it had none */
    struct job_form form;         /* write NULL: the native one */
    struct job_follower follower; /* on_done NULL: there is none */
    bool is_cancelled;
    struct task writing;   /* of the answer: the run is over */
    int status;            /* of the answer, in HTTP */
    struct shared *answer; /* its text */
    struct spool *spools[2];
    size_t bytes;      /* that it takes while it is kept */
    size_t weight;     /* and until it is over */
    size_t sent_bytes; /* what came with it: program, input, files */
    uint64_t done_ns;

    /* --- of one whose events are followed --- */
    bool is_stream;
    bool is_held; /* the program's output is not read for now */
    struct sse events;
    struct job_cut cuts[2];
    uint64_t left_ns; /* since when nobody reads; 0: somebody does */
};

struct jobs {
    struct jobs_options options;
    TAILQ_HEAD(job_list, job) all;
    size_t n_running, n_kept, kept_bytes, pending_bytes;
    unsigned ticks;
    bool is_ticking;
    bool is_closed;
    struct loop_watch *tick;
};

/* --- job_answer.c --- */

/* The run is over: the text, and the status of HTTP that goes with it. */
void job_write_answer(struct job *job);

/* To all who wait for it. */
void job_tell_answer(struct job *job);

/* The request gets the answer. Without memory it is lost to it, and it is told so. */
void job_wait(struct job *job, struct request *request);

/* --- job_stream.c --- */

/* Events from the start on, to this request. */
void job_stream_begin(struct job *job, struct request *request);

/* The answer is written: the last event. */
void job_stream_end(struct job *job);

/* Every second while somebody follows: comments, and patience with those who left. */
void job_stream_tick(void *arg);
