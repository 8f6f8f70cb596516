/* Sessions whose kernels die at the wrong moment, and interrupts that come at one. */
#include "unit.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/box.h"
#include "engine/scene.h"
#include "engine/session.h"

struct stage {
    struct scene scene;
    struct session *session;
    int ends;
    uint64_t until_ns;
};

static void on_end(void *user, struct session *session, const char *why)
{
    struct stage *g = user;

    (void)session;
    (void)why;
    g->ends++;
}

/* An idle session. */
static void begin(struct stage *g, size_t stock)
{
    struct error err = {0};
    struct run *model;

    *g = (struct stage){0};
    scene_begin(&g->scene, (struct pool_options){.size = stock});
    assert_int_equal(sessions_new(g->scene.loop, g->scene.pool,
                                  &(struct sessions_options){.max_total = 8, .max_per_owner = 4},
                                  &g->scene.sessions, &err),
                     0);
    model = scene_prepare(&g->scene, "");
    g->scene.n_tickets--; /* the session's, not the scene's */
    if (scene_open(g->scene.sessions, model,
                   &(struct session_options){.owner = "", .on_end = on_end, .user = g}, &g->session,
                   &err) < 0)
        fail_msg("%s", err.message);
}

static void finish(struct stage *g)
{
    assert_int_equal(g->ends, 0);
    scene_finish(&g->scene);
}

/* A test with a stage of its own. */
#define STAGED(name, stock)                                                                        \
    static void name##_on(struct stage *g);                                                        \
    TEST(name)                                                                                     \
    {                                                                                              \
        struct stage g;                                                                            \
                                                                                                   \
        begin(&g, stock);                                                                          \
        name##_on(&g);                                                                             \
        finish(&g);                                                                                \
    }                                                                                              \
    static void name##_on(struct stage *g)

static struct run *submit(struct stage *g, enum run_language language, const char *code)
{
    struct run *run = scene_prepare(&g->scene, code);

    run->program.language = language;
    session_submit(g->session, run);
    return run;
}

static struct scene_ticket *ticket_of(const struct run *run)
{
    return run->user;
}

static void assert_says(struct stage *g, enum run_language language, const char *code,
                        const char *out, enum run_state state)
{
    struct run *run = submit(g, language, code);

    scene_wait(&g->scene, scene_all_done);
    scene_assert_ran(ticket_of(run), out);
    assert_int_equal(run->result.state, state);
}

static bool time_is_over(struct scene *s)
{
    return loop_now_ns() >= ((struct stage *)s)->until_ns;
}

static void let_pass(struct stage *g, uint64_t ms)
{
    g->until_ns = loop_now_ns() + ms * 1000000;
    scene_wait(&g->scene, time_is_over);
}

/* --- kernels that die between cells --- */

static pid_t first_child(pid_t parent)
{
    char path[64];
    int child = -1;
    FILE *list;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
    list = fopen(path, "re");
    if (!list || fscanf(list, "%d", &child) != 1)
        child = -1;
    if (list)
        (void)fclose(list);
    return child;
}

/* Without turning the loop: the supervisor must not have heard of it. */
static void wait_for_end(pid_t pid)
{
    char path[64];

    assert_true(pid > 0);
    (void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    for (int i = 0; i < 5000 && access(path, F_OK) == 0; i++)
        (void)poll(NULL, 0, 2);
    assert_int_equal(access(path, F_OK), -1);
}

static void kill_and_wait(pid_t pid)
{
    assert_true(pid > 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    wait_for_end(pid);
}

STAGED(a_cell_for_a_dead_kernel_goes_to_the_next_one_which_is_said, 1)
{
    assert_says(g, RUN_PYTHON, "x = 1; print(x)", "1\n", RUN_STATE_KEPT);
    kill_and_wait(first_child(session_pid(g->session)));
    assert_says(g, RUN_PYTHON, "print('x' in globals())", "False\n", RUN_STATE_FRESH);
    assert_says(g, RUN_PYTHON, "print('x' in globals())", "False\n", RUN_STATE_KEPT);
}

STAGED(a_kernel_that_ends_between_cells_is_said_with_the_next_one, 1)
{
    assert_says(g, RUN_PYTHON,
                "import threading, os, time\n"
                "threading.Thread(target=lambda: (time.sleep(0.1), os._exit(1))).start()",
                "", RUN_STATE_KEPT);
    assert_says(g, RUN_BASH, "n=1; ( (sleep 0.1; kill -9 $$) & ); echo on", "on\n", RUN_STATE_KEPT);
    let_pass(g, 500);
    assert_says(g, RUN_PYTHON, "print('os' in globals())", "False\n", RUN_STATE_FRESH);
    assert_says(g, RUN_BASH, "echo \"<$n>\"", "<>\n", RUN_STATE_FRESH);
    assert_says(g, RUN_BASH, "echo \"<$n>\"", "<>\n", RUN_STATE_KEPT);
}

STAGED(a_kernel_that_breaks_the_rules_between_cells_is_replaced, 1)
{
    assert_says(g, RUN_PYTHON,
                "import threading, os, time\n"
                "def f():\n"
                "    time.sleep(0.1)\n"
                "    for fd in range(3, 256):\n"
                "        try: os.write(fd, b'x' * 64)\n"
                "        except OSError: pass\n"
                "threading.Thread(target=f).start()",
                "", RUN_STATE_KEPT);
    let_pass(g, 500);
    assert_says(g, RUN_PYTHON, "print('os' in globals())", "False\n", RUN_STATE_FRESH);
}

STAGED(a_restart_that_was_asked_for_is_no_loss, 1)
{
    struct error err = {0};

    assert_says(g, RUN_PYTHON, "x = 1", "", RUN_STATE_KEPT);
    assert_int_equal(session_restart(g->session, RUN_PYTHON, &err), 0);
    assert_says(g, RUN_PYTHON, "print('x' in globals())", "False\n", RUN_STATE_KEPT);
}

static bool zygote_is_another(struct scene *s)
{
    static pid_t before;
    pid_t now = scene_zygote_is_ready(s) ? zygote_client_pid(pool_zygote(s->pool)) : -1;

    if (!before)
        before = now;
    return now > 0 && now != before;
}

STAGED(a_session_without_cells_outlives_its_zygote, 1)
{
    scene_wait(&g->scene, scene_zygote_is_ready);
    scene_wait(&g->scene, scene_stock_is_full);
    (void)zygote_is_another(&g->scene);
    assert_int_equal(kill(zygote_client_pid(pool_zygote(g->scene.pool)), SIGKILL), 0);
    scene_wait(&g->scene, zygote_is_another);
    assert_says(g, RUN_PYTHON, "print(1)", "1\n", RUN_STATE_KEPT);
}

/* --- interrupts --- */

static void note_pid(void *user, const struct box *box)
{
    *(pid_t *)user = box_pid(box);
}

static bool one_has_ended(struct scene *s)
{
    return ((struct stage *)s)->ends == 1;
}

/* A sandbox of the stock dies unnoticed, a session is to have it and ends before that is told: the
 * zygote, which tells it, stands still meanwhile. */
STAGED(a_sandbox_that_died_outlives_the_session_that_wanted_it, 1)
{
    struct session *session;
    struct error err = {0};
    pid_t init = -1, kernel, zygote;
    struct run *model;

    scene_wait(&g->scene, scene_stock_is_full);
    pool_each_idle(g->scene.pool, note_pid, &init);
    kernel = first_child(init);
    zygote = zygote_client_pid(pool_zygote(g->scene.pool));
    assert_int_equal(kill(zygote, SIGSTOP), 0);
    assert_int_equal(kill(init, SIGKILL), 0);
    wait_for_end(kernel);
    model = scene_prepare(&g->scene, "");
    g->scene.n_tickets--; /* the session's */
    assert_int_equal(scene_open(g->scene.sessions, model,
                                &(struct session_options){.owner = "", .on_end = on_end, .user = g},
                                &session, &err),
                     0);
    session_close(session, "enough");
    scene_wait(&g->scene, one_has_ended);
    assert_int_equal(kill(zygote, SIGCONT), 0);
    scene_wait(&g->scene, scene_stock_is_full);
    g->ends = 0;
    assert_says(g, RUN_PYTHON, "print(1)", "1\n", RUN_STATE_KEPT);
}

STAGED(a_cell_that_has_not_begun_is_called_off_without_loss, 1)
{
    struct run *run;

    assert_says(g, RUN_PYTHON, "x = 1", "", RUN_STATE_KEPT);
    run = submit(g, RUN_BASH, "echo 1"); /* its kernel has yet to be started */
    assert_true(session_interrupt(g->session));
    assert_int_equal(ticket_of(run)->done, 0);
    scene_wait(&g->scene, scene_all_done);
    assert_int_equal(run->result.status, RUN_CANCELLED);
    assert_int_equal(run->result.state, RUN_STATE_KEPT);
    assert_says(g, RUN_BASH, "echo 2", "2\n", RUN_STATE_KEPT);
    assert_says(g, RUN_PYTHON, "print(x)", "1\n", RUN_STATE_KEPT);
}

/* The interrupt comes around the end of the cell, and must find it or nobody. */
STAGED(an_interrupt_never_meets_the_next_cell, 1)
{
    assert_says(g, RUN_PYTHON, "n = 0", "", RUN_STATE_KEPT);
    assert_says(g, RUN_BASH, "n=0", "", RUN_STATE_KEPT);
    for (int i = 0; i < 14; i++) {
        bool is_bash = i % 2;
        struct run *run = submit(g, is_bash ? RUN_BASH : RUN_PYTHON,
                                 is_bash ? "sleep 0.03" : "import time; time.sleep(0.03)");
        struct run *next = submit(g, is_bash ? RUN_BASH : RUN_PYTHON,
                                  is_bash ? "n=$((n + 1)); echo $n" : "n += 1; print(n)");
        char expected[8];

        let_pass(g, 26 + (uint64_t)i / 2);
        session_cancel(g->session, run);
        scene_wait(&g->scene, scene_all_done);
        assert_true(run->result.status == RUN_CANCELLED || run->result.status == RUN_SUCCESS);
        assert_int_equal(run->result.state, RUN_STATE_KEPT);
        (void)snprintf(expected, sizeof(expected), "%d\n", i / 2 + 1);
        scene_assert_ran(ticket_of(next), expected);
        assert_int_equal(next->result.state, RUN_STATE_KEPT);
    }
}

/* Half a second after the interrupt there is another one, and soon the kernel is killed. One that
 * ends its cell just then must not be said to live on. */
STAGED(a_kernel_is_not_said_to_be_kept_while_it_is_being_killed, 1)
{
    static const char code[] = "x = 1; print(x)\nimport time\n"
                               "try: time.sleep(60)\n"
                               "except KeyboardInterrupt: time.sleep(0.%d)\n";

    for (int i = 0; i < 5; i++) {
        char text[128];
        struct run *run;
        bool has_begun;

        (void)snprintf(text, sizeof(text), code, 494 + 3 * i);
        run = scene_prepare(&g->scene, text);
        run->terms.limits.timeout_ms = 100;
        session_submit(g->session, run);
        scene_wait(&g->scene, scene_all_done);
        assert_int_equal(run->result.status, RUN_TIMEOUT);
        /* On a busy machine it may meet its limit before it says anything but that; then nobody
         * knows how far it came. */
        has_begun = strncmp(ticket_of(run)->out, "1\n", 2) == 0;
        if (run->result.state == RUN_STATE_KEPT && !has_begun)
            assert_says(g, RUN_PYTHON, "print(globals().pop('x', 0) and 0)", "0\n", RUN_STATE_KEPT);
        else
            assert_says(g, RUN_PYTHON, "print(globals().pop('x', 0))",
                        run->result.state == RUN_STATE_KEPT ? "1\n" : "0\n", RUN_STATE_KEPT);
    }
}

int main(void)
{
    if (!getenv("BELLJAR_ZYGOTE")) {
        print_error("BELLJAR_ZYGOTE does not name the zygote\n");
        return 1;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    return unit_run(NULL, NULL);
}
