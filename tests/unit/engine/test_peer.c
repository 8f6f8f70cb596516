#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/peer.h"

/* A peer on one end of a socket, and us on the other. */
struct scene {
    struct loop *loop;
    struct peer peer;
    int theirs;
    size_t descriptors; /* open before it began */

    int messages;
    enum wire_type last;
    size_t last_len;
    int last_fd; /* that came with it, where the owner takes one */
    int ends;
    char why[64];
    bool takes_fd;
    bool echoes;        /* every message brings the next */
    bool is_busy_after; /* a message keeps the owner busy, */
    bool is_busy;       /* as it does now */
};

static void say(struct scene *s, enum wire_type type, size_t len);

static size_t open_descriptors(void)
{
    size_t count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void on_message(void *owner, const struct frame *frame)
{
    struct scene *s = owner;

    s->messages++;
    s->last = frame->type;
    s->last_len = frame->len;
    s->is_busy = s->is_busy_after;
    if (s->takes_fd)
        s->last_fd = frame_take_fd(&s->peer.decoder);
    if (s->echoes)
        say(s, WIRE_PROGRESS, 20);
}

static void on_end(void *owner, const char *why)
{
    struct scene *s = owner;

    s->ends++;
    (void)snprintf(s->why, sizeof(s->why), "%s", why ? why : "");
}

static bool is_busy(void *owner)
{
    return ((struct scene *)owner)->is_busy;
}

static const struct peer_events events = {
    .on_message = on_message, .on_end = on_end, .is_busy = is_busy};

static void begin(struct scene *s, enum wire_channel channel)
{
    struct error err = {0};
    int fds[2];

    *s = (struct scene){.descriptors = open_descriptors(), .last_fd = -1};
    s->loop = loop_new(&err);
    assert_non_null(s->loop);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
    s->theirs = fds[1];
    assert_int_equal(peer_init(&s->peer, s->loop, fds[0], fds[0], channel, &events, s, &err), 0);
}

static void finish(struct scene *s)
{
    peer_done(&s->peer);
    loop_free(s->loop);
    close_fd(&s->theirs);
    assert_int_equal(open_descriptors(), s->descriptors);
}

static void stop(void *arg)
{
    loop_stop(arg);
}

/* Everything that is ready now, and what becomes ready by it. */
static void turn(struct scene *s)
{
    struct loop_watch *timer = loop_timer(s->loop, stop, s->loop);
    struct error err = {0};

    loop_timer_start(timer, 20);
    assert_int_equal(loop_run(s->loop, &err), 0);
    loop_watch_free(timer);
}

static void say(struct scene *s, enum wire_type type, size_t len)
{
    struct pack p;

    pack_init(&p, (size_t)16 << 20);
    for (size_t i = 0; i < len; i++)
        pack_u8(&p, (uint8_t)i);
    assert_int_equal(frame_send(s->theirs, type, &p, NULL, 0), 0);
    pack_done(&p);
}

TEST(what_is_permitted_arrives)
{
    struct scene s;

    begin(&s, WIRE_CHANNEL_INIT);
    say(&s, WIRE_SEALED, 4);
    turn(&s);
    assert_int_equal(s.messages, 1);
    assert_int_equal(s.last, WIRE_SEALED);
    assert_int_equal(s.last_len, 4);
    assert_int_equal(s.peer.state, WIRE_STATE_READY);
    say(&s, WIRE_EXITED, 24);
    turn(&s);
    assert_int_equal(s.messages, 2);
    assert_int_equal(s.ends, 0);
    finish(&s);
}

TEST(several_frames_in_one_piece_all_arrive)
{
    struct scene s;

    begin(&s, WIRE_CHANNEL_INIT);
    say(&s, WIRE_SEALED, 4);
    say(&s, WIRE_EXITED, 24);
    peer_drain(&s.peer);
    assert_int_equal(s.messages, 2);
    finish(&s);
}

TEST(a_busy_owner_hears_the_next_message_later)
{
    struct scene s;

    begin(&s, WIRE_CHANNEL_KERNEL);
    peer_enter(&s.peer, WIRE_STATE_RUNNING);
    s.is_busy_after = true;
    for (size_t i = 1; i <= 3; i++)
        say(&s, WIRE_PROGRESS, i);
    for (int i = 1; i <= 3; i++) {
        turn(&s);
        assert_int_equal(s.messages, i);
        assert_int_equal(s.last_len, i);
        assert_int_equal(peer_read_some(&s.peer), 0);
        assert_int_equal(s.messages, i);
        s.is_busy = false;
        peer_go_on(&s.peer);
    }
    turn(&s);
    assert_int_equal(s.messages, 3);
    assert_int_equal(s.ends, 0);
    finish(&s);
}

TEST(what_comes_out_of_turn_ends_it_with_its_name)
{
    static const enum wire_type types[] = {WIRE_EXITED, WIRE_RESULT, WIRE_SPAWNED, WIRE_RUN};
    struct scene s;

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        begin(&s, WIRE_CHANNEL_INIT);
        say(&s, types[i], 0);
        turn(&s);
        assert_int_equal(s.messages, 0);
        assert_int_equal(s.ends, 1);
        assert_string_equal(s.why, wire_type_name(types[i]));
        finish(&s);
    }
}

/* Once broken, nothing is looked at, however well-formed, and nothing is said twice. */
TEST(after_the_end_nothing_more_is_heard)
{
    struct scene s;

    begin(&s, WIRE_CHANNEL_INIT);
    say(&s, WIRE_RESULT, 3);
    say(&s, WIRE_SEALED, 4);
    turn(&s);
    say(&s, WIRE_SEALED, 4);
    turn(&s);
    peer_drain(&s.peer);
    assert_int_equal(s.messages, 0);
    assert_int_equal(s.ends, 1);
    finish(&s);
}

TEST(a_message_that_may_come_once_ends_it_the_second_time)
{
    struct scene s;

    begin(&s, WIRE_CHANNEL_KERNEL);
    s.peer.state = WIRE_STATE_RUNNING;
    say(&s, WIRE_RESULT, 8);
    say(&s, WIRE_EXCEPTION, 8);
    turn(&s);
    assert_int_equal(s.messages, 2);
    say(&s, WIRE_RESULT, 8);
    turn(&s);
    assert_int_equal(s.messages, 2);
    assert_int_equal(s.ends, 1);
    assert_string_equal(s.why, "result");
    finish(&s);
}

TEST(a_peer_that_never_stops_does_not_keep_us)
{
    struct scene s;

    begin(&s, WIRE_CHANNEL_KERNEL);
    s.peer.state = WIRE_STATE_RUNNING;
    s.echoes = true;
    say(&s, WIRE_PROGRESS, 20);
    peer_drain(&s.peer);
    assert_in_range(s.messages, 2, 1000);
    assert_int_equal(s.ends, 0);
    s.echoes = false;
    turn(&s);
    finish(&s);
}

TEST(a_body_beyond_its_type_ends_it_with_the_header)
{
    uint8_t head[FRAME_HEADER];
    struct scene s;

    begin(&s, WIRE_CHANNEL_INIT);
    frame_header(head, WIRE_SEALED, 5);
    assert_int_equal(send(s.theirs, head, sizeof(head), 0), sizeof(head));
    turn(&s);
    assert_int_equal(s.ends, 1);
    assert_string_not_equal(s.why, "");
    finish(&s);
}

TEST(a_frame_in_pieces_arrives_when_its_last_byte_does)
{
    uint8_t bytes[FRAME_HEADER + 4] = {0};
    struct scene s;

    begin(&s, WIRE_CHANNEL_INIT);
    frame_header(bytes, WIRE_SEALED, 4);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        assert_int_equal(s.messages, 0);
        assert_int_equal(send(s.theirs, bytes + i, 1, 0), 1);
        peer_drain(&s.peer);
    }
    assert_int_equal(s.messages, 1);
    finish(&s);
}

TEST(a_stream_that_ends_in_a_frame_is_an_end_without_a_complaint)
{
    uint8_t head[FRAME_HEADER];
    struct scene s;

    begin(&s, WIRE_CHANNEL_INIT);
    frame_header(head, WIRE_SEALED, 4);
    assert_int_equal(send(s.theirs, head, sizeof(head), 0), sizeof(head));
    close_fd(&s.theirs);
    turn(&s);
    assert_int_equal(s.messages, 0);
    assert_int_equal(s.ends, 1);
    assert_string_equal(s.why, "");
    finish(&s);
}

TEST(descriptors_from_a_sandbox_are_closed_at_once)
{
    int gifts[FRAME_FDS];
    struct scene s;
    size_t before;

    for (size_t i = 0; i < FRAME_FDS; i++)
        gifts[i] = STDERR_FILENO;
    begin(&s, WIRE_CHANNEL_KERNEL);
    before = open_descriptors();
    assert_int_equal(frame_send(s.theirs, WIRE_WAITING, NULL, gifts, FRAME_FDS), 0);
    peer_drain(&s.peer);
    assert_int_equal(s.messages, 1);
    assert_int_equal(open_descriptors(), before);
    finish(&s);
}

TEST(pid_1_may_send_one_descriptor_with_its_first_word)
{
    int gifts[2] = {STDERR_FILENO, STDERR_FILENO};
    struct scene s;
    struct pack p;

    pack_init(&p, 4);
    pack_u32(&p, 1);
    begin(&s, WIRE_CHANNEL_INIT);
    s.takes_fd = true;
    assert_int_equal(frame_send(s.theirs, WIRE_SEALED, &p, gifts, 1), 0);
    peer_drain(&s.peer);
    assert_true(s.last_fd >= 0);
    close_fd(&s.last_fd);
    finish(&s);

    begin(&s, WIRE_CHANNEL_INIT);
    s.takes_fd = true;
    assert_int_equal(frame_send(s.theirs, WIRE_SEALED, &p, gifts, 2), 0);
    peer_drain(&s.peer);
    assert_int_equal(s.messages, 1);
    assert_int_equal(s.last_fd, -1);
    finish(&s);
    pack_done(&p);
}

TEST(later_descriptors_of_pid_1_are_closed)
{
    struct scene s;
    struct pack p;
    size_t before;

    begin(&s, WIRE_CHANNEL_INIT);
    before = open_descriptors();
    say(&s, WIRE_SEALED, 4);
    peer_drain(&s.peer);
    pack_init(&p, 64);
    for (int i = 0; i < 5; i++)
        pack_u32(&p, 0);
    assert_int_equal(frame_send(s.theirs, WIRE_EXITED, &p, &(int){STDERR_FILENO}, 1), 0);
    peer_drain(&s.peer);
    assert_int_equal(s.messages, 2);
    assert_int_equal(open_descriptors(), before);
    pack_done(&p);
    finish(&s);
}

TEST(pid_1_may_send_the_descriptors_it_was_asked_for)
{
    int gifts[2] = {STDERR_FILENO, STDERR_FILENO};

    for (size_t n = 1; n <= 2; n++) {
        struct scene s;
        struct pack p;

        begin(&s, WIRE_CHANNEL_INIT);
        say(&s, WIRE_SEALED, 4);
        peer_drain(&s.peer);
        s.takes_fd = true;
        s.peer.awaited_fds = 1;
        pack_init(&p, 64);
        pack_u32(&p, 0);
        assert_int_equal(frame_send(s.theirs, WIRE_CONNECTED, &p, gifts, n), 0);
        peer_drain(&s.peer);
        assert_int_equal(s.messages, 2);
        assert_int_equal(s.last_fd >= 0, n == 1); /* not one more */
        close_fd(&s.last_fd);
        pack_done(&p);
        finish(&s);
    }
}

TEST(a_descriptor_of_the_zygote_is_there_for_its_message)
{
    struct scene s;
    struct pack p;

    begin(&s, WIRE_CHANNEL_ZYGOTE);
    s.peer.state = WIRE_STATE_READY;
    s.takes_fd = true;
    pack_init(&p, 8);
    pack_u64(&p, 1);
    assert_int_equal(frame_send(s.theirs, WIRE_SPAWNED, &p, &(int){STDERR_FILENO}, 1), 0);
    peer_drain(&s.peer);
    assert_int_equal(s.messages, 1);
    assert_true(s.last_fd >= 0);
    close_fd(&s.last_fd);
    pack_done(&p);
    finish(&s);
}

/* Several megabytes into a socket that takes a few hundred kB: the rest goes when the reader has
 * made room, in order and whole, and what is sent meanwhile queues behind it. */
TEST(a_send_that_fills_the_socket_goes_on_later)
{
    size_t len = (size_t)5 << 20, got = 0;
    struct frame_decoder d;
    struct error err = {0};
    struct scene s;
    struct frame f;
    struct pack p;
    uint8_t *data = malloc(65536);
    int frames = 0;

    assert_non_null(data);
    begin(&s, WIRE_CHANNEL_KERNEL);
    pack_init(&p, len);
    for (size_t i = 0; i < len; i++)
        pack_u8(&p, (uint8_t)(i * 31 >> 3));
    assert_int_equal(peer_send(&s.peer, WIRE_RUN, &p, NULL, 0, &err), 0);
    assert_true(s.peer.pending.len > 0); /* else this tests nothing */
    assert_int_equal(peer_send(&s.peer, WIRE_WAITING, NULL, NULL, 0, &err), 0);

    frame_decoder_init(&d);
    while (frames < 2) {
        struct loop_watch *timer;
        long n = recv(s.theirs, data, 65536, MSG_DONTWAIT);
        size_t at = 0;

        if (n < 0) { /* let the peer write on */
            assert_int_equal(errno, EAGAIN);
            timer = loop_timer(s.loop, stop, s.loop);
            loop_timer_start(timer, 1);
            assert_int_equal(loop_run(s.loop, &err), 0);
            loop_watch_free(timer);
            continue;
        }
        got += (size_t)n;
        while (at < (size_t)n) {
            size_t used;
            int r = frame_feed(&d, data + at, (size_t)n - at, &used, &f);

            assert_true(r >= 0);
            at += used;
            if (r != 1)
                continue;
            if (++frames == 1) {
                assert_int_equal(f.len, len);
                assert_memory_equal(f.body, p.data, len);
            } else {
                assert_int_equal(f.type, WIRE_WAITING);
            }
        }
    }
    assert_int_equal(got, len + 2 * FRAME_HEADER);
    turn(&s);
    assert_int_equal(s.peer.pending.len, 0);
    assert_null(s.peer.writer); /* or the loop would spin */
    frame_decoder_done(&d);
    pack_done(&p);
    free(data);
    finish(&s);
}

/* Fills the socket of `s` with a message that waits. */
static void fill(struct scene *s, struct pack *p)
{
    struct error err = {0};

    pack_init(p, (size_t)5 << 20);
    while (p->len < (size_t)4 << 20)
        pack_u64(p, 0);
    assert_int_equal(peer_send(&s->peer, WIRE_RUN, p, NULL, 0, &err), 0);
    assert_true(s->peer.pending.len > 0);
}

TEST(descriptors_do_not_wait_behind_a_full_socket)
{
    struct error err = {0};
    struct scene s;
    struct pack p;

    begin(&s, WIRE_CHANNEL_ZYGOTE);
    fill(&s, &p);
    assert_true(peer_send(&s.peer, WIRE_SPAWN, NULL, &(int){STDERR_FILENO}, 1, &err) < 0);
    assert_error(&err, E_BUSY, "keep up");
    assert_int_equal(s.ends, 0);
    pack_done(&p);
    finish(&s);
}

TEST(what_waits_has_a_ceiling)
{
    struct error err = {0};
    struct scene s;
    struct pack p;
    int sent = 0;

    begin(&s, WIRE_CHANNEL_KERNEL);
    fill(&s, &p);
    while (sent < 40 && peer_send(&s.peer, WIRE_RUN, &p, NULL, 0, &err) == 0)
        sent++;
    assert_true(sent < 40);
    assert_error(&err, E_TOO_LARGE, "");
    pack_done(&p);
    finish(&s);
}

TEST(a_reader_that_goes_away_while_we_send_is_an_end)
{
    struct error err = {0};
    struct scene s;
    struct pack p;

    begin(&s, WIRE_CHANNEL_KERNEL);
    fill(&s, &p);
    close_fd(&s.theirs);
    turn(&s);
    assert_int_equal(s.ends, 1);
    assert_true(peer_send(&s.peer, WIRE_WAITING, NULL, NULL, 0, &err) < 0);
    assert_true(peer_was_gone(&err));
    assert_error(&err, E_SYSTEM, "ended");
    pack_done(&p);
    finish(&s);
}

TEST(sending_to_nobody_is_an_error_and_no_signal)
{
    struct error err = {0};
    struct scene s;

    begin(&s, WIRE_CHANNEL_KERNEL);
    close_fd(&s.theirs);
    assert_true(peer_send(&s.peer, WIRE_WAITING, NULL, NULL, 0, &err) < 0);
    assert_error(&err, E_SYSTEM, "");
    finish(&s);
}

TEST(what_does_not_fit_into_its_type_is_not_sent)
{
    struct error err = {0};
    struct scene s;
    struct pack p;

    begin(&s, WIRE_CHANNEL_KERNEL);
    pack_init(&p, 64);
    pack_u64(&p, 1);
    assert_true(peer_send(&s.peer, WIRE_WAITING, &p, NULL, 0, &err) < 0);
    assert_error(&err, E_TOO_LARGE, "");
    p.failed = true;
    assert_true(peer_send(&s.peer, WIRE_RUN, &p, NULL, 0, &err) < 0);
    assert_error(&err, E_TOO_LARGE, "");
    assert_int_equal(poll(&(struct pollfd){.fd = s.theirs, .events = POLLIN}, 1, 0), 0);
    pack_done(&p);
    finish(&s);
}

TEST(a_peer_that_never_was_can_be_done_with)
{
    struct peer peer = {.fd = -1};

    peer_done(&peer);
    peer_done(&peer);
}

UNIT_MAIN()
