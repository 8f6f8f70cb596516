/* Tools that ask the client, or the person behind it. */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "fixtures.h"

#define NO_INPUT "{\"type\":\"object\",\"properties\":{}}"

json_t *fixture_question(const char *message, const char *property, const char *type)
{
    return json_pack("{s:s,s:{s:s,s:{s:s,s:{s:{s:s}},s:[s]}}}", "method", "elicitation/create",
                     "params", "message", message, "requestedSchema", "type", "object",
                     "properties", property, "type", type, "required", property);
}

static json_t *sample(const char *text, int max_tokens)
{
    return json_pack("{s:s,s:{s:[{s:s,s:{s:s,s:s}}],s:i}}", "method", "sampling/createMessage",
                     "params", "messages", "role", "user", "content", "type", "text", "text", text,
                     "maxTokens", max_tokens);
}

static json_t *roots(void)
{
    return json_pack("{s:s,s:{}}", "method", "roots/list", "params");
}

const json_t *fixture_told(const struct mcp_call *call, const char *key, const char *property)
{
    return json_object_get(json_object_get(json_object_get(call->answers, key), "content"),
                           property);
}

static const char *text_of(const struct mcp_call *call, const char *key)
{
    const json_t *answer = json_object_get(call->answers, key);

    return json_string_value(json_object_get(json_object_get(answer, "content"), "text"));
}

static const char *string_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* --- one question, as of 2025 --- */

static void sampling(struct mcp_call *call)
{
    if (text_of(call, "sample"))
        fixture_answer(call, "LLM response: %s", text_of(call, "sample"));
    else
        mcp_call_ask(
            call, json_pack("{s:o}", "sample", sample(string_of(call->arguments, "prompt"), 100)),
            NULL);
}

/* Says what was answered, or asks with that schema. */
static void elicit(struct mcp_call *call, const char *words, const char *message,
                   const char *schema)
{
    static const struct json_text_limits limits = {.bytes = MIB, .depth = 32};
    const json_t *answer = json_object_get(call->answers, "ask");
    cleanup(buf_done) struct buf content = {0};
    char said[256];
    json_t *tree = NULL;

    buf_init(&content, MIB);
    if (json_is_object(answer)) {
        (void)json_text_dump(json_object_get(answer, "content"), JSON_TEXT_COMPACT, &content, NULL);
        (void)snprintf(said, sizeof(said), "action=%s, content=%s", string_of(answer, "action"),
                       buf_str(&content));
        fixture_answer(call, words, said);
        return;
    }
    if (json_text_load(schema, strlen(schema), &limits, &tree, NULL) < 0)
        abort();
    mcp_call_ask(call,
                 json_pack("{s:{s:s,s:{s:s,s:o}}}", "ask", "method", "elicitation/create", "params",
                           "message", message, "requestedSchema", tree),
                 NULL);
}

static void elicitation(struct mcp_call *call)
{
    elicit(call, "User response: <%s>", string_of(call->arguments, "message"),
           "{\"type\":\"object\",\"properties\":{\"username\":{\"type\":\"string\",\"description\":"
           "\"User's response\"},\"email\":{\"type\":\"string\",\"description\":\"User's email "
           "address\"}},\"required\":[\"username\",\"email\"]}");
}

static void defaults(struct mcp_call *call)
{
    elicit(call, "Elicitation completed: %s", "Please review the defaults",
           "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"default\":\"John "
           "Doe\"},\"age\":{\"type\":\"integer\",\"default\":30},\"score\":{\"type\":\"number\","
           "\"default\":95.5},\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\","
           "\"pending\"],\"default\":\"active\"},\"verified\":{\"type\":\"boolean\",\"default\":"
           "true}}}");
}

static void enums(struct mcp_call *call)
{
    elicit(
        call, "Elicitation completed: %s", "Please choose",
        "{\"type\":\"object\",\"properties\":{"
        "\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]},"
        "\"titledSingle\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"value1\",\"title\":\"First "
        "Option\"},{\"const\":\"value2\",\"title\":\"Second Option\"},{\"const\":\"value3\","
        "\"title\":\"Third Option\"}]},"
        "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],\"enumNames\":["
        "\"Option One\",\"Option Two\",\"Option Three\"]},"
        "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":["
        "\"option1\",\"option2\",\"option3\"]}},"
        "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"value1\","
        "\"title\":\"First Choice\"},{\"const\":\"value2\",\"title\":\"Second Choice\"},{"
        "\"const\":\"value3\",\"title\":\"Third Choice\"}]}}}}");
}

/* --- as of 2026: the question is the answer --- */

static void ask_name(struct mcp_call *call)
{
    const char *name = json_string_value(fixture_told(call, "user_name", "name"));

    if (name)
        fixture_answer(call, "Hello, %s!", name);
    else
        mcp_call_ask(call,
                     json_pack("{s:o}", "user_name",
                               fixture_question("What is your name?", "name", "string")),
                     NULL);
}

static void ask_model(struct mcp_call *call)
{
    if (text_of(call, "capital_question"))
        fixture_answer(call, "The model says: %s", text_of(call, "capital_question"));
    else
        mcp_call_ask(
            call,
            json_pack("{s:o}", "capital_question", sample("What is the capital of France?", 100)),
            NULL);
}

static void ask_roots(struct mcp_call *call)
{
    const json_t *list = json_object_get(json_object_get(call->answers, "client_roots"), "roots");
    cleanup(buf_done) struct buf text = {0};

    buf_init(&text, MIB);
    if (!json_is_array(list)) {
        mcp_call_ask(call, json_pack("{s:o}", "client_roots", roots()), NULL);
        return;
    }
    (void)json_text_dump(list, JSON_TEXT_COMPACT, &text, NULL);
    fixture_answer(call, "Roots: %s", buf_str(&text));
}

static void ask_with_state(struct mcp_call *call)
{
    if (call->state && json_is_boolean(fixture_told(call, "confirm", "ok")))
        mcp_call_answer_text(call, "confirmed, state-ok", false);
    else
        mcp_call_ask(
            call,
            json_pack("{s:o}", "confirm", fixture_question("Please confirm", "ok", "boolean")),
            json_pack("{s:s}", "step", "confirm"));
}

static void ask_three(struct mcp_call *call)
{
    if (call->state && fixture_told(call, "user_name", "name") && text_of(call, "greeting") &&
        json_object_get(call->answers, "client_roots"))
        mcp_call_answer_text(call, "all three are there, state-ok", false);
    else
        mcp_call_ask(call,
                     json_pack("{s:o,s:o,s:o}", "user_name",
                               fixture_question("What is your name?", "name", "string"), "greeting",
                               sample("Generate a greeting", 50), "client_roots", roots()),
                     json_pack("{s:s}", "step", "three"));
}

static void ask_in_rounds(struct mcp_call *call)
{
    const char *name = string_of(call->state, "name");
    const char *told = json_string_value(fixture_told(call, "step1", "name"));
    const char *color = json_string_value(fixture_told(call, "step2", "color"));

    if (*name && color)
        fixture_answer(call, "It is %s, state-ok", color);
    else if (call->state && (told || *name))
        mcp_call_ask(
            call,
            json_pack("{s:o}", "step2",
                      fixture_question("Step 2: What is your favorite color?", "color", "string")),
            json_pack("{s:s}", "name", told ? told : name));
    else
        mcp_call_ask(call,
                     json_pack("{s:o}", "step1",
                               fixture_question("Step 1: What is your name?", "name", "string")),
                     json_pack("{s:s}", "step", "1"));
}

/* Only what the client can be asked for. */
static void ask_what_it_can(struct mcp_call *call)
{
    json_t *requests = json_object();

    if (mcp_call_client_has(call, "sampling"))
        (void)json_object_set_new(requests, "greeting", sample("Generate a greeting", 50));
    if (mcp_call_client_has(call, "elicitation"))
        (void)json_object_set_new(requests, "user_name",
                                  fixture_question("What is your name?", "name", "string"));
    if (call->answers || json_object_size(requests) == 0) {
        json_decref(requests);
        mcp_call_answer_text(call, "done", false);
        return;
    }
    mcp_call_ask(call, requests, NULL);
}

/* clang-format off */
const struct mcp_tool fixture_ask_tools[] = {
    {"test_sampling", .description = "asks the model", .call = sampling,
     .input_json = "{\"type\":\"object\",\"properties\":{\"prompt\":{\"type\":\"string\"}},\"required\":[\"prompt\"]}"},
    {"test_elicitation", .description = "asks the person", .call = elicitation,
     .input_json = "{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"}},\"required\":[\"message\"]}"},
    {"test_elicitation_sep1034_defaults", .description = "asks with defaults", .input_json = NO_INPUT, .call = defaults},
    {"test_elicitation_sep1330_enums", .description = "asks with choices", .input_json = NO_INPUT, .call = enums},
    {"test_streaming_elicitation", .description = "asks on its stream", .input_json = NO_INPUT, .call = ask_name},
    {"test_input_required_result_elicitation", .description = "asks for a name", .input_json = NO_INPUT, .call = ask_name},
    {"test_input_required_result_sampling", .description = "asks the model", .input_json = NO_INPUT, .call = ask_model},
    {"test_input_required_result_list_roots", .description = "asks for roots", .input_json = NO_INPUT, .call = ask_roots},
    {"test_input_required_result_request_state", .description = "asks with state", .input_json = NO_INPUT, .call = ask_with_state},
    {"test_input_required_result_tampered_state", .description = "trusts no state", .input_json = NO_INPUT, .call = ask_with_state},
    {"test_input_required_result_multiple_inputs", .description = "asks three things", .input_json = NO_INPUT, .call = ask_three},
    {"test_input_required_result_multi_round", .description = "asks twice", .input_json = NO_INPUT, .call = ask_in_rounds},
    {"test_input_required_result_capabilities", .description = "asks what it may", .input_json = NO_INPUT, .call = ask_what_it_can},
    {0},
};
/* clang-format on */
