/* Sessions in real sandboxes, with a cold interpreter. */
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "admit/profile.h"
#include "base/cleanup.h"
#include "base/stream.h"
#include "engine/scene.h"
#include "engine/session.h"

struct stage {
    struct scene scene;
    char ended[256]; /* why the last one that ended did */
    int ends;
};

static void on_end(void *user, struct session *session, const char *why)
{
    struct stage *g = user;

    (void)session;
    g->ends++;
    (void)snprintf(g->ended, sizeof(g->ended), "%s", why);
}

static void begin(struct stage *g, size_t stock)
{
    struct error err = {0};

    *g = (struct stage){0};
    scene_begin(&g->scene, (struct pool_options){.size = stock});
    assert_int_equal(sessions_new(g->scene.loop, g->scene.pool,
                                  &(struct sessions_options){.max_total = 8, .max_per_owner = 4},
                                  &g->scene.sessions, &err),
                     0);
}

static void finish(struct stage *g)
{
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

static int try_open(struct stage *g, const struct session_options *options,
                    struct session **ret_session, struct error *err)
{
    struct session_options full = *options;
    struct run *model = scene_prepare(&g->scene, "");

    g->scene.n_tickets--; /* the session's, not the scene's */
    if (!full.owner)
        full.owner = "";
    full.on_end = on_end;
    full.user = g;
    return scene_open(g->scene.sessions, model, &full, ret_session, err);
}

static struct session *open_session(struct stage *g)
{
    struct session *session;
    struct error err = {0};

    if (try_open(g, &(struct session_options){0}, &session, &err) < 0)
        fail_msg("%s", err.message);
    return session;
}

static struct scene_ticket *submit(struct stage *g, struct session *session, const char *code)
{
    struct scene_ticket *t;

    (void)scene_prepare(&g->scene, code);
    t = &g->scene.tickets[g->scene.n_tickets - 1];
    session_submit(session, t->run);
    return t;
}

static struct scene_ticket *submit_bash(struct stage *g, struct session *session, const char *code)
{
    struct scene_ticket *t;

    (void)scene_prepare(&g->scene, code);
    t = &g->scene.tickets[g->scene.n_tickets - 1];
    t->run->program.language = RUN_BASH;
    session_submit(session, t->run);
    return t;
}

static void wait_all(struct stage *g)
{
    scene_wait(&g->scene, scene_all_done);
}

static void assert_status(const struct scene_ticket *t, enum run_status status,
                          enum run_state state)
{
    if (t->run->result.error.code != E_NONE)
        fail_msg("%s", t->run->result.error.message);
    assert_string_equal(run_status_name(t->run->result.status), run_status_name(status));
    assert_int_equal(t->run->result.state, state);
}

static void assert_says(struct stage *g, struct session *session, const char *code, const char *out)
{
    struct scene_ticket *t = submit(g, session, code);

    wait_all(g);
    scene_assert_ran(t, out);
    assert_int_equal(t->run->result.state, RUN_STATE_KEPT);
}

static void assert_bash_says(struct stage *g, struct session *session, const char *code,
                             const char *out)
{
    struct scene_ticket *t = submit_bash(g, session, code);

    wait_all(g);
    scene_assert_ran(t, out);
    assert_int_equal(t->run->result.state, RUN_STATE_KEPT);
}

/* --- kernels remember --- */

STAGED(variables_functions_and_imports_survive_from_cell_to_cell, 0)
{
    struct session *session = open_session(g);

    assert_says(g, session, "import math\nx = 20\ndef f(y): return x + y", "");
    assert_says(g, session, "x += 1; print(f(math.floor(1.5)))", "22\n");
    assert_says(g, session, "import os; os.chdir('/tmp')", "");
    assert_says(g, session, "print(os.getcwd())", "/tmp\n");
}

STAGED(bash_keeps_variables_functions_and_its_directory, 1)
{
    struct session *session = open_session(g);

    assert_bash_says(g, session, "x=1; f() { echo \"f $x\"; }; cd /tmp", "");
    assert_bash_says(g, session, "x=2; f; pwd", "f 2\n/tmp\n");
    /* The two streams have no order between them. */
    assert_bash_says(g, session, "echo err >&2", "err\n");
    assert_bash_says(g, session, "printf 'a\\0b' | wc -c; cat", "3\n");
}

STAGED(both_languages_see_the_same_files, 1)
{
    struct session *session = open_session(g);

    assert_says(g, session, "open('a.txt', 'w').write('from python') and None", "");
    assert_bash_says(g, session, "cat a.txt; echo -n bash > b.txt", "from python");
    assert_says(g, session, "print(open('b.txt').read())", "bash\n");
}

/* "+new ~changed -gone" of the cell, by path. */
static void assert_leaves(struct stage *g, struct session *session, const char *code,
                          const char *expected)
{
    static const char marks[] = {
        [RUN_FILE_NEW] = '+', [RUN_FILE_CHANGED] = '~', [RUN_FILE_GONE] = '-'};
    struct scene_ticket *t = submit(g, session, code);
    char text[256] = "";

    wait_all(g);
    assert_status(t, RUN_SUCCESS, RUN_STATE_KEPT);
    for (size_t i = 0; i < t->run->result.n_files; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%c%s ",
                       marks[t->run->result.files[i].change], t->run->result.files[i].path);
    assert_string_equal(text, expected);
}

static void put(struct session *session, const char *path)
{
    const struct files_write_options options = {0};
    struct files_writer writer;
    struct error err = {0};

    if (files_write_begin(&writer, session_files(session), path, &options, &err) < 0 ||
        files_write_commit(&writer, &err) < 0)
        fail_msg("%s", err.message);
}

STAGED(a_cell_lists_the_files_it_changed_itself, 0)
{
    struct session *session = open_session(g);

    assert_leaves(g, session, "for n in 'abc': open(n, 'w')", "+a +b +c ");
    assert_leaves(g, session, "1", "");
    assert_leaves(g, session,
                  "import os; os.remove('a'); open('b', 'w').write('x'); open('d', 'w')",
                  "-a ~b +d ");
    put(session, "from-outside");
    put(session, "c");
    assert_leaves(g, session, "assert os.path.exists('from-outside')", "");
    assert_leaves(g, session, "os.rename('from-outside', 'mine')", "-from-outside +mine ");
}

STAGED(cells_wait_for_each_other_in_order, 1)
{
    struct session *session = open_session(g);

    (void)submit(g, session, "import time; n = []; time.sleep(0.05); n.append(1)");
    (void)submit(g, session, "n.append(2)");
    (void)submit_bash(g, session, "echo three > /workspace/3");
    (void)submit(g, session, "print(n, open('/workspace/3').read())");
    wait_all(g);
    scene_assert_ran(&g->scene.tickets[3], "[1, 2] three\n\n");
}

STAGED(sessions_do_not_see_each_other, 2)
{
    struct session *one, *two;

    one = open_session(g);
    two = open_session(g);
    assert_says(g, one, "x = 1; open('mine', 'w').close()", "");
    assert_says(g, two, "import os; print('x' in globals(), os.listdir('.'))", "False []\n");
}

STAGED(a_result_is_that_of_its_own_cell, 1)
{
    struct session *session = open_session(g);
    struct scene_ticket *t;

    t = submit(g, session, "result = 5");
    wait_all(g);
    assert_string_equal(t->run->result.value_text, "5");
    t = submit(g, session, "result + 1");
    wait_all(g);
    assert_string_equal(t->run->result.value_text, "6");
    t = submit(g, session, "y = 1");
    wait_all(g);
    assert_null(t->run->result.value_text);
    t = submit(g, session, "result = result");
    wait_all(g);
    assert_string_equal(t->run->result.value_text, "5");
}

STAGED(a_cell_may_await_at_its_top_level, 1)
{
    struct session *session = open_session(g);
    struct scene_ticket *t;

    t = submit(g, session,
               "import asyncio\n"
               "async def f(x):\n    await asyncio.sleep(0.01)\n    return x\n"
               "task = asyncio.create_task(f(7))\n"
               "print(await f(6))\n"
               "await task");
    wait_all(g);
    scene_assert_ran(t, "6\n");
    assert_string_equal(t->run->result.value_text, "7");
}

STAGED(input_is_that_of_its_own_cell, 1)
{
    struct session *session = open_session(g);
    struct scene_ticket *t;

    for (int i = 0; i < 2; i++) {
        struct run *run = scene_prepare(&g->scene, i ? "cat" : "print(input(), input())");

        run->program.has_input = true;
        run->program.language = i ? RUN_BASH : RUN_PYTHON;
        assert_int_equal(buf_add(&run->program.input, "one\ntwo\n", 8, NULL), 0);
        session_submit(session, run);
        wait_all(g);
        scene_assert_ran(&g->scene.tickets[i], i ? "one\ntwo\n" : "one two\n");
    }
    t = submit(g, session, "input()");
    wait_all(g);
    assert_status(t, RUN_ERROR, RUN_STATE_KEPT);
    assert_string_equal(t->run->result.exception.name, "EOFError");
}

STAGED(a_nul_does_not_cut_a_cell_of_bash_in_two, 1)
{
    struct session *session = open_session(g);
    struct run *run;

    run = scene_prepare(&g->scene, "echo one");
    run->program.language = RUN_BASH;
    assert_int_equal(buf_add(&run->program.code, "\0echo two\n", 10, NULL), 0);
    session_submit(session, run);
    wait_all(g);
    assert_int_equal(run->result.error.code, E_INVALID);
    assert_bash_says(g, session, "echo three", "three\n");
}

STAGED(lines_of_earlier_cells_are_in_tracebacks, 1)
{
    struct session *session = open_session(g);
    struct scene_ticket *t;

    assert_says(g, session, "def f():\n    return 1 / 0  # here", "");
    t = submit(g, session, "f()");
    wait_all(g);
    assert_status(t, RUN_ERROR, RUN_STATE_KEPT);
    assert_non_null(strstr(t->run->result.exception.traceback, "return 1 / 0  # here"));
    assert_non_null(strstr(t->run->result.exception.traceback, "<cell 2>"));
    assert_says(g, session, "print('on')", "on\n");
}

/* --- under a policy --- */

static void assert_refused(struct stage *g, struct session *session, const char *code)
{
    struct scene_ticket *t = submit(g, session, code);

    wait_all(g);
    assert_status(t, RUN_REFUSED, RUN_STATE_KEPT);
    assert_true(t->run->result.n_violations > 0);
}

static void assert_raises(struct stage *g, struct session *session, const char *code)
{
    struct scene_ticket *t = submit(g, session, code);

    wait_all(g);
    if (t->run->result.status == RUN_SUCCESS)
        fail_msg("`%s` ran: %s", code, t->out);
    assert_int_equal(t->run->result.state, RUN_STATE_KEPT);
}

TEST(every_cell_meets_the_policy)
{
    struct profile *profile = NULL;
    struct session *session;
    struct error err = {0};
    struct run *model;
    struct stage g;

    begin(&g, 1);
    if (profile_load(POLICIES_DIR "/strict.toml", POLICIES_DIR, &profile, &err) < 0)
        fail_msg("%s", err.message);
    model = scene_prepare(&g.scene, "");
    g.scene.n_tickets--;
    model->terms.policy = profile_encoded(profile);
    model->terms.may_spawn = profile_allows_processes(profile);
    assert_int_equal(
        scene_open(g.scene.sessions, model, &(struct session_options){.owner = ""}, &session, &err),
        0);
    assert_says(&g, session, "import math, dataclasses\nx = 1", "");
    assert_refused(&g, session, "import subprocess");
    assert_refused(&g, session, "import os\nos.system('id')");
    assert_refused(&g, session, "from os import fork");
    assert_refused(&g, session, "eval('1')");
    assert_says(&g, session, "x += 1\nprint(x, math.floor(2.5))", "2 2\n");
    assert_says(&g, session, "@dataclasses.dataclass\nclass P:\n    a: int\nprint(P(3))",
                "P(a=3)\n");
    assert_raises(&g, session, "f = print.__self__");
    assert_raises(&g, session, "getattr(print, '__se' + 'lf__')");
    assert_says(&g, session, "import asyncio\nawait asyncio.sleep(0)\nprint('slept')", "slept\n");
    assert_raises(&g, session, "1 / 0");
    assert_says(&g, session, "def g():\n    return x\nprint(g())", "2\n");
    finish(&g);
    profile_free(profile);
}

/* --- interrupts --- */

STAGED(a_timeout_interrupts_the_cell_and_keeps_the_state, 1)
{
    struct session *session = open_session(g);
    struct run *run;

    assert_says(g, session, "x = 41", "");
    run = scene_prepare(&g->scene, "print('on')\nx += 1\nwhile True: pass");
    run->terms.limits.timeout_ms = 200;
    session_submit(session, run);
    wait_all(g);
    assert_status(&g->scene.tickets[1], RUN_TIMEOUT, RUN_STATE_KEPT);
    assert_memory_equal(g->scene.tickets[1].out, "on\n", 3);
    assert_says(g, session, "print(x)", "42\n");
    run = scene_prepare(&g->scene, "y=1; while :; do :; done");
    run->program.language = RUN_BASH;
    run->terms.limits.timeout_ms = 200;
    session_submit(session, run);
    wait_all(g);
    assert_status(&g->scene.tickets[3], RUN_TIMEOUT, RUN_STATE_KEPT);
    assert_bash_says(g, session, "echo $y", "1\n");
}

STAGED(a_cell_that_eats_interrupts_loses_its_kernel_and_no_more, 1)
{
    struct session *session = open_session(g);
    struct run *run;

    assert_bash_says(g, session, "b=1", "");
    assert_says(g, session, "x = 1; open('kept', 'w').write('file') and None", "");
    run = scene_prepare(&g->scene, "import signal; signal.signal(2, signal.SIG_IGN)\n"
                                   "while True: pass");
    run->terms.limits.timeout_ms = 100;
    session_submit(session, run);
    wait_all(g);
    assert_status(&g->scene.tickets[2], RUN_TIMEOUT, RUN_STATE_LOST);
    assert_says(g, session, "print('x' in globals(), open('kept').read())", "False file\n");
    assert_bash_says(g, session, "echo $b", "1\n");
}

static bool first_has_printed(struct scene *s)
{
    return strchr(s->tickets[0].out, '\n') != NULL;
}

STAGED(a_cell_that_is_interrupted_is_cancelled, 1)
{
    struct session *session = open_session(g);
    struct scene_ticket *t;

    t = submit(g, session, "x = 3; print('on'); import time; time.sleep(60)");
    (void)submit(g, session, "print(x)");
    scene_wait(&g->scene, first_has_printed);
    assert_true(session_interrupt(session));
    wait_all(g);
    assert_status(t, RUN_CANCELLED, RUN_STATE_KEPT);
    assert_string_equal(t->run->result.exception.name, "KeyboardInterrupt");
    scene_assert_ran(&g->scene.tickets[1], "3\n");
    assert_false(session_interrupt(session));
}

/* --- kernels that end --- */

STAGED(a_kernel_that_ends_is_said_and_replaced, 1)
{
    static const struct {
        const char *code;
        enum run_language language;
        int exit_code;
    } ends[] = {
        {"import os; os._exit(3)", RUN_PYTHON, 3},
        {"import os; os.kill(os.getpid(), 9)", RUN_PYTHON, 137},
        {"import ctypes; ctypes.string_at(0)", RUN_PYTHON, 139},
        {"builtin exit 4", RUN_BASH, 4},
        {"kill -9 $$", RUN_BASH, 137},
        {"import os\nif os.fork(): os._exit(0)\nimport time; time.sleep(0.2)\nprint(1)", RUN_PYTHON,
         0},
    };
    struct session *session = open_session(g);

    assert_says(g, session, "open('kept', 'w').close()", "");
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        struct run *run = scene_prepare(&g->scene, ends[i].code);

        run->program.language = ends[i].language;
        session_submit(session, run);
        wait_all(g);
        assert_int_equal(run->result.state, RUN_STATE_LOST);
        assert_int_equal(run->result.exit_code, ends[i].exit_code);
        assert_non_null(run->result.exception.message);
        assert_says(g, session, "import os; print(os.path.exists('kept'))", "True\n");
        assert_bash_says(g, session, "ls", "kept\n");
    }
    assert_int_equal(g->ends, 0);
}

STAGED(hostile_cells_get_an_answer_and_the_next_one_works, 1)
{
    static const char *const cells[] = {
        "import sys; sys.stdout.close()",
        "import sys; sys.stdout = None; sys.stderr = 5",
        "import os\nfor fd in range(64):\n    try: os.close(fd)\n    except OSError: pass",
        "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'x' * 100)\n"
        "    except OSError: pass",
        "import shutil; shutil.rmtree('/workspace', ignore_errors=True)",
        "import ast, builtins, json, linecache, traceback\n"
        "ast.parse = builtins.compile = json.dumps = linecache.cache = None\n"
        "traceback.format_exception = builtins.__import__ = None",
        "class A:\n    def __repr__(self): raise ValueError('no')\nA()",
        "class A:\n    def __repr__(self): return 'x' * (50 << 20)\nA()",
        "import sys; sys.exit(3)",
        "raise KeyboardInterrupt",
        "import threading; threading.Thread(target=lambda: __import__('time').sleep(60)).start()",
        "open('/workspace/full', 'wb').write(b'x' * (1 << 30))",
        "result = "
        "lambda: 0",
        "import signal; signal.signal(2, lambda *a: None); signal.alarm(60)",
        "__name__ = None; del __builtins__",
    };
    struct session *session = open_session(g);

    for (size_t i = 0; i < ARRAY_SIZE(cells); i++) {
        struct scene_ticket *t = submit(g, session, cells[i]);
        struct scene_ticket *next = submit(g, session, "print(6 * 7)");

        wait_all(g);
        assert_int_equal(t->run->result.error.code, E_NONE);
        if (next->run->result.status != RUN_SUCCESS || strcmp(next->out, "42\n") != 0)
            fail_msg("after `%s`: %s, `%s`, %s", cells[i],
                     run_status_name(next->run->result.status), next->out,
                     next->run->result.exception.message ? next->run->result.exception.message
                                                         : "");
    }
    assert_int_equal(g->ends, 0);
}

/* --- the end --- */

static bool one_has_ended(struct scene *s)
{
    return ((struct stage *)s)->ends == 1;
}

STAGED(the_idle_clock_ends_a_session_and_says_so, 1)
{
    struct session *session;
    struct error err = {0};

    assert_int_equal(
        try_open(g, &(struct session_options){.name = "a", .idle_ms = 300}, &session, &err), 0);
    assert_says(g, session, "import time; time.sleep(0.5); print('busy is not idle')",
                "busy is not idle\n");
    scene_wait(&g->scene, one_has_ended);
    assert_non_null(strstr(g->ended, "idle time"));
    assert_null(sessions_find(g->scene.sessions, "", "a", &err));
    assert_int_equal(err.code, E_NOT_FOUND);
    error_done(&err);
}

STAGED(the_lifetime_ends_a_session_in_the_middle_of_a_cell, 1)
{
    struct session *session;
    struct scene_ticket *t, *waiting;
    struct error err = {0};

    assert_int_equal(try_open(g, &(struct session_options){.lifetime_ms = 400}, &session, &err), 0);
    t = submit(g, session, "print('on'); import time; time.sleep(60)");
    waiting = submit(g, session, "print(1)");
    wait_all(g);
    assert_int_equal(t->run->result.error.code, E_NOT_FOUND);
    assert_non_null(strstr(t->run->result.error.message, "lifetime"));
    assert_int_equal(waiting->run->result.error.code, E_NOT_FOUND);
    assert_string_equal(t->out, "on\n");
}

STAGED(names_are_the_owners, 0)
{
    struct session *session;
    struct session_info info;
    struct error one = {0}, two = {0}, err = {0};

    assert_int_equal(
        try_open(g, &(struct session_options){.name = "work", .owner = "ann"}, &session, &err), 0);
    session_info(session, &info);
    assert_ptr_equal(sessions_find(g->scene.sessions, "ann", "work", &err), session);
    assert_ptr_equal(sessions_find(g->scene.sessions, "ann", info.id, &err), session);
    assert_null(sessions_find(g->scene.sessions, "bob", "work", &one));
    assert_null(sessions_find(g->scene.sessions, "bob", "never", &two));
    assert_string_equal(one.message, two.message);
    assert_int_equal(one.code, two.code);
    assert_int_equal(
        try_open(g, &(struct session_options){.name = "work", .owner = "ann"}, &session, &err), -1);
    assert_int_equal(err.code, E_INVALID);
    error_done(&one);
    error_done(&two);
    error_done(&err);
}

STAGED(one_too_many_is_refused_with_a_hint, 0)
{
    struct session *session;
    struct error err = {0};

    for (int i = 0; i < 4; i++)
        (void)open_session(g);
    assert_int_equal(try_open(g, &(struct session_options){0}, &session, &err), -1);
    assert_int_equal(err.code, E_BUSY);
    assert_non_null(err.hint);
    error_done(&err);
}

STAGED(killing_pid_1_ends_the_session_and_says_so, 0)
{
    struct session *session = open_session(g);
    struct scene_ticket *t, *waiting;

    t = submit(g, session, "print('on'); import time; time.sleep(60)");
    waiting = submit(g, session, "print(1)");
    scene_wait(&g->scene, first_has_printed);
    assert_int_equal(kill(zygote_client_pid(pool_zygote(g->scene.pool)), SIGKILL), 0);
    wait_all(g);
    assert_int_not_equal(t->run->result.error.code, E_NONE);
    assert_int_equal(waiting->run->result.error.code, E_NOT_FOUND);
    scene_wait(&g->scene, one_has_ended);
}

int main(void)
{
    if (!getenv("BELLJAR_ZYGOTE")) {
        print_error("BELLJAR_ZYGOTE does not name the zygote\n");
        return 1;
    }
    return unit_run(NULL, NULL);
}
