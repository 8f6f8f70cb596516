#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire/frame.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static size_t open_descriptors(void)
{
    size_t count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* A frame with `len` bytes of a pattern, behind what is already in `p`. */
static void append(struct pack *p, enum wire_type type, size_t len)
{
    uint8_t head[FRAME_HEADER];

    frame_header(head, type, (uint32_t)len);
    for (size_t i = 0; i < sizeof(head); i++)
        pack_u8(p, head[i]);
    for (size_t i = 0; i < len; i++)
        pack_u8(p, (uint8_t)(i * 7 + (size_t)type));
}

static void assert_frame(const struct frame *f, enum wire_type type, size_t len)
{
    assert_int_equal(f->type, type);
    assert_int_equal(f->len, len);
    for (size_t i = 0; i < len; i++)
        assert_int_equal(f->body[i], (uint8_t)(i * 7 + (size_t)type));
}

static const struct {
    enum wire_type type;
    size_t len;
} stream[] = {
    {WIRE_WAITING, 0}, {WIRE_STARTED, 0}, {WIRE_RESULT, 100}, {WIRE_EXITED, 20},
    {WIRE_GONE, 12},   {WIRE_WAITING, 0}, {WIRE_FAILED, 1},
};

static struct pack make_stream(void)
{
    struct pack p;

    pack_init(&p, 65536);
    for (size_t i = 0; i < COUNT(stream); i++)
        append(&p, stream[i].type, stream[i].len);
    return p;
}

/* Feeds it in pieces of `piece` bytes and expects the whole stream. */
static void feed_in_pieces(const struct pack *p, size_t piece)
{
    struct frame_decoder d;
    size_t frames = 0, at = 0;

    frame_decoder_init(&d);
    while (at < p->len) {
        size_t end = at + piece < p->len ? at + piece : p->len;

        while (at < end) {
            struct frame f;
            size_t used;
            int r = frame_feed(&d, p->data + at, end - at, &used, &f);

            assert_true(r >= 0);
            assert_true(used <= end - at);
            at += used;
            if (r == 0)
                assert_int_equal(at, end);
            if (r == 1) {
                assert_true(frames < COUNT(stream));
                assert_frame(&f, stream[frames].type, stream[frames].len);
                frames++;
            }
        }
    }
    assert_int_equal(frames, COUNT(stream));
    frame_decoder_done(&d);
}

TEST(a_stream_cut_in_any_pieces_gives_the_same_frames)
{
    struct pack p = make_stream();

    for (size_t piece = 1; piece <= p.len; piece++)
        feed_in_pieces(&p, piece);
    pack_done(&p);
}

TEST(a_stream_cut_in_two_anywhere_gives_the_same_frames)
{
    struct pack p = make_stream();

    for (size_t cut = 0; cut <= p.len; cut++) {
        struct frame_decoder d;
        size_t frames = 0;

        frame_decoder_init(&d);
        for (int half = 0; half < 2; half++) {
            size_t at = half ? cut : 0, end = half ? p.len : cut;

            while (at < end) {
                struct frame f;
                size_t used;

                if (frame_feed(&d, p.data + at, end - at, &used, &f) == 1)
                    frames++;
                at += used;
            }
        }
        assert_int_equal(frames, COUNT(stream));
        frame_decoder_done(&d);
    }
    pack_done(&p);
}

static void expect_broken(const uint8_t head[FRAME_HEADER])
{
    struct frame_decoder d;
    struct frame f;
    size_t used;

    /* Whole, and byte by byte: refused with the eighth byte, before there is any body. */
    frame_decoder_init(&d);
    assert_int_equal(frame_feed(&d, head, FRAME_HEADER, &used, &f), -1);
    assert_null(d.body);
    frame_decoder_done(&d);

    frame_decoder_init(&d);
    for (int i = 0; i < FRAME_HEADER - 1; i++)
        assert_int_equal(frame_feed(&d, head + i, 1, &used, &f), 0);
    assert_int_equal(frame_feed(&d, head + FRAME_HEADER - 1, 1, &used, &f), -1);
    frame_decoder_done(&d);
}

TEST(a_header_that_is_none_is_refused)
{
    uint8_t good[FRAME_HEADER], bad[FRAME_HEADER];

    frame_header(good, WIRE_RESULT, 0);
    for (int byte = 0; byte < 3; byte++) /* the magic and the version */
        for (int bit = 0; bit < 8; bit++) {
            memcpy(bad, good, sizeof(bad));
            bad[byte] ^= (uint8_t)(1 << bit);
            expect_broken(bad);
        }
}

TEST(a_length_beyond_the_type_is_refused_before_memory_is_asked_for)
{
    uint8_t head[FRAME_HEADER];

    for (unsigned type = 0; type < 256; type++) {
        frame_header(head, type, wire_type_max(type) + 1);
        expect_broken(head);
        frame_header(head, type, 0xffffffff);
        expect_broken(head);
    }
}

TEST(a_body_as_long_as_its_type_allows_is_taken)
{
    struct frame_decoder d;
    struct frame f;
    struct pack p;
    size_t used, len = wire_type_max(WIRE_FAILED);

    pack_init(&p, len + FRAME_HEADER);
    append(&p, WIRE_FAILED, len);
    frame_decoder_init(&d);
    assert_int_equal(frame_feed(&d, p.data, p.len, &used, &f), 1);
    assert_int_equal(used, p.len);
    assert_frame(&f, WIRE_FAILED, len);
    frame_decoder_done(&d);
    pack_done(&p);
}

TEST(after_an_error_everything_is_refused)
{
    uint8_t bad[FRAME_HEADER] = {0}, good[FRAME_HEADER];
    struct frame_decoder d;
    struct frame f;
    size_t used;

    frame_header(good, WIRE_WAITING, 0);
    frame_decoder_init(&d);
    assert_int_equal(frame_feed(&d, bad, sizeof(bad), &used, &f), -1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(frame_feed(&d, good, sizeof(good), &used, &f), -1);
        assert_int_equal(used, 0);
    }
    frame_decoder_done(&d);
}

TEST(nothing_in_nothing_out)
{
    struct frame_decoder d;
    struct frame f;
    size_t used = 9;

    frame_decoder_init(&d);
    assert_int_equal(frame_feed(&d, (const uint8_t *)"", 0, &used, &f), 0);
    assert_int_equal(used, 0);
    frame_decoder_done(&d);
}

/* --- over a socket --- */

static void pair(int fds[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
}

TEST(frames_and_descriptors_cross_a_socket_together)
{
    size_t before = open_descriptors();
    struct frame_decoder d;
    struct frame f;
    struct stat was, is;
    struct pack p;
    int fds[2], gifts[3], got;

    pair(fds);
    for (int i = 0; i < 3; i++)
        assert_true((gifts[i] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0);
    assert_int_equal(fstat(gifts[0], &was), 0);
    pack_init(&p, 64);
    pack_u64(&p, 77);
    assert_int_equal(frame_send(fds[0], WIRE_SPAWNED, &p, gifts, 3), 0);
    assert_int_equal(frame_send(fds[0], WIRE_WAITING, NULL, NULL, 0), 0);

    frame_decoder_init(&d);
    assert_int_equal(frame_wait(&d, fds[1], &f), 1);
    assert_int_equal(f.type, WIRE_SPAWNED);
    assert_int_equal(f.len, 8);
    got = frame_take_fd(&d);
    assert_true(got >= 0);
    assert_int_equal(fstat(got, &is), 0);
    assert_true(was.st_rdev == is.st_rdev);
    assert_int_equal(fcntl(got, F_GETFD), FD_CLOEXEC);
    (void)close(got);
    assert_int_equal(frame_wait(&d, fds[1], &f), 1);
    assert_int_equal(f.type, WIRE_WAITING);
    (void)close(fds[0]);
    assert_int_equal(frame_wait(&d, fds[1], &f), 0);

    frame_decoder_done(&d); /* two descriptors nobody took */
    for (int i = 0; i < 3; i++)
        (void)close(gifts[i]);
    (void)close(fds[1]);
    pack_done(&p);
    assert_int_equal(open_descriptors(), before);
}

TEST(descriptors_come_out_in_the_order_they_went_in)
{
    struct frame_decoder d;
    struct frame f;
    int fds[2], gifts[FRAME_FDS], pipes[2];

    pair(fds);
    for (size_t i = 0; i < FRAME_FDS; i++) {
        assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
        gifts[i] = pipes[0];
        assert_int_equal(write(pipes[1], &i, sizeof(i)), sizeof(i));
        (void)close(pipes[1]);
    }
    assert_int_equal(frame_send(fds[0], WIRE_WAITING, NULL, gifts, FRAME_FDS), 0);
    frame_decoder_init(&d);
    assert_int_equal(frame_wait(&d, fds[1], &f), 1);
    for (size_t i = 0; i < FRAME_FDS; i++) {
        int fd = frame_take_fd(&d);
        size_t number = 999;

        assert_int_equal(read(fd, &number, sizeof(number)), sizeof(number));
        assert_int_equal(number, i);
        (void)close(fd);
        (void)close(gifts[i]);
    }
    assert_int_equal(frame_take_fd(&d), -1);
    frame_decoder_done(&d);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

TEST(more_descriptors_than_a_frame_may_carry_are_not_sent)
{
    int fds[2], gifts[FRAME_FDS + 1] = {0};

    pair(fds);
    assert_int_equal(frame_send(fds[0], WIRE_WAITING, NULL, gifts, FRAME_FDS + 1), -EMSGSIZE);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

/* A stranger sends hundreds: those beyond the table are closed at once, the rest with the decoder.
 */
TEST(a_flood_of_descriptors_does_not_stay)
{
    size_t before = open_descriptors();
    struct frame_decoder d;
    struct frame f;
    int fds[2], gifts[FRAME_FDS];

    pair(fds);
    for (size_t i = 0; i < FRAME_FDS; i++)
        gifts[i] = STDERR_FILENO;
    frame_decoder_init(&d);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(frame_send(fds[0], WIRE_WAITING, NULL, gifts, FRAME_FDS), 0);
        assert_int_equal(frame_wait(&d, fds[1], &f), 1);
    }
    assert_int_equal(d.n_fds, FRAME_FDS);
    assert_int_equal(open_descriptors(), before + 2 + FRAME_FDS);
    frame_decoder_done(&d);
    (void)close(fds[0]);
    (void)close(fds[1]);
    assert_int_equal(open_descriptors(), before);
}

TEST(a_message_that_failed_to_pack_is_not_sent)
{
    struct pack p;
    int fds[2];

    pair(fds);
    pack_init(&p, 4);
    pack_u64(&p, 1);
    assert_true(p.failed);
    assert_int_equal(frame_send(fds[0], WIRE_SPAWNED, &p, NULL, 0), -EMSGSIZE);
    pack_done(&p);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

TEST(sending_to_nobody_is_an_error_and_no_signal)
{
    int fds[2];

    pair(fds);
    (void)close(fds[1]);
    assert_int_equal(frame_send(fds[0], WIRE_WAITING, NULL, NULL, 0), -EPIPE);
    (void)close(fds[0]);
}

/* Larger than any socket's buffer: the sender waits for the reader, and every byte arrives. */
TEST(a_frame_larger_than_the_socket_arrives_whole)
{
    size_t len = (size_t)3 << 20;
    struct frame_decoder d;
    struct frame f;
    struct pack p;
    int fds[2], status;
    pid_t pid;

    pair(fds);
    pack_init(&p, len + FRAME_HEADER);
    append(&p, WIRE_RESULT, len);
    assert_false(p.failed);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct pack body = {.data = p.data + FRAME_HEADER, .len = len};

        _exit(frame_send(fds[0], WIRE_RESULT, &body, NULL, 0) == 0 ? 0 : 1);
    }
    frame_decoder_init(&d);
    assert_int_equal(frame_wait(&d, fds[1], &f), 1);
    assert_int_equal(f.len, len);
    assert_memory_equal(f.body, p.data + FRAME_HEADER, len);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    frame_decoder_done(&d);
    pack_done(&p);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

TEST(a_stream_that_ends_inside_a_frame_is_an_end)
{
    struct pack p;

    pack_init(&p, 256);
    append(&p, WIRE_RESULT, 50);
    for (size_t len = 0; len < p.len; len++) {
        struct frame_decoder d;
        struct frame f;
        int fds[2];

        pair(fds);
        assert_int_equal(send(fds[0], p.data, len, 0), (ssize_t)len);
        (void)close(fds[0]);
        frame_decoder_init(&d);
        assert_int_equal(frame_wait(&d, fds[1], &f), 0);
        frame_decoder_done(&d);
        (void)close(fds[1]);
    }
    pack_done(&p);
}

TEST(garbage_on_the_socket_ends_the_wait)
{
    struct frame_decoder d;
    struct frame f;
    int fds[2];

    pair(fds);
    assert_int_equal(send(fds[0], "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
    frame_decoder_init(&d);
    assert_int_equal(frame_wait(&d, fds[1], &f), -1);
    assert_int_equal(frame_wait(&d, fds[1], &f), -1);
    frame_decoder_done(&d);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

UNIT_MAIN()
