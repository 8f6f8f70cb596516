/* Reads the whole audit trail and says what is wrong with it, in a worker; to clients that want
 * events also how far it is, and each finding when it is found. */
#include <stdio.h>
#include <string.h>

#include "api/trail_reader.h"
#include "audit/own_key.h"
#include "audit/verify.h"
#include "base/cleanup.h"
#include "base/error_json.h"
#include "base/json.h"
#include "base/limits.h"
#include "http/sse.h"

#define FINDINGS_MAX 100 /* more are counted */
#define VERIFY_MS    600000
#define TELL_NS      200000000 /* between two reports of progress */
#define EVENT_BYTES  (256 * KIB)

/* --- in the worker --- */

struct verifying {
    json_t *findings;
    uint64_t told_ns;
};

static void on_finding(void *user, bool is_problem, const char *text)
{
    const struct verifying *v = user;
    json_t *finding;

    if (json_array_size(v->findings) >= FINDINGS_MAX)
        return;
    finding = json_pack("{s:b, s:o}", "is_problem", (int)is_problem, "text",
                        json_text_string(text, strlen(text)));
    (void)json_array_append(v->findings, finding);
    worker_tell(json_pack("{s:s, s:o}", "event", "finding", "data", finding));
}

static void on_progress(void *user, const struct verify_progress *at)
{
    struct verifying *v = user;
    uint64_t now = loop_now_ns();

    if (now - v->told_ns < TELL_NS)
        return;
    v->told_ns = now;
    worker_tell(json_pack("{s:s, s:{s:I, s:I, s:I, s:I, s:I}}", "event", "progress", "data",
                          "records", (json_int_t)at->records, "files", (json_int_t)at->files,
                          "bytes", (json_int_t)at->bytes, "total_files",
                          (json_int_t)at->total_files, "total_bytes", (json_int_t)at->total_bytes));
}

static json_t *result_json(const struct verify_result *result, json_t *findings)
{
    return json_pack("{s:b, s:I, s:I, s:I, s:I, s:I, s:o, s:O}", "valid", (int)!result->problems,
                     "records", (json_int_t)result->records, "files", (json_int_t)result->files,
                     "bytes", (json_int_t)result->bytes, "problems", (json_int_t)result->problems,
                     "unsigned", (json_int_t)result->n_unsigned, "last_time",
                     json_string_or_null(*result->last.time ? result->last.time : NULL), "findings",
                     findings);
}

static int work(const void *arg, json_t **ret_answer, struct error *err)
{
    const struct trail_wish *wish = arg;
    cleanup_json json_t *findings = json_array();
    struct verifying v = {.findings = findings};
    struct verify_options options = {
        .n_keys = 1, .on_finding = on_finding, .on_progress = on_progress, .user = &v};
    struct verify_result result = {0};
    struct key_pair *key = NULL;
    int r;

    if (own_key_open(wish->trail_dir, &key, err) < 0)
        return -1;
    options.keys = key_public(key);
    options.secret = key_mac(key);
    r = verify_trail(wish->dir, &options, &result, err);
    key_free(key);
    if (r == 0)
        *ret_answer = result_json(&result, findings);
    return r;
}

/* --- in the server --- */

static void send_event(struct request *request, const char *name, const json_t *data)
{
    cleanup(buf_done) struct buf text = BUF_OF(EVENT_BYTES);

    if (sse_text_add(&text, name, data, NULL) == 0)
        (void)request_write(request, buf_str(&text), text.len);
}

/* There are at most FINDINGS_MAX findings, and five reports a second: a slow reader holds little.
 */
static void tell(struct request *request, void *user, const json_t *line)
{
    const char *name = json_get_text(line, "event");

    (void)user;
    if (strcmp(name, "progress") == 0 || strcmp(name, "finding") == 0)
        send_event(request, name, json_object_get(line, "data"));
}

static void tell_result(struct request *request, void *user, json_t *answer)
{
    (void)user;
    send_event(request, "result", answer);
    request_end(request);
}

static void tell_error(struct request *request, void *user, struct error *err)
{
    cleanup_json json_t *object = error_json(err, request_reader(request));

    (void)user;
    error_done(err);
    send_event(request, "error", object);
    request_end(request);
}

static void verify(struct request *request)
{
    static const struct trail_listener listener = {
        .on_answer = tell_result, .on_progress = tell, .on_error = tell_error};
    cleanup(trail_wish_done) struct trail_wish wish = {0};
    const struct worker_task task = {.work = work,
                                     .arg = &wish,
                                     .patience_ms = VERIFY_MS,
                                     .name = "the verification",
                                     .late_hint = "run `belljar audit verify` on the host"};
    bool wants_events = route_wants_events(request);
    struct error err = {0};

    if (trail_check_node(request, &err) < 0 || trail_wish_open(request->api, &wish, &err) < 0 ||
        trail_read(request, &task, wants_events ? &listener : NULL, &err) < 0)
        request_answer_error(request, &err);
    else if (wants_events)
        request_begin(request, 200, "text/event-stream", NULL, REQUEST_UNKNOWN_LENGTH);
}

/* clang-format off */
static const struct schema_field nothing[] = {{0}};
static const struct schema_field node_fields[] = {TRAIL_NODE_FIELD, {0}};

const struct route api_verify_routes[] = {
    {"POST", "/v1/audit/verify", verify, .body = nothing, .query = node_fields, .max_body = KIB, .access = ROUTE_OPERATOR, .streams = true,
     .answers = "AuditVerified", .status = 200, .tag = "audit",
     .summary = "read the whole audit trail and report what is wrong with it; for operators"},
    {0},
};
/* clang-format on */
