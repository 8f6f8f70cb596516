#include "unit.h"

#include "base/base64.h"
#include "base/cleanup.h"

static void assert_text(const char *bytes, size_t len, const char *text)
{
    cleanup(buf_done) struct buf out = {0};

    buf_init(&out, 64);
    assert_int_equal(base64_add(&out, bytes, len, NULL), 0);
    assert_string_equal(buf_str(&out), text);
    assert_int_equal(out.len, strlen(text));
}

/* RFC 4648, section 10. */
static void the_examples_of_the_standard_come_out(void **state)
{
    (void)state;
    assert_text("", 0, "");
    assert_text("f", 1, "Zg==");
    assert_text("fo", 2, "Zm8=");
    assert_text("foo", 3, "Zm9v");
    assert_text("foob", 4, "Zm9vYg==");
    assert_text("fooba", 5, "Zm9vYmE=");
    assert_text("foobar", 6, "Zm9vYmFy");
}

static void all_bits_are_carried(void **state)
{
    (void)state;
    assert_text("\0\0\0", 3, "AAAA");
    assert_text("\xff\xff\xff", 3, "////");
    assert_text("\xfb\xef\xbe", 3, "++++");
}

static void what_does_not_fit_is_an_error(void **state)
{
    cleanup(buf_done) struct buf out = {0};
    struct error err = {0};

    (void)state;
    buf_init(&out, 7);
    assert_int_equal(base64_add(&out, "foobar", 6, &err), -1);
    assert_error(&err, E_TOO_LARGE, "");
    assert_int_equal(out.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_the_standard_come_out),
        cmocka_unit_test(all_bits_are_carried),
        cmocka_unit_test(what_does_not_fit_is_an_error),
    };
    return UNIT_RUN(tests);
}
