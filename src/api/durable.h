/* Durable jobs: programs that are run even if the server ends meanwhile.
 *
 * A durable job is a record on the disk (store/job_record.h). It is accepted when the record is on
 * the disk. Each attempt is an ordinary detached run (api/job.h) of its owner: it waits in the same
 * queue, has the same limits and is listed with the others. Its number is on the disk before the
 * program begins, and its result before the job is over. So after the end of a server the next one
 * knows what was under way: it is tried again, or it is lost where it may not be.
 *
 * One server of a user at a time has the jobs: it holds a lock beside the file. Nothing is opened
 * until there is a first job.
 */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "admit/caller.h"
#include "base/error.h"
#include "base/loop.h"
#include "http/request.h"
#include "store/job_record.h"

struct api;
struct durable;

/* `api` is filled in later, and outlives it. */
int durable_new(struct api *api, struct loop *loop, struct durable **ret_durable,
                struct error *err);

/* Takes up the jobs of an earlier server, if there are any. */
void durable_start(struct durable *durable);

/* Nothing is begun any more, and what only waits for its turn waits for the next server. `on_idle`
 * is called when no attempt is under way, maybe at once. NULL: nobody will wait; what is cancelled
 * from here on is cancelled by the end of the server. */
void durable_stop(struct durable *durable, loop_fn on_idle, void *arg);

/* When no run is under way any more. What is not written down by now is tried again later. */
void durable_free(struct durable *durable);

/* The owner's token was removed: its jobs are deleted. */
void durable_forget(struct durable *durable, const struct caller *caller);

/* --- for the routes --- */

/* The open file. NULL: *err says why it cannot be used. `is_read`: E_NONE where there is none yet,
 * and nothing is made. */
struct store *durable_store(struct durable *durable, bool is_read, struct error *err);

/* Accepts the job and answers the request when it is safe; or answers with the error. */
void durable_submit(struct durable *durable, struct request *request, const struct job_terms *terms,
                    double delay_s);

/* A job of another machine, from the node of this one (durable_import.c). The texts of request and
 * result come as strings, in which every byte may be escaped. */
#define DURABLE_IMPORT_BYTES (2 * (LIMIT_JOB_RESULT + LIMIT_JOB_BODY) + MIB)
void durable_import_job(struct request *request);

/* Answers with the job as it is known; `wait_s` > 0: when it is over, or after that time. */
void durable_show(struct durable *durable, struct request *request, const char *id, double wait_s);

/* Adds what is known of an attempt that is under way to what was read from the disk. */
void durable_describe(const struct durable *durable, json_t *job);

/* Whether an attempt is under way that the disk does not know the end of. */
bool durable_is_running(const struct durable *durable, const char *id);

/* *ret_was_live: it had not ended. */
int durable_cancel(struct durable *durable, const struct caller *caller, const char *id,
                   bool *ret_was_live, struct error *err);

/* Jobs by state, as the disk knows them; all 0 where there is no file. */
void durable_count(struct durable *durable, struct job_counts *ret_counts);
