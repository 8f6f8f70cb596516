#include "unit.h"

#include "api/openapi.h"
#include "base/json.h"
#include "base/limits.h"
#include "serve/routes.h"

TEST(the_description_is_made_once)
{
    struct error err = {0};
    struct openapi openapi = {.tables = serve_routes};
    const struct buf *first = openapi_text(&openapi, &err), *again;
    const char *bytes = first ? first->data : NULL;
    json_t *value = openapi_json(serve_routes);
    struct buf expected;

    assert_non_null(bytes);
    again = openapi_text(&openapi, &err);
    assert_ptr_equal(again, first);
    assert_ptr_equal(again->data, bytes);
    buf_init(&expected, MIB);
    assert_int_equal(json_text_dump(value, JSON_TEXT_COMPACT, &expected, &err), 0);
    assert_int_equal(buf_add_str(&expected, "\n", &err), 0);
    assert_string_equal(buf_str(again), buf_str(&expected));
    assert_int_equal(again->len, expected.len);
    buf_done(&expected);
    json_decref(value);
    openapi_done(&openapi);
}

UNIT_MAIN()
