/* Durable jobs: requests that wait for the disk, or for the end of a job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/durable_internal.h"
#include "base/cleanup.h"
#include "base/date.h"
#include "base/id.h"
#include "base/json.h"

/* Retry-After when space is short: it comes back when jobs are deleted. */
#define FULL_RETRY_S 60

/* --- showing --- */

void durable_describe(const struct durable *durable, json_t *job)
{
    const struct attempt *a = attempt_find(durable, json_string_value(json_object_get(job, "id")));
    json_t *progress = NULL;

    if (a && a->number) {
        (void)json_object_set_new(job, "state", json_string("running"));
        if (a->has_progress)
            progress =
                json_pack("{s:I, s:I, s:o}", "done", (json_int_t)a->done, "total",
                          (json_int_t)a->total, "text", json_text_string(a->text, strlen(a->text)));
    }
    (void)json_object_set_new(job, "progress", progress ? progress : json_null());
}

bool durable_is_running(const struct durable *durable, const char *id)
{
    const struct attempt *a = attempt_find(durable, id);

    return a && a->number;
}

static bool is_over(const json_t *job)
{
    const char *state = json_get_text(job, "state");

    return strcmp(state, job_state_name(JOB_WAITING)) != 0 &&
           strcmp(state, job_state_name(JOB_RUNNING)) != 0;
}

/* NULL: it has been answered with the error. */
static json_t *read_job(struct durable *durable, struct request *request, const char *id)
{
    json_t *job = NULL;
    struct error err = {0};

    if (!durable_store(durable, true, &err) && err.code == E_NONE) {
        error_set(&err, E_NOT_FOUND, "there is no job with that id");
    } else if (durable->store &&
               job_record_show(durable->store, request->caller->keeper, id, &job, &err) == 0) {
        durable_describe(durable, job);
        return job;
    }
    request_answer_error(request, &err);
    return NULL;
}

/* --- those who wait for the end of a job --- */

struct durable_wait {
    LIST_ENTRY(durable_wait) link;
    struct durable *durable;
    struct request *request;
    char id[JOB_ID_SIZE];
    struct loop_watch *timer;
};

static void free_wait(struct durable_wait *wait)
{
    LIST_REMOVE(wait, link);
    loop_watch_free(wait->timer);
    free(wait);
}

static void answer_wait(void *arg)
{
    struct durable_wait *wait = arg;
    struct durable *durable = wait->durable;
    struct request *request = wait->request;
    char id[JOB_ID_SIZE];
    json_t *job;

    (void)snprintf(id, sizeof(id), "%s", wait->id);
    free_wait(wait);
    request->on_gone = NULL;
    job = read_job(durable, request, id);
    if (job)
        request_answer_json(request, 200, job);
}

static void on_gone(struct request *request)
{
    free_wait(request->user);
}

/* They are answered from the loop, since each answer takes its own out of the list. */
void durable_tell(struct durable *durable, const char *id)
{
    struct durable_wait *wait;

    LIST_FOREACH(wait, &durable->waits, link)
        if (strcmp(wait->id, id) == 0)
            loop_timer_start(wait->timer, 0);
}

void durable_show(struct durable *durable, struct request *request, const char *id, double wait_s)
{
    json_t *job = read_job(durable, request, id);
    struct durable_wait *wait;

    if (!job)
        return;
    wait = wait_s > 0 && !is_over(job) ? calloc(1, sizeof(*wait)) : NULL;
    if (wait)
        wait->timer = loop_timer(durable->loop, answer_wait, wait);
    if (!wait || !wait->timer) {
        free(wait);
        request_answer_json(request, 200, job);
        return;
    }
    json_decref(job);
    wait->durable = durable;
    wait->request = request;
    LIST_INSERT_HEAD(&durable->waits, wait, link);
    (void)snprintf(wait->id, sizeof(wait->id), "%s", id);
    request->user = wait;
    request->on_gone = on_gone;
    loop_timer_start(wait->timer, (uint64_t)(wait_s * 1000));
}

/* --- accepting --- */

/* A request whose job is written, and not yet safe. */
struct durable_accept {
    LIST_ENTRY(durable_accept) link;
    struct durable *durable;
    struct request *request; /* NULL: the client has gone */
    char id[JOB_ID_SIZE], owner[JOB_OWNER_SIZE];
    bool is_new;
    struct group_sync_wait sync;
};

static void free_accept(struct durable_accept *accept)
{
    LIST_REMOVE(accept, link);
    free(accept);
}

void durable_drop_waits(struct durable *durable)
{
    while (!LIST_EMPTY(&durable->accepts))
        free_accept(LIST_FIRST(&durable->accepts));
    while (!LIST_EMPTY(&durable->waits))
        free_wait(LIST_FIRST(&durable->waits));
}

static void answer_accepted(struct durable *durable, struct request *request, const char *id)
{
    char location[JOB_ID_SIZE + 32];
    json_t *job = read_job(durable, request, id);

    (void)snprintf(location, sizeof(location), "Location: /v1/jobs/%s\r\n", id);
    if (job)
        request_answer_json_with(request, 202, location, job);
}

/* A job that is not safe is not accepted. */
static void on_synced(void *user, int result)
{
    struct durable_accept *accept = user;
    struct durable *durable = accept->durable;
    struct request *request = accept->request;
    struct error err = {0};

    if (result < 0 && accept->is_new)
        (void)job_record_cancel(durable->store, accept->owner, accept->id, date_now_ms(),
                                &(enum job_state){0}, NULL);
    if (request)
        request->on_gone = NULL;
    if (request && result == 0) {
        answer_accepted(durable, request, accept->id);
    } else if (request) {
        error_set(&err, E_SYSTEM, "the job could not be written to the disk: %s",
                  strerror(-result));
        request_answer_error(request, &err);
    }
    free_accept(accept);
    durable_look(durable);
}

static void on_accept_gone(struct request *request)
{
    struct durable_accept *accept = request->user;

    accept->request = NULL; /* the job stays */
}

static void wait_for_disk(struct durable *durable, struct request *request, const char *id,
                          bool is_new)
{
    struct durable_accept *accept = calloc(1, sizeof(*accept));

    if (!accept) { /* it is there, and the next sync of anybody's makes it safe */
        answer_accepted(durable, request, id);
        return;
    }
    accept->durable = durable;
    accept->request = request;
    accept->is_new = is_new;
    (void)snprintf(accept->id, sizeof(accept->id), "%s", id);
    (void)snprintf(accept->owner, sizeof(accept->owner), "%s", request->caller->keeper);
    LIST_INSERT_HEAD(&durable->accepts, accept, link);
    request->user = accept;
    request->on_gone = on_accept_gone;
    accept->sync = (struct group_sync_wait){.done = on_synced, .user = accept};
    log_sync_wait(durable->sync, &accept->sync);
}

static int check_room(struct durable *durable, struct request *request, struct error *err)
{
    int64_t most = durable->api->config->jobs_max;
    struct job_usage usage = {0};

    if (job_record_usage(durable->store, request->caller->keeper, &usage, err) < 0)
        return -1;
    request->retry_s = FULL_RETRY_S;
    if (usage.unfinished >= most) {
        error_set(err, E_BUSY, "this token already has %lld unfinished jobs",
                  (long long)usage.unfinished);
        return error_hint(err, "wait for some of them; the operator sets `jobs_max`");
    }
    if (usage.bytes < (int64_t)LIMIT_JOBS_OWNER_BYTES) {
        request->retry_s = 0;
        return 0;
    }
    error_set(err, E_BUSY, "the jobs of this token use all of their %zu MiB",
              LIMIT_JOBS_OWNER_BYTES / MIB);
    return error_hint(err, "delete those that are over, or give them a shorter `keep_s`");
}

static int add(struct durable *durable, const struct request *request,
               const struct job_terms *terms, double delay_s, char id[JOB_ID_SIZE],
               struct error *err)
{
    const char *correlation = json_string_value(json_object_get(request->json, "correlation_id"));
    const struct idempotency_key *key = &request->idempotency;
    int64_t now = date_now_ms();
    struct job_order_record order = {
        .id = id,
        .owner = request->caller->keeper,
        .correlation_id = correlation ? correlation : id,
        .key = key->is_set ? key->name : NULL,
        .body = key->body,
        .terms = *terms,
        .now_ms = now,
        .due_ms = now + (int64_t)(delay_s * 1000),
        .request = {buf_str(&request->body), request->body.len},
    };

    if (id_make(id, "job_") < 0)
        return error_set(err, E_SYSTEM, "Linux has no random bytes");
    return job_record_add(durable->store, &order, err);
}

/* Of a job that another machine had, and that was over, only the key is known. */
static bool is_known_body(const uint8_t body[SHA256_BYTES])
{
    static const uint8_t none[SHA256_BYTES];

    return memcmp(body, none, sizeof(none)) != 0;
}

/* 1: it was asked for before, and is answered. */
static int find_known(struct durable *durable, struct request *request, struct error *err)
{
    uint8_t body[SHA256_BYTES];
    char id[JOB_ID_SIZE];
    int r = job_record_by_key(durable->store, request->caller->keeper, request->idempotency.name,
                              id, body, err);

    if (r <= 0)
        return r;
    if (is_known_body(body) && sha256_differs(body, request->idempotency.body)) {
        error_set(err, E_INVALID, "this Idempotency-Key was used for another request");
        error_hint(err, "a key is for one request and its repetitions; take a new one");
        request_answer_error_as(request, 422, NULL, err);
        return 1;
    }
    request->is_repeat = true;
    wait_for_disk(durable, request, id, false);
    return 1;
}

void durable_submit(struct durable *durable, struct request *request, const struct job_terms *terms,
                    double delay_s)
{
    char id[JOB_ID_SIZE];
    struct error err = {0};
    int r = durable_store(durable, false, &err) ? 0 : -1;

    if (r == 0 && request->idempotency.is_set)
        r = find_known(durable, request, &err);
    if (r > 0)
        return;
    if (r == 0)
        r = check_room(durable, request, &err);
    if (r == 0 && durable->is_stopping)
        r = error_set(&err, E_BUSY, "the server is stopping");
    if (r == 0) {
        r = add(durable, request, terms, delay_s, id, &err);
        if (r < 0 && err.code == E_TOO_LARGE) { /* not the request: the disk */
            err.code = E_BUSY;
            request->retry_s = FULL_RETRY_S;
        }
    }
    if (r == 0) {
        wait_for_disk(durable, request, id, true);
        return;
    }
    request_answer_error(request, &err);
}

int durable_import(struct durable *durable, struct request *request,
                   const struct job_import *import, struct error *err)
{
    if (check_room(durable, request, err) < 0 || job_record_import(durable->store, import, err) < 0)
        return -1;
    wait_for_disk(durable, request, import->order.id, false);
    return 0;
}

int durable_cancel(struct durable *durable, const struct caller *caller, const char *id,
                   bool *ret_was_live, struct error *err)
{
    struct attempt *a = attempt_find(durable, id);
    enum job_state state = JOB_WAITING;
    int64_t bytes = 0;

    if (job_record_state(durable->store, caller->keeper, id, &state, &bytes, err) < 0)
        return -1;
    *ret_was_live = state == JOB_WAITING || state == JOB_RUNNING;
    if (a) {
        *ret_was_live = a->step != ATTEMPT_ENDS || a->end.state == JOB_WAITING;
        attempt_cancel(a);
        return 0;
    }
    if (state != JOB_WAITING)
        return 0;
    if (job_record_cancel(durable->store, caller->keeper, id, date_now_ms(), &state, err) < 0)
        return -1;
    durable_tell(durable, id);
    return 0;
}
