#include "unit.h"

#include "base/json.h"
#include "base/limits.h"

static const struct json_text_limits limits = {.bytes = 1000, .depth = 4};

static json_t *load(const char *text, const struct json_text_limits *how)
{
    struct error err = {0};
    json_t *value = NULL;

    if (json_text_load(text, strlen(text), how, &value, &err) < 0)
        fail_msg("%s", err.message);
    return value;
}

static struct error refused(const char *text, size_t len, const struct json_text_limits *how)
{
    struct error err = {0};
    json_t *value = NULL;

    assert_true(json_text_load(text, len, how, &value, &err) < 0);
    assert_null(value);
    return err;
}

static char *dump(const json_t *value)
{
    struct error err = {0};
    struct buf out;

    buf_init(&out, 10000);
    assert_int_equal(json_text_dump(value, JSON_TEXT_COMPACT, &out, &err), 0);
    return out.data;
}

/* Loads and writes again. */
static void expect_same(const char *text)
{
    const struct json_text_limits how = {
        .bytes = 1000, .depth = 9, .allows_nul = true, .allows_scalar = true};
    json_t *value = load(text, &how);
    char *back = dump(value);

    assert_string_equal(back, text);
    free(back);
    json_decref(value);
}

TEST(what_is_read_is_written_the_same)
{
    expect_same("{\"z\":1,\"a\":[true,null,\"é\\n\"]}");
    expect_same("\"a\\u0000b\"");
    expect_same("-5");
}

TEST(numbers_keep_their_value_and_look_plain)
{
    expect_same("[1.9,0.1,1e-7]");
    expect_same("0.30000000000000004");
    expect_same("9007199254740993");
    expect_same("[0,-1,10,-9223372036854775808,9223372036854775807]");
}

TEST(mistakes_have_line_and_column)
{
    struct error err = refused("{\n \"a\": x}", 10, &limits);

    assert_error(&err, E_INVALID, "line 2, column 7 of the JSON: ");
}

TEST(repeated_keys_are_refused)
{
    struct error err = refused("{\"a\":1,\"a\":2}", 13, &limits);

    assert_error(&err, E_INVALID, "duplicate");
}

/* Two bytes of text, and two hundred of memory. */
TEST(a_text_that_grows_is_not_built)
{
    static const char *const units[] = {"[],", "{},", "1,", "\"\",", NULL};
    const struct json_text_limits wide = {.bytes = 8 * MIB, .depth = 4};

    for (size_t i = 0; units[i]; i++) {
        struct error err = {0};
        struct buf text;
        json_t *value;

        buf_init(&text, 8 * MIB);
        assert_return_code(buf_add_str(&text, "[", NULL), 0);
        while (text.len < 7 * MIB)
            assert_return_code(buf_add_str(&text, units[i], NULL), 0);
        assert_return_code(buf_add_str(&text, "1]", NULL), 0);
        assert_int_equal(json_text_load(buf_str(&text), text.len, &wide, &value, &err), -1);
        assert_error(&err, E_TOO_LARGE, "too many values");
        buf_done(&text);
    }
}

TEST(depth_and_size_have_limits)
{
    struct error err;
    char big[1002];
    json_t *value;

    value = load("[[[[]]]]", &limits);
    json_decref(value);
    value = load("[\"[[[[[[[\\\"[[[\"]", &limits); /* brackets in a string are text */
    json_decref(value);
    err = refused("[[[[[]]]]]", 10, &limits);
    assert_error(&err, E_TOO_LARGE, "nested more than 4 levels");
    memset(big, ' ', sizeof(big));
    err = refused(big, 1001, &limits);
    assert_error(&err, E_TOO_LARGE, "read 1001 bytes of JSON, expected at most 1000");
}

TEST(scalars_and_nul_only_where_asked_for)
{
    struct error err;

    err = refused("5", 1, &limits);
    assert_error(&err, E_INVALID, "line 1");
    err = refused("[\"\\u0000\"]", 10, &limits);
    assert_error(&err, E_INVALID, "line 1");
    err = refused("[1]\0", 4, &limits);
    assert_error(&err, E_INVALID, "line 1");
    err = refused("[\"\xff\"]", 5, &limits);
    assert_error(&err, E_INVALID, "line 1");
    err = refused("", 0, &limits);
    assert_error(&err, E_INVALID, "line 1");
}

static void expect_text(const char *bytes, size_t len, const char *expected)
{
    json_t *value = json_text_string(bytes, len);
    char *text;

    assert_non_null(value);
    text = dump(value);
    assert_string_equal(text, expected);
    free(text);
    json_decref(value);
}

TEST(bytes_that_are_not_utf8_are_replaced)
{
    expect_text("ok é", 5, "\"ok é\"");
    expect_text("a\xff\xfe"
                "b",
                4, "\"a\uFFFD\uFFFDb\"");
    expect_text("cut \xe2\x80", 6, "\"cut \uFFFD\"");
    expect_text("\xed\xa0\x80", 3, "\"\uFFFD\uFFFD\uFFFD\"");
    expect_text("", 0, "\"\"");
}

TEST(control_characters_are_escaped)
{
    expect_text("\0\1\033[2J\n", 7, "\"\\u0000\\u0001\\u001B[2J\\n\"");
    expect_text("\x7f", 1, "\"\\u007f\"");
    expect_text("a\xc2\x9b\xc2\xa0z", 6, "\"a\\u009b\xc2\xa0z\"");
    expect_text("\xc2\x80", 2, "\"\\u0080\"");
}

TEST(the_ceiling_of_the_buffer_is_told)
{
    json_t *value = json_string("0123456789");
    struct error err = {0};
    struct buf out;

    buf_init(&out, 5);
    assert_true(json_text_dump(value, JSON_TEXT_COMPACT, &out, &err) < 0);
    assert_error(&err, E_TOO_LARGE, "more than 5 bytes");
    buf_done(&out);
    json_decref(value);
}

/* --- the same bytes as jansson --- */

/* jansson's own text, in which DEL and C1 are not escaped yet. */
static void expect_as_jansson(const json_t *value)
{
    static const enum json_text_style styles[] = {JSON_TEXT_COMPACT, JSON_TEXT_PRETTY};

    for (size_t i = 0; i < 2; i++) {
        bool is_pretty = styles[i] == JSON_TEXT_PRETTY;
        size_t flags = is_pretty ? JSON_INDENT(2) : JSON_COMPACT;
        char *text = json_dumps(value, flags | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
        struct error err = {0};
        struct buf out, expected;

        assert_non_null(text);
        buf_init(&out, MIB);
        buf_init(&expected, MIB);
        for (const char *at = text; *at; at++) {
            if (*at == 0x7f)
                assert_return_code(buf_add_str(&expected, "\\u007f", NULL), 0);
            else if ((unsigned char)at[0] == 0xc2 && (unsigned char)at[1] < 0xa0)
                assert_return_code(
                    buf_printf(&expected, NULL, "\\u%04x", (unsigned)(unsigned char)*++at), 0);
            else
                assert_return_code(buf_add(&expected, at, 1, NULL), 0);
        }
        if (is_pretty)
            assert_return_code(buf_add_str(&expected, "\n", NULL), 0);
        assert_int_equal(json_text_dump(value, styles[i], &out, &err), 0);
        assert_string_equal(buf_str(&out), buf_str(&expected));
        assert_int_equal(out.len, expected.len);
        buf_done(&out);
        buf_done(&expected);
        free(text);
    }
}

TEST(strings_are_escaped_as_jansson_does)
{
    unsigned seed = 1;

    for (unsigned first = 0; first < 256; first++)
        for (unsigned second = 0; second < 256; second++) {
            const char text[] = {'a', (char)first, (char)second, 'z'};
            json_t *value = json_text_string(text, sizeof(text));

            expect_as_jansson(value);
            json_decref(value);
        }
    for (int round = 0; round < 200; round++) {
        char text[3000];
        json_t *value;

        for (size_t i = 0; i < sizeof(text); i++) {
            seed = seed * 1103515245 + 12345;
            text[i] = (char)(seed >> 16 & (round % 2 ? 0xff : 0x3f));
        }
        value = json_text_string(text, sizeof(text));
        expect_as_jansson(value);
        json_decref(value);
    }
}

TEST(trees_are_written_as_jansson_does)
{
    json_t *value =
        json_pack("{s:[],s:{},s:[i,[[]],{s:n,s:b,s:b}],s:{s:[s,s],s:f,s:f,s:I},s:s,s:f}", "empty",
                  "object", "z", -7, "null", "yes", 1, "no", 0, "a\x01\"\\/\x7f\xc2\x85", "x",
                  "\t\x02", "", "real", 0.1 + 0.2, "large", 1e300, "whole",
                  (json_int_t)-9007199254740993, "é", "ü\U0001F600", "small", 1.0000000000000002);

    assert_non_null(value);
    expect_as_jansson(value);
    json_decref(value);
}

TEST(what_cannot_be_written_is_an_error)
{
    json_t *value = json_stringn_nocheck("a\xff", 2);
    struct error err = {0};
    struct buf out;

    buf_init(&out, 100);
    assert_int_equal(json_text_dump(value, JSON_TEXT_COMPACT, &out, &err), -1);
    assert_error(&err, E_SYSTEM, "a string is not UTF-8");
    json_decref(value);

    value = json_array();
    for (int i = 0; i < 3000; i++) {
        json_t *outer = json_array();

        json_array_append_new(outer, value);
        value = outer;
    }
    buf_done(&out);
    buf_init(&out, 10000);
    err = (struct error){0};
    assert_int_equal(json_text_dump(value, JSON_TEXT_COMPACT, &out, &err), -1);
    assert_error(&err, E_SYSTEM, "more than 2048 levels");
    buf_done(&out);
    json_decref(value);
}

UNIT_MAIN()
