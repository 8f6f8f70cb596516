/* One sandbox: cloned from the zygote into fresh namespaces, sealed by the recipe, its kernel
 * forked. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "wire/message.h"

struct spawn_fds {
    int init;
    int kernel;
    int report;
    int out;
    int err;
    int replies;
    int attach[WIRE_ATTACH_MAX];
    int grants[WIRE_GRANTS_MAX];
};

/* `directory`: the sandbox's own, at the level `process`; NULL: in namespaces. Returns the pid of
 * the new pid 1 and its pidfd. The caller still owns its copies of the descriptors. */
int spawn_sandbox(const struct wire_spawn *spec, const struct spawn_fds *fds, const char *directory,
                  pid_t *ret_pid, int *ret_pidfd, struct error *err);

/* Makes what the next sandbox needs and a client should not wait for (recipe_prepare()); to be
 * called when nobody waits, or not at all. */
void spawn_prepare(void);
bool spawn_is_prepared(void);
