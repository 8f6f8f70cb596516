/* A process that outlives us: it sees to what we leave behind when we are killed.
 *
 * It has no descriptor of ours, not even the standard streams, ignores what ends others, and waits
 * for our end, however that comes.
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"

/* Calls `last` in that process when this one is gone; `first`, which may be NULL, before it waits.
 * Both see our memory as it is now. Returns its pid, or a negative number. */
pid_t janitor_start(void (*first)(void *arg), void (*last)(void *arg), void *arg,
                    struct error *err);

/* There is nothing left to see to. Accepts 0. */
void janitor_stop(pid_t janitor);
