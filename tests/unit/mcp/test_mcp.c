#include "unit.h"

#include "base/json.h"
#include "mcp_scene.h"

#define META_PLAIN                                                                                 \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                  \
    "\"io.modelcontextprotocol/clientCapabilities\":{}"
#define META_ABLE                                                                                  \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                  \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{},"                          \
    "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"

static int setup(void **state)
{
    static struct mcp_scene scene;

    *state = &scene;
    return mcp_scene_open(&scene);
}

static int teardown(void **state)
{
    mcp_scene_close(*state);
    return 0;
}

/* Says it and returns the last thing that came, lent. */
static const json_t *say(struct mcp_scene *scene, const char *text)
{
    mcp_scene_say(scene, text, strlen(text));
    return json_array_get(scene->sent, json_array_size(scene->sent) - 1);
}

static int code_of(const json_t *answer)
{
    return (int)json_integer_value(json_object_get(json_object_get(answer, "error"), "code"));
}

static const json_t *result_of(const json_t *answer)
{
    const json_t *result = json_object_get(answer, "result");

    assert_non_null(result);
    return result;
}

static const char *text_of(const json_t *answer)
{
    const json_t *block = json_array_get(json_object_get(result_of(answer), "content"), 0);

    return json_string_value(json_object_get(block, "text"));
}

static const char *string_in(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void initialize(struct mcp_scene *scene, const char *version)
{
    char text[300];

    (void)snprintf(text, sizeof(text),
                   "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                   "\"protocolVersion\":\"%s\",\"capabilities\":{\"elicitation\":{}}}}",
                   version);
    assert_non_null(result_of(say(scene, text)));
    say(scene, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

TEST_WITH(a_message_is_sorted_by_its_claim_and_by_its_header, setup, teardown)
{
    /* clang-format off */
    static const struct {
        const char *text, *version;
        enum mcp_era era;
        enum mcp_kind kind;
    } rows[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}", NULL, MCP_LEGACY, MCP_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}", NULL, MCP_LEGACY, MCP_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}", "2025-06-18", MCP_LEGACY, MCP_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}", "2026-07-28", MCP_MODERN, MCP_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}", "nonsense", MCP_LEGACY, MCP_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"_meta\":{" META_PLAIN "}}}",
         NULL, MCP_MODERN, MCP_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"_meta\":{"
         "\"io.modelcontextprotocol/protocolVersion\":null}}}",
         NULL, MCP_MODERN, MCP_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", "2026-07-28", MCP_MODERN, MCP_NOTIFICATION},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", "2026-07-28", MCP_LEGACY, MCP_RESPONSE},
        {"[]", "2026-07-28", MCP_LEGACY, MCP_BATCH},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}", NULL, MCP_LEGACY, MCP_NOTHING},
        {"{\"jsonrpc\":\"2.0\",\"id\":1}", NULL, MCP_LEGACY, MCP_NOTHING},
        {"5", NULL, MCP_LEGACY, MCP_NOTHING},
    };
    /* clang-format on */

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *answer = NULL, *message = mcp_load(rows[i].text, strlen(rows[i].text), &answer);
        struct span version = {rows[i].version, rows[i].version ? strlen(rows[i].version) : 0};
        struct mcp_sorted sorted;

        assert_non_null(message);
        mcp_sort(message, version, &sorted);
        assert_int_equal(sorted.era, rows[i].era);
        assert_int_equal(sorted.kind, rows[i].kind);
        json_decref(message);
    }
}

TEST_WITH(errors_have_the_status_of_their_era, setup, teardown)
{
    struct mcp_scene *scene = *state;

    assert_int_equal(code_of(say(scene, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}")),
                     -32601);
    assert_int_equal(scene->status, 200);
    assert_int_equal(
        code_of(say(scene, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{"
                           "\"_meta\":{" META_PLAIN "}}}")),
        -32601);
    assert_int_equal(scene->status, 404);
    assert_int_equal(
        code_of(say(scene, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\","
                           "\"params\":{\"_meta\":{"
                           "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}")),
        -32602);
    assert_int_equal(scene->status, 400);
    say(scene, "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}");
    assert_int_equal(scene->status, 202);
    assert_int_equal(scene->n_open, 0);
}

TEST_WITH(headers_must_say_what_the_body_says, setup, teardown)
{
    /* clang-format off */
    static const struct {
        const char *headers;
        int code;
    } rows[] = {
        {"{\"mcp-protocol-version\":\"2026-07-28\",\"mcp-method\":\"tools/call\",\"mcp-name\":\"echo\"}", 0},
        {"{\"mcp-protocol-version\":\"2026-07-28\",\"mcp-method\":\"tools/call\","
         "\"mcp-name\":\"=?base64?ZWNobw==?=\"}", 0},
        {"{\"mcp-protocol-version\":\"2026-07-28\",\"mcp-method\":\"tools/call\","
         "\"mcp-name\":\"=?base64?ZWNobw?=\"}", -32020},
        {"{\"mcp-protocol-version\":\"2026-07-28\",\"mcp-method\":\"tools/call\",\"mcp-name\":\"Echo\"}", -32020},
        {"{\"mcp-protocol-version\":\"2026-07-28\",\"mcp-method\":\"tools/call\"}", -32020},
        {"{\"mcp-protocol-version\":\"2026-07-28\",\"mcp-method\":\"tools/list\",\"mcp-name\":\"echo\"}", -32020},
        {"{\"mcp-protocol-version\":\"2025-11-25\",\"mcp-method\":\"tools/call\",\"mcp-name\":\"echo\"}", -32020},
        {"{\"mcp-method\":\"tools/call\",\"mcp-name\":\"echo\"}", -32020},
    };
    /* clang-format on */
    struct mcp_scene *scene = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_decref(scene->headers);
        scene->headers = json_loads(rows[i].headers, 0, NULL);
        assert_int_equal(
            code_of(say(scene, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                               "\"params\":{\"name\":\"echo\",\"arguments\":{"
                               "\"text\":\"hi\"},\"_meta\":{" META_PLAIN "}}}")),
            rows[i].code);
        assert_int_equal(scene->status, rows[i].code ? 400 : 200);
    }
}

TEST_WITH(headers_of_arguments_are_compared_as_well, setup, teardown)
{
    static const char *const call = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                                    "\"params\":{\"name\":\"marked\",\"arguments\":{"
                                    "\"text\":\"hi\"},\"_meta\":{" META_PLAIN "}}}";
    struct mcp_scene *scene = *state;

    scene->headers = json_pack("{s:s, s:s, s:s}", "mcp-protocol-version", "2026-07-28",
                               "mcp-method", "tools/call", "mcp-name", "marked");
    assert_int_equal(code_of(say(scene, call)), -32020);
    (void)json_object_set_new(scene->headers, "mcp-param-text", json_string("ho"));
    assert_int_equal(code_of(say(scene, call)), -32020);
    (void)json_object_set_new(scene->headers, "mcp-param-text", json_string("hi"));
    assert_string_equal(text_of(say(scene, call)), "hi");
}

TEST_WITH(initialize_under_a_modern_header_is_a_mismatch, setup, teardown)
{
    struct mcp_scene *scene = *state;

    scene->headers = json_pack("{s:s}", "mcp-protocol-version", "2026-07-28");
    assert_int_equal(code_of(say(scene, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","
                                        "\"params\":{\"protocolVersion\":\"2025-11-25\"}}")),
                     -32020);
    assert_int_equal(
        code_of(say(scene, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}")), -32602);
    assert_int_equal(scene->status, 400);
    (void)json_object_set_new(scene->headers, "mcp-protocol-version", json_string("1999-01-01"));
    assert_int_equal(
        code_of(say(scene, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}")), -32600);
    assert_int_equal(scene->status, 400);
}

TEST_WITH(a_cancelled_call_is_told_and_not_answered, setup, teardown)
{
    struct mcp_scene *scene = *state;
    size_t before;

    initialize(scene, "2025-11-25");
    say(scene, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
               "\"name\":\"park\",\"_meta\":{\"progressToken\":0}}}");
    assert_non_null(scene->parked);
    before = json_array_size(scene->sent);
    say(scene, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
               "\"requestId\":\"1\"}}");
    assert_int_equal(scene->n_cancelled, 0); /* that was a string */
    say(scene, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
               "\"requestId\":1}}");
    assert_int_equal(scene->n_cancelled, 1);
    assert_int_equal(scene->n_open, 0);
    assert_int_equal(json_array_size(scene->sent), before);
}

TEST_WITH(a_stream_that_is_closed_cancels_its_call, setup, teardown)
{
    struct mcp_scene *scene = *state;

    say(scene, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
               "\"name\":\"park\",\"_meta\":{" META_PLAIN "}}}");
    mcp_scene_leave(scene);
    assert_int_equal(scene->n_cancelled, 1);
}

TEST_WITH(progress_grows_and_logs_wait_to_be_asked_for, setup, teardown)
{
    struct mcp_scene *scene = *state;
    double last = -1;
    size_t count = 0;
    const json_t *message;
    size_t i;

    say(scene, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
               "\"name\":\"park\",\"_meta\":{" META_PLAIN ",\"progressToken\":0}}}");
    mcp_call_progress(scene->parked, 5, 10, NULL, 0);
    mcp_call_progress(scene->parked, 5, 10, NULL, 0);
    mcp_call_progress(scene->parked, 3, 10, NULL, 0);
    mcp_call_progress(scene->parked, 10, 10, NULL, 0);
    json_array_foreach(scene->sent, i, message)
    {
        const json_t *params = json_object_get(message, "params");

        assert_string_equal(string_in(message, "method"), "notifications/progress");
        assert_true(json_number_value(json_object_get(params, "progress")) > last);
        assert_true(json_is_integer(json_object_get(params, "progressToken")));
        last = json_number_value(json_object_get(params, "progress"));
        count++;
    }
    assert_int_equal(count, 5);
}

TEST_WITH(a_question_is_a_request_to_old_clients, setup, teardown)
{
    struct mcp_scene *scene = *state;
    const json_t *question;

    initialize(scene, "2025-11-25");
    question = say(scene, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                          "\"name\":\"ask\"}}");
    assert_string_equal(string_in(question, "method"), "elicitation/create");
    assert_string_equal(string_in(question, "id"), "belljar-1");
    say(scene, "{\"jsonrpc\":\"2.0\",\"id\":\"belljar-2\",\"result\":{}}");
    assert_int_equal(scene->n_open, 1);
    assert_string_equal(
        text_of(say(scene, "{\"jsonrpc\":\"2.0\",\"id\":\"belljar-1\",\"result\":{"
                           "\"action\":\"accept\",\"content\":{\"name\":\"Ann\"}}}")),
        "Ann, round 1");
    assert_int_equal(scene->n_open, 0);
}

/* The state that the server gave, to be sent back. */
static char *state_from(struct mcp_scene *scene, const char *tool)
{
    const json_t *result;
    char text[600];

    (void)snprintf(text, sizeof(text),
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                   "\"name\":\"%s\",\"_meta\":{" META_ABLE "}}}",
                   tool);
    result = result_of(say(scene, text));
    assert_string_equal(string_in(result, "resultType"), "input_required");
    assert_non_null(json_object_get(json_object_get(result, "inputRequests"), "name"));
    return strdup(string_in(result, "requestState"));
}

static const json_t *answer_with(struct mcp_scene *scene, const char *sealed)
{
    char text[2000];

    (void)snprintf(text, sizeof(text),
                   "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{"
                   "\"name\":\"ask\",\"requestState\":\"%s\",\"inputResponses\":{\"name\":{"
                   "\"content\":{\"name\":\"Ann\"}}},\"_meta\":{" META_ABLE "}}}",
                   sealed);
    return say(scene, text);
}

TEST_WITH(a_question_is_a_result_to_new_ones, setup, teardown)
{
    struct mcp_scene *scene = *state;
    char *sealed = state_from(scene, "ask");

    assert_string_equal(text_of(answer_with(scene, sealed)), "Ann, round 1");
    for (size_t i = 0; sealed[i]; i++) { /* no byte of it can be another */
        char was = sealed[i];

        sealed[i] = was == 'a' ? 'b' : 'a';
        assert_int_equal(code_of(answer_with(scene, sealed)), -32602);
        sealed[i] = was;
    }
    assert_int_equal(code_of(answer_with(scene, "")), -32602);
    free(sealed);
}

TEST_WITH(who_cannot_be_asked_is_told_what_is_missing, setup, teardown)
{
    struct mcp_scene *scene = *state;
    const json_t *answer = say(scene, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                                      "\"params\":{\"name\":\"ask\",\"_meta\":{" META_PLAIN "}}}");
    const json_t *data = json_object_get(json_object_get(answer, "error"), "data");

    assert_int_equal(code_of(answer), -32021);
    assert_int_equal(scene->status, 400);
    assert_non_null(json_object_get(json_object_get(data, "requiredCapabilities"), "elicitation"));
}

TEST_WITH(a_task_asks_and_is_answered, setup, teardown)
{
    struct mcp_scene *scene = *state;
    const json_t *result =
        result_of(say(scene, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                             "\"params\":{\"name\":\"task\",\"_meta\":{" META_ABLE "}}}"));
    char id[40], get[400], update[500];

    assert_string_equal(string_in(result, "resultType"), "task");
    assert_int_equal(scene->n_open, 0);
    (void)snprintf(id, sizeof(id), "%s", string_in(result, "taskId"));
    (void)snprintf(get, sizeof(get),
                   "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tasks/get\",\"params\":{"
                   "\"taskId\":\"%s\",\"_meta\":{" META_ABLE "}}}",
                   id);
    result = result_of(say(scene, get));
    assert_string_equal(string_in(result, "status"), "input_required");
    assert_string_equal(string_in(result, "resultType"), "complete");
    (void)snprintf(update, sizeof(update),
                   "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tasks/update\",\"params\":{"
                   "\"taskId\":\"%s\",\"inputResponses\":{\"other\":{},\"name\":{\"content\":{"
                   "\"name\":\"Ann\"}}},\"_meta\":{" META_ABLE "}}}",
                   id);
    assert_non_null(result_of(say(scene, update)));
    result = result_of(say(scene, get));
    assert_string_equal(string_in(result, "status"), "completed");
    assert_non_null(json_object_get(json_object_get(result, "result"), "content"));
}

TEST_WITH(what_must_be_a_task_needs_who_takes_them, setup, teardown)
{
    struct mcp_scene *scene = *state;

    assert_int_equal(
        code_of(say(scene, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                           "\"params\":{\"name\":\"task\",\"_meta\":{" META_PLAIN "}}}")),
        -32021);
}

#define MAKE_TASK                                                                                  \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","                                     \
    "\"params\":{\"name\":\"task\",\"_meta\":{" META_ABLE "}}}"

TEST_WITH(nobody_has_all_tasks_and_who_is_forgotten_has_none, setup, teardown)
{
    struct mcp_scene *scene = *state;
    char id[40], get[400];

    for (int i = 0; i < 128; i++)
        (void)snprintf(id, sizeof(id), "%s", string_in(result_of(say(scene, MAKE_TASK)), "taskId"));
    (void)snprintf(get, sizeof(get),
                   "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tasks/get\",\"params\":{"
                   "\"taskId\":\"%s\",\"_meta\":{" META_ABLE "}}}",
                   id);
    assert_int_equal(code_of(say(scene, MAKE_TASK)), -32603);
    assert_int_equal(scene->n_open, 0);
    mcp_server_forget(scene->server, "somebody else");
    assert_non_null(result_of(say(scene, get)));
    mcp_server_forget(scene->server, "someone");
    assert_int_equal(code_of(say(scene, get)), -32602);
    assert_non_null(result_of(say(scene, MAKE_TASK)));
}

TEST_WITH(a_cancelled_subscription_leaves_no_exchange, setup, teardown)
{
    struct mcp_scene *scene = *state;

    say(scene, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"subscriptions/listen\",\"params\":{"
               "\"notifications\":{},\"_meta\":{" META_PLAIN "}}}");
    assert_int_equal(scene->n_open, 1);
    say(scene, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
               "\"requestId\":9}}");
    assert_int_equal(scene->n_open, 0);
}

/* Says `head`, so many letters, and `tail`. */
static const json_t *say_long(struct mcp_scene *scene, const char *head, size_t len,
                              const char *tail)
{
    char *text = calloc(1, strlen(head) + len + strlen(tail) + 1);
    const json_t *answer;

    assert_non_null(text);
    memcpy(text, head, strlen(head));
    memset(text + strlen(head), 'a', len);
    memcpy(text + strlen(head) + len, tail, strlen(tail));
    answer = say(scene, text);
    free(text);
    return answer;
}

TEST_WITH(an_address_that_is_watched_is_no_longer_than_any_is, setup, teardown)
{
    static const char subscribe[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
                                    "\"resources/subscribe\",\"params\":{\"uri\":\"";
    static const char open[] = "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"subscriptions/listen\","
                               "\"params\":{\"_meta\":{" META_PLAIN "},\"notifications\":{"
                               "\"resourceSubscriptions\":[\"scene://fixed\",\"";
    struct mcp_scene *scene = *state;
    const json_t *agreed;

    initialize(scene, "2025-11-25");
    assert_non_null(result_of(say_long(scene, subscribe, 20000, "\"}}")));
    assert_int_equal(code_of(say_long(scene, subscribe, 30000, "\"}}")), -32602);
    agreed = json_object_get(json_object_get(say_long(scene, open, 30000, "\"]}}}"), "params"),
                             "notifications");
    assert_int_equal(json_array_size(json_object_get(agreed, "resourceSubscriptions")), 1);
}

TEST_WITH(a_subscription_ends_with_the_server, setup, teardown)
{
    struct mcp_scene *scene = *state;
    const json_t *last;

    say(scene, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"subscriptions/listen\",\"params\":{"
               "\"notifications\":{\"toolsListChanged\":true},\"_meta\":{" META_PLAIN "}}}");
    mcp_server_changed(scene->server, MCP_PROMPTS);
    assert_int_equal(json_array_size(scene->sent), 1); /* the acknowledgement */
    mcp_server_changed(scene->server, MCP_TOOLS);
    assert_int_equal(json_array_size(scene->sent), 2);
    assert_int_equal(scene->n_open, 1);
    mcp_server_stop(scene->server);
    assert_int_equal(scene->n_open, 0);
    last = json_array_get(scene->sent, 2);
    assert_int_equal(json_integer_value(json_object_get(last, "id")), 9);
    assert_string_equal(string_in(result_of(last), "resultType"), "complete");
}

TEST_WITH(arguments_are_checked_and_other_names_taken, setup, teardown)
{
    struct mcp_scene *scene = *state;

    initialize(scene, "2025-11-25");
    assert_string_equal(
        text_of(say(scene, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                           "\"params\":{\"name\":\"echo\",\"arguments\":{"
                           "\"content\":\"hi\",\"loud\":null}}}")),
        "hi");
    assert_string_equal(
        text_of(say(scene, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                           "\"params\":{\"name\":\"echo\",\"arguments\":{"
                           "\"text\":5}}}")),
        "error (invalid): `text`: read 5, expected a string\n"
        "hint: for example \"text\": \"hi\"");
    assert_string_equal(
        text_of(say(scene, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                           "\"params\":{\"name\":\"echo\"}}")),
        "error (invalid): the field `text` is missing\n"
        "hint: for example \"text\": \"hi\"");
}

TEST_WITH(completions_are_a_hundred_at_most, setup, teardown)
{
    struct mcp_scene *scene = *state;
    const json_t *found = json_object_get(
        result_of(say(scene, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"completion/complete\","
                             "\"params\":{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"greet\"},"
                             "\"argument\":{\"name\":\"who\",\"value\":\"a\"}}}")),
        "completion");

    assert_int_equal(json_array_size(json_object_get(found, "values")), 100);
    assert_int_equal(json_integer_value(json_object_get(found, "total")), 150);
    assert_true(json_is_true(json_object_get(found, "hasMore")));
}

TEST_WITH(a_batch_whose_peer_goes_leaves_nothing, setup, teardown)
{
    struct mcp_scene *scene = *state;

    initialize(scene, "2025-03-26");
    say(scene, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
               "\"name\":\"park\"}},{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}]");
    assert_int_equal(scene->n_open, 1);
}

UNIT_MAIN()
