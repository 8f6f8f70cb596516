/* Common parts, and tools that answer with one kind of content each. */
#include "fixtures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop.h"

#define NO_INPUT "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}"
#define ANY      "{\"type\":\"object\"}"

const char fixture_png[] = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQI"
                           "AX8jx0gAAAABJRU5ErkJggg==";
const char fixture_wav[] = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/* --- later --- */

struct later {
    struct mcp_call *call;
    struct loop_watch *timer;
    void (*go_on)(struct mcp_call *call);
};

static void later_free(struct later *later)
{
    loop_watch_free(later->timer);
    free(later);
}

static void on_time(void *arg)
{
    struct later *later = arg;
    struct mcp_call *call = later->call;
    void (*go_on)(struct mcp_call *) = later->go_on;

    call->on_cancel = NULL;
    later_free(later);
    go_on(call);
}

static void on_cancel(struct mcp_call *call)
{
    later_free(call->user);
}

void fixture_later(struct mcp_call *call, unsigned ms, void (*go_on)(struct mcp_call *call))
{
    struct later *later = calloc(1, sizeof(*later));

    if (!later)
        abort();
    *later = (struct later){.call = call, .go_on = go_on};
    later->timer = loop_timer(mcp_server_user(call->server), on_time, later);
    if (!later->timer)
        abort();
    call->user = later;
    call->on_cancel = on_cancel;
    loop_timer_start(later->timer, ms);
}

void fixture_answer(struct mcp_call *call, const char *fmt, const char *value)
{
    char text[512];
    const char *at = strstr(fmt, "%s");

    (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - fmt), fmt, value, at + 2);
    mcp_call_answer_text(call, text, false);
}

/* --- contents --- */

static void simple_text(struct mcp_call *call)
{
    mcp_call_answer_text(call, "This is a simple text response for testing.", false);
}

static void image(struct mcp_call *call)
{
    mcp_call_answer(call, json_pack("{s:[{s:s,s:s,s:s}]}", "content", "type", "image", "data",
                                    fixture_png, "mimeType", "image/png"));
}

static void audio(struct mcp_call *call)
{
    mcp_call_answer(call, json_pack("{s:[{s:s,s:s,s:s}]}", "content", "type", "audio", "data",
                                    fixture_wav, "mimeType", "audio/wav"));
}

static void embedded(struct mcp_call *call)
{
    mcp_call_answer(call, json_pack("{s:[{s:s,s:{s:s,s:s,s:s}}]}", "content", "type", "resource",
                                    "resource", "uri", "test://embedded-resource", "mimeType",
                                    "text/plain", "text", "This is an embedded resource content."));
}

static void mixed(struct mcp_call *call)
{
    mcp_call_answer(
        call, json_pack("{s:[{s:s,s:s},{s:s,s:s,s:s},{s:s,s:{s:s,s:s,s:s}}]}", "content", "type",
                        "text", "text", "Multiple content types test:", "type", "image", "data",
                        fixture_png, "mimeType", "image/png", "type", "resource", "resource", "uri",
                        "test://mixed-content-resource", "mimeType", "application/json", "text",
                        "{\"test\":\"data\",\"value\":123}"));
}

static void error(struct mcp_call *call)
{
    mcp_call_answer_text(call, "This tool intentionally returns an error for testing", true);
}

/* --- on the way --- */

static void logged_all(struct mcp_call *call)
{
    mcp_call_log(call, MCP_LOG_INFO, "test", json_string("Tool execution completed"));
    mcp_call_answer_text(call, "Tool with logging executed successfully", false);
}

static void logged_half(struct mcp_call *call)
{
    mcp_call_log(call, MCP_LOG_INFO, "test", json_string("Tool processing data"));
    fixture_later(call, 50, logged_all);
}

static void logging(struct mcp_call *call)
{
    mcp_call_log(call, MCP_LOG_INFO, "test", json_string("Tool execution started"));
    fixture_later(call, 50, logged_half);
}

static void went_all(struct mcp_call *call)
{
    mcp_call_progress(call, 100, 100, NULL, 0);
    mcp_call_answer_text(call, "Tool with progress executed successfully", false);
}

static void went_half(struct mcp_call *call)
{
    mcp_call_progress(call, 50, 100, NULL, 0);
    fixture_later(call, 50, went_all);
}

static void progress(struct mcp_call *call)
{
    mcp_call_progress(call, 0, 100, NULL, 0);
    fixture_later(call, 50, went_half);
}

static void came_back(struct mcp_call *call)
{
    mcp_call_answer_text(call, "Reconnection test completed successfully", false);
}

static void reconnection(struct mcp_call *call)
{
    mcp_call_rest(call);
    fixture_later(call, 100, came_back);
}

static void change_tools(struct mcp_call *call)
{
    mcp_server_changed(call->server, MCP_TOOLS);
    mcp_call_answer_text(call, "the list of tools has changed", false);
}

static void change_prompts(struct mcp_call *call)
{
    mcp_server_changed(call->server, MCP_PROMPTS);
    mcp_call_answer_text(call, "the list of prompts has changed", false);
}

static void needs_sampling(struct mcp_call *call)
{
    if (mcp_call_require(call, "sampling"))
        mcp_call_answer_text(call, "the client can sample", false);
}

/* As the suite has it, word by word: it is compared. */
static const char schema_2020_12[] =
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
    "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":"
    "{\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"
    "\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"
    "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"
    "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
    "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"
    "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},\"required\":"
    "[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":[\"email\"]},"
    "\"additionalProperties\":false}";

static const char schema_header[] =
    "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\",\"x-mcp-header\":"
    "\"Region\"}},\"required\":[\"region\"]}";

/* clang-format off */
const struct mcp_tool fixture_content_tools[] = {
    /* The first one is called with nothing, by checks that need any tool. */
    {"test_simple_text", .description = "a text", .input_json = ANY, .call = simple_text},
    {"test_image_content", .description = "a picture", .input_json = NO_INPUT, .call = image},
    {"test_audio_content", .description = "a sound", .input_json = NO_INPUT, .call = audio},
    {"test_embedded_resource", .description = "a resource", .input_json = NO_INPUT, .call = embedded},
    {"test_multiple_content_types", .description = "several", .input_json = NO_INPUT, .call = mixed},
    {"test_error_handling", .description = "an error", .input_json = NO_INPUT, .call = error},
    {"test_tool_with_logging", .description = "logs three lines", .input_json = NO_INPUT, .call = logging},
    {"test_logging_tool", .description = "logs where it may", .input_json = NO_INPUT, .call = logging},
    {"test_tool_with_progress", .description = "says how far it is", .input_json = NO_INPUT, .call = progress},
    {"test_reconnection", .description = "lets the client come back", .input_json = NO_INPUT, .call = reconnection},
    {"test_trigger_tool_change", .description = "changes the tools", .input_json = NO_INPUT, .call = change_tools},
    {"test_trigger_prompt_change", .description = "changes the prompts", .input_json = NO_INPUT, .call = change_prompts},
    {"test_missing_capability", .description = "needs sampling", .input_json = NO_INPUT, .call = needs_sampling},
    {"json_schema_2020_12_tool", .description = "has a rich schema", .input_json = schema_2020_12, .call = simple_text},
    {"test_header_parameter", .description = "has a parameter in a header", .input_json = schema_header, .call = simple_text},
    {0},
};
/* clang-format on */
