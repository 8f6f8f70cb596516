/* Calls of a program in a machine: events for the server outside, which decides, and answers with
 * POST /v1/inside/runs/{run}/calls/{call}. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/job_internal.h"
#include "base/json.h"
#include "calls/call.h"

struct job_call {
    struct job_call *next;
    struct job *job;
    struct call *call;
    uint64_t number;
};

static void unlink_call(struct job_call *c)
{
    struct job_call **at = &c->job->forwarded;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    free(c);
}

static void on_cancel(struct call *call)
{
    unlink_call(call->user);
}

void job_forward_call(struct job *job, struct call *call)
{
    struct job_call *c = calloc(1, sizeof(*c));
    struct error err = {0};

    if (!c) {
        error_memory(&err);
        call_fail(call, &err);
        return;
    }
    *c = (struct job_call){
        .next = job->forwarded, .job = job, .call = call, .number = ++job->n_forwarded};
    job->forwarded = c;
    call->user = c;
    call->on_cancel = on_cancel;
    job_add_event(job, "call",
                  json_pack("{s:I, s:s, s:O}", "call", (json_int_t)c->number, "name", call->name,
                            "arguments", call->arguments));
}

int job_answer_call(struct job *job, uint64_t number, const json_t *answer, struct error *err)
{
    const json_t *error = json_object_get(answer, "error");
    struct job_call *c = job->forwarded;
    struct error failure = {0};
    struct call *call;

    while (c && c->number != number)
        c = c->next;
    if (!c)
        return error_set(err, E_NOT_FOUND, "no call with this number is waiting");
    call = c->call;
    unlink_call(c);
    call->on_cancel = NULL;
    if (!error) {
        call_answer(call, json_incref(json_object_get(answer, "value")));
        return 0;
    }
    error_set(&failure, error_code_find(json_get_text(error, "code")), "%s",
              json_get_text(error, "message"));
    if (*json_get_text(error, "hint"))
        error_hint(&failure, "%s", json_get_text(error, "hint"));
    call_fail(call, &failure);
    return 0;
}

/* --- the route --- */

#define ANSWER_BYTES ((size_t)32 << 20)

static void answer_call(struct request *request)
{
    static const struct json_text_limits limits = {
        .bytes = ANSWER_BYTES, .depth = 210, .allows_nul = true};
    struct api *api = request->api;
    cleanup_json json_t *answer = NULL;
    struct error err = {0};
    struct job *job = api->config->is_inside_machine
                          ? jobs_find(api->jobs, request->owner, request->params[0], &err)
                          : NULL;

    if (!job && err.code == E_NONE)
        error_set(&err, E_NOT_FOUND, "there is nothing at this path");
    if (!job ||
        json_text_load(buf_str(&request->body), request->body.len, &limits, &answer, &err) < 0 ||
        job_answer_call(job, strtoull(request->params[1], NULL, 10), answer, &err) < 0)
        request_answer_error(request, &err);
    else
        request_answer_empty(request, 204);
}

static const struct schema_field answer_fields[] = {{0}};

/* clang-format off */
const struct route api_inside_routes[] = {
    {"POST", "/v1/inside/runs/{run}/calls/{call}", answer_call, .body = answer_fields, .max_body = ANSWER_BYTES,
     .reads_body = true, .status = 204, .is_unlisted = true,
     .summary = "the answer to a call of a program in a virtual machine, for the server outside"},
    {0},
};
/* clang-format on */
