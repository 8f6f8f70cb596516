#include "undo/taking_back.h"

#include <time.h>

#include "base/cleanup.h"
#include "undo/scene.h"

struct undo_report report;
/* Undos so far, with what they have made anew. */
static struct {
    const char *name, *of;
    struct undo_twin twins[100];
    size_t n_twins;
} undos[16];
static size_t n_undos;
static struct undo_marks marks;

/* The store's records: the steps that undos of a run have done. */
static char *steps;
static size_t n_steps;

const char *lock;

/* --- doing it --- */

static size_t gather(const char *run, struct undo_twin *twins)
{
    size_t count = 0, first = 0;

    for (size_t i = 0; i < n_undos; i++)
        if (strcmp(undos[i].name, run) == 0)
            first = i + 1;
    for (size_t i = first; i < n_undos; i++)
        for (size_t k = 0; k < undos[i].n_twins; k++)
            if (steps || strcmp(undos[i].of, run) != 0) {
                twins[count] = undos[i].twins[k];
                twins[count++].undo = i;
            }
    return count;
}

void undo_with(const char *run, struct journal *own, int64_t ended_ns)
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
                                   .marks = &marks,
                                   .steps = steps,
                                   .n_steps = n_steps};
    struct error err = {0};

    undo_report_done(&report);
    if (undo_run(&task, &report, &err) < 0)
        fail_msg("undo of %s: %s", run, err.message);
}

void rehearse(const char *run)
{
    undo_with(run, NULL, 0);
}

void forget_steps(void)
{
    free(take_ptr(steps));
    n_steps = 0;
}

/* Records itself as the run `as`. */
void undo(const char *run, const char *as)
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
    for (size_t i = 0; i < report.marks.n_slots; i++)
        assert_int_equal(undo_marks_set(&marks, &report.marks.slots[i]), 0);
    n_steps = report.n_steps;
}

/* The last undo has put another file back, whose number this one got. */
void number_was_of_another(const char *path)
{
    size_t last = n_undos - 1;
    struct stat st;

    assert_int_equal(fstatat(scene.grant, path, &st, AT_SYMLINK_NOFOLLOW), 0);
    undos[last].twins[undos[last].n_twins++] = (struct undo_twin){
        .type = S_IFREG, .dev = st.st_dev, .ino = st.st_ino, .new_dev = st.st_dev, .new_ino = 1};
}

static void show(void)
{
    for (size_t i = 0; i < report.count; i++)
        print_message("%s %s %s %s\n", undo_action_name(report.items[i].action),
                      report.items[i].path, report.items[i].to ? report.items[i].to : "",
                      report.items[i].conflict ? report.items[i].conflict : "");
}

void assert_as(const char *expected)
{
    cleanup_free char *now = snapshot();

    if (strcmp(now, expected) != 0)
        show();
    assert_string_equal(now, expected);
}

void assert_no_conflict(void)
{
    if (report.n_conflicts)
        show();
    assert_int_equal(report.n_conflicts, 0);
}

const struct undo_item *item(const char *path)
{
    for (size_t i = 0; i < report.count; i++)
        if (strcmp(report.items[i].path, path) == 0)
            return &report.items[i];
    show();
    fail_msg("nothing is said of %s", path);
    return NULL;
}

void assert_conflict(const char *path, const char *part)
{
    assert_contains(item(path)->conflict, part);
}

/* There, back, there again and back again; a rehearsal says the same and touches nothing. */
void round_trip(void (*program)(void))
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

void fill_grant(void)
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

void write_and_append(void)
{
    do_write("a", "new text, longer than the old one");
    do_append("precious", " destroyed");
    do_append("precious", " again");
}

void create_all_kinds(void)
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

void remove_all_kinds(void)
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

void rename_all_kinds(void)
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

void change_attributes(void)
{
    do_chmod("a", 0600);
    do_chmod("d", 0700);
    do_xattr("a", "user.color", "green");
    do_xattr("a", "user.more", "x");
    do_chmod("d/f", 0777);
    do_write("d/f", "and content");
}

void save_as_editors_do(void)
{
    do_write(".a.swp", "text of a, edited");
    do_rename(".a.swp", "a");
    do_write(".a.swp", "text of a, edited twice");
    do_rename(".a.swp", "a");
    do_link("b", "b~");
    do_remove("b");
    do_write("b", "edited");
}

void swap_places(void)
{
    do_swap("a", "d");
    do_write("a/f", "was d/f");
    do_swap("precious", "d");
    do_rename("a", "w");
}

void replace_kinds(void)
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
void pass_through(void)
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

void hard_links(void)
{
    do_link("a", "a2");
    do_write("a2", "through the second name");
    do_remove("a");
    do_rename("a2", "a3");
    do_link("precious", "p2");
    do_remove("precious");
}

/* Files are changed by a second name, which is then removed: they go on under the first. */
void hard_links_that_go(void)
{
    do_link("a", "a2");
    do_write("a2", "through the second name");
    do_remove("a2");
    do_mkdir("n");
    do_link("precious", "n/p");
    do_write("n/p", "short");
    do_chmod("n/p", 0600);
    do_rename("n", "m");
    do_rename("m/p", "m/q");
    do_remove("m/q");
    do_remove("m");
    do_link("d/f", "f2");
    do_xattr("f2", "user.new", "1");
    do_chmod("f2", 0400);
    do_write("g2", "takes its place");
    do_rename("g2", "f2");
    do_write("d/g", "changed first");
    do_link("d/g", "d/g2");
    do_rename("d/g", "d/g3");
    do_remove("d/g2");
    do_link("d/deep/h", "d/h2");
    do_remove("d/deep/h");
    do_write("d/h2", "the other way round");
    do_link("d/h2", "d/deep/h");
    do_remove("d/h2");
}

/* Nobody can read or write what is to be undone. */
void closed_files(void)
{
    do_write("a", "closed");
    do_xattr("a", "user.new", "1");
    do_chmod("a", 0);
    do_xattr("d/f", "user.new", "1");
    do_chmod("d/f", 0400);
    do_xattr("d/deep", "user.new", "1");
    do_chmod("d/deep", 0500);
    do_write("new", "closed");
    do_chmod("new", 0);
    do_rename("new", "n");
}

void same_names_again(void)
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

void odd_names(void)
{
    put("old\nname", "1");
    do_write("new\nname", "2");
    do_write("\xff\xfe", "3");
    do_rename("a", "%2e%2e");
    do_mkdir(" ");
    do_rename("%2e%2e", " /\x01\x7f");
    do_write("...", "4");
}

void (*const programs[])(void) = {
    write_and_append,   create_all_kinds, remove_all_kinds, rename_all_kinds, change_attributes,
    save_as_editors_do, swap_places,      replace_kinds,    pass_through,     hard_links,
    hard_links_that_go, closed_files,     same_names_again,
};
const size_t n_programs = ARRAY_SIZE(programs);
void later(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}
void forget_undos(void)
{
    n_undos = 0;
    undo_marks_done(&marks);
    forget_steps();
}

int undo_enter(void **state)
{
    forget_undos();
    return scene_enter(state);
}

int undo_leave(void **state)
{
    undo_report_done(&report);
    forget_steps();
    return scene_leave(state);
}
