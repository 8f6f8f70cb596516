/* Shared by job.c (runs and how they are kept), job_answer.c (their answers), job_list.c (lists of
 * them), job_read.c (their output, for anybody who reads along) and job_stream.c (their events). */
#pragma once

#include <sys/queue.h>
#include <time.h>

#include "admit/rights.h"
#include "api/job.h"
#include "base/id.h"
#include "base/shared.h"
#include "base/task.h"
#include "base/utf8.h"
#include "http/sse.h"

/* Bytes of a character that is cut in two between two reads. */
struct job_cut {
    char bytes[4];
    size_t len;
};

/* More of the first line than is shown: a secret that is cut is not recognized. */
#define JOB_LINE_BYTES 256

/* The facts about a run that lists show. */
struct job_note {
    enum run_language language;
    enum run_masking masking;
    char line[JOB_LINE_BYTES]; /* the first of the program that is not empty */
    bool is_masked;            /* and it is no longer than it is shown */
    bool has_terminal;
    struct timespec begun; /* by the clock that people use */
    char profile[RIGHTS_PROFILE_LEN];
    const char *end; /* the name of the status; NULL: it is not over */

    /* --- from its end on --- */
    int exit_code;
    double wall_ms, cpu_ms, queue_ms;
    uint64_t memory_peak_bytes;
    uint64_t masked, violations;
    const char *error; /* the code of a failure of ours, or NULL */
};

struct job {
    struct jobs *jobs;
    TAILQ_ENTRY(job) link; /* by age */
    char id[ID_SIZE];
    char owner[REQUEST_OWNER_MAX];
    char *correlation_id;
    enum hint_reader reader;
    struct run *run;            /* NULL: it is done */
    struct job_watch *watches;  /* who waits for the answer */
    struct idempotency_key key; /* under which it was asked for; is_set: there is one */
    struct queue_place place;
    char session_id[ID_SIZE]; /* of a cell; "": it is none */
    unsigned retry_s;         /* of a refusal; 0: not said */
    char traceparent[REQUEST_TRACE_SIZE];
    uint64_t begun_ns, turn_ns;   /* 0: it had none */
    struct job_form form;         /* write NULL: the native one */
    struct job_follower follower; /* on_done NULL: there is none */
    struct job_gate gate;         /* at_turn NULL: there is none */
    bool is_at_gate;              /* it has a place, and waits for job_pass() */
    bool is_settling;             /* its run is over, and its form has something to do */
    bool is_cancelled;
    bool is_detached;
    bool is_helper;
    struct job_note note;
    struct job_reader *readers; /* who reads its output along */
    struct run_stream ended[2]; /* for them, from the end of the run on; their spools are: */
    struct buf code;            /* of a cell that is over; empty: none, or not kept */
    struct task writing;        /* of the answer: the run is over */
    int status;                 /* of the answer, in HTTP */
    struct shared *answer;      /* its text */
    struct spool *spools[2];
    size_t bytes;      /* that it takes while it is kept */
    size_t weight;     /* and until it is over */
    size_t reserved;   /* for the output of a command, until it is over */
    size_t sent_bytes; /* what came with it: program, input, files */
    uint64_t done_ns;

    /* --- of one whose events are followed --- */
    bool is_stream;
    bool is_held; /* the program's output is not read for now */
    struct sse events;
    struct job_cut cuts[2];
    uint64_t left_ns; /* since when nobody reads; 0: somebody does */

    /* --- lines that its program asks for --- */
    struct call *input;             /* that waits for one, or NULL */
    struct loop_watch *input_clock; /* for that */
    bool is_input_over;             /* there are no more */

    struct job_call *forwarded; /* calls that the server outside is asked (job_call.c) */
    uint64_t n_forwarded;       /* ever */
};

struct jobs {
    struct jobs_options options;
    TAILQ_HEAD(job_list, job) all;
    size_t n_running, n_kept, kept_bytes, pending_bytes, command_bytes;
    unsigned ticks;
    bool is_ticking;
    bool is_closed;
    struct loop_watch *tick;
};

/* An event; takes the value over. */
void job_add_event(struct job *job, const char *name, json_t *value);

/* In a machine: an event for the server outside, which answers with job_answer_call(). */
void job_forward_call(struct job *job, struct call *call);

/* Whether the run goes on without a client, and its answer is kept among those. */
static inline bool job_goes_on(const struct job *job)
{
    return job->key.is_set || job->is_detached;
}

/* --- job.c --- */

/* The run tells those who read its output along. */
void job_hear_run(struct job *job);

/* Whether the caller may have so many bytes more that wait, and that a job has them until its run
 * is over. */
int jobs_check_room(const struct jobs *jobs, const struct caller *caller, size_t weight,
                    struct error *err);
void job_weigh_in(struct job *job, size_t weight);

/* --- job_answer.c --- */

/* The run is over: the text, and the status of HTTP that goes with it. */
void job_write_answer(struct job *job);

/* To all who wait for it. */
void job_tell_answer(struct job *job);

/* The request gets the answer. Without memory it is lost to it, and it is told so. */
void job_wait(struct job *job, struct request *request);

/* A detached run's: it has begun. */
void job_answer_begun(const struct job *job, struct request *request);

/* --- job_list.c --- */

/* Notes the facts of the beginning, and of the end. */
void job_note_begin(struct job *job, const struct run *run);
void job_note_end(struct job *job, const struct run *run);

/* Takes the program of a cell over, where it is short. */
void job_keep_code(struct job *job, struct run *run);
void job_mask_note(struct job *job);
const char *job_state(const struct job *job); /* as lists name it */

/* Tells those who listen of its beginning, or of its end. */
void job_tell_events(struct job *job);

/* --- job_read.c --- */

/* Its run has written something. */
void job_wake_readers(const struct job *job);

/* Its run is about to be freed: they still have to read. */
void job_keep_for_readers(struct job *job, struct run *run);

/* The job is freed. */
void job_drop_readers(struct job *job);

/* One of them is behind, and the program is to wait for it. */
bool job_is_read_slowly(const struct job *job);

/* Their connections live. */
void job_comment_readers(const struct job *job);

/* --- job_input.c --- */

/* The program wants a line. False: it has its answer, and nobody needs to be asked. */
bool job_want_line(struct job *job, struct call *call);

/* --- job_stream.c --- */

/* Events from the start on, to this request. */
void job_stream_begin(struct job *job, struct request *request);

/* The answer is written: the last event. */
void job_stream_end(struct job *job);

/* Every second while somebody follows: comments, and patience with those who left. */
void job_stream_tick(void *arg);
void job_begin_ticks(struct jobs *jobs);

/* Its output is left unread while somebody is behind whom it waits for. */
void job_hold_for_readers(struct job *job);
