#include "api/undo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admit/grants.h"
#include "admit/own_places.h"
#include "api/events.h"
#include "api/worker.h"
#include "base/id.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/paths.h"
#include "base/share.h"
#include "undo/store.h"

#define PATIENCE_MS 600000
#define JOBS_MAX    8 /* of all callers */

/* --- what may be written --- */

static bool may_write(void *arg, const char *path)
{
    const struct undo_wish *wish = arg;

    if (!wish->granted)
        return grants_may_write(wish->config, path);
    for (size_t i = 0; i < wish->granted->terms.n_grants; i++)
        if (wish->granted->terms.grants[i].mode == RUN_GRANT_RW &&
            paths_below(path, wish->granted->terms.grants[i].path))
            return true;
    return false;
}

/* --- the trail --- */

static int tell_begin(const struct undo_wish *wish, struct error *err)
{
    const struct recorder_undo event = {.event = "undo", .owner = wish->who, .run = wish->run};

    return wish->is_dry ? 0 : recorder_undo(wish->recorder, &event, err);
}

static void tell_end(const struct undo_wish *wish, const json_t *answer, const struct error *cause)
{
    const struct recorder_undo event = {
        .event = "undone",
        .owner = wish->who,
        .run = wish->run,
        .undo = json_string_value(json_object_get(answer, "undo")),
        .done = (uint64_t)json_integer_value(json_object_get(answer, "n_done")),
        .conflicts = (uint64_t)json_integer_value(json_object_get(answer, "n_conflicts")),
        .error = answer ? NULL : cause,
    };

    if (!wish->is_dry)
        (void)recorder_undo(wish->recorder, &event, NULL);
}

/* --- doing it --- */

static int work(const struct undo_wish *wish, json_t **ret_answer, struct error *err)
{
    const struct undo_store_wish store = {
        .id = wish->run,
        .owner = wish->keeper,
        .is_dry = wish->is_dry,
        .bytes = (uint64_t)wish->config->undo_total_mb * MIB,
        .may_write = wish->is_checked ? may_write : NULL,
        .arg = (void *)wish,
    };

    if (own_places_add(wish->config, err) < 0)
        return -1;
    return undo_store_undo(&store, ret_answer, err);
}

/* An id is a word of the trail: nothing else gets there. */
static int check_id(const char *id, struct error *err)
{
    if (strlen(id) < ID_SIZE &&
        strspn(id, "0123456789ABCDEFGHJKMNPQRSTVWXYZabcdefghijklmnopqrstuvwxyz_-") == strlen(id))
        return 0;
    error_set(err, E_NOT_FOUND, "`%.40s` is not the id of a run", id);
    return error_hint(err, "the result of a run has it as `id`");
}

int undo_do(const struct undo_wish *wish, json_t **ret_answer, struct error *err)
{
    int r;

    if (check_id(wish->run, err) < 0 || tell_begin(wish, err) < 0)
        return -1;
    r = work(wish, ret_answer, err);
    tell_end(wish, r == 0 ? *ret_answer : NULL, err);
    return r;
}

/* --- in a worker --- */

struct undo_job {
    struct undo_jobs *jobs;
    struct undo_job *next;
    struct undo_wish wish;
    char run[ID_SIZE];
    char *who;
    undo_fn fn;
    void *user;
};

static void job_free(struct undo_job *job)
{
    struct undo_job **at = &job->jobs->first;

    while (*at && *at != job)
        at = &(*at)->next;
    if (*at)
        *at = job->next;
    free(job->who);
    free(job);
}

static int work_there(const void *arg, json_t **ret_answer, struct error *err)
{
    return work(arg, ret_answer, err);
}

static void on_done(void *arg, json_t *answer, struct error *err)
{
    struct undo_job *job = arg;
    undo_fn fn = job->fn;
    void *user = job->user;

    tell_end(&job->wish, answer, err);
    if (answer && !job->wish.is_dry)
        events_tell_undo(job->jobs->events, job->who, job->run, answer);
    job_free(job);
    fn(user, answer, err);
}

static struct undo_job *job_new(struct undo_jobs *jobs, const struct undo_wish *wish, undo_fn fn,
                                void *user)
{
    struct undo_job *job = calloc(1, sizeof(*job));

    if (!job)
        return NULL;
    *job = (struct undo_job){.jobs = jobs,
                             .fn = fn,
                             .user = user,
                             .wish = *wish,
                             .who = strdup(wish->who ? wish->who : "")};
    (void)snprintf(job->run, sizeof(job->run), "%s", wish->run);
    /* The record for the trail at the end; the rest belongs to the worker. */
    job->wish.run = job->run;
    job->wish.who = job->who;
    job->wish.keeper = NULL;
    job->wish.granted = NULL;
    if (job->who)
        return job;
    job_free(job);
    return NULL;
}

static int check(const struct undo_jobs *jobs, const struct undo_wish *wish, struct error *err)
{
    struct share share = {.total = JOBS_MAX, .has_others = true};

    for (const struct undo_job *j = jobs->first; j; j = j->next) {
        share.used++;
        share.own += strcmp(j->who, wish->who ? wish->who : "") == 0;
        if (strcmp(j->run, wish->run) == 0) {
            error_set(err, E_BUSY, "another undo of this run is going on");
            return error_hint(err, "try again");
        }
    }
    if (!share_allows(&share, 1)) {
        error_set(err, E_BUSY, "%zu undos are going on, %zu of them yours", (size_t)share.used,
                  (size_t)share.own);
        return error_hint(err, "try again");
    }
    return check_id(wish->run, err);
}

/* An undo goes on when the server ends: what it has begun is better finished. It keeps no
 * descriptor: clients of the server, and locks of other runs, are not its to hold. */
static int start_worker(struct loop *loop, const struct undo_wish *wish, struct undo_job *job,
                        struct error *err)
{
    const struct worker_task task = {
        .work = work_there,
        .arg = wish,
        .on_done = on_done,
        .user = job,
        .patience_ms = PATIENCE_MS,
        .outlives_server = true,
        .keeps_nothing = true,
        .name = "the undo",
        .late_hint = "`belljar undo --list` has its own id: undo that first",
    };

    return worker_start(loop, &task, err);
}

int undo_start(struct undo_jobs *jobs, struct loop *loop, const struct undo_wish *wish, undo_fn fn,
               void *user, struct error *err)
{
    struct undo_job *job;
    int r;

    if (check(jobs, wish, err) < 0 || tell_begin(wish, err) < 0)
        return -1;
    job = job_new(jobs, wish, fn, user);
    r = job ? start_worker(loop, wish, job, err) : error_memory(err);
    if (r < 0) {
        /* Its beginning is in the trail, and so is that nothing came of it. */
        tell_end(wish, NULL, err);
        if (job)
            job_free(job);
        return -1;
    }
    job->next = jobs->first;
    jobs->first = job;
    return 0;
}
