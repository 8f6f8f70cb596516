#include "unit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "cli/setup/jsonc.h"

static const char *const path[] = {"mcpServers", "belljar", NULL};

static json_t *entry(void)
{
    return json_pack("{s:s, s:[s,s]}", "command", "/b", "args", "mcp", "x");
}

/* Puts the entry in, compares, and takes it out again. `again`: what is left, NULL: `before`. */
static void check(const char *before, const char *after, const char *again)
{
    cleanup(buf_done) struct buf out = {0}, back = {0};
    struct error err = {0};
    json_t *value = entry();

    buf_init(&out, MIB);
    buf_init(&back, MIB);
    if (jsonc_put(before, strlen(before), path, value, &out, &err) < 0)
        fail_msg("%s: %s", before, err.message);
    assert_string_equal(buf_str(&out), after);
    if (jsonc_remove(buf_str(&out), out.len, path, &back, &err) < 0)
        fail_msg("%s: %s", after, err.message);
    assert_string_equal(buf_str(&back), again ? again : before);
    /* A second time changes nothing. */
    assert_int_equal(jsonc_put(after, strlen(after), path, value, &out, &err), 0);
    assert_string_equal(buf_str(&out), after);
    json_decref(value);
}

#define ENTRY(i)                                                                                   \
    "\"belljar\": {\n" i i i "\"command\": \"/b\",\n" i i i "\"args\": [\"mcp\", \"x\"]\n" i i "}"
#define SECTION(i) "\"mcpServers\": {\n" i i ENTRY(i) "\n" i "}"

TEST(an_empty_file_becomes_an_object)
{
    check("", "{\n  " SECTION("  ") "\n}\n", "{\n  \"mcpServers\": {}\n}\n");
    check("\xef\xbb\xbf", "\xef\xbb\xbf{\n  " SECTION("  ") "\n}\n",
          "\xef\xbb\xbf{\n  \"mcpServers\": {}\n}\n");
    check("// mine\n", "// mine\n{\n  " SECTION("  ") "\n}\n",
          "// mine\n{\n  \"mcpServers\": {}\n}\n");
    check("{}", "{\n  " SECTION("  ") "\n}", "{\n  \"mcpServers\": {}\n}");
}

TEST(members_of_others_stay)
{
    check("{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"x\": {}\n  }\n}\n",
          "{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"x\": {},\n    " ENTRY("  ") "\n  }\n}\n",
          NULL);
    check("{\n\t\"mcpServers\": {\n\t\t\"x\": 0\n\t}\n}",
          "{\n\t\"mcpServers\": {\n\t\t\"x\": 0,\n\t\t" ENTRY("\t") "\n\t}\n}", NULL);
}

TEST(a_section_that_is_missing_comes_last)
{
    check("{\n    \"a\": \"mcpServers\"\n}\n",
          "{\n    \"a\": \"mcpServers\",\n    " SECTION("    ") "\n}\n",
          "{\n    \"a\": \"mcpServers\",\n    \"mcpServers\": {}\n}\n");
}

TEST(comments_stay_with_what_they_speak_of)
{
    check("{\n  \"mcpServers\": {\n    \"x\": 1 // of x, }\n    // the end\n  } /* s */\n}\n",
          "{\n  \"mcpServers\": {\n    \"x\": 1, // of x, }\n    " ENTRY(
              "  ") "\n    // the end\n  } /* s */\n}\n",
          NULL);
    check("{\n  \"mcpServers\": {\n    // none yet /*\n  }\n}\n",
          "{\n  \"mcpServers\": {\n    // none yet /*\n    " ENTRY("  ") "\n  }\n}\n", NULL);
    check("{\n  \"mcpServers\": {\n    \"x\": 1 /*/ tricky */ /* two\nlines */\n  }\n}\n",
          "{\n  \"mcpServers\": {\n    \"x\": 1, /*/ tricky */ /* two\nlines */\n    " ENTRY(
              "  ") "\n  }\n}\n",
          NULL);
}

TEST(trailing_commas_stay)
{
    check("{\n  \"mcpServers\": {\n    \"x\": 1, // x\n  },\n}\n",
          "{\n  \"mcpServers\": {\n    \"x\": 1, // x\n    " ENTRY("  ") ",\n  },\n}\n", NULL);
}

TEST(one_line_stays_one_line)
{
    check("{\"a\":1,\"mcpServers\":{\"x\":{}}}",
          "{\"a\":1,\"mcpServers\":{\"x\":{}, \"belljar\": {\"command\": \"/b\", \"args\": "
          "[\"mcp\", \"x\"]}}}",
          NULL);
    check("{\"mcpServers\":{}}",
          "{\"mcpServers\":{\"belljar\": {\"command\": \"/b\", \"args\": [\"mcp\", \"x\"]}}}",
          NULL);
}

TEST(line_ends_are_those_of_the_file)
{
    check("{\r\n  \"mcpServers\": {\r\n    \"x\": 1 // x\r\n  }\r\n}\r\n",
          "{\r\n  \"mcpServers\": {\r\n    \"x\": 1, // x\r\n    \"belljar\": {\r\n      "
          "\"command\": \"/b\",\r\n      \"args\": [\"mcp\", \"x\"]\r\n    }\r\n  }\r\n}\r\n",
          NULL);
}

TEST(an_escaped_key_is_the_same_key)
{
    check(
        "{\"mcp\\u0053ervers\": {\"a\": 1}}",
        "{\"mcp\\u0053ervers\": {\"a\": 1, \"belljar\": {\"command\": \"/b\", \"args\": [\"mcp\", "
        "\"x\"]}}}",
        NULL);
}

TEST(a_member_in_the_middle_goes_with_its_line)
{
    static const char text[] = "{\n  \"mcpServers\": {\n    \"a\": 1, // a\n    \"belljar\": 2, // "
                               "ours\n    \"b\": 3\n  }\n}";
    cleanup(buf_done) struct buf out = {0};
    struct error err = {0};

    buf_init(&out, MIB);
    assert_int_equal(jsonc_remove(text, strlen(text), path, &out, &err), 0);
    assert_string_equal(
        buf_str(&out),
        "{\n  \"mcpServers\": {\n    \"a\": 1, // a\n     // ours\n    \"b\": 3\n  }\n}");
}

TEST(a_value_is_replaced_in_its_place)
{
    static const char *const key[] = {"s", "b", "command", NULL};
    static const char text[] =
        "{\n  \"s\": {\n    \"b\": {\"command\": \"old\", \"env\": {}} // b\n  }\n}";
    cleanup(buf_done) struct buf out = {0};
    struct error err = {0};
    json_t *value = json_string("new");

    buf_init(&out, MIB);
    assert_int_equal(jsonc_put(text, strlen(text), key, value, &out, &err), 0);
    assert_string_equal(
        buf_str(&out),
        "{\n  \"s\": {\n    \"b\": {\"command\": \"new\", \"env\": {}} // b\n  }\n}");
    json_decref(value);
}

TEST(values_are_read_without_comments)
{
    static const char text[] =
        "{\"mcpServers\": {\"belljar\": {\"a\": [1, /* , */ 2,], // }\n}, }}";
    struct error err = {0};
    json_t *value = NULL, *wanted = json_pack("{s:[i,i]}", "a", 1, 2);

    assert_int_equal(jsonc_get(text, strlen(text), path, &value, &err), 0);
    assert_true(json_equal(value, wanted));
    json_decref(value);
    json_decref(wanted);
    assert_int_equal(jsonc_get("[]", 2, path, &value, &err), 0);
    assert_null(value);
}

TEST(what_cannot_be_read_is_refused_with_its_line)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"{", "line 1: the text ends"},
        {"{\n\"a\" 1}", "line 2"},
        {"{} x", "expected the end"},
        {"{\"a\": 01}", "comma or a closing brace"},
        {"{\"a\": \"\\x\"}", "escapes"},
        {"{\"a\": \"\n\"}", "the end of a string"},
        {"{\"a\": .5}", "a value"},
        {"{,}", "a string"},
        {"{'a': 1}", "a string in double quotes"},
        {"{} /* x", "has no end"},
        {"\xff{}", "UTF-8"},
        {"{\"mcpServers\": {}, \"mcpServers\": {}}", "twice"},
        {"{\"mcpServers\": []}", "`mcpServers` is not an obj"},
        {"[]", "the whole is not an object"},
    };
    cleanup(buf_done) struct buf out = {0};
    json_t *value = entry();

    buf_init(&out, MIB);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = {0};

        assert_true(jsonc_put(cases[i].text, strlen(cases[i].text), path, value, &out, &err) < 0);
        assert_error(&err, E_INVALID, cases[i].part);
    }
    json_decref(value);
}

TEST(depth_has_a_bound)
{
    char deep[4 * JSONC_DEPTH_MAX];
    struct error err = {0};

    memset(deep, '[', sizeof(deep));
    assert_true(jsonc_check(deep, sizeof(deep), &err) < 0);
    assert_error(&err, E_INVALID, "nested");
}

UNIT_MAIN()
