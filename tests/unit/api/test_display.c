#include "unit.h"

#include <string.h>

#include "api/display.h"
#include "base/json.h"

static struct run *run_with(const struct wire_display *shown)
{
    struct run *run = run_new();

    assert_non_null(run);
    if (shown)
        assert_non_null(run_add_display(run, shown));
    return run;
}

static void assert_shown(const struct wire_display *shown, const char *expected)
{
    struct run *run = run_with(shown);
    json_t *list = display_json(run);
    struct buf text;

    assert_non_null(list);
    buf_init(&text, 65536);
    assert_int_equal(json_text_dump(list, JSON_TEXT_COMPACT, &text, NULL), 0);
    assert_string_equal(buf_str(&text), expected);
    buf_done(&text);
    json_decref(list);
    run_free(run);
}

static struct wire_display one(const char *mime, const char *data, size_t len, const char *metadata)
{
    return (struct wire_display){
        .count = 1, .forms = {{span_of(mime), {data, len}}}, .metadata = span_of(metadata)};
}

TEST(nothing_is_an_empty_list)
{
    assert_shown(NULL, "[]");
}

TEST(each_form_is_an_entry_of_its_bundle)
{
    struct wire_display shown = {
        .count = 2,
        .forms = {{span_of("text/html"), span_of("<b>")}, {span_of("text/plain"), span_of("b")}}};

    assert_shown(&shown, "[{\"bundle\":0,\"mime\":\"text/html\",\"data\":\"<b>\"},"
                         "{\"bundle\":0,\"mime\":\"text/plain\",\"data\":\"b\"}]");
}

TEST(a_picture_has_a_size_and_an_encoding)
{
    struct wire_display shown = one("image/png", "\x89PNG", 4, "{\"width\":640,\"height\":480}");

    assert_shown(&shown, "[{\"bundle\":0,\"mime\":\"image/png\",\"data\":\"iVBORw==\","
                         "\"encoding\":\"base64\",\"width\":640,\"height\":480}]");
}

TEST(a_size_that_means_nothing_is_left_out)
{
    static const char *const lies[] = {"{\"width\":-1,\"height\":5}",
                                       "{\"width\":1e9,\"height\":5}",
                                       "{\"width\":\"6\",\"height\":5}",
                                       "{\"width\":100001,\"height\":5}",
                                       "{\"width\":6}",
                                       "[]",
                                       "{",
                                       "{\"width\":6,\"width\":7,\"height\":5}",
                                       "null",
                                       "\xff"};

    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct wire_display shown = one("image/png", "", 0, lies[i]);

        assert_shown(&shown, "[{\"bundle\":0,\"mime\":\"image/png\",\"data\":\"\","
                             "\"encoding\":\"base64\"}]");
    }
}

TEST(json_is_a_value_where_it_can_be_read)
{
    struct wire_display good = one("application/x+json", "{\"a\":[1]}", 9, "");
    struct wire_display bad = one("application/json", "{\"a\":", 5, "");

    assert_shown(&good, "[{\"bundle\":0,\"mime\":\"application/x+json\",\"data\":{\"a\":[1]}}]");
    assert_shown(&bad, "[{\"bundle\":0,\"mime\":\"application/json\",\"data\":\"{\\\"a\\\":\"}]");
}

TEST(text_that_is_none_is_made_one)
{
    struct wire_display shown = one("text/plain", "a\xff\x1b\0z", 5, "");

    assert_shown(
        &shown,
        "[{\"bundle\":0,\"mime\":\"text/plain\",\"data\":\"a\xef\xbf\xbd\\u001B\\u0000z\"}]");
}

TEST(what_is_not_known_travels_as_bytes)
{
    struct wire_display shown = one("application/x-thing", "abc", 3, "");

    assert_shown(&shown, "[{\"bundle\":0,\"mime\":\"application/x-thing\",\"data\":\"YWJj\","
                         "\"encoding\":\"base64\"}]");
}

TEST(the_first_picture_is_found)
{
    struct wire_display shown = {.count = 3,
                                 .forms = {{span_of("text/plain"), span_of("p")},
                                           {span_of("image/svg+xml"), span_of("<svg/>")},
                                           {span_of("image/png"), span_of("x")}},
                                 .metadata = span_of("{\"width\":2,\"height\":3}")};
    struct run *run = run_with(&shown);
    uint32_t width, height;
    const struct run_form *form = display_picture(&run->result.displays[0], &width, &height);

    assert_string_equal(form->mime, "image/svg+xml");
    assert_int_equal(width, 2);
    assert_int_equal(height, 3);
    assert_string_equal(display_picture_suffix("image/jpeg"), "jpg");
    assert_null(display_picture_suffix("text/html"));
    run_free(run);
}

UNIT_MAIN()
