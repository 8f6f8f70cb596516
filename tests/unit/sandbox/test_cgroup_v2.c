/* cgroup v2, and mount tables of other hosts than this one, on a tree of ordinary files. The linker
 * puts the functions below between the code and the files: a new directory gets its control files,
 * as the kernel would give it, and what is written is put down in order. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "sandbox/cgroup_internal.h"
#include "unit.h"

static char tree[] = "/tmp/test-cgroup-v2-XXXXXX";
static char written[8192]; /* "path=text;" relative to the tree */

static const char *at(const char *path)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *full = paths[next++ % 4];

    (void)snprintf(full, PATH_MAX, "%s/%s", tree, path);
    return full;
}

static void put(const char *path, const char *text)
{
    cleanup_close int fd = open(at(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* --- in between --- */

int __real_mkdirat(int dirfd, const char *path, mode_t mode);
int __wrap_mkdirat(int dirfd, const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __real_unlinkat(int dirfd, const char *path, int flags);
int __wrap_unlinkat(int dirfd, const char *path, int flags);
int __wrap_rmdir(const char *path);
int __wrap_file_write(int dirfd, const char *path, const char *text);

static const char *const control_files[][2] = {
    {"cgroup.type", "domain"},
    {"cgroup.procs", ""},
    {"cgroup.controllers", "cpuset cpu io memory hugetlb pids"},
    {"cgroup.subtree_control", ""},
    {"cgroup.kill", ""},
    {"cgroup.freeze", "0"},
    {"memory.max", "max"},
    {"memory.swap.max", "max"},
    {"memory.oom.group", "0"},
    {"memory.current", "1000"},
    {"memory.events", "low 0\nmax 3\noom 2\noom_kill 1\n"},
    {"pids.max", "max"},
    {"pids.current", "3"},
    {"cpu.max", "max 100000"},
    {"cpu.stat", "usage_usec 2500\nuser_usec 2000\n"},
};

static void fill(int dirfd)
{
    for (size_t i = 0; i < ARRAY_SIZE(control_files); i++) {
        const char *text = control_files[i][1];
        cleanup_close int fd =
            openat(dirfd, control_files[i][0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    }
}

int __wrap_mkdirat(int dirfd, const char *path, mode_t mode)
{
    cleanup_close int fd = -1;

    if (__real_mkdirat(dirfd, path, mode) < 0)
        return -1;
    fd = openat(dirfd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    fill(fd);
    return 0;
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    return __wrap_mkdirat(AT_FDCWD, path, mode);
}

/* As in cgroupfs, a directory without directories can be removed whatever files it shows. */
int __wrap_unlinkat(int dirfd, const char *path, int flags)
{
    cleanup_close int fd = openat(dirfd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    for (size_t i = 0; fd >= 0 && i < ARRAY_SIZE(control_files); i++)
        (void)__real_unlinkat(fd, control_files[i][0], 0);
    return __real_unlinkat(dirfd, path, flags);
}

int __wrap_rmdir(const char *path)
{
    return __wrap_unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

int __wrap_file_write(int dirfd, const char *path, const char *text)
{
    cleanup_close int fd = openat(dirfd, path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    char link[64], full[PATH_MAX];
    size_t len = strlen(written);
    ssize_t n;

    if (fd < 0)
        return -errno;
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, full, sizeof(full) - 1);
    assert_true(n > 0);
    full[n] = '\0';
    assert_int_equal(strncmp(full, tree, strlen(tree)), 0);
    (void)snprintf(written + len, sizeof(written) - len, "%s=%s;", full + strlen(tree) + 1, text);
    return write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -EIO;
}

/* --- a host --- */

static void group(const char *path, const char *procs, const char *gives)
{
    char file[PATH_MAX];
    cleanup_close int fd = -1;

    assert_int_equal(__real_mkdirat(AT_FDCWD, at(path), 0755), 0);
    fd = open(at(path), O_PATH | O_DIRECTORY | O_CLOEXEC);
    fill(fd);
    (void)snprintf(file, sizeof(file), "%s/cgroup.procs", path);
    put(file, procs);
    (void)snprintf(file, sizeof(file), "%s/cgroup.subtree_control", path);
    put(file, gives);
}

static const char *self(void)
{
    static char pid[16];

    (void)snprintf(pid, sizeof(pid), "%d\n", getpid());
    return pid;
}

/* Writes the groups of this process, and a v2 hierarchy at cg/. */
static void proc(const char *mounts, const char *groups)
{
    put("proc/mountinfo", mounts);
    put("proc/cgroup", groups);
}

static void unified_at(const char *own)
{
    char mounts[PATH_MAX + 200], groups[PATH_MAX];

    (void)snprintf(
        mounts, sizeof(mounts),
        "20 1 0:20 / / rw shared:1 - ext4 /dev/vda rw\n"
        "31 20 0:28 / %s/cg rw,nosuid shared:9 master:2 - cgroup2 cgroup2 rw,nsdelegate\n",
        tree);
    (void)snprintf(groups, sizeof(groups), "0::%s\n", own);
    proc(mounts, groups);
}

static void remove_all(int dirfd, const char *name)
{
    cleanup_close int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup_closedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (entry->d_type == DT_DIR)
            remove_all(fd, entry->d_name);
        else
            (void)__real_unlinkat(fd, entry->d_name, 0);
    }
    fd = -1; /* the stream's */
    (void)__real_unlinkat(dirfd, name, AT_REMOVEDIR);
}

static int set_up(void **state)
{
    (void)state;
    memcpy(tree + sizeof(tree) - 7, "XXXXXX", 6);
    assert_non_null(mkdtemp(tree));
    assert_int_equal(__real_mkdirat(AT_FDCWD, at("proc"), 0755), 0);
    written[0] = '\0';
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove_all(AT_FDCWD, tree);
    return access(tree, F_OK) < 0 ? 0 : -1;
}

static struct cgroup_host *open_host(void)
{
    struct cgroup_host *host = NULL;
    struct error err = {0};

    if (cgroup_host_open_at(at("proc"), &host, &err) < 0)
        fail_msg("%s", err.message);
    return host;
}

static void assert_parent(const struct cgroup_host *host, const char *path)
{
    char expected[PATH_MAX];

    if (cgroup_host_kind(host) != CGROUP_V2)
        fail_msg("no cgroups: %s", cgroup_host_reason(host));
    (void)snprintf(expected, sizeof(expected), "%s/%s/%s", tree, path, host->name);
    assert_string_equal(cgroup_host_path(host), expected);
}

/* In this order, with anything between. "@" is the name of our directory. */
static void assert_written(const struct cgroup_host *host, const char *const *parts)
{
    const char *from = written;

    for (; *parts; parts++) {
        char part[PATH_MAX] = "";
        const char *mark = strchr(*parts, '@');

        (void)snprintf(part, sizeof(part), "%.*s%s%s;", mark ? (int)(mark - *parts) : PATH_MAX,
                       *parts, mark ? host->name : "", mark ? mark + 1 : "");
        from = strstr(from, part);
        if (!from)
            fail_msg("`%s` is not written, or not in this order: %s", part, written);
        from += strlen(part);
    }
}

#define WRITTEN(host, ...) assert_written(host, (const char *const[]){__VA_ARGS__, NULL})

/* --- where our directory goes --- */

TEST_WITH(at_the_root_groups_are_made_beside_processes, set_up, tear_down)
{
    struct cgroup_host *host;

    group("cg", "1\n2\n", "");
    assert_int_equal(unlink(at("cg/cgroup.type")), 0); /* what makes it the root */
    unified_at("/");
    host = open_host();
    assert_parent(host, "cg");
    WRITTEN(host, "cg/cgroup.subtree_control=+memory", "cg/cgroup.subtree_control=+pids",
            "cg/cgroup.subtree_control=+cpu", "cg/@/cgroup.subtree_control=+memory",
            "cg/@/cgroup.subtree_control=+pids", "cg/@/cgroup.subtree_control=+cpu",
            "cg/@/memory.swap.max=0");
    assert_null(strstr(written, CGROUP_LEAF));
    cgroup_host_free(host);
}

TEST_WITH(a_delegated_group_of_our_own_is_divided, set_up, tear_down)
{
    struct cgroup_host *host;
    char path[PATH_MAX];

    group("cg", "", "cpu memory pids");
    group("cg/app.service", self(), "");
    unified_at("/app.service");
    host = open_host();
    assert_parent(host, "cg/app.service");
    WRITTEN(host, "cg/app.service/@/supervisor/cgroup.procs=0",
            "cg/app.service/cgroup.subtree_control=+memory",
            "cg/app.service/@/cgroup.subtree_control=+pids");

    written[0] = '\0';
    (void)snprintf(path, sizeof(path), "%s", cgroup_host_path(host));
    {
        struct cgroup_host name = *host;

        cgroup_host_free(host);
        WRITTEN(&name, "cg/app.service/@/cgroup.subtree_control=-memory",
                "cg/app.service/cgroup.subtree_control=-memory",
                "cg/app.service/cgroup.subtree_control=-cpu", "cg/app.service/cgroup.procs=0");
    }
    assert_int_equal(access(path, F_OK), -1);
}

TEST_WITH(processes_that_we_have_started_come_along, set_up, tear_down)
{
    pid_t child = fork();
    char procs[64], moved[64];
    struct cgroup_host *host;

    if (child == 0) {
        (void)pause();
        _exit(0);
    }
    assert_true(child > 0);
    (void)snprintf(procs, sizeof(procs), "%s%d\n", self(), child);
    group("cg", "", "cpu memory pids");
    group("cg/app.service", procs, "");
    unified_at("/app.service");
    host = open_host();
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_parent(host, "cg/app.service");
    (void)snprintf(moved, sizeof(moved), "/supervisor/cgroup.procs=%d;", child);
    assert_contains(written, moved);
    WRITTEN(host, "cg/app.service/@/supervisor/cgroup.procs=0",
            "cg/app.service/cgroup.subtree_control=+memory");
    cgroup_host_free(host);
}

TEST_WITH(a_group_shared_with_others_is_left_alone, set_up, tear_down)
{
    char procs[64];
    struct cgroup_host *host;

    (void)snprintf(procs, sizeof(procs), "1\n%s", self());
    group("cg", "", "");
    group("cg/user.slice", "", "cpu io memory pids");
    group("cg/user.slice/session-1.scope", procs, "");
    unified_at("/user.slice/session-1.scope");
    host = open_host();
    assert_parent(host, "cg/user.slice");
    assert_null(strstr(written, "session-1.scope"));
    assert_null(strstr(written, "cg/user.slice/cgroup.subtree_control"));
    cgroup_host_free(host);
}

TEST_WITH(where_nothing_can_be_divided_there_is_none, set_up, tear_down)
{
    char procs[64];
    struct cgroup_host *host;

    (void)snprintf(procs, sizeof(procs), "1\n%s", self());
    group("cg", "", "memoryless pids");
    group("cg/box", procs, "");
    unified_at("/box");
    host = open_host();
    assert_int_equal(cgroup_host_kind(host), CGROUP_NONE);
    assert_contains(cgroup_host_reason(host), "cg/box");
    assert_contains(cgroup_host_reason(host), "systemd-run");
    assert_string_equal(written, "");
    cgroup_host_free(host);
}

TEST_WITH(without_the_cpu_controller_only_a_share_is_refused, set_up, tear_down)
{
    struct cgroup_limits limits = {.memory_bytes = 1 << 20, .processes = 4};
    struct cgroup_host *host;
    struct cgroup *made = NULL;
    struct error err = {0};

    group("cg", "", "memory pids");
    group("cg/app", self(), "");
    put("cg/app/cgroup.controllers", "memory pids");
    unified_at("/app");
    host = open_host();
    assert_parent(host, "cg/app");
    assert_null(strstr(written, "+cpu"));
    assert_int_equal(cgroup_new(host, "a", &limits, &made, NULL), 0);
    limits.cpu_percent = 50;
    assert_true(cgroup_set_limits(made, &limits, &err) < 0);
    assert_error(&err, E_UNSUPPORTED, "cpu.max");
    assert_int_equal(cgroup_remove(made), 0);
    cgroup_host_free(host);
}

/* --- one group --- */

static struct cgroup_host *simple_host(void)
{
    group("cg", "", "cpu memory pids");
    group("cg/app", self(), "");
    unified_at("/app");
    return open_host();
}

TEST_WITH(limits_are_written_once_and_then_as_they_change, set_up, tear_down)
{
    struct cgroup_limits limits = {.memory_bytes = 64 << 20, .processes = 4, .cpu_percent = 50};
    struct cgroup_host *host = simple_host();
    struct cgroup *made = NULL;

    written[0] = '\0';
    assert_int_equal(cgroup_new(host, "a", &limits, &made, NULL), 0);
    WRITTEN(host, "cg/app/@/a/memory.max=67108864", "cg/app/@/a/memory.oom.group=1",
            "cg/app/@/a/pids.max=4", "cg/app/@/a/cpu.max=50000 100000");
    written[0] = '\0';
    assert_int_equal(cgroup_set_limits(made, &limits, NULL), 0);
    assert_string_equal(written, "");
    limits.cpu_percent = 0;
    limits.processes = 5;
    assert_int_equal(cgroup_set_limits(made, &limits, NULL), 0);
    WRITTEN(host, "cg/app/@/a/pids.max=5", "cg/app/@/a/cpu.max=max 100000");
    assert_null(strstr(written, "memory"));
    assert_int_equal(cgroup_remove(made), 0);
    cgroup_host_free(host);
}

static void group_put(const struct cgroup_host *host, const char *file, const char *text)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "cg/app/%s/a/%s", host->name, file);
    put(path, text);
}

TEST_WITH(usage_is_read_with_and_without_a_peak, set_up, tear_down)
{
    struct cgroup_limits limits = {.memory_bytes = 64 << 20, .processes = 4};
    struct cgroup_host *host = simple_host();
    struct cgroup *made = NULL;
    struct cgroup_usage usage;

    assert_int_equal(cgroup_new(host, "a", &limits, &made, NULL), 0);
    group_put(host, "memory.current", "9000\n");
    assert_int_equal(cgroup_read(made, CGROUP_EVERYTHING, &usage, NULL), 0);
    assert_int_equal(usage.memory_bytes, 9000);
    group_put(host, "memory.current", "5000\n");
    assert_int_equal(cgroup_read(made, CGROUP_EVERYTHING, &usage, NULL), 0);
    assert_int_equal(usage.memory_bytes, 5000);
    assert_int_equal(usage.memory_peak_bytes, 9000); /* the highest sample */
    assert_int_equal(usage.oom_kills, 1);
    assert_int_equal(usage.processes, 3);
    assert_int_equal(usage.processes_peak, 0);
    assert_int_equal(usage.cpu_ns, 2500000);

    group_put(host, "memory.peak", "12000\n");
    group_put(host, "pids.peak", "7\n");
    assert_int_equal(cgroup_read(made, CGROUP_EVERYTHING, &usage, NULL), 0);
    assert_int_equal(usage.memory_peak_bytes, 12000);
    assert_int_equal(usage.processes_peak, 7);
    (void)unlinkat(host->places[0].fd, "a/memory.peak", 0);
    (void)unlinkat(host->places[0].fd, "a/pids.peak", 0);
    assert_int_equal(cgroup_remove(made), 0);
    cgroup_host_free(host);
}

TEST_WITH(a_group_is_killed_by_one_write, set_up, tear_down)
{
    struct cgroup_limits limits = {.memory_bytes = 64 << 20, .processes = 4};
    struct cgroup_host *host = simple_host();
    struct cgroup *made = NULL;
    int fds[CGROUP_ATTACH_MAX];

    assert_int_equal(cgroup_new(host, "a", &limits, &made, NULL), 0);
    assert_int_equal(cgroup_attach_fds(made, fds, NULL), 1);
    close(fds[0]);
    written[0] = '\0';
    cgroup_kill(made);
    WRITTEN(host, "cg/app/@/a/cgroup.kill=1");
    assert_null(strstr(written, "pids.max"));
    assert_int_equal(cgroup_remove(made), 0);
    cgroup_host_free(host);
}

/* --- mount tables --- */

TEST_WITH(a_group_is_frozen_by_the_kernel, set_up, tear_down)
{
    struct cgroup_host *host = simple_host();
    struct cgroup *group = NULL;
    struct cgroup_limits limits = {.memory_bytes = 1 << 20, .processes = 5};
    bool is_quiet = false;

    assert_int_equal(cgroup_new(host, "a", &limits, &group, NULL), 0);
    written[0] = '\0';
    assert_int_equal(cgroup_freeze(group, 1, &is_quiet, NULL), 0);
    assert_true(is_quiet);
    WRITTEN(host, "cg/app/@/a/cgroup.freeze=1");
    written[0] = '\0';
    assert_int_equal(cgroup_thaw(group, 1, NULL), 0);
    WRITTEN(host, "cg/app/@/a/cgroup.freeze=0");
    assert_int_equal(cgroup_remove(group), 0);
    cgroup_host_free(host);
}

static struct cgroup_host *probe(const char *mounts, const char *groups)
{
    struct cgroup_host *host = calloc(1, sizeof(*host));

    assert_non_null(host);
    proc(mounts, groups);
    assert_int_equal(cgroup_probe(at("proc"), host, NULL), 0);
    return host;
}

static void free_probe(struct cgroup_host *host)
{
    for (size_t i = 0; i < host->n_places; i++) {
        free(host->places[i].mount);
        free(host->places[i].own);
    }
    free(host->reason);
    free(host);
}

TEST_WITH(controllers_mounted_together_are_one_place, set_up, tear_down)
{
    struct cgroup_host *host =
        probe("30 1 0:30 / /cg/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
              "31 1 0:31 / /cg/with\\040space rw,nosuid - cgroup cgroup rw,memory\n"
              "32 1 0:32 / /cg/pids rw shared:7 - cgroup cgroup rw,pids\n"
              "33 1 0:31 / /again/memory rw - cgroup cgroup rw,memory\n"
              "34 1 0:34 / /cg/systemd rw - cgroup cgroup rw,xattr,name=systemd\n",
              "5:pids:/a/b\n4:memory:/\n3:cpu,cpuacct:/c\n1:name=systemd:/x\n");

    assert_int_equal(host->kind, CGROUP_V1);
    assert_int_equal(host->n_places, 3);
    assert_string_equal(host->places[0].own, "/cg/cpu,cpuacct/c");
    assert_int_equal(host->places[0].controllers,
                     CGROUP_BIT(CGROUP_CPU) | CGROUP_BIT(CGROUP_CPUACCT));
    assert_string_equal(host->places[1].own, "/cg/with space");
    assert_string_equal(host->places[2].own, "/cg/pids/a/b");
    free_probe(host);
}

TEST_WITH(a_mount_that_shows_a_part_is_understood, set_up, tear_down)
{
    struct cgroup_host *host = probe("30 1 0:30 /docker/x /cg/memory rw - cgroup cgroup rw,memory\n"
                                     "31 1 0:31 /docker/x /cg/pids rw - cgroup cgroup rw,pids\n",
                                     "2:memory:/docker/x/in\n1:pids:/docker/xy\n");

    assert_int_equal(host->kind, CGROUP_V1);
    assert_string_equal(host->places[0].own, "/cg/memory/in");
    /* Not below what the mount shows, though it begins alike. */
    assert_string_equal(host->places[1].own, "/cg/pids");
    free_probe(host);
}

TEST_WITH(a_unified_mount_without_controllers_loses_to_v1, set_up, tear_down)
{
    char mounts[PATH_MAX + 400];
    struct cgroup_host *host;

    group("cg", "", "");
    put("cg/cgroup.controllers", "hugetlb");
    (void)snprintf(mounts, sizeof(mounts),
                   "29 1 0:29 / %s/cg rw - cgroup2 cgroup2 rw\n"
                   "30 1 0:30 / /cg/memory rw - cgroup cgroup rw,memory\n"
                   "31 1 0:31 / /cg/pids rw - cgroup cgroup rw,pids\n",
                   tree);
    host = probe(mounts, "2:memory:/\n1:pids:/\n0::/\n");
    assert_int_equal(host->kind, CGROUP_V1);
    assert_int_equal(host->n_places, 2);
    free_probe(host);

    put("cg/cgroup.controllers", "memory pids");
    host = probe(mounts, "2:memory:/\n1:pids:/\n0::/\n");
    assert_int_equal(host->kind, CGROUP_V2);
    assert_int_equal(host->n_places, 1);
    free_probe(host);
}

TEST_WITH(a_table_that_says_nothing_useful_means_none, set_up, tear_down)
{
    static const char *const tables[] = {
        "",
        "\n\n",
        "garbage",
        "1 2 3 - ",
        "1 2 3 / /x rw - cgroup",
        "1 2 3 / /x rw - cgroup c rw,memory",
        "30 1 0:30 / /cg rw - cgroup cgroup rw,memory\n31 1 0:31 / /cg rw - tmpfs tmpfs rw\n",
    };

    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        struct cgroup_host *host = probe(tables[i], "no colons\n2:memory\n:\n::\n");

        assert_int_equal(host->kind, CGROUP_NONE);
        assert_non_null(cgroup_host_reason(host));
        free_probe(host);
    }
}

UNIT_MAIN()
