/* Looks at changes, applies or discards them, in a worker (api/worker.h): it has the descriptors
 * of the overlays and everything that texts are masked with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/changes.h"
#include "api/worker.h"
#include "base/id.h"
#include "base/json.h"
#include "base/share.h"

#define PATIENCE_MS 120000
#define JOBS_MAX    16 /* of all callers */

struct changes_job {
    struct changes_jobs *jobs;
    struct changes_job *next;
    char session[ID_SIZE];
    struct sessions *sessions; /* where it is, if it is still there at the end */
    char *owner;
    enum changes_action action;
    struct overlays *overlays;
    changes_fn fn;
    void *user;
};

/* --- in the worker --- */

static json_t *bases_json(const struct overlays *overlays)
{
    json_t *bases = json_array();
    const char *path;
    int64_t ctime_ns;
    uint64_t inode;

    for (size_t i = 0; i < overlays_count(overlays); i++)
        for (size_t n = 0; (path = overlays_base(overlays, i, n, &ctime_ns, &inode)); n++)
            (void)json_array_append_new(bases, json_pack("[I, s, I, I]", (json_int_t)i, path,
                                                         (json_int_t)ctime_ns, (json_int_t)inode));
    return bases;
}

struct there {
    struct overlays *overlays;
    struct mask_context masks;
    const struct changes_wish *wish;
};

static int work(const void *arg, json_t **ret_answer, struct error *err)
{
    const struct there *there = arg;
    json_t *answer = NULL;

    if (changes_do(there->overlays, there->masks, there->wish, &answer, err) < 0)
        return -1;
    *ret_answer = json_pack("{s:o, s:o, s:s}", "answer", answer, "bases",
                            bases_json(there->overlays), "shown", overlays_shown(there->overlays));
    return 0;
}

/* --- in the server --- */

static void job_free(struct changes_job *job)
{
    struct changes_job **at = &job->jobs->first;

    while (*at && *at != job)
        at = &(*at)->next;
    if (*at)
        *at = job->next;
    overlays_unref(job->overlays);
    free(job->owner);
    free(job);
}

/* They hold until the overlays go; where there is no memory a later change looks like a conflict.
 */
static void take_bases(struct overlays *overlays, const json_t *bases)
{
    for (size_t i = 0; i < json_array_size(bases); i++) {
        const json_t *base = json_array_get(bases, i);
        size_t index = (size_t)json_integer_value(json_array_get(base, 0));
        const char *path = json_string_value(json_array_get(base, 1));

        if (path && index < overlays_count(overlays))
            (void)overlays_note_base(overlays, index, path,
                                     json_integer_value(json_array_get(base, 2)),
                                     (uint64_t)json_integer_value(json_array_get(base, 3)), NULL);
    }
}

/* Records the decision: the version is a hash of everything in the list, contents included. The
 * record `apply` was there before anything was written; when this one cannot be, that one stands.
 */
static void note_applied(const struct changes_job *job, const json_t *answer)
{
    const char *version = json_string_value(json_object_get(answer, "version"));
    struct session *session;
    struct error err = {0};
    char detail[160];

    if (job->action != CHANGES_APPLY || !version)
        return;
    session = sessions_find(job->sessions, job->owner, job->session, &err);
    (void)snprintf(detail, sizeof(detail), "%zu done, %zu skipped, version %.64s",
                   json_array_size(json_object_get(answer, "done")),
                   json_array_size(json_object_get(answer, "skipped")), version);
    if (session)
        (void)session_note(session, "applied", detail, &err);
    error_done(&err);
}

static void on_done(void *arg, json_t *envelope, struct error *err)
{
    struct changes_job *job = arg;
    json_t *answer = json_object_get(envelope, "answer");
    const char *shown = json_string_value(json_object_get(envelope, "shown"));
    changes_fn fn = job->fn;
    void *user = job->user;

    if (answer && shown)
        overlays_note_shown(job->overlays, shown);
    if (answer) {
        take_bases(job->overlays, json_object_get(envelope, "bases"));
        note_applied(job, answer);
    } else if (err->code == E_NONE) {
        error_set(err, E_SYSTEM, "the process that examines changes was lost");
    }
    job_free(job);
    fn(user, answer, err);
}

/* --- beginning --- */

static int check(const struct changes_jobs *jobs, struct session *session,
                 const struct session_info *info, const struct changes_wish *wish,
                 struct error *err)
{
    struct share share = {.total = JOBS_MAX, .has_others = true};

    if (info->state == SESSION_STARTING) {
        error_set(err, E_BUSY, "the session is starting");
        return error_hint(err, "try again");
    }
    if (!session_overlays(session)) {
        error_set(err, E_INVALID, "the session has no copy-on-write directory");
        return error_hint(err, "open one with `allow`: [\"DIR:cow\"]");
    }
    if (wish->action != CHANGES_SHOW && (info->state == SESSION_BUSY || info->waiting)) {
        error_set(err, E_BUSY, "a cell is running");
        return error_hint(err, "wait for it, or interrupt it");
    }
    for (const struct changes_job *j = jobs->first; j; j = j->next) {
        share.used++;
        share.own += strcmp(j->owner ? j->owner : "", info->owner ? info->owner : "") == 0;
        if (strcmp(j->session, info->id) == 0) {
            error_set(err, E_BUSY, "changes of this session are being looked at already");
            return error_hint(err, "try again");
        }
    }
    if (!share_allows(&share, 1)) {
        error_set(err, E_BUSY, "changes of %zu sessions are being looked at, %zu of them yours",
                  (size_t)share.used, (size_t)share.own);
        return error_hint(err, "try again");
    }
    return 0;
}

static int note(struct session *session, const struct changes_wish *wish, struct error *err)
{
    char detail[192], what[48], hidden[64] = "";
    size_t n = json_array_size(wish->paths);

    if (wish->action == CHANGES_SHOW)
        return 0;
    if (n)
        (void)snprintf(what, sizeof(what), "%zu path(s)", n);
    else
        (void)snprintf(what, sizeof(what), "all");
    if (wish->accept_hidden)
        (void)snprintf(hidden, sizeof(hidden), ", accepting %llu hidden bytes",
                       (unsigned long long)wish->accept_hidden);
    (void)snprintf(detail, sizeof(detail), "%s%s%s", what, wish->is_forced ? ", forced" : "",
                   hidden);
    return session_note(session, wish->action == CHANGES_APPLY ? "apply" : "discard", detail, err);
}

static struct changes_job *job_new(struct changes_jobs *jobs, struct session *session,
                                   const struct session_info *info, enum changes_action action,
                                   changes_fn fn, void *user)
{
    struct changes_job *job = calloc(1, sizeof(*job));

    if (!job)
        return NULL;
    *job = (struct changes_job){.jobs = jobs,
                                .fn = fn,
                                .user = user,
                                .overlays = overlays_ref(session_overlays(session)),
                                .sessions = session_table(session),
                                .owner = info->owner ? strdup(info->owner) : NULL,
                                .action = action};
    (void)snprintf(job->session, sizeof(job->session), "%s", info->id);
    return job;
}

int changes_start(struct changes_jobs *jobs, struct loop *loop, struct session *session,
                  const struct changes_wish *wish, changes_fn fn, void *user, struct error *err)
{
    const struct there there = {session_overlays(session), session_masks(session), wish};
    struct worker_task task = {
        .work = work,
        .arg = &there,
        .on_done = on_done,
        .patience_ms = PATIENCE_MS,
        .allows_many = true,
        .name = "the work on the changes",
        .late_hint = "each file is old or new: look at the changes again",
    };
    struct session_info info;
    struct changes_job *job;

    session_info(session, &info);
    if (check(jobs, session, &info, wish, err) < 0 || note(session, wish, err) < 0)
        return -1;
    task.user = job = job_new(jobs, session, &info, wish->action, fn, user);
    if (!job)
        return error_memory(err);
    if (worker_start(loop, &task, err) < 0) {
        job_free(job);
        return -1;
    }
    job->next = jobs->first;
    jobs->first = job;
    return 0;
}
