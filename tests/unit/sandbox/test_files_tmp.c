/* Files in /tmp, the second tree of the same file system (sandbox/files.h). */
#include "workspace.h"

static int begin_with_tmp(void **state)
{
    struct error err = {0};

    act_outside();
    if (begin(state) < 0)
        return -1;
    act_outside();
    if (mkdir("../tmp", 0755) < 0 || chmod("../tmp", 01777) < 0 ||
        (geteuid() == 0 && chown("../tmp", OTHER_UID, OTHER_UID) < 0) ||
        files_add_tmp(&files, open("../tmp", O_PATH | O_DIRECTORY | O_CLOEXEC), &err) < 0)
        return -1;
    act_inside();
    return 0;
}

#define WITH_TMP(name) TEST_WITH(name, begin_with_tmp, finish)

static const struct files_write_options parents = {.makes_parents = true};

WITH_TMP(a_path_in_tmp_is_written_listed_and_deleted_there)
{
    struct files_entry entry;
    struct files_list list;
    struct error err = {0};

    assert_int_equal(put("/tmp/a/b", "text", &parents, &err), 0);
    expect_text("../tmp/a/b", "text");
    assert_int_equal(count_entries(), 0); /* of /workspace */
    assert_int_equal(files_stat(&files, "/tmp/a/b", &entry, &err), 0);
    assert_int_equal(entry.size, 4);
    assert_string_equal(entry.path, "/tmp/a/b");
    assert_int_equal(files_list(&files, "/tmp", &(struct files_page){0}, &list, &err), 0);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.entries[0].path, "/tmp/a");
    assert_string_equal(list.entries[1].path, "/tmp/a/b");
    files_list_done(&list);
    assert_int_equal(files_make_directory(&files, "/tmp/c/d", &err), 0);
    assert_int_equal(files_delete(&files, "/tmp/a", true, &err), 0);
    assert_int_equal(access("../tmp/a", F_OK), -1);
    assert_int_equal(access("../tmp/c/d", F_OK), 0);
    assert_int_equal(files_delete(&files, "/tmp", true, &err), -1);
    assert_error(&err, E_INVALID, "/tmp itself");
    assert_int_equal(put("/tmp", "x", &parents, &err), -1);
    assert_error(&err, E_INVALID, "/tmp itself");
}

WITH_TMP(links_in_tmp_are_not_followed)
{
    struct files_entry entry;
    char target[PATH_MAX];
    struct error err = {0};
    int fd;

    assert_int_equal(symlink("../outside", "../tmp/dir"), 0);
    assert_int_equal(symlink("../outside/secret", "../tmp/file"), 0);
    assert_int_equal(files_open(&files, "/tmp/dir/secret", &fd, &entry, &err), -1);
    assert_error(&err, E_DENIED, "symbolic link");
    assert_int_equal(files_open(&files, "/tmp/file", &fd, &entry, &err), -1);
    assert_error(&err, E_DENIED, "symbolic link");
    assert_int_equal(put("/tmp/dir/new", "x", &parents, &err), -1);
    assert_int_equal(err.code == E_DENIED || err.code == E_INVALID, 1);
    error_done(&err);
    assert_int_equal(files_make_directory(&files, "/tmp/dir/new", &err), -1);
    error_done(&err);
    assert_int_equal(files_move(&files, "/tmp/dir/secret", "got", &err), -1);
    assert_error(&err, E_DENIED, "symbolic link");
    assert_int_equal(files_move(&files, "/tmp/file", "got", &err), -1);
    assert_error(&err, E_INVALID, "only regular files");
    assert_int_equal(files_read_link(&files, "/tmp/file", target, &err), 0);
    assert_string_equal(target, "../outside/secret");
    assert_int_equal(files_read_link(&files, "/tmp/dir/secret", target, &err), -1);
    assert_error(&err, E_DENIED, "symbolic link");
    write_plain("plain", "");
    assert_int_equal(files_read_link(&files, "plain", target, &err), -1);
    assert_error(&err, E_INVALID, "not a symbolic link");
    assert_int_equal(access("got", F_OK), -1);
    act_outside();
    assert_int_equal(access("../outside/new", F_OK), -1);
    expect_text("../outside/secret", "the secret");
}

WITH_TMP(a_file_moves_between_the_trees_by_a_copy)
{
    struct files_entry entry;
    struct error err = {0};

    write_plain("../tmp/a", "from tmp");
    assert_int_equal(chmod("../tmp/a", 0750), 0);
    assert_int_equal(files_move(&files, "/tmp/a", "in/b", &err), 0);
    expect_text("in/b", "from tmp");
    assert_int_equal(access("../tmp/a", F_OK), -1);
    assert_int_equal(files_stat(&files, "in/b", &entry, &err), 0);
    assert_int_equal(entry.mode, 0750);
    write_plain("../tmp/c", "replaced");
    assert_int_equal(files_move(&files, "in/b", "/tmp/c", &err), 0);
    expect_text("../tmp/c", "from tmp");
    assert_int_equal(access("in/b", F_OK), -1);
    assert_int_equal(files_move(&files, "in", "/tmp/in", &err), -1);
    assert_error(&err, E_INVALID, "only regular files");
    assert_int_equal(files_move(&files, "none", "/tmp/x", &err), -1);
    assert_error(&err, E_NOT_FOUND, "no such file");
    assert_int_equal(files_move(&files, "/tmp/c", "/tmp/d", &err), 0);
    expect_text("../tmp/d", "from tmp");
}

WITH_TMP(a_copy_of_the_handle_has_it_too)
{
    struct files own;
    struct files_entry entry;
    struct error err = {0};

    write_plain("../tmp/a", "1");
    assert_int_equal(files_copy(&files, &own, &err), 0);
    assert_int_not_equal(own.tmp_fd, files.tmp_fd);
    assert_int_equal(files_stat(&own, "/tmp/a", &entry, &err), 0);
    files_done(&own);
    assert_false(own.has_tmp);
}

IN_WORKSPACE(without_a_tmp_it_is_refused)
{
    struct files_entry entry;
    struct error err = {0};

    assert_int_equal(files_stat(&files, "/tmp/a", &entry, &err), -1);
    assert_error(&err, E_UNSUPPORTED, "no /tmp of its own");
    assert_int_equal(put("/tmp/a", "x", &parents, &err), -1);
    assert_error(&err, E_UNSUPPORTED, "no /tmp of its own");
    assert_int_equal(files_make_directory(&files, "/tmp/a", &err), -1);
    assert_error(&err, E_UNSUPPORTED, "no /tmp of its own");
}

/* A file system that the bill does not count. */
IN_WORKSPACE(another_file_system_is_no_tmp)
{
    struct error err = {0};

    act_outside();
    assert_int_equal(files_add_tmp(&files, open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), &err),
                     -1);
    assert_error(&err, E_PROTOCOL, "invalid /tmp");
    assert_int_equal(files_add_tmp(&files, open("/dev/null", O_PATH | O_CLOEXEC), &err), -1);
    assert_error(&err, E_PROTOCOL, "invalid /tmp");
    assert_false(files.has_tmp);
}

UNIT_MAIN()
