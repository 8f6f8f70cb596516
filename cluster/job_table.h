/* What the bus has of durable jobs, and where: a stream of JetStream in which each subject is a
 * place that is written once (discard new, one message for each subject). So who writes a place
 * first has it, and nobody can write over another's.
 *
 *   belljar.v1.job.ID.q.1.N   piece N of the request
 *   belljar.v1.job.ID.h.1.0   accepted: the job, its owner's credentials; its home is in the id
 *   belljar.v1.job.ID.h.T.0   T > 1: home T, which has taken it from home T - 1
 *   belljar.v1.job.ID.r.T.N   piece N of the result that home T has
 *   belljar.v1.job.ID.e.T.S   the end: the job as home T shows it. It is kept until second S
 *
 * All of it is sealed (cluster/job_seal.h). This file reads and writes the names, and keeps the
 * table of jobs that a node has made of them; cluster/job_keep.h says what is done with it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <jansson.h>

#include "base/id.h"
#include "cluster/cluster.h"

#define JOB_STREAM   "belljar_jobs"
#define JOB_SUBJECTS CLUSTER_SUBJECTS ".job."
#define JOB_PUT      JOB_SUBJECTS ">"

struct job_place {
    char id[ID_SIZE];
    char kind;       /* one of "qhre" */
    unsigned home;   /* 1: the first */
    uint64_t number; /* of a piece, or a second */
};

/* False: it is none of ours. */
bool job_place_read(const char *subject, struct job_place *ret_place);
void job_place_write(const struct job_place *place, char subject[CLUSTER_SUBJECT_MAX]);

/* "job_…-a1" of a path such as "/v1/jobs/job_…-a1/cancel", or "". */
void job_id_of_path(const char *path, size_t len, char ret_id[ID_SIZE]);

/* Of a request, at most (job_internal.h). */
#define JOB_PIECES 16

struct job_work;

struct kept_job {
    LIST_ENTRY(kept_job) of_bucket;
    TAILQ_ENTRY(kept_job) link;
    char id[ID_SIZE];
    unsigned last;    /* number of its home */
    char home[13];    /* whose name this is, where knows_home */
    bool knows_home;  /* else it has to be read */
    bool was_here;    /* this node was an earlier home */
    bool is_fenced;   /* and what was here has gone */
    bool is_imported; /* this node is its home, and its engine has it */
    bool is_over;     /* it was over when it came here */
    bool is_dropped;  /* it was cancelled or deleted */
    bool has_end;
    unsigned end_home;
    uint64_t expires_s; /* of one with an end */
    unsigned seen;      /* in which look at the stream */
    uint64_t rests_until_ns;
    uint64_t moved_ns;           /* when this node learned of its last home; 0: it has its first */
    uint64_t pieces[JOB_PIECES]; /* of the request: the numbers of their messages, */
    size_t n_pieces;             /* where this node has put them */
    struct job_work *work;       /* that is under way; or NULL */
};

#define JOB_BUCKETS 4096

struct job_table {
    LIST_HEAD(, kept_job) buckets[JOB_BUCKETS];
    TAILQ_HEAD(kept_list, kept_job) list;
    uint64_t salt; /* another order on each node: they try to take different jobs */
    size_t count;
};

void job_table_init(struct job_table *table, uint64_t salt);
void job_table_done(struct job_table *table);
struct kept_job *job_table_find(const struct job_table *table, const char *id);

/* Finds it, or adds it with its first home. NULL: out of memory. */
struct kept_job *job_table_add(struct job_table *table, const char *id);
void job_table_remove(struct job_table *table, struct kept_job *job);

/* It waits behind all others. */
void job_table_last(struct job_table *table, struct kept_job *job);

/* A look at the stream begins with a new number. Both take the answer with names of places. */
void job_table_see_homes(struct job_table *table, const json_t *subjects, unsigned look);
void job_table_see_ends(struct job_table *table, const json_t *subjects);

/* Those that this look has not seen have gone. */
void job_table_sweep(struct job_table *table, unsigned look);
