/* New processes of ours: the two steps that every one of them begins with. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* In a new process: none is handled, ignored or held back. What the parent's handlers write would
 * be read by the parent. Allocates nothing. */
void child_reset_signals(void);

/* Calls `fn` in a process in new namespaces that shares our memory, while we stand still until it
 * ends: the cost does not grow with what we hold, as that of a fork does. `fn` must not touch what
 * it was not given, and must end soon. Its process has ended when this returns, and is the caller's
 * to wait for. -1 with errno. */
pid_t child_vfork(uint64_t flags, int (*fn)(void *arg), void *arg);
