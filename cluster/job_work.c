/* One step of a work: a question to the bus or to the engine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "cluster/job_internal.h"

#define GET_SUBJECT  "$JS.API.STREAM.MSG.GET." JOB_STREAM
#define INFO_SUBJECT "$JS.API.STREAM.INFO." JOB_STREAM

/* Of the server: there is no such message. That it has no such stream now is another error with the
 * same code, and says nothing about the job. */
#define NO_MESSAGE 10037

/* Of the server: this place is written already. */
#define TAKEN_TEXT "maximum messages per subject exceeded"

struct job_work *job_work_new(struct job_keep *keep, struct kept_job *job)
{
    struct job_work *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    w->keep = keep;
    w->job = job;
    buf_init(&w->text, LIMIT_JOB_RESULT + MIB);
    buf_init(&w->payload, LIMIT_JOB_RESULT + MIB);
    if (job) {
        job->work = w;
        w->home = job->last;
        (void)snprintf(w->id, sizeof(w->id), "%s", job->id);
    }
    TAILQ_INSERT_TAIL(&keep->works, w, link);
    keep->n_works++;
    return w;
}

/* Texts may hold the owner's token. */
static void forget(struct job_work *w)
{
    TAILQ_REMOVE(&w->keep->works, w, link);
    w->keep->n_works--;
    job_call_free(w->call);
    buf_wipe(&w->text);
    buf_wipe(&w->payload);
    buf_done(&w->text);
    buf_done(&w->payload);
    json_decref(w->head);
    json_decref(w->shown);
    json_decref(w->places);
    free(w);
}

void job_work_end(struct job_work *w, uint64_t rest_ms)
{
    struct kept_job *job = w->job;

    if (w->hook)
        job_hook_set_work(w->hook, NULL);
    if (job) {
        job->work = NULL;
        job->rests_until_ns = loop_now_ns() + rest_ms * UINT64_C(1000000);
        job_table_last(&w->keep->table, job);
    }
    forget(w);
}

/* There is no memory for the question, or nobody to ask. */
static void fail(struct job_work *w, void (*next)(struct job_work *w))
{
    w->put = PUT_FAILED;
    w->status = 0;
    next(w);
}

/* --- the bus --- */

static void on_put(void *user, const json_t *answer)
{
    struct job_work *w = user;
    const json_t *error = json_object_get(answer, "error");
    bool is_taken = error && strcmp(json_get_text(error, "description"), TAKEN_TEXT) == 0;

    w->sequence = (uint64_t)json_integer_value(json_object_get(answer, "seq"));
    w->put = is_taken                                              ? PUT_TAKEN
             : !answer || error || !json_object_get(answer, "seq") ? PUT_FAILED
                                                                   : PUT_DONE;
    if (error && !is_taken) {
        struct error err = {.message = (char *)(uintptr_t)json_get_text(error, "description")};

        job_keep_complain(w->keep, "the bus keeps no copies of jobs", &err);
    }
    w->next(w);
}

void job_work_put(struct job_work *w, char kind, unsigned home, uint64_t number, struct span text,
                  void (*next)(struct job_work *w))
{
    cleanup(buf_done) struct buf sealed = BUF_OF(JOB_PIECE + SEAL_EXTRA);
    struct job_place place = {.kind = kind, .home = home, .number = number};
    char subject[CLUSTER_SUBJECT_MAX];

    (void)snprintf(place.id, sizeof(place.id), "%s", w->id);
    job_place_write(&place, subject);
    w->next = next;
    if (job_seal_close(&w->keep->seal, subject, text, &sealed, NULL) < 0 ||
        job_bus_ask(w->keep->bus, w->keep->node->bus, subject, buf_str(&sealed), sealed.len, on_put,
                    w) < 0)
        fail(w, next);
}

/* {"message": {"data": BASE64}} or {"error": {"code": 404}}. */
static int read_message(struct job_work *w, const json_t *answer, struct error *err)
{
    cleanup(buf_done) struct buf sealed = BUF_OF(JOB_PIECE + SEAL_EXTRA);
    const json_t *data = json_object_get(json_object_get(answer, "message"), "data");

    if (!json_is_string(data))
        return error_set(err, E_PROTOCOL, "the bus answered without a message");
    if (base64_decode(&sealed, json_string_value(data), json_string_length(data), err) < 0)
        return -1;
    return job_seal_open(&w->keep->seal, w->place, (struct span){buf_str(&sealed), sealed.len},
                         &w->text, err);
}

static void on_get(void *user, const json_t *answer)
{
    struct job_work *w = user;
    const json_t *error = json_object_get(answer, "error");
    cleanup_error struct error err = {0};

    w->status = 200;
    if (!answer)
        w->status = 0;
    else if (error)
        w->status = json_integer_value(json_object_get(error, "err_code")) == NO_MESSAGE ? 404 : 0;
    else if (read_message(w, answer, &err) < 0) {
        job_keep_complain(w->keep, "the copy of a job cannot be read", &err);
        w->status = 0;
    }
    w->next(w);
}

void job_work_get(struct job_work *w, char kind, unsigned home, uint64_t number,
                  void (*next)(struct job_work *w))
{
    struct job_place place = {.kind = kind, .home = home, .number = number};
    char question[CLUSTER_SUBJECT_MAX + 32];
    int n;

    (void)snprintf(place.id, sizeof(place.id), "%s", w->id);
    job_place_write(&place, w->place);
    n = snprintf(question, sizeof(question), "{\"last_by_subj\":\"%s\"}", w->place);
    w->next = next;
    buf_clear(&w->text);
    if (job_bus_ask(w->keep->bus, w->keep->node->bus, GET_SUBJECT, question, (size_t)n, on_get, w) <
        0)
        fail(w, next);
}

static void on_ends(void *user, const json_t *answer)
{
    struct job_work *w = user;
    const json_t *state = json_object_get(answer, "state");

    w->status = state ? 200 : 0;
    if (state)
        job_table_see_ends(&w->keep->table, json_object_get(state, "subjects"));
    w->next(w);
}

void job_work_find_end(struct job_work *w, void (*next)(struct job_work *w))
{
    char question[CLUSTER_SUBJECT_MAX + 32];
    int n = snprintf(question, sizeof(question),
                     "{\"subjects_filter\":\"" JOB_SUBJECTS "%s.e.*.*\"}", w->id);

    w->next = next;
    if (job_bus_ask(w->keep->bus, w->keep->node->bus, INFO_SUBJECT, question, (size_t)n, on_ends,
                    w) < 0)
        fail(w, next);
}

/* --- the engine --- */

static void on_called(void *user, int status, struct buf *body)
{
    struct job_work *w = user;

    w->call = NULL;
    w->status = status;
    buf_done(&w->text);
    w->text = *body;
    *body = (struct buf){0};
    w->next(w);
}

void job_work_call(struct job_work *w, const char *method, const char *path, const struct buf *body,
                   size_t max, void (*next)(struct job_work *w))
{
    char target[128];
    const struct job_call_order order = {
        .socket = w->keep->node->settings->socket,
        .method = method,
        .target = target,
        .credentials = json_get_text(w->head, "credentials"),
        .body = body,
        .max_answer = max,
        .fn = on_called,
        .user = w,
    };

    (void)snprintf(target, sizeof(target), "/v1/%sjobs/%s%s",
                   strcmp(method, "PUT") == 0 ? "cluster/" : "", w->id, path);
    w->next = next;
    w->call = job_call_begin(w->keep->node->loop, &order);
    if (!w->call)
        fail(w, next);
}
