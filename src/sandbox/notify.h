/* Requests to a listener of system calls (seccomp user notification).
 *
 * Linux gives them up with EINTR when a signal comes while somebody else has the listener's lock:
 * SIGSTOP, or the machine going to sleep. An answer that is lost in this way leaves the caller
 * waiting for ever.
 */
#pragma once

#include <errno.h>
#include <sys/ioctl.h>

static inline int notify_request(int listener, unsigned long request, void *arg)
{
    int r;

    while ((r = ioctl(listener, request, arg)) < 0 && errno == EINTR)
        ;
    return r;
}
