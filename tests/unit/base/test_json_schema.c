#include "unit.h"

#include "base/json_schema.h"

static json_t *load(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

    assert_non_null(value);
    return value;
}

TEST(schemas_of_the_part_are_taken_and_others_named)
{
    static const struct {
        const char *schema, *part;
    } cases[] = {
        {"{\"type\": \"string\", \"maxLength\": 3, \"enum\": [\"a\"]}", NULL},
        {"{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"array\", "
         "\"items\": {\"type\": \"number\"}}}, \"required\": [\"a\"]}",
         NULL},
        {"{}", "no `type`"},
        {"[]", "no `type`"},
        {"{\"type\": \"text\"}", "no `type`"},
        {"{\"type\": \"string\", \"pattern\": \"x\"}", "is not supported"},
        {"{\"type\": \"string\", \"maxLength\": \"3\"}", "wrong type"},
        {"{\"type\": \"object\", \"properties\": {\"a\": {\"$ref\": \"#\"}}}", "x.a"},
        {"{\"type\": \"array\", \"items\": {\"type\": \"array\", \"items\": {\"oneOf\": []}}}",
         "no `type`"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        json_t *schema = load(cases[i].schema);
        struct error err = {0};
        int r = json_schema_check(schema, "x", &err);

        assert_int_equal(r < 0, cases[i].part != NULL);
        if (cases[i].part)
            assert_error(&err, E_INVALID, cases[i].part);
        json_decref(schema);
    }
}

TEST(values_are_held_against_it)
{
    static const struct {
        const char *schema, *value, *part;
    } cases[] = {
        {"{\"type\": \"string\", \"minLength\": 2, \"maxLength\": 3}", "\"\u00e4\u00f6\u00fc\"",
         NULL},
        {"{\"type\": \"string\", \"minLength\": 2}", "\"\u00e4\"", "at least 2"},
        {"{\"type\": \"string\"}", "1", "type string"},
        {"{\"type\": \"integer\"}", "2.0", NULL},
        {"{\"type\": \"integer\"}", "2.5", "type integer"},
        {"{\"type\": \"integer\"}", "true", "type integer"},
        {"{\"type\": \"number\", \"minimum\": 0, \"maximum\": 1}", "0.5", NULL},
        {"{\"type\": \"number\", \"maximum\": 1}", "1.5", "at most 1"},
        {"{\"type\": \"boolean\"}", "null", "type boolean"},
        {"{\"type\": \"string\", \"enum\": [\"a\", \"b\"]}", "\"c\"", "allowed values"},
        {"{\"type\": \"array\", \"maxItems\": 1}", "[1, 2]", "at most 1"},
        {"{\"type\": \"array\", \"items\": {\"type\": \"string\"}}", "[\"a\", 2]", "x.1"},
        {"{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\"}}, \"required\": "
         "[\"a\"]}",
         "{}", "lacks `a`"},
        {"{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\"}}}", "{\"b\": 1}",
         "takes no `b`"},
        {"{\"type\": \"object\"}", "{\"b\": 1}", NULL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        json_t *schema = load(cases[i].schema), *value = load(cases[i].value);
        struct error err = {0};
        int r = json_schema_validate(schema, value, "x", &err);

        assert_int_equal(r < 0, cases[i].part != NULL);
        if (cases[i].part)
            assert_error(&err, E_INVALID, cases[i].part);
        json_decref(schema);
        json_decref(value);
    }
}

TEST(what_is_too_deep_is_refused)
{
    char text[4096] = "{\"type\": \"string\"}", outer[4096];
    struct error err = {0};
    json_t *schema;

    for (int i = 0; i < 40; i++) {
        (void)snprintf(outer, sizeof(outer), "{\"type\": \"array\", \"items\": %.3900s}", text);
        (void)snprintf(text, sizeof(text), "%s", outer);
    }
    schema = load(text);
    assert_true(json_schema_check(schema, "x", &err) < 0);
    assert_error(&err, E_TOO_LARGE, "too deep");
    json_decref(schema);
}

UNIT_MAIN()
