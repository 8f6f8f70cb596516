#include "undo/undo.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "sandbox/tree_lock.h"
#include "undo/scene.h"
#include "undo/taking_back.h"

UNDO_TEST(what_was_changed_later_is_left_alone)
{
    fill_grant();
    scene_begin("run", NULL);
    write_and_append();
    create_all_kinds();
    scene_seal();
    later();
    put("a", "edited by the user");
    put("new", "edited, too");
    put("n/m/theirs", "a new file of the user");
    rehearse("run");
    assert_conflict("a", "changed after the run");
    undo("run", "undo1");
    assert_conflict("a", "changed after the run");
    assert_conflict("new", "changed after the run");
    assert_conflict("n/m", "not from the run");
    assert_conflict("n", "not from the run");
    assert_int_equal(report.n_conflicts, 4);
    assert_string_equal(get("a"), "edited by the user");
    assert_string_equal(get("new"), "edited, too");
    assert_string_equal(get("n/m/theirs"), "a new file of the user");
    /* Everything else is undone. */
    assert_string_equal(get("precious"), "years of work");
    assert_false(exists("n/m/o"));
    assert_false(exists("n/sym"));
    assert_false(exists("empty"));
}

/* Writes as many bytes as before and sets the mtime back, as a program can. */
static void forge(const char *path, const char *text)
{
    struct stat st;
    char full[64];

    (void)snprintf(full, sizeof(full), "grant/%s", path);
    assert_int_equal(stat(full, &st), 0);
    assert_int_equal(st.st_size, strlen(text));
    put(path, text);
    assert_int_equal(utimensat(AT_FDCWD, full, (struct timespec[]){st.st_atim, st.st_mtim}, 0), 0);
}

UNDO_TEST(a_forged_mtime_does_not_hide_later_work)
{
    fill_grant();
    scene_begin("run", NULL);
    do_write("a", "by the run");
    do_write("new", "by the run");
    scene_seal();
    later();
    forge("a", "later work");
    forge("new", "later work");
    rehearse("run");
    assert_conflict("a", "changed after the run");
    undo("run", "undo1");
    assert_conflict("a", "changed after the run");
    assert_conflict("new", "changed after the run");
    assert_string_equal(get("a"), "later work");
    assert_string_equal(get("new"), "later work");
}

/* A second run moves, links and changes the files of the first; its undo gives them new ctimes. */
UNDO_TEST(what_an_undo_touched_is_not_later_work)
{
    cleanup_free char *before = NULL;

    fill_grant();
    before = snapshot();
    scene_begin("run", NULL);
    do_write("a", "by the run");
    do_write("precious", "also");
    do_write("new", "made by the run");
    scene_seal();
    later();
    scene_begin("second", NULL);
    do_rename("a", "moved");
    do_link("precious", "other name");
    do_write("new", "changed by the next");
    scene_seal();
    later();
    undo("second", "undo1");
    assert_no_conflict();
    forget_steps();
    later();
    undo("run", "undo2");
    assert_no_conflict();
    assert_as(before);
}

UNDO_TEST(later_work_on_what_an_undo_gave_back_stays)
{
    fill_grant();
    scene_begin("run", NULL);
    do_write("a", "by the run");
    scene_seal();
    undo("run", "undo1");
    forget_steps();
    undo("undo1", "undo2");
    forget_steps();
    assert_string_equal(get("a"), "by the run");
    later();
    forge("a", "later work");
    undo("run", "undo3");
    assert_conflict("a", "changed after the run");
    assert_string_equal(get("a"), "later work");
}

UNDO_TEST(what_was_replaced_later_is_left_alone)
{
    fill_grant();
    scene_begin("run", NULL);
    do_write("a", "by the run");
    do_remove("b");
    do_rename("precious", "moved");
    do_symlink("x", "sym");
    do_mkdir("dir");
    scene_seal();
    later();
    put("tmp", "somebody else's");
    assert_int_equal(rename("grant/tmp", "grant/a"), 0);
    put("b", "somebody else's, too");
    put("precious", "a third one");
    assert_int_equal(unlink("grant/sym"), 0);
    put("other", "keeps the inode busy");
    assert_int_equal(symlink("theirs", "grant/sym"), 0);
    assert_int_equal(rmdir("grant/dir"), 0);
    put("dir", "now a file");
    undo("run", "undo1");
    assert_conflict("a", "taken its place");
    assert_conflict("b", "something else is there");
    assert_conflict("moved", "where it was before");
    assert_conflict("dir", "taken its place");
    assert_string_equal(get("a"), "somebody else's");
    assert_string_equal(get("b"), "somebody else's, too");
    assert_string_equal(get("precious"), "a third one");
    assert_string_equal(get("dir"), "now a file");
    assert_string_equal(get("moved"), "years of work");
}

UNDO_TEST(what_depends_on_a_conflict_is_one_too)
{
    fill_grant();
    scene_begin("run", NULL);
    do_write("d/f", "by the run");
    do_rename("d", "e");
    scene_seal();
    assert_int_equal(mkdir("grant/d", 0755), 0);
    put("d/f", "of the user");
    undo("run", "undo1");
    assert_int_equal(report.n_conflicts, 2);
    assert_conflict("e", "where it was before");
    assert_conflict("d/f", "taken its place");
    assert_string_equal(get("d/f"), "of the user");
    assert_string_equal(get("e/f"), "by the run");
}

UNDO_TEST(what_the_user_removed_himself_is_no_conflict)
{
    fill_grant();
    scene_begin("run", NULL);
    create_all_kinds();
    scene_seal();
    assert_int_equal(unlink("grant/new"), 0);
    undo("run", "undo1");
    assert_no_conflict();
    assert_false(exists("n"));
}

/* A link instead of a directory leads nowhere. */
UNDO_TEST(links_are_not_followed)
{
    fill_grant();
    assert_int_equal(mkdir("outside", 0755), 0);
    scene_begin("run", NULL);
    do_remove("d/f");
    do_write("d/new", "x");
    do_write("d/g", "changed");
    scene_seal();
    assert_int_equal(rename("grant/d", "elsewhere"), 0);
    assert_int_equal(rename("elsewhere", "outside/d"), 0);
    assert_int_equal(symlink("../outside/d", "grant/d"), 0);
    undo("run", "undo1");
    assert_int_equal(report.n_done, 0);
    assert_int_equal(access("outside/d/new", F_OK), 0);
    assert_int_equal(access("outside/d/f", F_OK), -1);
}

UNDO_TEST(protected_names_are_not_written)
{
    fill_grant();
    assert_int_equal(mkdir("grant/.git", 0755), 0);
    put(".git/config", "before");
    put("innocent", "x");
    /* No broker lets a program do that; a journal may say it all the same. */
    scene_begin("run", NULL);
    do_write(".git/config", "after");
    do_write(".bashrc", "made");
    do_rename("innocent", "moved");
    scene_seal();
    undo("run", "undo1");
    assert_conflict(".git/config", "protected");
    assert_conflict(".bashrc", "protected");
    assert_string_equal(get(".git/config"), "after");
    assert_string_equal(get("innocent"), "x");
}

/* Another sandbox, whose broker has the lock, gives the directory a protected name meanwhile. */
UNDO_TEST(a_directory_does_not_move_under_a_step)
{
    int said[2], status;
    char byte;
    pid_t broker;

    assert_int_equal(mkdir("grant/d", 0755), 0);
    put("d/curlrc", "output = x");
    scene_begin("run", NULL);
    do_remove("d/curlrc");
    scene_seal();
    assert_int_equal(pipe(said), 0);
    broker = fork();
    if (broker == 0) {
        int root = open("grant", O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct tree_lock held;

        if (tree_lock_open("lock", &root, 1, &held, NULL) < 0 || tree_lock_take(&held) < 0 ||
            write(said[1], "x", 1) != 1)
            _exit(1);
        (void)nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
        _exit(rename("grant/d", "grant/.config") < 0);
    }
    assert_int_equal(read(said[0], &byte, 1), 1);
    lock = "lock";
    undo("run", "undo1");
    assert_int_equal(waitpid(broker, &status, 0), broker);
    assert_int_equal(status, 0);
    assert_false(exists(".config/curlrc"));
    assert_conflict("d/curlrc", "directory no longer exists");
    (void)close(said[0]);
    (void)close(said[1]);
}

UNDO_TEST(a_directory_that_is_another_one_is_left_alone)
{
    const struct undo_grant grant = {"/grant", -1};
    struct undo_task task = {.grants = &grant, .n_grants = 1};
    struct error err = {0};

    scene_begin("run", NULL);
    do_write("new", "x");
    scene_seal();
    task.run = open("run", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(undo_run(&task, &report, &err), 0);
    assert_conflict("new", "was replaced");
    (void)close(task.run);
}

UNDO_TEST(what_does_not_fit_into_the_journal_is_left_alone)
{
    const struct journal_limits limits = {MIB, 1000};
    cleanup_free char *large = calloc(1, 2 * MIB);

    memset(large, 'x', 2 * MIB - 1);
    scene_begin("run", NULL);
    do_write("large", large);
    do_write("small", "x");
    scene_seal();
    scene_begin("undo1", &limits);
    undo_with("run", scene.journal, 0);
    scene_seal();
    assert_conflict("large", "cannot be recorded");
    assert_true(exists("large"));
    assert_false(exists("small"));
}

/* A file that an earlier run left open is written without a call that the journal knows of. */
static void hold(const char *path, int content)
{
    struct error err = {0};
    struct stat st;

    assert_int_equal(fstatat(scene.grant, path, &st, AT_SYMLINK_NOFOLLOW), 0);
    if (journal_held(scene.journal, 0, path, scene.grant, path, &st, content, &err) < 0)
        fail_msg("%s", err.message);
}

UNDO_TEST(what_was_open_before_comes_back_if_it_was_saved)
{
    cleanup_close int content = memfd_create("content", MFD_CLOEXEC);

    put("small", "before");
    put("large", "before");
    put("idle", "before");
    assert_int_equal(write(content, "before", 6), 6);
    scene_begin("run", NULL);
    hold("small", content);
    hold("large", -1);
    hold("idle", -1);
    later();
    put("small", "after");
    put("large", "after");
    scene_seal();
    undo("run", "undo1");
    assert_string_equal(get("small"), "before");
    assert_string_equal(get("large"), "after");
    assert_int_equal(report.n_conflicts, 1);
    assert_conflict("large", "open since an earlier run");
}

UNIT_MAIN()
