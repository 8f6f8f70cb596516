/* Runs on behalf of clients: each is a job from its submission until its answer is forgotten.
 *
 * A job belongs to an owner and is found by him alone, by the id of its run. While it runs, a
 * request may wait for it; when that request's client goes away, the run is cancelled. A client
 * that follows its events has a while to come back first. When it is done its answer, as text,
 * stays for a while: a bounded number per owner, a bounded number of bytes for all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/loop.h"
#include "base/run.h"
#include "base/spool.h"
#include "front/request.h"
#include "pool/pool.h"
#include "pool/session.h"

struct jobs;
struct job;

struct jobs_options {
    struct loop *loop;
    struct pool *pool;
    struct sessions *sessions;
    struct spool_store *store; /* where whole outputs go; NULL: nowhere */
    size_t max_kept;           /* answers of one owner */
    size_t max_bytes;          /* of all answers */
};

int jobs_new(const struct jobs_options *options, struct jobs **ret_jobs, struct error *err);
void jobs_free(struct jobs *jobs); /* when nothing runs any more */

/* Interrupts everything that runs; the answers follow. */
void jobs_cancel_all(struct jobs *jobs);

/* Starts the admitted run, as a cell of `session` or on its own, and answers the request when it is
 * done, or, when the client wants events, as things happen. Takes the run over. */
void jobs_start(struct jobs *jobs, struct request *request, struct session *session,
                struct run *run, const char *correlation_id);

/* E_NOT_FOUND for an unknown, forgotten or foreign id. */
struct job *jobs_find(struct jobs *jobs, const char *owner, const char *id, struct error *err);

/* Answers the request with what is known of it. */
void job_show(struct job *job, struct request *request);

/* Answers the request with its events, those behind the one that `Last-Event-ID` names. */
void job_follow(struct job *job, struct request *request);

/* The whole output of one stream, or NULL where the answer has all of it. */
const struct spool *job_spool(const struct job *job, bool is_stderr);

struct jobs_level {
    size_t running, kept, kept_bytes;
};

void jobs_level(const struct jobs *jobs, struct jobs_level *ret_level);
