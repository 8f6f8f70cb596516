#include "wire/fds.h"

#include <string.h>
#include <unistd.h>

void fds_put(struct msghdr *msg, char *control, const int *fds, size_t count)
{
    struct cmsghdr *c;

    if (count == 0)
        return;
    msg->msg_control = control;
    msg->msg_controllen = FDS_SPACE(count);
    memset(control, 0, msg->msg_controllen);
    c = CMSG_FIRSTHDR(msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(c), fds, count * sizeof(int));
}

size_t fds_take(struct msghdr *msg, int *fds, size_t room)
{
    size_t taken = 0;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        size_t count;

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
            if (taken < room)
                fds[taken++] = fd;
            else
                (void)close(fd);
        }
    }
    return taken;
}
