#include "sandbox/workspace.h"

/* --- reading --- */

IN_WORKSPACE(a_file_is_read_by_range)
{
    struct files_entry entry;
    struct error err = {0};
    char data[16] = {0};
    int fd;

    write_plain("numbers", "0123456789");
    assert_int_equal(files_open(&files, "numbers", &fd, &entry, &err), 0);
    assert_int_equal(entry.size, 10);
    assert_int_equal(entry.mode, 0644);
    assert_int_equal(files_read(fd, 3, data, 4, &err), 4);
    assert_string_equal(data, "3456");
    assert_int_equal(files_read(fd, 8, data, sizeof(data), &err), 2);
    assert_int_equal(files_read(fd, 10, data, sizeof(data), &err), 0);
    assert_int_equal(files_read(fd, INT64_MAX - 100, data, sizeof(data), &err), 0);
    assert_int_equal(files_read(fd, UINT64_MAX, data, sizeof(data), &err), -1);
    assert_error(&err, E_INVALID, "range");
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    (void)close(fd);
}

IN_WORKSPACE(a_sparse_file_costs_nothing)
{
    struct files_entry entry;
    struct error err = {0};
    char data[4096];
    int fd;

    write_plain("sparse", "x");
    assert_int_equal(truncate("sparse", (off_t)1 << 50), 0);
    assert_int_equal(files_open(&files, "sparse", &fd, &entry, &err), 0);
    assert_true(entry.size == (uint64_t)1 << 50);
    assert_int_equal(files_read(fd, (uint64_t)1 << 49, data, sizeof(data), &err), sizeof(data));
    assert_int_equal(data[0], 0);
    (void)close(fd);
}

IN_WORKSPACE(only_regular_files_are_read)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "socket"};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct error err = {0};
    int fd = -1;

    assert_int_equal(mkfifo("fifo", 0644), 0);
    assert_int_equal(mkdir("directory", 0755), 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof(name)), 0);
    assert_int_equal(files_open(&files, "fifo", &fd, NULL, &err), -1);
    assert_error(&err, E_INVALID, "`fifo`: it is not a regular file");
    assert_int_equal(files_open(&files, "socket", &fd, NULL, &err), -1);
    assert_error(&err, E_INVALID, "`socket`: it is not a regular file");
    assert_int_equal(files_open(&files, "directory", &fd, NULL, &err), -1);
    assert_error(&err, E_INVALID, "it is a directory");
    assert_int_equal(files_open(&files, "", &fd, NULL, &err), -1);
    assert_error(&err, E_INVALID, "`/workspace`: it is a directory");
    assert_int_equal(files_open(&files, "none", &fd, NULL, &err), -1);
    assert_error(&err, E_NOT_FOUND, "`none`: no such file");
    assert_int_equal(files_open(&files, "fifo/x", &fd, NULL, &err), -1);
    assert_error(&err, E_INVALID, "not a directory");
    assert_int_equal(fd, -1);
    (void)close(listener);
}

IN_WORKSPACE(a_device_is_not_read)
{
    struct error err = {0};
    int fd = -1;

    act_outside();
    if (mknod("zero", S_IFCHR | 0666, (1 << 8) | 5) < 0) {
        print_message("# skipped: needs the right to make a device node\n");
        skip();
    }
    act_inside();
    assert_int_equal(files_open(&files, "zero", &fd, NULL, &err), -1);
    assert_true(err.code == E_INVALID || err.code == E_DENIED);
    error_done(&err);
}

IN_WORKSPACE(links_are_never_followed)
{
    struct files_entry entry;
    struct files_list list;
    struct error err = {0};
    int fd = -1;

    assert_int_equal(symlink("../outside", "link"), 0);
    assert_int_equal(symlink("../outside/secret", "file"), 0);
    assert_int_equal(symlink("/proc/self/root/etc/passwd", "magic"), 0);
    assert_int_equal(symlink(".", "here"), 0);
    assert_int_equal(files_open(&files, "file", &fd, NULL, &err), -1);
    assert_error(&err, E_DENIED, "symbolic link");
    assert_int_equal(files_open(&files, "link/secret", &fd, NULL, &err), -1);
    assert_error(&err, E_DENIED, "symbolic link");
    assert_int_equal(files_open(&files, "magic", &fd, NULL, &err), -1);
    assert_error(&err, E_DENIED, "symbolic link");
    assert_int_equal(files_list(&files, "link", &(struct files_page){0}, &list, &err), -1);
    error_done(&err);
    assert_int_equal(files_stat(&files, "link", &entry, &err), 0);
    assert_int_equal(entry.kind, FILES_LINK);
    assert_int_equal(files_stat(&files, "here/file", &entry, &err), -1);
    assert_error(&err, E_DENIED, "symbolic link");
    /* Not even where the caller skipped files_path_check(). */
    assert_int_equal(files_open(&files, "../outside/secret", &fd, NULL, &err), -1);
    assert_error(&err, E_DENIED, "out of /workspace");
    assert_int_equal(files_open(&files, "/etc/passwd", &fd, NULL, &err), -1);
    assert_error(&err, E_DENIED, "out of /workspace");
    assert_int_equal(fd, -1);
}

IN_WORKSPACE(the_mode_of_a_file_counts)
{
    const struct files_write_options plain = {0};
    struct files_writer writer;
    struct error err = {0};
    int fd = -1;

    write_plain("closed", "x");
    assert_int_equal(chmod("closed", 0), 0);
    assert_int_equal(mkdir("shut", 0700), 0);
    write_plain("shut/inside", "x");
    assert_int_equal(chmod("shut", 0), 0);
    assert_int_equal(files_open(&files, "closed", &fd, NULL, &err), -1);
    assert_error(&err, E_DENIED, "mode forbids");
    assert_int_equal(files_open(&files, "shut/inside", &fd, NULL, &err), -1);
    assert_error(&err, E_DENIED, "mode forbids");
    assert_int_equal(files_write_begin(&writer, &files, "shut/new", &plain, &err), -1);
    assert_error(&err, E_DENIED, "mode forbids");
    files_write_abort(&writer);
    assert_int_equal(files_delete(&files, "shut", true, &err), -1);
    assert_error(&err, E_DENIED, "mode forbids");
    assert_int_equal(fd, -1);
    assert_int_equal(chmod("shut", 0700), 0);
}

/* A lease on a file makes those who open it wait, for 45 seconds. */
IN_WORKSPACE(a_lease_does_not_make_us_wait)
{
    struct error err = {0};
    int fd = -1, held;

    write_plain("leased", "x");
    (void)signal(SIGIO, SIG_IGN);
    held = open("leased", O_RDWR | O_CLOEXEC);
    assert_true(held >= 0);
    assert_int_equal(fcntl(held, F_SETLEASE, F_WRLCK), 0);
    assert_int_equal(files_open(&files, "leased", &fd, NULL, &err), -1);
    assert_error(&err, E_BUSY, "the program is using");
    (void)close(held);
}

IN_WORKSPACE(what_is_no_tmpfs_directory_is_refused)
{
    struct error err = {0};
    struct files other;

    assert_int_equal(files_init(&other, open("/proc", O_PATH | O_CLOEXEC), &err), -1);
    assert_error(&err, E_PROTOCOL, "invalid workspace");
    write_plain("file", "");
    assert_int_equal(files_init(&other, open("file", O_PATH | O_CLOEXEC), &err), -1);
    assert_error(&err, E_PROTOCOL, "invalid workspace");
    assert_true(files_init(&other, -1, &err) < 0);
    error_done(&err);
    assert_int_equal(other.fd, -1);
}

/* --- writing --- */
IN_WORKSPACE(a_written_file_is_the_sandbox_users)
{
    struct files_write_options options = {0};
    struct error err = {0};
    mode_t mask = umask(077);
    struct stat st;

    assert_int_equal(put("new", "hello", &options, &err), 0);
    expect_text("new", "hello");
    assert_int_equal(stat("new", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    assert_int_equal(st.st_uid, files.uid);
    assert_int_equal(st.st_gid, files.gid);
    options = (struct files_write_options){.is_executable = true, .makes_parents = true};
    assert_int_equal(put("a/b/c.sh", "", &options, &err), 0);
    assert_int_equal(stat("a/b/c.sh", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_int_equal(stat("a/b", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_int_equal(st.st_uid, files.uid);
    assert_int_equal(umask(mask), 077);
    /* And we are who we were. */
    act_outside();
    assert_int_equal(setfsuid((uid_t)-1), geteuid());
}

IN_WORKSPACE(acting_for_the_sandbox_leaves_us_as_we_were)
{
    struct files_entry entry;
    int death_signal = 0;

    act_outside();
    assert_int_equal(prctl(PR_SET_DUMPABLE, 1), 0);
    assert_int_equal(prctl(PR_SET_PDEATHSIG, SIGUSR1), 0);
    assert_int_equal(files_stat(&files, "", &entry, NULL), 0);
    assert_int_equal(prctl(PR_GET_DUMPABLE), 1);
    assert_int_equal(prctl(PR_GET_PDEATHSIG, &death_signal), 0);
    assert_int_equal(death_signal, SIGUSR1);
    assert_int_equal(prctl(PR_SET_PDEATHSIG, 0), 0);
    assert_int_equal(setfsuid((uid_t)-1), geteuid());
    assert_int_equal(setfsgid((gid_t)-1), getegid());
}

IN_WORKSPACE(a_file_without_its_directory_is_an_error_unless_asked_for)
{
    const struct files_write_options options = {0};
    struct error err = {0};

    assert_int_equal(put("a/b", "", &options, &err), -1);
    assert_error(&err, E_NOT_FOUND, "no such file or directory");
    assert_int_equal(put("", "", &options, &err), -1);
    assert_error(&err, E_INVALID, "/workspace itself");
    assert_int_equal(put("a\nb", "", &options, &err), -1);
    assert_error(&err, E_INVALID, "control characters");
    assert_int_equal(put("\xff", "", &options, &err), -1);
    assert_error(&err, E_INVALID, "UTF-8");
    assert_int_equal(count_entries(), 0);
}

IN_WORKSPACE(a_write_replaces_whatever_is_there)
{
    const struct files_write_options options = {0};
    struct error err = {0};
    struct stat st;

    write_plain("file", "old");
    assert_int_equal(symlink("../outside/secret", "link"), 0);
    assert_int_equal(mkfifo("fifo", 0644), 0);
    assert_int_equal(put("file", "new", &options, &err), 0);
    assert_int_equal(put("link", "new", &options, &err), 0);
    assert_int_equal(put("fifo", "new", &options, &err), 0);
    expect_text("file", "new");
    expect_text("link", "new");
    expect_text("fifo", "new");
    act_outside();
    expect_text("../outside/secret", "the secret");
    act_inside();
    assert_int_equal(mkdir("directory", 0755), 0);
    assert_int_equal(put("directory", "new", &options, &err), -1);
    assert_error(&err, E_INVALID, "it is a directory");
    assert_int_equal(stat("directory", &st), 0);
    assert_int_equal(count_entries(), 4);
}

IN_WORKSPACE(nothing_is_seen_before_the_commit_and_nothing_left_by_an_abort)
{
    const struct files_write_options options = {.limit = 5};
    struct files_writer writer;
    struct error err = {0};

    write_plain("file", "old");
    assert_int_equal(files_write_begin(&writer, &files, "file", &options, &err), 0);
    assert_int_equal(files_write_feed(&writer, "12345", 5, &err), 0);
    assert_int_equal(files_write_feed(&writer, "6", 1, &err), -1);
    assert_error(&err, E_TOO_LARGE, "larger than 5 bytes");
    expect_text("file", "old");
    assert_int_equal(count_entries(), 1);
    files_write_abort(&writer);
    files_write_abort(&writer);
    expect_text("file", "old");
    assert_int_equal(count_entries(), 1);
    assert_int_equal(files_write_commit(&writer, &err), -1);
    error_done(&err);
}

IN_WORKSPACE(a_directory_deleted_under_a_write_is_an_error)
{
    const struct files_write_options options = {0};
    struct files_writer writer;
    struct error err = {0};

    assert_int_equal(mkdir("d", 0755), 0);
    assert_int_equal(files_write_begin(&writer, &files, "d/file", &options, &err), 0);
    assert_int_equal(rmdir("d"), 0);
    assert_int_equal(files_write_commit(&writer, &err), -1);
    assert_error(&err, E_NOT_FOUND, "no such file");
    assert_int_equal(count_entries(), 0);
}

IN_WORKSPACE(a_sandbox_that_ends_during_a_write_does_no_harm)
{
    const struct files_write_options options = {0};
    struct files_writer writer;
    struct error err = {0};

    assert_int_equal(files_write_begin(&writer, &files, "file", &options, &err), 0);
    assert_int_equal(files_write_feed(&writer, "text", 4, &err), 0);
    files_done(&files);
    memset(&files, 0x55, sizeof(files)); /* freed, and used again */
    assert_int_equal(files_write_feed(&writer, "text", 4, &err), 0);
    assert_int_equal(files_write_commit(&writer, &err), 0);
    files = (struct files){.fd = -1};
    expect_text("file", "texttext");
}

IN_WORKSPACE(a_workspace_that_is_gone_is_an_error)
{
    const struct files_write_options options = {0};
    struct error err = {0};

    act_outside();
    assert_int_equal(rmdir("../workspace"), 0);
    act_inside();
    assert_int_equal(count_entries(), 0);
    assert_int_equal(put("x", "", &options, &err), -1);
    assert_error(&err, E_NOT_FOUND, "no such file");
    assert_int_equal(files_make_directory(&files, "x/y", &err), -1);
    assert_error(&err, E_NOT_FOUND, "no such file");
    files_done(&files);
    assert_int_equal(files_delete(&files, "x", true, &err), -1);
    assert_error(&err, E_NOT_FOUND, "workspace no longer exists");
}

IN_WORKSPACE(directories_are_made_all_the_way)
{
    struct files_entry entry;
    struct error err = {0};

    assert_int_equal(files_make_directory(&files, "a/b/c", &err), 0);
    assert_int_equal(files_make_directory(&files, "a/b/c", &err), 0);
    assert_int_equal(files_make_directory(&files, "", &err), 0);
    assert_int_equal(files_stat(&files, "a/b/c", &entry, &err), 0);
    assert_int_equal(entry.kind, FILES_DIRECTORY);
    write_plain("file", "");
    assert_int_equal(files_make_directory(&files, "file/x", &err), -1);
    assert_error(&err, E_INVALID, "not a directory");
    assert_int_equal(symlink("../outside", "link"), 0);
    assert_int_equal(files_make_directory(&files, "link/x", &err), -1);
    assert_true(err.code == E_DENIED || err.code == E_INVALID);
    error_done(&err);
    assert_int_equal(access("../outside/x", F_OK), -1);
}

IN_WORKSPACE(moving_stays_inside_and_replaces_files)
{
    struct files_entry entry;
    struct error err = {0};

    write_plain("a", "1");
    write_plain("b", "22");
    assert_int_equal(files_move(&files, "a", "new/dir/c", &err), 0);
    assert_int_equal(files_stat(&files, "new/dir/c", &entry, &err), 0);
    assert_int_equal(entry.size, 1);
    assert_int_equal(files_move(&files, "b", "new/dir/c", &err), 0);
    assert_int_equal(files_stat(&files, "new/dir/c", &entry, &err), 0);
    assert_int_equal(entry.size, 2);
    assert_int_equal(files_move(&files, "a", "d", &err), -1);
    assert_error(&err, E_NOT_FOUND, "no such file");
    assert_int_equal(files_move(&files, "new", "new/dir/x", &err), -1);
    assert_error(&err, E_INVALID, "into itself");
    assert_int_equal(files_move(&files, "", "x", &err), -1);
    assert_error(&err, E_INVALID, "itself");
    assert_int_equal(symlink("../outside", "link"), 0);
    assert_int_equal(files_move(&files, "new/dir/c", "link/x", &err), -1);
    assert_true(err.code == E_DENIED || err.code == E_INVALID);
    error_done(&err);
    assert_int_equal(access("../outside/x", F_OK), -1);
    assert_int_equal(files_move(&files, "link", "moved", &err), 0); /* the link itself */
    assert_int_equal(files_stat(&files, "moved", &entry, &err), 0);
    assert_int_equal(entry.kind, FILES_LINK);
}

IN_WORKSPACE(deleting_removes_links_and_not_what_they_point_to)
{
    struct error err = {0};

    assert_int_equal(symlink("../outside", "link"), 0);
    assert_int_equal(mkdir("d", 0755), 0);
    assert_int_equal(symlink("../../outside", "d/link"), 0);
    write_plain("d/\xff\n", "");
    assert_int_equal(mkfifo("d/fifo", 0), 0);
    assert_int_equal(mkdir("empty", 0755), 0);
    assert_int_equal(files_delete(&files, "link", true, &err), 0);
    assert_int_equal(files_delete(&files, "empty", false, &err), 0);
    assert_int_equal(files_delete(&files, "d", true, &err), 0);
    assert_int_equal(files_delete(&files, "d", true, &err), -1);
    assert_error(&err, E_NOT_FOUND, "no such file");
    assert_int_equal(files_delete(&files, "", true, &err), -1);
    assert_error(&err, E_INVALID, "/workspace itself");
    assert_int_equal(count_entries(), 0);
    act_outside();
    expect_text("../outside/secret", "the secret");
}

UNIT_MAIN()
