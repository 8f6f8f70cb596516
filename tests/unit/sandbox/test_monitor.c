#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/monitor.h"

#define MIB ((size_t)1 << 20)

/* A tree of processes below one child, made by `body`, which says that it stands by returning; then
 * it waits for its end. */
struct tree {
    pid_t pid;
    int end; /* closing it ends them all: everybody waits for that */
};

static int wait_fd; /* in the tree: the end everybody waits on */

static void wait_for_the_end(void)
{
    char byte;

    (void)!read(wait_fd, &byte, 1);
    _exit(0);
}

static struct tree grow(void (*body)(void))
{
    int end[2], ready[2];
    struct tree t;
    char byte;

    assert_int_equal(pipe2(end, O_CLOEXEC), 0);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    t.pid = fork();
    assert_true(t.pid >= 0);
    if (t.pid == 0) {
        (void)close(end[1]);
        wait_fd = end[0];
        body();
        (void)!write(ready[1], "x", 1);
        wait_for_the_end();
    }
    (void)close(end[0]);
    (void)close(ready[1]);
    t.end = end[1];
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    return t;
}

static void fell(struct tree *t)
{
    (void)close(t->end);
    (void)kill(t->pid, SIGKILL);
    assert_int_equal(waitpid(t->pid, NULL, 0), t->pid);
}

static struct monitor_usage look(const struct tree *t)
{
    struct monitor_usage usage;

    monitor_read(t->pid, &usage);
    return usage;
}

static void fork_one(void)
{
    pid_t pid = fork();

    if (pid < 0)
        _exit(1);
    if (pid == 0)
        wait_for_the_end();
}

/* --- bodies --- */

static void alone(void)
{
}

static void three_children(void)
{
    for (int i = 0; i < 3; i++)
        fork_one();
}

static void four_generations(void)
{
    int ready[2];
    char byte;

    if (pipe2(ready, 0) < 0)
        _exit(1);
    for (int depth = 0; depth < 4; depth++) {
        pid_t pid = fork();

        if (pid < 0)
            _exit(1);
        if (pid > 0) {
            if (depth == 0)
                break;
            wait_for_the_end();
        }
        if (depth == 3) {
            (void)!write(ready[1], "x", 1);
            wait_for_the_end();
        }
    }
    (void)!read(ready[0], &byte, 1);
}

static int thread_ready[2];

static void *forking_thread(void *unused)
{
    (void)unused;
    fork_one();
    fork_one();
    (void)!write(thread_ready[1], "x", 1);
    wait_for_the_end();
    return NULL;
}

static void a_thread_that_forks(void)
{
    pthread_t thread;
    char byte;

    if (pipe2(thread_ready, O_CLOEXEC) < 0 ||
        pthread_create(&thread, NULL, forking_thread, NULL) != 0)
        _exit(1);
    (void)!read(thread_ready[0], &byte, 1);
}

static void fifty_megabytes(void)
{
    char *memory = mmap(NULL, 50 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        _exit(1);
    memset(memory, 1, 50 * MIB);
}

static void fifty_shared_by_four(void)
{
    fifty_megabytes();
    three_children();
}

static int keep_memory(void *unused)
{
    char byte;

    (void)unused;
    (void)!read(wait_fd, &byte, 1);
    return 0;
}

static int first_ends_us; /* 0: with the others */

/* As a kernel and its holder: two siblings with one memory. Here they are children of the one that
 * is looked at. */
static void two_with_one_memory(void)
{
    static char stack[65536] __attribute__((aligned(16)));
    int ready[2];
    char byte;
    pid_t pid;

    if (pipe2(ready, O_CLOEXEC) < 0)
        _exit(1);
    pid = fork();
    if (pid < 0)
        _exit(1);
    if (pid == 0) {
        fifty_megabytes();
        if (clone(keep_memory, stack + sizeof(stack), CLONE_VM | CLONE_PARENT | SIGCHLD, NULL) < 0)
            _exit(1);
        (void)!write(ready[1], "x", 1);
        if (first_ends_us) {
            (void)usleep((useconds_t)first_ends_us);
            _exit(0);
        }
        wait_for_the_end();
    }
    (void)!read(ready[0], &byte, 1);
}

static void burn(int ms)
{
    struct timespec now;

    do
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < ms);
}

static void busy_child_that_was_reaped(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        burn(200);
        _exit(0);
    }
    (void)waitpid(pid, NULL, 0);
}

static void a_name_with_everything_in_it(void)
{
    (void)prctl(PR_SET_NAME, ") R 1 (2) 3\n4");
    burn(100);
}

/* More than one read of the list of children holds. */
#define MANY 800

static void very_many_children(void)
{
    for (int i = 0; i < MANY; i++) {
        pid_t pid =
            (pid_t)syscall(SYS_fork); /* without the handlers of the checkers, which are slow */

        if (pid < 0)
            _exit(1);
        if (pid == 0)
            wait_for_the_end();
    }
}

/* --- tests --- */

TEST(one_process_is_one)
{
    struct tree t = grow(alone);

    assert_int_equal(look(&t).processes, 1);
    assert_true(look(&t).memory_bytes > 0);
    fell(&t);
}

TEST(children_are_counted)
{
    struct tree t = grow(three_children);

    assert_int_equal(look(&t).processes, 4);
    fell(&t);
}

TEST(grandchildren_are_counted)
{
    struct tree t = grow(four_generations);

    assert_int_equal(look(&t).processes, 5);
    fell(&t);
}

TEST(children_of_a_thread_are_counted_and_the_thread_too)
{
    struct tree t = grow(a_thread_that_forks);

    assert_int_equal(look(&t).processes, 4);
    fell(&t);
}

TEST(very_many_children_are_counted_and_nobody_else)
{
    struct tree t = grow(very_many_children);

    assert_int_equal(look(&t).processes, MANY + 1);
    fell(&t);
}

TEST(memory_is_counted)
{
    struct tree t = grow(fifty_megabytes);

    assert_true(look(&t).memory_bytes >= 50 * MIB);
    fell(&t);
}

TEST(memory_that_is_shared_is_counted_once)
{
    struct tree t = grow(fifty_shared_by_four);
    uint64_t bytes = look(&t).memory_bytes;

    assert_true(bytes >= 49 * MIB);
    assert_true(bytes < 100 * MIB);
    fell(&t);
}

TEST(two_processes_with_one_memory_count_once)
{
    struct tree t = grow(two_with_one_memory);
    struct monitor_usage usage = look(&t);

    assert_int_equal(usage.processes, 3);
    assert_true(usage.memory_bytes >= 49 * MIB);
    assert_true(usage.memory_bytes < 90 * MIB);
    fell(&t);
}

TEST(one_memory_counts_once_while_one_of_the_two_ends)
{
    for (int round = 0; round < 12; round++) {
        struct tree t;

        first_ends_us = 3000 + 700 * round;
        t = grow(two_with_one_memory);
        for (int i = 0; i < 30; i++) {
            uint64_t bytes = look(&t).memory_bytes;

            assert_true(bytes >= 49 * MIB);
            assert_true(bytes < 90 * MIB);
        }
        fell(&t);
    }
    first_ends_us = 0;
}

TEST(time_of_children_that_ended_is_counted)
{
    struct tree t = grow(busy_child_that_was_reaped);

    assert_true(look(&t).cpu_ms >= 150);
    fell(&t);
}

TEST(a_name_cannot_forge_the_numbers)
{
    struct tree t = grow(a_name_with_everything_in_it);
    struct monitor_usage usage = look(&t);

    assert_int_equal(usage.processes, 1);
    assert_in_range(usage.cpu_ms, 50, 60000);
    fell(&t);
}

TEST(who_is_gone_uses_nothing)
{
    struct tree t = grow(alone);
    struct monitor_usage usage;

    fell(&t);
    usage = look(&t);
    assert_int_equal(usage.processes, 0);
    assert_int_equal(usage.memory_bytes, 0);
    monitor_read(-1, &usage);
    assert_int_equal(usage.processes, 0);
}

TEST(a_pidfd_leads_to_its_process_until_that_is_gone)
{
    struct tree t = grow(alone);
    int fd = (int)syscall(SYS_pidfd_open, t.pid, 0);

    assert_true(fd >= 0);
    assert_int_equal(monitor_pid(fd), t.pid);
    fell(&t);
    assert_int_equal(monitor_pid(fd), -1);
    (void)close(fd);
    assert_int_equal(monitor_pid(fd), -1);
    assert_int_equal(monitor_pid(STDIN_FILENO), -1);
}

UNIT_MAIN()
