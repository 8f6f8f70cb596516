#include <poll.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "undo/reader.h"
#include "undo/scene.h"

static struct reader journal;

static int leave(void **state)
{
    reader_done(&journal);
    return scene_leave(state);
}

static void load(const char *run)
{
    struct error err = {0};
    int dir = open(run, O_PATH | O_DIRECTORY | O_CLOEXEC);

    reader_done(&journal);
    assert_int_equal(reader_load(&journal, dir, &err), 0);
    (void)close(dir);
}

static const struct entry *nth(enum entry_kind kind, size_t n)
{
    for (size_t i = 0; i < journal.count; i++)
        if (journal.entries[i].kind == kind && n-- == 0)
            return &journal.entries[i];
    return NULL;
}

static const char *saved_text(const char *run, uint64_t saved)
{
    static char text[256];
    char path[64];
    int fd;
    ssize_t n;

    (void)snprintf(path, sizeof(path), "%s/saved/%llu", run, (unsigned long long)saved);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    n = read(fd, text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    (void)close(fd);
    return text;
}

TEST_WITH(content_is_saved_before_it_changes_and_once, scene_enter, leave)
{
    struct journal_counts counts;

    put("a", "one");
    scene_begin("run", NULL);
    do_write("a", "two");
    do_append("a", "three");
    journal_count(scene.journal, &counts);
    assert_int_equal(counts.changed, 1);
    scene_seal();
    load("run");
    assert_true(journal.is_sealed);
    assert_non_null(nth(ENTRY_CHANGE, 0));
    assert_null(nth(ENTRY_CHANGE, 1));
    assert_string_equal(saved_text("run", nth(ENTRY_CHANGE, 0)->saved), "one");
    assert_int_equal(nth(ENTRY_FINAL, 0)->size, strlen("twothree"));
}

TEST_WITH(what_the_run_made_is_not_saved, scene_enter, leave)
{
    struct journal_counts counts;

    scene_begin("run", NULL);
    do_write("new", "one");
    do_write("new", "two");
    do_chmod("new", 0600);
    do_remove("new");
    journal_count(scene.journal, &counts);
    assert_int_equal(counts.created, 0);
    assert_int_equal(counts.removed, 0);
    scene_seal();
    load("run");
    assert_null(nth(ENTRY_CHANGE, 0));
    assert_null(nth(ENTRY_META, 0));
    assert_null(nth(ENTRY_REMOVE, 0));
    assert_non_null(nth(ENTRY_DROP, 0));
    assert_null(saved_text("run", 1));
}

/* Somebody outside removes a file of the run; its inode number goes to another file. */
TEST_WITH(a_reused_inode_is_not_taken_for_ours, scene_enter, leave)
{
    struct stat st, other;
    struct error err = {0};
    char name[16];

    scene_begin("run", NULL);
    do_write("new", "ours");
    assert_int_equal(fstatat(scene.grant, "new", &st, 0), 0);
    assert_int_equal(unlinkat(scene.grant, "new", 0), 0);
    (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    /* The file system decides when it gives the number out again. */
    for (int i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof(name), "other%d", i);
        put(name, "");
        assert_int_equal(fstatat(scene.grant, name, &other, 0), 0);
        if (other.st_ino == st.st_ino)
            break;
    }
    if (other.st_ino != st.st_ino)
        return;
    put(name, "precious");
    assert_int_equal(renameat(scene.grant, name, scene.grant, "theirs"), 0);
    assert_int_equal(fstatat(scene.grant, "theirs", &other, 0), 0);
    assert_int_equal(
        journal_change(scene.journal, 0, "theirs", scene.grant, "theirs", &other, &err), 0);
    scene_seal();
    load("run");
    assert_string_equal(saved_text("run", nth(ENTRY_CHANGE, 0)->saved), "precious");
}

TEST_WITH(a_removed_inode_is_saved_again_when_its_number_returns, scene_enter, leave)
{
    put("a", "one");
    scene_begin("run", NULL);
    do_write("a", "changed");
    do_remove("a");
    put("b", "two"); /* on many file systems with the number of a */
    do_write("b", "changed");
    scene_seal();
    load("run");
    assert_string_equal(saved_text("run", nth(ENTRY_CHANGE, 1)->saved), "two");
}

TEST_WITH(names_may_hold_anything, scene_enter, leave)
{
    static const char *const names[] = {"a\nb", "a b", "%41", "\xff\xfe", "\x01", "c\\d", "é"};

    scene_begin("run", NULL);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        do_write(names[i], "x");
    do_rename("a\nb", "a b c%");
    do_symlink("to\nnowhere %", "link");
    scene_seal();
    load("run");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_string_equal(nth(ENTRY_CREATE, i)->path, names[i]);
    assert_string_equal(nth(ENTRY_RENAME, 0)->path, "a\nb");
    assert_string_equal(nth(ENTRY_RENAME, 0)->more, "a b c%");
}

TEST_WITH(attributes_are_saved, scene_enter, leave)
{
    put("a", "one");
    if (setxattr("grant/a", "user.color", "red", 3, 0) < 0)
        return; /* not on every file system */
    scene_begin("run", NULL);
    do_xattr("a", "user.color", "blue");
    scene_seal();
    load("run");
    assert_string_equal(nth(ENTRY_XATTR, 0)->path, "user.color");
    assert_string_equal(nth(ENTRY_XATTR, 0)->more, "726564");
    assert_int_equal(nth(ENTRY_XATTR, 0)->id, nth(ENTRY_META, 0)->id);
}

/* A call on a file that needs no further entry fails: what was announced before it still counts. */
TEST_WITH(a_call_without_an_entry_takes_nothing_back, scene_enter, leave)
{
    struct journal_counts before, after;
    struct error err = {0};
    struct stat st;

    put("kept", "x");
    scene_begin("run", NULL);
    do_write("made", "y");
    do_remove("kept");
    journal_count(scene.journal, &before);
    assert_int_equal(fstatat(scene.grant, "made", &st, 0), 0);
    assert_int_equal(journal_meta(scene.journal, 0, "made", scene.grant, "made", &st, &err), 0);
    assert_int_equal(journal_done(scene.journal, &err), 0);
    assert_int_equal(journal_change(scene.journal, 0, "made", scene.grant, "made", &st, &err), 0);
    assert_int_equal(journal_done(scene.journal, &err), 0);
    journal_count(scene.journal, &after);
    assert_int_equal(after.removed, before.removed);
    assert_int_equal(after.created, before.created);
    scene_seal();
    load("run");
    assert_non_null(nth(ENTRY_REMOVE, 0));
}

TEST_WITH(a_cancelled_entry_does_not_count, scene_enter, leave)
{
    struct journal_counts counts;
    struct error err = {0};
    struct stat st;

    put("a", "one");
    put("b", "two");
    scene_begin("run", NULL);
    assert_int_equal(fstatat(scene.grant, "a", &st, 0), 0);
    assert_int_equal(journal_remove(scene.journal, 0, "a", scene.grant, "a", &st, &err), 0);
    assert_int_equal(journal_rename(scene.journal, 0, "b", "a", &st, &err), 0);
    assert_int_equal(journal_done(scene.journal, &err), 0);
    assert_int_equal(journal_done(scene.journal, &err), 0);
    assert_int_equal(journal_change(scene.journal, 0, "a", scene.grant, "a", &st, &err), 0);
    assert_int_equal(journal_done(scene.journal, &err), 0);
    journal_count(scene.journal, &counts);
    assert_int_equal(counts.changed + counts.removed + counts.renamed + counts.created, 0);
    /* A later change is recorded all the same, with what was saved. */
    do_write("a", "changed");
    scene_seal();
    load("run");
    assert_null(nth(ENTRY_REMOVE, 0));
    assert_null(nth(ENTRY_RENAME, 0));
    assert_null(nth(ENTRY_CHANGE, 1));
    assert_string_equal(saved_text("run", nth(ENTRY_CHANGE, 0)->saved), "one");
}

/* --- bounds --- */

TEST_WITH(content_beyond_the_limit_is_refused, scene_enter, leave)
{
    const struct journal_limits limits = {MIB, 1000};
    cleanup_free char *large = calloc(1, 2 * MIB);
    struct error err = {0};
    struct stat st;

    memset(large, 'x', 2 * MIB - 1);
    put("large", large);
    put("small", "one");
    scene_begin("run", &limits);
    assert_int_equal(fstatat(scene.grant, "large", &st, 0), 0);
    assert_int_equal(journal_change(scene.journal, 0, "large", scene.grant, "large", &st, &err),
                     -1);
    assert_error(&err, E_TOO_LARGE, "more than 1 MiB");
    /* Nothing of it stays, and what fits is taken. */
    assert_null(saved_text("run", 1));
    do_write("small", "two");
}

TEST_WITH(entries_beyond_the_limit_are_refused, scene_enter, leave)
{
    const struct journal_limits limits = {MIB, 3};
    struct error err = {0};

    scene_begin("run", &limits);
    do_mkdir("a");
    do_mkdir("b");
    do_mkdir("c");
    assert_int_equal(journal_create(scene.journal, 0, "d", &err), -1);
    assert_error(&err, E_TOO_LARGE, "more than 3 changes");
    scene_seal();
    load("run");
}

TEST_WITH(the_text_of_the_journal_counts, scene_enter, leave)
{
    const struct journal_limits limits = {64 * KIB, 1000000};
    struct error err = {0};
    char name[240];
    int n = 0;

    memset(name, 'n', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    scene_begin("run", &limits);
    while (n < 10000 && journal_create(scene.journal, 0, name, &err) == 0)
        n++;
    assert_error(&err, E_TOO_LARGE, "MiB in this run");
    assert_in_range(n, 100, 300);
}

/* An undo reads the text as a whole, however much else may be saved. */
TEST_WITH(the_text_of_the_journal_has_its_own_limit, scene_enter, leave)
{
    const struct journal_limits limits = {64 * MIB, 1000000, 64 * KIB};
    struct error err = {0};
    struct stat st;
    int n = 0;

    put("a", "one");
    scene_begin("run", &limits);
    assert_int_equal(fstatat(scene.grant, "a", &st, 0), 0);
    while (n < 10000 && journal_rename(scene.journal, 0, "a", "b", &st, &err) == 0)
        n++;
    assert_error(&err, E_TOO_LARGE, "the list of changes of this run is longer");
    assert_in_range(n, 100, 1000);
    scene_seal();
    load("run");
    assert_true(journal.is_sealed);
}

/* The files are created in a short path, and the directory then moves to a long one. */
TEST_WITH(the_seal_stays_small_after_a_move_to_a_long_path, scene_enter, leave)
{
    const struct journal_limits limits = {64 * MIB, 1000000, 64 * KIB};
    char path[PATH_MAX] = "", name[32], part[201];
    struct stat st;

    memset(part, 'n', sizeof(part));
    part[sizeof(part) - 1] = '\0';
    for (int i = 0; i < 15; i++) {
        (void)snprintf(path + strlen(path), sizeof(path) - strlen(path), "%s/", part);
        assert_int_equal(mkdirat(scene.grant, path, 0755), 0);
    }
    scene_begin("run", &limits);
    do_mkdir("d");
    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof(name), "d/%d", i);
        do_write(name, "x");
    }
    (void)snprintf(path + strlen(path), sizeof(path) - strlen(path), "d");
    do_rename("d", path);
    scene_seal();
    assert_int_equal(stat("run/journal", &st), 0);
    assert_in_range(st.st_size, 1, 128 * KIB);
    load("run");
    assert_true(journal.is_sealed);
    assert_non_null(nth(ENTRY_FINAL, 99));
}

/* Wherever the limit lies: what the journal lets be made, it knows. */
TEST_WITH(what_was_announced_is_confirmed_at_the_limit, scene_enter, leave)
{
    char run[32], path[32];

    for (unsigned bytes = 1000; bytes < 1400; bytes += 3) {
        const struct journal_limits limits = {bytes, 1000, 0};
        struct error err = {0};
        struct stat st;
        int n = 0;

        (void)snprintf(run, sizeof(run), "run%u", bytes);
        scene_begin(run, &limits);
        for (;; n++) {
            (void)snprintf(path, sizeof(path), "%u-%d", bytes, n);
            if (journal_create(scene.journal, 0, path, &err) < 0)
                break;
            put(path, "x");
            assert_int_equal(fstatat(scene.grant, path, &st, 0), 0);
            assert_int_equal(journal_created(scene.journal, 0, path, &st, &err), 0);
        }
        assert_error(&err, E_TOO_LARGE, "MiB in this run");
        assert_true(n > 0);
    }
}

TEST_WITH(holes_are_neither_copied_nor_counted, scene_enter, leave)
{
    const struct journal_limits limits = {MIB, 10};
    struct journal_counts counts;
    struct stat st;

    put("sparse", "begin");
    assert_int_equal(truncate("grant/sparse", (off_t)10 << 30), 0);
    scene_begin("run", &limits);
    do_append("sparse", "end");
    journal_count(scene.journal, &counts);
    assert_in_range(counts.bytes, 1, 256 * KIB);
    assert_int_equal(stat("run/saved/1", &st), 0);
    assert_true(st.st_size == (off_t)10 << 30);
    assert_in_range(st.st_blocks * 512, 0, 256 * KIB);
    assert_string_equal(saved_text("run", 1), "begin");
}

/* --- large files --- */

TEST_WITH(a_large_file_is_copied_in_the_background, scene_enter, leave)
{
    cleanup_free char *large = calloc(1, 20 * MIB);
    struct pollfd end = {.fd = -1, .events = POLLIN};
    struct error err = {0};
    struct stat st, saved;
    int r, rounds = 0;

    memset(large, 'x', 20 * MIB - 1);
    put("large", large);
    scene_begin("run", NULL);
    do {
        assert_int_equal(fstatat(scene.grant, "large", &st, 0), 0);
        r = journal_prepare(scene.journal, scene.grant, "large", &st, &end.fd, &err);
        if (r == 1)
            assert_int_equal(poll(&end, 1, 60000), 1);
    } while (r == 1 && rounds++ < 5);
    assert_int_equal(r, 0);
    do_write("large", "gone");
    assert_int_equal(stat("run/saved/1", &saved), 0);
    assert_int_equal(saved.st_size, 20 * MIB - 1);
    assert_int_equal(access("run/saved/2", F_OK), -1);
    /* No child is left, and none disturbed others who wait. */
    assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    assert_int_equal(errno, ECHILD);
}

TEST_WITH(a_copy_that_is_outdated_is_made_again, scene_enter, leave)
{
    cleanup_free char *large = calloc(1, 20 * MIB);
    struct error err = {0};
    struct stat st, saved;
    int fd = -1;

    memset(large, 'x', 20 * MIB - 1);
    put("large", large);
    scene_begin("run", NULL);
    assert_int_equal(fstatat(scene.grant, "large", &st, 0), 0);
    assert_in_range(journal_prepare(scene.journal, scene.grant, "large", &st, &fd, &err), 0, 1);
    (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    put("large", "somebody else was faster");
    do_write("large", "gone");
    assert_int_equal(stat("run/saved/2", &saved), 0);
    assert_string_equal(saved_text("run", 2), "somebody else was faster");
    assert_int_equal(access("run/saved/1", F_OK), -1);
}

TEST_WITH(too_large_a_file_is_refused_before_it_is_copied, scene_enter, leave)
{
    const struct journal_limits limits = {10 * MIB, 10};
    cleanup_free char *large = calloc(1, 20 * MIB);
    struct error err = {0};
    struct stat st;
    int fd = -1;

    memset(large, 'x', 20 * MIB - 1);
    put("large", large);
    scene_begin("run", &limits);
    assert_int_equal(fstatat(scene.grant, "large", &st, 0), 0);
    assert_int_equal(journal_prepare(scene.journal, scene.grant, "large", &st, &fd, &err), -1);
    assert_error(&err, E_TOO_LARGE, "more than 10 MiB");
}

/* --- the end --- */

TEST_WITH(the_seal_follows_renames, scene_enter, leave)
{
    char path[32];

    scene_begin("run", NULL);
    do_mkdir("d");
    do_write("d/f", "text");
    do_rename("d", "e");
    do_mkdir("d");
    do_write("d/f", "longer text");
    do_rename("e", "d/e");
    do_swap("d/e", "d/f");
    scene_seal();
    load("run");
    for (size_t i = 0; nth(ENTRY_FINAL, i); i++) {
        const struct entry *e = nth(ENTRY_FINAL, i);

        if (S_ISDIR(e->mode))
            continue;
        (void)snprintf(path, sizeof(path), "%s", e->path);
        assert_int_equal(e->size,
                         strcmp(path, "d/e") == 0 ? strlen("longer text") : strlen("text"));
        if (strcmp(path, "d/e") != 0)
            assert_string_equal(path, "d/f/f");
    }
}

TEST_WITH(a_renamed_directory_of_many_files_costs_nothing, scene_enter, leave)
{
    const struct journal_limits limits = {64 * MIB, 100000};
    struct error err = {0};
    struct stat st;
    char name[32];

    scene_begin("run", &limits);
    do_mkdir("d");
    for (int i = 0; i < 3000; i++) {
        (void)snprintf(name, sizeof(name), "d/%d", i);
        do_write(name, "");
    }
    assert_int_equal(fstatat(scene.grant, "d", &st, 0), 0);
    for (int i = 0; i < 40000; i++) {
        assert_int_equal(journal_rename(scene.journal, 0, "d", "e", &st, &err), 0);
        assert_int_equal(journal_rename(scene.journal, 0, "e", "d", &st, &err), 0);
    }
    scene_seal();
    load("run");
    assert_non_null(nth(ENTRY_FINAL, 2999));
}

TEST_WITH(nothing_is_added_behind_the_end, scene_enter, leave)
{
    struct error err = {0};

    scene_begin("run", NULL);
    assert_int_equal(journal_seal(scene.journal, &err), 0);
    assert_int_equal(journal_create(scene.journal, 0, "a", &err), -1);
    assert_error(&err, E_SYSTEM, "closed");
}

/* --- reading --- */

TEST_WITH(a_journal_cut_anywhere_is_read_as_far_as_it_is_whole, scene_enter, leave)
{
    cleanup_free char *text = NULL;
    struct reader cut = {0};
    struct error err = {0};
    size_t last = 0;
    ssize_t len;
    int fd;

    put("a", "one");
    scene_begin("run", NULL);
    do_write("a", "two");
    do_write("b c", "x");
    do_rename("b c", "d");
    do_remove("a");
    scene_seal();
    fd = open("run/journal", O_RDONLY | O_CLOEXEC);
    text = malloc(65536);
    len = read(fd, text, 65536);
    (void)close(fd);
    assert_in_range(len, 100, 65535);
    for (ssize_t i = 0; i <= len; i++) {
        char *copy = malloc((size_t)i + 1);

        memcpy(copy, text, (size_t)i);
        if (reader_parse(&cut, copy, (size_t)i, &err) < 0) {
            assert_error(&err, E_NOT_FOUND, "nothing was recorded");
            assert_int_equal(last, 0);
            continue;
        }
        assert_true(cut.count >= last);
        assert_int_equal(cut.is_sealed, i == len);
        last = cut.count;
        reader_done(&cut);
    }
    assert_in_range(last, 6, 20);
}

static void refuse(const char *text, const char *part)
{
    struct reader r = {0};
    struct error err = {0};

    assert_int_equal(reader_parse(&r, strdup(text), strlen(text), &err), -1);
    assert_error(&err, E_PROTOCOL, part);
}

#define BEGIN "B 0 0 0 0 0 0 0 1 0 0 0 0 .\n"

TEST_WITH(a_damaged_journal_is_refused, scene_enter, leave)
{
    refuse("nonsense\n", "line 1");
    refuse("C 1 0 0 0 0 0 0 0 0 0 0 0 a\n", "version");
    refuse("B 0 0 0 0 0 0 0 2 0 0 0 0 .\n", "version");
    refuse(BEGIN "C 2 0 0 0 0 0 0 0 0 0 0 0 a\n", "missing");
    refuse(BEGIN "C 1 20 0 0 0 0 0 0 0 0 0 0 a\n", "unknown directory");
    refuse(BEGIN "C 1 0 0 0 0 0 0 0 0 0 0 0 ../a\n", "path");
    refuse(BEGIN "C 1 0 0 0 0 0 0 0 0 0 0 0 /a\n", "path");
    refuse(BEGIN "C 1 0 0 0 0 0 0 0 0 0 0 0 a//b\n", "path");
    refuse(BEGIN "C 1 0 0 0 0 0 0 0 0 0 0 0 a/./b\n", "path");
    refuse(BEGIN "C 1 0 0 0 0 0 0 0 0 0 0 0 a%00b\n", "path");
    refuse(BEGIN "C 1 0 0 0 0 0 0 0 0 0 0 0 a%2fb\n", "path");
    refuse(BEGIN "C 1 0 0 0 0 0 0 0 0 0 0 0 a%2\n", "path");
    refuse(BEGIN "C 1 0 0 0 0 0 0 0 0 0 0 0 a b\n", "path");
    refuse(BEGIN "C 1 0 0 0 0 0 0 0 0 0 0 0\n", "path");
    refuse(BEGIN "N 1 0 0 0 0 0 0 0 0 0 0 0 a\n", "path");
    refuse(BEGIN "N 1 0 0 0 0 0 0 0 0 0 0 0 a ..\n", "path");
    refuse(BEGIN "C 1 0 0 0 0 0 0 0 0 0 0 z\n", "number");
    refuse(BEGIN "C 11111111111111111 0 0 0 0 0 0 0 0 0 0 0 a\n", "number");
    refuse(BEGIN "X 1 0 0 0 0 0 0 0 0 0 0 0 .\n", "cancelled");
    refuse(BEGIN "Z 0 0 0 0 0 0 0 0 0 0 0 0 .\n" BEGIN, "after the end");
}

UNIT_MAIN()
