/* Durable jobs that come from another machine of the cluster, because theirs was lost.
 *
 * The node of this machine brings what the bus had of the job, with the token of its owner: so it
 * makes nothing that the owner could not have sent here. A job that is not over waits for its next
 * attempt, is lost where it may have begun and is not repeatable, or has failed where its machines
 * were lost during all attempts.
 */
#include <string.h>

#include "api/durable_internal.h"
#include "api/fingerprint.h"
#include "base/cleanup.h"
#include "base/date.h"
#include "base/json.h"

#define REQUEST_DEPTH 32

/* clang-format off */
const struct schema_field durable_import_fields[] = {
    {"job", SCHEMA_OBJECT, .is_required = true, .help = "the job as its machine has shown it"},
    {"request", SCHEMA_STRING, .max_len = LIMIT_JOB_BODY, .help = "the body of the request"},
    {"result", SCHEMA_STRING, .max_len = LIMIT_JOB_RESULT, .help = "the result object"},
    {"key", SCHEMA_STRING, .max_len = 255, .help = "the idempotency key"},
    {"lost", SCHEMA_INTEGER, .min = 0, .max = 1000, .help = "machines that were lost with it"},
    {0},
};
/* clang-format on */

static const char lost_error[] =
    "{\"code\":\"system\",\"message\":\"the machine of the job was lost, and the job is not "
    "repeatable\",\"hint\":\"it may have run in part; submit it again if that does no harm\"}";
static const char failed_error[] =
    "{\"code\":\"system\",\"message\":\"the machines of the job were lost during all "
    "attempts\",\"hint\":\"see `belljar jobs show`; submit it again with more `max_attempts`\"}";

struct import {
    struct job_import of;
    struct idempotency_key key;
    struct buf error_text;
};

static struct span text_of(const json_t *object, const char *name)
{
    const json_t *string = json_object_get(object, name);

    return (struct span){json_string_value(string), json_string_length(string)};
}

static int64_t millis(const json_t *job, const char *name)
{
    double seconds = json_number_value(json_object_get(job, name));

    return seconds > 0 ? (int64_t)(seconds * 1000) : 0;
}

static int wrong(const char *name, struct error *err)
{
    return error_set(err, E_INVALID, "`job.%s` is not as a server writes it", name);
}

static int read_terms(const json_t *job, struct job_terms *terms, struct error *err)
{
    json_int_t most = json_integer_value(json_object_get(job, "max_attempts"));
    const json_t *list = json_object_get(job, "retry_on"), *item;
    size_t i;

    if (most < 1 || most > LIMIT_JOB_ATTEMPTS)
        return wrong("max_attempts", err);
    *terms = (struct job_terms){
        .max_attempts = (uint32_t)most,
        .is_repeatable = json_is_true(json_object_get(job, "repeatable")),
        .retry_ms = (uint64_t)millis(job, "retry_delay_s"),
        .keep_ms = (uint64_t)millis(job, "keep_s"),
    };
    if (terms->keep_ms < 1000 || terms->keep_ms > (uint64_t)LIMIT_JOB_KEEP_S * 1000)
        return wrong("keep_s", err);
    json_array_foreach(list, i, item)
    {
        const char *status = json_string_value(item);

        terms->retry_on |= status ? job_retry_bit(status) : 0;
    }
    return 0;
}

static int read_state(const json_t *job, struct job_import *of, struct error *err)
{
    const char *name = json_get_text(job, "state");

    for (int state = 0; state < JOB_STATES; state++)
        if (strcmp(name, job_state_name((enum job_state)state)) == 0) {
            of->state = (enum job_state)state;
            return 0;
        }
    return wrong("state", err);
}

static bool is_over(const struct job_import *of)
{
    return of->state != JOB_WAITING && of->state != JOB_RUNNING;
}

static int read_over(const json_t *job, struct import *i, struct error *err)
{
    struct job_import *of = &i->of;
    const json_t *error = json_object_get(job, "error");

    of->ended_ms = date_read_millis(json_get_text(job, "ended_at"));
    of->expires_ms = date_read_millis(json_get_text(job, "expires_at"));
    if (of->ended_ms < 0)
        return wrong("ended_at", err);
    if (of->expires_ms < 0 || of->expires_ms > date_now_ms() + (int64_t)LIMIT_JOB_KEEP_S * 1000)
        return wrong("expires_at", err);
    if (!json_is_object(error))
        return 0;
    if (json_text_dump(error, JSON_TEXT_COMPACT, &i->error_text, err) < 0)
        return -1;
    of->error = (struct span){buf_str(&i->error_text), i->error_text.len};
    return 0;
}

static void end(struct job_import *of, enum job_state state, const char *error)
{
    of->state = state;
    of->outcome = "interrupted";
    of->error = (struct span){error, strlen(error)};
    of->ended_ms = date_now_ms();
    of->expires_ms = of->ended_ms + (int64_t)of->order.terms.keep_ms;
    of->order.request.len = 0;
}

/* Of a job that is not over. Before its time it has not begun anywhere. */
static void take_up(const json_t *body, struct job_import *of)
{
    json_int_t lost = json_integer_value(json_object_get(body, "lost"));
    const struct job_terms *terms = &of->order.terms;

    of->state = JOB_WAITING;
    if (of->order.due_ms > date_now_ms() && !of->attempts)
        return;
    of->order.due_ms = date_now_ms();
    if (of->attempts < (uint64_t)lost)
        of->attempts = lost < LIMIT_JOB_ATTEMPTS ? (uint32_t)lost : LIMIT_JOB_ATTEMPTS;
    if (lost && !terms->is_repeatable)
        end(of, JOB_LOST, lost_error);
    else if (of->attempts >= terms->max_attempts)
        end(of, JOB_FAILED, failed_error);
}

static int read_request(struct request *request, struct import *i, struct error *err)
{
    static const struct json_text_limits limits = {.bytes = LIMIT_JOB_BODY, .depth = REQUEST_DEPTH};
    static const char path[] = "/v1/jobs";
    struct span text = text_of(request->json, "request"), was = request->head.path;
    json_t *whole = request->json, *body = NULL;
    int r;

    if (!text.data)
        return error_set(err, E_INVALID, "`request` is missing");
    if (json_text_load(text.data, text.len, &limits, &body, err) < 0)
        return -1;
    schema_drop_null(durable_fields, body);
    r = schema_check(durable_fields, body, err);
    /* As if it had come here: the same request under the same key is the same job. */
    request->json = body;
    request->head.path = (struct span){path, sizeof(path) - 1};
    if (r == 0 && i->key.is_set)
        r = fingerprint_read(request, err);
    memcpy(i->key.body, request->idempotency.body, sizeof(i->key.body));
    request->json = whole;
    request->head.path = was;
    json_decref(body);
    i->of.order.request = text;
    return r;
}

static int read_job(struct request *request, struct import *i, struct error *err)
{
    const json_t *body = request->json, *job = json_object_get(body, "job");
    struct span key = text_of(body, "key");
    struct job_import *of = &i->of;
    const char *outcome = json_string_value(json_object_get(job, "outcome"));
    json_int_t attempts = json_integer_value(json_object_get(job, "attempts"));

    of->order.id = request->params[0];
    of->order.owner = request->caller->keeper;
    of->order.correlation_id = json_get_text(job, "correlation_id");
    of->order.now_ms = date_read_millis(json_get_text(job, "created_at"));
    of->order.due_ms = date_read_millis(json_get_text(job, "due_at"));
    of->outcome = outcome;
    of->history = json_object_get(job, "history");
    if (id_time_ms(of->order.id) < 0 || strncmp(of->order.id, "job_", 4) != 0 ||
        strlen(of->order.id) >= JOB_ID_SIZE || strcmp(of->order.id, json_get_text(job, "id")) != 0)
        return wrong("id", err);
    if (of->order.now_ms < 0 || of->order.due_ms < 0 || attempts < 0 ||
        attempts > LIMIT_JOB_ATTEMPTS)
        return wrong("created_at", err);
    of->attempts = (uint32_t)attempts;
    if (read_terms(job, &of->order.terms, err) < 0 || read_state(job, of, err) < 0)
        return -1;
    if (key.data && idempotency_key_read(&i->key, request->owner, key, err) < 0)
        return -1;
    of->order.key = i->key.is_set ? i->key.name : NULL;
    of->order.body = i->key.body;
    if (is_over(of)) {
        of->result = text_of(body, "result");
        return read_over(job, i, err);
    }
    if (read_request(request, i, err) < 0)
        return -1;
    take_up(body, of);
    return 0;
}

void durable_import_job(struct request *request)
{
    struct api *api = request->api;
    struct import i = {.error_text = BUF_OF(64 * KIB)};
    struct error err = {0};

    if (!request->is_cluster)
        error_set(&err, E_NOT_FOUND, "there is nothing at this path");
    else if (read_job(request, &i, &err) == 0 && durable_store(api->durable, false, &err))
        (void)durable_import(api->durable, request, &i.of, &err);
    buf_done(&i.error_text);
    if (err.code != E_NONE)
        request_answer_error(request, &err);
}
