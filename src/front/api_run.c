/* Runs: one program, one fresh sandbox. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "front/api.h"
#include "front/parcel.h"
#include "state/skill.h"

/* clang-format off */
static const struct schema_field run_fields[] = {
    API_CODE_FIELDS,
    API_PROFILE_FIELDS,
    API_LIMITS_OF_CELL
    API_LIMITS_OF_SANDBOX
    API_PROGRAM_FIELDS,
    API_SEED_FIELD,
    PARCEL_FIELDS,
    {0},
};
/* clang-format on */

static void read_seed(const json_t *body, struct run *run)
{
    const json_t *seed = json_object_get(body, "seed");

    run->has_seed = seed != NULL;
    run->seed = (uint64_t)json_integer_value(seed);
}

/* For libraries that go on with a trace from their environment. A client's own value stays, and
 * what is to give the same output twice gets nothing that differs. */
static int pass_trace(const struct request *request, struct run *run, struct error *err)
{
    size_t count = 0;

    if (!*request->traceparent || run->has_seed)
        return 0;
    for (; run->env && run->env[count]; count++)
        if (strncmp(run->env[count], "TRACEPARENT=", 12) == 0)
            return 0;
    return count < LIMIT_ENV_COUNT ? run_add_env(run, "TRACEPARENT", request->traceparent, err) : 0;
}

/* A program with arguments has a name, as `belljar run FILE` gives it one. */
static int read_args(const json_t *body, struct run *run, struct error *err)
{
    const char *name = json_string_value(json_object_get(body, "filename"));
    const json_t *args = json_object_get(body, "args"), *arg;
    char known[RUN_PROGRAM_NAME_MAX];
    size_t i, bytes = 0;

    if (!name && !args)
        return 0;
    run_program_name(name ? name : "program", known);
    run->args = calloc(json_array_size(args) + 2, sizeof(*run->args));
    if (!run->args || !(run->args[0] = strdup(known)))
        return error_memory(err);
    json_array_foreach(args, i, arg)
    {
        bytes += json_string_length(arg);
        if (bytes > LIMIT_ARGS_BYTES)
            return error_set(err, E_TOO_LARGE, "`args`: more than %zu bytes together",
                             LIMIT_ARGS_BYTES);
        run->args[i + 1] = strdup(json_string_value(arg));
        if (!run->args[i + 1])
            return error_memory(err);
    }
    return 0;
}

static void run_free_p(struct run **run)
{
    run_free(*run);
}

/* What is changed there would be gone with the sandbox before anybody could look at it. */
static int refuse_layers(const struct run *run, struct error *err)
{
    for (size_t i = 0; i < run->n_grants; i++)
        if (run->grants[i].mode == RUN_GRANT_COW) {
            error_set(err, E_INVALID, "`allow`: copy-on-write directories are for sessions");
            return error_hint(err, "open a session, look at its changes, then apply or discard "
                                   "them");
        }
    return 0;
}

int api_make_run(const struct request *request, const json_t *body, struct run **ret_run,
                 struct error *err)
{
    const struct api *api = request->api;
    cleanup(run_free_p) struct run *run = run_new();

    if (!run)
        return error_memory(err);
    read_seed(body, run);
    if (api_read_code(request->api, body, run, err) < 0 ||
        api_admit(request->api, request->caller, body, run, err) < 0 ||
        refuse_layers(run, err) < 0 || pass_trace(request, run, err) < 0 ||
        parcel_read(body, request->parts, run, err) < 0 ||
        skill_give(api->kept, request->caller->keeper, run, err) < 0 ||
        read_args(body, run, err) < 0)
        return -1;
    run_set_keeper(run, api->kept, request->caller->keeper);
    run->can_ask = true;
    *ret_run = take_ptr(run);
    return 0;
}

static void start_run(struct request *request)
{
    struct api *api = request->api;
    struct run *run = NULL;
    struct error err = {0};

    if (api_is_repeat(request))
        return;
    if (api_make_run(request, request->json, &run, &err) < 0) {
        api_refuse(request, "run", &err);
        return;
    }
    jobs_start(api->jobs, request, NULL, run,
               json_string_value(json_object_get(request->json, "correlation_id")));
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
    {"GET", "/v1/runs/{run}", show_run, .answers = "Result", .status = 200, .tag = "runs",
     .summary = "the answer of a run, kept for a while; `status` is `running` until then"},
    {"GET", "/v1/runs/{run}/events", follow_run, .streams = true, .status = 200, .tag = "runs",
     .summary = "the events of a run, behind the one that `Last-Event-ID` names"},
    {"POST", "/v1/runs/{run}/cancel", cancel_run, .body = nothing, .max_body = KIB,
     .answers = "Cancelled", .status = 200, .tag = "runs",
     .summary = "stop a run; its answer, with what it wrote so far, goes to who waits for it"},
    {0},
};
/* clang-format on */
