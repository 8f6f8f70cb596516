#include "sandbox/seccomp_refusal.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "sandbox/notify.h"
#include "sandbox/seccomp_refused_calls.h"

static const struct seccomp_refusal unknown = {"", ""};

/* A call without a row cannot arrive here; if it does, it is refused all the same. */
static int look_up(int number, struct seccomp_refusal *ret)
{
    *ret = unknown;
    for (size_t i = 0; i < ARRAY_SIZE(refused_calls); i++)
        if (refused_calls[i].number == number) {
            *ret = (struct seccomp_refusal){refused_calls[i].name, refused_calls[i].how};
            return refused_calls[i].errnum;
        }
    return EPERM;
}

int seccomp_refuse_next(int listener, struct seccomp_refusal *ret_refusal)
{
    struct pollfd ready = {.fd = listener, .events = POLLIN};
    struct seccomp_notif_resp response = {0};
    struct seccomp_notif call;

    /* Receiving blocks when nothing waits. We are the only reader, and what waits cannot be taken
     * back: a caller that dies meanwhile makes it fail with ENOENT. */
    if (poll(&ready, 1, 0) < 0)
        return errno == EINTR ? 0 : -1;
    if (!(ready.revents & POLLIN))
        return ready.revents ? -1 : 0;
    memset(&call, 0, sizeof(call)); /* padding included: Linux insists on it */
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
        return errno == ENOENT || errno == EINTR ? 0 : -1;
    response.id = call.id;
    response.error = -look_up(call.data.nr, ret_refusal);
    if (notify_request(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0 && errno != ENOENT)
        return -1;
    return 1;
}
