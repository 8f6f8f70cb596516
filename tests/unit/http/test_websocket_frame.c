#include "unit.h"

#include "http/websocket.h"
#include "http/websocket_frame.h"

/* "Hello" of RFC 6455, 5.7, masked. */
static const uint8_t hello[] = {0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58};

static int read_all(const uint8_t *data, size_t len, uint64_t max,
                    struct websocket_piece *ret_piece)
{
    static uint8_t bytes[512];
    struct websocket_reader reader = {.order.max = max};
    size_t used;
    int code = 0, r;

    memcpy(bytes, data, len);
    r = websocket_read(&reader, bytes, len, ret_piece, &used, &code);
    return r < 0 ? -code : r;
}

TEST(the_example_of_the_standard_is_read)
{
    struct websocket_piece piece;

    assert_int_equal(read_all(hello, sizeof(hello), 100, &piece), 1);
    assert_int_equal(piece.flags, WEBSOCKET_TEXT | WEBSOCKET_LAST);
    assert_int_equal(piece.len, 5);
    assert_memory_equal(piece.data, "Hello", 5);
}

TEST(the_key_of_the_standard_has_its_answer)
{
    char text[WEBSOCKET_ACCEPT_SIZE];

    websocket_accept_key((struct span){"dGhlIHNhbXBsZSBub25jZQ==", 24}, text);
    assert_string_equal(text, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(a_frame_that_comes_byte_by_byte_becomes_pieces)
{
    struct websocket_reader reader = {.order.max = 100};
    uint8_t bytes[sizeof(hello)], pending[16];
    size_t n = 0, used, got = 0;
    struct websocket_piece piece;
    int code;

    memcpy(bytes, hello, sizeof(hello));
    for (size_t i = 0; i < sizeof(hello); i++) {
        pending[n++] = bytes[i];
        if (websocket_read(&reader, pending, n, &piece, &used, &code) > 0) {
            assert_int_equal(piece.len, 1);
            assert_int_equal(piece.data[0], "Hello"[got]);
            assert_int_equal(piece.flags & ~WEBSOCKET_LAST, got ? WEBSOCKET_MORE : WEBSOCKET_TEXT);
            assert_int_equal((piece.flags & WEBSOCKET_LAST) != 0, got == 4);
            got++;
        }
        memmove(pending, pending + used, n - used);
        n -= used;
    }
    assert_int_equal(got, 5);
}

TEST(a_message_within_the_limit_is_taken_and_no_longer_one)
{
    struct websocket_piece piece;

    assert_int_equal(read_all(hello, sizeof(hello), 5, &piece), 1);
    assert_int_equal(read_all(hello, sizeof(hello), 4, &piece), -WEBSOCKET_TOO_BIG);
}

TEST(parts_of_a_message_count_together)
{
    struct websocket_order order = {.max = 10};

    assert_int_equal(websocket_order_next(&order, WEBSOCKET_TEXT, 6), 0);
    assert_int_equal(websocket_order_next(&order, WEBSOCKET_PING | WEBSOCKET_LAST, 100), 0);
    assert_int_equal(websocket_order_next(&order, WEBSOCKET_MORE, 4), 0);
    assert_int_equal(websocket_order_next(&order, WEBSOCKET_MORE, 1), WEBSOCKET_TOO_BIG);
}

TEST(pieces_out_of_order_are_refused)
{
    struct websocket_order order = {.max = 10};

    assert_int_equal(websocket_order_next(&order, WEBSOCKET_MORE, 1), WEBSOCKET_PROTOCOL);
    assert_int_equal(websocket_order_next(&order, WEBSOCKET_PING, 1), WEBSOCKET_PROTOCOL);
    assert_int_equal(websocket_order_next(&order, 3 | WEBSOCKET_LAST, 1), WEBSOCKET_PROTOCOL);
    assert_int_equal(websocket_order_next(&order, WEBSOCKET_BINARY, 1), 0);
    assert_int_equal(websocket_order_next(&order, WEBSOCKET_BINARY, 1), WEBSOCKET_PROTOCOL);
}

TEST(broken_headers_are_refused)
{
    static const uint8_t wrong[][10] = {
        {0xc1, 0x80},             /* a reserved bit */
        {0x81, 0x05},             /* no mask */
        {0x81, 0xfe, 0x00, 0x7d}, /* 125 in 16 bits */
        {0x81, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff},
        {0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0},
    };
    struct websocket_piece piece;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(read_all(wrong[i], sizeof(wrong[i]), 1000000, &piece),
                         -WEBSOCKET_PROTOCOL);
}

TEST(headers_of_ours_have_the_shortest_length)
{
    uint8_t header[WEBSOCKET_HEADER_MAX];

    assert_int_equal(websocket_header(header, WEBSOCKET_TEXT, 125), 2);
    assert_int_equal(websocket_header(header, WEBSOCKET_TEXT, 126), 4);
    assert_int_equal(websocket_header(header, WEBSOCKET_TEXT, 65535), 4);
    assert_int_equal(websocket_header(header, WEBSOCKET_TEXT, 65536), 10);
    assert_int_equal(header[1], 127);
}

UNIT_MAIN()
