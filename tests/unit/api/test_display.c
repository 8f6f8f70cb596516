#include "unit.h"

#include <string.h>

#include "base/json.h"
#include "api/display.h"

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

static void nothing_is_an_empty_list(void **state)
{
    (void)state;
    assert_shown(NULL, "[]");
}

static void each_form_is_an_entry_of_its_bundle(void **state)
{
    struct wire_display shown = {
        .count = 2,
        .forms = {{span_of("text/html"), span_of("<b>")}, {span_of("text/plain"), span_of("b")}}
    };

    (void)state;
    assert_shown(&shown, "[{\"bundle\":0,\"mime\":\"text/html\",\"data\":\"<b>\"},"
                         "{\"bundle\":0,\"mime\":\"text/plain\",\"data\":\"b\"}]");
}

static void a_picture_has_a_size_and_an_encoding(void **state)
{
    struct wire_display shown = one("image/png", "\x89PNG", 4, "{\"width\":640,\"height\":480}");

    (void)state;
    assert_shown(&shown, "[{\"bundle\":0,\"mime\":\"image/png\",\"data\":\"iVBORw==\","
                         "\"encoding\":\"base64\",\"width\":640,\"height\":480}]");
}

static void a_size_that_means_nothing_is_left_out(void **state)
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

    (void)state;
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct wire_display shown = one("image/png", "", 0, lies[i]);

        assert_shown(&shown, "[{\"bundle\":0,\"mime\":\"image/png\",\"data\":\"\","
                             "\"encoding\":\"base64\"}]");
    }
}

static void json_is_a_value_where_it_can_be_read(void **state)
{
    struct wire_display good = one("application/x+json", "{\"a\":[1]}", 9, "");
    struct wire_display bad = one("application/json", "{\"a\":", 5, "");

    (void)state;
    assert_shown(&good, "[{\"bundle\":0,\"mime\":\"application/x+json\",\"data\":{\"a\":[1]}}]");
    assert_shown(&bad, "[{\"bundle\":0,\"mime\":\"application/json\",\"data\":\"{\\\"a\\\":\"}]");
}

static void text_that_is_none_is_made_one(void **state)
{
    struct wire_display shown = one("text/plain", "a\xff\x1b\0z", 5, "");

    (void)state;
    assert_shown(
        &shown,
        "[{\"bundle\":0,\"mime\":\"text/plain\",\"data\":\"a\xef\xbf\xbd\\u001B\\u0000z\"}]");
}

static void what_is_not_known_travels_as_bytes(void **state)
{
    struct wire_display shown = one("application/x-thing", "abc", 3, "");

    (void)state;
    assert_shown(&shown, "[{\"bundle\":0,\"mime\":\"application/x-thing\",\"data\":\"YWJj\","
                         "\"encoding\":\"base64\"}]");
}

static void the_first_picture_is_found(void **state)
{
    struct wire_display shown = {
        .count = 3,
        .forms = {{span_of("text/plain"), span_of("p")},
                  {span_of("image/svg+xml"), span_of("<svg/>")},
                  {span_of("image/png"), span_of("x")}},
        .metadata = span_of("{\"width\":2,\"height\":3}")
    };
    struct run *run = run_with(&shown);
    uint32_t width, height;
    const struct run_form *form = display_picture(&run->displays[0], &width, &height);

    (void)state;
    assert_string_equal(form->mime, "image/svg+xml");
    assert_int_equal(width, 2);
    assert_int_equal(height, 3);
    assert_string_equal(display_picture_suffix("image/jpeg"), "jpg");
    assert_null(display_picture_suffix("text/html"));
    run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_an_empty_list),
        cmocka_unit_test(each_form_is_an_entry_of_its_bundle),
        cmocka_unit_test(a_picture_has_a_size_and_an_encoding),
        cmocka_unit_test(a_size_that_means_nothing_is_left_out),
        cmocka_unit_test(json_is_a_value_where_it_can_be_read),
        cmocka_unit_test(text_that_is_none_is_made_one),
        cmocka_unit_test(what_is_not_known_travels_as_bytes),
        cmocka_unit_test(the_first_picture_is_found),
    };

    return UNIT_RUN(tests);
}
