/* A workspace with something beside it that nobody may reach, for the tests of files*.c.
 *
 * Tests act as the program does: with ordinary calls, from the working directory, which is the
 * workspace. Started by root it belongs to somebody else, as a sandbox's does. Every test gets a
 * fresh one: list it as IN_WORKSPACE(name).
 */
#pragma once

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "sandbox/files.h"

#define OTHER_UID 54321

static char base[64];
static struct files files;

static inline void write_plain(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(close(fd), 0);
}

/* The program is the sandbox's user. */
static inline void act_inside(void)
{
    if (geteuid() == 0) {
        (void)setfsgid(OTHER_UID);
        (void)setfsuid(OTHER_UID);
    }
}

static inline void act_outside(void)
{
    (void)setfsuid(geteuid());
    (void)setfsgid(getegid());
    (void)prctl(PR_SET_DUMPABLE, 1);
}

static inline int begin(void **state)
{
    struct error err = {0};

    (void)state;
    (void)snprintf(base, sizeof(base), "/dev/shm/bj-files-XXXXXX");
    if (!mkdtemp(base) || chmod(base, 0755) < 0 || chdir(base) < 0)
        return -1;
    if (mkdir("outside", 0777) < 0 || chmod("outside", 0777) < 0 || mkdir("workspace", 0755) < 0)
        return -1;
    write_plain("outside/secret", "the secret");
    if (chmod("outside/secret", 0666) < 0)
        return -1;
    if (geteuid() == 0 && chown("workspace", OTHER_UID, OTHER_UID) < 0)
        return -1;
    if (files_init(&files, open("workspace", O_PATH | O_DIRECTORY | O_CLOEXEC), &err) < 0)
        return -1;
    act_inside();
    return chdir("workspace");
}

static inline int finish(void **state)
{
    char command[128];
    pid_t pid;

    (void)state;
    files_done(&files);
    act_outside();
    if (chdir("/") < 0)
        return -1;
    (void)snprintf(command, sizeof(command), "%s", base);
    pid = fork();
    if (pid == 0) {
        execlp("rm", "rm", "-rf", command, (char *)NULL);
        _exit(127);
    }
    return waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

static inline int put(const char *path, const char *text, const struct files_write_options *options,
                      struct error *err)
{
    struct files_writer writer;

    if (files_write_begin(&writer, &files, path, options, err) < 0)
        return -1;
    for (const char *at = text; *at; at++)
        if (files_write_feed(&writer, at, 1, err) < 0) {
            files_write_abort(&writer);
            return -1;
        }
    return files_write_commit(&writer, err);
}

static inline void expect_text(const char *path, const char *text)
{
    char data[64] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    assert_true(fd >= 0);
    assert_true(read(fd, data, sizeof(data) - 1) >= 0);
    assert_string_equal(data, text);
    (void)close(fd);
}

static inline size_t count_entries(void)
{
    struct files_list list;
    size_t count;

    assert_int_equal(files_snapshot(&files, &list, NULL), 0);
    count = list.count;
    files_list_done(&list);
    return count;
}

static inline uint64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

#define IN_WORKSPACE(name) TEST_WITH(name, begin, finish)
