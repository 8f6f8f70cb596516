/* Lists of what there is, in pages, and completion of what may be written. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/internal.h"

/* Our own tables change with the program; a client that listens is told of others. */
#define TABLE_TTL_MS ((uint64_t)10 * 60 * 1000)

#define COMPLETIONS_MAX 100

/* A number beyond this is a bound for us, not for a caller. */
#define FAR 100000.0

static const struct json_text_limits schema_limits = {.bytes = MIB, .depth = 64};

static void set_text(json_t *object, const char *key, const char *text)
{
    if (text)
        json_set(object, key, json_string(text));
}

void mcp_list_cache(enum mcp_era era, json_t *result, uint64_t ttl_ms, bool is_private)
{
    if (era != MCP_MODERN)
        return;
    json_set(result, "ttlMs", json_integer((json_int_t)ttl_ms));
    json_set(result, "cacheScope", json_string(is_private ? "private" : "public"));
}

/* --- pages --- */

/* A cursor is where the next page begins; to the client it is a word. False: it is none of ours,
 * and the request was refused. */
static bool read_cursor(struct mcp_request *request, size_t count, size_t *ret_at)
{
    const json_t *cursor = json_object_get(request->params, "cursor");
    const char *text = json_string_value(cursor);
    size_t at = 0;

    *ret_at = 0;
    if (!cursor)
        return true;
    if (text && text[0] == 'p' && strlen(text) == json_string_length(cursor) && strlen(text) <= 8 &&
        strlen(text) >= 2 && strspn(text + 1, "0123456789") == strlen(text + 1))
        at = (size_t)strtoul(text + 1, NULL, 10);
    if (at == 0 || at >= count) {
        mcp_request_error(request, MCP_INVALID_PARAMS,
                          "`cursor`: expected the `nextCursor` of the page before", NULL);
        return false;
    }
    *ret_at = at;
    return true;
}

/* Takes `all`. */
static void answer_page(struct mcp_request *request, const char *key, json_t *all, uint64_t ttl_ms,
                        bool is_private)
{
    size_t count = json_array_size(all), at;
    json_t *page, *result;
    char next[32];

    if (!read_cursor(request, count, &at)) {
        json_decref(all);
        return;
    }
    page = json_array();
    for (size_t i = at; i < count && i < at + MCP_PAGE; i++)
        (void)json_array_append(page, json_array_get(all, i));
    result = json_pack("{s:o}", key, page);
    if (at + MCP_PAGE < count) {
        (void)snprintf(next, sizeof(next), "p%zu", at + MCP_PAGE);
        json_set(result, "nextCursor", json_string(next));
    }
    json_decref(all);
    mcp_list_cache(request->era, result, ttl_ms, is_private);
    mcp_request_result(request, result);
}

/* --- entries --- */

static json_t *load_schema(const char *text)
{
    json_t *schema = NULL;

    return json_text_load(text, strlen(text), &schema_limits, &schema, NULL) == 0 ? schema : NULL;
}

/* Only what differs from what a client has to assume. */
static json_t *annotations(const struct mcp_tool *tool)
{
    json_t *object = json_object();

    if (tool->hints & MCP_READ_ONLY)
        json_set(object, "readOnlyHint", json_true());
    else if (!(tool->hints & MCP_DESTRUCTIVE))
        json_set(object, "destructiveHint", json_false());
    if (tool->hints & MCP_IDEMPOTENT && !(tool->hints & MCP_READ_ONLY))
        json_set(object, "idempotentHint", json_true());
    if (!(tool->hints & MCP_OPEN_WORLD))
        json_set(object, "openWorldHint", json_false());
    return object;
}

/* Bounds that no caller meets by chance are not worth their place in every conversation: who goes
 * beyond them is told. */
static json_t *without_far_bounds(json_t *schema)
{
    json_t *field;
    const char *name;

    json_object_foreach(json_object_get(schema, "properties"), name, field)
    {
        (void)json_object_del(field, "maxLength");
        if (json_number_value(json_object_get(field, "maximum")) > FAR)
            (void)json_object_del(field, "maximum");
        if (json_number_value(json_object_get(field, "minimum")) == 0)
            (void)json_object_del(field, "minimum");
    }
    return schema;
}

static json_t *tool_json(const struct mcp_tool *tool)
{
    json_t *object = json_pack("{s:s}", "name", tool->name);

    set_text(object, "title", tool->title);
    set_text(object, "description", tool->description);
    json_set(object, "inputSchema",
             tool->input_json ? load_schema(tool->input_json)
                              : without_far_bounds(schema_json(tool->input)));
    if (tool->output_json)
        json_set(object, "outputSchema", load_schema(tool->output_json));
    if (!tool->is_brief)
        json_set(object, "annotations", annotations(tool));
    else if (tool->hints & MCP_READ_ONLY)
        json_set(object, "annotations", json_pack("{s:b}", "readOnlyHint", 1));
    if (tool->meta_json)
        json_set(object, "_meta", load_schema(tool->meta_json));
    return object;
}

const struct mcp_tool *const *mcp_list_tools(const struct mcp_peer *peer)
{
    const struct mcp_server_options *options = &peer->server->options;

    return peer->lists_all && options->all_tools ? options->all_tools : options->tools;
}

/* The list of the modern era is the same for everybody. */
static void list_tools(struct mcp_request *request)
{
    const struct mcp_peer *peer = request->peer;
    json_t *all = json_array();

    for (const struct mcp_tool *const *t = mcp_list_tools(peer); t && *t; t++)
        (void)json_array_append_new(all, tool_json(*t));
    for (size_t i = 0; request->era == MCP_LEGACY && i < peer->n_enabled; i++)
        (void)json_array_append_new(all, tool_json(peer->enabled[i]));
    answer_page(request, "tools", all, TABLE_TTL_MS, false);
}

static bool is_template(const struct mcp_resource *resource)
{
    return strchr(resource->uri, '{') != NULL;
}

static json_t *resource_json(const struct mcp_resource *resource)
{
    json_t *object = json_pack("{s:s, s:s}", is_template(resource) ? "uriTemplate" : "uri",
                               resource->uri, "name", resource->name);

    set_text(object, "title", resource->title);
    set_text(object, "description", resource->description);
    set_text(object, "mimeType", resource->mime);
    return object;
}

/* A list of what a client owns is made as if for a call: the handler looks at whose it is. */
static void add_more(const struct mcp_request *request, json_t *all)
{
    struct mcp_call call = {.server = request->server,
                            .peer = request->peer,
                            .caller = request->peer->caller,
                            .era = request->era,
                            .params = request->params,
                            .arguments = mcp_empty(),
                            .capabilities = mcp_empty()};

    memcpy(call.owner, request->peer->owner, sizeof(call.owner));
    request->server->options.list_resources(&call, all);
}

static void list_resources(struct mcp_request *request)
{
    const struct mcp_server_options *options = &request->server->options;
    json_t *all = json_array();

    for (const struct mcp_resource *const *r = options->resources; r && *r; r++)
        if (!is_template(*r))
            (void)json_array_append_new(all, resource_json(*r));
    if (options->list_resources)
        add_more(request, all);
    answer_page(request, "resources", all, 0, true);
}

static void list_templates(struct mcp_request *request)
{
    json_t *all = json_array();

    for (const struct mcp_resource *const *r = request->server->options.resources; r && *r; r++)
        if (is_template(*r))
            (void)json_array_append_new(all, resource_json(*r));
    answer_page(request, "resourceTemplates", all, TABLE_TTL_MS, false);
}

static json_t *prompt_json(const struct mcp_prompt *prompt)
{
    json_t *object = json_pack("{s:s}", "name", prompt->name), *arguments = json_array();

    set_text(object, "title", prompt->title);
    set_text(object, "description", prompt->description);
    for (const struct mcp_prompt_argument *a = prompt->arguments; a && a->name; a++) {
        json_t *argument = json_pack("{s:s, s:b}", "name", a->name, "required", a->is_required);

        set_text(argument, "description", a->description);
        (void)json_array_append_new(arguments, argument);
    }
    if (json_array_size(arguments))
        json_set(object, "arguments", arguments);
    else
        json_decref(arguments);
    return object;
}

static void list_prompts(struct mcp_request *request)
{
    json_t *all = json_array();

    for (const struct mcp_prompt *const *p = request->server->options.prompts; p && *p; p++)
        (void)json_array_append_new(all, prompt_json(*p));
    answer_page(request, "prompts", all, TABLE_TTL_MS, false);
}

/* --- completion --- */

typedef void (*complete_fn)(struct mcp_call *call, const char *name, const char *value,
                            json_t *values);

/* Finds the completer of the reference; *ret_known: whether the reference exists. */
static complete_fn find_completer(const struct mcp_server_options *options, const json_t *ref,
                                  bool *ret_known)
{
    const char *type = json_string_value(json_object_get(ref, "type"));
    const char *name = json_string_value(json_object_get(ref, "name"));
    const char *uri = json_string_value(json_object_get(ref, "uri"));

    *ret_known = true;
    if (type && strcmp(type, "ref/prompt") == 0 && name)
        for (const struct mcp_prompt *const *p = options->prompts; p && *p; p++)
            if (strcmp((*p)->name, name) == 0)
                return (*p)->complete;
    if (type && strcmp(type, "ref/resource") == 0 && uri)
        for (const struct mcp_resource *const *r = options->resources; r && *r; r++)
            if (strcmp((*r)->uri, uri) == 0)
                return (*r)->complete;
    *ret_known = false;
    return NULL;
}

static void run_completer(const struct mcp_request *request, complete_fn fn, const json_t *argument,
                          json_t *values)
{
    const json_t *context =
        json_object_get(json_object_get(request->params, "context"), "arguments");
    struct mcp_call call = {.server = request->server,
                            .peer = request->peer,
                            .caller = request->peer->caller,
                            .era = request->era,
                            .params = request->params,
                            .arguments = json_is_object(context) ? context : mcp_empty(),
                            .capabilities = mcp_empty()};

    memcpy(call.owner, request->peer->owner, sizeof(call.owner));
    fn(&call, json_string_value(json_object_get(argument, "name")),
       json_string_value(json_object_get(argument, "value")), values);
}

static void complete(struct mcp_request *request)
{
    const json_t *argument = json_object_get(request->params, "argument");
    json_t *values, *shown;
    complete_fn fn;
    bool is_known;
    size_t count;

    fn = find_completer(&request->server->options, json_object_get(request->params, "ref"),
                        &is_known);
    if (!is_known || !json_is_string(json_object_get(argument, "name")) ||
        !json_is_string(json_object_get(argument, "value"))) {
        mcp_request_error(request, MCP_INVALID_PARAMS,
                          is_known ? "`argument`: expected `name` and `value`, two strings"
                                   : "`ref`: there is no such prompt or template",
                          NULL);
        return;
    }
    values = json_array();
    shown = json_array();
    if (fn)
        run_completer(request, fn, argument, values);
    count = json_array_size(values);
    for (size_t i = 0; i < count && i < COMPLETIONS_MAX; i++)
        (void)json_array_append(shown, json_array_get(values, i));
    json_decref(values);
    mcp_request_result(request,
                       json_pack("{s:{s:o, s:I, s:b}}", "completion", "values", shown, "total",
                                 (json_int_t)count, "hasMore", count > COMPLETIONS_MAX));
}

static bool has_completion(const struct mcp_server *server)
{
    return mcp_has_prompts(server) || mcp_has_resources(server);
}

const struct mcp_method mcp_list_methods[] = {
    {"tools/list", ERA_LEGACY | ERA_MODERN, list_tools},
    {"resources/list", ERA_LEGACY | ERA_MODERN, list_resources, NULL, mcp_has_resources},
    {"resources/templates/list", ERA_LEGACY | ERA_MODERN, list_templates, NULL, mcp_has_resources},
    {"prompts/list", ERA_LEGACY | ERA_MODERN, list_prompts, NULL, mcp_has_prompts},
    {"completion/complete", ERA_LEGACY | ERA_MODERN, complete, NULL, has_completion},
    {0},
};
