/* Control groups: memory, processes and CPU of one sandbox, on cgroup v2, on v1, or not at all.
 *
 * cgroup_host_open() probes once what this process may use and where. A sandbox's group is made,
 * with its limits, before the sandbox exists; pid 1 enters it by writing "0" to the descriptors of
 * cgroup_attach_fds() as its first act. Groups live below one directory of ours, which is removed
 * at the end, by a janitor process if we are killed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };

#define CGROUP_ATTACH_MAX 4

struct cgroup_limits {
    uint64_t memory_bytes; /* swap is off: memory and memory+swap are the same */
    uint32_t processes;
    uint32_t cpu_percent; /* of one core; 0: no limit */
    uint32_t cpu_weight;  /* percent of the usual share where cores are short; 0: the usual one */
};

/* Figures to read of a group: each is a file to open. */
enum cgroup_question {
    CGROUP_CPU_TIME = 1 << 0, /* cpu_ns */
    CGROUP_PEAKS = 1 << 1,    /* memory_peak_bytes, processes_peak, oom_kills */
    CGROUP_PRESENT = 1 << 2,  /* memory_bytes, processes */
    CGROUP_REFUSALS = 1 << 3, /* forks_refused */
    CGROUP_EVERYTHING = CGROUP_CPU_TIME | CGROUP_PEAKS | CGROUP_PRESENT,
};

/* Figures that were not requested are 0. */
struct cgroup_usage {
    uint64_t memory_bytes;
    uint64_t memory_peak_bytes;
    uint64_t cpu_ns;
    uint64_t oom_kills;
    uint32_t processes;
    uint32_t processes_peak; /* 0 where Linux does not count it */
    uint64_t forks_refused;  /* for the limit of processes */
};

struct cgroup_host;
struct cgroup;

/* Never fails for want of cgroups: then the kind is CGROUP_NONE and the reason says why and what
 * would help. Removes what supervisors that no longer live left behind. */
int cgroup_host_open(struct cgroup_host **ret_host, struct error *err);
enum cgroup_kind cgroup_host_kind(const struct cgroup_host *host);
const char *cgroup_host_reason(const struct cgroup_host *host); /* NULL unless CGROUP_NONE */
const char *cgroup_host_path(const struct cgroup_host *host);   /* for doctor; NULL when none */

/* The memory that a group above all of ours may have; UINT64_MAX: as much as the host has. */
uint64_t cgroup_host_memory(const struct cgroup_host *host);

/* Of the group above ours that has the least left: its limit, and what is neither used nor could be
 * had back. False: none of them has a limit. */
bool cgroup_host_left(struct cgroup_host *host, uint64_t *ret_total, uint64_t *ret_left);
bool cgroup_host_has_us(const struct cgroup_host *host); /* this process sits in a group of ours */
void cgroup_host_free(struct cgroup_host *host);

/* With CGROUP_NONE a group is an empty object on which everything succeeds and usage is zero. */
int cgroup_new(struct cgroup_host *host, const char *name, const struct cgroup_limits *limits,
               struct cgroup **ret_group, struct error *err);

/* Makes one that nobody needs yet, for cgroup_take(), unless there is one; the name is its for
 * good. Where that fails, the next is made when it is needed. */
void cgroup_prepare(struct cgroup_host *host, const char *name, const struct cgroup_limits *limits);

/* The one made ahead, with these limits now, or NULL. */
struct cgroup *cgroup_take(struct cgroup_host *host, const struct cgroup_limits *limits);

int cgroup_set_limits(struct cgroup *group, const struct cgroup_limits *limits, struct error *err);

/* Opens the files pid 1 writes "0" into ("tasks" of each v1 hierarchy: `cgroup.procs` has a 10 ms
 * tail there; v2 "cgroup.procs"). The caller closes them. Returns their number or a negative value.
 */
int cgroup_attach_fds(const struct cgroup *group, int fds[CGROUP_ATTACH_MAX], struct error *err);

int cgroup_read(struct cgroup *group, unsigned questions, struct cgroup_usage *ret_usage,
                struct error *err);

/* SIGKILL to everything inside: cgroup.kill on v2, by list on v1. The second way to kill; the first
 * is pid 1's pidfd. */
void cgroup_kill(const struct cgroup *group);

/* To everything but one process. Meanwhile nothing is forked in there; afterwards it may be again.
 */
void cgroup_kill_others(const struct cgroup *group, pid_t spared);

/* Stops everything inside but `spared`, which the freezer of v2 stops as well: it uses no CPU time,
 * keeps its memory, and can be killed. *ret_is_quiet: nothing runs any more; else ask again soon.
 * E_UNSUPPORTED: there is no group. */
int cgroup_freeze(struct cgroup *group, pid_t spared, bool *ret_is_quiet, struct error *err);

/* Lets it go on. What the program itself had stopped stays so. */
int cgroup_thaw(struct cgroup *group, pid_t spared, struct error *err);

/* Removes the group. -EBUSY while something in it still lives: ask again later. Frees the object on
 * success only. */
int cgroup_remove(struct cgroup *group);

/* Gives the group up: removed now, or, while Linux has not let go of its last process, with
 * the next group that is made or with the host. Accepts NULL. */
void cgroup_discard(struct cgroup *group);
