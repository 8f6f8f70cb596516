/* Copies of sessions: checkpoints, going back to them, forks. */
#include <stdlib.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "engine/place.h"

static const struct schema_field name_fields[] = {
    {"name", SCHEMA_STRING, .is_required = true, .max_len = 64,
     .help = "of the checkpoint; up to 64 letters, digits, `.`, `_` and `-`"},
    {0},
};

static const struct schema_field snapshot_fields[] = {
    {"name", SCHEMA_STRING, .is_required = true, .max_len = 64,
     .help = "of the snapshot; up to 64 letters, digits, `.`, `_` and `-`"},
    {0},
};

static const struct schema_field fork_fields[] = {
    {"n", SCHEMA_INTEGER, .min = 1, .max = 256, .help = "number of copies (default 1)"},
    {0},
};

/* Of a fork: which directories the copies share. */
static json_t *shared_json(const struct session_copied *result)
{
    cleanup(buf_done) struct buf said = {0};
    struct session_info info;

    session_info(result->source, &info);
    buf_init(&said, 64 * KIB);
    if (!result->n_sessions || place_add_forks(info.terms, &said) < 0 || !said.len)
        return json_null();
    return json_text_string(buf_str(&said), said.len);
}

static json_t *copied_json(const struct api_waiting *w, const struct session_copied *result)
{
    json_t *sessions = json_array();

    for (size_t i = 0; i < result->n_sessions; i++)
        (void)json_array_append_new(sessions, api_session_json(result->sessions[i]));
    return json_pack("{s:o, s:o, s:f, s:f, s:o, s:o, s:o}", "session", api_session_json(w->session),
                     "sessions", sessions, "held_ms", result->held_ms, "total_ms", result->total_ms,
                     "lost", result->lost ? json_pack("[s]", result->lost) : json_array(), "shared",
                     shared_json(result), "evicted", api_evicted_json(result->evicted));
}

/* Sessions that nobody is told of would stand until their clocks strike. */
static void close_copies(const struct session_copied *result)
{
    for (size_t i = 0; i < result->n_sessions; i++)
        session_close(result->sessions[i], "nobody waits for it");
}

static void on_copied(void *user, const struct session_copied *result)
{
    struct api_waiting *w = user;
    struct error err = {0};

    if (w->request && result->err->code == E_NONE) {
        request_answer_json(w->request, 200, copied_json(w, result));
        free(w);
        return;
    }
    close_copies(result);
    if (w->request) {
        error_copy(&err, result->err);
        request_answer_error(w->request, &err);
    }
    free(w);
}

/* NULL: the answer has been given. */
static struct api_waiting *begin(struct request *request)
{
    struct error err = {0};
    struct api_waiting *w = api_wait(request, &err);

    if (w && admission_check_session(request->caller, w->session, &err) < 0) {
        api_wait_end(w);
        w = NULL;
    }
    if (!w)
        api_refuse(request, "copy", &err);
    return w;
}

/* `r`: of the call that was to begin it. */
static void settle(struct api_waiting *w, int r, struct error *err)
{
    struct request *request;

    if (r == 0)
        return;
    request = w->request;
    api_wait_end(w);
    request_answer_error(request, err);
}

static const char *name_of(const struct request *request)
{
    return json_string_value(json_object_get(request->json, "name"));
}

static void checkpoint(struct request *request)
{
    struct api_waiting *w = begin(request);
    struct error err = {0};

    if (w)
        settle(w, session_checkpoint(w->session, name_of(request), on_copied, w, &err), &err);
}

static void snapshot(struct request *request)
{
    struct api_waiting *w = begin(request);
    struct error err = {0};

    if (w)
        settle(w, session_snapshot(w->session, name_of(request), on_copied, w, &err), &err);
}

static json_t *snapshot_json(const struct snapshot_info *info)
{
    return json_pack("{s:s, s:s, s:s, s:f, s:I, s:b}", "name", info->name, "session_id",
                     info->source, "profile", info->terms->profile, "age_s",
                     (double)info->age_ms / 1000, "bytes", (json_int_t)info->bytes, "usable",
                     (int)info->is_usable);
}

static void list_snapshots(struct request *request)
{
    const struct api *api = request->api;
    json_t *list = json_array();
    struct snapshot_info info;

    for (size_t i = 0; sessions_snapshot(api->sessions, request->owner, i, &info); i++)
        (void)json_array_append_new(list, snapshot_json(&info));
    request_answer_json(request, 200, json_pack("{s:o}", "snapshots", list));
}

static void forget_snapshot(struct request *request)
{
    const struct api *api = request->api;
    struct error err = {0};

    if (sessions_forget_snapshot(api->sessions, request->owner, request->params[0], &err) < 0)
        request_answer_error(request, &err);
    else
        request_answer_empty(request, 204);
}

static void restore(struct request *request)
{
    struct api_waiting *w = begin(request);
    struct error err = {0};

    if (w)
        settle(w, session_restore(w->session, name_of(request), on_copied, w, &err), &err);
}

/* The copies have the clocks of their source. */
static void fork_session(struct request *request)
{
    struct api_waiting *w = begin(request);
    struct session_options options = {0};
    struct session_info info;
    struct error err = {0};
    const json_t *n;

    if (!w)
        return;
    n = json_object_get(request->json, "n");
    options.max_own = admission_max_sessions(request->caller);
    options.evicts = admission_evicts(((const struct api *)request->api)->config, false);
    session_info(w->session, &info);
    options.idle_ms = info.idle_limit_ms;
    options.lifetime_ms = info.lifetime_ms;
    settle(w,
           session_fork(w->session, n ? (size_t)json_integer_value(n) : 1, &options, on_copied, w,
                        &err),
           &err);
}

static void list_checkpoints(struct request *request)
{
    struct api *api = request->api;
    json_t *names = json_array();
    struct error err = {0};
    struct session *session =
        sessions_find(api->sessions, request->owner, request->params[0], &err);

    if (!session) {
        json_decref(names);
        request_answer_error(request, &err);
        return;
    }
    for (size_t i = 0; session_checkpoint_name(session, i); i++)
        (void)json_array_append_new(names, json_string(session_checkpoint_name(session, i)));
    request_answer_json(request, 200, json_pack("{s:o}", "checkpoints", names));
}

static void forget(struct request *request)
{
    struct api *api = request->api;
    struct error err = {0};
    struct session *session =
        sessions_find(api->sessions, request->owner, request->params[0], &err);

    if (!session || session_forget(session, request->params[1], &err) < 0)
        request_answer_error(request, &err);
    else
        request_answer_empty(request, 204);
}

/* clang-format off */
const struct route api_copy_routes[] = {
    {"POST", "/v1/sessions/{session}/fork", fork_session, .body = fork_fields, .max_body = KIB,
     .answers = "Copied", .status = 200, .tag = "sessions",
     .summary = "new sessions with the same variables and files, each in its own sandbox"},
    {"POST", "/v1/sessions/{session}/checkpoint", checkpoint, .body = name_fields, .max_body = KIB,
     .answers = "Copied", .status = 200, .tag = "sessions", .summary = "keep the present variables and files under a name"},
    {"POST", "/v1/sessions/{session}/restore", restore, .body = name_fields, .max_body = KIB,
     .answers = "Copied", .status = 200, .tag = "sessions", .summary = "go back to a checkpoint; what came after it is lost"},
    {"POST", "/v1/sessions/{session}/snapshot", snapshot, .body = snapshot_fields, .max_body = KIB,
     .answers = "Copied", .status = 200, .tag = "sessions",
     .summary = "keep the present variables and files for sessions to come, also when this one has ended"},
    {"GET", "/v1/snapshots", list_snapshots, .answers = "Snapshots", .status = 200, .tag = "sessions",
     .summary = "the caller's snapshots, newest first"},
    {"DELETE", "/v1/snapshots/{name}", forget_snapshot, .status = 204, .tag = "sessions",
     .summary = "forget a snapshot; sessions that were opened from it go on"},
    {"GET", "/v1/sessions/{session}/checkpoints", list_checkpoints, .answers = "Checkpoints", .status = 200,
     .tag = "sessions", .summary = "names of the checkpoints, newest first"},
    {"DELETE", "/v1/sessions/{session}/checkpoints/{name}", forget, .status = 204,
     .tag = "sessions", .summary = "forget a checkpoint"},
    {0},
};
/* clang-format on */
