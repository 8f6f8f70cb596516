/* Durable jobs outlive their machine: the node's part.
 *
 * The engine of a node accepts a job, runs it and shows it, as on one machine. What the client is
 * told waits until the bus has a sealed copy (cluster/job_table.h), so an accepted job is on one
 * disk and on the servers of the bus. The node brings the result there, too, when the job is over.
 *
 *   a machine is lost   after `jobs_after_s` another node takes its jobs: it writes itself down as
 *                       the next home of each, which one alone can, and gives them to its engine
 *   it comes back       its engine begins no job for some seconds; the node removes those that
 *                       have moved
 *   cancelled, deleted  the copy goes first, then the client is told
 *
 * A job is given to an engine with the credentials of its owner, as the client had sent them: the
 * engine believes the node nothing. Where the owner's token was removed, the copy goes.
 */
#pragma once

#include "base/http1.h"
#include "base/span.h"
#include "cluster/bus.h"

struct job_keep;
struct job_hook;
struct node;
struct relay;

int job_keep_new(struct node *node, struct job_keep **ret_keep, struct error *err);
void job_keep_free(struct job_keep *keep); /* accepts NULL */

/* To subscribe to; NULL behind them. */
#define JOB_KEEP_SUBJECTS 2
void job_keep_subjects(const struct job_keep *keep, const char *ret[JOB_KEEP_SUBJECTS]);

/* True: the message was for it. */
bool job_keep_take(struct job_keep *keep, const struct bus_message *message);
void job_keep_up(struct job_keep *keep); /* the bus is there, again */
void job_keep_tick(struct job_keep *keep);

/* --- for requests about one job, "/v1/jobs/ID" and "/v1/jobs/key:KEY" --- */

/* Another machine has the job, or may have it: what this engine has of it is out of date. */
bool job_keep_is_elsewhere(const struct job_keep *keep, struct span path);

/* The engine does not know it. Whether it may be there all the same: on its way from one machine to
 * another. */
bool job_keep_may_have(struct job_keep *keep, struct span path);

/* The engine's answer about a finished job waits until the bus has its end: else another machine
 * could run it again, and it would end twice. True: it is told, and relay_go_on() follows for all
 * relays with that path. */
bool job_keep_tells_end(struct job_keep *keep, struct span path);

/* --- for relays (job_hook.c) --- */

/* Of a request that makes, cancels or deletes a job; NULL: it is none of them. */
struct job_hook *job_hook_new(struct job_keep *keep, struct relay *relay,
                              const struct http_head *head);
bool job_hook_is_new_job(const struct job_hook *hook);
void job_hook_take_body(struct job_hook *hook, const void *data, size_t len);

/* Whether the answer is to be held back: then it gets all of it, and relay_release() follows
 * job_hook_run(). False: the hook is of no use any more. */
bool job_hook_holds(struct job_hook *hook, const struct http_head *answer, struct span text);
int job_hook_take_answer(struct job_hook *hook, const void *data, size_t len);
void job_hook_run(struct job_hook *hook);
const struct buf *job_hook_answer(const struct job_hook *hook, bool is_head);

/* The relay is gone. What was begun goes on. */
void job_hook_free(struct job_hook *hook);
