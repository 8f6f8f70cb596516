#include "unit.h"

#include "api/schema.h"
#include "base/json.h"

static const struct schema_field file_fields[] = {
    {"path", SCHEMA_STRING, .is_required = true, .max_len = 8, .help = "where"},
    {0},
};

static const struct schema_field fields[] = {
    {"code", SCHEMA_STRING, .is_required = true, .max_len = 50, .help = "the program"},
    {"language", SCHEMA_STRING, .choices = "python,bash", .help = "of it"},
    {"timeout_s", SCHEMA_NUMBER, .min = 1, .max = 300, .help = "seconds"},
    {"pids", SCHEMA_INTEGER, .min = 1, .max = 64, .help = "processes"},
    {"quiet", SCHEMA_BOOLEAN, .help = "or not"},
    {"collect", SCHEMA_STRINGS, .max_len = 2, .help = "patterns"},
    {"env", SCHEMA_MAP, .max_len = 2, .help = "variables"},
    {"files", SCHEMA_OBJECTS, .max_len = 2, .items = file_fields, .help = "that come along"},
    {0},
};

static int check(const char *text, struct error *err)
{
    const struct json_text_limits limits = {.bytes = 10000, .depth = 16};
    json_t *value = NULL;
    int r;

    assert_int_equal(json_text_load(text, strlen(text), &limits, &value, err), 0);
    r = schema_check(fields, value, err);
    json_decref(value);
    return r;
}

TEST(good_bodies_pass)
{
    static const char *const good[] = {
        "{\"code\":\"x\"}",
        "{\"code\":\"\",\"language\":\"bash\",\"timeout_s\":1,\"pids\":64,\"quiet\":false}",
        "{\"code\":\"x\",\"timeout_s\":0.1e1,\"collect\":[],\"env\":{},\"files\":[]}",
        ("{\"code\":\"x\",\"collect\":[\"*\",\"a\"],\"env\":{\"A\":\"b\"},"
         "\"files\":[{\"path\":\"a\"}]}"),
    };
    struct error err = {0};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (check(good[i], &err) < 0)
            fail_msg("%s: %s", good[i], err.message);
}

/* clang-format off */
static const struct {
    const char *text, *message;
} bad[] = {
    {"{}",                                  "the field `code` is missing"},
    {"{\"code\":null}",                     "`code`: read null, expected a string of at most 50 bytes"},
    {"{\"code\":5}",                        "`code`: read 5, expected a string of at most 50 bytes"},
    {"{\"code\":[]}",                       "`code`: read an array, expected a string of at most 50 bytes"},
    {"{\"code\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}",
                                            "`code`: read a string of 51 bytes, expected a string of at most 50 bytes"},
    {"{\"code\":\"x\",\"language\":\"perl\"}", "`language`: read \"perl\", expected one of python, bash"},
    {"{\"code\":\"x\",\"language\":\"\"}",  "`language`: read \"\", expected one of python, bash"},
    {"{\"code\":\"x\",\"language\":\"pyth\"}", "`language`: read \"pyth\", expected one of python, bash"},
    {"{\"code\":\"x\",\"language\":\"python,bash\"}", "`language`: read \"python,bash\", expected one of python, bash"},
    {"{\"code\":\"x\",\"timeout_s\":0}",    "`timeout_s`: read 0, expected a number from 1 to 300"},
    {"{\"code\":\"x\",\"timeout_s\":300.1}","`timeout_s`: read 300.1, expected a number from 1 to 300"},
    {"{\"code\":\"x\",\"timeout_s\":\"5\"}","`timeout_s`: read \"5\", expected a number from 1 to 300"},
    {"{\"code\":\"x\",\"timeout_s\":1e308}","`timeout_s`: read 1e308, expected a number from 1 to 300"},
    {"{\"code\":\"x\",\"pids\":1.5}",       "`pids`: read 1.5, expected a whole number from 1 to 64"},
    {"{\"code\":\"x\",\"pids\":1.0}",       "`pids`: read 1.0, expected a whole number from 1 to 64"},
    {"{\"code\":\"x\",\"pids\":9223372036854775807}", "`pids`: read 9223372036854775807, expected a whole number from 1 to 64"},
    {"{\"code\":\"x\",\"quiet\":1}",        "`quiet`: read 1, expected true or false"},
    {"{\"code\":\"x\",\"quiet\":\"true\"}", "`quiet`: read \"true\", expected true or false"},
    {"{\"code\":\"x\",\"collect\":\"*\"}",  "`collect`: read \"*\", expected an array of strings, at most 2"},
    {"{\"code\":\"x\",\"collect\":[1]}",    "`collect`: read an array, expected an array of strings, at most 2"},
    {"{\"code\":\"x\",\"collect\":[\"\",\"\",\"\"]}", "`collect`: read an array, expected an array of strings, at most 2"},
    {"{\"code\":\"x\",\"env\":{\"A\":1}}",  "`env`: read an object, expected an object of strings, at most 2"},
    {"{\"code\":\"x\",\"env\":[]}",         "`env`: read an array, expected an object of strings, at most 2"},
    {"{\"code\":\"x\",\"files\":[{}]}",     "`files[0]`: the field `path` is missing"},
    {"{\"code\":\"x\",\"files\":[{\"path\":\"a\"},{\"path\":\"a\",\"b\":1}]}", "`files[1]`: unknown field `b`"},
    {"{\"code\":\"x\",\"files\":[5]}",      "`files`: read an array, expected an array of objects, at most 2"},
    {"{\"code\":\"x\",\"tiemout_s\":5}",    "unknown field `tiemout_s`"},
    {"{\"code\":\"x\",\"\":5}",             "unknown field ``"},
    {"{\"code\":\"x\",\"a\\nb\":5}",       "unknown field `a\\nb`"},
};
/* clang-format on */

TEST(each_mistake_is_named)
{
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct error err = {0};

        assert_true(check(bad[i].text, &err) < 0);
        assert_int_equal(err.code, E_INVALID);
        assert_string_equal(err.message, bad[i].message);
        error_done(&err);
    }
}

TEST(the_nearest_field_is_suggested)
{
    struct error err = {0};

    assert_true(check("{\"code\":\"x\",\"tiemout_s\":5}", &err) < 0);
    assert_string_equal(err.hint, "did you mean `timeout_s`?");
    error_done(&err);
    assert_true(check("{\"code\":\"x\",\"zzzzzzzz\":5}", &err) < 0);
    assert_contains(err.hint, "known are code, language");
    error_done(&err);
}

static const struct schema_field query_fields[] = {
    {"offset", SCHEMA_INTEGER, .min = 0, .max = 100, .help = "where"},
    {"deep", SCHEMA_BOOLEAN, .help = "or not"},
    {"part", SCHEMA_NUMBER, .help = "of it"},
    {"after", SCHEMA_STRING, .help = "this one"},
    {0},
};

static int query(const struct schema_field *table, const char *text, json_t **ret_value,
                 struct error *err)
{
    return schema_read_query(table, (struct span){text, strlen(text)}, ret_value, err);
}

TEST(a_query_is_an_object)
{
    struct error err = {0};
    json_t *value = NULL;

    assert_int_equal(
        query(query_fields, "offset=7&deep=true&&part=0.5&after=a%2Fb+c", &value, &err), 0);
    assert_int_equal(json_integer_value(json_object_get(value, "offset")), 7);
    assert_true(json_is_true(json_object_get(value, "deep")));
    assert_true(json_number_value(json_object_get(value, "part")) == 0.5);
    assert_string_equal(json_string_value(json_object_get(value, "after")), "a/b c");
    json_decref(value);
    assert_int_equal(query(NULL, "", &value, &err), 0);
    assert_int_equal(json_object_size(value), 0);
    json_decref(value);
}

TEST(bad_queries_are_refused)
{
    static const char *const texts[] = {"offset=",    "offset=x",  "offset=101",
                                        "offset=1e1", "offset=-1", "offset=99999999999999999999",
                                        "deep=yes",   "deep",      "offset=1&offset=1",
                                        "after=%ff",  "x=1",       "=1",
                                        "part=nan",   "part=1x"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct error err = {0};
        json_t *value = NULL;

        if (query(query_fields, texts[i], &value, &err) == 0)
            fail_msg("accepted: %s", texts[i]);
        assert_int_equal(err.code, E_INVALID);
        assert_null(value);
        error_done(&err);
    }
}

TEST(the_table_is_a_json_schema)
{
    json_t *schema = schema_json(fields);
    json_t *properties = json_object_get(schema, "properties");

    assert_int_equal(json_object_size(properties), 8);
    assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
    assert_string_equal(json_string_value(json_array_get(json_object_get(schema, "required"), 0)),
                        "code");
    assert_int_equal(
        json_array_size(json_object_get(json_object_get(properties, "language"), "enum")), 2);
    json_decref(schema);
}

UNIT_MAIN()
