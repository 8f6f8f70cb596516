#include "unit.h"

#include "base/cleanup.h"
#include "base/error_json.h"

TEST(an_error_has_code_message_and_hint)
{
    cleanup_error struct error err = {0};
    json_t *value, *object;

    error_set(&err, E_NOT_FOUND, "no `%s`", "x");
    error_hint(&err, "try `y`");
    value = error_json(&err, HINT_FOR_HTTP);
    object = json_object_get(value, "error");
    assert_string_equal(json_string_value(json_object_get(object, "code")), "not_found");
    assert_string_equal(json_string_value(json_object_get(object, "message")), "no `x`");
    assert_string_equal(json_string_value(json_object_get(object, "hint")), "try `y`");
    json_decref(value);
}

TEST(bytes_that_are_not_text_are_replaced)
{
    cleanup_error struct error err = {0};
    json_t *value;

    error_set(&err, E_NOT_FOUND, "`\xff` is not the id of a run");
    value = error_json(&err, HINT_FOR_HTTP);
    assert_non_null(value);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(value, "error"), "message")),
        "`\xef\xbf\xbd` is not the id of a run");
    assert_true(json_is_null(json_object_get(json_object_get(value, "error"), "hint")));
    json_decref(value);
}

UNIT_MAIN()
