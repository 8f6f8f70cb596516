/* Change notices: `subscriptions/listen`, a request that stays open, and what legacy peers get. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "mcp/internal.h"

static const struct {
    const char *filter, *method;
} lists[] = {
    [MCP_TOOLS] = {"toolsListChanged", "notifications/tools/list_changed"},
    [MCP_PROMPTS] = {"promptsListChanged", "notifications/prompts/list_changed"},
    [MCP_RESOURCES] = {"resourcesListChanged", "notifications/resources/list_changed"},
};

/* --- sending --- */

/* Every frame of a subscription says which. Takes the parameters. For a client that does not read
 * nothing more is kept. */
static void notify(const struct mcp_listen *listen, const char *method, json_t *params)
{
    const struct mcp_exchange *exchange = listen->exchange;
    json_t *notice;

    if (exchange->is_behind && exchange->is_behind(exchange)) {
        json_decref(params);
        return;
    }
    (void)json_object_set_new(params, "_meta", json_pack("{s:O}", META_LISTEN_ID, listen->id));
    notice = mcp_notice_json(method, params);
    listen->exchange->send(listen->exchange, notice);
    json_decref(notice);
}

static void notify_peer(const struct mcp_peer *peer, const char *method, json_t *params)
{
    json_t *notice = mcp_notice_json(method, params);

    peer->send(peer->send_user, notice);
    json_decref(notice);
}

void mcp_peer_changed(struct mcp_peer *peer, enum mcp_list list)
{
    if (peer->is_initialized && peer->send)
        notify_peer(peer, lists[list].method, json_object());
}

void mcp_server_changed(struct mcp_server *server, enum mcp_list list)
{
    mcp_server_changed_for(server, NULL, list);
}

void mcp_server_changed_for(struct mcp_server *server, const char *owner, enum mcp_list list)
{
    for (struct mcp_peer *peer = TAILQ_FIRST(&server->peers); peer; peer = TAILQ_NEXT(peer, link)) {
        if (owner && strcmp(owner, peer->owner) != 0)
            continue;
        for (struct mcp_listen *l = LIST_FIRST(&peer->listens); l; l = LIST_NEXT(l, link))
            if (l->wants[list])
                notify(l, lists[list].method, json_object());
        mcp_peer_changed(peer, list);
    }
}

static bool has_text(const json_t *array, const char *text)
{
    const json_t *item;
    size_t i;

    json_array_foreach(array, i, item)
    {
        if (strcmp(json_string_value(item), text) == 0)
            return true;
    }
    return false;
}

void mcp_server_updated(struct mcp_server *server, const char *owner, const char *uri)
{
    static const char method[] = "notifications/resources/updated";

    for (struct mcp_peer *peer = TAILQ_FIRST(&server->peers); peer; peer = TAILQ_NEXT(peer, link)) {
        if (owner && strcmp(owner, peer->owner) != 0)
            continue;
        for (struct mcp_listen *l = LIST_FIRST(&peer->listens); l; l = LIST_NEXT(l, link))
            if (has_text(l->uris, uri))
                notify(l, method, json_pack("{s:s}", "uri", uri));
        if (peer->send && json_object_get(peer->watched, uri))
            notify_peer(peer, method, json_pack("{s:s}", "uri", uri));
    }
}

void mcp_listen_task(struct mcp_server *server, const struct mcp_task *task)
{
    for (struct mcp_peer *peer = TAILQ_FIRST(&server->peers); peer; peer = TAILQ_NEXT(peer, link))
        for (struct mcp_listen *l = LIST_FIRST(&peer->listens); l; l = LIST_NEXT(l, link))
            if (strcmp(task->owner, peer->owner) == 0 && has_text(l->task_ids, task->id))
                notify(l, "notifications/tasks", mcp_task_json(task));
}

/* --- opening and ending --- */

static void free_listen(struct mcp_listen *listen)
{
    json_decref(listen->id);
    json_decref(listen->uris);
    json_decref(listen->task_ids);
    free(listen);
}

void mcp_listen_end(struct mcp_listen *listen, bool is_reported)
{
    struct mcp_peer *peer = listen->peer;
    struct mcp_exchange *exchange = listen->exchange;
    json_t *answer = NULL;

    LIST_REMOVE(listen, link);
    peer->n_listens--;
    exchange->listen = NULL;
    if (is_reported)
        answer = mcp_result_json(peer->server, MCP_MODERN, listen->id,
                                 json_pack("{s:{s:O}}", "_meta", META_LISTEN_ID, listen->id));
    free_listen(listen);
    if (is_reported)
        exchange->finish(exchange, answer, 200);
    json_decref(answer);
}

/* The strings of an array, as many as we take. */
static json_t *copy_strings(const json_t *given)
{
    json_t *copy = json_array();
    const json_t *item;
    size_t i;

    json_array_foreach(given, i, item)
    {
        if (json_is_string(item) && json_string_length(item) <= MCP_WATCHED_LEN &&
            json_array_size(copy) < MCP_WATCHED_MAX)
            (void)json_array_append(copy, (json_t *)item);
    }
    return copy;
}

/* Only tasks of this owner. */
static json_t *copy_tasks(struct mcp_server *server, const char *owner, const json_t *given)
{
    json_t *all = copy_strings(given), *copy = json_array();
    const json_t *item;
    size_t i;

    json_array_foreach(all, i, item)
    {
        if (mcp_task_find(server, owner, json_string_value(item)))
            (void)json_array_append(copy, (json_t *)item);
    }
    json_decref(all);
    return copy;
}

static bool supports(const struct mcp_server *server, enum mcp_list list)
{
    return list == MCP_TOOLS || (list == MCP_PROMPTS && mcp_has_prompts(server)) ||
           (list == MCP_RESOURCES && mcp_has_resources(server));
}

/* First of all, what it will be told. */
static void acknowledge(struct mcp_listen *listen, const json_t *filter)
{
    const struct mcp_server *server = listen->peer->server;
    json_t *agreed = json_object();

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        listen->wants[i] = json_is_true(json_object_get(filter, lists[i].filter)) &&
                           supports(server, (enum mcp_list)i);
        if (listen->wants[i])
            (void)json_object_set_new(agreed, lists[i].filter, json_true());
    }
    if (json_object_get(filter, "resourceSubscriptions") && mcp_has_resources(server))
        (void)json_object_set(agreed, "resourceSubscriptions", listen->uris);
    if (json_object_get(filter, "taskIds"))
        (void)json_object_set(agreed, "taskIds", listen->task_ids);
    notify(listen, "notifications/subscriptions/acknowledged",
           json_pack("{s:o}", "notifications", agreed));
}

static void open_listen(struct mcp_request *request)
{
    struct mcp_peer *peer = request->peer;
    const json_t *filter = json_object_get(request->params, "notifications");
    struct mcp_listen *listen;

    if (!json_is_object(filter)) {
        mcp_request_error(request, MCP_INVALID_PARAMS, "`notifications`: expected an object", NULL);
        return;
    }
    if (json_object_get(filter, "taskIds") &&
        !mcp_capability_has(json_object_get(request->meta, META_CAPS),
                            "extensions." EXTENSION_TASKS)) {
        mcp_request_error(request, MCP_MISSING_CAPABILITY, "Missing required client capability",
                          json_pack("{s:o}", "requiredCapabilities",
                                    mcp_capability_json("extensions." EXTENSION_TASKS)));
        return;
    }
    listen = peer->n_listens < MCP_LISTENS_MAX ? calloc(1, sizeof(*listen)) : NULL;
    if (!listen) {
        mcp_request_error(request, MCP_INTERNAL_ERROR, "too many subscriptions", NULL);
        return;
    }
    *listen = (struct mcp_listen){
        .peer = peer,
        .exchange = request->exchange,
        .id = json_incref(request->id),
        .uris = copy_strings(json_object_get(filter, "resourceSubscriptions")),
        .task_ids = copy_tasks(request->server, peer->owner, json_object_get(filter, "taskIds")),
    };
    LIST_INSERT_HEAD(&peer->listens, listen, link);
    peer->n_listens++;
    request->exchange->listen = listen;
    acknowledge(listen, filter);
    json_decref(request->message);
}

const struct mcp_method mcp_listen_methods[] = {
    {"subscriptions/listen", ERA_MODERN, open_listen},
    {0},
};
