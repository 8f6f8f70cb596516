/* Descriptors beside the bytes of a message on a Unix socket (SCM_RIGHTS). */
#pragma once

#include <stddef.h>
#include <sys/socket.h>

/* The size of a `control` for so many. */
#define FDS_SPACE(count) CMSG_SPACE((count) * sizeof(int))

/* Puts them beside the message. `control` has room for them and lives as long as the message does.
 */
void fds_put(struct msghdr *msg, char *control, const int *fds, size_t count);

/* Those that came with it, `room` at most. Others are closed at once: a hostile peer must not be
 * able to fill our table with them. Returns how many. */
size_t fds_take(struct msghdr *msg, int *fds, size_t room);
