#include "sandbox/workspace.h"

/* --- listing --- */

IN_WORKSPACE(a_listing_is_sorted_and_paged)
{
    struct files_page page = {.depth = 1, .limit = 2};
    struct error err = {0};
    struct files_list list;

    write_plain("c", "333");
    write_plain("a", "1");
    assert_int_equal(mkdir("b", 0755), 0);
    write_plain("b/deep", "");
    assert_int_equal(files_list(&files, "", &page, &list, &err), 0);
    assert_int_equal(list.count, 2);
    assert_true(list.has_more);
    assert_false(list.is_partial);
    assert_string_equal(list.entries[0].path, "a");
    assert_string_equal(list.entries[1].path, "b");
    assert_int_equal(list.entries[1].kind, FILES_DIRECTORY);
    files_list_done(&list);

    page.after = "b";
    assert_int_equal(files_list(&files, "", &page, &list, &err), 0);
    assert_int_equal(list.count, 1);
    assert_false(list.has_more);
    assert_string_equal(list.entries[0].path, "c");
    assert_int_equal(list.entries[0].size, 3);
    files_list_done(&list);

    page = (struct files_page){0};
    assert_int_equal(files_list(&files, "", &page, &list, &err), 0);
    assert_int_equal(list.count, 4);
    assert_string_equal(list.entries[2].path, "b/deep");
    files_list_done(&list);

    assert_int_equal(files_list(&files, "b", &page, &list, &err), 0);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.entries[0].path, "b/deep");
    files_list_done(&list);
    assert_int_equal(files_list(&files, "a", &page, &list, &err), -1);
    assert_error(&err, E_INVALID, "not a directory");
}

IN_WORKSPACE(every_kind_is_listed_and_none_is_entered_but_directories)
{
    struct files_list list;
    struct error err = {0};

    write_plain("\xff\n", "");
    assert_int_equal(mkfifo("fifo", 0644), 0);
    assert_int_equal(symlink("../outside", "link"), 0);
    assert_int_equal(symlink("loop", "loop"), 0);
    assert_int_equal(mkdir("shut", 0), 0);
    assert_int_equal(files_list(&files, "", &(struct files_page){0}, &list, &err), 0);
    assert_int_equal(list.count, 5);
    assert_int_equal(list.entries[0].kind, FILES_FIFO);
    assert_int_equal(list.entries[1].kind, FILES_LINK);
    assert_int_equal(list.entries[2].kind, FILES_LINK);
    assert_int_equal(list.entries[3].kind, FILES_DIRECTORY);
    assert_string_equal(list.entries[4].path, "\xff\n");
    assert_true(list.is_partial); /* `shut` may hold anything */
    files_list_done(&list);
}

IN_WORKSPACE(ten_thousand_files_are_listed_and_deleted)
{
    struct files_list list;
    struct error err = {0};
    char name[32];

    assert_int_equal(mkdir("many", 0755), 0);
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(name, sizeof(name), "many/%05d", i);
        assert_int_equal(mknod(name, S_IFREG | 0644, 0), 0);
    }
    assert_int_equal(files_snapshot(&files, &list, &err), 0);
    assert_int_equal(list.count, 10001);
    assert_false(list.is_partial);
    assert_string_equal(list.entries[10000].path, "many/09999");
    files_list_done(&list);
    assert_int_equal(files_delete(&files, "many", false, &err), -1);
    assert_error(&err, E_INVALID, "not empty");
    assert_int_equal(files_delete(&files, "many", true, &err), 0);
    assert_int_equal(access("many", F_OK), -1);
}

IN_WORKSPACE(more_than_the_ceiling_is_said_to_be_missing)
{
    struct files_list list;
    struct error err = {0};
    char name[32];
    int tries;

    assert_int_equal(mkdir("many", 0755), 0);
    for (int i = 0; i < LIMIT_FILES_WALK + 1000; i++) {
        (void)snprintf(name, sizeof(name), "many/%06d", i);
        assert_int_equal(mknod(name, S_IFREG | 0644, 0), 0);
    }
    assert_int_equal(files_snapshot(&files, &list, &err), 0);
    assert_true(list.is_partial);
    assert_true(list.count <= LIMIT_FILES_WALK);
    files_list_done(&list);
    for (tries = 0; files_delete(&files, "many", true, &err) < 0; tries++) {
        assert_error(&err, E_TOO_LARGE, "too large or too deep");
        assert_true(tries < 3);
    }
    assert_int_equal(tries, 1);
}

/* Long names, deep down: the paths alone would be hundreds of megabytes. */
IN_WORKSPACE(paths_have_a_ceiling_of_their_own)
{
    struct files_list list;
    struct error err = {0};
    char name[240];
    size_t paths = 0;

    memset(name, 'n', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    for (int depth = 0; depth < 14; depth++) {
        assert_int_equal(mkdir(name, 0755), 0);
        assert_int_equal(chdir(name), 0);
    }
    for (int i = 0; i < 3000; i++) {
        (void)snprintf(name, 8, "%07d", i);
        name[7] = 'n';
        assert_int_equal(mknod(name, S_IFREG | 0644, 0), 0);
    }
    assert_int_equal(files_snapshot(&files, &list, &err), 0);
    assert_true(list.is_partial);
    for (size_t i = 0; i < list.count; i++)
        paths += strlen(list.entries[i].path) + 1;
    assert_true(paths <= LIMIT_FILES_PATHS);
    files_list_done(&list);
}

/* Pages end by the bytes of their paths, and together they have everything once. */
IN_WORKSPACE(long_paths_make_short_pages)
{
    struct files_page page = {.depth = 1, .limit = LIMIT_FILES_WALK};
    char last[PATH_MAX] = "", name[248] = "long/";
    size_t total = 0, pages = 0;
    struct error err = {0};
    bool has_more = true;

    assert_int_equal(mkdir("long", 0755), 0);
    memset(name + 5, 1, sizeof(name) - 6);
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(name + 5, 6, "%05d", i);
        name[10] = 1;
        assert_int_equal(mknod(name, S_IFREG | 0644, 0), 0);
    }
    for (; has_more; pages++) {
        struct files_list list;
        size_t bytes = 0;

        assert_int_equal(files_list(&files, "long", &page, &list, &err), 0);
        assert_true(list.count > 0);
        for (size_t i = 0; i < list.count; i++)
            bytes += strlen(list.entries[i].path);
        assert_true(bytes <= LIMIT_FILES_PAGE);
        total += list.count;
        has_more = list.has_more;
        (void)snprintf(last, sizeof(last), "%s", list.entries[list.count - 1].path);
        page.after = last;
        files_list_done(&list);
    }
    assert_int_equal(total, 5000);
    assert_true(pages >= 3);
}

IN_WORKSPACE(a_tree_deeper_than_any_path_ends)
{
    struct files_list list;
    struct error err = {0};

    for (int depth = 0; depth < 3000; depth++) {
        assert_int_equal(mkdir("deep", 0755), 0);
        assert_int_equal(chdir("deep"), 0);
    }
    assert_int_equal(files_snapshot(&files, &list, &err), 0);
    assert_int_equal(list.count, LIMIT_FILES_DEPTH);
    assert_true(list.is_partial);
    files_list_done(&list);
    assert_int_equal(files_delete(&files, "deep", true, &err), -1);
    assert_error(&err, E_TOO_LARGE, "too deep");
}

/* --- before and after --- */

struct changes {
    char text[512];
};

static void note(void *arg, enum files_change change, const struct files_entry *entry)
{
    static const char marks[] = {[FILES_NEW] = '+', [FILES_CHANGED] = '~', [FILES_GONE] = '-'};
    struct changes *c = arg;
    size_t len = strlen(c->text);

    (void)snprintf(c->text + len, sizeof(c->text) - len, "%c%s ", marks[change], entry->path);
}

static void expect_changes(const struct files_list *before, const char *expected)
{
    struct changes changes = {0};
    struct files_list after;

    assert_int_equal(files_snapshot(&files, &after, NULL), 0);
    files_diff(before, &after, note, &changes);
    files_list_done(&after);
    assert_string_equal(changes.text, expected);
}

IN_WORKSPACE(a_diff_names_new_changed_and_gone_files)
{
    struct files_list before;

    assert_int_equal(mkdir("d", 0755), 0);
    write_plain("d/same", "x");
    write_plain("changed", "x");
    write_plain("replaced", "x");
    write_plain("gone", "x");
    write_plain("moved", "x");
    expect_changes(NULL, "+changed +d/same +gone +moved +replaced ");
    assert_int_equal(files_snapshot(&files, &before, NULL), 0);
    expect_changes(&before, "");

    write_plain("changed", "xy");
    write_plain("other", "x");
    assert_int_equal(rename("other", "replaced"), 0);
    assert_int_equal(unlink("gone"), 0);
    assert_int_equal(rename("moved", "d/moved"), 0);
    assert_int_equal(mkdir("empty", 0755), 0);
    assert_int_equal(mkfifo("fifo", 0644), 0);
    assert_int_equal(symlink("changed", "link"), 0);
    expect_changes(&before, "~changed +d/moved -gone -moved ~replaced ");
    files_list_done(&before);
}

IN_WORKSPACE(a_partial_snapshot_calls_nothing_gone_and_only_fresh_files_new)
{
    struct files_list before;

    assert_int_equal(mkdir("shut", 0700), 0);
    write_plain("shut/old", "x");
    write_plain("gone", "x");
    assert_int_equal(chmod("shut", 0), 0);
    while (usleep(10000) < 0) /* the clock of files has steps */
        ;
    assert_int_equal(files_snapshot(&files, &before, NULL), 0);
    assert_true(before.is_partial);
    assert_int_equal(unlink("gone"), 0);
    expect_changes(&before, "");
    assert_int_equal(chmod("shut", 0700), 0);
    write_plain("shut/new", "x");
    expect_changes(&before, "-gone +shut/new ");
    files_list_done(&before);
}

/* Not a measurement: a bound that only a mistake passes. */
IN_WORKSPACE(an_empty_workspace_costs_microseconds)
{
    struct files_list list;
    uint64_t start = now_ms();

    for (int i = 0; i < 10000; i++) {
        assert_int_equal(files_snapshot(&files, &list, NULL), 0);
        files_list_done(&list);
    }
    print_message("# 10000 snapshots of nothing: %d ms\n", (int)(now_ms() - start));
    assert_true(now_ms() - start < 2000);
    /* And whatever kind it is, one entry is seen. */
    assert_int_equal(mknod("f", S_IFREG | 0644, 0), 0);
    assert_int_equal(count_entries(), 1);
    assert_int_equal(unlink("f"), 0);
    assert_int_equal(count_entries(), 0);
    assert_int_equal(mkdir("d", 0755), 0);
    assert_int_equal(count_entries(), 1);
    assert_int_equal(rename("d", "e"), 0);
    assert_int_equal(count_entries(), 1);
}

/* --- collecting --- */

static int gather(void *arg, const struct files_entry *entry, int fd, struct error *err)
{
    struct changes *c = arg;
    size_t len = strlen(c->text);
    char data[16] = {0};

    assert_int_equal(files_read(fd, 0, data, sizeof(data) - 1, err), (ssize_t)entry->size);
    (void)close(fd);
    (void)snprintf(c->text + len, sizeof(c->text) - len, "%s=%s ", entry->path, data);
    return strcmp(data, "stop") == 0 ? error_set(err, E_TOO_LARGE, "enough") : 0;
}

static int collect(const char *const *patterns, size_t count, struct changes *changes,
                   bool *ret_partial, struct error *err)
{
    cleanup(files_list_done) struct files_list list = {0};

    if (files_snapshot(&files, &list, err) < 0)
        return -1;
    return files_collect(&files, &list, patterns, count, gather, changes, ret_partial, err);
}

IN_WORKSPACE(files_are_collected_by_pattern)
{
    static const char *const top[] = {"*.csv", "nothing"}, *const deep[] = {"**/*.csv"},
                             *const one[] = {"d/?.csv"};
    struct changes changes = {0};
    struct error err = {0};
    bool is_partial;

    assert_int_equal(mkdir("d", 0755), 0);
    assert_int_equal(mkdir("d/e", 0755), 0);
    assert_int_equal(mkdir("dir.csv", 0755), 0);
    assert_int_equal(symlink("../outside/secret", "link.csv"), 0);
    assert_int_equal(mkfifo("fifo.csv", 0644), 0);
    write_plain("a.csv", "1");
    write_plain("b.txt", "2");
    write_plain("d/c.csv", "3");
    write_plain("d/e/d.csv", "4");
    assert_int_equal(collect(top, 2, &changes, &is_partial, &err), 0);
    assert_string_equal(changes.text, "a.csv=1 ");
    changes.text[0] = '\0';
    assert_int_equal(collect(one, 1, &changes, &is_partial, &err), 0);
    assert_string_equal(changes.text, "d/c.csv=3 ");
    changes.text[0] = '\0';
    assert_int_equal(collect(deep, 1, &changes, &is_partial, &err), 0);
    assert_string_equal(changes.text, "a.csv=1 d/c.csv=3 d/e/d.csv=4 ");
    assert_false(is_partial);
    assert_int_equal(chmod("d/c.csv", 0), 0);
    write_plain("d/e/d.csv", "stop");
    assert_int_equal(collect(deep, 1, &changes, &is_partial, &err), -1);
    assert_error(&err, E_TOO_LARGE, "enough");
    assert_int_equal(collect(top, 1000, &changes, &is_partial, &err), -1);
    assert_error(&err, E_INVALID, "patterns");
}

/* Three hundred million steps, if nobody counted them. */
IN_WORKSPACE(patterns_that_take_long_are_given_up)
{
    const char *patterns[LIMIT_FILES_PATTERNS];
    char pattern[256] = "", name[256] = "";
    struct changes changes = {0};
    struct error err = {0};
    bool is_partial = false;

    for (size_t i = 0; i < 126; i += 2)
        memcpy(pattern + i, "*a", 3);
    memset(pattern + 126, '?', 120);
    memcpy(pattern + 246, "b?", 3);
    memset(name, 'a', 250);
    for (size_t i = 0; i < 1000; i++) {
        (void)snprintf(name + 246, sizeof(name) - 246, "%04zu", i);
        write_plain(name, "1");
    }
    for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
        patterns[i] = pattern;
    assert_int_equal(collect(patterns, ARRAY_SIZE(patterns), &changes, &is_partial, &err), 0);
    assert_true(is_partial);
    assert_string_equal(changes.text, "");
    patterns[0] = "*0007";
    assert_int_equal(collect(patterns, 1, &changes, &is_partial, &err), 0);
    assert_false(is_partial);
    assert_non_null(strstr(changes.text, "0007=1"));
}

UNIT_MAIN()
