#include "wire/frame.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "wire/fds.h"

#define FRAME_MAGIC 0x4a42 /* "BJ" */

void frame_decoder_init(struct frame_decoder *d)
{
    *d = (struct frame_decoder){0};
}

void frame_decoder_done(struct frame_decoder *d)
{
    for (size_t i = 0; i < d->n_fds; i++)
        (void)close(d->fds[i]);
    free(d->body);
    frame_decoder_init(d);
}

void frame_header(uint8_t head[FRAME_HEADER], enum wire_type type, uint32_t len)
{
    uint16_t magic = htole16(FRAME_MAGIC);

    len = htole32(len);
    memcpy(head, &magic, sizeof(magic));
    head[2] = WIRE_VERSION;
    head[3] = (uint8_t)type;
    memcpy(head + 4, &len, sizeof(len));
}

/* Returns 0 when the header is one we could have been sent; then, and only then, memory is asked
 * for. */
static int open_body(struct frame_decoder *d)
{
    uint16_t magic;
    uint32_t len;

    memcpy(&magic, d->head, sizeof(magic));
    memcpy(&len, d->head + 4, sizeof(len));
    len = le32toh(len);
    if (le16toh(magic) != FRAME_MAGIC || d->head[2] != WIRE_VERSION ||
        len > wire_type_max(d->head[3]))
        return -1;

    d->body = malloc(len ? len : 1);
    d->body_want = len;
    return d->body ? 0 : -1;
}

static void next_frame(struct frame_decoder *d)
{
    free(d->body);
    d->body = NULL;
    d->body_len = d->body_want = d->head_len = 0;
    d->complete = false;
}

static int complete(struct frame_decoder *d, struct frame *ret_frame)
{
    d->complete = true;
    *ret_frame = (struct frame){d->head[3], d->body, d->body_len};
    return 1;
}

int frame_feed(struct frame_decoder *d, const uint8_t *data, size_t len, size_t *ret_used,
               struct frame *ret_frame)
{
    size_t used = 0, n;

    if (d->complete)
        next_frame(d);
    *ret_used = 0;
    if (d->broken)
        return -1;

    if (!d->body) {
        n = FRAME_HEADER - d->head_len;
        n = n < len ? n : len;
        memcpy(d->head + d->head_len, data, n);
        d->head_len += n;
        used = n;
        if (d->head_len == FRAME_HEADER && open_body(d) < 0) {
            d->broken = true;
            return -1;
        }
    }
    if (d->body) {
        n = d->body_want - d->body_len;
        n = n < len - used ? n : len - used;
        memcpy(d->body + d->body_len, data + used, n);
        d->body_len += n;
        used += n;
    }

    *ret_used = used;
    return d->body && d->body_len == d->body_want ? complete(d, ret_frame) : 0;
}

int frame_take_fd(struct frame_decoder *d)
{
    int fd;

    if (d->n_fds == 0)
        return -1;
    fd = d->fds[0];
    d->n_fds--;
    memmove(d->fds, d->fds + 1, d->n_fds * sizeof(d->fds[0]));
    return fd;
}

long frame_recv(struct frame_decoder *d, int sock, uint8_t *data, size_t size)
{
    char control[FDS_SPACE(FRAME_FDS)];
    struct iovec iov = {data, size};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control,
                         .msg_controllen = sizeof(control)};
    ssize_t n;

    do
        n = d->is_pipe ? read(sock, data, size) : recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == ENOTSOCK) {
        d->is_pipe = true;
        return frame_recv(d, sock, data, size);
    }
    if (d->is_pipe)
        return n < 0 ? -errno : n;
    if (n < 0)
        return -errno;
    d->n_fds += fds_take(&msg, d->fds + d->n_fds, FRAME_FDS - d->n_fds);
    return n;
}

/* Reads the rest of the frame straight to its place: in a child of a warm interpreter each page
 * of a buffer in between would be one to copy. Never more than this frame needs, so that no byte of
 * the next one has to be kept. */
static long receive_rest(struct frame_decoder *d, int sock)
{
    long n;

    if (!d->body)
        return frame_recv(d, sock, d->head + d->head_len, FRAME_HEADER - d->head_len);
    n = frame_recv(d, sock, d->body + d->body_len, d->body_want - d->body_len);
    d->body_len += n > 0 ? (size_t)n : 0;
    return n;
}

int frame_wait(struct frame_decoder *d, int sock, struct frame *ret_frame)
{
    if (d->complete)
        next_frame(d);
    while (!d->body || d->body_len < d->body_want) {
        long n = d->broken ? -1 : receive_rest(d, sock);

        if (n <= 0)
            return n < 0 ? -1 : 0;
        if (d->body)
            continue;
        d->head_len += (size_t)n;
        if (d->head_len == FRAME_HEADER && open_body(d) < 0) {
            d->broken = true;
            return -1;
        }
    }
    return complete(d, ret_frame);
}

int frame_send(int sock, enum wire_type type, const struct pack *body, const int *fds, size_t n_fds)
{
    char control[FDS_SPACE(FRAME_FDS)];
    uint8_t head[FRAME_HEADER];
    struct iovec iov[2] = {{head, sizeof(head)}, {body ? body->data : NULL, body ? body->len : 0}};
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};

    if ((body && body->failed) || n_fds > FRAME_FDS)
        return -EMSGSIZE;
    frame_header(head, type, body ? (uint32_t)body->len : 0);
    fds_put(&msg, control, fds, n_fds);

    while (iov[0].iov_len + iov[1].iov_len > 0) {
        ssize_t n = sendmsg(sock, &msg, MSG_NOSIGNAL);

        if (n < 0 && errno == ENOTSOCK && n_fds == 0)
            n = writev(sock, iov, 2);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        msg.msg_control = NULL; /* descriptors go with the first byte only */
        msg.msg_controllen = 0;
        for (int i = 0; i < 2; i++) {
            size_t done = (size_t)n < iov[i].iov_len ? (size_t)n : iov[i].iov_len;

            iov[i].iov_base = (uint8_t *)iov[i].iov_base + done;
            iov[i].iov_len -= done;
            n -= (ssize_t)done;
        }
    }
    return 0;
}
