/* Groups of the host: made, limited, counted, entered, killed, removed. */
#include "sandbox/cgroups.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "child.h"

TEST(the_host_tells_what_it_uses)
{
    struct cgroup_host *host = open_host();
    struct stat st;

    assert_null(cgroup_host_reason(host));
    assert_int_equal(stat(cgroup_host_path(host), &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_contains(cgroup_host_path(host), "belljar-");
    cgroup_host_free(host);
}

TEST(nothing_remains_of_a_host)
{
    struct cgroup_host *host = open_host();
    cleanup_free char *path = strdup(cgroup_host_path(host));
    pid_t janitor = host->janitor;
    struct cgroup *left = new_group(host, "left", &roomy);

    cgroup_host_free(host);
    free(left);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(kill(janitor, 0), -1);
    assert_int_equal(errno, ESRCH);
    host = open_host();
    assert_int_equal(count_places(host, host->name), host->n_places);
    cgroup_host_free(host);
}

TEST(a_second_host_in_one_process_has_none)
{
    struct cgroup_host *host = open_host(), *second = NULL;
    struct cgroup *group = new_group(host, "a", &roomy);

    assert_int_equal(cgroup_host_open(&second, NULL), 0);
    assert_int_equal(cgroup_host_kind(second), CGROUP_NONE);
    assert_contains(cgroup_host_reason(second), "in use");
    cgroup_host_free(second);
    assert_int_equal(count_groups(host, "a"), host->n_places);
    assert_int_equal(cgroup_remove(group), 0);
    cgroup_host_free(host);
}

TEST(a_group_is_made_and_removed_everywhere)
{
    struct cgroup_host *host = open_host();
    struct cgroup *group = new_group(host, "a", &roomy);

    assert_int_equal(count_groups(host, "a"), host->n_places);
    assert_int_equal(cgroup_remove(group), 0);
    assert_int_equal(count_groups(host, "a"), 0);
    cgroup_host_free(host);
}

TEST(a_name_that_exists_or_leads_away_is_refused)
{
    static const char *const names[] = {"", ".", "..", "a/b", "supervisor", "a"};
    struct cgroup_host *host = open_host();
    struct cgroup *group = new_group(host, "a", &roomy), *other = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_true(cgroup_new(host, names[i], &roomy, &other, NULL) < 0);
    assert_null(other);
    assert_int_equal(count_groups(host, "a"), host->n_places);
    assert_int_equal(cgroup_remove(group), 0);
    cgroup_host_free(host);
}

static int count_processes_to_the_limit(void)
{
    int count = 1;

    for (; count < 100; count++) {
        pid_t pid = fork();

        if (pid < 0)
            break;
        if (pid == 0)
            for (;;)
                (void)pause();
    }
    (void)signal(SIGTERM, SIG_IGN);
    return count;
}

static char state_of(pid_t pid)
{
    char path[32], text[512];

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    return file_read(AT_FDCWD, path, text, sizeof(text)) > 0 ? strrchr(text, ')')[2] : 0;
}

TEST(what_is_frozen_stops_and_goes_on_and_can_be_killed)
{
    struct cgroup_host *host = open_host();
    struct cgroup *group = new_group(host, "a", &roomy);
    pid_t spared = settle(group), other = settle(group), own = settle(group);
    bool is_quiet = false;

    assert_int_equal(kill(own, SIGSTOP), 0);
    wait_until(state_of(own) == 'T');
    if (cgroup_host_kind(host) == CGROUP_V1) {
        wait_until(cgroup_freeze(group, spared, &is_quiet, NULL) == 0 && is_quiet);
        assert_int_equal(state_of(other), 'T');
        assert_int_not_equal(state_of(spared), 'T');
        assert_int_equal(cgroup_thaw(group, spared, NULL), 0);
        wait_until(state_of(other) == 'S');
        assert_int_equal(state_of(own), 'T');
    }
    assert_int_equal(cgroup_freeze(group, spared, &is_quiet, NULL), 0);
    cgroup_kill(group);
    reap(spared);
    reap(other);
    reap(own);
    remove_group(group);
    cgroup_host_free(host);
}

TEST(processes_are_limited_and_counted)
{
    struct cgroup_host *host = open_host();
    struct cgroup_limits limits = {.memory_bytes = 64 * MB, .processes = 5};
    struct cgroup *group = new_group(host, "a", &limits);
    struct cgroup_usage usage;

    assert_int_equal(inside(group, count_processes_to_the_limit), 5);
    usage = usage_of(group);
    assert_int_equal(usage.processes, 4);
    if (usage.processes_peak)
        assert_int_equal(usage.processes_peak, 5);
    assert_int_equal(cgroup_remove(group), -EBUSY);
    cgroup_kill(group);
    remove_group(group);
    cgroup_host_free(host);
}

static int touch(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    child_need(memory != MAP_FAILED);
    for (size_t i = 0; i < bytes; i += 4096)
        memory[i] = 1;
    return 0;
}

static int touch_much(void)
{
    return touch(128 * MB);
}

static int touch_some(void)
{
    return touch(32 * MB);
}

TEST(memory_beyond_the_limit_is_a_counted_kill)
{
    struct cgroup_host *host = open_host();
    struct cgroup_limits limits = {.memory_bytes = 48 * MB, .processes = 5};
    struct cgroup *group = new_group(host, "a", &limits);
    struct cgroup_usage usage;

    assert_int_equal(inside(group, touch_some), 0);
    usage = usage_of(group);
    assert_int_equal(usage.oom_kills, 0);
    assert_in_range(usage.memory_peak_bytes, 32 * MB, 48 * MB);
    assert_int_equal(inside(group, touch_much), -SIGKILL);
    usage = usage_of(group);
    /* v2 kills the group as a whole and counts the process that was chosen first twice. */
    assert_in_range(usage.oom_kills, 1, 2);
    assert_in_range(usage.memory_peak_bytes, 40 * MB, 48 * MB);
    remove_group(group);
    cgroup_host_free(host);
}

/* Memory that belongs to no process counts too. */
static int fill_a_memfd(void)
{
    int fd = memfd_create("x", MFD_CLOEXEC);
    static char block[65536];

    for (size_t i = 0; i < 128 * MB; i += sizeof(block))
        if (write(fd, block, sizeof(block)) < 0)
            return 1;
    return 0;
}

TEST(memory_of_files_counts)
{
    struct cgroup_host *host = open_host();
    struct cgroup_limits limits = {.memory_bytes = 48 * MB, .processes = 5};
    struct cgroup *group = new_group(host, "a", &limits);

    assert_int_not_equal(inside(group, fill_a_memfd), 0);
    assert_in_range(usage_of(group).memory_peak_bytes, 40 * MB, 48 * MB);
    remove_group(group);
    cgroup_host_free(host);
}

TEST(limits_can_be_raised_and_lowered)
{
    struct cgroup_host *host = open_host();
    struct cgroup_limits limits = {.memory_bytes = 48 * MB, .processes = 5};
    struct cgroup *group = new_group(host, "a", &limits);

    limits = (struct cgroup_limits){.memory_bytes = 256 * MB, .processes = 9};
    assert_int_equal(cgroup_set_limits(group, &limits, NULL), 0);
    assert_int_equal(inside(group, touch_much), 0);
    assert_int_equal(inside(group, count_processes_to_the_limit), 9);
    cgroup_kill(group);
    wait_until(is_empty(group));
    limits = (struct cgroup_limits){.memory_bytes = 48 * MB, .processes = 3};
    assert_int_equal(cgroup_set_limits(group, &limits, NULL), 0);
    assert_int_equal(inside(group, touch_much), -SIGKILL);
    assert_int_equal(inside(group, count_processes_to_the_limit), 3);
    cgroup_kill(group);
    remove_group(group);
    cgroup_host_free(host);
}

TEST(a_group_made_ahead_is_taken_once_with_the_limits_of_its_taker)
{
    struct cgroup_host *host = open_host();
    struct cgroup_limits few = {.memory_bytes = 48 * MB, .processes = 3};
    cleanup_free char *path = strdup(cgroup_host_path(host));
    struct cgroup *group;

    assert_null(cgroup_take(host, &few));
    cgroup_prepare(host, "a", &roomy);
    cgroup_prepare(host, "b", &roomy); /* there is one */
    assert_int_equal(count_groups(host, "a"), host->n_places);
    assert_int_equal(count_groups(host, "b"), 0);
    group = cgroup_take(host, &few);
    assert_non_null(group);
    assert_null(cgroup_take(host, &few));
    assert_int_equal(inside(group, count_processes_to_the_limit), 3);
    cgroup_kill(group);
    remove_group(group);
    cgroup_prepare(host, "c", &roomy);
    cgroup_host_free(host);
    assert_int_equal(access(path, F_OK), -1);
}

static int burn(void)
{
    struct timespec used = {0};

    while (used.tv_sec == 0 && used.tv_nsec < 100000000)
        child_need(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0);
    return 0;
}

TEST(cpu_time_is_counted)
{
    struct cgroup_host *host = open_host();
    struct cgroup *group = new_group(host, "a", &roomy);

    assert_int_equal(inside(group, burn), 0);
    assert_in_range(usage_of(group).cpu_ns, 90000000, 10000000000);
    remove_group(group);
    cgroup_host_free(host);
}

TEST(the_cpu_share_is_set_and_taken_back)
{
    struct cgroup_host *host = open_host();
    struct cgroup_limits limits = roomy;
    const char *file = host->kind == CGROUP_V1 ? "a/cpu.cfs_quota_us" : "a/cpu.max";
    struct cgroup *group;
    char text[64];

    limits.cpu_percent = 150;
    group = new_group(host, "a", &limits);
    assert_true(file_read(cgroup_place_fd(host, CGROUP_CPU), file, text, sizeof(text)) > 0);
    assert_string_equal(text, host->kind == CGROUP_V1 ? "150000" : "150000 100000");
    limits.cpu_percent = 0;
    assert_int_equal(cgroup_set_limits(group, &limits, NULL), 0);
    assert_true(file_read(cgroup_place_fd(host, CGROUP_CPU), file, text, sizeof(text)) > 0);
    assert_string_equal(text, host->kind == CGROUP_V1 ? "-1" : "max 100000");
    assert_int_equal(cgroup_remove(group), 0);
    cgroup_host_free(host);
}

TEST(a_limit_that_cannot_be_set_leaves_no_group)
{
    struct cgroup_host *host = open_host();
    struct cgroup_limits limits = roomy;
    struct cgroup *group = NULL;
    struct error err = {0};

    limits.processes = UINT32_MAX; /* more than there can be */
    assert_true(cgroup_new(host, "a", &limits, &group, &err) < 0);
    assert_null(group);
    assert_error(&err, E_SYSTEM, "a/pids.max");
    assert_int_equal(count_groups(host, "a"), 0);
    cgroup_host_free(host);
}

TEST(kill_reaches_everything_and_then_it_can_be_removed)
{
    struct cgroup_host *host = open_host();
    struct cgroup *group = new_group(host, "a", &roomy);
    pid_t first = settle(group), second = settle(group);

    assert_int_equal(usage_of(group).processes, 2);
    assert_int_equal(cgroup_remove(group), -EBUSY);
    cgroup_kill(group);
    reap(first);
    reap(second);
    remove_group(group);
    assert_int_equal(count_groups(host, "a"), 0);
    cgroup_host_free(host);
}

/* --- entering as pid 1 of a sandbox does: another user, in namespaces of its own --- */

struct stranger {
    int fds[CGROUP_ATTACH_MAX];
    int count;
    int go; /* readable when the ids are mapped */
};

static int enter_as_stranger(void *user)
{
    const struct stranger *stranger = user;
    char byte;

    child_need(read(stranger->go, &byte, 1) == 1);
    child_need(syscall(SYS_setresgid, 1000, 1000, 1000) == 0);
    child_need(syscall(SYS_setresuid, 1000, 1000, 1000) == 0);
    for (int i = 0; i < stranger->count; i++)
        if (write(stranger->fds[i], "0", 1) != 1)
            return errno;
    for (;;)
        (void)pause();
}

static void map_ids(pid_t pid)
{
    char path[64];
    char map[64];

    (void)snprintf(path, sizeof(path), "/proc/%d", pid);
    cleanup_close int proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    (void)snprintf(map, sizeof(map), "1000 %u 1", geteuid() == 0 ? 200000 : geteuid());
    if (geteuid() != 0)
        assert_int_equal(file_write(proc, "setgroups", "deny"), 0);
    assert_int_equal(file_write(proc, "uid_map", map), 0);
    (void)snprintf(map, sizeof(map), "1000 %u 1", getegid() == 0 ? 200000 : getegid());
    assert_int_equal(file_write(proc, "gid_map", map), 0);
}

TEST(another_user_in_namespaces_can_enter)
{
    struct cgroup_host *host = open_host();
    struct cgroup *group = new_group(host, "a", &roomy);
    struct stranger stranger = {0};
    static char stack[65536] __attribute__((aligned(16)));
    int go[2];
    pid_t pid;

    stranger.count = cgroup_attach_fds(group, stranger.fds, NULL);
    assert_int_equal(stranger.count, host->n_places);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    stranger.go = go[0];
    pid = clone(enter_as_stranger, stack + sizeof(stack),
                CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, &stranger);
    assert_true(pid > 0);
    map_ids(pid);
    assert_int_equal(write(go[1], "g", 1), 1);

    wait_until(waitpid(pid, NULL, WNOHANG) != 0 || usage_of(group).processes == 1);
    assert_int_equal(usage_of(group).processes, 1);
    for (size_t i = 0; i < host->n_places; i++) {
        char expected[32], procs[64];

        (void)snprintf(expected, sizeof(expected), "%d", pid);
        wait_until(file_read(host->places[i].fd, "a/cgroup.procs", procs, sizeof(procs)) > 0);
        assert_string_equal(procs, expected);
    }
    for (int i = 0; i < stranger.count; i++)
        close(stranger.fds[i]);
    close(go[0]);
    close(go[1]);
    cgroup_kill(group);
    reap(pid);
    remove_group(group);
    cgroup_host_free(host);
}

/* --- failures --- */

struct fault {
    unsigned call;
    unsigned error;
};

static int open_with_fault(const void *user)
{
    const struct fault *fault = user;
    struct cgroup_host *host = NULL;
    int kind;

    deny_call(fault->call, fault->error);
    child_need(cgroup_host_open(&host, NULL) == 0);
    kind = cgroup_host_kind(host);
    if (kind == CGROUP_NONE && !cgroup_host_reason(host))
        return 100;
    cgroup_host_free(host);
    return kind;
}

TEST(a_host_that_may_not_make_groups_has_none)
{
    struct fault faults[] = {{SYS_mkdir, EACCES}, {SYS_mkdir, EROFS}, {SYS_mkdir, ENOSPC}};

    for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
        assert_int_equal(in_child(open_with_fault, &faults[i]), CGROUP_NONE);
}

static int open_without_clone(const void *user)
{
    struct cgroup_host *host = NULL;
    struct error err = {0};

    (void)user;
    deny_call(SYS_clone, EAGAIN);
    if (cgroup_host_open(&host, &err) == 0)
        return 1;
    return host == NULL && err.errnum == EAGAIN && strstr(err.message, "janitor") ? 0 : 2;
}

TEST(a_host_without_janitor_is_an_error_and_leaves_nothing)
{
    struct cgroup_host *host = open_host();
    size_t before = count_places(host, "belljar-");

    assert_int_equal(in_child(open_without_clone, NULL), 0);
    assert_int_equal(count_places(host, "belljar-"), before);
    cgroup_host_free(host);
}

static int new_with_fault(const void *user)
{
    const struct fault *fault = user;
    struct cgroup_host *host = open_host();
    struct cgroup *group = NULL;
    struct error err = {0};

    deny_call(fault->call, fault->error);
    if (cgroup_new(host, "a", &roomy, &group, &err) == 0)
        return 1;
    if (group || !err.message)
        return 2;
    return (int)count_groups(host, "a");
}

TEST(a_group_that_cannot_be_made_is_an_error_and_leaves_nothing)
{
    struct fault faults[] = {{SYS_mkdirat, ENOSPC}, {SYS_openat, EMFILE}, {SYS_write, ENOMEM}};

    cgroup_host_free(open_host());
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
        assert_int_equal(in_child(new_with_fault, &faults[i]), 0);
}

/* --- none --- */

static size_t open_counters(const struct cgroup_host *host)
{
    size_t count = 0;

    for (size_t i = 0; i < CGROUP_COUNTERS; i++)
        count += host->counters[i].group != NULL;
    return count;
}

/* Their files stay open between reads, within a bound, and no longer than the group is there. */
TEST(counters_of_many_groups_are_their_own_and_fresh)
{
    struct cgroup_host *host = open_host();
    struct cgroup *groups[40];
    pid_t pids[40];
    char name[8];

    for (int i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof(name), "g%d", i);
        groups[i] = new_group(host, name, &roomy);
        assert_int_equal(usage_of(groups[i]).processes, 0);
    }
    for (int i = 0; i < 40; i += 2)
        pids[i] = settle(groups[i]);
    for (int i = 0; i < 40; i++)
        assert_int_equal(usage_of(groups[i]).processes, i % 2 == 0);
    assert_in_range(open_counters(host), 1, CGROUP_COUNTERS);
    for (int i = 0; i < 40; i++) {
        cgroup_kill(groups[i]);
        if (i % 2 == 0)
            reap(pids[i]);
        remove_group(groups[i]);
    }
    assert_int_equal(open_counters(host), 0);
    cgroup_host_free(host);
}

TEST(without_cgroups_everything_succeeds_and_counts_nothing)
{
    struct cgroup_host *host = NULL;
    struct cgroup *group = NULL;
    struct cgroup_usage usage = {.oom_kills = 7};
    int fds[CGROUP_ATTACH_MAX];

    assert_int_equal(cgroup_host_open_at("/nowhere", &host, NULL), 0);
    assert_int_equal(cgroup_host_kind(host), CGROUP_NONE);
    assert_contains(cgroup_host_reason(host), "mount");
    assert_null(cgroup_host_path(host));
    assert_int_equal(host->janitor, 0);
    assert_int_equal(cgroup_new(host, "a", &roomy, &group, NULL), 0);
    assert_int_equal(cgroup_set_limits(group, &roomy, NULL), 0);
    assert_int_equal(cgroup_attach_fds(group, fds, NULL), 0);
    assert_int_equal(cgroup_read(group, CGROUP_EVERYTHING, &usage, NULL), 0);
    assert_int_equal(usage.oom_kills, 0);
    cgroup_kill(group);
    assert_int_equal(cgroup_remove(group), 0);
    cgroup_host_free(host);
}

int main(void)
{
    prepare_cgroup_tests();
    return unit_run(NULL, NULL);
}
