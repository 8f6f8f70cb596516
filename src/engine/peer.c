#include "engine/peer.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "wire/fds.h"

/* The most that may wait for a slow peer: the largest message, a cell of Bash with its standard
 * input, which is a third longer in base64. */
#define PENDING_MAX ((size_t)96 << 20)

/* Reads per wake-up, and bytes per read: from a kernel at most some hundreds of the shortest
 * messages. The last read takes more than any pipe or socket holds. */
#define READ_TIMES   4
#define READ_BYTES   ((size_t)65536)
#define KERNEL_BYTES ((size_t)16384)
#define DRAIN_TIMES  64

static void end(struct peer *peer, const char *why)
{
    if (peer->is_over)
        return;
    peer->is_over = true;
    loop_work_cancel(&peer->reading);
    loop_watch_free(peer->watch);
    loop_watch_free(peer->writer);
    peer->watch = peer->writer = NULL;
    peer->events->on_end(peer->owner, why);
}

/* Returns false when the peer is over. */
static bool handle(struct peer *peer, const struct frame *frame)
{
    const struct wire_rule *rule =
        wire_permitted(peer->channel, peer->state, frame->type,
                       frame->type < WIRE_TYPE_END ? peer->sent[frame->type] : 0);

    if (!rule) {
        end(peer, wire_type_name(frame->type));
        return false;
    }
    peer->sent[frame->type]++;
    peer->state = rule->next;
    peer->events->on_message(peer->owner, frame);
    return !peer->is_over;
}

/* The zygote sends descriptors, and pid 1 one, or as many more as its owner expects, with its first
 * word, when no program runs yet, and those that it was asked for. What else a sandbox sends of
 * them is closed before it can fill our table. */
static void drop_fds(struct peer *peer)
{
    bool is_first = peer->channel == WIRE_CHANNEL_INIT && peer->state == WIRE_STATE_STARTING;
    bool is_awaited = peer->awaited_fds && peer->decoder.n_fds <= peer->awaited_fds;
    int fd;

    if (peer->channel == WIRE_CHANNEL_ZYGOTE || is_awaited ||
        (is_first && peer->decoder.n_fds <= 1 + peer->extra_fds))
        return;
    while ((fd = frame_take_fd(&peer->decoder)) >= 0)
        (void)close(fd);
}

/* Looked for first: what it says before its next message is then there, too, since it waits for us
 * to take that. */
static bool has_something(const struct peer *peer)
{
    struct pollfd p = {.fd = peer->fd, .events = POLLIN};

    return poll(&p, 1, 0) > 0;
}

static bool is_busy(const struct peer *peer)
{
    return peer->events->is_busy && peer->events->is_busy(peer->owner);
}

/* Handles the messages that are complete. What follows one that keeps the owner busy waits. Returns
 * false when the peer is over, or its owner is busy. */
static bool take(struct peer *peer, const uint8_t *data, size_t len)
{
    size_t at = 0;

    while (at < len) {
        struct frame frame;
        size_t used;
        int r = frame_feed(&peer->decoder, data + at, len - at, &used, &frame);

        at += used;
        if (r < 0) {
            end(peer, "an invalid frame");
            return false;
        }
        if (r == 1 && !handle(peer, &frame))
            return false;
        if (r == 1 && is_busy(peer)) {
            if (at < len && buf_add(&peer->rest, data + at, len - at, NULL) < 0)
                end(peer, "too much to be kept");
            return false;
        }
    }
    return true;
}

/* Messages that waited for their owner. */
static size_t take_rest(struct peer *peer)
{
    cleanup(buf_done) struct buf rest = peer->rest;
    size_t len = rest.len;

    buf_init(&peer->rest, READ_BYTES);
    return take(peer, (const uint8_t *)rest.data, len) ? len : 0;
}

/* Reads once. Returns how many bytes; 0: there is nothing more to be read now. */
static size_t receive_once(struct peer *peer, size_t size)
{
    uint8_t data[READ_BYTES];
    long n;

    if (is_busy(peer))
        return 0;
    if (peer->events->before_read &&
        ((!peer->rest.len && !has_something(peer)) || !peer->events->before_read(peer->owner)))
        return 0;
    if (peer->rest.len)
        return take_rest(peer);
    n = frame_recv(&peer->decoder, peer->fd, data, size);
    if (n == -EAGAIN)
        return 0;
    if (n <= 0) {
        end(peer, NULL);
        return 0;
    }
    drop_fds(peer);
    return take(peer, data, (size_t)n) ? (size_t)n : 0;
}

/* Reads at most `times`; what is still there wakes the loop again. Some messages may come without
 * end, and a peer that writes faster than we read must not keep us from everything else. */
static void receive(struct peer *peer, unsigned times, size_t size)
{
    const struct peer_events *events = peer->events;
    uint64_t began_ns = events->after_read ? loop_cpu_ns() : 0;
    void *owner = peer->owner;

    while (!peer->is_over && times-- && receive_once(peer, size))
        ;
    if (events->after_read)
        events->after_read(owner, loop_cpu_ns() - began_ns);
}

void peer_drain(struct peer *peer)
{
    receive(peer, DRAIN_TIMES, READ_BYTES);
}

size_t peer_read_some(struct peer *peer)
{
    return peer->is_over ? 0 : receive_once(peer, KERNEL_BYTES);
}

static void read_kernel(void *arg)
{
    receive(arg, 1, KERNEL_BYTES);
    peer_go_on(arg);
}

/* Nothing wakes the loop for what has been read already. */
void peer_go_on(struct peer *peer)
{
    if (peer->rest.len && peer->watch && !is_busy(peer))
        loop_work_post(peer->loop, &peer->reading, read_kernel, peer);
}

static void on_readable(void *arg)
{
    struct peer *peer = arg;

    if (peer->channel == WIRE_CHANNEL_KERNEL)
        loop_work_post(peer->loop, &peer->reading, read_kernel, peer);
    else
        receive(peer, READ_TIMES, READ_BYTES);
}

int peer_init(struct peer *peer, struct loop *loop, int fd, int out_fd, enum wire_channel channel,
              const struct peer_events *events, void *owner, struct error *err)
{
    *peer = (struct peer){.fd = fd,
                          .out_fd = out_fd,
                          .loop = loop,
                          .channel = channel,
                          .events = events,
                          .owner = owner};
    frame_decoder_init(&peer->decoder);
    buf_init(&peer->rest, READ_BYTES);
    buf_init(&peer->pending, PENDING_MAX);
    peer->watch = loop_watch_fd(loop, fd, LOOP_READ, on_readable, peer);
    if (!peer->watch)
        return error_memory(err);
    return 0;
}

void peer_done(struct peer *peer)
{
    if (!peer->loop)
        return;
    peer->is_over = true;
    loop_work_cancel(&peer->reading);
    loop_watch_free(peer->watch);
    loop_watch_free(peer->writer);
    frame_decoder_done(&peer->decoder);
    buf_done(&peer->rest);
    buf_done(&peer->pending);
    if (peer->out_fd != peer->fd)
        close_fd(&peer->out_fd);
    close_fd(&peer->fd);
    *peer = (struct peer){.fd = -1, .out_fd = -1};
}

/* Writes as much as the socket or pipe takes now. */
static ssize_t send_some(struct peer *peer, const struct msghdr *msg)
{
    ssize_t n = -1;

    if (!peer->out_is_pipe)
        n = sendmsg(peer->out_fd, msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && !peer->out_is_pipe && errno == ENOTSOCK)
        peer->out_is_pipe = true;
    if (peer->out_is_pipe && !msg->msg_controllen)
        n = writev(peer->out_fd, msg->msg_iov, (int)msg->msg_iovlen); /* it never blocks */
    return n;
}

static void on_writable(void *arg)
{
    struct peer *peer = arg;
    struct iovec iov = {peer->pending.data, peer->pending.len};
    ssize_t n = send_some(peer, &(struct msghdr){.msg_iov = &iov, .msg_iovlen = 1});

    if (n < 0) {
        if (errno != EAGAIN && errno != EINTR)
            end(peer, NULL);
        return;
    }
    buf_consume(&peer->pending, (size_t)n);
    if (peer->pending.len == 0) {
        loop_watch_free(peer->writer);
        peer->writer = NULL;
        buf_done(&peer->pending);
    }
}

static int enqueue(struct peer *peer, const uint8_t *head, const struct pack *body, size_t skip,
                   struct error *err)
{
    size_t body_len = body ? body->len : 0;

    if (skip < FRAME_HEADER && buf_add(&peer->pending, head + skip, FRAME_HEADER - skip, err) < 0)
        return -1;
    skip = skip > FRAME_HEADER ? skip - FRAME_HEADER : 0;
    if (skip < body_len && buf_add(&peer->pending, body->data + skip, body_len - skip, err) < 0)
        return -1;
    if (peer->pending.len && !peer->writer) {
        peer->writer = loop_watch_fd(peer->loop, peer->out_fd, LOOP_WRITE, on_writable, peer);
        if (!peer->writer)
            return error_memory(err);
    }
    return 0;
}

bool peer_was_gone(const struct error *err)
{
    return err && err->errnum == EPIPE;
}

/* A sandbox may end at any moment: that is nobody's mistake, and one answer whoever sees it first.
 */
static int gone(struct error *err)
{
    error_set(err, E_SYSTEM, "the sandbox has just ended");
    if (err)
        err->errnum = EPIPE;
    return error_hint(err, "try again");
}

int peer_send(struct peer *peer, enum wire_type type, const struct pack *body, const int *fds,
              size_t n_fds, struct error *err)
{
    char control[FDS_SPACE(FRAME_FDS)];
    uint8_t head[FRAME_HEADER];
    struct iovec iov[2] = {{head, sizeof(head)}, {body ? body->data : NULL, body ? body->len : 0}};
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
    ssize_t n = 0;

    if (peer->is_over)
        return gone(err);
    if ((body && (body->failed || body->len > wire_type_max(type))) || n_fds > FRAME_FDS)
        return error_set(err, E_TOO_LARGE, "the request does not fit into a message");
    frame_header(head, type, body ? (uint32_t)body->len : 0);
    fds_put(&msg, control, fds, n_fds);

    /* Descriptors cannot wait in a byte buffer. A socket that is too full for the first byte is an
     * error then: the sender of descriptors keeps few messages under way. */
    if (peer->pending.len == 0 || n_fds) {
        if (peer->pending.len)
            return error_set(err, E_BUSY, "the zygote does not keep up");
        n = send_some(peer, &msg);
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
            return gone(err);
        if (n < 0 && (errno != EAGAIN || n_fds))
            return error_errno(err, "send to the sandbox");
        n = n < 0 ? 0 : n;
    }
    if (enqueue(peer, head, body, (size_t)n, err) == 0)
        return 0;
    if (n > 0) /* half a frame is under way and the rest cannot follow: nothing after it would be
                  understood */
        end(peer, NULL);
    return -1;
}

int peer_send_bytes(struct peer *peer, const void *data, size_t len, struct error *err)
{
    if (peer->is_over)
        return gone(err);
    if (buf_add(&peer->pending, data, len, err) < 0)
        return -1;
    if (!peer->writer) {
        peer->writer = loop_watch_fd(peer->loop, peer->out_fd, LOOP_WRITE, on_writable, peer);
        if (!peer->writer)
            return error_memory(err);
        on_writable(peer);
    }
    return 0;
}

int peer_redirect(struct peer *peer, int fd, struct error *err)
{
    if (peer->is_over || peer->pending.len) {
        (void)close(fd);
        return peer->is_over ? gone(err)
                             : error_set(err, E_PROTOCOL, "the other side does not read");
    }
    if (peer->out_fd != peer->fd)
        close_fd(&peer->out_fd);
    peer->out_fd = fd;
    peer->out_is_pipe = false; /* not known yet */
    return 0;
}

void peer_enter(struct peer *peer, enum wire_state state)
{
    peer->state = state;
    memset(peer->sent, 0, sizeof(peer->sent));
}

int peer_hold(struct peer *peer, bool is_held, struct error *err)
{
    if (is_held || peer->is_over) {
        loop_work_cancel(&peer->reading);
        loop_watch_free(peer->watch);
        peer->watch = NULL;
        return 0;
    }
    if (!peer->watch)
        peer->watch = loop_watch_fd(peer->loop, peer->fd, LOOP_READ, on_readable, peer);
    if (!peer->watch)
        return error_memory(err);
    peer_go_on(peer);
    return 0;
}
