/* Refused system calls, as the supervisor is told of them.
 *
 * The filter of a sandbox (SECCOMP_REPORT in sandbox/seccomp.h) refuses some calls by handing
 * them to a listener. The listener's only answer is the error that SECCOMP_BASE gives without one:
 * no call is ever performed or let through. When the listener is closed, Linux answers such calls
 * with ENOSYS.
 */
#pragma once

#include <stdbool.h>

struct seccomp_refusal {
    const char *name; /* of the call */
    const char *how;  /* what about it is refused, or "" */
};

/* Answers the next call that waits. 1: *ret_refusal says which; 0: none waits; -1: the listener is
 * of no more use. Never blocks. */
int seccomp_refuse_next(int listener, struct seccomp_refusal *ret_refusal);
