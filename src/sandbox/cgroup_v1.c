/* cgroup v1: one hierarchy per controller, or a few together. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "sandbox/cgroup_internal.h"

/* Of a period of 100 ms, which is what a new group has. */
#define QUOTA_US_PER_PERCENT 1000

/* All sandboxes together have a quarter of what the host's TCP may have before it is short of
 * memory. Linux counts upwards, so that this bounds what groups below are given. */
static void limit_all_sockets(int memory)
{
    uint64_t pages;
    char text[64];

    if (file_read(AT_FDCWD, "/proc/sys/net/ipv4/tcp_mem", text, sizeof(text)) > 0 &&
        sscanf(text, "%" SCNu64, &pages) == 1)
        (void)file_printf(memory, "memory.kmem.tcp.limit_in_bytes", "%" PRIu64,
                          pages / 4 * (uint64_t)sysconf(_SC_PAGESIZE));
}

static int prepare(struct cgroup_host *host)
{
    int memory = cgroup_place_fd(host, CGROUP_MEMORY);
    char text[32];

    limit_all_sockets(memory);
    /* Groups inherit it when they are made. Swap counts against the limit below anyway, so that a
     * kernel which does not let us change this only makes a sandbox slower, not larger. */
    (void)file_write(memory, "memory.swappiness", "0");
    host->has_memsw = file_read(memory, "memory.memsw.limit_in_bytes", text, sizeof(text)) >= 0;
    return 0;
}

/* Socket buffers are counted apart here (v2 counts them as memory) and not at all until they have a
 * limit of their own. A kernel built without it counts none. */
static void set_socket_memory(struct cgroup *group, uint64_t bytes)
{
    (void)cgroup_write_u64(group, CGROUP_MEMORY, "memory.kmem.tcp.limit_in_bytes", bytes / 4, NULL);
}

/* Linux keeps memory <= memory+swap at every moment, so the order depends on the direction. */
static int set_memory(struct cgroup *group, uint64_t bytes, struct error *err)
{
    static const char memory[] = "memory.limit_in_bytes", memsw[] = "memory.memsw.limit_in_bytes";
    bool is_raise = group->is_limited && bytes > group->limits.memory_bytes;
    int r;

    set_socket_memory(group, bytes);
    if (!group->host->has_memsw)
        return cgroup_write_u64(group, CGROUP_MEMORY, memory, bytes, err);
    r = cgroup_write_u64(group, CGROUP_MEMORY, is_raise ? memsw : memory, bytes, err);
    if (r < 0)
        return r;
    return cgroup_write_u64(group, CGROUP_MEMORY, is_raise ? memory : memsw, bytes, err);
}

/* The default of a new group. */
#define SHARES ((uint64_t)1024)

static int set_limits(struct cgroup *group, const struct cgroup_limits *limits, struct error *err)
{
    const struct cgroup_limits *old = &group->limits;
    bool is_new = !group->is_limited;
    int r;

    if (is_new || old->memory_bytes != limits->memory_bytes) {
        r = set_memory(group, limits->memory_bytes, err);
        if (r < 0)
            return r;
    }
    if (is_new || old->processes != limits->processes) {
        r = cgroup_write_u64(group, CGROUP_PIDS, "pids.max", limits->processes, err);
        if (r < 0)
            return r;
    }
    /* A share is a wish: where Linux has none, the run goes on without. */
    if (is_new ? limits->cpu_weight != 0 : old->cpu_weight != limits->cpu_weight)
        (void)cgroup_write_u64(group, CGROUP_CPU, "cpu.shares",
                               SHARES * (limits->cpu_weight ? limits->cpu_weight : 100) / 100,
                               NULL);
    if (is_new ? limits->cpu_percent != 0 : old->cpu_percent != limits->cpu_percent) {
        char quota[32];

        (void)snprintf(quota, sizeof(quota), "%" PRId64,
                       limits->cpu_percent ? (int64_t)limits->cpu_percent * QUOTA_US_PER_PERCENT
                                           : -1);
        return cgroup_write(group, CGROUP_CPU, "cpu.cfs_quota_us", quota, err);
    }
    return 0;
}

static int read_usage(struct cgroup *group, unsigned questions, struct cgroup_usage *usage,
                      struct error *err)
{
    uint64_t processes = 0, peak = 0;
    int r = 0;

    if (questions & CGROUP_PRESENT)
        r = cgroup_read_u64(group, CGROUP_MEMORY, "memory.usage_in_bytes", NULL,
                            &usage->memory_bytes);
    if (r == 0 && (questions & CGROUP_PRESENT))
        r = cgroup_read_u64(group, CGROUP_PIDS, "pids.current", NULL, &processes);
    if (r == 0 && (questions & CGROUP_PEAKS))
        r = cgroup_read_u64(group, CGROUP_MEMORY, "memory.max_usage_in_bytes", NULL,
                            &usage->memory_peak_bytes);
    if (r == 0 && (questions & CGROUP_PEAKS))
        r = cgroup_read_u64(group, CGROUP_MEMORY, "memory.oom_control", "oom_kill",
                            &usage->oom_kills);
    if (r == 0 && (questions & CGROUP_PEAKS))
        r = cgroup_read_u64(group, CGROUP_PIDS, "pids.peak", NULL, &peak); /* Linux 6.11 */
    if (r == 0 && (questions & CGROUP_REFUSALS))
        r = cgroup_read_u64(group, CGROUP_PIDS, "pids.events", "max", &usage->forks_refused);
    if (r == 0 && (questions & CGROUP_CPU_TIME))
        r = cgroup_read_u64(group, CGROUP_CPUACCT, "cpuacct.usage", NULL, &usage->cpu_ns);
    if (r < 0) {
        errno = -r;
        return error_errno(err, "read the usage of cgroup `%s`", group->name);
    }
    usage->processes = (uint32_t)processes;
    usage->processes_peak = (uint32_t)peak;
    return 0;
}

const struct cgroup_ops cgroup_v1_ops = {
    .prepare = prepare,
    .set_limits = set_limits,
    .read = read_usage,
    .attach_file = "tasks",
};
