#include "undo/undo.h"

#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "undo/scene.h"
#include "undo/taking_back.h"

/* The size of the journal's last line. */
static off_t last_line(void)
{
    static char text[65536];
    int fd = open("run/journal", O_RDONLY | O_CLOEXEC);
    ssize_t len = read(fd, text, sizeof(text));
    ssize_t at = len - 1;

    (void)close(fd);
    while (at > 0 && text[at - 1] != '\n')
        at--;
    return len - at;
}

static bool run_until(void (*program)(void), int moments)
{
    scene.patience = moments;
    if (setjmp(scene.killed) == 0) {
        program();
        scene.patience = 0;
        return false;
    }
    return true;
}

/* Killed between the `moments`-th entry and its change, with the last `torn` bytes lost. */
static bool crash_at(void (*program)(void), int moments, off_t torn)
{
    cleanup_free char *before = NULL;
    void *state = NULL;
    struct stat st;
    bool was_killed;

    assert_int_equal(scene_enter(&state), 0);
    forget_undos();
    lock = NULL;
    forget_steps();
    fill_grant();
    before = snapshot();
    scene_begin("run", NULL);
    was_killed = run_until(program, moments);
    scene_crash();
    if (torn) {
        assert_int_equal(stat("run/journal", &st), 0);
        assert_int_equal(truncate("run/journal", st.st_size - torn), 0);
    }
    undo("run", "undo1");
    assert_no_conflict();
    assert_as(before);
    assert_int_equal(scene_leave(&state), 0);
    return was_killed;
}

TEST(after_a_crash_at_any_moment_everything_comes_back)
{
    for (size_t i = 0; i < n_programs; i++)
        for (int moments = 1; crash_at(programs[i], moments, 0); moments++)
            ;
}

/* A line that was not written whole belongs to a change that was not made. The first moment is
 * right behind the first entry. */
TEST(a_torn_last_line_is_harmless)
{
    static void (*const first[])(void) = {write_and_append, create_all_kinds, remove_all_kinds,
                                          rename_all_kinds, change_attributes};
    void *own = NULL;
    off_t len;

    for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
        assert_int_equal(scene_enter(&own), 0);
        fill_grant();
        scene_begin("run", NULL);
        (void)run_until(first[i], 1);
        scene_crash();
        len = last_line();
        assert_int_equal(scene_leave(&own), 0);
        for (off_t torn = 1; torn <= len; torn += 1)
            (void)crash_at(first[i], 1, torn);
    }
}

UNDO_TEST(after_a_crash_what_changed_later_is_left_alone)
{
    fill_grant();
    scene_begin("run", NULL);
    do_write("a", "by the run");
    do_write("new", "by the run");
    scene_crash();
    (void)sleep(2);
    put("a", "by the user");
    put("new", "by the user");
    undo("run", "undo1");
    assert_conflict("a", "did not end normally");
    assert_conflict("new", "did not end normally");
    assert_string_equal(get("a"), "by the user");
}

UNDO_TEST(a_known_end_helps_after_a_crash)
{
    struct timespec now;

    fill_grant();
    scene_begin("run", NULL);
    do_write("a", "by the run");
    scene_crash();
    (void)sleep(2);
    put("a", "by the run, which held the file open");
    (void)clock_gettime(CLOCK_REALTIME, &now);
    scene_begin("undo1", NULL);
    undo_with("run", scene.journal, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
    scene_seal();
    assert_no_conflict();
    assert_string_equal(get("a"), "text of a");
}

/* mtime can be set by anybody. */
UNDO_TEST(a_forged_mtime_does_not_hide_a_change)
{
    struct timespec times[2];
    struct stat st;

    fill_grant();
    assert_int_equal(fstatat(scene.grant, "a", &st, 0), 0);
    scene_begin("run", NULL);
    do_write("a", "TEXT OF A");
    times[0] = st.st_atim;
    times[1] = st.st_mtim;
    assert_int_equal(utimensat(scene.grant, "a", times, 0), 0);
    scene_seal();
    undo("run", "undo1");
    assert_no_conflict();
    assert_string_equal(get("a"), "text of a");
}

static void set_mtime_of(const char *path, const struct stat *st)
{
    const struct timespec times[2] = {st->st_atim, st->st_mtim};

    assert_int_equal(utimensat(scene.grant, path, times, 0), 0);
}

/* The run makes one of its own files look like the user's, and leaves the user's in its place. */
UNDO_TEST(a_forged_twin_does_not_cost_the_users_file)
{
    struct stat st;

    put("user", "precious");
    assert_int_equal(fstatat(scene.grant, "user", &st, 0), 0);
    scene_begin("run", NULL);
    do_write("t", "whatever");
    do_rename("t", "t2");
    do_rename("user", "t");
    do_write("user", "new");
    set_mtime_of("t2", &st);
    scene_seal();
    later();
    put("user", "changed later");
    undo("run", "undo1");
    assert_string_equal(get("t"), "precious");
    assert_conflict("t2", "something else");
}

UNDO_TEST(a_forged_twin_does_not_overwrite_the_users_file)
{
    struct stat st;

    put("user", "precious");
    put("other", "whatever");
    assert_int_equal(fstatat(scene.grant, "user", &st, 0), 0);
    scene_begin("run", NULL);
    do_write("other", "Whatever");
    do_rename("other", "t2");
    do_rename("user", "other");
    do_write("user", "new");
    set_mtime_of("t2", &st);
    scene_seal();
    later();
    put("user", "changed later");
    undo("run", "undo1");
    assert_string_equal(get("other"), "precious");
    assert_conflict("other", "something else");
}

/* As before, with a file that the run removed. */
UNDO_TEST(a_removed_file_is_not_mistaken_for_one_that_looks_alike)
{
    struct stat st;

    put("user", "precious");
    put("other", "whatever");
    scene_begin("run", NULL);
    do_write("other", "WHATEVER");
    assert_int_equal(fstatat(scene.grant, "other", &st, 0), 0);
    do_remove("other");
    set_mtime_of("user", &st);
    do_rename("user", "other");
    do_write("user", "new");
    scene_seal();
    later();
    put("user", "changed later");
    undo("run", "undo1");
    assert_string_equal(get("other"), "precious");
    assert_conflict("other", "something else");
}

UNIT_MAIN()
