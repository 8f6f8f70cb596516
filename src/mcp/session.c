/* The opening of both eras, and what a legacy peer has beyond single requests: its version, its log
 * level, its subscriptions, and the questions it was asked. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/internal.h"

#define INSTRUCTIONS_BYTES (8 * KIB)

#define DISCOVER_TTL_MS ((uint64_t)60 * 60 * 1000)

/* --- what there is --- */

static bool has_any(const void *const *table)
{
    return table && *table;
}

static bool has_tools(const struct mcp_server *server)
{
    return has_any((const void *const *)server->options.tools);
}

bool mcp_has_resources(const struct mcp_server *server)
{
    return server->options.list_resources ||
           has_any((const void *const *)server->options.resources);
}

bool mcp_has_prompts(const struct mcp_server *server)
{
    return has_any((const void *const *)server->options.prompts);
}

bool mcp_has_tasks(const struct mcp_server *server)
{
    for (const struct mcp_tool *const *t = server->options.tools; t && *t; t++)
        if ((*t)->may_be_task || (*t)->must_be_task)
            return true;
    return false;
}

json_t *mcp_capabilities(const struct mcp_server *server, enum mcp_era era)
{
    json_t *object = json_pack("{s:{}}", "logging");

    if (has_tools(server))
        (void)json_object_set_new(object, "tools", json_pack("{s:b}", "listChanged", 1));
    if (mcp_has_resources(server))
        (void)json_object_set_new(object, "resources",
                                  json_pack("{s:b, s:b}", "subscribe", 1, "listChanged", 1));
    if (mcp_has_prompts(server))
        (void)json_object_set_new(object, "prompts", json_pack("{s:b}", "listChanged", 1));
    if (mcp_has_prompts(server) || mcp_has_resources(server))
        (void)json_object_set_new(object, "completions", json_object());
    if (era == MCP_MODERN && mcp_has_tasks(server))
        (void)json_object_set_new(object, "extensions", json_pack("{s:{}}", EXTENSION_TASKS));
    return object;
}

/* --- opening --- */

/* The client's, if we speak it; else our newest, and the client decides. */
static const char *agree(const char *asked)
{
    static const char *const known[] = {"2024-11-05", "2025-03-26", "2025-06-18",
                                        MCP_LEGACY_VERSION};

    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (strcmp(asked, known[i]) == 0)
            return known[i];
    return MCP_LEGACY_VERSION;
}

/* The names that are objects are all we ask for later. What else a client says of itself may be as
 * long as a message, and is not kept as long as the session. */
static json_t *copy_capabilities(const json_t *given)
{
    static const char *const names[] = {"elicitation", "roots", "sampling"};
    json_t *copy = json_object();

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (json_is_object(json_object_get(given, names[i])))
            (void)json_object_set_new(copy, names[i], json_object());
    return copy;
}

static void add_instructions(const struct mcp_peer *peer, json_t *result)
{
    const struct mcp_server_options *options = &peer->server->options;
    const char *text = peer->lists_all && options->all_instructions ? options->all_instructions
                                                                    : options->instructions;
    cleanup(buf_done) struct buf whole = BUF_OF(INSTRUCTIONS_BYTES);

    if (options->add_instructions)
        options->add_instructions(peer->server, peer->caller, &whole);
    if (text && buf_add_str(&whole, text, NULL) == 0)
        (void)json_object_set_new(result, "instructions",
                                  json_text_string(buf_str(&whole), whole.len));
}

static void initialize(struct mcp_request *request)
{
    struct mcp_peer *peer = request->peer;
    const struct mcp_server *server = request->server;
    const char *asked = mcp_request_string(request, "protocolVersion");
    json_t *capabilities = json_object_get(request->params, "capabilities"), *result;

    if (!asked)
        return;
    if (capabilities && !json_is_object(capabilities)) {
        mcp_request_error(request, MCP_INVALID_PARAMS, "`capabilities`: expected an object", NULL);
        return;
    }
    peer->version = agree(asked);
    json_decref(peer->capabilities);
    peer->capabilities = copy_capabilities(capabilities);
    result = json_pack("{s:s, s:o, s:o}", "protocolVersion", peer->version, "capabilities",
                       mcp_capabilities(server, MCP_LEGACY), "serverInfo", mcp_server_info(server));
    add_instructions(request->peer, result);
    mcp_request_result(request, result);
}

static void discover(struct mcp_request *request)
{
    const struct mcp_server *server = request->server;
    json_t *result = json_pack("{s:[s], s:o}", "supportedVersions", MCP_MODERN_VERSION,
                               "capabilities", mcp_capabilities(server, MCP_MODERN));

    add_instructions(request->peer, result);
    mcp_list_cache(MCP_MODERN, result, DISCOVER_TTL_MS, true);
    mcp_request_result(request, result);
}

static void ping(struct mcp_request *request)
{
    mcp_request_result(request, json_object());
}

static void set_level(struct mcp_request *request)
{
    const char *name = mcp_request_string(request, "level");
    enum mcp_log_level level = mcp_log_level_of(name);

    if (!name)
        return;
    if (level == MCP_LOG_OFF) {
        mcp_request_error(request, MCP_INVALID_PARAMS,
                          "`level`: expected one of debug, info, notice, warning, error, critical, "
                          "alert, emergency",
                          NULL);
        return;
    }
    request->peer->log_level = level;
    mcp_request_result(request, json_object());
}

/* --- subscriptions --- */

static void subscribe(struct mcp_request *request)
{
    const char *uri = json_string_value(json_object_get(request->params, "uri"));
    json_t *watched = request->peer->watched;

    if (strlen(uri) > MCP_WATCHED_LEN) {
        mcp_request_error(request, MCP_INVALID_PARAMS, "`uri`: longer than any resource's", NULL);
        return;
    }
    if (json_object_size(watched) >= MCP_WATCHED_MAX) {
        mcp_request_error(request, MCP_INVALID_PARAMS, "too many subscriptions", NULL);
        return;
    }
    (void)json_object_set_new(watched, uri, json_true());
    mcp_request_result(request, json_object());
}

static void unsubscribe(struct mcp_request *request)
{
    (void)json_object_del(request->peer->watched,
                          json_string_value(json_object_get(request->params, "uri")));
    mcp_request_result(request, json_object());
}

/* --- what comes without being asked for --- */

/* Nothing more is said of a cancelled request. One that is not known has been answered already. */
void mcp_session_cancelled(struct mcp_peer *peer, const json_t *params)
{
    const json_t *id = json_object_get(params, "requestId");

    for (struct mcp_call *call = TAILQ_FIRST(&peer->calls); id && call;
         call = TAILQ_NEXT(call, link))
        if (json_equal(call->id, id)) {
            mcp_call_cancel(call, true);
            return;
        }
    for (struct mcp_listen *listen = LIST_FIRST(&peer->listens); id && listen;
         listen = LIST_NEXT(listen, link))
        if (json_equal(listen->id, id)) {
            struct mcp_exchange *exchange = listen->exchange;

            mcp_listen_end(listen, false);
            exchange->finish(exchange, NULL, 0);
            return;
        }
}

/* An answer to a question of ours, or to none. */
void mcp_session_response(struct mcp_peer *peer, const json_t *message)
{
    const char *id = json_string_value(json_object_get(message, "id"));

    for (struct mcp_call *call = TAILQ_FIRST(&peer->calls); id && call;
         call = TAILQ_NEXT(call, link))
        if (json_object_get(call->questions, id)) {
            mcp_call_answered(call, id, message);
            return;
        }
}

const struct mcp_method mcp_session_methods[] = {
    {"initialize", ERA_LEGACY, initialize},
    {"server/discover", ERA_MODERN, discover},
    {"ping", ERA_LEGACY, ping},
    {"logging/setLevel", ERA_LEGACY, set_level},
    {"resources/subscribe", ERA_LEGACY, subscribe, "uri", mcp_has_resources},
    {"resources/unsubscribe", ERA_LEGACY, unsubscribe, "uri", mcp_has_resources},
    {0},
};
