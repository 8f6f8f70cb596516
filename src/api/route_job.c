/* Durable jobs: accepted once they are on the disk, and run even if the server ends meanwhile. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/attachments.h"
#include "api/durable.h"
#include "base/cleanup.h"
#include "base/json.h"

#define ATTEMPTS_DEFAULT 3
#define RETRY_S_DEFAULT  5
#define RETRY_S_MAX      3600
#define KEEP_S_DEFAULT   86400
#define WAIT_S_MAX       60

#define LIST_DEFAULT 100
#define LIST_MAX     1000

/* clang-format off */
const struct schema_field durable_fields[] = {
    API_CODE_FIELDS,
    API_PROFILE_FIELDS,
    API_LIMITS_OF_CELL
    API_LIMITS_OF_SANDBOX
    API_PROGRAM_FIELDS,
    API_SEED_FIELD,
    ATTACHMENTS_FIELDS,
    {"max_attempts", SCHEMA_INTEGER, .min = 1, .max = LIMIT_JOB_ATTEMPTS,
     .help = "the highest number of attempts (default 3)"},
    {"repeatable", SCHEMA_BOOLEAN,
     .help = "false: begin it once at most; if the server ends meanwhile, the job is `lost` (default true)"},
    {"retry_on", SCHEMA_STRINGS, .max_len = 3,
     .help = "statuses of results after which it is tried again: error, timeout, memory_exceeded (default: none)"},
    {"retry_delay_s", SCHEMA_NUMBER, .min = 0, .max = RETRY_S_MAX,
     .help = "seconds before the second attempt, then twice as long each time, up to an hour (default 5)"},
    {"delay_s", SCHEMA_NUMBER, .min = 0, .max = LIMIT_JOB_DELAY_S,
     .help = "do not begin before so many seconds have passed"},
    {"keep_s", SCHEMA_NUMBER, .min = 1, .max = LIMIT_JOB_KEEP_S,
     .help = "keep the job and its result for so long after its end (default 86400)"},
    {0},
};
/* clang-format on */

static double number(const json_t *body, const char *name, double none)
{
    const json_t *value = json_object_get(body, name);

    return value ? json_number_value(value) : none;
}

static int read_terms(const json_t *body, struct job_terms *terms, struct error *err)
{
    const json_t *list = json_object_get(body, "retry_on"), *item;
    size_t i;

    *terms = (struct job_terms){
        .max_attempts = (uint32_t)number(body, "max_attempts", ATTEMPTS_DEFAULT),
        .is_repeatable = !json_is_false(json_object_get(body, "repeatable")),
        .retry_ms = (uint64_t)(number(body, "retry_delay_s", RETRY_S_DEFAULT) * 1000),
        .keep_ms = (uint64_t)(number(body, "keep_s", KEEP_S_DEFAULT) * 1000),
    };
    json_array_foreach(list, i, item)
    {
        unsigned bit = job_retry_bit(json_string_value(item));

        if (!bit)
            return error_set(err, E_INVALID,
                             "`retry_on[%zu]`: expected error, timeout or memory_exceeded", i);
        terms->retry_on |= bit;
    }
    if (terms->is_repeatable)
        return 0;
    if (terms->retry_on || json_object_get(body, "max_attempts")) {
        error_set(err, E_INVALID, "a job that is not repeatable has one attempt");
        return error_hint(err, "leave out `max_attempts` and `retry_on`");
    }
    terms->max_attempts = 1;
    return 0;
}

/* A mistake is told now, not after the server has tried. */
static int check(const struct request *request, struct error *err)
{
    const struct api *api = request->api;
    struct run *run = NULL;

    if (json_string_length(json_object_get(request->json, "code")) >
        (size_t)api->config->code_bytes)
        return error_set(err, E_TOO_LARGE, "`code`: more than %lld bytes",
                         (long long)api->config->code_bytes);
    if (api_make_run_of(api, request->caller, request->json, &run, err) < 0)
        return -1;
    run_free(run);
    return 0;
}

static void submit_job(struct request *request)
{
    struct api *api = request->api;
    struct span key = request_header(request, "idempotency-key");
    struct job_terms terms;
    struct error err = {0};

    if (key.data && idempotency_key_read(&request->idempotency, request->owner, key, &err) < 0)
        request_answer_error(request, &err);
    else if (read_terms(request->json, &terms, &err) < 0 || check(request, &err) < 0)
        api_refuse(request, "job", &err);
    else
        durable_submit(api->durable, request, &terms, number(request->json, "delay_s", 0));
}

/* --- looking at them --- */

static const struct schema_field list_fields[] = {
    {"state", SCHEMA_STRING, .choices = "waiting,running,done,failed,lost,cancelled",
     .help = "only those in this state"},
    {"before", SCHEMA_STRING, .max_len = 64, .help = "only jobs that are older than this id"},
    {"limit", SCHEMA_INTEGER, .min = 1, .max = LIST_MAX, .help = "at most so many (default 100)"},
    {0},
};

static enum job_state read_state(const json_t *query)
{
    const char *name = json_string_value(json_object_get(query, "state"));

    for (int state = 0; name && state < JOB_STATES; state++)
        if (strcmp(name, job_state_name((enum job_state)state)) == 0)
            return (enum job_state)state;
    return JOB_STATES;
}

static void list_jobs(struct request *request)
{
    struct api *api = request->api;
    const char *before = request_query(request, "before");
    struct error err = {0};
    struct store *store = durable_store(api->durable, true, &err);
    json_t *list = NULL, *job;
    size_t i;

    if (!store && err.code == E_NONE)
        list = json_array(); /* there was never any */
    else if (!store ||
             job_record_list(store, request->caller->keeper, read_state(request->query), before,
                             (size_t)number(request->query, "limit", LIST_DEFAULT), &list,
                             &err) < 0) {
        request_answer_error(request, &err);
        return;
    }
    json_array_foreach(list, i, job)
    {
        durable_describe(api->durable, job);
    }
    request_answer_json(request, 200, json_pack("{s:o}", "jobs", list));
}

static const struct schema_field show_fields[] = {
    {"wait_s", SCHEMA_NUMBER, .min = 0, .max = WAIT_S_MAX,
     .help = "answer when the job is over, or after so many seconds"},
    {0},
};

#define BY_KEY "key:"

/* The id of the job that was submitted under a key. -1: *err says why there is none. */
static int find_by_key(const struct request *request, const char *text, char id[JOB_ID_SIZE],
                       struct error *err)
{
    struct api *api = request->api;
    struct store *store = durable_store(api->durable, true, err);
    struct idempotency_key key = {0};
    uint8_t body[SHA256_BYTES];
    int r = 0;

    if (!store && err->code != E_NONE)
        return -1;
    if (idempotency_key_read(&key, request->owner, (struct span){text, strlen(text)}, err) < 0)
        return -1;
    if (store)
        r = job_record_by_key(store, request->caller->keeper, key.name, id, body, err);
    return r != 0 ? r : error_set(err, E_NOT_FOUND, "there is no job with that key");
}

static void show_job(struct request *request)
{
    struct api *api = request->api;
    const char *id = request->params[0];
    char found[JOB_ID_SIZE];
    struct error err = {0};

    if (strncmp(id, BY_KEY, sizeof(BY_KEY) - 1) == 0) {
        if (find_by_key(request, id + sizeof(BY_KEY) - 1, found, &err) < 0) {
            request_answer_error(request, &err);
            return;
        }
        id = found;
    }
    durable_show(api->durable, request, id, number(request->query, "wait_s", 0));
}

/* NULL: there are no jobs, and the answer has been given. */
static struct store *find_store(struct request *request)
{
    struct api *api = request->api;
    struct error err = {0};
    struct store *store = durable_store(api->durable, true, &err);

    if (store)
        return store;
    if (err.code == E_NONE)
        error_set(&err, E_NOT_FOUND, "there is no job with that id");
    request_answer_error(request, &err);
    return NULL;
}

static void cancel_job(struct request *request)
{
    struct api *api = request->api;
    bool was_live = false;
    struct error err = {0};

    if (!find_store(request))
        return;
    if (durable_cancel(api->durable, request->caller, request->params[0], &was_live, &err) < 0)
        request_answer_error(request, &err);
    else
        request_answer_json(request, 200, json_pack("{s:b}", "cancelled", (int)was_live));
}

/* The disk says that an attempt has ended a moment before that is safe. */
static int delete_one(const struct api *api, struct store *store, const struct caller *caller,
                      const char *id, struct error *err)
{
    enum job_state state;
    int64_t bytes;

    if (job_record_state(store, caller->keeper, id, &state, &bytes, err) < 0)
        return -1;
    if (!durable_is_running(api->durable, id))
        return job_record_delete(store, caller->keeper, id, err);
    error_set(err, E_INVALID, "the job is not over");
    return error_hint(err, "cancel it first");
}

static void delete_job(struct request *request)
{
    struct store *store = find_store(request);
    struct error err = {0};

    if (!store)
        return;
    if (delete_one(request->api, store, request->caller, request->params[0], &err) == 0)
        request_answer_empty(request, 204);
    else if (err.code == E_INVALID)
        request_answer_error_as(request, 409, NULL, &err);
    else
        request_answer_error(request, &err);
}

/* --- the result --- */

/* Its pieces, as fast as the client reads. */
struct sending {
    struct request *request;
    struct store *store;
    char id[JOB_ID_SIZE];
    uint32_t next;
    int64_t left;
    struct loop_work work;
    bool is_behind;
};

static void free_sending(struct sending *sending)
{
    loop_work_cancel(&sending->work);
    free(sending);
}

static void send_piece(void *arg)
{
    struct sending *sending = arg;
    struct request *request = sending->request;
    const struct api *api = request->api;
    cleanup(buf_done) struct buf piece = BUF_OF(JOB_PIECE_BYTES);
    int r = job_record_read(sending->store, sending->id, sending->next, &piece, NULL);

    if (r <= 0 || (int64_t)piece.len > sending->left) { /* it was deleted meanwhile */
        request->on_gone = NULL;
        request->on_drained = NULL;
        free_sending(sending);
        request_abort(request);
        return;
    }
    sending->next++;
    sending->left -= (int64_t)piece.len;
    if (!request_write(request, buf_str(&piece), piece.len) && sending->left) {
        sending->is_behind = true;
    } else if (sending->left) {
        loop_line_post(api->loop, &request->caller->line, &sending->work, send_piece, sending);
    } else {
        request->on_gone = NULL;
        request->on_drained = NULL;
        free_sending(sending);
        request_end(request);
    }
}

static void on_drained(struct request *request)
{
    struct sending *sending = request->user;
    const struct api *api = request->api;

    if (sending->is_behind)
        loop_line_post(api->loop, &request->caller->line, &sending->work, send_piece, sending);
    sending->is_behind = false;
}

static void on_gone(struct request *request)
{
    free_sending(request->user);
}

static void begin_sending(struct request *request, struct store *store, int64_t bytes)
{
    const struct api *api = request->api;
    struct sending *sending = calloc(1, sizeof(*sending));
    struct error err = {0};

    if (!sending) {
        error_memory(&err);
        request_answer_error(request, &err);
        return;
    }
    sending->request = request;
    sending->store = store;
    sending->left = bytes;
    memcpy(sending->id, request->params[0], strnlen(request->params[0], JOB_ID_SIZE - 1));
    request->user = sending;
    request->on_gone = on_gone;
    request->on_drained = on_drained;
    request_begin(request, 200, "application/json", NULL, (uint64_t)bytes);
    loop_line_post(api->loop, &request->caller->line, &sending->work, send_piece, sending);
}

static void read_result(struct request *request)
{
    struct api *api = request->api;
    struct store *store = find_store(request);
    enum job_state state = JOB_WAITING;
    int64_t bytes = 0;
    struct error err = {0};

    if (!store)
        return;
    if (job_record_state(store, request->caller->keeper, request->params[0], &state, &bytes, &err) <
        0) {
        request_answer_error(request, &err);
        return;
    }
    if (durable_is_running(api->durable, request->params[0])) {
        state = JOB_RUNNING;
        bytes = 0;
    }
    if (bytes > 0) {
        begin_sending(request, store, bytes);
        return;
    }
    error_set(&err, E_INVALID, "the job has no result: its state is `%s`", job_state_name(state));
    error_hint(&err, state == JOB_WAITING || state == JOB_RUNNING
                         ? "ask for the job with `wait_s`, until it is over"
                         : "the job itself says what happened");
    request_answer_error_as(request, 409, NULL, &err);
}

static const struct schema_field nothing[] = {{0}};

/* clang-format off */
const struct route api_job_routes[] = {
    {"POST", "/v1/jobs", submit_job, .body = durable_fields, .max_body = LIMIT_JOB_BODY,
     .takes_key = true, .answers = "Job", .status = 202, .tag = "jobs",
     .summary = "accept a program that is run even if the server ends meanwhile: the job is on the disk when this is answered"},
    {"GET", "/v1/jobs", list_jobs, .query = list_fields, .answers = "Jobs", .status = 200,
     .tag = "jobs", .summary = "the caller's durable jobs, the newest first"},
    {"GET", "/v1/jobs/{job}", show_job, .query = show_fields, .answers = "Job", .status = 200,
     .tag = "jobs", .summary = "a durable job, by its id or as key:KEY of its Idempotency-Key: its state, its attempts, and its progress"},
    {"GET", "/v1/jobs/{job}/result", read_result, .answers = "Result", .status = 200, .tag = "jobs",
     .summary = "the result of a durable job that is over, as long as the job is kept"},
    {"POST", "/v1/jobs/{job}/cancel", cancel_job, .body = nothing, .max_body = KIB,
     .answers = "Cancelled", .status = 200, .tag = "jobs",
     .summary = "cancel a durable job; a program that runs is stopped, and its output so far is the result"},
    {"DELETE", "/v1/jobs/{job}", delete_job, .status = 204, .tag = "jobs",
     .summary = "delete a durable job that is over, with its result"},
    {"PUT", "/v1/cluster/jobs/{job}", durable_import_job, .body = durable_import_fields, .max_body = DURABLE_IMPORT_BYTES,
     .answers = "Job", .status = 202, .tag = "jobs", .is_unlisted = true,
     .summary = "a durable job of another machine, for the node of a cluster"},
    {0},
};
/* clang-format on */
