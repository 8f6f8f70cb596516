/* Sessions in a machine that answers what a test says, or nothing. The keeper is in this file, and
 * the pool, which has no records. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/stream.h"
#include "engine/masking.h"
#include "unit.h"
#include "vm/calls.h"
#include "vm/inside.h"
#include "vm/internal.h"

#define OK     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
#define OPENED "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"
#define REFUSED                                                                                    \
    "HTTP/1.1 404 Not Found\r\nContent-Length: 47\r\n\r\n"                                         \
    "{\"error\":{\"code\":\"not_found\",\"message\":\"gone\"}}"
#define STREAM                                                                                     \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

/* The answer of a cell: such events in one chunk, and its end unless there is more. Three at once.
 */
static const char *stream(const char *events_text, bool is_whole)
{
    static char texts[3][1024];
    static unsigned next;
    char *text = texts[next++ % 3];

    (void)snprintf(text, sizeof(texts[0]), STREAM "%zx\r\n%s\r\n%s", strlen(events_text),
                   events_text, is_whole ? "0\r\n\r\n" : "");
    return text;
}

#define TEXT   "event: stdout\ndata: {\"text\":\"1\\n\",\"offset\":0}\n\n"
#define START  "event: start\ndata: {\"id\":\"run_1\"}\n\n"
#define RESULT "event: result\ndata: {\"status\":\"success\",\"stdout\":\"1\\n\",\"layers\":[]}\n\n"

/* --- a keeper --- */

#define CONNECTIONS_MAX 128

struct connection {
    int fd; /* the machine's end; -1: it was closed */
    struct keeper_guest *guest;
    struct loop_work giving;
    struct loop_watch *watch;
    int given;
    char seen[8192];
    size_t len;
};

static struct loop *loop;
static struct connection connections[CONNECTIONS_MAX];
static size_t n_connections;
static bool is_up, is_broken;         /* it does not start */
static const char *opening, *execute; /* the answers; NULL: none */
static size_t n_openings, n_cells, n_interrupts, n_restarts, n_deletes, n_ends;
static bool breaks_off; /* the connection of a cell ends behind its answer */
static void (*on_end)(void *user);
static void *on_end_user;

static void hang_up(struct connection *c)
{
    loop_watch_free(take_ptr(c->watch));
    if (c->fd >= 0)
        (void)close(c->fd);
    c->fd = -1;
}

static void say(struct connection *c, const char *text)
{
    if (text)
        assert_int_equal(write(c->fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void answer(struct connection *c)
{
    if (strncmp(c->seen, "POST /v1/sessions HTTP", 22) == 0) {
        n_openings++;
        say(c, opening);
    } else if (strncmp(c->seen, "DELETE /v1/sessions/vms_", 24) == 0) {
        n_deletes++;
        say(c, OK);
    } else if (strstr(c->seen, "/execute HTTP")) {
        n_cells++;
        say(c, execute);
        if (breaks_off)
            hang_up(c);
    } else if (strstr(c->seen, "/interrupt HTTP")) {
        n_interrupts++;
        say(c, OK);
    } else if (strstr(c->seen, "/restart HTTP")) {
        n_restarts++;
        say(c, OK);
    }
}

static void on_bytes(void *arg)
{
    struct connection *c = arg;
    ssize_t n = read(c->fd, c->seen + c->len, sizeof(c->seen) - 1 - c->len);
    const char *length, *end;

    if (n <= 0) {
        hang_up(c);
        return;
    }
    c->len += (size_t)n;
    end = strstr(c->seen, "\r\n\r\n");
    length = strstr(c->seen, "Content-Length: ");
    if (end && (!length || c->len >= (size_t)(end + 4 - c->seen) + strtoul(length + 16, NULL, 10)))
        answer(c);
}

static void refuse_guest(struct connection *c)
{
    struct keeper_guest *guest = take_ptr(c->guest);
    cleanup_error struct error err = {0};

    (void)close(c->given);
    hang_up(c);
    guest->is_waiting = false;
    error_set(&err, E_UNSUPPORTED, "the virtual machine of this server does not start");
    on_end(on_end_user);
    guest->on_connection(guest, -1, &err);
}

static void give(void *arg)
{
    struct connection *c = arg;
    struct keeper_guest *guest = c->guest;

    if (is_broken) {
        refuse_guest(c);
        return;
    }

    guest->is_waiting = false;
    c->guest = NULL;
    c->watch = loop_watch_fd(loop, c->fd, LOOP_READ, on_bytes, c);
    guest->on_connection(guest, c->given, NULL);
}

void keeper_ask(struct keeper *keeper, struct keeper_guest *guest)
{
    struct connection *c = &connections[n_connections++];
    int pair[2];

    (void)keeper;
    assert_true(n_connections < CONNECTIONS_MAX);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    *c = (struct connection){.fd = pair[0], .given = pair[1], .guest = guest};
    guest->is_waiting = true;
    loop_work_post(loop, &c->giving, give, c);
}

void keeper_leave(struct keeper *keeper, struct keeper_guest *guest)
{
    (void)keeper;
    for (size_t i = 0; i < n_connections; i++)
        if (connections[i].guest == guest) {
            loop_work_cancel(&connections[i].giving);
            (void)close(connections[i].given);
            hang_up(&connections[i]);
            connections[i].guest = NULL;
        }
}

static void end_machine(void)
{
    n_ends++;
    on_end(on_end_user);
    for (size_t i = 0; i < n_connections; i++)
        hang_up(&connections[i]);
}

void keeper_end(struct keeper *keeper)
{
    (void)keeper;
    end_machine();
}

bool keeper_is_up(const struct keeper *keeper)
{
    (void)keeper;
    return is_up;
}

void keeper_on_end(struct keeper *keeper, void (*fn)(void *user), void *user)
{
    (void)keeper;
    on_end = fn;
    on_end_user = user;
}

int keeper_new(struct loop *l, const struct config *config, struct cgroup_host *cgroups,
               struct keeper **ret_keeper, struct error *err)
{
    (void)l;
    (void)config;
    (void)cgroups;
    (void)ret_keeper;
    return error_memory(err);
}

void keeper_start(struct keeper *keeper)
{
    (void)keeper;
}

void keeper_free(struct keeper *keeper)
{
    (void)keeper;
}

int keeper_check_grants(const struct keeper *keeper, const struct run_terms *terms,
                        struct error *err)
{
    (void)keeper;
    (void)terms;
    (void)err;
    return 0;
}

bool keeper_stop(struct keeper *keeper)
{
    (void)keeper;
    return false;
}

void keeper_facts(const struct keeper *keeper, struct keeper_facts *ret_facts)
{
    (void)keeper;
    *ret_facts = (struct keeper_facts){.state = KEEPER_DOWN};
}

int keeper_log(const struct keeper *keeper, struct buf *out, struct error *err)
{
    (void)keeper;
    (void)out;
    (void)err;
    return 0;
}

/* --- a pool --- */

void pool_finish(struct pool *pool, struct run *run)
{
    (void)pool;
    (void)run;
}

int pool_record_call(const struct pool *pool, const struct call_record *call, struct error *err)
{
    (void)pool;
    (void)call;
    (void)err;
    return 0;
}

/* --- a scene --- */

struct scene {
    struct exchanges *all;
    const struct elsewhere *elsewhere;
    struct masks *masks;
    struct run_terms terms;
    struct away *away;
    struct run *cell;
    size_t opened, told, done, restarted, gone;
    enum error_code why;
    bool ended_with_cell, closes_in_event;
};

static void on_open(void *owner)
{
    ((struct scene *)owner)->opened++;
}

static void on_done(void *owner, struct run *cell)
{
    struct scene *s = owner;

    assert_ptr_equal(cell, s->cell);
    s->done++;
}

static void on_restarted(void *owner)
{
    ((struct scene *)owner)->restarted++;
}

static void on_gone(void *owner, struct run *cell, struct error *err)
{
    struct scene *s = owner;

    s->gone++;
    s->away = NULL;
    s->why = err->code;
    s->ended_with_cell = cell != NULL;
}

static const struct away_events events = {
    .on_open = on_open, .on_done = on_done, .on_restarted = on_restarted, .on_gone = on_gone};

static void stop(void *arg)
{
    (void)arg;
    loop_stop(loop);
}

/* Lets happen what can. */
static void settle(unsigned ms)
{
    struct loop_watch *timer = loop_timer(loop, stop, NULL);

    loop_timer_start(timer, ms);
    assert_int_equal(loop_run(loop, NULL), 0);
    loop_watch_free(timer);
}

/* Until `*count` is `n`, or it takes too long. */
static void wait_for(const size_t *count, size_t n)
{
    for (int i = 0; *count != n && i < 2000; i++)
        settle(2);
    assert_int_equal(*count, n);
}

static void begin(struct scene *s)
{
    struct away_order order = {.terms = &s->terms, .idle_ms = 1000};

    *s = (struct scene){.masks = masks_new(NULL, NULL, NULL)};
    loop = loop_new(NULL);
    n_connections = n_openings = n_cells = n_interrupts = n_restarts = n_deletes = n_ends = 0;
    is_up = true;
    breaks_off = is_broken = false;
    opening = OPENED;
    execute = NULL;
    s->all = exchanges_new();
    assert_non_null(s->all);
    s->all->loop = loop;
    s->all->masks = s->masks;
    keeper_on_end(NULL, (void (*)(void *))away_lose_all, s->all);
    s->elsewhere = exchanges_elsewhere(s->all);
    run_terms_init(&s->terms);
    s->terms.profile = "standard";
    s->away = s->elsewhere->open(s->elsewhere->user, &order, &events, s);
    assert_non_null(s->away);
}

static void on_told(struct run *run, const struct run_event *event)
{
    struct scene *s = run->user;

    (void)event;
    s->told++;
    if (s->closes_in_event && s->away)
        s->elsewhere->close(s->away);
}

static void submit(struct scene *s)
{
    s->cell = run_new();
    assert_non_null(s->cell);
    (void)snprintf(s->cell->origin.session, sizeof(s->cell->origin.session), "ses_1");
    s->cell->masks = s->masks;
    s->cell->user = s;
    s->cell->on_event = on_told;
    (void)buf_add_str(&s->cell->program.code, "print(1)", NULL);
    s->elsewhere->cell(s->away, s->cell);
}

static void finish(struct scene *s)
{
    if (s->away) {
        s->elsewhere->close(s->away);
        s->elsewhere->settle(s->elsewhere->user);
    }
    assert_int_equal(s->gone, 1);
    exchanges_free(s->all);
    for (size_t i = 0; i < n_connections; i++)
        hang_up(&connections[i]);
    run_free(s->cell);
    masks_free(s->masks);
    run_terms_done(&s->terms);
    loop_free(loop);
}

/* --- tests --- */

TEST(a_session_opens_takes_a_cell_and_is_deleted_inside)
{
    struct scene s;

    begin(&s);
    wait_for(&s.opened, 1);
    assert_non_null(strstr(connections[0].seen, "\"name\":\"vms_"));
    execute = stream(TEXT RESULT, true);
    submit(&s);
    wait_for(&s.done, 1);
    if (s.cell->result.error.code != E_NONE)
        print_message("%s\n", s.cell->result.error.message);
    assert_int_equal(s.cell->result.error.code, E_NONE);
    assert_int_equal(s.cell->result.out.total, 2);
    s.elsewhere->close(s.away);
    wait_for(&s.gone, 1);
    assert_int_equal(s.why, E_NONE);
    wait_for(&n_deletes, 1);
    finish(&s);
}

TEST(a_refused_session_says_why)
{
    struct scene s;

    begin(&s);
    opening = REFUSED;
    wait_for(&s.gone, 1);
    assert_int_equal(s.opened, 0);
    assert_int_equal(s.why, E_NOT_FOUND);
    settle(5);
    assert_int_equal(n_deletes, 0);
    finish(&s);
}

TEST(a_session_that_is_closed_while_it_opens_is_deleted_behind_that)
{
    struct scene s;

    begin(&s);
    opening = NULL;
    wait_for(&n_openings, 1);
    s.elsewhere->close(s.away);
    wait_for(&s.gone, 1);
    assert_int_equal(n_deletes, 0);
    say(&connections[0], OPENED);
    wait_for(&n_deletes, 1);
    assert_int_equal(s.opened, 0);
    finish(&s);
}

TEST(a_close_ends_the_cell_that_runs)
{
    struct scene s;

    begin(&s);
    wait_for(&s.opened, 1);
    submit(&s);
    wait_for(&n_cells, 1);
    s.elsewhere->close(s.away);
    wait_for(&s.gone, 1);
    assert_true(s.ended_with_cell);
    assert_int_equal(s.done, 0);
    wait_for(&n_deletes, 1);
    finish(&s);
}

TEST(a_session_may_be_closed_from_within_an_event)
{
    struct scene s;

    begin(&s);
    wait_for(&s.opened, 1);
    s.closes_in_event = true;
    execute = stream(TEXT ":\n\n", false);
    submit(&s);
    wait_for(&s.gone, 1);
    assert_true(s.ended_with_cell);
    finish(&s);
}

TEST(what_breaks_the_rules_ends_its_cell_and_not_the_session)
{
    static const char *const bad_events[] = {
        "event",
        TEXT,
        RESULT RESULT,
        RESULT "event: ",
        "event: evil\ndata: {\"a\":1}\n\n" RESULT,
        "event: stdout\ndata: 1\n\n" RESULT,
        "event: call\ndata: {\"call\":1,\"name\":\"state.list\",\"arguments\":{}}\n\n" RESULT,
        "event: start\ndata: {\"id\":\"run_1/../x\"}\n\n" RESULT,
        START START RESULT,
        START "event: call\ndata: {\"call\":0,\"name\":\"a\",\"arguments\":{}}\n\n" RESULT,
        START "event: call\ndata: {\"call\":1,\"name\":\"a\",\"arguments\":[]}\n\n" RESULT,
    };
    static const char *const bad[] = {
        "rubbish\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}!",
        STREAM "0\r\n\r\n",
        STREAM "zz\r\n",
    };
    struct scene s;

    begin(&s);
    wait_for(&s.opened, 1);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        execute = bad[i];
        submit(&s);
        wait_for(&s.done, i + 1);
        assert_int_not_equal(s.cell->result.error.code, E_NONE);
        run_free(take_ptr(s.cell));
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad_events); i++) {
        execute = stream(bad_events[i], true);
        submit(&s);
        wait_for(&s.done, ARRAY_SIZE(bad) + i + 1);
        assert_int_not_equal(s.cell->result.error.code, E_NONE);
        run_free(take_ptr(s.cell));
    }
    assert_int_equal(s.gone, 0);
    finish(&s);
}

TEST(a_connection_that_breaks_off_is_an_error_of_its_cell)
{
    struct scene s;

    begin(&s);
    wait_for(&s.opened, 1);
    breaks_off = true;
    execute = stream("event", false);
    submit(&s);
    wait_for(&s.done, 1);
    assert_int_equal(s.cell->result.error.code, E_SYSTEM);
    finish(&s);
}

TEST(a_session_that_is_not_there_any_more_ends)
{
    struct scene s;

    begin(&s);
    wait_for(&s.opened, 1);
    execute = REFUSED;
    submit(&s);
    wait_for(&s.done, 1);
    wait_for(&s.gone, 1);
    assert_int_equal(s.cell->result.error.code, E_NOT_FOUND);
    assert_false(s.ended_with_cell);
    finish(&s);
}

TEST(sessions_are_lost_with_their_machine)
{
    struct scene s;

    begin(&s);
    wait_for(&s.opened, 1);
    submit(&s);
    wait_for(&n_cells, 1);
    is_up = false;
    end_machine();
    wait_for(&s.gone, 1);
    assert_int_equal(s.why, E_LOST);
    settle(5);
    assert_int_equal(n_deletes, 0);
    finish(&s);
}

TEST(a_session_whose_machine_does_not_start_hears_why)
{
    struct scene s;

    begin(&s);
    is_broken = true;
    wait_for(&s.gone, 1);
    assert_int_equal(s.why, E_UNSUPPORTED);
    finish(&s);
}

TEST(a_session_that_opens_while_its_machine_ends_is_not_a_lost_one)
{
    struct scene s;

    begin(&s);
    opening = NULL;
    wait_for(&n_openings, 1);
    end_machine();
    wait_for(&s.gone, 1);
    assert_int_equal(s.why, E_SYSTEM);
    assert_int_equal(s.opened, 0);
    finish(&s);
}

TEST(the_machine_does_not_decide_who_may_use_the_server)
{
    struct scene s;

    begin(&s);
    opening = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 42\r\n\r\n"
              "{\"error\":{\"code\":\"auth\",\"message\":\"gone\"}}";
    wait_for(&s.gone, 1);
    assert_int_equal(s.why, E_PROTOCOL);
    finish(&s);
}

/* More of the answer of the first cell: so many calls, from number `first` on. */
static void say_calls(unsigned first, unsigned n)
{
    char text[4096] = "", chunk[sizeof(text) + 32];
    size_t len = 0;

    for (unsigned i = first; i < first + n; i++)
        len += (size_t)snprintf(
            text + len, sizeof(text) - len,
            "event: call\ndata: {\"call\":%u,\"name\":\"a\",\"arguments\":{}}\n\n", i);
    (void)snprintf(chunk, sizeof(chunk), "%zx\r\n%s\r\n", len, text);
    say(&connections[1], chunk);
}

TEST(a_machine_that_takes_no_answers_may_not_go_on_calling)
{
    struct scene s;

    begin(&s);
    wait_for(&s.opened, 1);
    execute = stream(START, false);
    submit(&s);
    wait_for(&n_cells, 1);
    for (unsigned first = 1; first < 60; first += 10) {
        say_calls(first, 10);
        wait_for(&n_connections, 1 + 1 + first - 1 + 10);
    }
    assert_int_equal(s.done, 0);
    say_calls(61, 10);
    wait_for(&s.done, 1);
    assert_int_equal(s.cell->result.error.code, E_PROTOCOL);
    finish(&s);
}

TEST(a_run_has_so_many_calls_and_no_more)
{
    static const char call[] = "{\"call\":1,\"name\":\"a\",\"arguments\":{}}";
    struct calls calls = {.inside = "run_1", .n_calls = LIMIT_CALLS};
    cleanup_error struct error err = {0};

    LIST_INIT(&calls.replies);
    assert_int_equal(calls_take(&calls, call, strlen(call), &err), -1);
    assert_int_equal(err.code, E_PROTOCOL);
    calls_done(&calls);
}

TEST(only_python_calls_functions)
{
    struct scene s;

    begin(&s);
    wait_for(&s.opened, 1);
    execute = stream(START, false);
    submit(&s);
    s.cell->program.language = RUN_BASH;
    wait_for(&n_cells, 1);
    say(&connections[1],
        "41\r\nevent: call\ndata: {\"call\":1,\"name\":\"state.list\",\"arguments\":{}}\n\n\r\n");
    wait_for(&n_connections, 3);
    settle(20);
    assert_non_null(strstr(connections[2].seen, "is for Python cells"));
    finish(&s);
}

TEST(an_interrupt_is_tried_again_until_the_cell_ends)
{
    struct scene s;

    begin(&s);
    wait_for(&s.opened, 1);
    submit(&s);
    wait_for(&n_cells, 1);
    s.elsewhere->interrupt(s.away);
    s.elsewhere->interrupt(s.away);
    wait_for(&n_interrupts, 1);
    settle(5);
    assert_int_equal(n_interrupts, 1);
    finish(&s);
}

TEST(a_restart_is_answered_once)
{
    struct scene s;

    begin(&s);
    wait_for(&s.opened, 1);
    s.elsewhere->restart(s.away, RUN_PYTHON);
    wait_for(&s.restarted, 1);
    assert_int_equal(n_restarts, 1);
    assert_int_equal(s.gone, 0);
    finish(&s);
}

TEST(a_held_cell_is_not_read)
{
    struct scene s;

    begin(&s);
    wait_for(&s.opened, 1);
    submit(&s);
    wait_for(&n_cells, 1);
    s.elsewhere->hold(s.elsewhere->user, s.cell, true);
    say(&connections[1], stream(TEXT, false));
    settle(20);
    assert_int_equal(s.cell->result.out.total, 0);
    s.elsewhere->hold(s.elsewhere->user, s.cell, false);
    wait_for(&s.told, 1);
    assert_int_equal(s.cell->result.out.total, 2);
    finish(&s);
}

struct reader {
    size_t failed;
    enum error_code code;
    bool has_words;
};

static void on_file_failed(void *user, const struct error *err)
{
    struct reader *reader = user;

    reader->failed++;
    reader->code = err->code;
    reader->has_words = strstr(error_message(err), "has ended") != NULL;
}

TEST(a_file_that_cannot_be_asked_for_says_why)
{
    static const struct away_file_events file_events = {.on_failed = on_file_failed};
    struct reader reader = {0};
    const struct away_file_order order = {
        .method = "GET", .target = "/files/a", .events = &file_events, .user = &reader};
    struct scene s;

    begin(&s);
    wait_for(&s.opened, 1);
    is_up = false;
    assert_non_null(s.elsewhere->file(s.away, &order));
    wait_for(&reader.failed, 1);
    assert_int_equal(reader.code, E_SYSTEM);
    assert_true(reader.has_words);
    finish(&s);
}

UNIT_MAIN()
