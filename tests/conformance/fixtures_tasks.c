/* Tools that become tasks. */
#include <stdio.h>

#include "fixtures.h"

#define ANY "{\"type\":\"object\"}"

static void greet(struct mcp_call *call)
{
    const char *name = json_string_value(json_object_get(call->arguments, "name"));

    fixture_answer(call, "Hello, %s!", name ? name : "you");
}

static void computed(struct mcp_call *call)
{
    mcp_call_answer_text(call, "computed", false);
}

static void slow_compute(struct mcp_call *call)
{
    double seconds = json_number_value(json_object_get(call->arguments, "seconds"));

    (void)mcp_call_become_task(call);
    fixture_later(call, (unsigned)(seconds * 1000) + 1, computed);
}

static void failed(struct mcp_call *call)
{
    mcp_call_answer_text(call, "the job has failed", true);
}

static void failing_job(struct mcp_call *call)
{
    fixture_later(call, 1000, failed);
}

static void broken(struct mcp_call *call)
{
    mcp_call_refuse(call, MCP_INTERNAL_ERROR, "the job broke the protocol", NULL);
}

static void protocol_error_job(struct mcp_call *call)
{
    (void)mcp_call_become_task(call);
    fixture_later(call, 100, broken);
}

static void confirm_delete(struct mcp_call *call)
{
    if (!call->answers)
        (void)mcp_call_become_task(call);
    if (json_object_get(call->answers, "confirm"))
        mcp_call_answer_text(call, "deleted", false);
    else
        mcp_call_ask(call,
                     json_pack("{s:o}", "confirm",
                               fixture_question("Delete the file?", "confirm", "boolean")),
                     NULL);
}

static void multi_input(struct mcp_call *call)
{
    if (!call->answers)
        (void)mcp_call_become_task(call);
    if (json_object_get(call->answers, "first") && json_object_get(call->answers, "second"))
        mcp_call_answer_text(call, "both are there", false);
    else
        mcp_call_ask(call,
                     json_pack("{s:o,s:o}", "first",
                               fixture_question("The first name?", "name", "string"), "second",
                               fixture_question("The second name?", "name", "string")),
                     NULL);
}

static void say_name(struct mcp_call *call)
{
    const char *name = json_string_value(fixture_told(call, "user_name", "name"));

    fixture_answer(call, "Task of %s", name ? name : "nobody");
}

static void ask_then_task(struct mcp_call *call)
{
    if (!json_is_string(fixture_told(call, "user_name", "name"))) {
        mcp_call_ask(call,
                     json_pack("{s:o}", "user_name",
                               fixture_question("What is your name?", "name", "string")),
                     NULL);
        return;
    }
    (void)mcp_call_become_task(call);
    fixture_later(call, 100, say_name);
}

/* clang-format off */
const struct mcp_tool fixture_task_tools[] = {
    {"greet", .description = "greets", .call = greet,
     .input_json = "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}},\"required\":[\"name\"]}"},
    {"slow_compute", .description = "takes its time", .input_json = ANY, .call = slow_compute},
    {"failing_job", .description = "fails", .input_json = ANY, .call = failing_job, .must_be_task = true},
    {"protocol_error_job", .description = "breaks", .input_json = ANY, .call = protocol_error_job},
    {"confirm_delete", .description = "asks first", .input_json = ANY, .call = confirm_delete},
    {"multi_input", .description = "asks two things", .input_json = ANY, .call = multi_input},
    {"test_tool_with_task", .description = "asks, then becomes a task", .input_json = ANY, .call = ask_then_task},
    {0},
};
/* clang-format on */
