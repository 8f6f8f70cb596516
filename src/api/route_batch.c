/* Many runs with one request: each a fresh sandbox, answered as it ends, with a verdict if the
 * request has the expected output.
 *
 * A batch is a client like any other: its runs wait in its caller's line, at most half of all
 * places are asked for at once, and what finds no room is tried again for as long as the batch
 * moves. Nothing is begun that its reader has no room for. When it goes away the rest is not begun,
 * and what runs is cancelled; under a key it goes on, and the same batch sent again takes it up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/attachments.h"
#include "api/batch_judge.h"
#include "api/batch_part.h"
#include "api/result.h"
#include "base/cleanup.h"
#include "base/error_json.h"
#include "base/json.h"
#include "http/sse.h"

#define BATCH_MAX        1000
#define BATCH_BODY_BYTES (32 * MIB)

/* Answers that are there already are given out so many at a time; others want the loop, too. */
#define BURST 16

#define RETRY_MS 200

/* Proxies close what is silent for a minute or less. */
#define COMMENT_MS 15000

/* clang-format off */
#define ITEM_FIELDS                                                                                \
    {"code", SCHEMA_STRING, .max_len = LIMIT_CODE_BYTES, .help = "the program"},                   \
    API_INPUT_FIELDS, API_PROFILE_FIELDS, API_LIMITS_OF_CELL API_LIMITS_OF_SANDBOX API_SEED_FIELD, \
    API_PROGRAM_FIELDS,                                                                            \
    ATTACHMENTS_FIELDS,                                                                                 \
    {"expected_output", SCHEMA_STRING, .help = "its expected standard output"},         \
    {"compare", SCHEMA_STRING, .choices = BATCH_JUDGE_RULES,                                           \
     .help = "lines: white space at the end of lines and of the whole does not count; exact; "     \
             "tokens: white space only separates"}
/* clang-format on */

static const struct schema_field item_fields[] = {
    {"id", SCHEMA_STRING, .max_len = 128, .help = "comes back with its answer"},
    ITEM_FIELDS,
    {0},
};

static const struct schema_field batch_fields[] = {
    {"runs", SCHEMA_OBJECTS, .is_required = true, .max_len = BATCH_MAX, .items = item_fields,
     .help =
         "the programs to run; a field missing in one is taken from the fields next to this list"},
    {"at_once", SCHEMA_INTEGER, .min = 1, .max = BATCH_MAX,
     .help = "run at most so many of them at a time"},
    ITEM_FIELDS,
    {0},
};

/* --- the batch --- */

enum form { FORM_JSON, FORM_LINES, FORM_EVENTS };

enum state { PENDING, RUNNING, DONE };

struct item {
    struct job_watch watch; /* first: it is how the item is found again */
    struct batch *batch;
    struct job *job; /* while it runs */
    enum state state;
};

enum verdict {
    ACCEPTED,
    WRONG_ANSWER,
    OUTPUT_EXCEEDED,
    ERROR,
    TIMEOUT,
    MEMORY_EXCEEDED,
    REFUSED,
    CANCELLED,
    FAILED,
    VERDICTS
};

static const char *const verdicts[VERDICTS] = {
    [ACCEPTED] = "accepted", [WRONG_ANSWER] = "wrong_answer", [OUTPUT_EXCEEDED] = "output_exceeded",
    [ERROR] = "error",       [TIMEOUT] = "timeout",           [MEMORY_EXCEEDED] = "memory_exceeded",
    [REFUSED] = "refused",   [CANCELLED] = "cancelled",       [FAILED] = "failed",
};

struct batch {
    struct request *request;
    enum form form;
    struct item *items;
    size_t count, first, done, running; /* nothing before `first` is pending */
    size_t total;                       /* of `count`: those that run here */
    size_t window;
    size_t counts[VERDICTS];
    bool is_behind; /* its reader is */
    uint64_t begun_ns, moved_ns;
    struct loop_watch *soon, *comment;
};

static void free_batch(struct batch *batch)
{
    if (!batch)
        return;
    loop_watch_free(batch->soon);
    loop_watch_free(batch->comment);
    free(batch->items);
    free(batch);
}

static size_t index_of(const struct item *item)
{
    return (size_t)(item - item->batch->items);
}

static const json_t *body_of(const struct item *item)
{
    return json_array_get(json_object_get(item->batch->request->json, "runs"), index_of(item));
}

/* The fields for all runs, overridden by those of this one. The caller frees it. */
static json_t *whole_body(const json_t *all, const json_t *one)
{
    json_t *body = json_copy((json_t *)all);

    if (!body || json_object_update(body, (json_t *)one) < 0) {
        json_decref(body);
        return NULL;
    }
    (void)json_object_del(body, "runs");
    (void)json_object_del(body, "id");
    (void)json_object_del(body, "at_once");
    return body;
}

/* --- verdicts --- */

static struct span text_of(const json_t *string)
{
    return (struct span){json_string_value(string), json_string_length(string)};
}

static enum verdict judge_output(const struct item *item, const json_t *result)
{
    const json_t *all = item->batch->request->json, *one = body_of(item);
    const json_t *expected = json_object_get(one, "expected_output");
    const json_t *rule = json_object_get(one, "compare");

    expected = expected ? expected : json_object_get(all, "expected_output");
    rule = rule ? rule : json_object_get(all, "compare");
    if (!expected)
        return ACCEPTED;
    if (json_is_true(json_object_get(json_object_get(result, "truncated"), "stdout")))
        return OUTPUT_EXCEEDED;
    return batch_judge_matches(batch_judge_rule(json_string_value(rule)),
                               text_of(json_object_get(result, "stdout")), text_of(expected))
               ? ACCEPTED
               : WRONG_ANSWER;
}

static enum verdict judge(const struct item *item, const json_t *result)
{
    const char *status = json_string_value(json_object_get(result, "status"));

    if (!status)
        return FAILED;
    if (strcmp(status, "success") == 0)
        return judge_output(item, result);
    for (int v = ERROR; v < VERDICTS; v++)
        if (strcmp(status, verdicts[v]) == 0)
            return (enum verdict)v;
    return FAILED;
}

/* --- answers --- */

static void put(struct batch *batch, const char *text, size_t len)
{
    if (!request_write(batch->request, text, len))
        batch->is_behind = true;
}

/* One object, in the form that was asked for. */
static void put_object(struct batch *batch, const char *event, const json_t *object)
{
    cleanup(buf_done) struct buf text = BUF_OF(SIZE_MAX / 2);
    bool is_summary = batch->done == batch->total;
    int r = 0;

    if (batch->form == FORM_EVENTS)
        r = sse_text_add(&text, event, object, NULL);
    else if (batch->form == FORM_JSON && !is_summary && batch->done)
        r = buf_add_str(&text, ",\n", NULL);
    if (r == 0 && batch->form != FORM_EVENTS)
        r = json_text_dump(object, JSON_TEXT_COMPACT, &text, NULL);
    if (r == 0 && batch->form == FORM_LINES)
        r = buf_add_str(&text, "\n", NULL);
    if (r == 0)
        put(batch, buf_str(&text), text.len);
}

static void begin_answer(struct batch *batch)
{
    static const char *const types[] = {
        [FORM_JSON] = "application/json",
        [FORM_LINES] = "application/x-ndjson",
        [FORM_EVENTS] = "text/event-stream",
    };

    request_begin(batch->request, 200, types[batch->form], NULL, REQUEST_UNKNOWN_LENGTH);
    if (batch->form == FORM_JSON)
        put(batch, "{\"runs\":[", 9);
}

static json_t *summary_json(const struct batch *batch)
{
    json_t *counts = json_object();
    uint64_t us = (loop_now_ns() - batch->begun_ns) / 1000;

    for (int v = 0; v < VERDICTS; v++)
        if (batch->counts[v])
            (void)json_object_set_new(counts, verdicts[v],
                                      json_integer((json_int_t)batch->counts[v]));
    return json_pack("{s:I, s:o, s:f}", "total", (json_int_t)batch->total, "verdicts", counts,
                     "wall_ms", (double)us / 1000);
}

static void end_answer(struct batch *batch)
{
    struct request *request = batch->request;
    json_t *summary = summary_json(batch);

    if (batch->form == FORM_LINES)
        summary = json_pack("{s:o}", "summary", summary);
    if (batch->form == FORM_JSON)
        put(batch, "],\"summary\":", 12);
    put_object(batch, "summary", summary);
    if (batch->form == FORM_JSON)
        put(batch, "}\n", 2);
    json_decref(summary);
    request->on_gone = NULL;
    request->on_drained = NULL;
    free_batch(batch);
    request_end(request);
}

/* `answer` is the run's: a result, or an error. Takes it over. */
static void finish(struct item *item, json_t *answer)
{
    struct batch *batch = item->batch;
    bool is_result = json_object_get(answer, "status") != NULL;
    enum verdict verdict = is_result ? judge(item, answer) : FAILED;
    const json_t *id = json_object_get(body_of(item), "id");
    json_t *object = json_pack("{s:I, s:O?, s:s}", "index", (json_int_t)index_of(item), "id", id,
                               "verdict", verdicts[verdict]);
    json_t *error = json_object_get(answer, "error");

    if (!id)
        (void)json_object_set_new(object, "id", json_null());
    if (is_result)
        (void)json_object_set(object, "result", answer);
    else
        (void)json_object_set(object, "error", error);
    put_object(batch, "run", object);
    json_decref(object);
    json_decref(answer);
    item->state = DONE;
    batch->counts[verdict]++;
    batch->done++;
    batch->moved_ns = loop_now_ns();
}

static void fail(struct item *item, struct error *err)
{
    finish(item, error_json(err, HINT_FOR_HTTP));
    error_done(err);
}

/* --- running --- */

/* Nothing has begun or ended for as long as a run may wait in the queue. */
static bool is_stuck(const struct batch *batch)
{
    const struct api *api = batch->request->api;

    return !batch->running &&
           (double)(loop_now_ns() - batch->moved_ns) / 1e9 >= api->config->queue_timeout_s;
}

static void take_answer(struct item *item, const struct job *job)
{
    static const struct json_text_limits limits = {
        .bytes = SIZE_MAX / 2, .depth = 2048, .allows_nul = true};
    size_t len = 0;
    int status = 0;
    const char *text = job_answer(job, &len, &status);
    json_t *answer = NULL;
    struct error err = {0};

    if (status == 429 && !is_stuck(item->batch) && route_is_known(item->batch->request)) {
        item->state = PENDING; /* it had no turn */
        if (index_of(item) < item->batch->first)
            item->batch->first = index_of(item);
    } else if (json_text_load(text, len, &limits, &answer, &err) < 0) {
        fail(item, &err);
    } else {
        finish(item, answer);
    }
}

static void on_answer(struct job_watch *watch, struct job *job)
{
    struct item *item = (struct item *)watch;

    item->job = NULL;
    item->batch->running--;
    take_answer(item, job);
    loop_timer_start(item->batch->soon, item->state == PENDING ? RETRY_MS : 0);
}

static void follow(struct item *item, struct job *job)
{
    size_t len;
    int status;

    if (job_answer(job, &len, &status)) {
        take_answer(item, job);
        return;
    }
    item->state = RUNNING;
    item->job = job;
    item->watch.on_answer = on_answer;
    item->batch->running++;
    job_watch(job, &item->watch);
}

/* True: this item was begun by an earlier request under the same key. */
static bool take_up(struct item *item, const struct idempotency_key *key)
{
    const struct request *request = item->batch->request;
    const struct api *api = request->api;
    const struct idempotency_entry *entry =
        key->is_set ? idempotency_find(api->idempotency, key, loop_now_ns()) : NULL;
    struct job *job = entry ? jobs_find(api->jobs, request->owner, entry->run, NULL) : NULL;
    struct error err = {0};

    if (job) {
        follow(item, job);
    } else if (entry) {
        error_set(&err, E_NOT_FOUND, "this was run before; its answer is no longer kept");
        error_hint(&err, "send the batch under another Idempotency-Key to run it again");
        fail(item, &err);
    }
    return entry != NULL;
}

/* The batch waits for its answer, not the request. */
static int start_job(const struct item *item, const struct idempotency_key *key, struct run *run,
                     const char *correlation_id, struct job **ret_job, struct error *err)
{
    struct request *request = item->batch->request;
    const struct api *api = request->api;
    struct job_order order = job_order_of(request, run);

    order.key = key;
    order.correlation_id = correlation_id;
    order.request = NULL;
    return jobs_start(api->jobs, &order, &request->retry_s, ret_job, err);
}

static int submit(struct item *item, const struct idempotency_key *key, struct error *err)
{
    struct request *request = item->batch->request;
    json_t *body = whole_body(request->json, body_of(item));
    struct run *run = NULL;
    struct job *job = NULL;
    int r = body ? api_make_run(request, body, &run, err) : error_memory(err);

    if (r == 0)
        r = start_job(item, key, run, json_string_value(json_object_get(body, "correlation_id")),
                      &job, err);
    json_decref(body);
    if (r == 0) {
        item->batch->moved_ns = loop_now_ns();
        follow(item, job);
    }
    return r;
}

/* False: not now. */
static bool start(struct item *item)
{
    struct batch *batch = item->batch;
    const struct api *api = batch->request->api;
    struct idempotency_key key = {0};
    struct error err = {0};

    if (batch->request->idempotency.is_set)
        idempotency_key_of(&batch->request->idempotency, (uint32_t)index_of(item), &key);
    if (!route_is_known(batch->request)) {
        error_set(&err, E_AUTH, "the token was removed");
        fail(item, &err);
    } else if (!take_up(item, &key) && submit(item, &key, &err) < 0) {
        if (err.code == E_BUSY && !is_stuck(batch) && !jobs_is_closed(api->jobs)) {
            error_done(&err);
            return false;
        }
        fail(item, &err);
    }
    return true;
}

static struct item *next_pending(struct batch *batch)
{
    while (batch->first < batch->count && batch->items[batch->first].state != PENDING)
        batch->first++;
    return batch->first < batch->count ? &batch->items[batch->first] : NULL;
}

static void on_soon(void *arg)
{
    struct batch *batch = arg;
    const struct api *api = batch->request->api;
    uint64_t wait_ms = 0;

    auth_refresh(api->auth); /* the request was let in long ago */
    for (int i = 0; i < BURST && !batch->is_behind && batch->running < batch->window; i++) {
        struct item *item = next_pending(batch);

        if (!item)
            break;
        if (!start(item)) {
            wait_ms = RETRY_MS;
            break;
        }
    }
    if (batch->done == batch->total)
        end_answer(batch);
    else if (!batch->is_behind && batch->running < batch->window && next_pending(batch))
        loop_timer_start(batch->soon, wait_ms);
}

static void on_comment(void *arg)
{
    struct batch *batch = arg;

    /* White space means nothing in any of the forms. */
    put(batch, batch->form == FORM_EVENTS ? ":\n\n" : "\n", batch->form == FORM_EVENTS ? 3 : 1);
    loop_timer_start(batch->comment, COMMENT_MS);
}

static void on_drained(struct request *request)
{
    struct batch *batch = request->user;

    batch->is_behind = false;
    loop_timer_start(batch->soon, 0);
}

static void on_gone(struct request *request)
{
    struct batch *batch = request->user;

    for (size_t i = 0; i < batch->count; i++) {
        struct job *job = batch->items[i].job;

        if (!job)
            continue;
        job_unwatch(job, &batch->items[i].watch);
        if (!request->idempotency.is_set)
            job_cancel(job);
    }
    free_batch(batch);
}

/* --- beginning --- */

static int check_item(const struct request *request, const json_t *one, struct error *err)
{
    const struct api *api = request->api;
    const struct admission admission = api_admission(api, request->caller);
    cleanup(run_request_done) struct run_request asked = {0};
    json_t *body = whole_body(request->json, one);
    const json_t *code = json_object_get(body, "code");
    struct run *run = NULL;
    int r = body ? 0 : error_memory(err);

    if (r == 0 && !code)
        r = error_set(err, E_INVALID, "`code` is missing");
    else if (r == 0 && json_string_length(code) > (size_t)api->config->code_bytes)
        r = error_set(err, E_TOO_LARGE, "`code`: more than %lld bytes",
                      (long long)api->config->code_bytes);
    if (r == 0)
        r = api_read_terms(body, &asked, err);
    if (r == 0)
        r = admit_request(&admission, &asked, &run, err);
    json_decref(body);
    run_free(run);
    return r;
}

/* All of it, before any of it is run. */
static int check(const struct request *request, struct error *err)
{
    const json_t *runs = json_object_get(request->json, "runs"), *one;
    size_t i;

    json_array_foreach(runs, i, one)
    {
        if (check_item(request, one, err) < 0)
            return error_wrap(err, "`runs[%zu]`", i);
    }
    return 0;
}

/* Half of the places, and not more than its caller may have, or wants. */
static size_t window_of(const struct request *request)
{
    const struct api *api = request->api;
    const json_t *wanted = json_object_get(request->json, "at_once");
    double own = request->caller->rights.max_runs;
    struct queue_level level;
    size_t most;

    queue_level(api->queue, &level);
    most = level.max_running > 2 ? level.max_running / 2 : 1;
    if (wanted && (size_t)json_integer_value(wanted) < most)
        most = (size_t)json_integer_value(wanted);
    return own >= 1 && own < (double)most ? (size_t)own : most;
}

/* The share that the gateway has given to this machine, or all of it. Runs of others are done from
 * the beginning. */
static int take_part(struct batch *batch, struct batch_part *ret_part, struct error *err)
{
    const struct request *request = batch->request;
    struct span text =
        request->is_cluster ? request_header(request, BATCH_PART_HEADER) : (struct span){0};
    bool *is_in = text.data ? calloc(batch->count, sizeof(*is_in)) : NULL;
    int r = 0;

    *ret_part = (struct batch_part){.total = batch->count};
    if (text.data)
        r = is_in ? batch_part_read(text, batch->count, is_in, ret_part, err) : error_memory(err);
    for (size_t i = 0; r == 0 && is_in && i < batch->count; i++)
        if (!is_in[i])
            batch->items[i].state = DONE;
    free(is_in);
    batch->total = ret_part->total;
    if (ret_part->at_once && ret_part->at_once < batch->window)
        batch->window = ret_part->at_once;
    return r;
}

static struct batch *new_batch(struct request *request)
{
    const struct api *api = request->api;
    struct batch *batch = calloc(1, sizeof(*batch));

    if (!batch)
        return NULL;
    batch->request = request;
    batch->form = route_wants_events(request)  ? FORM_EVENTS
                  : route_wants_lines(request) ? FORM_LINES
                                               : FORM_JSON;
    batch->count = json_array_size(json_object_get(request->json, "runs"));
    batch->window = window_of(request);
    batch->begun_ns = batch->moved_ns = loop_now_ns();
    batch->items = calloc(batch->count, sizeof(*batch->items));
    batch->soon = loop_timer(api->loop, on_soon, batch);
    batch->comment = loop_timer(api->loop, on_comment, batch);
    if (!batch->items || !batch->soon || !batch->comment) {
        free_batch(batch);
        return NULL;
    }
    for (size_t i = 0; i < batch->count; i++)
        batch->items[i].batch = batch;
    return batch;
}

static int open_batch(struct request *request, bool is_known, struct batch **ret_batch,
                      struct error *err)
{
    const struct api *api = request->api;

    struct batch_part part;
    struct batch *batch;
    int r;

    if (json_array_size(json_object_get(request->json, "runs")) == 0)
        return error_set(err, E_INVALID, "`runs` is empty");
    batch = new_batch(request);
    if (!batch)
        return error_memory(err);
    r = take_part(batch, &part, err);
    if (r == 0 && !part.is_checked)
        r = check(request, err);
    if (r == 0 && request->idempotency.is_set && !is_known)
        r = idempotency_add(api->idempotency, request->owner, &request->idempotency, NULL,
                            loop_now_ns(), err);
    if (r < 0)
        free_batch(batch);
    else
        *ret_batch = batch;
    return r;
}

static void start_batch(struct request *request)
{
    int known = api_read_key(request);
    struct batch *batch = NULL;
    struct error err = {0};

    if (known < 0)
        return;
    if (open_batch(request, known > 0, &batch, &err) < 0) {
        request_answer_error(request, &err);
        return;
    }
    buf_done(&request->body); /* the JSON has it all, and stays for long */
    request->is_repeat = known > 0;
    request->user = batch;
    request->on_gone = on_gone;
    request->on_drained = on_drained;
    begin_answer(batch);
    loop_timer_start(batch->soon, 0);
    loop_timer_start(batch->comment, COMMENT_MS);
}

/* clang-format off */
const struct route api_batch_routes[] = {
    {"POST", "/v1/batch", start_batch, .body = batch_fields, .max_body = BATCH_BODY_BYTES,
     .takes_key = true, .streams = true, .gives_lines = true, .answers = "Batch", .status = 200,
     .tag = "runs",
     .summary = "run up to 1000 programs, each in a fresh sandbox, and answer as they end"},
    {0},
};
/* clang-format on */
