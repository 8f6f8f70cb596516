/* Resources and prompts, and the tables of everything. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "fixtures.h"

/* --- resources --- */

static void contents(struct mcp_call *call, const char *mime, const char *kind, const char *value)
{
    mcp_call_answer(call, json_pack("{s:[{s:s,s:s,s:s}]}", "contents", "uri", call->uri, "mimeType",
                                    mime, kind, value));
}

static void read_text(struct mcp_call *call)
{
    contents(call, "text/plain", "text", "This is the content of the static text resource.");
}

static void read_binary(struct mcp_call *call)
{
    contents(call, "image/png", "blob", fixture_png);
}

static void read_template(struct mcp_call *call)
{
    const char *from = call->uri + strlen("test://template/");
    int n = (int)strcspn(from, "/");
    char text[256];

    (void)snprintf(text, sizeof(text),
                   "{\"id\":\"%.*s\",\"templateTest\":true,\"data\":\"Data for ID: %.*s\"}", n,
                   from, n, from);
    contents(call, "application/json", "text", text);
}

static const struct mcp_resource resources[] = {
    {"test://static-text", "static-text", .description = "a text", .mime = "text/plain",
     .read = read_text},
    {"test://static-binary", "static-binary", .description = "a picture", .mime = "image/png",
     .read = read_binary},
    {"test://watched-resource", "watched-resource", .description = "a text to watch",
     .mime = "text/plain", .read = read_text},
    {"test://template/{id}/data", "template", .description = "data by id",
     .mime = "application/json", .read = read_template},
};

const struct mcp_resource *const fixture_resources[] = {&resources[0], &resources[1], &resources[2],
                                                        &resources[3], NULL};

/* --- prompts --- */

static void say(struct mcp_call *call, const char *text)
{
    mcp_call_answer(call, json_pack("{s:[{s:s,s:{s:s,s:s}}]}", "messages", "role", "user",
                                    "content", "type", "text", "text", text));
}

static const char *argument(const struct mcp_call *call, const char *name)
{
    const char *text = json_string_value(json_object_get(call->arguments, name));

    return text ? text : "";
}

static void get_simple(struct mcp_call *call)
{
    say(call, "This is a simple prompt for testing.");
}

static void get_with_arguments(struct mcp_call *call)
{
    char text[512];

    (void)snprintf(text, sizeof(text), "Prompt with arguments: arg1='%s', arg2='%s'",
                   argument(call, "arg1"), argument(call, "arg2"));
    say(call, text);
}

static void complete(struct mcp_call *call, const char *name, const char *value, json_t *values)
{
    static const char *const words[] = {"paris", "park", "party"};

    (void)call;
    (void)name;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strncmp(words[i], value, strlen(value)) == 0)
            (void)json_array_append_new(values, json_string(words[i]));
}

static void get_embedded(struct mcp_call *call)
{
    mcp_call_answer(call, json_pack("{s:[{s:s,s:{s:s,s:{s:s,s:s,s:s}}},{s:s,s:{s:s,s:s}}]}",
                                    "messages", "role", "user", "content", "type", "resource",
                                    "resource", "uri", argument(call, "resourceUri"), "mimeType",
                                    "text/plain", "text", "Embedded resource content for testing.",
                                    "role", "user", "content", "type", "text", "text",
                                    "Please process the embedded resource above."));
}

static void get_image(struct mcp_call *call)
{
    mcp_call_answer(call, json_pack("{s:[{s:s,s:{s:s,s:s,s:s}},{s:s,s:{s:s,s:s}}]}", "messages",
                                    "role", "user", "content", "type", "image", "data", fixture_png,
                                    "mimeType", "image/png", "role", "user", "content", "type",
                                    "text", "text", "Please analyze the image above."));
}

static void get_asking(struct mcp_call *call)
{
    const char *context = json_string_value(fixture_told(call, "user_context", "context"));

    if (context)
        say(call, context);
    else
        mcp_call_ask(
            call,
            json_pack("{s:o}", "user_context",
                      fixture_question("What context should the prompt use?", "context", "string")),
            NULL);
}

static const struct mcp_prompt_argument two[] = {
    {"arg1", "First test argument", true}, {"arg2", "Second test argument", true}, {0}};
static const struct mcp_prompt_argument uri[] = {
    {"resourceUri", "URI of the resource to embed", true}, {0}};

static const struct mcp_prompt prompts[] = {
    {"test_simple_prompt", .description = "one text", .get = get_simple},
    {"test_prompt_with_arguments", .description = "two arguments", .arguments = two,
     .get = get_with_arguments, .complete = complete},
    {"test_prompt_with_embedded_resource", .description = "a resource", .arguments = uri,
     .get = get_embedded},
    {"test_prompt_with_image", .description = "a picture", .get = get_image},
    {"test_input_required_result_prompt", .description = "asks first", .get = get_asking},
};

const struct mcp_prompt *const fixture_prompts[] = {&prompts[0], &prompts[1], &prompts[2],
                                                    &prompts[3], &prompts[4], NULL};
