/* cgroup v2: one hierarchy, in which a group has either processes or controllers for the groups
 * below it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "sandbox/cgroup_internal.h"

#define PERIOD_US            100000
#define QUOTA_US_PER_PERCENT (PERIOD_US / 100)

/* From a process up to us, before it is somebody else's; and from us to all that we have started.
 */
#define DESCENT_MAX 8
#define MOVE_ROUNDS 8

/* Controllers of the groups below ours. CPU time is counted without a controller. */
static const struct {
    enum cgroup_controller controller;
    const char *enable, *disable;
} given[] = {
    {CGROUP_MEMORY, "+memory", "-memory"},
    {CGROUP_PIDS, "+pids", "-pids"},
    {CGROUP_CPU, "+cpu", "-cpu"},
};

static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = list; (at = strstr(at, word)); at += len)
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
            return true;
    return false;
}

static bool gives_controllers(int dirfd)
{
    char list[256];

    return file_read(dirfd, "cgroup.subtree_control", list, sizeof(list)) >= 0 &&
           has_word(list, "memory") && has_word(list, "pids");
}

/* The root of the whole hierarchy may have processes and controllers; it is the one group without a
 * type. */
static bool is_root(int dirfd)
{
    return faccessat(dirfd, "cgroup.type", F_OK, 0) < 0 && errno == ENOENT;
}

static pid_t parent_of(pid_t pid)
{
    char path[32], text[512];
    const char *name_end;
    int parent;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (file_read(AT_FDCWD, path, text, sizeof(text)) < 0)
        return -1;
    name_end = strrchr(text, ')');
    return name_end && sscanf(name_end + 1, " %*c %d", &parent) == 1 ? parent : -1;
}

/* This process, or one that it or a child of it has started: the zygote is, by the time we look.
 * One that has ended in the meantime is in nobody's way. */
static bool is_ours(pid_t pid)
{
    for (int depth = 0; depth < DESCENT_MAX && pid > 1; depth++) {
        if (pid == getpid())
            return true;
        pid = parent_of(pid);
    }
    return pid < 0;
}

/* A group we could leave for a leaf of ours, so that it has no processes any more. */
static bool holds_only_ours(int dirfd)
{
    cleanup_fclose FILE *list = file_open_stream(dirfd, "cgroup.procs");
    bool has_us = false;
    int pid;

    while (list && fscanf(list, "%d", &pid) == 1) {
        if (!is_ours(pid))
            return false;
        has_us |= pid == getpid();
    }
    return has_us;
}

/* Moving a process needs the right to write here, in the group above both its old and its new one.
 */
static bool may_write(int dirfd)
{
    return faccessat(dirfd, ".", W_OK, AT_EACCESS) == 0 &&
           faccessat(dirfd, "cgroup.procs", W_OK, AT_EACCESS) == 0;
}

int cgroup_v2_choose_parent(struct cgroup_host *host)
{
    struct cgroup_place *place = &host->places[0];
    cleanup_free char *at = strdup(place->own);
    char *slash = at;

    while (slash && strlen(at) >= strlen(place->mount)) {
        cleanup_close int dirfd = open(at, O_PATH | O_DIRECTORY | O_CLOEXEC);
        bool is_own = strcmp(at, place->own) == 0;

        if (dirfd >= 0 && may_write(dirfd) &&
            (gives_controllers(dirfd) || is_root(dirfd) || (is_own && holds_only_ours(dirfd)))) {
            host->has_moved = is_own && !gives_controllers(dirfd) && !is_root(dirfd);
            place->parent = take_ptr(at);
            return 0;
        }
        slash = strrchr(at, '/');
        if (slash)
            *slash = '\0';
    }
    cgroup_set_reason(host,
                      "no cgroup at or above `%s` may be divided by this process: start it with "
                      "`systemd-run --user --scope -p Delegate=yes`",
                      place->own);
    return -1;
}

/* Enables what is missing for the groups below; the CPU controller only where it can be had. */
static int enable(struct cgroup_place *place, int dirfd, unsigned *ret_enabled)
{
    char list[256] = "";

    *ret_enabled = 0;
    (void)file_read(dirfd, "cgroup.subtree_control", list, sizeof(list));
    for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
        unsigned bit = CGROUP_BIT(given[i].controller);
        int r;

        if (has_word(list, given[i].enable + 1) || !(place->controllers & bit))
            continue;
        r = file_write(dirfd, "cgroup.subtree_control", given[i].enable);
        if (r == 0)
            *ret_enabled |= bit;
        else if (bit & CGROUP_NEEDED)
            return r;
        else
            place->controllers &= ~bit;
    }
    return 0;
}

/* Moves the processes besides this one. Returns how many there were. */
static size_t move_others(const struct cgroup_place *place, int parent)
{
    cleanup_fclose FILE *list = file_open_stream(parent, "cgroup.procs");
    size_t count = 0;
    char text[16];
    int pid;

    while (list && fscanf(list, "%d", &pid) == 1) {
        if (pid == getpid())
            continue;
        (void)snprintf(text, sizeof(text), "%d", pid);
        (void)file_write(place->fd, CGROUP_LEAF "/cgroup.procs", text);
        count++;
    }
    return count;
}

static int move_into_leaf(const struct cgroup_place *place, int parent)
{
    int r;

    if (mkdirat(place->fd, CGROUP_LEAF, 0755) < 0)
        return -errno;
    r = file_write(place->fd, CGROUP_LEAF "/cgroup.procs", "0");
    /* Again for those that were just being started. What stays shows when controllers are enabled,
     * which a group with processes refuses. */
    for (int round = 0; r == 0 && round < MOVE_ROUNDS && move_others(place, parent); round++)
        continue;
    return r;
}

static int prepare(struct cgroup_host *host)
{
    struct cgroup_place *place = &host->places[0];
    cleanup_close int parent = open(place->parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    unsigned enabled;
    const char *step = "enter a group of our own in";
    int r = parent < 0 ? -errno : 0;

    if (r == 0 && host->has_moved)
        r = move_into_leaf(place, parent);
    if (r == 0) {
        step = "enable controllers in";
        r = enable(place, parent, &host->enabled);
    }
    if (r == 0) {
        step = "enable controllers below";
        r = enable(place, place->fd, &enabled);
    }
    if (r < 0) {
        cgroup_set_reason(host, "cannot %s `%s`: %s", step, place->parent, strerror(-r));
        return -1;
    }
    /* For all groups together and so for each. Without swap accounting there is nothing to write
     * to. */
    (void)file_write(place->fd, "memory.swap.max", "0");
    return 0;
}

void cgroup_v2_leave(struct cgroup_host *host)
{
    struct cgroup_place *place = &host->places[0];
    cleanup_close int parent = open(place->parent, O_PATH | O_DIRECTORY | O_CLOEXEC);

    /* Controllers enabled in a group that others share stay: somebody may rely on them by now. */
    if (!host->has_moved || parent < 0)
        return;
    /* One at a time, since one that is not enabled makes Linux refuse the line; from below,
     * since it refuses to take from a group what the group gives on. */
    for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
        (void)file_write(place->fd, "cgroup.subtree_control", given[i].disable);
        if (host->enabled & CGROUP_BIT(given[i].controller))
            (void)file_write(parent, "cgroup.subtree_control", given[i].disable);
    }
    (void)file_write(parent, "cgroup.procs", "0");
    host->has_moved = false;
}

static int set_limits(struct cgroup *group, const struct cgroup_limits *limits, struct error *err)
{
    const struct cgroup_limits *old = &group->limits;
    bool is_new = !group->is_limited;
    int r = 0;

    if (is_new || old->memory_bytes != limits->memory_bytes)
        r = cgroup_write_u64(group, CGROUP_MEMORY, "memory.max", limits->memory_bytes, err);
    /* A sandbox that lost one process to the limit is not worth keeping: all or nothing. */
    if (r == 0 && is_new)
        r = cgroup_write(group, CGROUP_MEMORY, "memory.oom.group", "1", err);
    if (r == 0 && (is_new || old->processes != limits->processes))
        r = cgroup_write_u64(group, CGROUP_PIDS, "pids.max", limits->processes, err);
    /* A share is a wish: where Linux has none, the run goes on without. */
    if (r == 0 && (is_new ? limits->cpu_weight != 0 : old->cpu_weight != limits->cpu_weight))
        (void)cgroup_write_u64(group, CGROUP_CPU, "cpu.weight",
                               limits->cpu_weight ? limits->cpu_weight : 100, NULL);
    if (r == 0 && (is_new ? limits->cpu_percent != 0 : old->cpu_percent != limits->cpu_percent)) {
        char text[64];

        if (limits->cpu_percent)
            (void)snprintf(text, sizeof(text), "%" PRIu64 " %d",
                           (uint64_t)limits->cpu_percent * QUOTA_US_PER_PERCENT, PERIOD_US);
        else
            (void)snprintf(text, sizeof(text), "max %d", PERIOD_US);
        r = cgroup_write(group, CGROUP_CPU, "cpu.max", text, err);
    }
    return r;
}

/* If Linux keeps no peak (before 5.19), the highest sample is used. */
static int read_peak(struct cgroup *group, struct cgroup_usage *usage)
{
    uint64_t sample = 0;
    int r = cgroup_read_u64(group, CGROUP_MEMORY, "memory.peak", NULL, &usage->memory_peak_bytes);

    if (r < 0 || usage->memory_peak_bytes)
        return r;
    r = cgroup_read_u64(group, CGROUP_MEMORY, "memory.current", NULL, &sample);
    if (sample > group->memory_peak_bytes)
        group->memory_peak_bytes = sample;
    usage->memory_peak_bytes = group->memory_peak_bytes;
    return r;
}

static int read_usage(struct cgroup *group, unsigned questions, struct cgroup_usage *usage,
                      struct error *err)
{
    uint64_t processes = 0, processes_peak = 0, cpu_us = 0;
    int r = 0;

    if (questions & CGROUP_PRESENT)
        r = cgroup_read_u64(group, CGROUP_MEMORY, "memory.current", NULL, &usage->memory_bytes);
    if (r == 0 && (questions & CGROUP_PRESENT))
        r = cgroup_read_u64(group, CGROUP_PIDS, "pids.current", NULL, &processes);
    if (r == 0 && (questions & CGROUP_PEAKS))
        r = read_peak(group, usage);
    if (r == 0 && (questions & CGROUP_PEAKS))
        r = cgroup_read_u64(group, CGROUP_MEMORY, "memory.events", "oom_kill", &usage->oom_kills);
    if (r == 0 && (questions & CGROUP_PEAKS))
        r = cgroup_read_u64(group, CGROUP_PIDS, "pids.peak", NULL, &processes_peak);
    if (r == 0 && (questions & CGROUP_REFUSALS))
        r = cgroup_read_u64(group, CGROUP_PIDS, "pids.events", "max", &usage->forks_refused);
    if (r == 0 && (questions & CGROUP_CPU_TIME))
        r = cgroup_read_u64(group, CGROUP_CPUACCT, "cpu.stat", "usage_usec", &cpu_us);
    if (r < 0) {
        errno = -r;
        return error_errno(err, "read the usage of cgroup `%s`", group->name);
    }
    usage->processes = (uint32_t)processes;
    usage->processes_peak = (uint32_t)processes_peak;
    usage->cpu_ns = cpu_us * 1000;
    return 0;
}

const struct cgroup_ops cgroup_v2_ops = {
    .prepare = prepare,
    .set_limits = set_limits,
    .read = read_usage,
    .attach_file = "cgroup.procs",
};
