#include "mcp_scene.h"

#include <stdlib.h>
#include <string.h>

#include "admit/rights.h"
#include "base/cleanup.h"

struct exchange {
    struct mcp_exchange exchange;
    struct mcp_scene *scene;
    struct exchange *before, *after;
};

static struct exchange *open_exchanges;

static struct exchange *of(const struct mcp_exchange *exchange)
{
    return (struct exchange *)exchange;
}

static void on_send(struct mcp_exchange *exchange, const json_t *message)
{
    (void)json_array_append(of(exchange)->scene->sent, (json_t *)message);
}

static void drop(struct exchange *e)
{
    *(e->before ? &e->before->after : &open_exchanges) = e->after;
    if (e->after)
        e->after->before = e->before;
    e->scene->n_open--;
    free(e);
}

static void on_finish(struct mcp_exchange *exchange, const json_t *answer, int status)
{
    struct mcp_scene *scene = of(exchange)->scene;

    scene->status = status;
    if (answer)
        (void)json_array_append(scene->sent, (json_t *)answer);
    drop(of(exchange));
}

static struct span on_header(const struct mcp_exchange *exchange, const char *name)
{
    const json_t *value = json_object_get(of(exchange)->scene->headers, name);

    return (struct span){json_string_value(value), json_string_length(value)};
}

static void on_notice(void *user, const json_t *message)
{
    struct mcp_scene *scene = user;

    (void)json_array_append(scene->sent, (json_t *)message);
}

/* --- tools --- */

static void call_echo(struct mcp_call *call)
{
    const char *text = json_string_value(json_object_get(call->arguments, "text"));

    mcp_call_answer_text(call, text ? text : "", false); /* `marked` has no table that checks */
}

static void on_park_cancel(struct mcp_call *call)
{
    struct mcp_scene *scene = mcp_server_user(call->server);

    scene->n_cancelled++;
    scene->parked = NULL;
}

static void call_park(struct mcp_call *call)
{
    struct mcp_scene *scene = mcp_server_user(call->server);

    call->on_cancel = on_park_cancel;
    scene->parked = call;
    mcp_call_progress(call, 0, 10, "parked", 6);
    mcp_call_log(call, MCP_LOG_INFO, "scene", json_string("parked"));
}

static void call_ask(struct mcp_call *call)
{
    const char *name = json_string_value(json_object_get(
        json_object_get(json_object_get(call->answers, "name"), "content"), "name"));
    char text[128];

    if (!name) {
        mcp_call_ask(call,
                     json_pack("{s:{s:s, s:{s:s}}}", "name", "method", "elicitation/create",
                               "params", "message", "who?"),
                     json_pack("{s:i}", "round", 1));
        return;
    }
    (void)snprintf(text, sizeof(text), "%.50s, round %d", name,
                   (int)json_integer_value(json_object_get(call->state, "round")));
    mcp_call_answer_text(call, text, false);
}

static const struct schema_field echo_fields[] = {
    {"text", SCHEMA_STRING, .is_required = true, .help = "what to say", .example = "\"hi\""},
    {"loud", SCHEMA_BOOLEAN, .help = "or not", .example = "true"},
    {0},
};

static const struct schema_field none[] = {{0}};

static const struct mcp_tool echo = {
    .name = "echo", .description = "says it", .input = echo_fields, .call = call_echo};
static const struct mcp_tool park = {
    .name = "park", .description = "waits", .input = none, .call = call_park, .may_be_task = true};
static const struct mcp_tool asks = {
    .name = "ask", .description = "asks", .input = none, .call = call_ask};
static const struct mcp_tool task = {
    .name = "task", .description = "a task", .input = none, .call = call_ask, .must_be_task = true};
static const struct mcp_tool marked = {
    .name = "marked",
    .description = "has a header",
    .input_json = "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\","
                  "\"x-mcp-header\":\"Text\"}}}",
    .call = call_echo,
};
static const struct mcp_tool *const tools[] = {&echo, &park, &asks, &task, &marked, NULL};

static void read_resource(struct mcp_call *call)
{
    if (strstr(call->uri, "none"))
        mcp_call_not_found(call);
    else
        mcp_call_answer(call,
                        json_pack("{s:[{s:s, s:s}]}", "contents", "uri", call->uri, "text", "t"));
}

static void complete(struct mcp_call *call, const char *name, const char *value, json_t *values)
{
    (void)call;
    for (int i = 0; i < 150; i++)
        (void)json_array_append_new(values, json_sprintf("%s-%s-%d", name, value, i));
}

static const struct mcp_resource fixed = {
    .uri = "scene://fixed", .name = "fixed", .read = read_resource};
static const struct mcp_resource template = {
    .uri = "scene://x/{id}/data", .name = "data", .read = read_resource, .complete = complete};
static const struct mcp_resource *const resources[] = {&fixed, &template, NULL};

static void get_prompt(struct mcp_call *call)
{
    mcp_call_answer(call, json_pack("{s:[]}", "messages"));
}

static const struct mcp_prompt_argument prompt_arguments[] = {{"who", "a name", true}, {0}};
static const struct mcp_prompt prompt = {.name = "greet",
                                         .description = "greets",
                                         .arguments = prompt_arguments,
                                         .get = get_prompt,
                                         .complete = complete};
static const struct mcp_prompt *const prompts[] = {&prompt, NULL};

/* --- the scene --- */

int mcp_scene_open(struct mcp_scene *scene)
{
    const struct mcp_peer_options peer = {
        .owner = "someone", .caller = &scene->caller, .send = on_notice, .user = scene};
    struct mcp_server_options options = {
        .name = "scene",
        .version = "1",
        .instructions = "act",
        .tools = tools,
        .resources = resources,
        .prompts = prompts,
        .user = scene,
    };

    *scene = (struct mcp_scene){.sent = json_array()};
    rights_init(&scene->caller.rights);
    scene->loop = options.loop = loop_new(NULL);
    if (!scene->loop || mcp_server_new(&options, &scene->server, NULL) < 0)
        return -1;
    return mcp_peer_new(scene->server, &peer, &scene->peer, NULL);
}

void mcp_scene_leave(struct mcp_scene *scene)
{
    (void)scene;
    while (open_exchanges) {
        mcp_exchange_gone(&open_exchanges->exchange);
        drop(open_exchanges);
    }
}

void mcp_scene_close(struct mcp_scene *scene)
{
    mcp_peer_free(scene->peer);
    mcp_server_free(scene->server);
    while (open_exchanges)
        drop(open_exchanges);
    loop_free(scene->loop);
    json_decref(scene->sent);
    json_decref(scene->headers);
}

void mcp_scene_say(struct mcp_scene *scene, const char *text, size_t len)
{
    json_t *answer = NULL, *message = mcp_load(text, len, &answer);
    struct exchange *e;

    if (!message) {
        (void)json_array_append_new(scene->sent, answer);
        return;
    }
    e = calloc(1, sizeof(*e));
    if (!e)
        abort();
    *e = (struct exchange){
        .exchange = {.send = on_send,
                     .finish = on_finish,
                     .header = scene->headers ? on_header : NULL},
        .scene = scene,
        .after = open_exchanges,
    };
    if (open_exchanges)
        open_exchanges->before = e;
    open_exchanges = e;
    scene->n_open++;
    mcp_peer_receive(scene->peer, message, &e->exchange);
}
