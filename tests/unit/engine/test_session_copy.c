/* Checkpoints and forks in real sandboxes, with a warm interpreter. */
#include "unit.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/stream.h"
#include "engine/session_internal.h"
#include "engine/stage.h"

TEST(a_checkpoint_takes_variables_and_files_back)
{
    struct stage g;
    struct session *session;

    stage_begin(&g, 2);
    session = stage_open(&g);
    assert_says(&g, session,
                "import numpy as np, os; x = [1]; a = np.zeros(300_000)\n"
                "f = open('log', 'w'); n = f.write('one'); f.flush()",
                "");
    stage_checkpoint(&g, session, "first");
    assert_string_equal(g.why, "");
    assert_says(&g, session,
                "x.append(2); a += 1; n = f.write('two'); f.flush(); os.mkdir('d'); print(x)",
                "[1, 2]\n");
    for (int i = 0; i < 3; i++) {
        stage_restore(&g, session, "first");
        assert_string_equal(g.why, "");
        assert_says(&g, session, "print(x, a.sum(), open('log').read(), os.listdir())",
                    "[1] 0.0 one ['log']\n");
        assert_says(&g, session, "x.append(9); a += 5; n = f.write('!!'); f.flush()", "");
        assert_says(&g, session, "print(x, open('log').read())", "[1, 9] one!!\n");
    }
    assert_int_equal(g.ends, 0);
    stage_finish(&g);
}

TEST(forks_have_the_same_state_and_go_their_own_way)
{
    struct stage g;
    struct session *session;

    stage_begin(&g, 4);
    session = stage_open(&g);
    assert_says(&g, session,
                "import numpy as np\ndata = {'k': np.arange(1000)}; open('f', 'w').write('f')\n"
                "def gen():\n    for i in range(100): yield i\ng = gen(); next(g)\nNone",
                "");
    stage_fork(&g, session, 3);
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
    stage_finish(&g);
}

TEST(copies_of_copies_of_copies)
{
    struct stage g;
    struct session *session;
    char expected[64];

    stage_begin(&g, 2);
    session = stage_open(&g);
    assert_says(&g, session, "n = 0; big = bytearray(3_000_000)", "");
    for (int i = 1; i <= 12; i++) {
        stage_fork(&g, session, 1);
        assert_string_equal(g.why, "");
        session_close(session, NULL);
        session = g.copies[0];
        (void)snprintf(expected, sizeof(expected), "%d %d\n", i, i % 256);
        assert_says(&g, session,
                    "n += 1; big[n * 4096 * 10] = n; print(n, sum(big) - sum(range(n)))", expected);
    }
    stage_finish(&g);
}

TEST(random_numbers_of_copies_differ)
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

    stage_begin(&g, 2);
    session = stage_open(&g);
    assert_says(&g, session, "import ssl, random; ssl.RAND_bytes(1); random.seed(3)", "");
    stage_fork(&g, session, 2);
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
    stage_finish(&g);
}

TEST(going_back_keeps_the_random_sequence)
{
    struct stage g;
    struct session *session;

    stage_begin(&g, 2);
    session = stage_open(&g);
    assert_says(&g, session, "import random; random.seed(1); random.random(); None", "");
    stage_checkpoint(&g, session, "c");
    assert_says(&g, session, "print(random.random())", "0.8474337369372327\n");
    stage_restore(&g, session, "c");
    assert_says(&g, session, "print(random.random())", "0.8474337369372327\n");
    stage_finish(&g);
}

TEST(refusals_come_with_their_reason)
{
    static const struct {
        const char *before, *words, *after;
    } cases[] = {
        {"import threading, time; e = threading.Event(); t = threading.Thread(target=e.wait, "
         "name='me'); t.start()",
         "thread `me` is running", "e.set(); t.join()"},
        {"import subprocess; p = subprocess.Popen(['sleep', '9'])", "child process ",
         "p.kill(); p.wait(); None"},
        {"import os; p = os.pipe()", "is a pipe", "os.close(p[0]); os.close(p[1])"},
        {"import mmap; f = open('s', 'w+b'); n = f.truncate(9); m = mmap.mmap(f.fileno(), 9); "
         "f.close()",
         "shared for writing", "m.close()"},
        {"import os; os.mkfifo('fifo')", "`fifo` is a FIFO", "os.unlink('fifo')"},
        {"import asyncio; l = asyncio.new_event_loop()", "an event loop of asyncio is open",
         "l.close()"},
    };
    struct stage g;
    struct session *session;

    stage_begin(&g, 2);
    session = stage_open(&g);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_says(&g, session, cases[i].before, "");
        stage_checkpoint(&g, session, "no");
        assert_contains(g.why, cases[i].words);
        assert_says(&g, session, cases[i].after, "");
        stage_checkpoint(&g, session, "yes");
        assert_string_equal(g.why, "");
    }
    stage_finish(&g);
}

/* A session that fills more than half of its limit: the image is not on its bill. */
TEST(an_image_is_not_charged_to_its_source)
{
    struct stage g;
    struct session *session;
    struct error err = {0};

    stage_begin(&g, 1);
    session = stage_open_limited(&g, (uint64_t)400 << 20, true);
    assert_says(&g, session, "import numpy as np; a = np.ones(300 * 131072)", "");
    /* A cell that waits meanwhile rewrites all of it, for which there is no room until the image is
     * written. */
    (void)scene_prepare(&g.scene, "print(a.sum()); a[:] = 2");
    assert_int_equal(session_checkpoint(session, "c", stage_copied, &g, &err), 0);
    session_submit(session, g.scene.tickets[0].run);
    scene_wait(&g.scene, scene_all_done);
    scene_assert_ran(&g.scene.tickets[0], "39321600.0\n");
    assert_int_equal(g.calls, 1);
    g.calls = 0;
    assert_string_equal(g.why, "");
    stage_restore(&g, session, "c");
    assert_string_equal(g.why, "");
    assert_says(&g, session, "print(a.sum())", "39321600.0\n");
    stage_finish(&g);
}

/* If no process may be started, the kernel writes the image itself. */
TEST(a_profile_without_processes_can_be_copied)
{
    struct stage g;
    struct session *session;

    stage_begin(&g, 1);
    session = stage_open_limited(&g, (uint64_t)400 << 20, false);
    assert_says(&g, session,
                "import numpy as np; a = np.ones(300 * 131072)\n"
                "import os\n"
                "try: os.fork()\n"
                "except PermissionError: print('no')",
                "no\n");
    stage_fork(&g, session, 2);
    assert_string_equal(g.why, "");
    assert_says(&g, g.copies[1], "print(a.sum()); a[:1000] = 0", "39321600.0\n");
    assert_says(&g, session, "print(a.sum())", "39321600.0\n");
    stage_finish(&g);
}

TEST(unknown_checkpoints_and_busy_sessions)
{
    struct stage g;
    struct session *session;
    struct error err = {0};

    stage_begin(&g, 1);
    session = stage_open(&g);
    assert_says(&g, session, "1; None", "");
    assert_int_equal(session_restore(session, "none", stage_copied, &g, &err), -1);
    assert_error(&err, E_NOT_FOUND, "no checkpoint of that name");
    assert_int_equal(session_checkpoint(session, "a/b", stage_copied, &g, &err), -1);
    assert_error(&err, E_INVALID, "invalid checkpoint name");
    assert_int_equal(session_fork(session, 0, &(struct session_options){0}, stage_copied, &g, &err),
                     -1);
    assert_error(&err, E_INVALID, "that many");
    assert_int_equal(
        session_fork(session, 100, &(struct session_options){0}, stage_copied, &g, &err), -1);
    assert_error(&err, E_BUSY, "no more are allowed");
    stage_checkpoint(&g, session, "one");
    stage_checkpoint(&g, session, "two");
    stage_checkpoint(&g, session, "one");
    assert_string_equal(session_checkpoint_name(session, 0), "one");
    assert_string_equal(session_checkpoint_name(session, 1), "two");
    assert_null(session_checkpoint_name(session, 2));
    assert_int_equal(session_forget(session, "two", &err), 0);
    assert_int_equal(session_restore(session, "two", stage_copied, &g, &err), -1);
    error_done(&err);
    stage_finish(&g);
}

TEST(a_session_that_ends_meanwhile_ends_cleanly)
{
    struct stage g;
    struct session *session;
    struct error err = {0};

    stage_begin(&g, 2);
    session = stage_open(&g);
    assert_says(&g, session, "x = bytearray(50_000_000)", "");
    assert_int_equal(session_checkpoint(session, "c", stage_copied, &g, &err), 0);
    session_close(session, NULL);
    scene_wait(&g.scene, stage_was_called);
    assert_contains(g.why, "the session could not be copied");
    g.calls = 0;

    session = stage_open(&g);
    assert_says(&g, session, "x = 1", "");
    stage_checkpoint(&g, session, "c");
    assert_int_equal(session_restore(session, "c", stage_copied, &g, &err), 0);
    session_close(session, NULL);
    scene_wait(&g.scene, stage_was_called);
    g.calls = 0;

    session = stage_open(&g);
    assert_says(&g, session, "x = 1", "");
    assert_int_equal(session_fork(session, 4,
                                  &(struct session_options){.on_end = stage_end, .user = &g},
                                  stage_copied, &g, &err),
                     0);
    stage_finish(&g); /* in the middle of it */
}

static void end_the_first(void *user, struct session *session)
{
    struct stage *g = user;

    if (g->starts++ == 0)
        session_close(session, "the test ends it");
}

TEST(a_copy_that_ends_before_the_others_are_made_is_not_given_out)
{
    struct stage g;
    struct session *session;
    struct error err = {0};

    stage_begin(&g, 2);
    session = stage_open(&g);
    assert_says(&g, session, "x = 1", "");
    g.n_copies = 0;
    stage_wait(&g,
               session_fork(session, 2,
                            &(struct session_options){
                                .on_start = end_the_first, .on_end = stage_end, .user = &g},
                            stage_copied, &g, &err),
               &err);
    assert_int_equal(g.starts, 2);
    assert_non_null(strstr(g.why, "the test ends it"));
    assert_int_equal(g.n_copies, 1);
    assert_says(&g, g.copies[0], "print(x)", "1\n");
    stage_finish(&g);
}

static bool has_two_sandboxes(struct scene *s)
{
    const struct session *second = sessions_next(s->sessions, sessions_next(s->sessions, NULL));

    return second && session_pid(second) > 0;
}

/* It can be found before it is one. Cells wait, and nothing else is to be had of it. */
TEST(who_finds_a_copy_in_the_making_waits_for_it)
{
    struct stage g;
    struct session *session, *copy;
    struct session_info info;
    struct error err = {0};

    stage_begin(&g, 2);
    session = stage_open(&g);
    assert_says(&g, session, "x = bytearray(100 << 20); x[-1] = 5; open('f', 'w').write('1')", "");
    assert_int_equal(session_fork(session, 1,
                                  &(struct session_options){.on_end = stage_end, .user = &g},
                                  stage_copied, &g, &err),
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
    stage_finish(&g);
}

/* A program cannot use what a kernel needs for images, nor the images. */
TEST(a_program_gets_no_hold_of_the_means)
{
    struct stage g;
    struct session *session;

    stage_begin(&g, 2);
    session = stage_open(&g);
    assert_says(&g, session,
                "import ctypes, os, socket; c = ctypes.CDLL(None, use_errno=True)\n"
                "print(c.prctl(4, 1, 0, 0, 0), ctypes.get_errno())\n"
                "s = socket.socket(fileno=os.dup(63))\n"
                "try: s.send(b'x')\n"
                "except BrokenPipeError: print('one way')\n"
                "s.close()",
                "-1 1\none way\n");
    stage_checkpoint(&g, session, "c");
    assert_string_equal(g.why, "");
    stage_restore(&g, session, "c");
    assert_says(&g, session,
                "print(c.prctl(4, 1, 0, 0, 0), sorted(map(int, os.listdir('/proc/self/fd'))))",
                "-1 [0, 1, 2, 3, 58, 59, 60, 61, 62, 63]\n");
    stage_finish(&g);
}

/* The kernel that follows one that died can be copied, too. */
TEST(a_kernel_that_was_restarted_can_be_copied)
{
    struct stage g;
    struct session *session;

    stage_begin(&g, 2);
    session = stage_open(&g);
    assert_says(&g, session, "x = 1", "");
    stage_fork(&g, session, 1);
    assert_says(&g, g.copies[0], "import os; os._exit(3)", "");
    assert_says(&g, g.copies[0], "print('x' in globals()); y = 2", "False\n");
    session = g.copies[0];
    stage_fork(&g, session, 1);
    assert_string_equal(g.why, "");
    assert_says(&g, g.copies[0], "print(y)", "2\n");
    stage_finish(&g);
}

/* An image that turns out too large is not kept, and what is there stays. */
TEST(images_hold_no_more_than_their_share)
{
    struct stage g;
    struct session *session, *other;
    struct error err = {0};
    int made = 0;

    stage_begin(&g, 2);
    session = stage_open(&g);
    other = stage_open(&g);
    assert_says(&g, session, "a = bytearray(b'x') * (120 << 20)", "");
    assert_says(&g, other, "a = bytearray(b'x') * (120 << 20)", "");
    for (; made < 8; made++) {
        char name[8];

        (void)snprintf(name, sizeof(name), "c%d", made);
        stage_checkpoint(&g, made % 2 ? other : session, name);
        if (*g.why)
            break;
    }
    assert_in_range(made, 3, 4);
    assert_contains(g.why, "no more is allowed");
    assert_int_equal(session_forget(session, "c0", &err), 0);
    stage_checkpoint(&g, other, "instead");
    assert_string_equal(g.why, "");
    stage_finish(&g);
}

/* The image that a session was restored from counts as long as it refers to it, checkpoint or
 * not. */
TEST(origins_count_and_do_not_pile_up)
{
    struct stage g;
    struct session *session;
    struct error err = {0};

    stage_begin(&g, 2);
    session = stage_open_limited(&g, (uint64_t)128 << 20, true);
    for (int i = 0; i < 8; i++) {
        assert_says(&g, session, "a = bytearray(b'x') * (50 << 20)", "");
        stage_checkpoint(&g, session, "c");
        assert_string_equal(g.why, "");
        stage_restore(&g, session, "c");
        assert_string_equal(g.why, "");
        assert_int_equal(session_forget(session, "c", &err), 0);
        assert_in_range(session_copy_bytes(session, ++g.scene.sessions->marks), 50 << 20,
                        256 << 20);
    }
    stage_finish(&g);
}

TEST(a_cold_sandbox_says_that_it_cannot)
{
    struct stage g = {0};
    struct session *session;
    struct error err = {0};

    scene_begin(&g.scene, (struct pool_options){.size = 0});
    assert_int_equal(sessions_new(g.scene.loop, g.scene.pool,
                                  &(struct sessions_options){.max_total = 4, .max_per_owner = 4},
                                  &g.scene.sessions, &err),
                     0);
    session = stage_open(&g);
    assert_says(&g, session, "x = 1", "");
    stage_checkpoint(&g, session, "c");
    assert_contains(g.why, "not warm");
    assert_says(&g, session, "print(x)", "1\n");
    stage_finish(&g);
}

int main(void)
{
#if defined(__SANITIZE_ADDRESS__)
    puts("1..0 # SKIP the address checker's own memory cannot be moved to a file");
    return 0;
#endif
    return unit_run(NULL, NULL);
}
