#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "engine/input_pipe.h"

#define PIECE ((size_t)64 * KIB)

/* A program at the other end of the pipe. */
struct scene {
    struct loop *loop;
    struct loop_watch *timer;
    struct buf data;
    struct input_pipe pipe;
    int theirs;
};

static void stop(void *arg)
{
    loop_stop(arg);
}

static void begin(struct scene *s, bool stays_open)
{
    struct error err = {0};

    *s = (struct scene){.theirs = -1, .data = BUF_OF(8 * MIB)};
    s->loop = loop_new(&err);
    s->timer = loop_timer(s->loop, stop, s->loop);
    assert_int_equal(input_pipe_open(&s->pipe, s->loop, &s->data, stays_open, &s->theirs, &err), 0);
}

static void done(struct scene *s)
{
    input_pipe_close(&s->pipe);
    close_fd(&s->theirs);
    loop_watch_free(s->timer);
    loop_free(s->loop);
    buf_done(&s->data);
}

static void turn(struct scene *s)
{
    loop_timer_start(s->timer, 0);
    assert_int_equal(loop_run(s->loop, NULL), 0);
}

static void send_piece(struct scene *s, char c)
{
    static char piece[PIECE];
    struct error err = {0};

    memset(piece, c, sizeof(piece));
    input_pipe_forget(&s->pipe);
    assert_int_equal(buf_add(&s->data, piece, sizeof(piece), &err), 0);
    assert_int_equal(input_pipe_go_on(&s->pipe, &err), 0);
    turn(s);
}

TEST(what_was_written_is_not_kept_for_one_that_is_always_behind)
{
    struct scene s;
    static char got[PIECE];

    begin(&s, true);
    for (int i = 0; i < 4; i++) /* more than a pipe holds */
        send_piece(&s, (char)i);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(read(s.theirs, got, sizeof(got)), sizeof(got));
        assert_int_equal(got[0], (char)i); /* in order, and nothing is lost */
        assert_int_equal(got[sizeof(got) - 1], (char)i);
        send_piece(&s, (char)(i + 4));
        assert_true(input_pipe_waiting(&s.pipe) > 0);
    }
    assert_true(s.data.size <= 16 * PIECE);
    done(&s);
}

TEST(a_pipe_that_is_closed_forgets_nothing)
{
    struct scene s;
    struct error err = {0};

    begin(&s, false);
    assert_int_equal(buf_add(&s.data, "abc", 3, &err), 0);
    turn(&s);
    assert_int_equal(s.pipe.fd, -1); /* all was written, and no more comes */
    input_pipe_forget(&s.pipe);
    assert_int_equal(s.data.len, 3); /* it is the run's, for its record */
    done(&s);
}

UNIT_MAIN()
