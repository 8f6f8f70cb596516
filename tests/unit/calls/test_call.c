/* A desk between a pipe that the test reads, or does not, and rows that answer now, later or never.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "calls/call.h"
#include "calls/outside.h"
#include "wire/frame.h"

static struct {
    struct loop *loop;
    struct outside outside;
    struct call_desk *desk;
    int theirs;
    struct frame_decoder decoder;
    struct run run;

    struct call *kept[WIRE_CALLS_MAX]; /* that are answered later */
    size_t n_kept;
    unsigned n_cancelled;
    unsigned n_records, n_failures;
    char last_name[WIRE_CALL_NAME_MAX + 1];
    bool record_fails;
} g;

/* --- rows --- */

static void echo(struct call *call)
{
    call_answer(call, json_incref(call->arguments));
}

static void on_cancel(struct call *call)
{
    (void)call;
    g.n_cancelled++;
}

static void keep(struct call *call)
{
    call->on_cancel = on_cancel;
    g.kept[g.n_kept++] = call;
}

static void give_much(struct call *call)
{
    size_t len = (size_t)json_integer_value(json_object_get(call->arguments, "bytes"));
    char *text = calloc(1, len + 1);

    assert_non_null(text);
    memset(text, 'x', len);
    call_answer(call, json_stringn(text, len));
    free(text);
}

static const struct call_field bytes_fields[] = {
    {"bytes", CALL_NUMBER, true},
    {0},
};

static const struct call_row rows[] = {
    {"test.echo", RUN_REACH_STATE, NULL, echo},
    {"test.keep", RUN_REACH_STATE, NULL, keep},
    {"test.much", RUN_REACH_STATE, bytes_fields, give_much},
    {"test.skills", RUN_REACH_SKILLS, NULL, echo},
    {"all.", RUN_REACH_STATE, NULL, echo},
    {0},
};

/* --- the scene --- */

static int record(void *user, const struct call_record *told, struct error *err)
{
    (void)user;
    g.n_records++;
    g.n_failures += told->error->code != E_NONE;
    (void)snprintf(g.last_name, sizeof(g.last_name), "%s", told->name);
    assert_ptr_equal(told->run, &g.run);
    return g.record_fails ? error_set(err, E_SYSTEM, "the disk is full") : 0;
}

static int begin(void **state)
{
    int pair[2];

    (void)state;
    memset(&g, 0, sizeof(g));
    g.loop = loop_new(NULL);
    if (!g.loop || pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    g.theirs = pair[0];
    frame_decoder_init(&g.decoder);
    g.run.terms.reach = RUN_REACH_STATE;
    g.run.terms.profile = "trial";
    g.desk = call_desk_new(&(struct call_desk_options){
        .loop = g.loop, .outside = &g.outside, .fd = pair[1], .record = record, .more = rows});
    return g.desk ? 0 : -1;
}

static int finish(void **state)
{
    (void)state;
    call_desk_free(g.desk);
    frame_decoder_done(&g.decoder);
    close_fd(&g.theirs);
    loop_free(g.loop);
    return 0;
}

static bool ask_text(uint64_t id, struct span name, const char *arguments)
{
    return call_desk_take(g.desk, &g.run, &(struct wire_call){id, name, span_of(arguments)});
}

static bool ask(uint64_t id, const char *name, const char *arguments)
{
    return ask_text(id, span_of(name), arguments);
}

static void stop(void *arg)
{
    loop_stop(arg);
}

/* Lets messages that wait for the pipe have their turn. */
static void turn(void)
{
    struct loop_watch *timer = loop_timer(g.loop, stop, g.loop);

    loop_timer_start(timer, 0);
    assert_int_equal(loop_run(g.loop, NULL), 0);
    loop_watch_free(timer);
}

/* The next reply. Its text is valid until the one after it. */
static struct wire_reply next(void)
{
    struct wire_reply reply = {0};
    struct frame frame;
    uint8_t byte[65536];

    for (;;) {
        size_t want = g.decoder.body && !g.decoder.complete
                          ? g.decoder.body_want - g.decoder.body_len
                          : FRAME_HEADER - (g.decoder.complete ? 0 : g.decoder.head_len);
        ssize_t n = read(g.theirs, byte, want < sizeof(byte) ? want : sizeof(byte));
        struct unpack u;
        size_t used;
        int r;

        if (n < 0 && errno == EAGAIN) {
            turn();
            continue;
        }
        assert_true(n > 0);
        r = frame_feed(&g.decoder, byte, (size_t)n, &used, &frame);
        assert_true(r >= 0);
        if (r == 0)
            continue;
        assert_int_equal(frame.type, WIRE_REPLY);
        unpack_init(&u, frame.body, frame.len);
        assert_true(wire_unpack_reply(&u, &reply));
        return reply;
    }
}

static bool is_silent(void)
{
    struct pollfd p = {.fd = g.theirs, .events = POLLIN};

    turn();
    return poll(&p, 1, 0) == 0;
}

static void gives(uint64_t id, const char *text)
{
    struct wire_reply reply = next();

    assert_int_equal(reply.id, id);
    assert_true(reply.is_ok);
    assert_int_equal(reply.value.len, strlen(text));
    assert_memory_equal(reply.value.data, text, strlen(text));
}

static void refuses(uint64_t id, const char *code, const char *word)
{
    struct wire_reply reply = next();
    json_t *said = json_loadb(reply.value.data, reply.value.len, 0, NULL);

    assert_int_equal(reply.id, id);
    assert_false(reply.is_ok);
    assert_non_null(said);
    assert_string_equal(json_string_value(json_object_get(said, "code")), code);
    assert_contains(json_string_value(json_object_get(said, "message")), word);
    json_decref(said);
}

/* --- tests --- */

TEST_WITH(a_call_is_answered_and_written_down, begin, finish)
{
    assert_true(ask(UINT64_MAX, "test.echo", "{\"a\": [1, \"\\u0000\"]}"));
    gives(UINT64_MAX, "{\"a\":[1,\"\\u0000\"]}");
    assert_int_equal(g.n_records, 1);
    assert_int_equal(g.n_failures, 0);
    assert_string_equal(g.last_name, "test.echo");
}

TEST_WITH(what_is_no_name_is_refused, begin, finish)
{
    static const char *const names[] = {"", " ", "a b", "a/b", "a\n", "\xff", "\"", "é"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        assert_true(ask(i, names[i], "{}"));
        refuses(i, "invalid", "name");
    }
    assert_true(ask_text(1, (struct span){"test.echo\0", 10}, "{}"));
    refuses(1, "invalid", "name");
    assert_string_equal(g.last_name, "?");
    assert_int_equal(g.n_failures, ARRAY_SIZE(names) + 1);
}

TEST_WITH(what_is_not_there_or_not_granted_is_said, begin, finish)
{
    assert_true(ask(1, "test.nothing", "{}"));
    refuses(1, "not_found", "test.nothing");
    assert_true(ask(2, "test.ech", "{}"));
    refuses(2, "not_found", "test.ech");
    assert_true(ask(3, "test.skills", "{}"));
    refuses(3, "denied", "trial");
    g.run.terms.reach = RUN_REACH_SKILLS;
    assert_true(ask(4, "test.skills", "{}"));
    gives(4, "{}");
    assert_true(ask(5, "test.echo", "{}"));
    refuses(5, "denied", "test.echo");
    g.run.terms.reach = 0;
    assert_true(ask(6, "apis.list", "{\"detail\":\"nothing\"}"));
    refuses(6, "invalid", "detail");
}

TEST_WITH(a_row_may_stand_for_many, begin, finish)
{
    assert_true(ask(1, "all.x.y", "{}"));
    gives(1, "{}");
    assert_true(ask(2, "all.", "{}"));
    refuses(2, "not_found", "all.");
    assert_true(ask(3, "all", "{}"));
    refuses(3, "not_found", "all");
}

TEST_WITH(arguments_that_are_none_are_refused, begin, finish)
{
    static const char *const texts[] = {"",
                                        "x",
                                        "[]",
                                        "1",
                                        "{\"bytes\":1}x",
                                        "{\"bytes\":1,\"bytes\":2}",
                                        "{}",
                                        "null",
                                        "{\"bytes\":\"1\"}",
                                        "{\"bytes\":1,\"x\":1}"};

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        assert_true(ask(i, "test.much", texts[i]));
        refuses(i, "invalid", "");
    }
    assert_true(ask(1, "test.much", "{\"bytes\":3}"));
    gives(1, "\"xxx\"");
}

TEST_WITH(answers_may_come_later_and_in_any_order, begin, finish)
{
    assert_true(ask(1, "test.keep", "{}"));
    assert_true(ask(2, "test.keep", "{}"));
    assert_true(is_silent());
    call_answer(g.kept[1], json_integer(2));
    gives(2, "2");
    call_answer(g.kept[0], json_integer(1));
    gives(1, "1");
    assert_int_equal(g.n_records, 2);
}

TEST_WITH(more_at_once_than_the_wire_permits_break_the_rules, begin, finish)
{
    for (uint64_t i = 0; i < WIRE_CALLS_MAX; i++)
        assert_true(ask(i, "test.keep", "{}"));
    assert_false(ask(99, "test.echo", "{}"));
    call_answer(g.kept[0], json_null());
    assert_true(ask(100, "test.echo", "{}"));
}

TEST_WITH(the_end_of_a_run_cancels_what_is_under_way, begin, finish)
{
    assert_true(ask(1, "test.keep", "{}"));
    assert_true(ask(2, "test.keep", "{}"));
    call_desk_end_run(g.desk);
    assert_int_equal(g.n_cancelled, 2);
    assert_int_equal(g.n_failures, 2);
    refuses(2, "busy", "ended");
    refuses(1, "busy", "ended");
    assert_true(ask(3, "test.echo", "{}")); /* the next cell of the same kernel */
    gives(3, "{}");
}

/* Five calls in a turn of the loop that has taken long already. */
static void ask_late(void *arg)
{
    uint64_t began_ns = loop_cpu_ns();

    (void)arg;
    while (loop_cpu_ns() - began_ns < 20000000)
        ;
    for (uint64_t i = 1; i <= 4; i++)
        assert_true(ask(i, "test.echo", "{}"));
    assert_true(ask(5, " ", "{}"));
    assert_int_equal(g.n_records, 0);
    loop_stop(g.loop);
}

static void run_late(void)
{
    struct loop_watch *timer = loop_timer(g.loop, ask_late, NULL);

    loop_timer_start(timer, 0);
    assert_int_equal(loop_run(g.loop, NULL), 0);
    loop_watch_free(timer);
}

TEST_WITH(calls_wait_while_the_loop_is_late, begin, finish)
{
    run_late();
    assert_true(ask(6, "test.echo", "{}")); /* behind those that came before */
    for (uint64_t i = 1; i <= 4; i++)
        gives(i, "{}");
    refuses(5, "invalid", "name");
    gives(6, "{}");
    assert_int_equal(g.n_records, 6);
}

TEST_WITH(calls_that_wait_end_with_their_run, begin, finish)
{
    run_late();
    call_desk_end_run(g.desk);
    assert_int_equal(g.n_failures, 5);
    for (uint64_t i = 5; i >= 1; i--)
        refuses(i, "busy", "ended");
    assert_true(ask(6, "test.echo", "{}"));
    gives(6, "{}");
}

TEST_WITH(the_end_of_the_kernel_does_too, begin, finish)
{
    assert_true(ask(1, "test.keep", "{}"));
    call_desk_free(g.desk);
    g.desk = NULL;
    assert_int_equal(g.n_cancelled, 1);
}

TEST_WITH(what_cannot_be_written_down_is_not_answered, begin, finish)
{
    g.record_fails = true;
    assert_true(ask(1, "test.echo", "{\"secret\":1}"));
    refuses(1, "system", "the disk is full");
}

TEST_WITH(an_answer_that_is_too_large_is_said, begin, finish)
{
    assert_true(ask(1, "test.much", "{\"bytes\":4194304}"));
    refuses(1, "too_large", "4 MiB");
    assert_true(ask(2, "test.much", "{\"bytes\":4000000}"));
    assert_int_equal(next().value.len, 4000002);
}

TEST_WITH(one_that_does_not_read_gets_no_more_than_fits, begin, finish)
{
    size_t n = 0;

    for (uint64_t i = 0; i < 4; i++)
        assert_true(ask(i, "test.much", "{\"bytes\":3000000}"));
    assert_int_equal(next().value.len, 3000002);
    assert_int_equal(next().value.len, 3000002);
    refuses(2, "busy", "wait to be read");
    refuses(3, "busy", "wait to be read");
    for (uint64_t i = 0; i < 3; i++)
        assert_true(ask(i, "test.much", "{\"bytes\":2700000}"));
    while (ask(9, "test.nothing", "{}"))
        assert_true(n++ < LIMIT_CALLS);
    assert_true(n > 0);
}

TEST_WITH(one_that_has_gone_away_costs_nothing, begin, finish)
{
    close_fd(&g.theirs);
    assert_true(ask(1, "test.keep", "{}"));
    assert_true(ask(2, "test.echo", "{}"));
    assert_true(ask(3, "test.echo", "{}"));
    call_answer(g.kept[0], json_null());
    assert_int_equal(g.n_records, 3);
}

TEST_WITH(a_run_makes_so_many_calls_and_the_next_one_as_many, begin, finish)
{
    for (unsigned i = 0; i < LIMIT_CALLS; i++) {
        assert_true(ask(i, "test.echo", "{}"));
        (void)next();
    }
    assert_true(ask(1, "test.echo", "{}"));
    refuses(1, "too_large", "10000");
    assert_int_equal(g.n_records, LIMIT_CALLS); /* in vain is not written down */
    call_desk_end_run(g.desk);
    assert_true(ask(2, "test.echo", "{}"));
    gives(2, "{}");
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    return unit_run(NULL, NULL);
}
