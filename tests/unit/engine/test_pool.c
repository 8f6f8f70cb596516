/* The interpreter is cold, so that it is quick. */
#include "unit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/stream.h"
#include "engine/box.h"
#include "engine/pool_internal.h"
#include "engine/scene.h"
#include "engine/session_internal.h"

/* --- memory as the pool sees it; "" is the truth --- */

static const char *meminfo = "";

int __real_file_read(int dirfd, const char *path, char *text, size_t size);
int __wrap_file_read(int dirfd, const char *path, char *text, size_t size);

int __wrap_file_read(int dirfd, const char *path, char *text, size_t size)
{
    if (*meminfo && strcmp(path, "/proc/meminfo") == 0)
        return snprintf(text, size, "%s", meminfo);
    return __real_file_read(dirfd, path, text, size);
}

/* --- no memory, for the next allocation of that size --- */

static size_t missing_size;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
    if (missing_size && n * size == missing_size) {
        missing_size = 0;
        return NULL;
    }
    return __real_calloc(n, size);
}

#define MEMORY_PLENTY "MemTotal: 1000000 kB\nMemFree: 1 kB\nMemAvailable: 900000 kB\n"
#define MEMORY_TIGHT  "MemTotal: 1000000 kB\nMemFree: 1 kB\nMemAvailable: 50000 kB\n"

static bool all_have_printed(struct scene *s)
{
    for (size_t i = 0; i < s->n_tickets; i++)
        if (!s->tickets[i].out_len)
            return false;
    return true;
}

/* The whole line: Python writes its end by itself. */
static bool all_have_printed_a_line(struct scene *s)
{
    for (size_t i = 0; i < s->n_tickets; i++)
        if (!strchr(s->tickets[i].out, '\n'))
            return false;
    return true;
}

static bool first_has_printed(struct scene *s)
{
    return strchr(s->tickets[0].out, '\n') != NULL;
}

static bool one_is_being_made(struct scene *s)
{
    return scene_level(s).making == 1 && scene_level(s).queued == 0;
}

static bool pool_is_quiet(struct scene *s)
{
    return scene_all_done(s) && scene_level(s).active == 0 && scene_level(s).making == 0;
}

#define SLEEP "import time; print('on', flush=True); time.sleep(60)"

/* --- where sandboxes come from --- */

IN_SCENE(a_run_takes_a_finished_sandbox_and_the_stock_is_filled_again, .size = 2)
{
    scene_wait(s, scene_stock_is_full);
    assert_int_equal(scene_level(s).made, 2);
    scene_submit(s, "print(6 * 7)");
    assert_int_equal(scene_level(s).active, 1); /* at once: nothing had to be made */
    scene_wait(s, scene_all_done);
    scene_assert_ran(&s->tickets[0], "42\n");
    scene_wait(s, scene_stock_is_full);
    assert_int_equal(scene_level(s).made, 3);
}

IN_SCENE(without_a_stock_sandboxes_are_made_when_asked_for, 0)
{
    for (int i = 0; i < 3; i++)
        scene_submit(s, "print('hi')");
    scene_wait(s, pool_is_quiet);
    for (int i = 0; i < 3; i++)
        scene_assert_ran(&s->tickets[i], "hi\n");
    assert_int_equal(scene_level(s).made, 3);
    assert_int_equal(scene_level(s).idle, 0);
}

IN_SCENE(a_run_with_another_disk_gets_one_made_to_order, .size = 1)
{
    struct run *run;

    scene_wait(s, scene_stock_is_full);
    run =
        scene_prepare(s, "import os; v = os.statvfs('/workspace'); print(v.f_blocks * v.f_frsize)");
    run->terms.limits.disk_bytes = 3 << 20;
    pool_submit(s->pool, run);
    assert_int_equal(scene_level(s).idle, 1);
    scene_wait(s, scene_all_done);
    scene_assert_ran(&s->tickets[0], "3145728\n");
}

/* --- two kinds of sandboxes --- */

static char *preload[] = {"colorsys"};

#define TWO_KINDS .environment = {.warm = true, .preload = preload, .n_preload = 1}

/* In two words, so that the program is not taken for one that needs it. */
#define HAS_MODULE "import sys; print('color' + 'sys' in sys.modules)"

IN_SCENE(a_program_gets_the_modules_that_it_names, .size = 2, TWO_KINDS)
{
    scene_wait(s, scene_stock_is_full);
    assert_int_equal(s->pool->stocks[STOCK_FULL].n_idle, 1);
    assert_int_equal(s->pool->stocks[STOCK_BARE].n_idle, 1);
    scene_submit(s, HAS_MODULE);
    scene_submit(s, HAS_MODULE " # colorsys");
    assert_int_equal(scene_level(s).active, 2); /* each from its stock */
    scene_wait(s, scene_all_done);
    scene_assert_ran(&s->tickets[0], "False\n");
    scene_assert_ran(&s->tickets[1], "True\n");
}

IN_SCENE(a_bare_sandbox_can_import_all_the_same, 0, TWO_KINDS)
{
    scene_submit(s, "m = __import__('color' + 'sys'); print(m.rgb_to_hsv(0, 0, 0))");
    scene_wait(s, scene_all_done);
    scene_assert_ran(&s->tickets[0], "(0.0, 0.0, 0)\n");
}

static size_t wanted(const struct scene *s, enum stock_kind kind)
{
    return stock_wanted(s->pool, &s->pool->stocks[kind]);
}

/* Nothing has to run for it. */
static void order_many(struct scene *s, bool is_bare)
{
    for (int i = 0; i < 1000; i++)
        pool_learn_mix(s->pool, &(struct pool_order){.is_bare = is_bare});
}

static bool bare_stock_is_small(struct scene *s)
{
    return s->pool->stocks[STOCK_BARE].n_idle == 1 && s->pool->stocks[STOCK_FULL].n_idle == 3;
}

IN_SCENE(the_stock_follows_the_mix_of_programs, .size = 4, TWO_KINDS)
{
    assert_int_equal(wanted(s, STOCK_BARE), 2);
    order_many(s, true);
    assert_int_equal(wanted(s, STOCK_BARE), 3);
    assert_int_equal(wanted(s, STOCK_FULL), 1);
    scene_wait(s, scene_stock_is_full);
    order_many(s, false);
    assert_int_equal(wanted(s, STOCK_FULL), 3);
    scene_wait(s, bare_stock_is_small); /* what is too much goes, too */
}

static pid_t zygote_pid(const struct scene *s, enum stock_kind kind)
{
    const struct zygote_client *zygote = s->pool->stocks[kind].zygotes[0];

    return zygote && zygote_client_is_ready(zygote) ? zygote_client_pid(zygote) : -1;
}

IN_SCENE(each_kind_gets_its_zygote_back, .size = 2, TWO_KINDS)
{
    pid_t full, bare;

    scene_wait(s, scene_stock_is_full);
    full = zygote_pid(s, STOCK_FULL);
    bare = zygote_pid(s, STOCK_BARE);
    assert_true(full > 0 && bare > 0 && full != bare);
    assert_int_equal(kill(bare, SIGKILL), 0);
    scene_submit(s, "import time; time.sleep(0.01); print('hi') # colorsys");
    scene_wait(s, scene_all_done);
    scene_assert_ran(&s->tickets[0], "hi\n");
    scene_wait(s, scene_stock_is_full);
    assert_int_equal(zygote_pid(s, STOCK_FULL), full);
    assert_int_not_equal(zygote_pid(s, STOCK_BARE), bare);
}

static bool all_zygotes_are_ready(struct scene *s)
{
    const struct stock *stock = &s->pool->stocks[STOCK_FULL];

    for (size_t i = 0; i < stock->n_zygotes; i++)
        if (!stock->zygotes[i] || !zygote_client_is_ready(stock->zygotes[i]))
            return false;
    return true;
}

IN_SCENE(zygotes_of_a_kind_take_turns, .size = 4, .zygotes = 2)
{
    struct zygote_client *const *zygotes = s->pool->stocks[STOCK_FULL].zygotes;

    scene_wait(s, all_zygotes_are_ready);
    scene_wait(s, scene_stock_is_full);
    for (int i = 0; i < 8; i++)
        scene_submit(s, "print('hi')");
    scene_wait(s, scene_all_done);
    for (int i = 0; i < 8; i++)
        scene_assert_ran(&s->tickets[i], "hi\n");
    assert_true(zygote_client_spawned(zygotes[0]) > 0);
    assert_true(zygote_client_spawned(zygotes[1]) > 0);
}

static pid_t killed;

static bool its_end_is_known(struct scene *s)
{
    const struct zygote_client *first = s->pool->stocks[STOCK_FULL].zygotes[0];

    return !first || zygote_client_pid(first) != killed;
}

IN_SCENE(a_zygote_that_dies_leaves_the_others_at_work, .size = 2, .zygotes = 2)
{
    struct zygote_client *const *zygotes = s->pool->stocks[STOCK_FULL].zygotes;
    pid_t other;

    scene_wait(s, all_zygotes_are_ready);
    scene_wait(s, scene_stock_is_full);
    other = zygote_client_pid(zygotes[1]);
    killed = zygote_client_pid(zygotes[0]);
    assert_int_equal(kill(killed, SIGKILL), 0);
    scene_wait(s, its_end_is_known); /* a run in one of its sandboxes would be lost */
    scene_submit(s, "print('hi')");
    scene_wait(s, scene_all_done);
    scene_assert_ran(&s->tickets[0], "hi\n");
    scene_wait(s, all_zygotes_are_ready);
    assert_int_equal(zygote_client_pid(zygotes[1]), other);
}

/* One at a time, as a steady stream of runs has them made. */
IN_SCENE(zygotes_of_a_kind_make_equally_many, .size = 1, .zygotes = 2)
{
    struct zygote_client *const *zygotes = s->pool->stocks[STOCK_FULL].zygotes;
    uint64_t first, second;

    scene_wait(s, all_zygotes_are_ready);
    scene_wait(s, scene_stock_is_full);
    for (int i = 0; i < 6; i++) {
        scene_submit(s, "print('hi')");
        scene_wait(s, scene_all_done);
        scene_wait(s, scene_stock_is_full);
    }
    /* Looking whose turn it is takes it from nobody. */
    assert_ptr_equal(pool_next_zygote(&s->pool->stocks[STOCK_FULL]),
                     pool_next_zygote(&s->pool->stocks[STOCK_FULL]));
    first = zygote_client_spawned(zygotes[0]);
    second = zygote_client_spawned(zygotes[1]);
    assert_true(first <= second + 1 && second <= first + 1);
}

IN_SCENE(a_zygote_that_does_not_start_fails_no_run_of_the_others, .zygotes = 2, .max_active = 1)
{
    struct zygote_client *const *zygotes = s->pool->stocks[STOCK_FULL].zygotes;

    scene_wait(s, all_zygotes_are_ready);
    killed = zygote_client_pid(zygotes[0]);
    assert_int_equal(kill(killed, SIGKILL), 0);
    scene_wait(s, its_end_is_known);
    scene_submit(s, "import time; time.sleep(0.5); print('hi')");
    scene_submit(s, "print('hi')"); /* waits */
    killed = zygote_client_pid(zygotes[0]);
    assert_false(zygote_client_is_ready(zygotes[0]));
    assert_int_equal(kill(killed, SIGKILL), 0);
    scene_wait(s, its_end_is_known);
    scene_wait(s, scene_all_done);
    scene_assert_ran(&s->tickets[0], "hi\n");
    scene_assert_ran(&s->tickets[1], "hi\n");
}

/* All were started at once and grow old at once. */
IN_SCENE(old_zygotes_are_replaced_one_after_the_other, .size = 4, .zygotes = 2)
{
    scene_wait(s, all_zygotes_are_ready);
    scene_wait(s, scene_stock_is_full);
    s->pool->options.zygote_max_ms = 1;
    pool_recycle(s->pool);
    s->pool->options.zygote_max_ms = 0;
    assert_true(zygote_client_is_ready(pool_next_zygote(&s->pool->stocks[STOCK_FULL])));
    assert_false(all_zygotes_are_ready(s));
    scene_submit(s, "print('hi')");
    scene_wait(s, scene_all_done);
    scene_wait(s, all_zygotes_are_ready);
}

static bool is_active_beyond_two(struct scene *s)
{
    assert_true(scene_level(s).active <= 2);
    return scene_all_done(s);
}

IN_SCENE(no_more_runs_are_on_at_once_than_allowed, .max_active = 2)
{
    scene_wait(s, scene_zygote_is_ready);
    for (int i = 0; i < 6; i++)
        scene_submit(s, "import time; time.sleep(0.05); print('hi')");
    scene_wait(s, is_active_beyond_two);
    for (int i = 0; i < 6; i++)
        scene_assert_ran(&s->tickets[i], "hi\n");
}

/* --- cancelling --- */

static void assert_cancelled(const struct scene_ticket *t)
{
    assert_int_equal(t->done, 1);
    assert_int_equal(t->run->result.error.code, E_NONE);
    assert_string_equal(run_status_name(t->run->result.status), "cancelled");
    assert_int_equal(t->run->result.exit_code, 130);
}

IN_SCENE(a_run_that_waits_can_be_cancelled, .max_active = 1)
{
    struct run *run;

    scene_submit(s, "print('hi')");
    run = scene_submit(s, "print('never')");
    assert_int_equal(scene_level(s).queued, 1);
    pool_cancel(s->pool, run);
    assert_int_equal(s->tickets[1].done, 0); /* never while the caller is still at it */
    scene_wait(s, pool_is_quiet);
    assert_cancelled(&s->tickets[1]);
    scene_assert_ran(&s->tickets[0], "hi\n");
    assert_string_equal(s->tickets[1].out, "");
}

IN_SCENE(a_run_whose_sandbox_is_being_made_can_be_cancelled, 0)
{
    struct run *run;

    scene_wait(s, scene_zygote_is_ready);
    run = scene_submit(s, "print('never')");
    assert_true(one_is_being_made(s));
    pool_cancel(s->pool, run);
    scene_wait(s, pool_is_quiet);
    assert_cancelled(&s->tickets[0]);
    assert_string_equal(s->tickets[0].out, "");
    scene_submit(s, "print('hi')");
    scene_wait(s, scene_all_done);
    scene_assert_ran(&s->tickets[1], "hi\n");
}

IN_SCENE(a_run_that_is_on_can_be_cancelled_and_keeps_its_output, .size = 1)
{
    struct run *run;

    scene_wait(s, scene_stock_is_full);
    run = scene_submit(s, SLEEP);
    scene_wait(s, first_has_printed);
    pool_cancel(s->pool, run);
    pool_cancel(s->pool, run); /* twice does no harm */
    scene_wait(s, scene_all_done);
    assert_cancelled(&s->tickets[0]);
    assert_string_equal(s->tickets[0].out, "on\n");
}

IN_SCENE(cancelling_what_is_done_does_nothing, 0)
{
    struct run *run;

    run = scene_submit(s, "print('hi')");
    scene_wait(s, scene_all_done);
    pool_cancel(s->pool, run);
    scene_assert_ran(&s->tickets[0], "hi\n");
}

/* --- deaths --- */

static void assert_lost(const struct scene_ticket *t)
{
    assert_int_equal(t->done, 1);
    assert_int_not_equal(t->run->result.error.code, E_NONE);
    assert_non_null(t->run->result.error.message);
}

IN_SCENE(a_zygote_that_dies_takes_its_runs_along_and_another_comes, .size = 2)
{
    pid_t first;

    scene_wait(s, scene_stock_is_full);
    first = zygote_client_pid(pool_zygote(s->pool));
    for (int i = 0; i < 3; i++)
        scene_submit(s, SLEEP);
    scene_wait(s, all_have_printed_a_line);
    assert_int_equal(kill(first, SIGKILL), 0);
    scene_wait(s, scene_all_done);
    for (int i = 0; i < 3; i++)
        assert_lost(&s->tickets[i]);

    scene_submit(s, "print('hi')");
    scene_wait(s, scene_all_done);
    scene_assert_ran(&s->tickets[3], "hi\n");
    scene_wait(s, scene_stock_is_full);
    assert_int_not_equal(zygote_client_pid(pool_zygote(s->pool)), first);
    /* Code is never run twice: each of the lost ones printed once, before. */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(s->tickets[i].done, 1);
        assert_string_equal(s->tickets[i].out, "on\n");
    }
}

IN_SCENE(a_zygote_that_dies_while_it_makes_a_sandbox_is_an_answer, 0)
{
    scene_wait(s, scene_zygote_is_ready);
    scene_submit(s, "print('hi')");
    assert_true(one_is_being_made(s));
    assert_int_equal(kill(zygote_client_pid(pool_zygote(s->pool)), SIGKILL), 0);
    scene_wait(s, scene_all_done);
    /* It may have been faster than the signal, but then it ran to its end. */
    if (s->tickets[0].run->result.error.code == E_NONE)
        scene_assert_ran(&s->tickets[0], "hi\n");
    else
        assert_string_equal(s->tickets[0].out, "");
    scene_submit(s, "print('hi')");
    scene_wait(s, scene_all_done);
    scene_assert_ran(&s->tickets[1], "hi\n");
}

IN_SCENE(a_zygote_that_dies_at_once_again_and_again_does_not_wear_the_pool_out, .size = 1)
{
    for (int i = 0; i < 3; i++) {
        scene_wait(s, scene_zygote_is_ready);
        assert_int_equal(kill(zygote_client_pid(pool_zygote(s->pool)), SIGKILL), 0);
    }
    scene_wait(s, scene_zygote_is_ready);
    scene_wait(s, scene_stock_is_full);
    scene_submit(s, "print('hi')");
    scene_wait(s, scene_all_done);
}

TEST(a_program_that_is_no_zygote_is_an_error_and_not_a_loop)
{
    cleanup_free char *program = strdup(getenv("BELLJAR_ZYGOTE"));
    struct scene s;

    assert_int_equal(setenv("BELLJAR_ZYGOTE", "/bin/true", 1), 0);
    scene_begin(&s, (struct pool_options){.size = 1});
    assert_int_equal(setenv("BELLJAR_ZYGOTE", program, 1), 0);
    scene_submit(&s, "print('hi')");
    scene_wait(&s, scene_all_done);
    assert_lost(&s.tickets[0]);
    scene_finish(&s);
}

/* A process that holds back the end of `pid` from its parent, as a debugger does, until `release`
 * is closed; it leaves with 1 when nobody closed it. -1: not permitted here. */
static pid_t hold_back(pid_t pid, int *ret_release)
{
    int ready[2], release[2];
    char byte = 0;
    pid_t holder;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(release, O_CLOEXEC), 0);
    holder = fork();
    assert_true(holder >= 0);
    if (holder == 0) {
        struct pollfd p = {.fd = release[0], .events = POLLIN};

        (void)close(release[1]);
        byte = ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0;
        (void)!write(ready[1], &byte, 1);
        _exit(poll(&p, 1, 10000) == 1 ? 0 : 1);
    }
    (void)close(ready[1]);
    (void)close(release[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    *ret_release = release[1];
    if (!byte) {
        (void)close(release[1]);
        (void)waitpid(holder, NULL, 0);
        return -1;
    }
    return holder;
}

static bool zygote_is_ending(struct scene *s)
{
    return pool_zygote(s->pool) && zygote_client_is_ending(pool_zygote(s->pool));
}

static int turns;

static bool a_while_has_passed(struct scene *s)
{
    (void)s;
    return turns-- == 0;
}

IN_SCENE(the_loop_goes_on_while_a_zygote_takes_long_to_die, .size = 1)
{
    int release, status;
    pid_t holder;

    scene_wait(s, scene_stock_is_full);
    scene_submit(s, SLEEP);
    scene_wait(s, all_have_printed);
    holder = hold_back(zygote_client_pid(pool_zygote(s->pool)), &release);
    if (holder < 0) {
        pool_free(s->pool);
        print_message("this user may not trace the zygote\n");
        skip();
    }
    assert_int_equal(kill(zygote_client_pid(pool_zygote(s->pool)), SIGKILL), 0);
    scene_wait(s, zygote_is_ending);
    turns = 100;
    scene_wait(s, a_while_has_passed);
    assert_true(zygote_is_ending(s));
    assert_int_equal(s->tickets[0].done, 0);
    (void)close(release);
    assert_int_equal(waitpid(holder, &status, 0), holder);
    assert_int_equal(status, 0); /* it was we who let it go */
    scene_wait(s, scene_all_done);
    assert_lost(&s->tickets[0]);
    scene_submit(s, "print('hi')");
    scene_wait(s, scene_all_done);
    scene_assert_ran(&s->tickets[1], "hi\n");
}

static pid_t idle_pid;

static void note_pid(void *user, const struct box *box)
{
    (void)user;
    idle_pid = box_pid(box);
}

static bool another_is_idle(struct scene *s)
{
    pid_t before = idle_pid;
    bool is_new;

    if (!scene_stock_is_full(s))
        return false;
    pool_each_idle(s->pool, note_pid, NULL);
    is_new = idle_pid != before;
    idle_pid = before;
    return is_new;
}

IN_SCENE(a_sandbox_that_dies_in_the_stock_is_replaced, .size = 1)
{
    scene_wait(s, scene_stock_is_full);
    pool_each_idle(s->pool, note_pid, NULL);
    assert_true(idle_pid > 1);
    assert_int_equal(kill(idle_pid, SIGKILL), 0);
    scene_wait(s, another_is_idle);
    scene_submit(s, "print('hi')");
    scene_wait(s, scene_all_done);
    scene_assert_ran(&s->tickets[0], "hi\n");
}

/* Dead, but nobody has heard of it yet when the run is handed over: it fails, or runs elsewhere,
 * and the input that was meant for it goes nowhere. */
IN_SCENE(a_sandbox_that_is_dead_at_the_hand_over_does_no_harm, .size = 1)
{
    struct error err = {0};
    struct run *run;
    pid_t zygote;

    scene_wait(s, scene_stock_is_full);
    pool_each_idle(s->pool, note_pid, NULL);
    zygote = zygote_client_pid(pool_zygote(s->pool));
    assert_int_equal(kill(zygote, SIGSTOP), 0); /* so that nobody tells */
    assert_int_equal(kill(idle_pid, SIGKILL), 0);
    (void)usleep(50000); /* for the kernel to close its sockets; too short a time only makes the
                            test weaker */
    run = scene_prepare(s, "import sys; print(sys.stdin.read())");
    run->program.has_input = true;
    assert_int_equal(buf_add_str(&run->program.input, "input", &err), 0);
    pool_submit(s->pool, run);
    turns = 10;
    scene_wait(s, a_while_has_passed);
    assert_int_equal(kill(zygote, SIGCONT), 0);
    scene_wait(s, pool_is_quiet);
    if (run->result.error.code == E_NONE)
        scene_assert_ran(&s->tickets[0], "input\n");
    scene_wait(s, scene_stock_is_full);
    scene_submit(s, "print('hi')");
    scene_wait(s, scene_all_done);
    scene_assert_ran(&s->tickets[1], "hi\n");
}

/* --- replacing the zygote --- */

IN_SCENE(a_zygote_is_replaced_after_so_many_sandboxes, .size = 2, .zygote_max_runs = 4)
{
    pid_t seen[SCENE_RUNS_MAX];
    size_t n_seen = 0;

    for (int i = 0; i < 24; i++) {
        pid_t pid;

        scene_wait(s, scene_stock_is_full);
        scene_submit(s, "print('hi')");
        scene_wait(s, scene_all_done);
        scene_assert_ran(&s->tickets[i], "hi\n");
        scene_wait(s, scene_zygote_is_ready);
        pid = zygote_client_pid(pool_zygote(s->pool));
        if (!n_seen || seen[n_seen - 1] != pid)
            seen[n_seen++] = pid;
    }
    /* 24 runs of sandboxes of zygotes that make 4 and a few more while they are being replaced. */
    assert_true(n_seen >= 4);
    scene_wait(s, scene_stock_is_full);
}

IN_SCENE(runs_of_a_zygote_that_is_replaced_end_in_peace, .zygote_max_runs = 1)
{
    for (int i = 0; i < 5; i++) { /* the first in one zygote, the others in the next */
        scene_submit(s, "import time; print('on', flush=True); time.sleep(600)");
        scene_wait(s, all_have_printed);
    }
    for (int i = 0; i < 5; i++)
        pool_cancel(s->pool, s->tickets[i].run);
    scene_wait(s, pool_is_quiet);
    for (int i = 0; i < 5; i++)
        assert_cancelled(&s->tickets[i]);
}

/* --- memory --- */

/* No answer follows, and the error is where the caller looks for it. */
static void assert_not_submitted(struct scene *s, const struct scene_ticket *t, int r)
{
    assert_int_equal(r, -1);
    assert_int_equal(missing_size, 0);
    assert_int_equal(t->done, 0);
    assert_string_equal(t->run->result.error.message, "out of memory");
    pool_refuse(s->pool, t->run);
    assert_int_equal(t->done, 1);
}

IN_SCENE(a_run_that_finds_no_memory_for_its_place_is_not_submitted, .size = 1)
{
    struct run *run = scene_prepare(s, "print('hi')");

    missing_size = sizeof(struct pool_order);
    assert_not_submitted(s, &s->tickets[0], pool_submit(s->pool, run));
    pool_cancel(s->pool, run); /* does no harm */
    scene_submit(s, "print('hi')");
    scene_wait(s, scene_all_done);
    scene_assert_ran(&s->tickets[1], "hi\n");
}

IN_SCENE(a_cell_that_finds_no_memory_for_its_place_is_not_submitted, .size = 1)
{
    struct session *session;
    struct error err = {0};
    struct run *cell;

    assert_int_equal(sessions_new(s->loop, s->pool,
                                  &(struct sessions_options){.max_total = 1, .max_per_owner = 1},
                                  &s->sessions, &err),
                     0);
    cell = scene_prepare(s, "");
    s->n_tickets--; /* the session's, not the scene's */
    assert_int_equal(
        scene_open(s->sessions, cell, &(struct session_options){.owner = ""}, &session, &err), 0);
    cell = scene_prepare(s, "print('hi')");
    missing_size = sizeof(struct session_cell);
    assert_not_submitted(s, &s->tickets[0], session_submit(session, cell));
    session_cancel(session, cell); /* does no harm */
    assert_int_equal(session_submit(session, scene_prepare(s, "print('hi')")), 0);
    scene_wait(s, scene_all_done);
    scene_assert_ran(&s->tickets[1], "hi\n");
}

static bool stock_is_gone(struct scene *s)
{
    return scene_level(s).idle == 0 && scene_level(s).making == 0;
}

TEST(the_stock_is_let_go_when_memory_is_short_and_comes_back)
{
    struct scene s;

    meminfo = MEMORY_PLENTY;
    scene_begin(&s, (struct pool_options){.size = 3});
    scene_wait(&s, scene_stock_is_full);
    meminfo = MEMORY_TIGHT;
    scene_wait(&s, stock_is_gone);
    scene_submit(&s, "print('hi')"); /* runs go on */
    scene_wait(&s, scene_all_done);
    scene_assert_ran(&s.tickets[0], "hi\n");
    meminfo = MEMORY_PLENTY;
    scene_wait(&s, scene_stock_is_full);
    meminfo = "";
    scene_finish(&s);
}

TEST(an_automatic_stock_is_small_where_memory_is)
{
    struct scene s;

    meminfo = "MemTotal: 600000 kB\nMemAvailable: 524288 kB\n";
    scene_begin(&s, (struct pool_options){.size = POOL_AUTO, .hot = POOL_AUTO});
    assert_in_range(scene_level(&s).wanted, 1, 2);
    meminfo = "";
    scene_finish(&s);
}

/* --- the end --- */

IN_SCENE(a_pool_may_end_before_it_began, .size = 1)
{
}

IN_SCENE(a_pool_that_ends_answers_every_run_once, .size = 2, .max_active = 3)
{
    scene_wait(s, scene_stock_is_full);
    scene_submit(s, SLEEP);
    scene_wait(s, first_has_printed);
    for (int i = 0; i < 6; i++) /* from the stock, being made, waiting */
        scene_submit(s, SLEEP);
}

static bool five_have_printed(struct scene *s)
{
    for (size_t i = 0; i < 5; i++)
        if (!s->tickets[i].out_len)
            return false;
    return true;
}

IN_SCENE(a_pool_may_end_with_two_zygotes, .size = 1, .zygote_max_runs = 2)
{
    for (int i = 0; i < 5; i++)
        scene_submit(s, SLEEP);
    scene_wait(s, five_have_printed);
}

int main(void)
{
    if (!getenv("BELLJAR_ZYGOTE")) {
        print_error("BELLJAR_ZYGOTE does not name the zygote\n");
        return 1;
    }
    return unit_run(NULL, NULL);
}
