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
TEST(the_examples_of_the_standard_come_out)
{
    assert_text("", 0, "");
    assert_text("f", 1, "Zg==");
    assert_text("fo", 2, "Zm8=");
    assert_text("foo", 3, "Zm9v");
    assert_text("foob", 4, "Zm9vYg==");
    assert_text("fooba", 5, "Zm9vYmE=");
    assert_text("foobar", 6, "Zm9vYmFy");
}

TEST(all_bits_are_carried)
{
    assert_text("\0\0\0", 3, "AAAA");
    assert_text("\xff\xff\xff", 3, "////");
    assert_text("\xfb\xef\xbe", 3, "++++");
}

static void assert_bytes(const char *text, const char *bytes, size_t len)
{
    cleanup(buf_done) struct buf out = {0};

    buf_init(&out, 64);
    assert_int_equal(base64_decode(&out, text, strlen(text), NULL), 0);
    assert_int_equal(out.len, len);
    assert_memory_equal(buf_str(&out), bytes, len);
}

TEST(what_was_written_is_read_again)
{
    assert_bytes("", "", 0);
    assert_bytes("Zg==", "f", 1);
    assert_bytes("Zm8=", "fo", 2);
    assert_bytes("Zm9v", "foo", 3);
    assert_bytes("Zm9vYmFy", "foobar", 6);
    assert_bytes("AAAA", "\0\0\0", 3);
    assert_bytes("////", "\xff\xff\xff", 3);
    assert_bytes("++++", "\xfb\xef\xbe", 3);
}

TEST(what_is_not_that_is_refused)
{
    static const char *const texts[] = {"Z",        "Zg",           "Zg=",
                                        "Zg==Zg==", "Zh==",         "Zm9=",
                                        "====",     "=AAA",         "A=AA",
                                        "AA=A",     "Zm9v\n\n\n\n", "Zm-v",
                                        "Zm_v",     "Zm v",         "\xc3\xa4\xc3\xa4"};

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        cleanup(buf_done) struct buf out = {0};
        struct error err = {0};

        buf_init(&out, 64);
        assert_int_equal(base64_decode(&out, texts[i], strlen(texts[i]), &err), -1);
        assert_error(&err, E_INVALID, "");
        assert_int_equal(out.len, 0);
    }
}

TEST(what_does_not_fit_is_an_error)
{
    cleanup(buf_done) struct buf out = {0};
    struct error err = {0};

    buf_init(&out, 7);
    assert_int_equal(base64_add(&out, "foobar", 6, &err), -1);
    assert_error(&err, E_TOO_LARGE, "");
    assert_int_equal(out.len, 0);
}

UNIT_MAIN()
