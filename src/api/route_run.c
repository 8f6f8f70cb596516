/* Runs: one program, one fresh sandbox. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/attachments.h"
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
static int pass_trace(const struct request *request, struct run_request *asked, struct error *err)
{
    static const struct span name = {"TRACEPARENT", 11};

    if (!*request->traceparent || asked->has_seed || asked->n_env >= LIMIT_ENV_COUNT)
        return 0;
    for (size_t i = 0; i < asked->n_env; i++)
        if (asked->env[i].name.len == name.len &&
            memcmp(asked->env[i].name.data, name.data, name.len) == 0)
            return 0;
    return run_request_add_variable(asked, name, request->traceparent, err);
}

static int make_run(const struct request *request, const json_t *body, bool is_check,
                    struct run **ret_run, struct error *err)
{
    struct admission admission = api_admission(request->api, request->caller);
    cleanup(run_request_done) struct run_request asked = {.can_ask = true, .is_check = is_check};

    admission.cow = ADMISSION_COW_IS_DENIED;
    admission.has_skills = admission.may_keep = true;
    if (api_read_request(body, request->parts, &asked, err) < 0 ||
        pass_trace(request, &asked, err) < 0)
        return -1;
    return admit_request(&admission, &asked, ret_run, err);
}

int api_make_run(const struct request *request, const json_t *body, struct run **ret_run,
                 struct error *err)
{
    return make_run(request, body, false, ret_run, err);
}

static void start(struct request *request, bool is_check)
{
    struct api *api = request->api;
    struct job_order order;
    struct run *run = NULL;
    struct error err = {0};

    if (api_is_repeat(request))
        return;
    if (make_run(request, request->json, is_check, &run, &err) < 0) {
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

#define LIST_DEFAULT 100
#define LIST_MAX     1000

static const struct schema_field list_fields[] = {
    {"state", SCHEMA_STRING, .choices = "live,any", .help = "live: only those that wait or run"},
    {"session", SCHEMA_STRING, .max_len = 64, .help = "only cells of this session (name or id)"},
    {"limit", SCHEMA_INTEGER, .min = 1, .max = LIST_MAX, .help = "at most so many (default 100)"},
    {0},
};

static void list_runs(struct request *request)
{
    struct api *api = request->api;
    const char *state = json_string_value(json_object_get(request->query, "state"));
    const char *session = json_string_value(json_object_get(request->query, "session"));
    const json_t *limit = json_object_get(request->query, "limit");
    struct job_filter filter = {.is_live = state && strcmp(state, "live") == 0};
    struct session_info info;
    struct error err = {0};

    if (session) {
        struct session *found = sessions_find(api->sessions, request->owner, session, &err);

        if (!found) {
            request_answer_error(request, &err);
            return;
        }
        session_info(found, &info);
        filter.session = info.id;
    }
    request_answer_json(
        request, 200,
        json_pack("{s:o}", "runs",
                  jobs_list(api->jobs, request->owner, &filter,
                            limit ? (size_t)json_integer_value(limit) : LIST_DEFAULT)));
}

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
    struct api *api = request->api;
    struct error err = {0};
    struct job *job = jobs_find(api->jobs, request->owner, request->params[0], &err);
    bool runs = job && job_run(job);

    if (!job) {
        request_answer_error(request, &err);
        return;
    }
    job_cancel(job); /* its answer may be there at once */
    request_answer_json(request, 200, json_pack("{s:b}", "cancelled", (int)runs));
}

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
    {"GET", "/v1/runs", list_runs, .query = list_fields, .answers = "Runs", .status = 200,
     .tag = "runs", .summary = "the caller's runs, the last first: what waits, runs, or is kept"},
    {"GET", "/v1/runs/{run}", show_run, .answers = "Result", .status = 200, .tag = "runs",
     .summary = "the answer of a run, kept for a while; `status` is `running` until then"},
    {"GET", "/v1/runs/{run}/events", follow_run, .streams = true, .status = 200, .tag = "runs",
     .summary = "the events of a run after the one in `Last-Event-ID`"},
    {"GET", "/v1/runs/{run}/follow", read_output, .query = follow_fields, .streams = true,
     .status = 200, .tag = "runs",
     .summary = "the output of a run so far and what follows, as events, then its result"},
    {"POST", "/v1/runs/{run}/cancel", cancel_run, .body = nothing, .max_body = KIB,
     .answers = "Cancelled", .status = 200, .tag = "runs",
     .summary = "stop a run; its result, with the output so far, goes to the waiting client"},
    {0},
};
/* clang-format on */
