/* Two sides of a link over a pair of sockets; for some tests, one side and this file. */
#include "machine/mux.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit.h"

#define SERVED_MAX 300

static struct mux *host, *machine;
static int served[SERVED_MAX]; /* the machine's ends, in order */
static size_t n_served;
static bool refuses;

static void make_pair(int pair[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
}

static int on_open(void *user)
{
    int pair[2];

    (void)user;
    if (refuses)
        return -1;
    assert_true(n_served < SERVED_MAX);
    make_pair(pair);
    served[n_served++] = pair[0];
    return pair[1];
}

static enum mux_state turn_of(struct mux *mux)
{
    struct pollfd fds[MUX_POLL];
    size_t n = mux_prepare(mux, fds);

    assert_true(poll(fds, n, 0) >= 0);
    return mux_handle(mux, fds, n);
}

static void turn(void)
{
    for (int i = 0; i < 40; i++) {
        assert_int_equal(turn_of(host), MUX_UP);
        assert_int_equal(turn_of(machine), MUX_UP);
    }
}

static struct mux *make_side(enum link_side side, int port, uint64_t epoch)
{
    struct mux *mux = mux_new(
        &(struct mux_options){.side = side, .port = port, .epoch = epoch, .on_open = on_open});

    assert_non_null(mux);
    return mux;
}

static int set_up(void **state)
{
    int pair[2];

    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    n_served = 0;
    refuses = false;
    make_pair(pair);
    host = make_side(LINK_HOST, pair[0], 5);
    machine = make_side(LINK_MACHINE, pair[1], 0);
    turn();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mux_free(host);
    mux_free(machine);
    for (size_t i = 0; i < n_served; i++)
        if (served[i] >= 0)
            (void)close(served[i]);
    return 0;
}

#define MUX_TEST(name) TEST_WITH(name, set_up, tear_down)

/* A client's end of a new connection. */
static int client(void)
{
    int pair[2];

    make_pair(pair);
    assert_int_equal(mux_add(host, pair[1]), 0);
    return pair[0];
}

static void say(int fd, const char *text)
{
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* The bytes that have arrived; "<end>" at the end, "" without any. */
static const char *hear(int fd)
{
    static char text[256];
    ssize_t n = read(fd, text, sizeof(text) - 1);

    if (n == 0)
        return "<end>";
    text[n > 0 ? n : 0] = '\0';
    return text;
}

/* Writes as much as will go through; returns how much. */
static size_t push(int fd, size_t most)
{
    static char bytes[65536];
    size_t all = 0;

    for (int i = 0; i < 200 && all < most; i++) {
        size_t len = most - all < sizeof(bytes) ? most - all : sizeof(bytes);
        ssize_t n;

        memset(bytes, (int)(all / sizeof(bytes)), len);
        n = write(fd, bytes, len);
        all += n > 0 ? (size_t)n : 0;
        turn();
    }
    return all;
}

static size_t pull(int fd)
{
    char bytes[65536];
    size_t all = 0;
    ssize_t n;

    for (int i = 0; i < 200; i++) {
        while ((n = read(fd, bytes, sizeof(bytes))) > 0)
            all += (size_t)n;
        turn();
    }
    return all;
}

MUX_TEST(bytes_go_both_ways)
{
    int a;

    assert_true(mux_is_up(host) && mux_is_up(machine));
    a = client();
    say(a, "ping");
    turn();
    assert_int_equal(n_served, 1);
    assert_string_equal(hear(served[0]), "ping");
    say(served[0], "pong");
    turn();
    assert_string_equal(hear(a), "pong");
    (void)close(a);
}

MUX_TEST(an_end_arrives_on_the_other_side_behind_what_was_sent)
{
    int a = client(), b = client();

    say(a, "first");
    (void)close(a);
    turn();
    say(served[1], "last");
    (void)close(served[1]);
    served[1] = -1;
    turn();
    assert_string_equal(hear(served[0]), "first");
    assert_string_equal(hear(served[0]), "<end>");
    assert_string_equal(hear(b), "last");
    assert_string_equal(hear(b), "<end>");
    (void)close(b);
    assert_int_equal(mux_count(host), 0);
    assert_int_equal(mux_count(machine), 0);
}

MUX_TEST(a_client_that_comes_at_once_after_another_hears_nothing_of_its_answer)
{
    int a = client(), b;

    say(a, "slow");
    turn();
    (void)close(a);
    say(served[0], "the answer to slow");
    b = client();
    say(b, "quick");
    turn();
    assert_int_equal(n_served, 2);
    assert_string_equal(hear(b), "");
    assert_string_equal(hear(served[1]), "quick");
    say(served[1], "the answer to quick");
    turn();
    assert_string_equal(hear(b), "the answer to quick");
    (void)close(b);
}

MUX_TEST(a_connection_whose_reader_sleeps_holds_its_writer_and_nobody_else)
{
    int a = client(), b = client();
    size_t sent = push(a, 4 << 20);

    assert_true(sent >= LINK_WINDOW && sent < 4 << 20);
    say(b, "me too");
    turn();
    assert_string_equal(hear(served[1]), "me too");
    assert_int_equal(pull(served[0]), sent);
    (void)close(a);
    (void)close(b);
}

MUX_TEST(all_of_a_large_answer_arrives_though_its_writer_has_left)
{
    int a = client();
    size_t sent;

    turn();
    sent = push(served[0], 4 << 20);
    (void)close(served[0]);
    served[0] = -1;
    assert_int_equal(pull(a), sent);
    assert_string_equal(hear(a), "<end>");
    (void)close(a);
}

MUX_TEST(a_connection_that_the_machine_refuses_ends)
{
    int a;

    refuses = true;
    a = client();
    turn();
    assert_string_equal(hear(a), "<end>");
    (void)close(a);
}

MUX_TEST(there_is_room_for_so_many_and_then_again)
{
    int clients[MUX_CONNECTIONS], pair[2];

    for (size_t i = 0; i < MUX_CONNECTIONS; i++)
        clients[i] = client();
    turn();
    assert_false(mux_has_room(host));
    make_pair(pair);
    assert_int_equal(mux_add(host, pair[1]), -1);
    (void)close(pair[0]);
    (void)close(pair[1]);
    (void)close(clients[7]);
    turn();
    assert_int_equal(mux_count(machine), MUX_CONNECTIONS - 1);
    assert_true(mux_has_room(host));
    clients[7] = client();
    say(clients[7], "late");
    turn();
    assert_string_equal(hear(served[MUX_CONNECTIONS]), "late");
    for (size_t i = 0; i < MUX_CONNECTIONS; i++)
        (void)close(clients[i]);
}

MUX_TEST(a_machine_that_is_gone_is_told)
{
    int a = client();

    mux_free(machine);
    machine = NULL;
    assert_int_equal(turn_of(host), MUX_GONE);
    mux_free(host);
    host = NULL;
    assert_string_equal(hear(a), "<end>");
    (void)close(a);
}

/* --- one side alone --- */

static int wire_end;

/* This file is the other side of it. */
static void speak_with(enum link_side side)
{
    int pair[2];

    mux_free(host);
    mux_free(machine);
    host = machine = NULL;
    make_pair(pair);
    wire_end = pair[0];
    *(side == LINK_HOST ? &host : &machine) = make_side(side, pair[1], 5);
}

static void send_frame(enum link_type type, uint64_t epoch, uint64_t connection, size_t len,
                       uint32_t credit)
{
    static char payload[LINK_DATA_MAX];
    const struct link_frame frame = {type, epoch, connection, {payload, len}, credit};
    char bytes[LINK_FRAME_MAX];
    size_t size = link_write(&frame, bytes);

    assert_int_equal(write(wire_end, bytes, size), size);
}

static void drain(void)
{
    char bytes[65536];

    while (read(wire_end, bytes, sizeof(bytes)) > 0)
        ;
}

MUX_TEST(a_machine_that_breaks_a_rule_is_told_from_one_that_does_not)
{
    static const struct {
        enum link_type type;
        uint64_t connection;
        size_t len;
        uint32_t credit;
        int times;
        enum mux_state then;
    } rows[] = {
        {LINK_DATA, 1, 100, 0, 1, MUX_UP},
        {LINK_CLOSE, 1, 0, 0, 2, MUX_UP},
        {LINK_DATA, 2, 100, 0, 1, MUX_BROKEN},          /* never opened */
        {LINK_CLOSE, 2, 0, 0, 1, MUX_BROKEN},           /* never opened */
        {LINK_CREDIT, 1, 0, 1, 1, MUX_BROKEN},          /* nothing was sent */
        {LINK_CREDIT, 1, 0, UINT32_MAX, 1, MUX_BROKEN}, /* nor so much */
        {LINK_OPEN, 2, 0, 0, 1, MUX_BROKEN},            /* is the host's */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        enum mux_state now = MUX_UP;
        int a;

        speak_with(LINK_HOST);
        send_frame(LINK_HELLO, 5, 0, 0, 0);
        assert_int_equal(turn_of(host), MUX_UP);
        a = client();
        for (int n = 0; n < rows[i].times; n++)
            send_frame(rows[i].type, 5, rows[i].connection, rows[i].len, rows[i].credit);
        for (int n = 0; n < 4 && now == MUX_UP; n++)
            now = turn_of(host);
        assert_int_equal(now, rows[i].then);
        (void)close(a);
        (void)close(wire_end);
    }
}

MUX_TEST(a_machine_that_sends_more_than_its_window_is_broken)
{
    enum mux_state now = MUX_UP;
    int a;

    speak_with(LINK_HOST);
    send_frame(LINK_HELLO, 5, 0, 0, 0);
    assert_int_equal(turn_of(host), MUX_UP);
    a = client();
    /* The client never reads: its socket takes some, and then the window is all there is. */
    for (int i = 0; i < 200 && now == MUX_UP; i++) {
        send_frame(LINK_DATA, 5, 1, LINK_DATA_MAX, 0);
        now = turn_of(host);
        drain();
    }
    assert_int_equal(now, MUX_BROKEN);
    (void)close(a);
    (void)close(wire_end);
}

MUX_TEST(rubbish_instead_of_an_answer_is_never_an_answer)
{
    static const char rubbish[4096] = "bjlkbjlkbjlk";

    speak_with(LINK_HOST);
    for (int i = 0; i < 100; i++) {
        assert_true(write(wire_end, rubbish, sizeof(rubbish)) > 0);
        assert_int_equal(turn_of(host), MUX_UP);
        assert_false(mux_is_up(host));
        drain();
    }
    (void)close(wire_end);
}

MUX_TEST(a_new_host_ends_what_the_former_one_had)
{
    speak_with(LINK_MACHINE);
    send_frame(LINK_HELLO, 5, 0, 0, 0);
    send_frame(LINK_OPEN, 5, 1, 0, 0);
    send_frame(LINK_DATA, 5, 1, 100, 0);
    assert_int_equal(turn_of(machine), MUX_UP);
    assert_int_equal(mux_count(machine), 1);
    send_frame(LINK_HELLO, 6, 0, 0, 0);
    send_frame(LINK_DATA, 5, 1, 100, 0);
    assert_int_equal(turn_of(machine), MUX_UP);
    assert_int_equal(mux_count(machine), 0);
    assert_int_equal(read(served[0], (char[200]){0}, 200), 100);
    assert_string_equal(hear(served[0]), "<end>");
    send_frame(LINK_OPEN, 6, 1, 0, 0);
    assert_int_equal(turn_of(machine), MUX_UP);
    assert_int_equal(n_served, 2);
    (void)close(wire_end);
}

MUX_TEST(a_number_is_never_used_twice)
{
    speak_with(LINK_MACHINE);
    send_frame(LINK_HELLO, 5, 0, 0, 0);
    send_frame(LINK_OPEN, 5, 2, 0, 0);
    send_frame(LINK_CLOSE, 5, 2, 0, 0);
    send_frame(LINK_OPEN, 5, 2, 0, 0);
    send_frame(LINK_OPEN, 5, 3, 0, 0);
    assert_int_equal(turn_of(machine), MUX_UP);
    assert_int_equal(n_served, 1); /* nothing of that host is taken any more */
    assert_false(mux_is_up(machine));
    (void)close(wire_end);
}

UNIT_MAIN()
