#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"

TEST(an_empty_buffer_is_an_empty_string)
{
    struct buf b;

    buf_init(&b, 10);
    assert_string_equal(buf_str(&b), "");
    assert_int_equal(b.len, 0);
    buf_done(&b);
}

TEST(bytes_are_kept_and_followed_by_a_nul)
{
    struct error err = {0};
    struct buf b;

    buf_init(&b, 1000);
    assert_int_equal(buf_add(&b, "a\0b", 3, &err), 0);
    assert_int_equal(buf_add_str(&b, "cd", &err), 0);
    assert_int_equal(buf_printf(&b, &err, "%d%s", 7, "x"), 0);
    assert_int_equal(b.len, 7);
    assert_memory_equal(b.data, "a\0bcd7x", 8);
    buf_done(&b);
    assert_null(b.data);
}

TEST(the_ceiling_may_be_reached_and_not_passed)
{
    struct error err = {0};
    struct buf b;

    buf_init(&b, 4);
    assert_int_equal(buf_add(&b, "abcd", 4, &err), 0);
    assert_true(buf_add(&b, "e", 1, &err) < 0);
    assert_error(&err, E_TOO_LARGE, "more than 4 bytes");
    assert_string_equal(buf_str(&b), "abcd");
    assert_int_equal(buf_add(&b, "", 0, &err), 0);
    buf_done(&b);
}

TEST(a_write_that_does_not_fit_writes_nothing)
{
    struct error err = {0};
    struct buf b;

    buf_init(&b, 4);
    assert_int_equal(buf_add(&b, "ab", 2, &err), 0);
    assert_true(buf_printf(&b, &err, "%s", "cde") < 0);
    assert_error(&err, E_TOO_LARGE, "more than 4 bytes");
    assert_string_equal(buf_str(&b), "ab");
    buf_done(&b);
}

TEST(growth_keeps_what_was_there)
{
    struct error err = {0};
    struct buf b;

    buf_init(&b, 100000);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(buf_printf(&b, &err, "%04d ", i), 0);
    assert_int_equal(b.len, 50000);
    assert_memory_equal(b.data + 5 * 1234, "1234 ", 5);
    buf_done(&b);
}

TEST(consume_drops_from_the_front)
{
    struct error err = {0};
    struct buf b;

    buf_init(&b, 10);
    assert_int_equal(buf_add_str(&b, "abcdef", &err), 0);
    buf_consume(&b, 2);
    assert_string_equal(buf_str(&b), "cdef");
    buf_consume(&b, 100);
    assert_string_equal(buf_str(&b), "");
    buf_done(&b);
    buf_consume(&b, 1); /* nothing there, nothing done */
}

TEST(clear_keeps_the_memory)
{
    struct error err = {0};
    struct buf b;
    char *data;

    buf_init(&b, 10);
    buf_clear(&b);
    assert_int_equal(buf_add_str(&b, "abc", &err), 0);
    data = b.data;
    buf_clear(&b);
    assert_string_equal(buf_str(&b), "");
    assert_ptr_equal(b.data, data);
    buf_done(&b);
}

/* Writes `len` bytes into a pipe and reads them back with the given ceiling. */
static int read_through_pipe(size_t len, size_t limit, struct buf *b, struct error *err)
{
    char bytes[4096];
    int fds[2], r;

    memset(bytes, 'x', sizeof(bytes));
    assert_true(len <= sizeof(bytes));
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(write(fds[1], bytes, len), (ssize_t)len);
    assert_int_equal(close(fds[1]), 0);
    buf_init(b, limit);
    r = buf_read_fd(b, fds[0], err);
    assert_int_equal(close(fds[0]), 0);
    return r;
}

TEST(a_descriptor_is_read_to_its_end)
{
    struct error err = {0};
    struct buf b;

    assert_int_equal(read_through_pipe(3000, 100000, &b, &err), 0);
    assert_int_equal(b.len, 3000);
    assert_int_equal(strlen(buf_str(&b)), 3000);
    buf_done(&b);
    assert_int_equal(read_through_pipe(0, 10, &b, &err), 0);
    assert_int_equal(b.len, 0);
    buf_done(&b);
}

TEST(exactly_full_is_not_too_large)
{
    struct error err = {0};
    struct buf b;

    assert_int_equal(read_through_pipe(100, 100, &b, &err), 0);
    assert_int_equal(b.len, 100);
    buf_done(&b);
    assert_true(read_through_pipe(101, 100, &b, &err) < 0);
    assert_error(&err, E_TOO_LARGE, "more than 100 bytes");
    buf_done(&b);
}

TEST(a_bad_descriptor_is_a_system_error)
{
    struct error err = {0};
    struct buf b;

    buf_init(&b, 10);
    assert_true(buf_read_fd(&b, -1, &err) < 0);
    assert_error(&err, E_SYSTEM, "read: ");
    buf_done(&b);
}

UNIT_MAIN()
