#include "unit.h"

#include <stdio.h>

#include "base/stream.h"
#include "mask/masker.h"

/* Feeds `text` in pieces of `piece` bytes and renders what was kept. */
static struct buf kept(const char *text, size_t limit, size_t piece)
{
    struct error err = {0};
    struct run_stream stream;
    size_t len = strlen(text);
    struct buf out;

    run_stream_init(&stream, limit);
    for (size_t at = 0; at < len; at += piece)
        assert_int_equal(
            run_stream_add(&stream,
                           masker_pass_unmasked(text + at, len - at < piece ? len - at : piece),
                           &err),
            0);
    assert_int_equal(stream.total, len);
    assert_int_equal(stream.dropped, len > limit ? len - limit : 0);
    assert_true(stream.head.len + stream.tail.len <= limit);
    buf_init(&out, 10000);
    assert_int_equal(run_stream_render(&stream, &out, &err), 0);
    run_stream_done(&stream);
    return out;
}

static void expect(const char *text, size_t limit, const char *expected)
{
    for (size_t piece = 1; piece <= strlen(text) + 1; piece++) {
        struct buf out = kept(text, limit, piece);

        assert_string_equal(buf_str(&out), expected);
        buf_done(&out);
    }
}

TEST(what_fits_is_kept_whole)
{
    expect("", 10, "");
    expect("abc", 10, "abc");
    expect("abcdefghij", 10, "abcdefghij");
}

TEST(past_the_limit_head_and_tail_stay_in_order)
{
    expect("abcdefghijk", 10, "abcde\n… [1 bytes dropped] …\nghijk");
    expect("abcdefghijklmnopqrstuvwxyz", 10, "abcde\n… [16 bytes dropped] …\nvwxyz");
    expect("abcdefghijklmnopqrstuvwxyz", 5, "abc\n… [21 bytes dropped] …\nyz");
}

TEST(tiny_limits_do_no_harm)
{
    expect("abcd", 1, "a\n… [3 bytes dropped] …\n");
    expect("abcd", 0, "\n… [4 bytes dropped] …\n");
    expect("abcd", 2, "a\n… [2 bytes dropped] …\nd");
}

TEST(characters_cut_at_the_edges_are_left_out_and_counted)
{
    /* Five bytes of head end with a whole character; five of tail begin with the last byte of one.
     */
    expect("ab……………c", 10, "ab…\n… [9 bytes dropped] …\n…c");
    /* Here the head ends inside of one, too. */
    expect("abc……………d", 10, "abc\n… [12 bytes dropped] …\n…d");
}

TEST(nothing_is_trimmed_when_nothing_is_dropped)
{
    expect("\xe2\x80", 10, "\xe2\x80");
    expect("ab\xe2\x80", 4, "ab\xe2\x80");
}

TEST(the_ring_keeps_the_last_bytes_of_long_streams)
{
    struct error err = {0};
    struct run_stream stream;
    struct buf out;

    run_stream_init(&stream, 4096);
    for (unsigned i = 0; i < 100000; i++) {
        char line[16];
        int n = snprintf(line, sizeof(line), "%07u\n", i);

        assert_int_equal(run_stream_add(&stream, masker_pass_unmasked(line, (size_t)n), &err), 0);
    }
    buf_init(&out, 10000);
    assert_int_equal(run_stream_render(&stream, &out, &err), 0);
    assert_int_equal(stream.total, 800000);
    assert_memory_equal(out.data, "0000000\n0000001\n", 16);
    assert_string_equal(out.data + out.len - 16, "0099998\n0099999\n");
    assert_contains(out.data, "[795904 bytes dropped]");
    buf_done(&out);
    run_stream_done(&stream);
}

TEST(rendering_respects_the_ceiling_of_its_buffer)
{
    struct error err = {0};
    struct run_stream stream;
    struct buf out;

    run_stream_init(&stream, 100);
    assert_int_equal(run_stream_add(&stream, masker_pass_unmasked("hello", 5), &err), 0);
    buf_init(&out, 3);
    assert_true(run_stream_render(&stream, &out, &err) < 0);
    assert_error(&err, E_TOO_LARGE, "more than 3 bytes");
    buf_done(&out);
    run_stream_done(&stream);
}

/* Reads on from `from`, in pieces of `piece` bytes. */
static void expect_read(const char *text, size_t limit, uint64_t from, size_t piece,
                        const char *expected, uint64_t first)
{
    struct error err = {0};
    struct run_stream stream;
    uint64_t at = from, begun = UINT64_MAX;
    char got[64] = "", data[64];
    size_t len = 0, n;

    run_stream_init(&stream, limit);
    assert_int_equal(run_stream_add(&stream, masker_pass_unmasked(text, strlen(text)), &err), 0);
    while ((n = run_stream_read(&stream, &at, data, piece)) > 0) {
        begun = begun == UINT64_MAX ? at : begun;
        memcpy(got + len, data, n);
        len += n;
        at += n;
    }
    got[len] = '\0';
    assert_string_equal(got, expected);
    if (*expected)
        assert_int_equal(begun, first);
    run_stream_done(&stream);
}

TEST(a_reader_gets_what_is_kept_from_where_it_was)
{
    for (size_t piece = 1; piece < 12; piece++) {
        expect_read("abcdefghij", 10, 0, piece, "abcdefghij", 0);
        expect_read("abcdefghij", 10, 7, piece, "hij", 7);
        expect_read("abcdefghij", 10, 10, piece, "", 0);
        expect_read("abcdefghij", 10, 1000, piece, "", 0);
        expect_read("abcdefghijklmnopqrstuvwxyz", 10, 0, piece, "abcdevwxyz", 0);
        expect_read("abcdefghijklmnopqrstuvwxyz", 10, 6, piece, "vwxyz", 21);
        expect_read("abcdefghijklmnopqrstuvwxyz", 10, 23, piece, "xyz", 23);
        expect_read("abcd", 0, 0, piece, "", 0);
        expect_read("", 10, 0, piece, "", 0);
    }
}

UNIT_MAIN()
