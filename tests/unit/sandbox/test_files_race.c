#include "sandbox/workspace.h"

/* --- races --- */

/* A process that exchanges two names without pause, until it is killed. */
static pid_t flip(const char *a, const char *b)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
        if (renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) < 0)
            _exit(1);
}

static void stop(pid_t pid)
{
    int status;

    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status)); /* it flipped to the end */
}

#define RACE_MS 400

IN_WORKSPACE(a_directory_swapped_for_a_link_leads_nowhere)
{
    const struct files_write_options options = {0};
    size_t inside = 0, refused = 0;
    uint64_t end;
    pid_t pid;

    assert_int_equal(mkdir("d", 0755), 0);
    write_plain("d/secret", "inside");
    assert_int_equal(symlink("../outside", "link"), 0);
    pid = flip("d", "link");
    for (end = now_ms() + RACE_MS; now_ms() < end;) {
        struct files_list list;
        char data[32] = {0};
        int fd;

        if (files_open(&files, "d/secret", &fd, NULL, NULL) == 0) {
            assert_true(files_read(fd, 0, data, sizeof(data) - 1, NULL) >= 0);
            assert_string_equal(data, "inside");
            (void)close(fd);
            inside++;
        } else {
            refused++;
        }
        (void)put("d/planted", "x", &options, NULL);
        (void)files_delete(&files, "d/planted", true, NULL);
        (void)files_make_directory(&files, "d/planted", NULL);
        (void)files_delete(&files, "d/planted", false, NULL);
        if (files_list(&files, "d", &(struct files_page){0}, &list, NULL) == 0) {
            for (size_t i = 0; i < list.count; i++)
                assert_true(list.entries[i].inode != 0);
            files_list_done(&list);
        }
    }
    stop(pid);
    assert_true(inside > 0);
    assert_true(refused > 0); /* the race was run */
    act_outside();
    expect_text("../outside/secret", "the secret");
    assert_int_equal(access("../outside/planted", F_OK), -1);
}

/* Deleting a tree in which a directory turns into a link to another tree, and back. */
IN_WORKSPACE(deleting_never_leaves_the_workspace)
{
    uint64_t end;
    pid_t pid;

    assert_int_equal(mkdir("t", 0755), 0);
    assert_int_equal(mkdir("keep", 0755), 0);
    assert_int_equal(symlink("../outside", "keep/link"), 0);
    assert_int_equal(mkdir("keep/d", 0755), 0);
    pid = flip("keep/d", "keep/link");
    for (end = now_ms() + RACE_MS; now_ms() < end;) {
        (void)mkdir("keep/d/x", 0755);
        (void)mkdir("keep/link/x", 0755);
        (void)files_delete(&files, "keep/d/secret", true, NULL);
        (void)files_delete(&files, "keep/link/secret", true, NULL);
        (void)files_delete(&files, "keep/d/x", true, NULL);
    }
    stop(pid);
    act_outside();
    expect_text("../outside/secret", "the secret");
}

IN_WORKSPACE(a_file_swapped_for_a_fifo_is_never_waited_for)
{
    uint64_t end;
    pid_t pid;

    write_plain("file", "inside");
    assert_int_equal(mkfifo("fifo", 0666), 0);
    pid = flip("file", "fifo");
    for (end = now_ms() + RACE_MS; now_ms() < end;) {
        char data[32] = {0};
        int fd;

        if (files_open(&files, "file", &fd, NULL, NULL) < 0)
            continue;
        assert_int_equal(files_read(fd, 0, data, sizeof(data), NULL), 6);
        (void)close(fd);
    }
    assert_true(now_ms() < end + 5000);
    stop(pid);
}

/* Names that come and go while they are read. */
IN_WORKSPACE(a_busy_directory_is_listed_in_bounded_time)
{
    uint64_t end;
    pid_t pid;

    pid = fork();
    if (pid == 0) {
        char from[32], to[32];

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (unsigned i = 0;; i++) {
            (void)snprintf(from, sizeof(from), "f%u", i % 50);
            (void)snprintf(to, sizeof(to), "g%u", i);
            (void)close(open(from, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
            (void)rename(from, to);
            if (i % 64 == 63)
                for (unsigned k = i - 63; k <= i; k++) {
                    (void)snprintf(to, sizeof(to), "g%u", k);
                    (void)unlink(to);
                }
        }
    }
    for (end = now_ms() + RACE_MS; now_ms() < end;) {
        struct files_list list;

        assert_int_equal(files_snapshot(&files, &list, NULL), 0);
        assert_true(list.count <= LIMIT_FILES_WALK);
        for (size_t i = 1; i < list.count; i++)
            assert_true(strcmp(list.entries[i - 1].path, list.entries[i].path) < 0);
        files_list_done(&list);
    }
    assert_true(now_ms() < end + 5000);
    stop(pid);
}

UNIT_MAIN()
