#include "undo/undo.h"

#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "undo/scene.h"

static struct undo_report report;
/* Undos so far, with what they have made anew. */
static struct {
    const char *name, *of;
    struct undo_twin twins[100];
    size_t n_twins;
} undos[16];
static size_t n_undos;

/* What the store keeps: the steps that undos of a run have done. */
static char *steps;
static size_t n_steps;

static const char *lock; /* of the write brokers */

/* --- doing it --- */

static size_t gather(const char *run, struct undo_twin *twins)
{
    size_t count = 0, first = 0;

    for (size_t i = 0; i < n_undos; i++)
        if (strcmp(undos[i].name, run) == 0)
            first = i + 1;
    for (size_t i = first; i < n_undos; i++)
        for (size_t k = 0; k < undos[i].n_twins; k++)
            if (steps || strcmp(undos[i].of, run) != 0)
                twins[count++] = undos[i].twins[k];
    return count;
}

static void undo_with(const char *run, struct journal *own, int64_t ended_ns)
{
    const struct undo_grant grant = {"/grant", scene.grant};
    cleanup_close int dir = open(run, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct undo_twin twins[1600];
    const struct undo_task task = {.run = dir,
                                   .grants = &grant,
                                   .n_grants = 1,
                                   .ended_ns = ended_ns,
                                   .lock = lock,
                                   .own = own,
                                   .twins = twins,
                                   .n_twins = gather(run, twins),
                                   .steps = steps,
                                   .n_steps = n_steps};
    struct error err = {0};

    undo_report_done(&report);
    if (undo_run(&task, &report, &err) < 0)
        fail_msg("undo of %s: %s", run, err.message);
}

static void rehearse(const char *run)
{
    undo_with(run, NULL, 0);
}

static void forget_steps(void)
{
    free(take_ptr(steps));
    n_steps = 0;
}

/* Records itself as the run `as`. */
static void undo(const char *run, const char *as)
{
    scene_begin(as, NULL);
    undo_with(run, scene.journal, 0);
    scene_seal();
    forget_steps();
    steps = take_ptr(report.steps);
    undos[n_undos].name = as;
    undos[n_undos].of = run;
    undos[n_undos].n_twins = report.n_twins;
    assert_in_range(report.n_twins, 0, 100);
    if (report.n_twins)
        memcpy(undos[n_undos].twins, report.twins, report.n_twins * sizeof(*report.twins));
    n_undos++;
    n_steps = report.n_steps;
}

static void show(void)
{
    for (size_t i = 0; i < report.count; i++)
        print_message("%s %s %s %s\n", undo_action_name(report.items[i].action),
                      report.items[i].path, report.items[i].to ? report.items[i].to : "",
                      report.items[i].conflict ? report.items[i].conflict : "");
}

static void assert_as(const char *expected)
{
    cleanup_free char *now = snapshot();

    if (strcmp(now, expected) != 0)
        show();
    assert_string_equal(now, expected);
}

static void assert_no_conflict(void)
{
    if (report.n_conflicts)
        show();
    assert_int_equal(report.n_conflicts, 0);
}

static const struct undo_item *item(const char *path)
{
    for (size_t i = 0; i < report.count; i++)
        if (strcmp(report.items[i].path, path) == 0)
            return &report.items[i];
    show();
    fail_msg("nothing is said of %s", path);
    return NULL;
}

static void assert_conflict(const char *path, const char *part)
{
    assert_contains(item(path)->conflict, part);
}

/* There, back, there again and back again; a rehearsal says the same and touches nothing. */
static void round_trip(void (*program)(void))
{
    cleanup_free char *before = snapshot(), *after = NULL;
    size_t rehearsed;

    scene_begin("run", NULL);
    program();
    scene_seal();
    after = snapshot();
    assert_string_not_equal(before, after);
    rehearse("run");
    assert_no_conflict();
    assert_as(after);
    rehearsed = report.n_done;
    assert_true(rehearsed > 0);
    undo("run", "undo1");
    assert_no_conflict();
    assert_int_equal(report.n_done, rehearsed);
    assert_as(before);
    undo("run", "undo2");
    assert_no_conflict();
    assert_int_equal(report.n_done, 0);
    forget_steps();
    undo("undo1", "undo3");
    forget_steps();
    assert_no_conflict();
    assert_as(after);
    undo("run", "undo4");
    assert_no_conflict();
    assert_as(before);
}

/* --- every kind of change --- */

static void fill_grant(void)
{
    put("a", "text of a");
    put("b", "text of b");
    put("precious", "years of work");
    assert_int_equal(mkdir("grant/d", 0750), 0);
    put("d/f", "in d");
    put("d/g", "also in d");
    assert_int_equal(mkdir("grant/d/deep", 0700), 0);
    put("d/deep/h", "deep");
    assert_int_equal(symlink("a", "grant/link"), 0);
    assert_int_equal(symlink("/nowhere/at all", "grant/dangling"), 0);
    assert_int_equal(mkfifo("grant/fifo", 0622), 0);
    assert_int_equal(chmod("grant/b", 0444), 0);
    (void)setxattr("grant/a", "user.color", "red\0blue", 8, 0);
}

static void write_and_append(void)
{
    do_write("a", "new text, longer than the old one");
    do_append("precious", " destroyed");
    do_append("precious", " again");
}

static void create_all_kinds(void)
{
    do_write("new", "x");
    do_mkdir("n");
    do_mkdir("n/m");
    do_write("n/m/o", "y");
    do_symlink("/etc/passwd", "n/sym");
    do_fifo("n/fifo");
    do_link("a", "n/hard");
    do_write("empty", "");
}

static void remove_all_kinds(void)
{
    do_remove("a");
    do_remove("b");
    do_remove("link");
    do_remove("dangling");
    do_remove("fifo");
    do_remove("d/f");
    do_remove("d/g");
    do_remove("d/deep/h");
    do_remove("d/deep");
    do_remove("d");
}

static void rename_all_kinds(void)
{
    do_rename("a", "z");
    do_rename("d", "e");
    do_write("e/f", "changed inside");
    do_write("e/new", "new inside");
    do_rename("e/deep", "up");
    do_rename("link", "e/link");
    do_rename("b", "precious");
    do_rename("z", "y");
}

static void change_attributes(void)
{
    do_chmod("a", 0600);
    do_chmod("d", 0700);
    do_xattr("a", "user.color", "green");
    do_xattr("a", "user.more", "x");
    do_chmod("d/f", 0777);
    do_write("d/f", "and content");
}

static void save_as_editors_do(void)
{
    do_write(".a.swp", "text of a, edited");
    do_rename(".a.swp", "a");
    do_write(".a.swp", "text of a, edited twice");
    do_rename(".a.swp", "a");
    do_link("b", "b~");
    do_remove("b");
    do_write("b", "edited");
}

static void swap_places(void)
{
    do_swap("a", "d");
    do_write("a/f", "was d/f");
    do_swap("precious", "d");
    do_rename("a", "w");
}

static void replace_kinds(void)
{
    do_remove("a");
    do_mkdir("a");
    do_write("a/a", "a file in a directory that was a file");
    do_remove("d/f");
    do_remove("d/g");
    do_remove("d/deep/h");
    do_remove("d/deep");
    do_remove("d");
    do_write("d", "a directory became a file");
    do_remove("link");
    do_write("link", "a link became a file");
    do_remove("b");
    do_symlink("precious", "b");
    do_remove("fifo");
    do_mkdir("fifo");
}

/* Through directories that do not exist any more in the end. */
static void pass_through(void)
{
    do_mkdir("t");
    do_rename("a", "t/a");
    do_mkdir("t/u");
    do_rename("t/a", "t/u/a");
    do_rename("t", "s");
    do_write("s/u/a", "changed on the way");
    do_remove("s/u/a");
    do_remove("s/u");
    do_remove("s");
    do_mkdir("t");
    do_rename("d/f", "t/f");
    do_rename("t", "d/t");
}

static void hard_links(void)
{
    do_link("a", "a2");
    do_write("a2", "through the second name");
    do_remove("a");
    do_rename("a2", "a3");
    do_link("precious", "p2");
    do_remove("precious");
}

static void same_names_again(void)
{
    for (int i = 0; i < 5; i++) {
        do_write("x", "made");
        do_remove("x");
        do_mkdir("x");
        do_rename("a", "x/a");
        do_write("a", "another");
        do_remove("a");
        do_rename("x/a", "a");
        do_remove("x");
        do_append("a", "+");
    }
}

static void odd_names(void)
{
    put("old\nname", "1");
    do_write("new\nname", "2");
    do_write("\xff\xfe", "3");
    do_rename("a", "%2e%2e");
    do_mkdir(" ");
    do_rename("%2e%2e", " /\x01\x7f");
    do_write("...", "4");
}

static void (*const programs[])(void) = {
    write_and_append,  create_all_kinds,   remove_all_kinds, rename_all_kinds,
    change_attributes, save_as_editors_do, swap_places,      replace_kinds,
    pass_through,      hard_links,         same_names_again,
};

#define ROUND_TRIP(test, program)                                                                  \
    static void test(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        fill_grant();                                                                              \
        round_trip(program);                                                                       \
    }

ROUND_TRIP(content_comes_back, write_and_append)
ROUND_TRIP(what_was_made_goes, create_all_kinds)
ROUND_TRIP(what_was_removed_comes_back, remove_all_kinds)
ROUND_TRIP(what_was_renamed_goes_back, rename_all_kinds)
ROUND_TRIP(modes_and_attributes_come_back, change_attributes)
ROUND_TRIP(files_saved_by_editors_come_back, save_as_editors_do)
ROUND_TRIP(what_changed_places_goes_back, swap_places)
ROUND_TRIP(a_file_that_became_a_directory_is_one_again, replace_kinds)
ROUND_TRIP(things_come_back_through_directories_that_are_gone, pass_through)
ROUND_TRIP(a_name_used_many_times_ends_as_it_began, same_names_again)

static void odd_names_come_back(void **state)
{
    cleanup_free char *before = NULL;

    (void)state;
    fill_grant();
    put("old\nname", "1");
    before = snapshot();
    scene_begin("run", NULL);
    odd_names();
    scene_seal();
    undo("run", "undo1");
    assert_no_conflict();
    /* Somebody else has written this one meanwhile. */
    assert_string_equal(get("old\nname"), "1");
    assert_false(exists("new\nname"));
    assert_string_equal(get("a"), "text of a");
    assert_false(exists(" "));
}

static void hard_links_stay_linked(void **state)
{
    struct stat one, other;

    (void)state;
    fill_grant();
    round_trip(hard_links);
    forget_steps();
    assert_int_equal(fstatat(scene.grant, "a", &one, 0), 0);
    assert_int_equal(one.st_nlink, 1);
    assert_string_equal(get("a"), "text of a");

    /* Two names from before the run: the content is changed by one and comes back for both. */
    assert_int_equal(link("grant/precious", "grant/other"), 0);
    scene_begin("second", NULL);
    do_write("other", "changed");
    assert_string_equal(get("precious"), "changed");
    scene_seal();
    forget_steps();
    undo("second", "undo5");
    assert_string_equal(get("precious"), "years of work");
    assert_int_equal(fstatat(scene.grant, "precious", &one, 0), 0);
    assert_int_equal(fstatat(scene.grant, "other", &other, 0), 0);
    assert_int_equal(one.st_ino, other.st_ino);
}

static void a_sparse_file_comes_back_sparse(void **state)
{
    struct stat st;

    (void)state;
    put("sparse", "begin");
    assert_int_equal(truncate("grant/sparse", (off_t)10 << 30), 0);
    scene_begin("run", NULL);
    do_write("sparse", "short");
    scene_seal();
    undo("run", "undo1");
    assert_no_conflict();
    assert_int_equal(fstatat(scene.grant, "sparse", &st, 0), 0);
    assert_true(st.st_size == (off_t)10 << 30);
    assert_in_range(st.st_blocks * 512, 0, 256 * KIB);
    assert_memory_equal(get("sparse"), "begin", 6);
}

static void several_runs_are_undone_one_after_the_other(void **state)
{
    cleanup_free char *before = NULL;

    (void)state;
    fill_grant();
    before = snapshot();
    scene_begin("one", NULL);
    do_rename("d", "e");
    do_write("e/f", "of one");
    do_write("new", "of one");
    do_symlink("x", "sym");
    scene_seal();
    scene_begin("two", NULL);
    do_remove("sym");
    do_remove("e/f");
    do_remove("e/g");
    do_remove("e/deep/h");
    do_remove("e/deep");
    do_remove("e");
    do_write("new", "of two");
    scene_seal();
    undo("two", "undo1");
    assert_no_conflict();
    assert_string_equal(get("e/f"), "of one");
    forget_steps();
    undo("one", "undo2");
    assert_no_conflict();
    assert_as(before);
}

static void the_report_names_what_people_know(void **state)
{
    (void)state;
    fill_grant();
    scene_begin("run", NULL);
    do_write("tmp1", "x");
    do_rename("tmp1", "result");
    do_write("gone", "y");
    do_remove("gone");
    scene_seal();
    rehearse("run");
    assert_int_equal(report.n_done, 1);
    assert_int_equal(item("result")->action, UNDO_REMOVED);
}

/* --- conflicts --- */

static void later(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

static void what_was_changed_later_is_left_alone(void **state)
{
    (void)state;
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
    assert_conflict("n/m", "not of the run");
    assert_conflict("n", "not of the run");
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

static void what_was_replaced_later_is_left_alone(void **state)
{
    (void)state;
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

static void what_depends_on_a_conflict_is_one_too(void **state)
{
    (void)state;
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

static void what_the_user_removed_himself_is_no_conflict(void **state)
{
    (void)state;
    fill_grant();
    scene_begin("run", NULL);
    create_all_kinds();
    scene_seal();
    assert_int_equal(unlink("grant/new"), 0);
    undo("run", "undo1");
    assert_no_conflict();
    assert_false(exists("n"));
}

/* A link in the place of a directory leads nowhere. */
static void links_are_not_followed(void **state)
{
    (void)state;
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

static void protected_names_are_not_written(void **state)
{
    (void)state;
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
static void a_directory_does_not_move_under_a_step(void **state)
{
    int said[2], status;
    char byte;
    pid_t broker;

    (void)state;
    assert_int_equal(mkdir("grant/d", 0755), 0);
    put("d/curlrc", "output = x");
    scene_begin("run", NULL);
    do_remove("d/curlrc");
    scene_seal();
    assert_int_equal(pipe(said), 0);
    broker = fork();
    if (broker == 0) {
        int fd = open("lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

        if (flock(fd, LOCK_EX) < 0 || write(said[1], "x", 1) != 1)
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
    assert_conflict("d/curlrc", "directory is not there");
    (void)close(said[0]);
    (void)close(said[1]);
}

static void a_directory_that_is_another_one_is_left_alone(void **state)
{
    const struct undo_grant grant = {"/grant", -1};
    struct undo_task task = {.grants = &grant, .n_grants = 1};
    struct error err = {0};

    (void)state;
    scene_begin("run", NULL);
    do_write("new", "x");
    scene_seal();
    task.run = open("run", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(undo_run(&task, &report, &err), 0);
    assert_conflict("new", "not the same");
    (void)close(task.run);
}

static void what_does_not_fit_into_the_journal_is_left_alone(void **state)
{
    const struct journal_limits limits = {MIB, 1000};
    cleanup_free char *large = calloc(1, 2 * MIB);

    (void)state;
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

/* --- crashes --- */

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
    n_undos = 0;
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

static void after_a_crash_at_any_moment_everything_comes_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
        for (int moments = 1; crash_at(programs[i], moments, 0); moments++)
            ;
}

/* A line that was not written whole belongs to a change that was not made. The first moment is
 * right behind the first entry. */
static void a_torn_last_line_is_harmless(void **state)
{
    static void (*const first[])(void) = {write_and_append, create_all_kinds, remove_all_kinds,
                                          rename_all_kinds, change_attributes};
    void *own = NULL;
    off_t len;

    (void)state;
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

static void after_a_crash_what_changed_later_is_left_alone(void **state)
{
    (void)state;
    fill_grant();
    scene_begin("run", NULL);
    do_write("a", "by the run");
    do_write("new", "by the run");
    scene_crash();
    (void)sleep(2);
    put("a", "by the user");
    put("new", "by the user");
    undo("run", "undo1");
    assert_conflict("a", "did not end in order");
    assert_conflict("new", "did not end in order");
    assert_string_equal(get("a"), "by the user");
}

static void a_known_end_helps_after_a_crash(void **state)
{
    struct timespec now;

    (void)state;
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
static void a_forged_mtime_does_not_hide_a_change(void **state)
{
    struct timespec times[2];
    struct stat st;

    (void)state;
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
static void a_forged_twin_does_not_cost_the_users_file(void **state)
{
    struct stat st;

    (void)state;
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

static void a_forged_twin_does_not_overwrite_the_users_file(void **state)
{
    struct stat st;

    (void)state;
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

/* The same with a file that the run removed. */
static void a_removed_file_is_not_mistaken_for_one_that_looks_alike(void **state)
{
    struct stat st;

    (void)state;
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

static int enter(void **state)
{
    n_undos = 0;
    forget_steps();
    return scene_enter(state);
}

static int leave(void **state)
{
    undo_report_done(&report);
    forget_steps();
    return scene_leave(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(content_comes_back),
        TEST(what_was_made_goes),
        TEST(what_was_removed_comes_back),
        TEST(what_was_renamed_goes_back),
        TEST(modes_and_attributes_come_back),
        TEST(files_saved_by_editors_come_back),
        TEST(what_changed_places_goes_back),
        TEST(a_file_that_became_a_directory_is_one_again),
        TEST(things_come_back_through_directories_that_are_gone),
        TEST(a_name_used_many_times_ends_as_it_began),
        TEST(odd_names_come_back),
        TEST(hard_links_stay_linked),
        TEST(a_sparse_file_comes_back_sparse),
        TEST(several_runs_are_undone_one_after_the_other),
        TEST(the_report_names_what_people_know),
        TEST(what_was_changed_later_is_left_alone),
        TEST(what_was_replaced_later_is_left_alone),
        TEST(what_depends_on_a_conflict_is_one_too),
        TEST(what_the_user_removed_himself_is_no_conflict),
        TEST(links_are_not_followed),
        TEST(protected_names_are_not_written),
        TEST(a_directory_does_not_move_under_a_step),
        TEST(a_directory_that_is_another_one_is_left_alone),
        TEST(what_does_not_fit_into_the_journal_is_left_alone),
        cmocka_unit_test(after_a_crash_at_any_moment_everything_comes_back),
        cmocka_unit_test(a_torn_last_line_is_harmless),
        TEST(after_a_crash_what_changed_later_is_left_alone),
        TEST(a_known_end_helps_after_a_crash),
        TEST(a_forged_mtime_does_not_hide_a_change),
        TEST(a_forged_twin_does_not_cost_the_users_file),
        TEST(a_forged_twin_does_not_overwrite_the_users_file),
        TEST(a_removed_file_is_not_mistaken_for_one_that_looks_alike),
    };

    return UNIT_RUN(tests);
}
