/* Acts before memory runs out.
 *
 * When it does, Linux ends the program with the most memory of its own, and files in
 * memory, which belong to no process, do not count. So a session that fills its /tmp could cost
 * others theirs. The guard looks at what is free, the more often the less that is, and ends the one
 * sandbox that holds the most, files included.
 */
#pragma once

#include "base/error.h"
#include "base/loop.h"
#include "sandbox/cgroup.h"

struct memory_guard;
struct pool; /* engine/pool.h */

/* Looks after the sandboxes of that pool. Both outlive the guard. */
int memory_guard_new(struct loop *loop, struct cgroup_host *cgroups, const struct pool *pool,
                     struct memory_guard **ret_guard, struct error *err);
void memory_guard_free(struct memory_guard *guard); /* accepts NULL */
