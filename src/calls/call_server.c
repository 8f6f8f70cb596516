#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/config_function.h"
#include "base/limits.h"
#include "calls/approval.h"
#include "calls/call.h"
#include "calls/outside.h"
#include "mask/pseudonyms.h"

#define PREFIX "servers."

static struct upstreams *servers_of(const struct call *call)
{
    return call_outside(call)->upstreams;
}

/* A call on its way: list, then maybe a question, then the tool. One of the two is not NULL. */
struct way {
    struct call *call;
    size_t server;
    const char *tool; /* within the call's name */
    struct upstream_call *under_way;
    struct approval *approval;
};

static void end_question(struct way *way)
{
    if (!way->approval)
        return;
    call_asked(way->call, way->approval);
    approval_free(way->approval);
    way->approval = NULL;
}

static void on_cancel(struct call *call)
{
    struct way *way = call->user;

    if (way->under_way)
        upstream_call_cancel(way->under_way);
    end_question(way);
    free(way);
}

static void fail(struct way *way, struct error *err)
{
    struct call *call = way->call;

    call->on_cancel = NULL;
    free(way);
    call_fail(call, err);
}

static void fail_with(struct way *way, const struct error *cause)
{
    struct error err = {0};

    error_copy(&err, cause);
    fail(way, &err);
}

/* `value` is taken over. */
static void succeed(struct way *way, json_t *value)
{
    struct call *call = way->call;

    call->on_cancel = NULL;
    free(way);
    call_answer(call, value);
}

/* --- servers.NAME.TOOL --- */

static void on_result(void *user, const json_t *value, const struct error *err)
{
    struct way *way = user;

    way->under_way = NULL;
    if (err)
        fail_with(way, err);
    else
        succeed(way, json_incref((json_t *)value));
}

/* Names that stand for personal data are the data again on the way to a tool, as they are on the
 * way into the sandbox. */
static json_t *turn_back(const struct pseudonyms *names, json_t *value)
{
    const char *key;
    json_t *item;
    void *next;
    size_t i;

    if (json_is_string(value)) {
        cleanup(buf_done) struct buf text = {0};

        buf_init(&text, 2 * MIB);
        if (buf_add(&text, json_string_value(value), json_string_length(value), NULL) == 0 &&
            pseudonyms_back(names, &text, NULL) == 0)
            return json_stringn(buf_str(&text), text.len);
        return NULL;
    }
    if (json_is_array(value)) {
        json_array_foreach(value, i, item)
        {
            if (json_array_set_new(value, i, turn_back(names, item)) < 0)
                return NULL;
        }
    } else if (json_is_object(value)) {
        json_object_foreach_safe(value, next, key, item)
        {
            if (json_object_set_new(value, key, turn_back(names, item)) < 0)
                return NULL;
        }
    }
    return json_incref(value);
}

/* The operator's own, or NULL: it is a tool of another program. */
static const struct config_function *function_of(const struct way *way)
{
    const struct config_server *server = upstreams_at(servers_of(way->call), way->server);

    for (size_t i = 0; i < server->n_functions; i++)
        if (strcmp(server->functions[i].name, way->tool) == 0)
            return &server->functions[i];
    return NULL;
}

static void call_tool(struct way *way)
{
    struct error err = {0};
    const struct config_function *function = function_of(way);
    const struct run *run = way->call->run;
    json_t *arguments = way->call->arguments;

    arguments = run->names ? turn_back(run->names, arguments) : json_incref(arguments);
    if (arguments && function && function->session)
        (void)json_object_set_new(
            arguments, function->session,
            json_string(run->origin.session_name ? run->origin.session_name : run->id));
    if (arguments)
        way->under_way = upstreams_call(servers_of(way->call), way->server, run->origin.owner,
                                        way->tool, arguments, on_result, way, &err);
    else
        error_memory(&err);
    json_decref(arguments);
    if (!way->under_way)
        fail(way, &err);
}

/* --- may it? --- */

static void on_decided(void *user, enum approval_answer answer)
{
    struct way *way = user;
    struct error err = {0};

    call_note_answer(way->call, way->approval, answer);
    end_question(way);
    if (answer == APPROVAL_YES) {
        call_tool(way);
        return;
    }
    error_set(&err, E_DENIED,
              answer == APPROVAL_NO ? "the call of `%s` was not approved"
                                    : "nobody approved the call of `%s` in time",
              way->call->name);
    error_hint(&err, "continue without it, or explain why it is needed and ask to run again");
    fail(way, &err);
}

/* A clock that stands still for every question would never run out for one who only asks. */
static void refuse_unheard(struct way *way)
{
    struct error err = {0};

    error_set(&err, E_DENIED,
              "the call of `%s` needs approval, and an earlier question of this run was not "
              "answered in time",
              way->call->name);
    error_hint(&err, "continue without it, or ask to run again when somebody can approve");
    fail(way, &err);
}

static void ask(struct way *way, const struct config_server *server)
{
    struct error err = {0};

    if (call_is_unheard(way->call)) {
        refuse_unheard(way);
        return;
    }
    if (!way->call->run->origin.can_ask) {
        error_set(&err, E_DENIED, "the call of `%s` needs approval, and nobody can be asked here",
                  way->call->name);
        if (function_of(way))
            error_hint(&err,
                       "the operator can allow it: `approval = \"never\"` in [functions.%s] of "
                       "the configuration",
                       way->tool);
        else
            error_hint(&err,
                       "the operator can allow it: `tools = { \"%s\" = \"allow\" }` in "
                       "[servers.%s] of the configuration",
                       way->tool, server->name);
        fail(way, &err);
        return;
    }
    way->approval = approval_new(&call_outside(way->call)->approvals, call_loop(way->call),
                                 way->call->run, way->call->name, way->call->arguments,
                                 way->call->digest, server->approval_s, on_decided, way, &err);
    if (way->approval)
        call_ask(way->call, way->approval);
    else
        fail(way, &err);
}

static enum config_consent consent_of(const struct config_server *server, const json_t *tool)
{
    enum config_consent said =
        config_server_consent(server, json_string_value(json_object_get(tool, "name")));

    if (said != CONFIG_AUTO)
        return said;
    return json_is_true(json_object_get(tool, "read_only")) ? CONFIG_ALLOW : CONFIG_ASK;
}

static void refuse(struct way *way, const struct config_server *server)
{
    struct error err = {0};

    error_set(&err, E_DENIED, "the tool `%s` of server `%s` may not be called", way->tool,
              server->name);
    error_hint(&err, "[servers.%s] of the configuration says `deny`", server->name);
    fail(way, &err);
}

static void refuse_caller(struct way *way)
{
    struct error err = {0};

    error_set(&err, E_DENIED, "the function `%s` is not for programs of the profile `%s`",
              way->tool, way->call->run->terms.profile ? way->call->run->terms.profile : "");
    error_hint(&err, "`callers` in [functions.%s] of the configuration lists who may call it",
               way->tool);
    fail(way, &err);
}

/* The tool's own description of its effects is known now. */
static void on_known(void *user, const json_t *value, const struct error *err)
{
    struct way *way = user;
    const struct config_server *server = upstreams_at(servers_of(way->call), way->server);
    const json_t *tool;

    way->under_way = NULL;
    if (err) {
        fail_with(way, err);
        return;
    }
    (void)value;
    tool = upstreams_tool(servers_of(way->call), way->server, way->tool);
    if (!tool) {
        struct error missing = {0};

        error_set(&missing, E_NOT_FOUND, "server `%s` has no tool `%s`", server->name, way->tool);
        error_hint(&missing, "servers.search() lists the available tools");
        fail(way, &missing);
        return;
    }
    if (function_of(way) && !config_function_serves(function_of(way), way->call->run->terms.profile,
                                                    way->call->run->origin.owner)) {
        refuse_caller(way);
        return;
    }
    switch (consent_of(server, tool)) {
    case CONFIG_ALLOW:
        call_tool(way);
        break;
    case CONFIG_DENY:
        refuse(way, server);
        break;
    default:
        ask(way, server);
    }
}

/* --- the calls --- */

static int no_server(const char *name, struct error *err)
{
    error_set(err, E_NOT_FOUND, "there is no server `%s`", name);
    return error_hint(err, "servers.names() lists the servers");
}

/* Begins with the server's list of tools, which is there unless it is the first time. */
static void set_out(struct call *call, int server, const char *tool, upstream_done then)
{
    struct error err = {0};
    struct way *way = server < 0 ? NULL : calloc(1, sizeof(*way));

    if (!way) {
        if (server < 0)
            (void)no_server(tool, &err);
        else
            error_memory(&err);
        call_fail(call, &err);
        return;
    }
    *way = (struct way){.call = call, .server = (size_t)server, .tool = tool};
    call->user = way;
    call->on_cancel = on_cancel;
    way->under_way =
        upstreams_list(servers_of(call), (size_t)server, call->run->origin.owner, then, way, &err);
    if (!way->under_way)
        fail(way, &err);
}

static void handle_tool(struct call *call)
{
    const char *name = call->name + strlen(PREFIX);
    const char *tool = strchr(name, '.');
    char server[CONFIG_SERVER_NAME_MAX];
    struct error err = {0};

    if (!tool || !tool[1] || (size_t)(tool - name) >= sizeof(server)) {
        (void)no_server(name, &err);
        call_fail(call, &err);
        return;
    }
    (void)snprintf(server, sizeof(server), "%.*s", (int)(tool - name), name);
    if (upstreams_find(servers_of(call), server) < 0) {
        (void)no_server(server, &err);
        call_fail(call, &err);
        return;
    }
    set_out(call, upstreams_find(servers_of(call), server), tool + 1, on_known);
}

static void handle_list(struct call *call)
{
    json_t *list = json_array();

    for (size_t i = 0; i < upstreams_count(servers_of(call)); i++)
        (void)json_array_append_new(
            list, json_pack("{s:s}", "name", upstreams_at(servers_of(call), i)->name));
    call_answer(call, json_pack("{s:o}", "servers", list));
}

/* With what each tool takes to be called. */
static json_t *add_consent(const struct config_server *server, const json_t *about)
{
    static const char *const words[] = {"auto", "allow", "ask", "deny"};
    json_t *copy = json_deep_copy(about);
    json_t *tool;
    size_t i;

    json_array_foreach(json_object_get(copy, "tools"), i, tool)
    {
        (void)json_object_set_new(tool, "consent", json_string(words[consent_of(server, tool)]));
    }
    return copy;
}

static void on_listed(void *user, const json_t *value, const struct error *err)
{
    struct way *way = user;

    way->under_way = NULL;
    if (err)
        fail_with(way, err);
    else
        succeed(way, add_consent(upstreams_at(servers_of(way->call), way->server), value));
}

static void handle_tools(struct call *call)
{
    const char *name = json_string_value(json_object_get(call->arguments, "server"));

    set_out(call, upstreams_find(servers_of(call), name), name, on_listed);
}

/* clang-format off */
static const struct call_field no_fields[] = {{0}};

static const struct call_field tools_fields[] = {
    {"server", CALL_TEXT, true, CONFIG_SERVER_NAME_MAX},
    {0},
};

const struct call_row call_server_rows[] = {
    {"servers.list",  RUN_REACH_SERVERS, no_fields,    handle_list },
    {"servers.tools", RUN_REACH_SERVERS, tools_fields, handle_tools},
    {PREFIX,          RUN_REACH_SERVERS, NULL,         handle_tool },
    {0},
};
/* clang-format on */
