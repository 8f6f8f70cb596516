#include "mcp/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"

/* jansson and we walk through what came; no message of the protocol is nearly as deep. */
#define DEPTH_MAX 64

#define TICK_MS 1000

#define ID_EXPECTED "expected a whole number or a string of at most 256 bytes"

static_assert(LIMIT_MCP_ID_BYTES == 256, "ID_EXPECTED names the limit");

/* --- messages --- */

const json_t *mcp_empty(void)
{
    static json_t *empty;

    if (!empty)
        empty = json_object();
    return empty;
}

json_t *mcp_error_json_data(const json_t *id, int code, const char *message, json_t *data)
{
    json_t *error = json_pack("{s:i, s:o}", "code", code, "message",
                              mcp_bound_string(message, strlen(message)));

    if (data)
        json_set(error, "data", mcp_bound_data(data));
    return json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id",
                     id ? json_incref((json_t *)id) : json_null(), "error", error);
}

json_t *mcp_error_json(const json_t *id, int code, const char *message)
{
    return mcp_error_json_data(id, code, message, NULL);
}

json_t *mcp_notice_json(const char *method, json_t *params)
{
    return json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params",
                     params ? params : json_object());
}

json_t *mcp_server_info(const struct mcp_server *server)
{
    json_t *info =
        json_pack("{s:s, s:s}", "name", server->options.name, "version", server->options.version);

    if (server->options.title)
        json_set(info, "title", json_string(server->options.title));
    return info;
}

json_t *mcp_result_json(const struct mcp_server *server, enum mcp_era era, const json_t *id,
                        json_t *result)
{
    json_t *meta;

    if (era == MCP_MODERN) {
        if (!json_object_get(result, "resultType"))
            json_set(result, "resultType", json_string("complete"));
        meta = json_object_get(result, "_meta");
        if (!meta) {
            meta = json_object();
            json_set(result, "_meta", meta);
        }
        json_set(meta, META_SERVER_INFO, mcp_server_info(server));
    }
    return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result);
}

int mcp_status_of(enum mcp_era era, int code)
{
    switch (code) {
    case MCP_PARSE_ERROR:
    case MCP_INVALID_REQUEST:
    case MCP_HEADER_MISMATCH:
    case MCP_MISSING_CAPABILITY:
    case MCP_UNSUPPORTED_VERSION:
        return 400;
    case MCP_METHOD_NOT_FOUND:
        return era == MCP_MODERN ? 404 : 200;
    default:
        return 200;
    }
}

json_t *mcp_load(const char *text, size_t len, json_t **ret_answer)
{
    static const struct json_text_limits limits = {
        .bytes = MCP_MESSAGE_BYTES, .depth = DEPTH_MAX, .allows_nul = true, .allows_scalar = true};
    cleanup_error struct error err = {0};
    json_t *message = NULL;

    if (json_text_load(text, len, &limits, &message, &err) == 0)
        return message;
    *ret_answer = mcp_error_json(NULL, MCP_PARSE_ERROR, error_message(&err));
    return NULL;
}

/* --- what kind of message, and of which era --- */

/* Ids and progress tokens come back in answers and notices, as often as the program likes. */
static bool is_id(const json_t *id)
{
    return json_is_integer(id) ||
           (json_is_string(id) && json_string_length(id) <= LIMIT_MCP_ID_BYTES);
}

/* A string that is the same to C. */
static bool is_plain(const json_t *text)
{
    return json_is_string(text) && strlen(json_string_value(text)) == json_string_length(text);
}

static enum mcp_kind kind_of(const json_t *message)
{
    const json_t *id = json_object_get(message, "id");
    const char *version = json_string_value(json_object_get(message, "jsonrpc"));

    if (json_is_array(message))
        return MCP_BATCH;
    if (!json_is_object(message) || !version || strcmp(version, "2.0") != 0)
        return MCP_NOTHING;
    if (is_plain(json_object_get(message, "method")))
        return !id ? MCP_NOTIFICATION : is_id(id) ? MCP_REQUEST : MCP_NOTHING;
    if (json_object_get(message, "method"))
        return MCP_NOTHING;
    if (is_id(id) && (json_object_get(message, "result") || json_object_get(message, "error")))
        return MCP_RESPONSE;
    return MCP_NOTHING;
}

static const char *const legacy_versions[] = {"2024-11-05", "2025-03-26", "2025-06-18",
                                              MCP_LEGACY_VERSION};

static bool is_legacy_version(struct span version)
{
    for (size_t i = 0; i < ARRAY_SIZE(legacy_versions); i++)
        if (version.len == strlen(legacy_versions[i]) &&
            memcmp(version.data, legacy_versions[i], version.len) == 0)
            return true;
    return false;
}

/* Versions are dates: what is later than the last of the old ones is of the new ones. */
static bool is_modern_version(struct span version)
{
    size_t len = strlen(MCP_LEGACY_VERSION);

    return version.data && version.len == len && memcmp(version.data, MCP_LEGACY_VERSION, len) > 0;
}

void mcp_sort(const json_t *message, struct span version, struct mcp_sorted *ret_sorted)
{
    const json_t *meta = json_object_get(json_object_get(message, "params"), "_meta");
    const char *method = json_string_value(json_object_get(message, "method"));
    bool has_claim = json_object_get(meta, META_VERSION) != NULL;

    *ret_sorted = (struct mcp_sorted){.kind = kind_of(message), .method = method ? method : ""};
    if (is_id(json_object_get(message, "id")))
        ret_sorted->id = json_object_get(message, "id");
    if (ret_sorted->kind == MCP_RESPONSE || ret_sorted->kind == MCP_BATCH)
        return;
    if (has_claim || is_modern_version(version))
        ret_sorted->era = MCP_MODERN;
    ret_sorted->is_initialize = !has_claim && ret_sorted->kind == MCP_REQUEST && method &&
                                strcmp(method, "initialize") == 0;
}

/* --- the table of methods --- */

static const struct mcp_method *const tables[] = {
    mcp_session_methods, mcp_list_methods, mcp_call_methods, mcp_listen_methods, mcp_task_methods,
};

static const struct mcp_method *find_method(const struct mcp_server *server, enum mcp_era era,
                                            const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        for (const struct mcp_method *m = tables[i]; m->name; m++)
            if ((m->eras & 1u << era) && strcmp(m->name, name) == 0)
                return !m->is_there || m->is_there(server) ? m : NULL;
    return NULL;
}

/* --- answering --- */

static void finish(struct mcp_request *request, json_t *answer, int status)
{
    struct mcp_exchange *exchange = request->exchange;

    json_decref(request->message);
    exchange->finish(exchange, answer, status);
    json_decref(answer);
}

void mcp_request_result(struct mcp_request *request, json_t *result)
{
    finish(request, mcp_result_json(request->server, request->era, request->id, result), 200);
}

void mcp_request_error(struct mcp_request *request, int code, const char *message, json_t *data)
{
    finish(request, mcp_error_json_data(request->id, code, message, data),
           mcp_status_of(request->era, code));
}

/* Of the envelope: HTTP has a status for it where the code alone has none. */
static void refuse_envelope(struct mcp_request *request, int code, const char *message,
                            json_t *data)
{
    finish(request, mcp_error_json_data(request->id, code, message, data), 400);
}

const char *mcp_request_string(struct mcp_request *request, const char *name)
{
    const json_t *value = json_object_get(request->params, name);
    const char *text = json_string_value(value);
    char message[128];

    if (text && strlen(text) == json_string_length(value))
        return text;
    (void)snprintf(message, sizeof(message), "`%s`: expected a string%s", name,
                   text ? " without NUL" : "");
    mcp_request_error(request, MCP_INVALID_PARAMS, message, NULL);
    return NULL;
}

enum mcp_log_level mcp_log_level_of(const char *name)
{
    static const char *const names[] = {"debug", "info",     "notice", "warning",
                                        "error", "critical", "alert",  "emergency"};

    for (size_t i = 0; name && i < ARRAY_SIZE(names); i++)
        if (strcmp(name, names[i]) == 0)
            return (enum mcp_log_level)i;
    return MCP_LOG_OFF;
}

/* --- capabilities --- */

/* Names of extensions have dots of their own: only the first one divides. */
bool mcp_capability_has(const json_t *capabilities, const char *name)
{
    const char *dot = strchr(name, '.');
    char first[64];

    if (!dot)
        return json_is_object(json_object_get(capabilities, name));
    (void)snprintf(first, sizeof(first), "%.*s", (int)(dot - name), name);
    return json_is_object(json_object_get(json_object_get(capabilities, first), dot + 1));
}

json_t *mcp_capability_json(const char *name)
{
    const char *dot = strchr(name, '.');
    char first[64];

    if (!dot)
        return json_pack("{s:{}}", name);
    (void)snprintf(first, sizeof(first), "%.*s", (int)(dot - name), name);
    return json_pack("{s:{s:{}}}", first, dot + 1);
}

/* --- receiving --- */

/* Two versions that differ are a contradiction, whether or not we know any of them. */
static bool agrees_with_header(const struct mcp_request *request, const char *version)
{
    const struct mcp_exchange *exchange = request->exchange;
    struct span header = {0};

    if (exchange->header)
        header = exchange->header(exchange, "mcp-protocol-version");
    return !header.data ||
           (header.len == strlen(version) && memcmp(header.data, version, header.len) == 0);
}

/* Reads the metadata of a modern request. False: it was refused. */
static bool check_envelope(struct mcp_request *request)
{
    const json_t *version = json_object_get(request->meta, META_VERSION);
    const json_t *level = json_object_get(request->meta, META_LOG_LEVEL);
    const char *mistake = NULL;

    if (!json_is_string(version))
        mistake = "`_meta`: `" META_VERSION "` is missing, expected \"" MCP_MODERN_VERSION "\"";
    else if (!agrees_with_header(request, json_string_value(version))) {
        refuse_envelope(request, MCP_HEADER_MISMATCH, "MCP-Protocol-Version differs from `_meta`",
                        NULL);
        return false;
    }
    if (!mistake && strcmp(json_string_value(version), MCP_MODERN_VERSION) != 0) {
        refuse_envelope(
            request, MCP_UNSUPPORTED_VERSION, "Unsupported protocol version",
            json_pack("{s:[s], s:O}", "supported", MCP_MODERN_VERSION, "requested", version));
        return false;
    }
    if (!mistake && !json_is_object(json_object_get(request->meta, META_CAPS)))
        mistake = "`_meta`: `" META_CAPS "` is missing, expected an object, such as {}";
    if (!mistake && level && mcp_log_level_of(json_string_value(level)) == MCP_LOG_OFF)
        mistake = "`_meta`: `" META_LOG_LEVEL "`: expected a level, such as \"info\"";
    if (mistake)
        refuse_envelope(request, MCP_INVALID_PARAMS, mistake, NULL);
    return mistake == NULL;
}

/* A header of an older version: it has to be one that there is. */
static bool check_legacy_header(struct mcp_request *request)
{
    struct mcp_exchange *exchange = request->exchange;
    struct span version = {0};

    if (exchange->header)
        version = exchange->header(exchange, "mcp-protocol-version");
    if (!version.data || is_legacy_version(version))
        return true;
    refuse_envelope(request, MCP_INVALID_REQUEST, "MCP-Protocol-Version: unsupported version",
                    NULL);
    return false;
}

static bool check_modern_headers(struct mcp_request *request)
{
    const char *mistake = request->exchange->header ? mcp_headers_check(request) : NULL;

    if (mistake)
        mcp_request_error(request, MCP_HEADER_MISMATCH, mistake, NULL);
    return mistake == NULL;
}

static bool check_progress_token(struct mcp_request *request)
{
    const json_t *token = json_object_get(request->meta, "progressToken");

    if (!token || is_id(token))
        return true;
    mcp_request_error(request, MCP_INVALID_PARAMS, "`_meta`: `progressToken`: " ID_EXPECTED, NULL);
    return false;
}

static void dispatch(struct mcp_request *request, const char *name)
{
    const json_t *params = json_object_get(request->message, "params");
    json_t *meta = json_object_get(request->params, "_meta");

    if (params && !json_is_object(params) && !json_is_null(params)) {
        refuse_envelope(request, MCP_INVALID_PARAMS, "`params`: expected an object", NULL);
        return;
    }
    if (meta && !json_is_object(meta)) {
        refuse_envelope(request, MCP_INVALID_PARAMS, "`_meta`: expected an object", NULL);
        return;
    }
    request->meta = meta ? meta : mcp_empty();
    if (request->era == MCP_MODERN ? !check_envelope(request) : !check_legacy_header(request))
        return;
    request->method = find_method(request->server, request->era, name);
    if (!request->method) {
        mcp_request_error(request, MCP_METHOD_NOT_FOUND, "Method not found", NULL);
        return;
    }
    if (request->method->subject && !mcp_request_string(request, request->method->subject))
        return;
    if (request->era == MCP_MODERN && !check_modern_headers(request))
        return;
    if (check_progress_token(request))
        request->method->handle(request);
}

/* A field that is null is one that was left out. */
static void drop_nulls(json_t *object)
{
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe(object, next, key, value)
    {
        if (json_is_null(value))
            (void)json_object_del(object, key);
    }
}

static void receive_request(struct mcp_peer *peer, json_t *message, struct mcp_exchange *exchange,
                            const struct mcp_sorted *sorted)
{
    json_t *params = json_object_get(message, "params");
    struct mcp_request request = {
        .server = peer->server,
        .peer = peer,
        .exchange = exchange,
        .era = sorted->era,
        .message = message,
        .id = json_object_get(message, "id"),
        .params = json_is_object(params) ? params : mcp_empty(),
    };

    drop_nulls(params);
    drop_nulls(json_object_get(params, "_meta"));
    if (sorted->is_initialize && sorted->era == MCP_MODERN)
        refuse_envelope(&request, MCP_HEADER_MISMATCH,
                        "`initialize` belongs to an older protocol than MCP-Protocol-Version names",
                        NULL);
    else
        dispatch(&request, sorted->method);
}

static void receive_notification(struct mcp_peer *peer, const json_t *message)
{
    const char *method = json_string_value(json_object_get(message, "method"));

    if (strcmp(method, "notifications/cancelled") == 0)
        mcp_session_cancelled(peer, json_object_get(message, "params"));
    else if (strcmp(method, "notifications/initialized") == 0)
        peer->is_initialized = peer->version != NULL;
    /* Others are none of ours, and nobody waits for an answer. */
}

static void refuse_shape(struct mcp_exchange *exchange, const json_t *message)
{
    const json_t *id = json_object_get(message, "id");
    json_t *answer;
    const char *words = "expected a JSON-RPC 2.0 object with `jsonrpc`, `method` and, for a "
                        "request, `id`";

    if (id && !is_id(id))
        words = "`id`: " ID_EXPECTED;
    answer = mcp_error_json(is_id(id) ? id : NULL, MCP_INVALID_REQUEST, words);
    exchange->finish(exchange, answer, 400);
    json_decref(answer);
}

void mcp_peer_receive(struct mcp_peer *peer, json_t *message, struct mcp_exchange *exchange)
{
    struct span version = {0};
    struct mcp_sorted sorted;

    if (exchange->header)
        version = exchange->header(exchange, "mcp-protocol-version");
    mcp_sort(message, version, &sorted);
    exchange->era = sorted.era;
    exchange->call = NULL;
    exchange->listen = NULL;
    exchange->batch = NULL;
    switch (sorted.kind) {
    case MCP_REQUEST:
        receive_request(peer, message, exchange, &sorted);
        return;
    case MCP_BATCH:
        mcp_batch_receive(peer, message, exchange);
        return;
    case MCP_NOTIFICATION:
        receive_notification(peer, message);
        exchange->finish(exchange, NULL, 202);
        break;
    case MCP_RESPONSE:
        mcp_session_response(peer, message);
        exchange->finish(exchange, NULL, 202);
        break;
    case MCP_NOTHING:
        refuse_shape(exchange, message);
        break;
    }
    json_decref(message);
}

void mcp_exchange_gone(struct mcp_exchange *exchange)
{
    if (exchange->call)
        mcp_call_cancel(exchange->call, false);
    else if (exchange->listen)
        mcp_listen_end(exchange->listen, false);
    else if (exchange->batch)
        mcp_batch_gone(exchange->batch);
}

/* --- peers --- */

int mcp_peer_new(struct mcp_server *server, const struct mcp_peer_options *options,
                 struct mcp_peer **ret_peer, struct error *err)
{
    struct mcp_peer *peer = calloc(1, sizeof(*peer));
    json_t *watched = json_object();

    if (!peer || !watched) {
        free(peer);
        json_decref(watched);
        return error_memory(err);
    }
    peer->server = server;
    peer->caller = options->caller;
    peer->lists_all = options->lists_all;
    peer->send = options->send;
    peer->send_user = options->user;
    peer->log_level = MCP_LOG_INFO;
    peer->watched = watched;
    (void)snprintf(peer->owner, sizeof(peer->owner), "%s", options->owner);
    TAILQ_INIT(&peer->calls);
    TAILQ_INSERT_TAIL(&server->peers, peer, link);
    *ret_peer = peer;
    return 0;
}

void mcp_peer_free(struct mcp_peer *peer)
{
    struct mcp_server *server;

    if (!peer)
        return;
    server = peer->server;
    while (!LIST_EMPTY(&peer->batches))
        mcp_batch_gone(LIST_FIRST(&peer->batches));
    while (!TAILQ_EMPTY(&peer->calls))
        mcp_call_cancel(TAILQ_FIRST(&peer->calls), false);
    mcp_tasks_part(peer);
    while (!LIST_EMPTY(&peer->listens))
        mcp_listen_end(LIST_FIRST(&peer->listens), false);
    if (server->options.on_peer_end)
        server->options.on_peer_end(peer);
    TAILQ_REMOVE(&server->peers, peer, link);
    json_decref(peer->capabilities);
    json_decref(peer->watched);
    free(peer);
}

const char *mcp_peer_version(const struct mcp_peer *peer)
{
    return peer->version;
}

void *mcp_peer_user(const struct mcp_peer *peer)
{
    return peer->user;
}

void mcp_peer_set_user(struct mcp_peer *peer, void *user)
{
    peer->user = user;
}

const char *mcp_peer_owner(const struct mcp_peer *peer)
{
    return peer->owner;
}

struct mcp_server *mcp_peer_server(const struct mcp_peer *peer)
{
    return peer->server;
}

/* --- the server --- */

/* A call that has taken long enough, or NULL. */
static struct mcp_call *find_long(const struct mcp_server *server)
{
    uint64_t now = loop_now_ns(), after_ms = server->options.task_after_ms;

    for (struct mcp_peer *peer = TAILQ_FIRST(&server->peers); after_ms && peer;
         peer = TAILQ_NEXT(peer, link))
        for (struct mcp_call *call = TAILQ_FIRST(&peer->calls); call; call = TAILQ_NEXT(call, link))
            if (call->tool && call->tool->may_be_task &&
                (now - call->begun_ns) / 1000000 >= after_ms &&
                mcp_call_client_has(call, "extensions." EXTENSION_TASKS) &&
                mcp_tasks_have_room(server, call->owner))
                return call;
    return NULL;
}

static void on_tick(void *arg)
{
    struct mcp_server *server = arg;
    struct mcp_call *call;
    bool is_busy = false;

    /* Each time from the start: when its exchange ends, a transport may free the peer. */
    while ((call = find_long(server)) && mcp_call_become_task(call))
        ;
    for (struct mcp_peer *peer = TAILQ_FIRST(&server->peers); peer; peer = TAILQ_NEXT(peer, link))
        for (call = TAILQ_FIRST(&peer->calls); call; call = TAILQ_NEXT(call, link)) {
            is_busy = true;
            if (call->on_tick)
                call->on_tick(call);
        }
    mcp_tasks_sweep(server);
    server->is_ticking = is_busy || server->n_tasks;
    if (server->is_ticking)
        loop_timer_start(server->tick, TICK_MS);
}

void mcp_server_wake(struct mcp_server *server)
{
    if (server->is_ticking)
        return;
    server->is_ticking = true;
    loop_timer_start(server->tick, TICK_MS);
}

int mcp_server_new(const struct mcp_server_options *options, struct mcp_server **ret_server,
                   struct error *err)
{
    struct mcp_server *server = calloc(1, sizeof(*server));

    if (!server || !mcp_empty()) {
        free(server);
        return error_memory(err);
    }
    server->options = *options;
    TAILQ_INIT(&server->peers);
    TAILQ_INIT(&server->tasks);
    TAILQ_INIT(&server->saved);
    if (getrandom(server->key, sizeof(server->key), 0) != (ssize_t)sizeof(server->key)) {
        free(server);
        return error_errno(err, "getrandom");
    }
    server->tick = loop_timer(options->loop, on_tick, server);
    if (!server->tick) {
        free(server);
        return error_memory(err);
    }
    *ret_server = server;
    return 0;
}

void mcp_server_stop(struct mcp_server *server)
{
    for (struct mcp_peer *peer = TAILQ_FIRST(&server->peers), *after; peer; peer = after) {
        after = TAILQ_NEXT(peer, link);
        while (peer->n_listens > 1)
            mcp_listen_end(LIST_FIRST(&peer->listens), true);
        if (!LIST_EMPTY(&peer->listens)) /* its transport may free the peer then */
            mcp_listen_end(LIST_FIRST(&peer->listens), true);
    }
}

void mcp_server_free(struct mcp_server *server)
{
    if (!server)
        return;
    mcp_tasks_free(server);
    mcp_saved_answers_forget(server, NULL);
    loop_watch_free(server->tick);
    explicit_bzero(server->key, sizeof(server->key));
    free(server);
}

void *mcp_server_user(const struct mcp_server *server)
{
    return server->options.user;
}
