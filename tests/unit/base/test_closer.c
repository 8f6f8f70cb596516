#include "base/closer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

/* Whether the reading end sees that no writer is left, within a few seconds. */
static bool is_closed(int fd)
{
    struct pollfd p = {.fd = fd};

    return poll(&p, 1, 5000) == 1 && (p.revents & POLLHUP);
}

static size_t count_descriptors(void)
{
    size_t count = 0;

    for (int fd = 0; fd < 8192; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static pid_t find_helper(void)
{
    char path[64], text[64] = "";
    cleanup_fclose FILE *file = NULL;

    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    file = fopen(path, "re");
    if (!file || !fgets(text, sizeof(text), file))
        return -1;
    return (pid_t)strtol(text, NULL, 10);
}

static void stop(void *arg)
{
    loop_stop(arg);
}

static void turn(struct loop *loop, uint64_t ms)
{
    struct loop_watch *timer = loop_timer(loop, stop, loop);

    loop_timer_start(timer, ms);
    assert_int_equal(loop_run(loop, NULL), 0);
    loop_watch_free(timer);
}

TEST(it_closes_what_it_gets)
{
    struct loop *loop = loop_new(NULL);
    size_t before = count_descriptors();
    int pair[2];

    assert_int_equal(closer_start(loop, NULL), 0);
    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    closer_close(&pair[1]);
    assert_int_equal(pair[1], -1);
    turn(loop, 20);
    assert_true(is_closed(pair[0]));
    (void)close(pair[0]);
    closer_stop();
    assert_int_equal(count_descriptors(), before);
    assert_int_equal(waitpid(-1, NULL, __WALL), -1);
    assert_int_equal(errno, ECHILD);
    loop_free(loop);
}

/* The helper does not read: the socket is full, then the list is, and nobody waits. */
TEST(a_helper_that_is_behind_holds_nobody_up)
{
    struct loop *loop = loop_new(NULL);
    size_t before = count_descriptors();
    pid_t helper;
    int pair[2];

    assert_int_equal(closer_start(loop, NULL), 0);
    turn(loop, 100); /* until it stands */
    helper = find_helper();
    assert_true(helper > 0);
    assert_int_equal(kill(helper, SIGSTOP), 0);
    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    for (int i = 0; i < 60000; i++) {
        int fd = fcntl(pair[1], F_DUPFD_CLOEXEC, 3);

        assert_true(fd >= 0);
        closer_close(&fd);
    }
    (void)close(pair[1]);
    assert_int_equal(kill(helper, SIGCONT), 0);
    turn(loop, 200);
    assert_true(is_closed(pair[0]));
    (void)close(pair[0]);
    closer_stop();
    assert_int_equal(count_descriptors(), before);
    loop_free(loop);
}

TEST(without_a_helper_it_closes_itself)
{
    struct loop *loop = loop_new(NULL);
    pid_t helper;
    int pair[2];

    assert_int_equal(closer_start(loop, NULL), 0);
    helper = find_helper();
    assert_true(helper > 0);
    assert_int_equal(kill(helper, SIGKILL), 0);
    turn(loop, 20);
    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    closer_close(&pair[1]);
    turn(loop, 20);
    assert_true(is_closed(pair[0]));
    (void)close(pair[0]);
    closer_stop();
    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    closer_close(&pair[1]);
    assert_true(is_closed(pair[0]));
    (void)close(pair[0]);
    loop_free(loop);
}

/* In a process of its own, which is killed while the helper holds a descriptor. */
TEST(it_ends_with_us)
{
    int pair[2];
    pid_t pid;

    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct loop *loop = loop_new(NULL);

        if (closer_start(loop, NULL) < 0)
            _exit(1);
        turn(loop, 100); /* until it stands */
        if (kill(find_helper(), SIGSTOP) < 0)
            _exit(1);
        closer_close(&pair[1]);
        turn(loop, 20);
        (void)kill(getpid(), SIGKILL);
    }
    (void)close(pair[1]);
    assert_true(is_closed(pair[0]));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)close(pair[0]);
}

/* A forked child of ours closes for itself. */
TEST(a_child_does_not_use_it)
{
    struct loop *loop = loop_new(NULL);
    int status, pair[2];
    pid_t pid;

    assert_int_equal(closer_start(loop, NULL), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (pipe2(pair, O_CLOEXEC) < 0)
            _exit(1);
        closer_close(&pair[1]);
        closer_stop();
        _exit(is_closed(pair[0]) ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(find_helper() > 0);
    closer_stop();
    loop_free(loop);
}

UNIT_MAIN()
