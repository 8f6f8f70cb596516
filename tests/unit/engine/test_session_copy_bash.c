/* The Bash of a copied session. */
#include "unit.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "engine/stage.h"

TEST(jobs_of_bash_are_refused_and_its_variables_come_along)
{
    struct stage g;
    struct session *session;

    stage_begin(&g, 2);
    session = stage_open(&g);
    assert_output(&g, session, "x=5; (sleep 60 & echo $! > pid)", RUN_BASH, "");
    stage_checkpoint(&g, session, "c");
    assert_contains(g.why, "(sleep) is running");
    assert_output(&g, session,
                  "p=$(cat pid); kill $p; while [ -e /proc/$p ]; do :; done; echo file > f",
                  RUN_BASH, "");
    stage_checkpoint(&g, session, "c");
    assert_string_equal(g.why, "");
    assert_null(g.lost);
    assert_output(&g, session, "rm f; x=6", RUN_BASH, "");
    stage_restore(&g, session, "c");
    assert_output(&g, session, "cat f; echo \"x is $x\"", RUN_BASH, "file\nx is 5\n");
    stage_finish(&g);
}

/* The list of processes is read through a descriptor, which has the number of one of the four: the
 * kernel opens about seven others before it. */
TEST(a_process_with_the_number_of_a_descriptor_is_seen)
{
    static const char start[] = "import os, time\n"
                                "def start():\n"
                                "    r, w = os.pipe()\n"
                                "    if os.fork() == 0:\n"
                                "        for i in range(4):\n"
                                "            pid = os.fork()\n"
                                "            if pid == 0:\n"
                                "                time.sleep(60)\n"
                                "                os._exit(0)\n"
                                "            os.write(w, b'%d ' % pid)\n"
                                "        os._exit(0)\n"
                                "    os.wait()\n"
                                "    pids = [int(n) for n in os.read(r, 99).split()]\n"
                                "    os.close(r)\n"
                                "    os.close(w)\n"
                                "    return pids\n"
                                "while (pids := start())[0] < 20:\n"
                                "    for pid in pids:\n"
                                "        os.kill(pid, 9)\n"
                                "while os.open('/workspace', os.O_RDONLY) < pids[0] - 7:\n"
                                "    pass\n";
    struct stage g;
    struct session *session;
    size_t seen = 0;

    stage_begin(&g, 2);
    session = stage_open(&g);
    assert_output(&g, session, start, RUN_PYTHON, "");
    stage_checkpoint(&g, session, "c");
    for (const char *at = g.why; (at = strstr(at, " is running")); at++)
        seen++;
    assert_int_equal(seen, 4);
    stage_finish(&g);
}

/* Whatever a shell has that another one can be given, as it is asked for in the copy. */
TEST(a_copy_of_bash_goes_on_as_its_source)
{
    static const char set_up[] =
        "mkdir -p 'a b'; cd 'a b'; umask 027; set -- one 'two three'; IFS=:\n"
        "declare -A map=([k]=v ['k 2']=$'two\\nlines'); list=(1 '2 3'); declare -i n=3; readonly "
        "ro=7\n"
        "export sent='it'\\''s'; unset TERM; declare -n ref=n; odd=$'\\x01\\xff'; text='v(){ :; }; "
        "$(false)'\n"
        "shopt -s extglob; matches() { [[ $1 == @(x|y) ]]; }; show() { echo \"<$1>\"; }; export -f "
        "show\n"
        "declare() { echo mine; }; cd() { echo mine; }; alias show2='show twice'; trap 'echo told' "
        "USR1; trap 'echo left' EXIT\n"
        "set -b -a; exec 2>/dev/null";
    static const char look[] =
        "pwd; umask; echo $# $2; echo \"${map[k 2]}${map[k]}\" ${list[1]}; n+=4; echo $ref $ro "
        "$sent\n"
        "echo ${TERM-none} ${#odd} \"$text\"; matches y && show2; bash -c 'show sub'; cd; declare\n"
        "trap -p EXIT; kill -USR1 $$; echo $-; show=1; new=2; bash -c 'echo $new'; printf '%q\\n' "
        "\"$IFS\"";
    static const char seen[] = "/workspace/a b\n0027\n2 two three\ntwo\nlinesv 2 3\n7 7 it's\n"
                               "none 2 v(){ :; }; $(false)\n<twice>\n<sub>\nmine\nmine\n"
                               "told\nabhiBEs\n2\n:\n";
    struct stage g;
    struct session *session;

    stage_begin(&g, 4);
    session = stage_open(&g);
    assert_output(&g, session, set_up, RUN_BASH, "left\n"); /* a trap of EXIT is of its cell */
    stage_checkpoint(&g, session, "c");
    assert_string_equal(g.why, "");
    assert_null(g.lost);
    stage_fork(&g, session, 1);
    session = g.copies[0];
    stage_fork(&g, session, 1); /* of a copy whose Bash has not begun */
    assert_string_equal(g.why, "");
    assert_output(&g, g.copies[0], look, RUN_BASH, seen);
    assert_output(&g, session, look, RUN_BASH, seen);
    stage_finish(&g);
}

TEST(what_bash_cannot_hand_over_is_said)
{
    struct stage g;
    struct session *session;
    struct error err = {0};

    stage_begin(&g, 3);
    session = stage_open(&g);
    assert_output(&g, session, "x=5; exec 7</dev/null", RUN_BASH, "");
    stage_checkpoint(&g, session, "c");
    assert_string_equal(g.why, "");
    assert_string_equal(g.lost, "open files of bash");
    stage_restore(&g, session, "c");
    assert_output(&g, session, "echo $x; y=$(head -c 300000 /dev/zero | tr '\\0' y)", RUN_BASH,
                  "5\n");
    stage_checkpoint(&g, session, "c");
    assert_string_equal(g.why, "");
    assert_string_equal(g.lost, "variables of bash");
    stage_restore(&g, session, "c");
    assert_output(&g, session, "echo \"x is $x\"; y=1", RUN_BASH, "x is \n");
    /* A fresh one is fresh, also where the state of the copy has not been used yet. */
    stage_checkpoint(&g, session, "c");
    stage_restore(&g, session, "c");
    assert_int_equal(session_restart(session, RUN_BASH, &err), 0);
    assert_output(&g, session, "echo \"y is $y\"", RUN_BASH, "y is \n");
    stage_finish(&g);
}

/* The next one is about to begin: for a moment it looks like a program's process. */
TEST(a_shell_that_has_just_ended_is_not_in_the_way)
{
    struct stage g;
    struct session *session;
    struct error err = {0};

    stage_begin(&g, 2);
    session = stage_open(&g);
    for (int i = 0; i < 5; i++) {
        assert_output(&g, session, "x=1; builtin exit 3", RUN_BASH, "exit\n");
        stage_checkpoint(&g, session, "c");
        assert_string_equal(g.why, "");
        assert_output(&g, session, "echo \"x is $x\"; x=2", RUN_BASH, "x is \n");
        assert_int_equal(session_restart(session, RUN_BASH, &err), 0);
        stage_checkpoint(&g, session, "c");
        assert_string_equal(g.why, "");
        stage_restore(&g, session, "c");
        assert_output(&g, session, "echo \"x is $x\"", RUN_BASH, "x is \n");
    }
    stage_finish(&g);
}

/* When it is asked for its variables. */
#define ASKED(command)                                                                             \
    "on_debug() { [[ $BASH_COMMAND != *__belljar_save* ]] || " command "; }; trap on_debug DEBUG"

/* A cell that was on its way to one that has just died is lost, and said to be. */
static void assert_bash_is_back(struct stage *g, struct session *session)
{
    bool is_there = false;

    for (int i = 0; i < 10 && !is_there; i++) {
        struct scene_ticket *t = stage_run(g, session, "echo here", RUN_BASH);

        is_there = strcmp(t->out, "here\n") == 0;
        if (!is_there)
            assert_int_equal(t->run->result.state, RUN_STATE_LOST);
        stage_forget(g, t);
    }
    assert_true(is_there);
}

/* The one that is asked does not answer as it should, or not at all. */
TEST(a_bash_that_lies_or_dies_harms_itself)
{
    static const struct {
        const char *code, *why;
    } tricks[] = {
        {ASKED("printf 'BJ\\x01\\x1b\\xff\\xff\\xff\\xff' >&62"), "its Bash"},
        {ASKED("printf 'BJ\\x01\\x1b\\0\\0\\0\\0' >&62"), ""},
        {ASKED("kill -9 $$"), "its Bash"},
        {ASKED("exit"), "its Bash"},
    };
    struct stage g;
    struct session *session;

    stage_begin(&g, 2);
    session = stage_open(&g);
    assert_output(&g, session, "x = 1", RUN_PYTHON, "");
    for (size_t i = 0; i < ARRAY_SIZE(tricks); i++) {
        assert_output(&g, session, tricks[i].code, RUN_BASH, "");
        stage_checkpoint(&g, session, "c");
        assert_contains(g.why, tricks[i].why);
        assert_output(&g, session, "print(x)", RUN_PYTHON, "1\n");
        assert_bash_is_back(&g, session);
    }
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
