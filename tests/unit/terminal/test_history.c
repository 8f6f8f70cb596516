#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "terminal/history.h"

struct place {
    char dir[64], path[128];
    char seen[4 * HISTORY_ENTRIES][16];
    size_t count;
};

static void begin(struct place *p)
{
    *p = (struct place){.dir = "/tmp/belljar-history-XXXXXX"};
    assert_non_null(mkdtemp(p->dir));
    (void)snprintf(p->path, sizeof(p->path), "%s/history", p->dir);
}

static void finish(struct place *p)
{
    (void)unlink(p->path);
    assert_int_equal(rmdir(p->dir), 0);
}

static void see(void *user, const char *line)
{
    struct place *p = user;

    assert_true(p->count < ARRAY_SIZE(p->seen));
    (void)snprintf(p->seen[p->count++], sizeof(p->seen[0]), "%s", line);
}

static void load(struct place *p)
{
    struct error err = {0};

    p->count = 0;
    if (history_file_load(p->path, see, p, &err) < 0)
        fail_msg("%s", err.message);
}

TEST(a_missing_file_is_an_empty_one)
{
    static struct place p;

    begin(&p);
    load(&p);
    assert_int_equal(p.count, 0);
    finish(&p);
}

TEST(what_was_added_comes_back_in_order_and_is_private)
{
    static struct place p;
    struct stat st;

    begin(&p);
    assert_int_equal(history_file_add(p.path, "first", NULL), 0);
    assert_int_equal(history_file_add(p.path, "zweite ü", NULL), 0);
    load(&p);
    assert_int_equal(p.count, 2);
    assert_string_equal(p.seen[0], "first");
    assert_string_equal(p.seen[1], "zweite ü");
    assert_int_equal(stat(p.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    finish(&p);
}

TEST(only_the_newest_lines_are_kept)
{
    static struct place p;
    char line[16];
    struct stat before, after;

    begin(&p);
    for (size_t i = 0; i < 2 * HISTORY_ENTRIES + 1; i++) {
        (void)snprintf(line, sizeof(line), "line %zu", i);
        assert_int_equal(history_file_add(p.path, line, NULL), 0);
    }
    assert_int_equal(stat(p.path, &before), 0);
    load(&p);
    assert_int_equal(p.count, HISTORY_ENTRIES);
    (void)snprintf(line, sizeof(line), "line %zu", HISTORY_ENTRIES + 1);
    assert_string_equal(p.seen[0], line);
    (void)snprintf(line, sizeof(line), "line %zu", 2 * HISTORY_ENTRIES);
    assert_string_equal(p.seen[p.count - 1], line);
    assert_int_equal(stat(p.path, &after), 0);
    assert_true(after.st_size < before.st_size);
    assert_int_equal(after.st_mode & 0777, 0600);
    load(&p);
    assert_int_equal(p.count, HISTORY_ENTRIES);
    finish(&p);
}

TEST(a_link_is_neither_read_nor_written)
{
    static struct place p;
    struct error err = {0};

    begin(&p);
    assert_int_equal(symlink("/etc/passwd", p.path), 0);
    assert_int_equal(history_file_load(p.path, see, &p, &err), -1);
    assert_error(&err, E_SYSTEM, "history");
    assert_int_equal(p.count, 0);
    assert_int_equal(history_file_add(p.path, "x", &err), -1);
    assert_error(&err, E_SYSTEM, "history");
    finish(&p);
}

TEST(what_is_no_file_does_not_hold_us_up)
{
    static struct place p;
    struct error err = {0};

    begin(&p);
    assert_int_equal(mkfifo(p.path, 0600), 0);
    assert_int_equal(history_file_load(p.path, see, &p, &err), -1);
    assert_error(&err, E_DENIED, "not one of your files");
    assert_int_equal(history_file_add(p.path, "x", &err), -1);
    error_done(&err);
    finish(&p);
}

TEST(several_lines_are_one_entry_and_long_ones_are_left_out)
{
    static struct place p;
    static char text[HISTORY_ENTRY_MAX + 2];
    struct error err = {0};

    begin(&p);
    memset(text, 'x', sizeof(text) - 1);
    assert_int_equal(history_file_add(p.path, "if x:\n    y", &err), 0);
    assert_int_equal(history_file_add(p.path, text, &err), 0);
    load(&p);
    assert_int_equal(p.count, 1);
    assert_string_equal(p.seen[0], "if x:\n    y");
    finish(&p);
}

UNIT_MAIN()
