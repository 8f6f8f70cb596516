/* Runs: one program, one fresh sandbox. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/attachments.h"
#include "api/rights.h"
#include "api/run_history.h"
#include "base/cleanup.h"

/* clang-format off */
static const struct schema_field run_fields[] = {
    API_CODE_FIELDS,
    API_PROFILE_FIELDS,
    API_LIMITS_OF_CELL
    API_LIMITS_OF_SANDBOX
    API_PROGRAM_FIELDS,
    API_SEED_FIELD,
    API_DETACH_FIELD,
    ATTACHMENTS_FIELDS,
    {0},
};
/* clang-format on */

/* For libraries that go on with a trace from their environment. A client's own value stays, and
 * what is to give the same output twice gets nothing that differs. */
static int pass_trace(const char *traceparent, struct run_request *asked, struct error *err)
{
    static const struct span name = {"TRACEPARENT", 11};

    if (!*traceparent || asked->has_seed || asked->n_env >= LIMIT_ENV_COUNT)
        return 0;
    for (size_t i = 0; i < asked->n_env; i++)
        if (asked->env[i].name.len == name.len &&
            memcmp(asked->env[i].name.data, name.data, name.len) == 0)
            return 0;
    return run_request_add_variable(asked, name, traceparent, err);
}

/* The sender of a body. */
struct asker {
    const struct api *api;
    const struct caller *caller;
    const struct multipart *parts;
    const char *traceparent;
    bool is_check;
};

static int make_run(const struct asker *asker, const json_t *body, struct run **ret_run,
                    struct error *err)
{
    struct admission admission = api_admission(asker->api, asker->caller);
    cleanup(run_request_done) struct run_request asked = {.can_ask = true,
                                                          .is_check = asker->is_check};

    admission.cow = ADMISSION_COW_IS_DENIED;
    admission.has_skills = admission.may_keep = true;
    if (api_read_request(body, asker->parts, &asked, err) < 0 ||
        pass_trace(asker->traceparent, &asked, err) < 0)
        return -1;
    return admit_request(&admission, &asked, ret_run, err);
}

static struct asker asker_of(const struct request *request, bool is_check)
{
    return (struct asker){request->api, request->caller, request->parts, request->traceparent,
                          is_check};
}

int api_make_run(const struct request *request, const json_t *body, struct run **ret_run,
                 struct error *err)
{
    const struct asker asker = asker_of(request, false);

    return make_run(&asker, body, ret_run, err);
}

int api_make_run_of(const struct api *api, const struct caller *caller, const json_t *body,
                    struct run **ret_run, struct error *err)
{
    const struct asker asker = {.api = api, .caller = caller, .traceparent = ""};

    return make_run(&asker, body, ret_run, err);
}

static void start(struct request *request, bool is_check)
{
    struct api *api = request->api;
    const struct asker asker = asker_of(request, is_check);
    struct job_order order;
    struct run *run = NULL;
    struct error err = {0};

    if (api_is_repeat(request))
        return;
    if (make_run(&asker, request->json, &run, &err) < 0) {
        api_refuse(request, "run", &err);
        return;
    }
    order = job_order_of(request, run);
    order.is_detached = json_is_true(json_object_get(request->json, "detach"));
    order.correlation_id = json_string_value(json_object_get(request->json, "correlation_id"));
    (void)jobs_start_or_answer(api->jobs, request, &order);
}

static void start_run(struct request *request)
{
    start(request, false);
}

static void start_check(struct request *request)
{
    start(request, true);
}

/* --- looking at them --- */

static void show_run(struct request *request)
{
    struct api *api = request->api;
    struct error err = {0};
    struct job *job = jobs_find(api->jobs, request->owner, request->params[0], &err);

    if (job)
        job_show(job, request);
    else
        request_answer_error(request, &err);
}

static void follow_run(struct request *request)
{
    struct api *api = request->api;
    struct error err = {0};
    struct job *job = jobs_find(api->jobs, request->owner, request->params[0], &err);

    if (job)
        job_follow(job, request);
    else
        request_answer_error(request, &err);
}

static const struct schema_field follow_fields[] = {
    {"stdout", SCHEMA_INTEGER, .min = 0, .max = 1e15, .help = "bytes of it that you have"},
    {"stderr", SCHEMA_INTEGER, .min = 0, .max = 1e15, .help = "bytes of it that you have"},
    {"wait", SCHEMA_BOOLEAN, .help = "false: only the output so far; the last event is `running`"},
    {0},
};

static void read_output(struct request *request)
{
    struct api *api = request->api;
    struct error err = {0};
    struct job *job = jobs_find(api->jobs, request->owner, request->params[0], &err);
    const uint64_t after[2] = {
        (uint64_t)json_integer_value(json_object_get(request->query, "stdout")),
        (uint64_t)json_integer_value(json_object_get(request->query, "stderr")),
    };

    if (job)
        job_read_output(job, request, after,
                        !json_is_false(json_object_get(request->query, "wait")));
    else
        request_answer_error(request, &err);
}

static void cancel_run(struct request *request)
{
    struct error err = {0};
    struct job *job = api_find_any_job(request, &err);
    bool runs = job && job_run(job);

    if (!job) {
        request_answer_error(request, &err);
        return;
    }
    job_cancel(job); /* its answer may be there at once */
    request_answer_json(request, 200, json_pack("{s:b}", "cancelled", (int)runs));
}

static void give_line(struct request *request)
{
    struct api *api = request->api;
    const json_t *text = json_object_get(request->json, "text");
    struct error err = {0};
    struct job *job = jobs_find(api->jobs, request->owner, request->params[0], &err);

    if (!job ||
        job_give_line(job,
                      (struct span){text ? json_string_value(text) : "", json_string_length(text)},
                      json_is_true(json_object_get(request->json, "close")), &err) < 0)
        request_answer_error(request, &err);
    else
        request_answer_empty(request, 204);
}

static const struct schema_field line_fields[] = {
    {"text", SCHEMA_STRING, .max_len = LIMIT_INPUT_LINE_BYTES,
     .help = "the line; without it, an empty one"},
    {"close", SCHEMA_BOOLEAN, .help = "there are no more; without `text`, not even this one"},
    {0},
};

static const struct schema_field nothing[] = {{0}};

/* clang-format off */
const struct route api_run_routes[] = {
    {"POST", "/v1/run", start_run, .body = run_fields, .max_body = API_BODY_BYTES,
     .takes_files = true, .takes_key = true, .streams = true, .answers = "Result", .status = 200,
     .tag = "runs", .summary = "run a program in a fresh sandbox and answer with its result"},
    {"POST", "/v1/check", start_check, .body = run_fields, .max_body = API_BODY_BYTES,
     .takes_files = true, .takes_key = true, .streams = true, .answers = "Result", .status = 200,
     .tag = "runs",
     .summary = "check a program and run nothing: refused code, syntax errors, missing modules"},
    {"GET", "/v1/runs", run_history_list, .query = run_history_list_fields, .answers = "Runs", .status = 200,
     .tag = "runs", .summary = "the caller's runs, the last first: what waits, runs, or is kept; with `history`, also those of the audit trail"},
    {"GET", "/v1/runs/{run}/record", run_history_record, .query = run_history_record_fields, .answers = "RunRecord",
     .status = 200, .tag = "runs",
     .summary = "what the audit trail has of a run: program, terms, end, calls, connections; also for operators"},
    {"GET", "/v1/runs/{run}", show_run, .answers = "Result", .status = 200, .tag = "runs",
     .summary = "the answer of a run, kept for a while; `status` is `running` until then"},
    {"GET", "/v1/runs/{run}/events", follow_run, .streams = true, .status = 200, .tag = "runs",
     .summary = "the events of a run after the one in `Last-Event-ID`"},
    {"GET", "/v1/runs/{run}/follow", read_output, .query = follow_fields, .streams = true,
     .status = 200, .tag = "runs",
     .summary = "the output of a run so far and what follows, as events, then its result"},
    {"POST", "/v1/runs/{run}/stdin", give_line, .body = line_fields, .max_body = 512 * KIB,
     .status = 204, .tag = "runs",
     .summary = "the line that a cell with `stdin_open` asked for with the event `input`"},
    {"POST", "/v1/runs/{run}/cancel", cancel_run, .body = nothing, .max_body = KIB,
     .answers = "Cancelled", .status = 200, .tag = "runs",
     .summary = "stop a run; its result, with the output so far, goes to the waiting client"},
    {0},
};
/* clang-format on */
