/* On the host's own cgroups, v1 or v2, whichever cgroup_host_open() finds. What needs another tree
 * than the host's is in test_cgroup_v2.c. */
#include "sandbox/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "child.h"
#include "sandbox/cgroup_internal.h"

#define MB ((uint64_t)1024 * 1024)

/* Whoever runs this must see which step hangs, if one does. */
#define TEST_TIMEOUT_S 120

static const struct cgroup_limits roomy = {.memory_bytes = 256 * MB, .processes = 32};

/* --- the host --- */

static struct cgroup_host *open_host(void)
{
    struct cgroup_host *host = NULL;
    struct error err = {0};

    if (cgroup_host_open(&host, &err) < 0)
        fail_msg("%s", err.message);
    if (cgroup_host_kind(host) == CGROUP_NONE) {
        if (strstr(cgroup_host_reason(host), "in use"))
            fail_msg("an earlier test left its host: %s", cgroup_host_reason(host));
        print_message("# skipped: no cgroups here: %s\n", cgroup_host_reason(host));
        cgroup_host_free(host);
        skip();
    }
    return host;
}

static struct cgroup *new_group(struct cgroup_host *host, const char *name,
                                const struct cgroup_limits *limits)
{
    struct cgroup *group = NULL;
    struct error err = {0};

    if (cgroup_new(host, name, limits, &group, &err) < 0)
        fail_msg("%s", err.message);
    return group;
}

static struct cgroup_usage usage_of(struct cgroup *group)
{
    struct cgroup_usage usage = {0};
    struct error err = {0};

    if (cgroup_read(group, &usage, &err) < 0)
        fail_msg("%s", err.message);
    return usage;
}

/* Directories of a name that begins like this in any place of this host. */
static size_t count_places(const struct cgroup_host *host, const char *prefix)
{
    size_t count = 0;

    for (size_t i = 0; i < host->n_places; i++) {
        cleanup_closedir DIR *dir = opendir(host->places[i].parent);
        struct dirent *entry;

        assert_non_null(dir);
        while ((entry = readdir(dir)))
            count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    }
    return count;
}

static size_t count_groups(const struct cgroup_host *host, const char *name)
{
    size_t count = 0;

    for (size_t i = 0; i < host->n_places; i++)
        count += faccessat(host->places[i].fd, name, F_OK, 0) == 0;
    return count;
}

/* Waits for something another process does; the bound only keeps a broken test from hanging. */
#define wait_until(condition)                                                                      \
    do {                                                                                           \
        for (int tries_ = 0; !(condition); tries_++) {                                             \
            if (tries_ == 2000)                                                                    \
                fail_msg("waited in vain: %s", #condition);                                        \
            (void)poll(NULL, 0, 5);                                                                \
        }                                                                                          \
    } while (0)

/* --- processes inside --- */

static int enter(const struct cgroup *group)
{
    int fds[CGROUP_ATTACH_MAX];
    int count = cgroup_attach_fds(group, fds, NULL);

    child_need(count > 0);
    for (int i = 0; i < count; i++) {
        child_need(write(fds[i], "0", 1) == 1);
        close(fds[i]);
    }
    return count;
}

struct job {
    struct cgroup *group;
    int (*run)(void);
};

static int run_inside(const void *user)
{
    const struct job *job = user;

    enter(job->group);
    return job->run();
}

static int inside(struct cgroup *group, int (*run)(void))
{
    struct job job = {group, run};

    return in_child(run_inside, &job);
}

/* A process that sits in the group until it is killed. */
static pid_t settle(struct cgroup *group)
{
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        enter(group);
        child_need(write(ready[1], "r", 1) == 1);
        for (;;)
            (void)pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void reap(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Counts down to 0 once everything is dead and reaped; orphans come to us, see main(). */
static bool is_empty(struct cgroup *group)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    return usage_of(group).processes == 0;
}

static void remove_group(struct cgroup *group)
{
    wait_until(is_empty(group));
    assert_int_equal(cgroup_remove(group), 0);
}

/* --- tests --- */

static void the_host_tells_what_it_uses(void **state)
{
    struct cgroup_host *host = open_host();
    struct stat st;

    (void)state;
    assert_null(cgroup_host_reason(host));
    assert_int_equal(stat(cgroup_host_path(host), &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_contains(cgroup_host_path(host), "belljar-");
    cgroup_host_free(host);
}

static void nothing_remains_of_a_host(void **state)
{
    struct cgroup_host *host = open_host();
    cleanup_free char *path = strdup(cgroup_host_path(host));
    pid_t janitor = host->janitor;
    struct cgroup *left = new_group(host, "left", &roomy);

    (void)state;
    cgroup_host_free(host);
    free(left);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(kill(janitor, 0), -1);
    assert_int_equal(errno, ESRCH);
    host = open_host();
    assert_int_equal(count_places(host, host->name), host->n_places);
    cgroup_host_free(host);
}

static void a_second_host_in_one_process_has_none(void **state)
{
    struct cgroup_host *host = open_host(), *second = NULL;
    struct cgroup *group = new_group(host, "a", &roomy);

    (void)state;
    assert_int_equal(cgroup_host_open(&second, NULL), 0);
    assert_int_equal(cgroup_host_kind(second), CGROUP_NONE);
    assert_contains(cgroup_host_reason(second), "in use");
    cgroup_host_free(second);
    assert_int_equal(count_groups(host, "a"), host->n_places);
    assert_int_equal(cgroup_remove(group), 0);
    cgroup_host_free(host);
}

static void a_group_is_made_and_removed_everywhere(void **state)
{
    struct cgroup_host *host = open_host();
    struct cgroup *group = new_group(host, "a", &roomy);

    (void)state;
    assert_int_equal(count_groups(host, "a"), host->n_places);
    assert_int_equal(cgroup_remove(group), 0);
    assert_int_equal(count_groups(host, "a"), 0);
    cgroup_host_free(host);
}

static void a_name_that_exists_or_leads_away_is_refused(void **state)
{
    static const char *const names[] = {"", ".", "..", "a/b", "supervisor", "a"};
    struct cgroup_host *host = open_host();
    struct cgroup *group = new_group(host, "a", &roomy), *other = NULL;

    (void)state;
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

static void processes_are_limited_and_counted(void **state)
{
    struct cgroup_host *host = open_host();
    struct cgroup_limits limits = {.memory_bytes = 64 * MB, .processes = 5};
    struct cgroup *group = new_group(host, "a", &limits);
    struct cgroup_usage usage;

    (void)state;
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

static void memory_beyond_the_limit_is_a_counted_kill(void **state)
{
    struct cgroup_host *host = open_host();
    struct cgroup_limits limits = {.memory_bytes = 48 * MB, .processes = 5};
    struct cgroup *group = new_group(host, "a", &limits);
    struct cgroup_usage usage;

    (void)state;
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

static void memory_of_files_counts(void **state)
{
    struct cgroup_host *host = open_host();
    struct cgroup_limits limits = {.memory_bytes = 48 * MB, .processes = 5};
    struct cgroup *group = new_group(host, "a", &limits);

    (void)state;
    assert_int_not_equal(inside(group, fill_a_memfd), 0);
    assert_in_range(usage_of(group).memory_peak_bytes, 40 * MB, 48 * MB);
    remove_group(group);
    cgroup_host_free(host);
}

static void limits_can_be_raised_and_lowered(void **state)
{
    struct cgroup_host *host = open_host();
    struct cgroup_limits limits = {.memory_bytes = 48 * MB, .processes = 5};
    struct cgroup *group = new_group(host, "a", &limits);

    (void)state;
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

static int burn(void)
{
    struct timespec used = {0};

    while (used.tv_sec == 0 && used.tv_nsec < 100000000)
        child_need(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0);
    return 0;
}

static void cpu_time_is_counted(void **state)
{
    struct cgroup_host *host = open_host();
    struct cgroup *group = new_group(host, "a", &roomy);

    (void)state;
    assert_int_equal(inside(group, burn), 0);
    assert_in_range(usage_of(group).cpu_ns, 90000000, 10000000000);
    remove_group(group);
    cgroup_host_free(host);
}

static void the_cpu_share_is_set_and_taken_back(void **state)
{
    struct cgroup_host *host = open_host();
    struct cgroup_limits limits = roomy;
    const char *file = host->kind == CGROUP_V1 ? "a/cpu.cfs_quota_us" : "a/cpu.max";
    struct cgroup *group;
    char text[64];

    (void)state;
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

static void a_limit_that_cannot_be_set_leaves_no_group(void **state)
{
    struct cgroup_host *host = open_host();
    struct cgroup_limits limits = roomy;
    struct cgroup *group = NULL;
    struct error err = {0};

    (void)state;
    limits.processes = UINT32_MAX; /* more than there can be */
    assert_true(cgroup_new(host, "a", &limits, &group, &err) < 0);
    assert_null(group);
    assert_error(&err, E_SYSTEM, "a/pids.max");
    assert_int_equal(count_groups(host, "a"), 0);
    cgroup_host_free(host);
}

static void kill_reaches_everything_and_then_it_can_be_removed(void **state)
{
    struct cgroup_host *host = open_host();
    struct cgroup *group = new_group(host, "a", &roomy);
    pid_t first = settle(group), second = settle(group);

    (void)state;
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

static void another_user_in_namespaces_can_enter(void **state)
{
    struct cgroup_host *host = open_host();
    struct cgroup *group = new_group(host, "a", &roomy);
    struct stranger stranger = {0};
    static char stack[65536] __attribute__((aligned(16)));
    int go[2];
    pid_t pid;

    (void)state;
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

/* --- the janitor --- */

static size_t count_fds(pid_t pid)
{
    char path[64];
    size_t count = 0;
    struct dirent *entry;

    (void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    cleanup_closedir DIR *dir = opendir(path);
    while (dir && (entry = readdir(dir)))
        count += entry->d_name[0] != '.';
    return count;
}

static void the_janitor_holds_one_descriptor_and_ignores_signals(void **state)
{
    struct cgroup_host *host = open_host();
    char path[64], name[32];

    (void)state;
    wait_until(count_fds(host->janitor) == 1);
    (void)snprintf(path, sizeof(path), "/proc/%d/comm", host->janitor);
    assert_true(file_read(AT_FDCWD, path, name, sizeof(name)) > 0);
    assert_string_equal(name, "belljar-janitor");
    assert_int_equal(getsid(host->janitor), host->janitor);
    assert_int_equal(kill(host->janitor, SIGINT), 0);
    assert_int_equal(kill(host->janitor, SIGTERM), 0);
    assert_int_equal(kill(host->janitor, SIGHUP), 0);
    assert_int_equal(waitpid(host->janitor, NULL, WNOHANG | __WALL), 0);
    /* It is no child that somebody else's wait could find. */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    cgroup_host_free(host);
}

struct victim {
    int report; /* write end: the path of the host and the process inside */
};

struct victim_report {
    char path[512];
    char other[512];
    pid_t inside;
};

static int be_killed(const void *user)
{
    const struct victim *victim = user;
    struct cgroup_host *host = open_host();
    struct cgroup *group = new_group(host, "a", &roomy);
    struct victim_report report = {.inside = settle(group)};
    const struct cgroup_place *last = &host->places[host->n_places - 1];

    (void)new_group(host, "b", &roomy);
    (void)snprintf(report.path, sizeof(report.path), "%s", cgroup_host_path(host));
    (void)snprintf(report.other, sizeof(report.other), "%s/%s", last->parent, host->name);
    child_need(write(victim->report, &report, sizeof(report)) == sizeof(report));
    (void)kill(getpid(), SIGKILL);
    return 1;
}

static void the_janitor_cleans_up_after_a_killed_supervisor(void **state)
{
    struct victim_report report;
    struct victim victim;
    int pipe[2];

    (void)state;
    cgroup_host_free(open_host()); /* skips here where there are no cgroups */
    assert_int_equal(pipe2(pipe, O_CLOEXEC), 0);
    victim.report = pipe[1];
    assert_int_equal(in_child(be_killed, &victim), -SIGKILL);
    assert_int_equal(read(pipe[0], &report, sizeof(report)), sizeof(report));
    close(pipe[0]);
    close(pipe[1]);
    wait_until(access(report.path, F_OK) < 0 && access(report.other, F_OK) < 0);
    wait_until(waitpid(report.inside, NULL, WNOHANG) == report.inside);
    wait_until(waitpid(-1, NULL, __WALL | WNOHANG) < 0); /* the janitor, an orphan too */
}

/* --- what others left --- */

static void directories_of_dead_supervisors_are_removed(void **state)
{
    struct cgroup_host *host = open_host();
    char dead[512], group[544], alive[512];

    (void)state;
    /* Pid 1 lives, but did not start then; the other start time is ours with our parent's pid. */
    (void)snprintf(dead, sizeof(dead), "%s/belljar-1-99999999", host->places[0].parent);
    (void)snprintf(group, sizeof(group), "%s/left", dead);
    (void)snprintf(alive, sizeof(alive), "%s/belljar-alive", host->places[0].parent);
    cgroup_host_free(host);
    assert_int_equal(mkdir(dead, 0755), 0);
    assert_int_equal(mkdir(group, 0755), 0);
    assert_int_equal(mkdir(alive, 0755), 0);
    host = open_host();
    wait_until(access(dead, F_OK) < 0); /* by the janitor, behind our back */
    assert_int_equal(access(alive, F_OK), 0);
    assert_int_equal(rmdir(alive), 0);
    cgroup_host_free(host);
}

static int look_from_another_process(const void *user)
{
    struct cgroup_host *host = open_host();
    int alive = access(user, F_OK) == 0;

    cgroup_host_free(host);
    return alive ? 0 : 1;
}

static void the_directory_of_a_living_supervisor_stays(void **state)
{
    struct cgroup_host *host = open_host();

    (void)state;
    assert_int_equal(in_child(look_from_another_process, cgroup_host_path(host)), 0);
    cgroup_host_free(host);
}

/* A supervisor in another pid namespace: its pid means nothing here, its lock does. */
static void a_locked_directory_stays_whoever_holds_it(void **state)
{
    struct cgroup_host *host = open_host();
    char path[512];
    cleanup_close int fd = -1;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/belljar-1-99999999", host->places[0].parent);
    cgroup_host_free(host);
    assert_int_equal(mkdir(path, 0755), 0);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(syscall(SYS_flock, fd, 2 /* LOCK_EX */), 0);
    assert_int_equal(in_child(look_from_another_process, path), 0);
    assert_int_equal(rmdir(path), 0);
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

static void a_host_that_may_not_make_groups_has_none(void **state)
{
    struct fault faults[] = {
        {SYS_mkdir, EACCES},
        {SYS_mkdir, EROFS },
        {SYS_mkdir, ENOSPC}
    };

    (void)state;
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

static void a_host_without_janitor_is_an_error_and_leaves_nothing(void **state)
{
    struct cgroup_host *host = open_host();
    size_t before = count_places(host, "belljar-");

    (void)state;
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

static void a_group_that_cannot_be_made_is_an_error_and_leaves_nothing(void **state)
{
    struct fault faults[] = {
        {SYS_mkdirat, ENOSPC},
        {SYS_openat,  EMFILE},
        {SYS_write,   ENOMEM}
    };

    (void)state;
    cgroup_host_free(open_host());
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
        assert_int_equal(in_child(new_with_fault, &faults[i]), 0);
}

/* --- none --- */

static void without_cgroups_everything_succeeds_and_counts_nothing(void **state)
{
    struct cgroup_host *host = NULL;
    struct cgroup *group = NULL;
    struct cgroup_usage usage = {.oom_kills = 7};
    int fds[CGROUP_ATTACH_MAX];

    (void)state;
    assert_int_equal(cgroup_host_open_at("/nowhere", &host, NULL), 0);
    assert_int_equal(cgroup_host_kind(host), CGROUP_NONE);
    assert_contains(cgroup_host_reason(host), "mount");
    assert_null(cgroup_host_path(host));
    assert_int_equal(host->janitor, 0);
    assert_int_equal(cgroup_new(host, "a", &roomy, &group, NULL), 0);
    assert_int_equal(cgroup_set_limits(group, &roomy, NULL), 0);
    assert_int_equal(cgroup_attach_fds(group, fds, NULL), 0);
    assert_int_equal(cgroup_read(group, &usage, NULL), 0);
    assert_int_equal(usage.oom_kills, 0);
    cgroup_kill(group);
    assert_int_equal(cgroup_remove(group), 0);
    cgroup_host_free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_tells_what_it_uses),
        cmocka_unit_test(nothing_remains_of_a_host),
        cmocka_unit_test(a_second_host_in_one_process_has_none),
        cmocka_unit_test(a_group_is_made_and_removed_everywhere),
        cmocka_unit_test(a_name_that_exists_or_leads_away_is_refused),
        cmocka_unit_test(processes_are_limited_and_counted),
        cmocka_unit_test(memory_beyond_the_limit_is_a_counted_kill),
        cmocka_unit_test(memory_of_files_counts),
        cmocka_unit_test(limits_can_be_raised_and_lowered),
        cmocka_unit_test(cpu_time_is_counted),
        cmocka_unit_test(the_cpu_share_is_set_and_taken_back),
        cmocka_unit_test(a_limit_that_cannot_be_set_leaves_no_group),
        cmocka_unit_test(kill_reaches_everything_and_then_it_can_be_removed),
        cmocka_unit_test(another_user_in_namespaces_can_enter),
        cmocka_unit_test(the_janitor_holds_one_descriptor_and_ignores_signals),
        cmocka_unit_test(the_janitor_cleans_up_after_a_killed_supervisor),
        cmocka_unit_test(directories_of_dead_supervisors_are_removed),
        cmocka_unit_test(the_directory_of_a_living_supervisor_stays),
        cmocka_unit_test(a_locked_directory_stays_whoever_holds_it),
        cmocka_unit_test(a_host_that_may_not_make_groups_has_none),
        cmocka_unit_test(a_host_without_janitor_is_an_error_and_leaves_nothing),
        cmocka_unit_test(a_group_that_cannot_be_made_is_an_error_and_leaves_nothing),
        cmocka_unit_test(without_cgroups_everything_succeeds_and_counts_nothing),
    };

    (void)alarm(TEST_TIMEOUT_S);
    /* Not every host's init is quick to reap, and a process counts until it is. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    return UNIT_RUN(tests);
}
