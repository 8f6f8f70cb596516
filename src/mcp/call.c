/* Calls of tools, resources and prompts, from their request to their end. */
#include "mcp/call.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/json.h"
#include "base/suggest.h"
#include "mcp/internal.h"

/* More tools than that have no nearest name. */
#define NAMES_MAX 64

/* --- life and end --- */

static void link_call(struct mcp_call *call, struct mcp_peer *peer)
{
    TAILQ_INSERT_TAIL(&peer->calls, call, link);
    peer->n_calls++;
}

static void unlink_call(struct mcp_call *call)
{
    struct mcp_peer *peer = call->peer;

    if (!peer)
        return;
    TAILQ_REMOVE(&peer->calls, call, link);
    call->peer = NULL;
    peer->n_calls--;
}

void mcp_call_free(struct mcp_call *call)
{
    unlink_call(call);
    if (call->exchange)
        call->exchange->call = NULL;
    json_decref(call->id);
    json_decref(call->owned_params);
    json_decref(call->owned_arguments);
    json_decref(call->owned_capabilities);
    json_decref(call->answers);
    json_decref(call->state);
    json_decref(call->questions);
    free(call);
}

/* The last that is done with it: its exchange may take its peer along. */
static void end_exchange(struct mcp_exchange *exchange, json_t *answer, int status)
{
    if (exchange)
        exchange->finish(exchange, answer, status);
    json_decref(answer);
}

void mcp_call_cancel(struct mcp_call *call, bool is_reported)
{
    struct mcp_exchange *exchange = is_reported ? call->exchange : NULL;

    if (call->on_cancel)
        call->on_cancel(call);
    if (call->task)
        mcp_task_end(call->task, TASK_CANCELLED, NULL);
    mcp_call_free(call);
    end_exchange(exchange, NULL, 0);
}

/* --- answers --- */

void mcp_call_answer(struct mcp_call *call, json_t *result)
{
    struct mcp_exchange *exchange = call->exchange;
    json_t *answer = NULL;

    if (call->tool)
        mcp_bound(call, result);
    if (call->resource && !json_object_get(result, "ttlMs"))
        mcp_list_cache(call->era, result, 0, true);
    if (call->task)
        mcp_task_end(call->task, TASK_COMPLETED, result);
    else
        answer = mcp_result_json(call->server, call->era, call->id, result);
    mcp_call_free(call);
    end_exchange(exchange, answer, 200);
}

void mcp_call_answer_text(struct mcp_call *call, const char *text, bool is_error)
{
    json_t *result = json_pack("{s:[{s:s, s:o}]}", "content", "type", "text", "text",
                               json_text_string(text, strlen(text)));

    if (is_error)
        json_set(result, "isError", json_true());
    mcp_call_answer(call, result);
}

void mcp_call_refuse(struct mcp_call *call, int code, const char *message, json_t *data)
{
    struct mcp_exchange *exchange = call->exchange;
    int status = mcp_status_of(call->era, code);
    json_t *answer = mcp_error_json_data(call->id, code, message, data);

    if (call->task) {
        mcp_task_end(call->task, TASK_FAILED, json_incref(json_object_get(answer, "error")));
        json_decref(answer);
        answer = NULL;
    }
    mcp_call_free(call);
    end_exchange(exchange, answer, status);
}

void mcp_call_fail(struct mcp_call *call, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(64 * KIB);
    const char *message = error_message(err);

    if (call->tool) {
        (void)buf_printf(&text, NULL, "error (%s): %s", error_code_name(err->code), message);
        if (err->hint) {
            (void)buf_add_str(&text, "\nhint: ", NULL);
            (void)mcp_add_hint(call, err->hint, &text);
        }
        error_done(err);
        mcp_call_answer_text(call, buf_str(&text), true);
        return;
    }
    (void)buf_printf(&text, NULL, "%s%s", message, err->hint ? "; " : "");
    if (err->hint)
        (void)mcp_add_hint(call, err->hint, &text);
    if (call->resource && err->code == E_NOT_FOUND) {
        error_done(err);
        mcp_call_not_found(call);
        return;
    }
    mcp_call_refuse(call,
                    err->code == E_SYSTEM || err->code == E_INTERNAL ? MCP_INTERNAL_ERROR
                                                                     : MCP_INVALID_PARAMS,
                    buf_str(&text), NULL);
    error_done(err);
}

void mcp_call_not_found(struct mcp_call *call)
{
    json_t *data = json_pack("{s:s}", "uri", call->uri ? call->uri : "");

    mcp_call_refuse(call, call->era == MCP_MODERN ? MCP_INVALID_PARAMS : MCP_RESOURCE_NOT_FOUND,
                    "Resource not found", data);
}

/* --- what the client can do --- */

bool mcp_call_client_has(const struct mcp_call *call, const char *capability)
{
    /* Extensions came with the modern era. */
    if (call->era == MCP_LEGACY && strncmp(capability, "extensions.", 11) == 0)
        return false;
    return mcp_capability_has(call->capabilities, capability);
}

bool mcp_call_require(struct mcp_call *call, const char *capability)
{
    struct error err = {0};

    if (mcp_call_client_has(call, capability))
        return true;
    if (call->era == MCP_MODERN) {
        mcp_call_refuse(
            call, MCP_MISSING_CAPABILITY, "Missing required client capability",
            json_pack("{s:o}", "requiredCapabilities", mcp_capability_json(capability)));
        return false;
    }
    error_set(&err, E_UNSUPPORTED, "this needs a client with the capability `%s`", capability);
    mcp_call_fail(call, &err);
    return false;
}

/* --- before the answer --- */

static bool is_behind(const struct mcp_call *call)
{
    return call->exchange->is_behind && call->exchange->is_behind(call->exchange);
}

static void send_notice(struct mcp_call *call, const char *method, json_t *params)
{
    json_t *notice = mcp_notice_json(method, params);

    call->exchange->send(call->exchange, notice);
    json_decref(notice);
}

bool mcp_call_wants_progress(const struct mcp_call *call)
{
    return call->exchange && call->progress_token;
}

/* A number that does not grow is increased a little: clients may refuse a repeated number. */
#define A_LITTLE 0.001

#define PROGRESS_MAX 1e12

void mcp_call_progress(struct mcp_call *call, double progress, double total, const char *message,
                       size_t len)
{
    json_t *params;

    if (!mcp_call_wants_progress(call) || is_behind(call))
        return;
    if (progress <= call->last_progress)
        progress = call->last_progress + A_LITTLE;
    if (progress > PROGRESS_MAX) /* there, a little more is no more */
        return;
    call->last_progress = progress;
    params = json_pack("{s:O, s:o}", "progressToken", call->progress_token, "progress",
                       progress == (double)(int64_t)progress ? json_integer((json_int_t)progress)
                                                             : json_real(progress));
    if (total > 0)
        json_set(params, "total", json_real(total));
    if (message && len)
        json_set(params, "message", json_text_string(message, len));
    send_notice(call, "notifications/progress", params);
}

void mcp_call_log(struct mcp_call *call, enum mcp_log_level level, const char *logger, json_t *data)
{
    static const char *const names[] = {"debug", "info",     "notice", "warning",
                                        "error", "critical", "alert",  "emergency"};
    json_t *params;

    if (!call->exchange || call->log_level == MCP_LOG_OFF || level < call->log_level ||
        is_behind(call)) {
        json_decref(data);
        return;
    }
    params = json_pack("{s:s, s:o}", "level", names[level], "data", data);
    if (logger)
        json_set(params, "logger", json_string(logger));
    send_notice(call, "notifications/message", params);
}

void mcp_call_rest(struct mcp_call *call)
{
    if (call->exchange && call->exchange->rest)
        call->exchange->rest(call->exchange);
}

void mcp_call_part(struct mcp_call *call, json_t *result)
{
    struct mcp_exchange *exchange = call->exchange;

    unlink_call(call);
    exchange->call = NULL;
    call->exchange = NULL;
    end_exchange(exchange, mcp_result_json(call->server, call->era, call->id, result), 200);
}

/* --- questions --- */

static const char *capability_of(const char *method)
{
    if (method && strcmp(method, "elicitation/create") == 0)
        return "elicitation";
    if (method && strcmp(method, "sampling/createMessage") == 0)
        return "sampling";
    return "roots";
}

static void ask_in_result(struct mcp_call *call, json_t *requests, const json_t *state)
{
    cleanup_free char *sealed = state ? mcp_state_seal(call, state) : NULL;
    json_t *result = json_pack("{s:s}", "resultType", "input_required");

    if (json_object_size(requests))
        json_set(result, "inputRequests", json_incref(requests));
    if (sealed)
        json_set(result, "requestState", json_string(sealed));
    mcp_call_answer(call, result);
}

static void ask_on_stream(struct mcp_call *call, json_t *requests)
{
    const char *key;
    json_t *request;
    char id[ID_SIZE];

    json_decref(call->questions);
    call->questions = json_object();
    json_object_foreach(requests, key, request)
    {
        json_t *message;

        (void)snprintf(id, sizeof(id), "belljar-%u", ++call->peer->n_asked);
        json_set(call->questions, id, json_string(key));
        message = json_pack("{s:s, s:s, s:O, s:O*}", "jsonrpc", "2.0", "id", id, "method",
                            json_object_get(request, "method"), "params",
                            json_object_get(request, "params"));
        call->exchange->send(call->exchange, message);
        json_decref(message);
    }
}

void mcp_call_ask(struct mcp_call *call, json_t *requests, json_t *state)
{
    const char *key;
    json_t *request;
    bool is_able = true;

    json_object_foreach(requests, key, request)
    {
        const char *method = json_string_value(json_object_get(request, "method"));

        is_able = is_able && mcp_call_require(call, capability_of(method));
    }
    if (!is_able) {
        json_decref(requests);
        json_decref(state);
        return;
    }
    json_decref(call->state);
    call->state = json_incref(state);
    if (call->task)
        mcp_task_ask(call->task, requests);
    else if (call->era == MCP_MODERN)
        ask_in_result(call, requests, state);
    else
        ask_on_stream(call, requests);
    json_decref(requests);
    json_decref(state);
}

void mcp_call_answered(struct mcp_call *call, const char *id, const json_t *response)
{
    json_t *key = json_incref(json_object_get(call->questions, id));
    json_t *result = json_object_get(response, "result");
    struct error err = {0};

    (void)json_object_del(call->questions, id);
    if (!call->answers)
        call->answers = json_object();
    if (!json_is_object(result) && call->on_cancel) {
        /* Work is under way that has to be told: no answer is none. */
        result = NULL;
    } else if (!json_is_object(result)) {
        json_decref(key);
        error_set(&err, E_DENIED, "the client did not answer the question");
        mcp_call_fail(call, &err);
        return;
    }
    (void)json_object_set_new(call->answers, json_string_value(key),
                              result ? json_incref(result) : json_object());
    json_decref(key);
    if (json_object_size(call->questions) == 0)
        mcp_call_start(call);
}

/* --- beginning --- */

void mcp_call_start(struct mcp_call *call)
{
    if (call->tool)
        call->tool->call(call);
    else if (call->resource)
        call->resource->read(call);
    else
        call->prompt->get(call);
}

static bool is_running(const struct mcp_peer *peer, const json_t *id)
{
    for (const struct mcp_call *call = TAILQ_FIRST(&peer->calls); call;
         call = TAILQ_NEXT(call, link))
        if (json_equal(call->id, id))
            return true;
    return false;
}

/* A modern client sends with each request what a legacy client sent once. */
static const json_t *capabilities_of(const struct mcp_request *request)
{
    const json_t *capabilities = request->era == MCP_MODERN
                                     ? json_object_get(request->meta, META_CAPS)
                                     : request->peer->capabilities;

    return capabilities ? capabilities : mcp_empty();
}

static enum mcp_log_level log_level_of(const struct mcp_request *request)
{
    if (request->era == MCP_LEGACY)
        return request->peer->log_level;
    return mcp_log_level_of(json_string_value(json_object_get(request->meta, META_LOG_LEVEL)));
}

static void fill_call(struct mcp_call *call, const struct mcp_request *request,
                      const struct mcp_tool *tool)
{
    struct mcp_peer *peer = request->peer;

    *call = (struct mcp_call){
        .server = request->server,
        .peer = peer,
        .caller = peer->caller,
        .era = request->era,
        .tool = tool,
        .is_brief = tool && tool->is_brief,
        .max_tokens = tool ? request->server->options.answer_tokens : 0,
        .id = json_incref(request->id),
        .owned_params = json_incref((json_t *)request->params),
        .owned_arguments = mcp_copy_arguments(json_object_get(request->params, "arguments"), tool),
        .owned_capabilities = json_incref((json_t *)capabilities_of(request)),
        .exchange = request->exchange,
        .progress_token = json_object_get(request->meta, "progressToken"),
        .last_progress = -1,
        .log_level = log_level_of(request),
        .begun_ns = loop_now_ns(),
    };
    call->params = call->owned_params;
    call->arguments = call->owned_arguments;
    call->capabilities = call->owned_capabilities;
    memcpy(call->owner, peer->owner, sizeof(call->owner));
}

/* NULL: the request was refused. */
static struct mcp_call *new_call(struct mcp_request *request, const struct mcp_tool *tool)
{
    struct mcp_peer *peer = request->peer;
    struct mcp_call *call;

    if (is_running(peer, request->id) || peer->n_calls >= MCP_CALLS_MAX) {
        mcp_request_error(request, MCP_INVALID_REQUEST,
                          peer->n_calls >= MCP_CALLS_MAX
                              ? "too many requests at once"
                              : "`id`: a request of this id is still running",
                          NULL);
        return NULL;
    }
    call = calloc(1, sizeof(*call));
    if (!call) {
        mcp_request_error(request, MCP_INTERNAL_ERROR, "out of memory", NULL);
        return NULL;
    }
    fill_call(call, request, tool);
    link_call(call, peer);
    request->exchange->call = call;
    json_decref(request->message);
    mcp_server_wake(call->server);
    return call;
}

/* Reads the state that a modern client returns. False: the call was refused. */
static bool take_answers(struct mcp_call *call)
{
    const json_t *answers = json_object_get(call->params, "inputResponses");
    const json_t *state = json_object_get(call->params, "requestState");
    cleanup_error struct error err = {0};

    if (call->era != MCP_MODERN)
        return true;
    if (answers && !json_is_object(answers)) {
        mcp_call_refuse(call, MCP_INVALID_PARAMS, "`inputResponses`: expected an object", NULL);
        return false;
    }
    call->answers = json_incref((json_t *)answers);
    if (!state)
        return true;
    if (mcp_state_open(call, json_string_value(state), &call->state, &err) < 0) {
        mcp_call_refuse(call, MCP_INVALID_PARAMS, error_message(&err), NULL);
        return false;
    }
    return true;
}

/* --- tools --- */

static const struct mcp_tool *find_in(const struct mcp_tool *const *table, const char *name)
{
    for (; table && *table; table++)
        if (strcmp((*table)->name, name) == 0)
            return *table;
    return NULL;
}

const struct mcp_tool *mcp_tool_find(const struct mcp_server *server, const char *name)
{
    const struct mcp_tool *const *const tables[] = {
        server->options.tools, server->options.all_tools, server->options.unlisted};
    const struct mcp_tool *tool = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(tables) && !tool; i++)
        tool = find_in(tables[i], name);
    return tool;
}

/* Messages that the client has read about come first. */
static const struct mcp_tool *find_tool(const struct mcp_peer *peer, const char *name)
{
    const struct mcp_tool *tool = find_in(mcp_list_tools(peer), name);

    for (size_t i = 0; i < peer->n_enabled && !tool; i++)
        if (strcmp(peer->enabled[i]->name, name) == 0)
            tool = peer->enabled[i];
    return tool ? tool : mcp_tool_find(peer->server, name);
}

bool mcp_call_lists(const struct mcp_call *call, const char *name)
{
    const struct mcp_peer *peer = call->peer;

    if (!peer) /* a task: its client is anywhere */
        return find_in(call->server->options.tools, name) != NULL;
    for (size_t i = 0; i < peer->n_enabled; i++)
        if (strcmp(peer->enabled[i]->name, name) == 0)
            return true;
    return find_in(mcp_list_tools(peer), name) != NULL;
}

bool mcp_call_enable(struct mcp_call *call, const struct mcp_tool *tool)
{
    struct mcp_peer *peer = call->peer;

    if (call->era != MCP_LEGACY || !peer || !peer->send || peer->n_enabled >= MCP_ENABLED_MAX ||
        mcp_call_lists(call, tool->name))
        return false;
    peer->enabled[peer->n_enabled++] = tool;
    return true;
}

void mcp_call_tools_changed(struct mcp_call *call)
{
    if (call->peer)
        mcp_peer_changed(call->peer, MCP_TOOLS);
}

static size_t add_names(const struct mcp_tool *const *table, const char **known, size_t count)
{
    for (; table && *table && count < NAMES_MAX; table++)
        known[count++] = (*table)->name;
    return count;
}

static void refuse_tool(struct mcp_request *request, const char *name)
{
    const struct mcp_server_options *options = &request->server->options;
    const struct mcp_tool *const *listed = mcp_list_tools(request->peer);
    const char *known[NAMES_MAX], *nearest;
    char message[320];
    size_t count;

    count = add_names(listed, known, 0);
    count = add_names(options->all_tools, known, count);
    count = add_names(options->unlisted, known, count);
    nearest = suggest_nearest(name, known, count);
    if (!nearest)
        nearest = suggest_by_words(name, known, count);
    if (nearest)
        (void)snprintf(message, sizeof(message), "Unknown tool: %.100s; did you mean %s?", name,
                       nearest);
    else
        (void)snprintf(message, sizeof(message), "Unknown tool: %.100s; %s", name,
                       find_in(listed, "more") ? "more {\"topic\": \"tools\"} names all tools"
                                               : "tools/list names the tools");
    mcp_request_error(request, MCP_INVALID_PARAMS, message, NULL);
}

/* A NUL ends a text in C: what came behind it would be lost in silence. */
static bool has_nul(const json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;
    bool found =
        json_is_string(value) && strlen(json_string_value(value)) != json_string_length(value);

    json_array_foreach(value, i, item)
    {
        found = found || has_nul(item);
    }
    json_object_foreach((json_t *)value, key, item)
    {
        found = found || has_nul(item);
    }
    return found;
}

static int check_nul(const json_t *arguments, struct error *err)
{
    const char *key;
    json_t *item;

    json_object_foreach((json_t *)arguments, key, item)
    {
        if (has_nul(item))
            return error_set(err, E_INVALID, "`%s`: read a string with a NUL in it, expected text",
                             key);
    }
    return 0;
}

/* Every tool takes it, and none has to list it. */
static int take_max_tokens(struct mcp_call *call, struct error *err)
{
    static const struct schema_field fields[] = {MCP_TOKENS_FIELD, {0}};
    json_t *value = json_incref(json_object_get(call->arguments, "max_tokens")), *alone;
    int r;

    if (!value || !call->server->options.answer_tokens)
        return 0;
    alone = json_pack("{s:o}", "max_tokens", value);
    r = schema_check(fields, alone, err);
    if (r == 0)
        call->max_tokens = (size_t)json_integer_value(value);
    json_decref(alone);
    (void)json_object_del(call->owned_arguments, "max_tokens");
    return r;
}

static int check_arguments(const struct mcp_call *call, const json_t *given, struct error *err)
{
    if (given && !json_is_object(given) && !json_is_null(given)) {
        error_set(err, E_INVALID, "`arguments`: expected an object");
        return error_hint(err, "such as {}");
    }
    if (check_nul(call->arguments, err) < 0)
        return -1;
    return call->tool->input ? schema_check(call->tool->input, call->arguments, err) : 0;
}

/* `given`: the arguments as the client sent them. */
static void begin_tool(struct mcp_call *call, const json_t *given)
{
    struct error err = {0};

    if (take_max_tokens(call, &err) < 0 || check_arguments(call, given, &err) < 0) {
        mcp_call_fail(call, &err);
        return;
    }
    if (call->tool->must_be_task && call->era == MCP_MODERN) {
        if (!mcp_call_require(call, "extensions." EXTENSION_TASKS))
            return;
        if (!mcp_call_become_task(call)) {
            mcp_call_refuse(call, MCP_INTERNAL_ERROR, "too many tasks at once", NULL);
            return;
        }
    }
    mcp_call_start(call);
}

static void call_tool(struct mcp_request *request)
{
    const char *name = json_string_value(json_object_get(request->params, "name"));
    const struct mcp_tool *tool = find_tool(request->peer, name);
    struct mcp_call *call;
    const char *mistake = NULL;

    if (!tool) {
        refuse_tool(request, name);
        return;
    }
    if (request->era == MCP_MODERN && request->exchange->header)
        mistake =
            mcp_headers_check_tool(request, tool, json_object_get(request->params, "arguments"));
    if (mistake) {
        mcp_request_error(request, MCP_HEADER_MISMATCH, mistake, NULL);
        return;
    }
    call = new_call(request, tool);
    if (call && take_answers(call))
        begin_tool(call, json_object_get(call->params, "arguments"));
}

void mcp_call_redirect(struct mcp_call *call, const struct mcp_tool *tool, const json_t *arguments)
{
    json_t *copy = mcp_copy_arguments(arguments, tool);

    call->tool = tool;
    json_decref(call->owned_arguments);
    call->owned_arguments = copy;
    call->arguments = copy;
    begin_tool(call, arguments);
}

/* --- resources --- */

/* The words of a template are its own up to the first name, and behind the last one. */
static bool matches(const char *pattern, const char *uri)
{
    const char *open = strchr(pattern, '{'), *close = strrchr(pattern, '}');
    size_t head, tail;

    if (!open || !close)
        return strcmp(pattern, uri) == 0;
    head = (size_t)(open - pattern);
    tail = strlen(close + 1);
    return strlen(uri) > head + tail && strncmp(pattern, uri, head) == 0 &&
           strcmp(close + 1, uri + strlen(uri) - tail) == 0;
}

static void read_resource(struct mcp_request *request)
{
    const struct mcp_resource *const *r = request->server->options.resources;
    struct mcp_call *call = new_call(request, NULL);

    if (!call)
        return;
    call->uri = json_string_value(json_object_get(call->params, "uri"));
    for (; r && *r; r++)
        if (matches((*r)->uri, call->uri))
            break;
    if (!r || !*r) {
        mcp_call_not_found(call);
        return;
    }
    call->resource = *r;
    if (take_answers(call))
        mcp_call_start(call);
}

/* --- prompts --- */

static int check_prompt(const struct mcp_call *call, struct error *err)
{
    const json_t *given = json_object_get(call->params, "arguments");
    const char *key;
    json_t *value;

    if (given && !json_is_object(given) && !json_is_null(given))
        return error_set(err, E_INVALID, "`arguments`: expected an object");
    json_object_foreach((json_t *)call->arguments, key, value)
    {
        if (!json_is_string(value))
            return error_set(err, E_INVALID, "an argument is not a string");
    }
    for (const struct mcp_prompt_argument *a = call->prompt->arguments; a && a->name; a++)
        if (a->is_required && !json_object_get(call->arguments, a->name))
            return error_set(err, E_INVALID, "the argument `%s` is missing", a->name);
    return check_nul(call->arguments, err);
}

static void get_prompt(struct mcp_request *request)
{
    const struct mcp_prompt *const *p = request->server->options.prompts;
    const char *name = json_string_value(json_object_get(request->params, "name"));
    struct error err = {0};
    struct mcp_call *call;

    for (; p && *p; p++)
        if (strcmp((*p)->name, name) == 0)
            break;
    if (!p || !*p) {
        mcp_request_error(request, MCP_INVALID_PARAMS, "Unknown prompt", NULL);
        return;
    }
    call = new_call(request, NULL);
    if (!call)
        return;
    call->prompt = *p;
    if (!take_answers(call))
        return;
    if (check_prompt(call, &err) < 0)
        mcp_call_fail(call, &err);
    else
        mcp_call_start(call);
}

const struct mcp_method mcp_call_methods[] = {
    {"tools/call", ERA_LEGACY | ERA_MODERN, call_tool, "name"},
    {"resources/read", ERA_LEGACY | ERA_MODERN, read_resource, "uri", mcp_has_resources},
    {"prompts/get", ERA_LEGACY | ERA_MODERN, get_prompt, "name", mcp_has_prompts},
    {0},
};
