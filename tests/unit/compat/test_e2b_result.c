#include "unit.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "compat/e2b_internal.h"
#include "compat/e2b_table.h"

TEST(a_line_is_ascii)
{
    cleanup(buf_done) struct buf out = BUF_OF(200);

    assert_int_equal(e2b_line_add(&out,
                                  json_pack("{s:s}", "a",
                                            "x\xc3\xbc\xe2\x82\xac"
                                            "\xf0\x9f\x98\x80\n"),
                                  NULL),
                     0);
    assert_string_equal(buf_str(&out), "{\"a\":\"x\\u00fc\\u20ac\\ud83d\\ude00\\n\"}\n");
}

static json_t *display(const char *mime, const char *data)
{
    struct run_form form = {(char *)mime, (char *)data, strlen(data)};
    const struct run_display shown = {.forms = &form, .n_forms = 1};

    return e2b_display_json(&shown);
}

static void assert_member(json_t *value, const char *name, const char *wanted)
{
    cleanup(buf_done) struct buf text = BUF_OF(10000);
    const json_t *member = json_object_get(value, name);

    assert_non_null(member);
    if (json_is_string(member)) {
        assert_string_equal(json_string_value(member), wanted);
    } else {
        assert_int_equal(json_text_dump(member, JSON_TEXT_COMPACT, &text, NULL), 0);
        assert_string_equal(buf_str(&text), wanted);
    }
    json_decref(value);
}

TEST(forms_have_fields)
{
    assert_member(display("text/plain", "x"), "text", "x");
    assert_member(display("text/html", "<b>"), "html", "<b>");
    assert_member(display("image/png", "abc"), "png", "YWJj");
    assert_member(display("application/json", "[1]"), "json", "[1]");
    assert_member(display("text/csv", "a,b"), "extra", "{\"text/csv\":\"a,b\"}");
    assert_member(display("text/plain", "x"), "is_main_result", "false");
}

#define CHART "application/vnd.belljar.chart+json"

TEST(charts_are_rewritten)
{
    assert_member(
        display(CHART, "[{\"type\":\"line\",\"title\":\"T\",\"x_label\":\"time (s)\","
                       "\"y_label\":\"\",\"series\":[{\"label\":\"\",\"x\":[1,2],\"y\":[3,4]}]}]"),
        "chart",
        "{\"type\":\"line\",\"title\":\"T\",\"elements\":[{\"label\":\"Line 0\",\"points\":[[1,3],"
        "[2,4]]}],\"x_label\":\"time (s)\",\"y_label\":null,\"x_unit\":\"s\",\"y_unit\":null,"
        "\"x_ticks\":[],\"x_tick_labels\":[],\"y_ticks\":[],\"y_tick_labels\":[],"
        "\"x_scale\":\"linear\",\"y_scale\":\"linear\"}");
    assert_member(display(CHART, "[{\"type\":\"scatter\",\"x_ticks\":[1],\"x_scale\":\"log\","
                                 "\"y_tick_labels\":[\"a\"],\"y_ticks\":7,\"series\":[]}]"),
                  "chart",
                  "{\"type\":\"scatter\",\"title\":null,\"elements\":[],\"x_label\":null,"
                  "\"y_label\":null,\"x_unit\":null,\"y_unit\":null,\"x_ticks\":[1],"
                  "\"x_tick_labels\":[],\"y_ticks\":[],\"y_tick_labels\":[\"a\"],"
                  "\"x_scale\":\"log\",\"y_scale\":\"linear\"}");
    assert_member(display(CHART, "[{\"type\":\"pie\",\"title\":\"\",\"series\":[{\"label\":\"a\","
                                 "\"fraction\":0.25}]}]"),
                  "chart",
                  "{\"type\":\"pie\",\"title\":null,\"elements\":[{\"label\":\"a\",\"angle\":90.0,"
                  "\"radius\":1}]}");
    assert_member(display(CHART, "[{\"type\":\"odd\"},{\"type\":\"odd\"}]"), "chart",
                  "{\"type\":\"superchart\",\"title\":null,\"elements\":[{\"type\":\"unknown\","
                  "\"title\":null,\"elements\":[]},{\"type\":\"unknown\",\"title\":null,"
                  "\"elements\":[]}]}");
}

/* It is the program's word: whatever it says, the answer is JSON. */
TEST(chart_data_of_any_shape_is_survived)
{
    static const char *const odd[] = {
        "[]",
        "{}",
        "[1]",
        "[null,[]]",
        "[{\"type\":\"bar\",\"series\":{\"x\":1}}]",
        "[{\"type\":\"line\",\"series\":[1,null,{\"x\":\"no\",\"y\":[1]}]}]",
        "[{\"type\":\"box\",\"series\":[{}],\"x_label\":7}]",
        "[{\"type\":\"pie\",\"series\":[{\"fraction\":\"half\"}]}]",
        "not JSON",
    };

    for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
        cleanup(buf_done) struct buf out = BUF_OF(10000);

        assert_int_equal(e2b_line_add(&out, display(CHART, odd[i]), NULL), 0);
    }
}

#define COLUMN(name, dtype) "{\"name\":" name ",\"dtype\":\"" dtype "\"}"
#define ABOUT(columns)      "{\"shape\":[1,1],\"columns\":[" columns "]}"

static json_t *table_of(const char *csv, const char *about)
{
    cleanup_json json_t *value = json_loads(about, JSON_DECODE_ANY, NULL);

    return e2b_table_json((struct span){csv, strlen(csv)}, value);
}

static void assert_table(const char *csv, const char *about, const char *wanted)
{
    cleanup(buf_done) struct buf text = BUF_OF(10000);
    cleanup_json json_t *table = table_of(csv, about);

    assert_non_null(table);
    assert_int_equal(json_text_dump(table, JSON_TEXT_COMPACT, &text, NULL), 0);
    assert_string_equal(buf_str(&text), wanted);
}

TEST(a_table_is_columns_of_values)
{
    assert_table("a,b\n1,x\n-2,\"y, \"\"z\"\"\n\"\n",
                 ABOUT(COLUMN("\"a\"", "int64") "," COLUMN("\"b\"", "object")),
                 "{\"a\":[1,-2],\"b\":[\"x\",\"y, \\\"z\\\"\\n\"]}");
    assert_table(",a,b\nr,0.5,True\ns,,False\nt,inf,\n",
                 ABOUT(COLUMN("\"a\"", "float64") "," COLUMN("\"b\"", "bool")),
                 "{\"a\":[0.5,null,null],\"b\":[true,false,null]}");
    assert_table("7,t\n18446744073709551615,2026-01-02\n***,2026-01-02 03:04:05\n",
                 ABOUT(COLUMN("7", "uint64") "," COLUMN("\"t\"", "datetime64[ns]")),
                 "{\"7\":[1.8446744073709552e19,\"***\"],"
                 "\"t\":[\"2026-01-02T00:00:00\",\"2026-01-02T03:04:05\"]}");
    assert_table("a,a\n1,2\n", ABOUT(COLUMN("\"a\"", "int64") "," COLUMN("\"a\"", "int64")),
                 "{\"a\":[2]}");
    assert_table("a\n", ABOUT(COLUMN("\"a\"", "int64")), "{\"a\":[]}");
}

TEST(what_makes_no_table_is_none)
{
    static const char *const cases[][2] = {
        {"", ABOUT(COLUMN("\"a\"", "int64"))},
        {"a\n1\n", ABOUT("")},
        {"a\n1\n", "{\"shape\":[1],\"columns\":[" COLUMN("\"a\"", "int64") "]}"},
        {"a\n1\n", "7"},
        {"a\n1\n", ABOUT("1,2")},
        {"b\n1\n", ABOUT(COLUMN("\"a\"", "int64"))},
        {"a\n1,2\n", ABOUT(COLUMN("\"a\"", "int64"))},
        {"a,b\n1\n", ABOUT(COLUMN("\"a\"", "int64") "," COLUMN("\"b\"", "int64"))},
        {"a\n\"1\n", ABOUT(COLUMN("\"a\"", "int64"))},
        {"a\n\"1\"2\n", ABOUT(COLUMN("\"a\"", "int64"))},
    };
    cleanup(buf_done) struct buf many = BUF_OF(10000);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_null(table_of(cases[i][0], cases[i][1]));
    for (size_t i = 0; i < 1002; i++)
        assert_int_equal(buf_add_str(&many, "a\n", NULL), 0);
    assert_null(table_of(buf_str(&many), ABOUT(COLUMN("\"a\"", "object"))));
}

UNIT_MAIN()
