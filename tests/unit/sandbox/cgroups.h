/* For tests on the host's own cgroups, v1 or v2, whichever cgroup_host_open() finds. What needs
 * another tree than the host's is in test_cgroup_v2.c. */
#pragma once

#include "unit.h"

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "sandbox/cgroup.h"
#include "sandbox/cgroup_internal.h"

#define MB ((uint64_t)1024 * 1024)

extern const struct cgroup_limits roomy;

/* First in main(): a bound for the whole, and orphans come to us. */
void prepare_cgroup_tests(void);

/* Skips the test where there are no cgroups. */
struct cgroup_host *open_host(void);
struct cgroup *new_group(struct cgroup_host *host, const char *name,
                         const struct cgroup_limits *limits);
struct cgroup_usage usage_of(struct cgroup *group);

/* Directories of a name that begins like this in any place of this host. */
size_t count_places(const struct cgroup_host *host, const char *prefix);
size_t count_groups(const struct cgroup_host *host, const char *name);

/* Returns the result of `run` in a process in the group, as in_child() does. */
int inside(struct cgroup *group, int (*run)(void));

/* A process that sits in the group until it is killed, and the end of one that was. */
pid_t settle(struct cgroup *group);
void reap(pid_t pid);

/* Everything in it is dead and reaped. */
bool is_empty(struct cgroup *group);

/* Waits until it is empty. */
void remove_group(struct cgroup *group);

/* Waits for something another process does; the bound only keeps a broken test from hanging. */
#define wait_until(condition)                                                                      \
    do {                                                                                           \
        for (int tries_ = 0; !(condition); tries_++) {                                             \
            if (tries_ == 2000)                                                                    \
                fail_msg("waited in vain: %s", #condition);                                        \
            (void)poll(NULL, 0, 5);                                                                \
        }                                                                                          \
    } while (0)
