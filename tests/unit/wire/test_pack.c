#include "unit.h"

#include "wire/pack.h"

TEST(what_is_packed_is_unpacked)
{
    struct pack p;
    struct unpack u;
    struct span s;

    pack_init(&p, 1000);
    pack_u8(&p, 200);
    pack_u32(&p, 0xdeadbeef);
    pack_u64(&p, UINT64_MAX - 1);
    pack_bytes(&p, "a\0b", 3);
    pack_str(&p, "text");
    pack_str(&p, NULL);
    assert_false(p.failed);

    unpack_init(&u, p.data, p.len);
    assert_int_equal(unpack_u8(&u), 200);
    assert_int_equal(unpack_u32(&u), 0xdeadbeef);
    assert_true(unpack_u64(&u) == UINT64_MAX - 1);
    s = unpack_span(&u);
    assert_int_equal(s.len, 3);
    assert_memory_equal(s.data, "a\0b", 3);
    s = unpack_span(&u);
    assert_int_equal(s.len, 4);
    assert_memory_equal(s.data, "text", 4);
    assert_int_equal(unpack_span(&u).len, 0);
    assert_true(unpack_ok(&u));
    pack_done(&p);
}

TEST(numbers_are_little_endian_on_the_wire)
{
    struct pack p;

    pack_init(&p, 100);
    pack_u32(&p, 0x01020304);
    pack_u64(&p, 0x05);
    assert_int_equal(p.len, 12);
    assert_memory_equal(p.data, "\x04\x03\x02\x01\x05\0\0\0\0\0\0\0", 12);
    pack_done(&p);
}

TEST(the_limit_is_exact_and_failure_sticks)
{
    struct pack p;

    pack_init(&p, 4);
    pack_u32(&p, 1);
    assert_false(p.failed);
    pack_u8(&p, 1);
    assert_true(p.failed);
    assert_int_equal(p.len, 4);
    pack_bytes(&p, "", 0);
    assert_int_equal(p.len, 4);
    pack_done(&p);
}

TEST(left_over_bytes_are_not_ok)
{
    struct unpack u;

    unpack_init(&u, "\1\2", 2);
    assert_int_equal(unpack_u8(&u), 1);
    assert_false(unpack_ok(&u));
    assert_int_equal(unpack_u8(&u), 2);
    assert_true(unpack_ok(&u));
}

TEST(reading_past_the_end_gives_zero_and_sticks)
{
    struct unpack u;

    unpack_init(&u, "\1\2\3", 3);
    assert_int_equal(unpack_u32(&u), 0);
    /* Bytes are there, but the message has already shown that it lies. */
    assert_int_equal(unpack_u8(&u), 0);
    assert_false(unpack_ok(&u));
    unpack_init(&u, "", 0);
    assert_true(unpack_u64(&u) == 0);
    assert_false(unpack_ok(&u));
}

TEST(a_span_longer_than_the_message_is_empty)
{
    struct unpack u;
    struct span s;

    unpack_init(&u, "\xff\xff\xff\xff...", 7);
    s = unpack_span(&u);
    assert_int_equal(s.len, 0);
    assert_non_null(s.data);
    assert_false(unpack_ok(&u));
}

TEST(a_count_the_message_cannot_hold_is_refused)
{
    const char three[] = "\3\0\0\0aabbcc";
    struct unpack u;

    unpack_init(&u, three, 10);
    assert_int_equal(unpack_count(&u, 2, 10), 3);
    unpack_init(&u, three, 10);
    assert_int_equal(unpack_count(&u, 3, 10), 0);
    assert_false(unpack_ok(&u));
    unpack_init(&u, three, 10);
    assert_int_equal(unpack_count(&u, 2, 2), 0);
    assert_false(unpack_ok(&u));
    unpack_init(&u, "\xff\xff\xff\xff", 4);
    assert_int_equal(unpack_count(&u, 0, 5), 0);
    assert_false(unpack_ok(&u));
}

TEST(every_cut_of_a_message_is_noticed)
{
    struct pack p;

    pack_init(&p, 100);
    pack_u8(&p, 1);
    pack_str(&p, "hello");
    pack_u64(&p, 7);
    for (size_t len = 0; len < p.len; len++) {
        struct unpack u;

        unpack_init(&u, p.data, len);
        (void)unpack_u8(&u);
        (void)unpack_span(&u);
        (void)unpack_u64(&u);
        assert_false(unpack_ok(&u));
    }
    pack_done(&p);
}

TEST(a_span_with_a_nul_makes_no_string)
{
    char *text = span_dup((struct span){"abc", 2});

    assert_string_equal(text, "ab");
    free(text);
    assert_null(span_dup((struct span){"a\0b", 3}));
    text = span_dup((struct span){"", 0});
    assert_string_equal(text, "");
    free(text);
}

UNIT_MAIN()
