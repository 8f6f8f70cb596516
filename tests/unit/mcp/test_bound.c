/* Tests of the bounds of tool answers: the count of tokens, cutting, stored answers, hints. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/spool.h"
#include "mcp/internal.h"

/* --- tokens --- */

static size_t tokens(const char *text)
{
    return mcp_tokens(text, strlen(text), 100000);
}

TEST(tokens_are_rather_too_many_than_too_few)
{
    static const struct {
        const char *text;
        size_t least, most; /* least: what o200k_base counts */
    } cases[] = {
        {"", 0, 0},
        {"hello", 1, 1},
        {"hello world", 2, 3},
        {"for item in range(10):\n    print(item)\n", 12, 24},
        {"1234567890", 4, 4},
        {"{\"a\": 1, \"b\": [true, null]}", 14, 28},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_true(tokens(cases[i].text) >= cases[i].least);
        assert_true(tokens(cases[i].text) <= cases[i].most);
    }
}

TEST(a_text_that_does_not_fit_counts_as_more_than_the_bound)
{
    char noise[4000];

    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (char)("aZ9+"[i % 4]);
    assert_int_equal(mcp_tokens(noise, sizeof(noise), 50), 51);
    assert_true(mcp_tokens(noise, sizeof(noise), 100000) > 1000);
    assert_int_equal(mcp_tokens("x", 1, 0), 1);
}

TEST(what_fits_ends_between_characters)
{
    const char *text = "ä€😀ä€😀ä€😀";
    size_t len = strlen(text);

    for (size_t budget = 0; budget < 20; budget++) {
        size_t spent, at = mcp_tokens_fit(text, len, budget, &spent);

        assert_true(at <= len && spent <= budget);
        assert_true(at == len || ((unsigned char)text[at] & 0xc0) != 0x80);
    }
    assert_int_equal(mcp_tokens_fit(text, len, SIZE_MAX, NULL), len);
}

TEST(bytes_that_are_no_text_are_counted_and_cut_as_well)
{
    char bytes[512];

    memset(bytes, 0x80, sizeof(bytes)); /* never the beginning of a character */
    assert_true(mcp_tokens_fit(bytes, sizeof(bytes), 5, NULL) <= sizeof(bytes));
    memset(bytes, 1, sizeof(bytes));
    assert_true(mcp_tokens(bytes, sizeof(bytes), 100000) >= sizeof(bytes));
}

/* --- cutting --- */

TEST(a_cut_keeps_the_beginning_and_the_end_in_whole_lines)
{
    cleanup(buf_done) struct buf text = {0};
    size_t head, tail;

    buf_init(&text, MIB);
    for (int i = 0; i < 2000; i++)
        (void)buf_printf(&text, NULL, "line %d of them\n", i);
    mcp_cut(buf_str(&text), text.len, 300, &head, &tail);
    assert_true(head > 0 && head < tail && tail < text.len);
    assert_int_equal(text.data[head - 1], '\n');
    assert_int_equal(text.data[tail - 1], '\n');
    assert_true(mcp_tokens(buf_str(&text), head, 1000) +
                    mcp_tokens(buf_str(&text) + tail, text.len - tail, 1000) <=
                300);
    assert_true(head > text.len - tail); /* the beginning says what happened */
}

TEST(a_cut_of_one_endless_line_is_a_cut_too)
{
    char *text = malloc(MIB);
    size_t head, tail;

    assert_non_null(text);
    memset(text, 'x', MIB);
    for (size_t budget = 0; budget < 200; budget += 50) {
        mcp_cut(text, MIB, budget, &head, &tail);
        assert_true(head <= tail && tail <= MIB);
        assert_true(head + (MIB - tail) < 20 * (budget + 1));
    }
    mcp_cut("", 0, 100, &head, &tail);
    assert_int_equal(head + tail, 0);
    free(text);
}

TEST(structured_content_keeps_its_shape)
{
    json_t *value = json_object(), *list = json_array(), *cut;
    cleanup_free char *text = NULL;

    for (int i = 0; i < 5000; i++)
        (void)json_array_append_new(list, json_sprintf("item number %d", i));
    (void)json_object_set_new(value, "items", list);
    (void)json_object_set_new(value, "name", json_string("stays"));
    (void)json_object_set_new(value, "count", json_integer(5000));
    cut = mcp_shrink(value, 200);
    text = json_dumps(cut, JSON_COMPACT);
    assert_non_null(text);
    assert_true(mcp_tokens(text, strlen(text), 10000) <= 200);
    assert_true(json_is_array(json_object_get(cut, "items")));
    assert_true(json_array_size(json_object_get(cut, "items")) < 5000);
    assert_int_equal(json_integer_value(json_object_get(cut, "count")), 5000);
    assert_string_equal(json_string_value(json_object_get(cut, "name")), "stays");
    json_decref(cut);
    json_decref(value);
}

TEST(words_of_a_client_in_an_error_have_an_end)
{
    char text[5000];
    json_t *cut, *data;

    memset(text, 'x', sizeof(text));
    cut = mcp_bound_string(text, sizeof(text));
    assert_true(json_string_length(cut) < 1100);
    assert_contains(json_string_value(cut), "4000 bytes more");
    json_decref(cut);
    cut = mcp_bound_string("short", 5);
    assert_string_equal(json_string_value(cut), "short");
    json_decref(cut);
    data = mcp_bound_data(json_pack("{s:s%}", "field", text, sizeof(text)));
    assert_true(json_string_length(json_object_get(data, "field")) < 1100);
    json_decref(data);
    assert_null(mcp_bound_data(NULL));
}

/* --- stored answers --- */

TEST(an_answer_is_found_by_its_owner_alone)
{
    struct mcp_server server = {0};
    char id[64];
    const char *given;

    TAILQ_INIT(&server.saved);
    given = mcp_keep(&server, "ann", "text", 4);
    assert_non_null(given);
    (void)snprintf(id, sizeof(id), "%s", given);
    assert_non_null(mcp_saved_answer_find(&server, "ann", id));
    assert_null(mcp_saved_answer_find(&server, "bob", id));
    assert_null(mcp_saved_answer_find(&server, "ann", "ans_unknown"));
    mcp_saved_answers_forget(&server, "bob");
    assert_non_null(mcp_saved_answer_find(&server, "ann", id));
    mcp_saved_answers_forget(&server, "ann");
    assert_null(mcp_saved_answer_find(&server, "ann", id));
    mcp_saved_answers_forget(&server, NULL);
}

TEST(the_oldest_answers_of_an_owner_go_first)
{
    struct mcp_server server = {0};
    char first[64], of_bob[64], last[64] = "";

    TAILQ_INIT(&server.saved);
    (void)snprintf(of_bob, sizeof(of_bob), "%s", mcp_keep(&server, "bob", "his", 3));
    (void)snprintf(first, sizeof(first), "%s", mcp_keep(&server, "ann", "first", 5));
    for (int i = 0; i < 40; i++)
        (void)snprintf(last, sizeof(last), "%s", mcp_keep(&server, "ann", "more", 4));
    assert_null(mcp_saved_answer_find(&server, "ann", first));
    assert_non_null(mcp_saved_answer_find(&server, "ann", last));
    assert_non_null(mcp_saved_answer_find(&server, "bob", of_bob));
    mcp_saved_answers_forget(&server, NULL);
}

/* --- hints --- */

static const char *hint_for(const struct mcp_tool *tool, const char *hint)
{
    static char said[1024];
    struct mcp_call call = {.tool = tool};
    json_t *value = mcp_hint_json(&call, hint);

    (void)snprintf(said, sizeof(said), "%s", json_string_value(value));
    json_decref(value);
    return said;
}

TEST(a_hint_names_only_what_the_tool_has)
{
    static const struct schema_field fields[] = {{"timeout_s", SCHEMA_NUMBER}, {0}};
    static const struct mcp_tool with = {.name = "with", .input = fields}, without = {.name = "no"};

    assert_contains(hint_for(&with, "raise `timeout_s` (`--timeout`), or do less"), "`timeout_s`");
    assert_null(
        strstr(hint_for(&with, "raise `timeout_s` (`--timeout`), or do less"), "--timeout"));
    assert_null(
        strstr(hint_for(&without, "raise `timeout_s` (`--timeout`), or do less"), "timeout_s"));
    assert_null(strstr(hint_for(NULL, "run `belljar doctor`"), "belljar doctor"));
}

UNIT_MAIN()
