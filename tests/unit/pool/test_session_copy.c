/* Checkpoints and forks in real sandboxes, with a warm interpreter. */
#include "unit.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/stream.h"
#include "pool/scene.h"
#include "pool/session.h"

#define COPIES_MAX 16

/* Of one owner's checkpoints: more than any test needs but the one that fills it. */
#define SHARE ((uint64_t)64 << 20)

struct stage {
    struct scene scene;
    struct session *copies[COPIES_MAX];
    size_t n_copies;
    char why[1200]; /* "": it worked */
    const char *lost;
    int calls;
    int ends, starts;
};

static struct stage *stage;

static void on_end(void *user, struct session *session, const char *why)
{
    struct stage *g = user;

    (void)session;
    (void)why;
    g->ends++;
}

static void begin(struct stage *g, size_t stock)
{
    static char *preload[] = {"numpy", "ssl", "random", NULL};
    struct error err = {0};

    *g = (struct stage){0};
    stage = g;
    scene_begin(&g->scene, (struct pool_options){
                               .size = stock,
                               .environment = {.warm = true, .preload = preload, .n_preload = 3}
    });
    assert_int_equal(sessions_new(g->scene.loop, g->scene.pool,
                                  &(struct sessions_options){.max_total = 32,
                                                             .max_per_owner = 32,
                                                             .checkpoint_bytes = SHARE},
                                  &g->scene.sessions, &err),
                     0);
}

static void finish(struct stage *g)
{
    scene_finish(&g->scene);
}

static struct session *open_limited(struct stage *g, uint64_t memory_bytes, bool may_spawn)
{
    struct run *model = scene_prepare(&g->scene, "");
    struct session *session;
    struct error err = {0};

    g->scene.n_tickets--; /* the session's, not the scene's */
    model->may_spawn = may_spawn;
    if (memory_bytes)
        model->limits.memory_bytes = memory_bytes;
    if (sessions_open(g->scene.sessions, model,
                      &(struct session_options){.owner = "", .on_end = on_end, .user = g}, &session,
                      &err) < 0)
        fail_msg("%s", err.message);
    return session;
}

static struct session *open_session(struct stage *g)
{
    return open_limited(g, 0, true);
}

/* Runs it and forgets it: a scene has few places. */
static void assert_output(struct stage *g, struct session *session, const char *code,
                          enum run_language language, const char *out)
{
    struct scene_ticket *t;

    (void)scene_prepare(&g->scene, code);
    t = &g->scene.tickets[g->scene.n_tickets - 1];
    t->run->language = language;
    session_submit(session, t->run);
    scene_wait(&g->scene, scene_all_done);
    if (strcmp(t->out, out) != 0 || t->run->error.code != E_NONE)
        fail_msg("%s: \"%s\" %s", code, t->out, t->run->error.message ? t->run->error.message : "");
    run_free(t->run);
    g->scene.n_tickets--;
    memset(t, 0, sizeof(*t));
}

static void assert_says(struct stage *g, struct session *session, const char *code, const char *out)
{
    assert_output(g, session, code, RUN_PYTHON, out);
}

/* --- copying --- */

static void on_copied(void *user, const struct session_copied *result)
{
    struct stage *g = user;

    g->calls++;
    g->lost = result->lost;
    (void)snprintf(g->why, sizeof(g->why), "%s",
                   result->err->code == E_NONE ? "" : result->err->message);
    for (size_t i = 0; i < result->n_sessions && g->n_copies < COPIES_MAX; i++)
        g->copies[g->n_copies++] = result->sessions[i];
}

static bool was_called(struct scene *s)
{
    (void)s;
    return stage->calls > 0;
}

static void wait_copied(struct stage *g, int r, const struct error *err)
{
    if (r < 0)
        fail_msg("%s", err->message);
    scene_wait(&g->scene, was_called);
    g->calls = 0;
}

static void checkpoint(struct stage *g, struct session *session, const char *name)
{
    struct error err = {0};

    wait_copied(g, session_checkpoint(session, name, on_copied, g, &err), &err);
}

static void restore(struct stage *g, struct session *session, const char *name)
{
    struct error err = {0};

    wait_copied(g, session_restore(session, name, on_copied, g, &err), &err);
}

static void fork_session(struct stage *g, struct session *session, size_t n)
{
    struct error err = {0};

    g->n_copies = 0;
    wait_copied(g,
                session_fork(session, n, &(struct session_options){.on_end = on_end, .user = g},
                             on_copied, g, &err),
                &err);
}

static void a_checkpoint_takes_variables_and_files_back(void **state)
{
    struct stage g;
    struct session *session;

    (void)state;
    begin(&g, 2);
    session = open_session(&g);
    assert_says(&g, session,
                "import numpy as np, os; x = [1]; a = np.zeros(300_000)\n"
                "f = open('log', 'w'); n = f.write('one'); f.flush()",
                "");
    checkpoint(&g, session, "first");
    assert_string_equal(g.why, "");
    assert_says(&g, session,
                "x.append(2); a += 1; n = f.write('two'); f.flush(); os.mkdir('d'); print(x)",
                "[1, 2]\n");
    for (int i = 0; i < 3; i++) {
        restore(&g, session, "first");
        assert_string_equal(g.why, "");
        assert_says(&g, session, "print(x, a.sum(), open('log').read(), os.listdir())",
                    "[1] 0.0 one ['log']\n");
        assert_says(&g, session, "x.append(9); a += 5; n = f.write('!!'); f.flush()", "");
        assert_says(&g, session, "print(x, open('log').read())", "[1, 9] one!!\n");
    }
    assert_int_equal(g.ends, 0);
    finish(&g);
}

static void forks_have_the_same_state_and_go_their_own_way(void **state)
{
    struct stage g;
    struct session *session;

    (void)state;
    begin(&g, 4);
    session = open_session(&g);
    assert_says(&g, session,
                "import numpy as np\ndata = {'k': np.arange(1000)}; open('f', 'w').write('f')\n"
                "def gen():\n    for i in range(100): yield i\ng = gen(); next(g)\nNone",
                "");
    fork_session(&g, session, 3);
    assert_string_equal(g.why, "");
    assert_int_equal(g.n_copies, 3);
    for (size_t i = 0; i < 3; i++)
        assert_says(&g, g.copies[i],
                    "data['k'] += 1; print(data['k'].sum(), next(g), open('f').read()); "
                    "open('f', 'w').write('x'); None",
                    "500500 1 f\n");
    assert_says(&g, session, "print(data['k'].sum(), next(g), open('f').read())", "499500 1 f\n");
    session_close(session, NULL);
    assert_says(&g, g.copies[1], "print(data['k'].sum(), open('f').read())", "500500 x\n");
    finish(&g);
}

static void copies_of_copies_of_copies(void **state)
{
    struct stage g;
    struct session *session;
    char expected[64];

    (void)state;
    begin(&g, 2);
    session = open_session(&g);
    assert_says(&g, session, "n = 0; big = bytearray(3_000_000)", "");
    for (int i = 1; i <= 12; i++) {
        fork_session(&g, session, 1);
        assert_string_equal(g.why, "");
        session_close(session, NULL);
        session = g.copies[0];
        (void)snprintf(expected, sizeof(expected), "%d %d\n", i, i % 256);
        assert_says(&g, session,
                    "n += 1; big[n * 4096 * 10] = n; print(n, sum(big) - sum(range(n)))", expected);
    }
    finish(&g);
}

static void random_numbers_of_copies_differ(void **state)
{
    struct stage g;
    struct session *session;
    char code[512], *end;
    static const char print_all[] =
        "import ssl, random, os\n"
        "import numpy as np\n"
        "open('r', 'w').write(repr((ssl.RAND_bytes(8), random.random(), os.urandom(8), "
        "np.random.rand())))\n"
        "None";

    (void)state;
    begin(&g, 2);
    session = open_session(&g);
    assert_says(&g, session, "import ssl, random; ssl.RAND_bytes(1); random.seed(3)", "");
    fork_session(&g, session, 2);
    assert_string_equal(g.why, "");
    assert_says(&g, g.copies[0], print_all, "");
    assert_says(&g, g.copies[1], print_all, "");
    {
        struct scene_ticket *t;

        (void)scene_prepare(&g.scene, "print(end=open('r').read())");
        t = &g.scene.tickets[0];
        session_submit(g.copies[0], t->run);
        scene_wait(&g.scene, scene_all_done);
        (void)snprintf(code, sizeof(code), "%s", t->out);
        run_free(t->run);
        memset(t, 0, sizeof(*t));
        g.scene.n_tickets = 0;
    }
    end = code + strlen(code);
    assert_true(end - code > 30);
    {
        char check[1024];

        (void)snprintf(check, sizeof(check),
                       "a = eval(open('r').read()); b = %s; print([x == y for x, y in zip(a, b)])",
                       code);
        assert_says(&g, g.copies[1], check, "[False, False, False, False]\n");
    }
    finish(&g);
}

static void going_back_keeps_the_random_sequence(void **state)
{
    struct stage g;
    struct session *session;

    (void)state;
    begin(&g, 2);
    session = open_session(&g);
    assert_says(&g, session, "import random; random.seed(1); random.random(); None", "");
    checkpoint(&g, session, "c");
    assert_says(&g, session, "print(random.random())", "0.8474337369372327\n");
    restore(&g, session, "c");
    assert_says(&g, session, "print(random.random())", "0.8474337369372327\n");
    finish(&g);
}

static void refusals_come_with_their_reason(void **state)
{
    static const struct {
        const char *before, *words, *after;
    } cases[] = {
        {"import threading, time; e = threading.Event(); t = threading.Thread(target=e.wait, "
         "name='me'); t.start()",                          "thread `me` is running",           "e.set(); t.join()"             },
        {"import subprocess; p = subprocess.Popen(['sleep', '9'])", "child process ",
         "p.kill(); p.wait(); None"                                                                                                     },
        {"import os; p = os.pipe()",                                "is a pipe",                        "os.close(p[0]); os.close(p[1])"},
        {"import mmap; f = open('s', 'w+b'); n = f.truncate(9); m = mmap.mmap(f.fileno(), 9); "
         "f.close()",                                      "shared for writing",               "m.close()"                     },
        {"import os; os.mkfifo('fifo')",                            "`fifo` is a FIFO",                 "os.unlink('fifo')"             },
        {"import asyncio; l = asyncio.new_event_loop()",            "an event loop of asyncio is open",
         "l.close()"                                                                                                                    },
    };
    struct stage g;
    struct session *session;

    (void)state;
    begin(&g, 2);
    session = open_session(&g);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_says(&g, session, cases[i].before, "");
        checkpoint(&g, session, "no");
        assert_contains(g.why, cases[i].words);
        assert_says(&g, session, cases[i].after, "");
        checkpoint(&g, session, "yes");
        assert_string_equal(g.why, "");
    }
    finish(&g);
}

static void jobs_of_bash_are_refused_and_its_variables_come_along(void **state)
{
    struct stage g;
    struct session *session;

    (void)state;
    begin(&g, 2);
    session = open_session(&g);
    assert_output(&g, session, "x=5; (sleep 60 & echo $! > pid)", RUN_BASH, "");
    checkpoint(&g, session, "c");
    assert_contains(g.why, "(sleep) is running");
    assert_output(&g, session,
                  "p=$(cat pid); kill $p; while [ -e /proc/$p ]; do :; done; echo file > f",
                  RUN_BASH, "");
    checkpoint(&g, session, "c");
    assert_string_equal(g.why, "");
    assert_null(g.lost);
    assert_output(&g, session, "rm f; x=6", RUN_BASH, "");
    restore(&g, session, "c");
    assert_output(&g, session, "cat f; echo \"x is $x\"", RUN_BASH, "file\nx is 5\n");
    finish(&g);
}

/* Whatever a shell has that another one can be given, as it is asked for in the copy. */
static void a_copy_of_bash_goes_on_as_its_source(void **state)
{
    static const char set_up[] =
        "mkdir -p 'a b'; cd 'a b'; umask 027; set -- one 'two three'; IFS=:\n"
        "declare -A map=([k]=v ['k 2']=$'two\\nlines'); list=(1 '2 3'); declare -i n=3; readonly "
        "ro=7\n"
        "export sent='it'\\''s'; unset TERM; declare -n ref=n; odd=$'\\x01\\xff'; text='v(){ :; }; "
        "$(false)'\n"
        "shopt -s extglob; matches() { [[ $1 == @(x|y) ]]; }; show() { echo \"<$1>\"; }; export -f "
        "show\n"
        "declare() { echo mine; }; cd() { echo mine; }; alias show2='show twice'; trap 'echo left' "
        "EXIT\n"
        "set -u -a; exec 2>/dev/null";
    static const char look[] =
        "pwd; umask; echo $# $2; echo \"${map[k 2]}${map[k]}\" ${list[1]}; n+=4; echo $ref $ro "
        "$sent\n"
        "echo ${TERM-none} ${#odd} \"$text\"; matches y && show2; bash -c 'show sub'; cd; declare\n"
        "trap -p EXIT; echo $-; show=1; new=2; bash -c 'echo $new'; printf '%q\\n' \"$IFS\"";
    static const char seen[] = "/workspace/a b\n0027\n2 two three\ntwo\nlinesv 2 3\n7 7 it's\n"
                               "none 2 v(){ :; }; $(false)\n<twice>\n<sub>\nmine\nmine\n"
                               "trap -- 'echo left' EXIT\nahiuBs\n2\n:\n";
    struct stage g;
    struct session *session;

    (void)state;
    begin(&g, 4);
    session = open_session(&g);
    assert_output(&g, session, set_up, RUN_BASH, "");
    checkpoint(&g, session, "c");
    assert_string_equal(g.why, "");
    assert_null(g.lost);
    fork_session(&g, session, 1);
    session = g.copies[0];
    fork_session(&g, session, 1); /* of a copy whose Bash has not begun */
    assert_string_equal(g.why, "");
    assert_output(&g, g.copies[0], look, RUN_BASH, seen);
    assert_output(&g, session, look, RUN_BASH, seen);
    finish(&g);
}

static void what_bash_cannot_hand_over_is_said(void **state)
{
    struct stage g;
    struct session *session;
    struct error err = {0};

    (void)state;
    begin(&g, 3);
    session = open_session(&g);
    assert_output(&g, session, "x=5; exec 7</dev/null", RUN_BASH, "");
    checkpoint(&g, session, "c");
    assert_string_equal(g.why, "");
    assert_string_equal(g.lost, "open files of bash");
    restore(&g, session, "c");
    assert_output(&g, session, "echo $x; y=$(head -c 300000 /dev/zero | tr '\\0' y)", RUN_BASH,
                  "5\n");
    checkpoint(&g, session, "c");
    assert_string_equal(g.why, "");
    assert_string_equal(g.lost, "variables of bash");
    restore(&g, session, "c");
    assert_output(&g, session, "echo \"x is $x\"; y=1", RUN_BASH, "x is \n");
    /* A fresh one is fresh, also where the state of the copy has not been used yet. */
    checkpoint(&g, session, "c");
    restore(&g, session, "c");
    assert_int_equal(session_restart(session, RUN_BASH, &err), 0);
    assert_output(&g, session, "echo \"y is $y\"", RUN_BASH, "y is \n");
    finish(&g);
}

/* The next one is about to begin: for a moment it looks like a program's process. */
static void a_shell_that_has_just_ended_is_not_in_the_way(void **state)
{
    struct stage g;
    struct session *session;
    struct error err = {0};

    (void)state;
    begin(&g, 2);
    session = open_session(&g);
    for (int i = 0; i < 5; i++) {
        assert_output(&g, session, "x=1; exit 3", RUN_BASH, "exit\n");
        checkpoint(&g, session, "c");
        assert_string_equal(g.why, "");
        assert_output(&g, session, "echo \"x is $x\"; x=2", RUN_BASH, "x is \n");
        assert_int_equal(session_restart(session, RUN_BASH, &err), 0);
        checkpoint(&g, session, "c");
        assert_string_equal(g.why, "");
        restore(&g, session, "c");
        assert_output(&g, session, "echo \"x is $x\"", RUN_BASH, "x is \n");
    }
    finish(&g);
}

/* When it is asked for its variables. */
#define ASKED(command)                                                                             \
    "on_debug() { [[ $BASH_COMMAND != *__belljar_save* ]] || " command "; }; trap on_debug DEBUG"

/* The one that is asked does not answer as it should, or not at all. */
/* A cell that was on its way to one that has just died is lost, and said to be. */
static void assert_bash_is_back(struct stage *g, struct session *session)
{
    bool is_there = false;

    for (int i = 0; i < 10 && !is_there; i++) {
        struct scene_ticket *t;

        (void)scene_prepare(&g->scene, "echo here");
        t = &g->scene.tickets[g->scene.n_tickets - 1];
        t->run->language = RUN_BASH;
        session_submit(session, t->run);
        scene_wait(&g->scene, scene_all_done);
        is_there = strcmp(t->out, "here\n") == 0;
        if (!is_there)
            assert_int_equal(t->run->state, RUN_STATE_LOST);
        run_free(t->run);
        g->scene.n_tickets--;
        memset(t, 0, sizeof(*t));
    }
    assert_true(is_there);
}

static void a_bash_that_lies_or_dies_harms_itself(void **state)
{
    static const struct {
        const char *code, *why;
    } tricks[] = {
        {ASKED("printf 'BJ\\x01\\x1b\\xff\\xff\\xff\\xff' >&62"), "its Bash"},
        {ASKED("printf 'BJ\\x01\\x1b\\0\\0\\0\\0' >&62"),         ""        },
        {ASKED("kill -9 $$"),                                     "its Bash"},
        {ASKED("exit"),                                           "its Bash"},
    };
    struct stage g;
    struct session *session;

    (void)state;
    begin(&g, 2);
    session = open_session(&g);
    assert_output(&g, session, "x = 1", RUN_PYTHON, "");
    for (size_t i = 0; i < ARRAY_SIZE(tricks); i++) {
        assert_output(&g, session, tricks[i].code, RUN_BASH, "");
        checkpoint(&g, session, "c");
        assert_contains(g.why, tricks[i].why);
        assert_output(&g, session, "print(x)", RUN_PYTHON, "1\n");
        assert_bash_is_back(&g, session);
    }
    finish(&g);
}

/* A session that fills more than half of its limit: the image is not on its bill. */
static void an_image_is_not_charged_to_its_source(void **state)
{
    struct stage g;
    struct session *session;
    struct error err = {0};

    (void)state;
    begin(&g, 1);
    session = open_limited(&g, (uint64_t)400 << 20, true);
    assert_says(&g, session, "import numpy as np; a = np.ones(300 * 131072)", "");
    /* A cell that waits meanwhile rewrites all of it, for which there is no room until the image is
     * written. */
    (void)scene_prepare(&g.scene, "print(a.sum()); a[:] = 2");
    assert_int_equal(session_checkpoint(session, "c", on_copied, &g, &err), 0);
    session_submit(session, g.scene.tickets[0].run);
    scene_wait(&g.scene, scene_all_done);
    scene_assert_ran(&g.scene.tickets[0], "39321600.0\n");
    assert_int_equal(g.calls, 1);
    g.calls = 0;
    assert_string_equal(g.why, "");
    restore(&g, session, "c");
    assert_string_equal(g.why, "");
    assert_says(&g, session, "print(a.sum())", "39321600.0\n");
    finish(&g);
}

/* Where no process may be started the kernel writes the image itself. */
static void a_profile_without_processes_can_be_copied(void **state)
{
    struct stage g;
    struct session *session;

    (void)state;
    begin(&g, 1);
    session = open_limited(&g, (uint64_t)400 << 20, false);
    assert_says(&g, session,
                "import numpy as np; a = np.ones(300 * 131072)\n"
                "import os\n"
                "try: os.fork()\n"
                "except PermissionError: print('no')",
                "no\n");
    fork_session(&g, session, 2);
    assert_string_equal(g.why, "");
    assert_says(&g, g.copies[1], "print(a.sum()); a[:1000] = 0", "39321600.0\n");
    assert_says(&g, session, "print(a.sum())", "39321600.0\n");
    finish(&g);
}

static void unknown_checkpoints_and_busy_sessions(void **state)
{
    struct stage g;
    struct session *session;
    struct error err = {0};

    (void)state;
    begin(&g, 1);
    session = open_session(&g);
    assert_says(&g, session, "1; None", "");
    assert_int_equal(session_restore(session, "none", on_copied, &g, &err), -1);
    assert_error(&err, E_NOT_FOUND, "no checkpoint of that name");
    assert_int_equal(session_checkpoint(session, "a/b", on_copied, &g, &err), -1);
    assert_error(&err, E_INVALID, "not a name");
    assert_int_equal(session_fork(session, 0, &(struct session_options){0}, on_copied, &g, &err),
                     -1);
    assert_error(&err, E_INVALID, "that many");
    assert_int_equal(session_fork(session, 100, &(struct session_options){0}, on_copied, &g, &err),
                     -1);
    assert_error(&err, E_BUSY, "no more are allowed");
    checkpoint(&g, session, "one");
    checkpoint(&g, session, "two");
    checkpoint(&g, session, "one");
    assert_string_equal(session_checkpoint_name(session, 0), "one");
    assert_string_equal(session_checkpoint_name(session, 1), "two");
    assert_null(session_checkpoint_name(session, 2));
    assert_int_equal(session_forget(session, "two", &err), 0);
    assert_int_equal(session_restore(session, "two", on_copied, &g, &err), -1);
    error_done(&err);
    finish(&g);
}

static void a_session_that_ends_meanwhile_ends_cleanly(void **state)
{
    struct stage g;
    struct session *session;
    struct error err = {0};

    (void)state;
    begin(&g, 2);
    session = open_session(&g);
    assert_says(&g, session, "x = bytearray(50_000_000)", "");
    assert_int_equal(session_checkpoint(session, "c", on_copied, &g, &err), 0);
    session_close(session, NULL);
    scene_wait(&g.scene, was_called);
    assert_contains(g.why, "the session could not be copied");
    g.calls = 0;

    session = open_session(&g);
    assert_says(&g, session, "x = 1", "");
    checkpoint(&g, session, "c");
    assert_int_equal(session_restore(session, "c", on_copied, &g, &err), 0);
    session_close(session, NULL);
    scene_wait(&g.scene, was_called);
    g.calls = 0;

    session = open_session(&g);
    assert_says(&g, session, "x = 1", "");
    assert_int_equal(session_fork(session, 4,
                                  &(struct session_options){.on_end = on_end, .user = &g},
                                  on_copied, &g, &err),
                     0);
    finish(&g); /* in the middle of it */
}

static void end_the_first(void *user, struct session *session)
{
    struct stage *g = user;

    if (g->starts++ == 0)
        session_close(session, "the test ends it");
}

static void a_copy_that_ends_before_the_others_are_made_is_not_given_out(void **state)
{
    struct stage g;
    struct session *session;
    struct error err = {0};

    (void)state;
    begin(&g, 2);
    session = open_session(&g);
    assert_says(&g, session, "x = 1", "");
    g.n_copies = 0;
    wait_copied(&g,
                session_fork(session, 2,
                             &(struct session_options){
                                 .on_start = end_the_first, .on_end = on_end, .user = &g},
                             on_copied, &g, &err),
                &err);
    assert_int_equal(g.starts, 2);
    assert_non_null(strstr(g.why, "the test ends it"));
    assert_int_equal(g.n_copies, 1);
    assert_says(&g, g.copies[0], "print(x)", "1\n");
    finish(&g);
}

static bool has_two_sandboxes(struct scene *s)
{
    const struct session *second = sessions_next(s->sessions, sessions_next(s->sessions, NULL));

    return second && session_pid(second) > 0;
}

/* It can be found before it is one. Cells wait, and nothing else is to be had of it. */
static void who_finds_a_copy_in_the_making_waits_for_it(void **state)
{
    struct stage g;
    struct session *session, *copy;
    struct session_info info;
    struct error err = {0};

    (void)state;
    begin(&g, 2);
    session = open_session(&g);
    assert_says(&g, session, "x = bytearray(100 << 20); x[-1] = 5; open('f', 'w').write('1')", "");
    assert_int_equal(session_fork(session, 1,
                                  &(struct session_options){.on_end = on_end, .user = &g},
                                  on_copied, &g, &err),
                     0);
    scene_wait(&g.scene, has_two_sandboxes);
    assert_int_equal(g.calls, 0);
    copy = sessions_next(g.scene.sessions, session);
    session_info(copy, &info);
    assert_int_equal(info.state, SESSION_STARTING);
    assert_null(session_files(copy));
    assert_int_equal(session_restart(copy, RUN_PYTHON, &err), -1);
    assert_int_equal(err.code, E_BUSY);
    error_done(&err);
    assert_says(&g, copy, "print(x[-1], open('f').read())", "5 1\n");
    assert_int_equal(g.calls, 1);
    finish(&g);
}

/* What a kernel needs for images is of no use to a program, and images are none of its business. */
static void a_program_gets_no_hold_of_the_means(void **state)
{
    struct stage g;
    struct session *session;

    (void)state;
    begin(&g, 2);
    session = open_session(&g);
    assert_says(&g, session,
                "import ctypes, os, socket; c = ctypes.CDLL(None, use_errno=True)\n"
                "print(c.prctl(4, 1, 0, 0, 0), ctypes.get_errno())\n"
                "s = socket.socket(fileno=os.dup(63))\n"
                "try: s.send(b'x')\n"
                "except BrokenPipeError: print('one way')\n"
                "s.close()",
                "-1 1\none way\n");
    checkpoint(&g, session, "c");
    assert_string_equal(g.why, "");
    restore(&g, session, "c");
    assert_says(&g, session,
                "print(c.prctl(4, 1, 0, 0, 0), sorted(map(int, os.listdir('/proc/self/fd'))))",
                "-1 [0, 1, 2, 3, 58, 59, 60, 61, 62, 63]\n");
    finish(&g);
}

/* The kernel that follows one that died can be copied, too. */
static void a_kernel_that_was_restarted_can_be_copied(void **state)
{
    struct stage g;
    struct session *session;

    (void)state;
    begin(&g, 2);
    session = open_session(&g);
    assert_says(&g, session, "x = 1", "");
    fork_session(&g, session, 1);
    assert_says(&g, g.copies[0], "import os; os._exit(3)", "");
    assert_says(&g, g.copies[0], "print('x' in globals()); y = 2", "False\n");
    session = g.copies[0];
    fork_session(&g, session, 1);
    assert_string_equal(g.why, "");
    assert_says(&g, g.copies[0], "print(y)", "2\n");
    finish(&g);
}

static void checkpoints_of_one_owner_hold_no_more_than_his_share(void **state)
{
    struct stage g;
    struct session *session, *other;
    struct error err = {0};

    (void)state;
    begin(&g, 2);
    session = open_session(&g);
    other = open_session(&g);
    assert_says(&g, session, "a = bytearray(b'x') * (70 << 20)", "");
    assert_says(&g, other, "1", "");
    checkpoint(&g, session, "full");
    assert_string_equal(g.why, "");
    assert_int_equal(session_checkpoint(other, "c", on_copied, &g, &err), -1);
    assert_int_equal(err.code, E_TOO_LARGE);
    error_done(&err);
    assert_int_equal(session_forget(session, "full", &err), 0);
    checkpoint(&g, other, "c");
    assert_string_equal(g.why, "");
    finish(&g);
}

static void a_cold_sandbox_says_that_it_cannot(void **state)
{
    struct stage g = {0};
    struct session *session;
    struct error err = {0};

    (void)state;
    stage = &g;
    scene_begin(&g.scene, (struct pool_options){.size = 0});
    assert_int_equal(sessions_new(g.scene.loop, g.scene.pool,
                                  &(struct sessions_options){.max_total = 4, .max_per_owner = 4},
                                  &g.scene.sessions, &err),
                     0);
    session = open_session(&g);
    assert_says(&g, session, "x = 1", "");
    checkpoint(&g, session, "c");
    assert_contains(g.why, "not warm");
    assert_says(&g, session, "print(x)", "1\n");
    finish(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checkpoint_takes_variables_and_files_back),
        cmocka_unit_test(forks_have_the_same_state_and_go_their_own_way),
        cmocka_unit_test(copies_of_copies_of_copies),
        cmocka_unit_test(random_numbers_of_copies_differ),
        cmocka_unit_test(going_back_keeps_the_random_sequence),
        cmocka_unit_test(refusals_come_with_their_reason),
        cmocka_unit_test(jobs_of_bash_are_refused_and_its_variables_come_along),
        cmocka_unit_test(a_copy_of_bash_goes_on_as_its_source),
        cmocka_unit_test(what_bash_cannot_hand_over_is_said),
        cmocka_unit_test(a_shell_that_has_just_ended_is_not_in_the_way),
        cmocka_unit_test(a_bash_that_lies_or_dies_harms_itself),
        cmocka_unit_test(an_image_is_not_charged_to_its_source),
        cmocka_unit_test(a_profile_without_processes_can_be_copied),
        cmocka_unit_test(unknown_checkpoints_and_busy_sessions),
        cmocka_unit_test(a_session_that_ends_meanwhile_ends_cleanly),
        cmocka_unit_test(a_copy_that_ends_before_the_others_are_made_is_not_given_out),
        cmocka_unit_test(who_finds_a_copy_in_the_making_waits_for_it),
        cmocka_unit_test(a_program_gets_no_hold_of_the_means),
        cmocka_unit_test(a_kernel_that_was_restarted_can_be_copied),
        cmocka_unit_test(checkpoints_of_one_owner_hold_no_more_than_his_share),
        cmocka_unit_test(a_cold_sandbox_says_that_it_cannot),
    };

#if defined(__SANITIZE_ADDRESS__)
    (void)tests;
    puts("1..0 # SKIP the address checker's own memory cannot be moved to a file");
    return 0;
#endif
    return UNIT_RUN(tests);
}
