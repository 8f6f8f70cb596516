#include "unit.h"

#include "base/cleanup.h"
#include "base/span.h"
#include "compat/e2b_connect.h"

static int parse(const char *bytes, size_t len, struct span *message, struct error *err)
{
    return e2b_envelope_read((struct span){bytes, len}, message, err);
}

TEST(an_envelope_is_read_and_written)
{
    cleanup(buf_done) struct buf out = BUF_OF(100);
    struct span message;

    assert_int_equal(parse("\0\0\0\0\2{}", 7, &message, NULL), 0);
    assert_true(span_is(message, "{}"));
    assert_int_equal(parse("\0\0\0\0\0", 5, &message, NULL), 0);
    assert_int_equal(message.len, 0);
    assert_int_equal(e2b_envelope_add(&out, E2B_ENVELOPE_LAST, "{}", 2, NULL), 0);
    assert_int_equal(out.len, 7);
    assert_memory_equal(out.data, "\2\0\0\0\2{}", 7);
}

TEST(what_is_not_one_whole_envelope_is_refused)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *says;
    } bad[] = {
        {"", 0, "incomplete"},
        {"\0\0\0\0", 4, "incomplete"},
        {"\1\0\0\0\2{}", 7, "compressed"},
        {"\2\0\0\0\2{}", 7, "flags"},
        {"\0\0\0\0\3{}", 7, "says 3 bytes"},
        {"\0\0\0\0\1{}", 7, "says 1 bytes"},
        {"\0\377\377\377\377{}", 7, "says 4294967295 bytes"},
        {"\0\0\0\0\2{}\0\0\0\0\2{}", 14, "says 2 bytes"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        cleanup_error struct error err = {0};
        struct span message = {NULL, 99};

        assert_int_equal(parse(bad[i].bytes, bad[i].len, &message, &err), -1);
        assert_int_equal(err.code, E_INVALID);
        assert_non_null(strstr(err.message, bad[i].says));
        assert_int_equal(message.len, 99);
    }
}

TEST(a_buffer_that_is_full_gets_nothing)
{
    cleanup(buf_done) struct buf out = BUF_OF(6);

    assert_int_equal(e2b_envelope_add(&out, 0, "{}", 2, NULL), -1);
    assert_int_equal(out.len, 0);
}

UNIT_MAIN()
