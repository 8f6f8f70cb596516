/* Bytes between a program and its host. Whoever reads slowly stops the other: what waits is
 * bounded, and the rest stays in Linux's buffers and with its sender. */
#include <stdio.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "base/cleanup.h"
#include "egress/internal.h"

/* By one wake-up of one connection: as much as may wait, in pieces that with libevent's own head
 * are 64 KiB of memory. */
#define POUR_BYTES (65536 - 512)
#define POUR_TIMES 4

static size_t waiting(struct bufferevent *to)
{
    return evbuffer_get_length(bufferevent_get_output(to));
}

static bool is_http(const struct proxy_client *g)
{
    return g->how == EGRESS_HTTP;
}

/* libevent reads 4 KiB each time it wakes us. Where nobody has to look at the bytes, what else is
 * there goes straight on. The end, and errors, are for libevent to see. */
static size_t pour(const struct proxy_client *g, struct bufferevent *from, struct bufferevent *to)
{
    struct evbuffer *out = bufferevent_get_output(to);
    size_t total = 0;

    /* Thousands of connections may have something at once: when that has taken long, each of the
     * others moves no more than what libevent has read. */
    for (int i = 0; i < POUR_TIMES && !loop_is_late(g->egress->loop); i++) {
        struct evbuffer_iovec room;
        ssize_t n;

        if (evbuffer_reserve_space(out, POUR_BYTES, &room, 1) < 1)
            break;
        n = recv(bufferevent_getfd(from), room.iov_base, room.iov_len, MSG_DONTWAIT);
        if (n <= 0)
            break;
        room.iov_len = (size_t)n;
        if (evbuffer_commit_space(out, &room, 1) < 0)
            break;
        total += (size_t)n;
    }
    return total;
}

/* --- from the program --- */

/* The number of available bytes that belong to the request; -1: they are not a body. */
static ssize_t body_part(struct proxy_client *g, struct evbuffer *in)
{
    size_t len = evbuffer_get_length(in), at = 0;
    const char *data = g->is_asked ? NULL : (const char *)evbuffer_pullup(in, -1);

    if (!data)
        return g->is_asked ? 0 : -1;
    while (at < len && !g->is_asked) {
        struct span piece;
        size_t used = 0;
        int r = http_body_next(&g->body, data + at, len - at, &piece, &used);

        if (r < 0)
            return -1;
        at += used;
        g->is_asked = r;
    }
    return (ssize_t)at;
}

/* Bytes after a request are not forwarded: each request has its own connection, and says so
 * (Connection: close). They are read and dropped, so that the end is noticed. */
static bool pass_request(struct proxy_client *g, struct evbuffer *in, struct evbuffer *out)
{
    size_t len = evbuffer_get_length(in);
    ssize_t part = body_part(g, in);

    if (part < 0)
        return false;
    if (part > 0)
        (void)evbuffer_remove_buffer(in, out, (size_t)part);
    (void)evbuffer_drain(in, len - (size_t)part);
    return true;
}

static void from_inner(struct proxy_client *g)
{
    struct evbuffer *in = bufferevent_get_input(g->inner);
    struct evbuffer *out = bufferevent_get_output(g->outer);
    size_t len = evbuffer_get_length(in);

    if (!len)
        return;
    if (!is_http(g)) {
        (void)evbuffer_add_buffer(out, in);
        len += pour(g, g->inner, g->outer);
    } else if (!pass_request(g, in, out)) {
        proxy_client_end(g);
        return;
    }
    if (!proxy_client_count(g, len, 0))
        return;
    if (waiting(g->outer) > EGRESS_HIGH) {
        g->is_inner_held = true;
        (void)bufferevent_disable(g->inner, EV_READ);
    }
}

void proxy_client_on_inner(struct bufferevent *inner, void *arg)
{
    struct proxy_client *g = arg;

    switch (g->stage) {
    case EGRESS_ASKING:
    case EGRESS_SOCKS:
        proxy_client_listen(g);
        break;
    case EGRESS_OPEN:
        from_inner(g);
        break;
    case EGRESS_CLOSING: /* read, so that our answer is not lost with a reset */
        (void)evbuffer_drain(bufferevent_get_input(inner),
                             evbuffer_get_length(bufferevent_get_input(inner)));
        break;
    default:
        break;
    }
}

/* --- from the host --- */

/* False: it is no answer, or no memory. */
static bool pass_answer_head(struct proxy_client *g, struct evbuffer *in)
{
    while (!g->is_answered && evbuffer_get_length(in)) {
        cleanup(buf_done) struct buf head = {0};
        size_t len = evbuffer_get_length(in);
        bool is_interim = false;
        const char *data;
        long n;

        len = len < PROXY_HEAD_BYTES ? len : PROXY_HEAD_BYTES;
        data = (const char *)evbuffer_pullup(in, (ev_ssize_t)len);
        buf_init(&head, (size_t)2 * PROXY_HEAD_BYTES);
        n = data ? proxy_answer_head(data, len, &g->scanned, &head, &is_interim, NULL) : -1;
        if (n < 0)
            return false;
        if (n == 0)
            return true;
        g->scanned = 0;
        (void)bufferevent_write(g->inner, buf_str(&head), head.len);
        (void)evbuffer_drain(in, (size_t)n);
        g->is_answered = !is_interim;
    }
    return true;
}

void proxy_client_on_outer(struct bufferevent *outer, void *arg)
{
    struct proxy_client *g = arg;
    struct evbuffer *in = bufferevent_get_input(outer);
    size_t before = evbuffer_get_length(in);

    if (is_http(g) && !g->is_answered && !pass_answer_head(g, in)) {
        proxy_client_refuse(g, 502, "malformed HTTP response from the host", false);
        return;
    }
    if (!is_http(g) || g->is_answered) {
        (void)evbuffer_add_buffer(bufferevent_get_output(g->inner), in);
        if (!g->is_tls)
            before += pour(g, outer, g->inner);
    }
    if (!proxy_client_count(g, 0, before - evbuffer_get_length(in)))
        return;
    if (waiting(g->inner) > EGRESS_HIGH) {
        g->is_outer_held = true;
        (void)bufferevent_disable(outer, EV_READ);
    }
}

/* --- room again --- */

/* Tells the other side that nothing more comes. */
static void shut(struct bufferevent *side)
{
    int fd = bufferevent_getfd(side);

    if (fd >= 0)
        (void)shutdown(fd, SHUT_WR);
}

void proxy_client_on_outer_sent(struct bufferevent *outer, void *arg)
{
    struct proxy_client *g = arg;

    g->active_ns = loop_now_ns();
    if (g->is_inner_held) {
        g->is_inner_held = false;
        (void)bufferevent_enable(g->inner, EV_READ);
    }
    if (g->is_inner_over && waiting(outer) == 0)
        shut(outer);
}

void proxy_client_on_inner_sent(struct bufferevent *inner, void *arg)
{
    struct proxy_client *g = arg;

    g->active_ns = loop_now_ns();
    if (g->is_outer_held && g->outer) {
        g->is_outer_held = false;
        (void)bufferevent_enable(g->outer, EV_READ);
    }
    if (waiting(inner) != 0)
        return;
    if (g->stage == EGRESS_CLOSING) {
        shut(inner);
    } else if (g->is_outer_over) {
        shut(inner);
        if (is_http(g) || g->is_inner_over)
            proxy_client_end(g);
    }
}

/* --- ends --- */

void proxy_client_on_inner_event(struct bufferevent *inner, short what, void *arg)
{
    struct proxy_client *g = arg;

    (void)inner;
    /* In a tunnel either side may have said all while the other goes on. */
    if (!(what & BEV_EVENT_EOF) || g->stage != EGRESS_OPEN || is_http(g) || g->is_outer_over) {
        proxy_client_end(g);
        return;
    }
    g->is_inner_over = true;
    if (waiting(g->outer) == 0)
        shut(g->outer);
}

void proxy_client_on_outer_event(struct bufferevent *outer, short what, void *arg)
{
    struct proxy_client *g = arg;

    (void)outer;
    if (is_http(g) && !g->is_answered) {
        proxy_client_refuse(g, 502, "the host ended without an answer", false);
        return;
    }
    g->is_outer_over = true;
    if (!(what & BEV_EVENT_EOF))
        g->is_inner_over = true; /* an error: what it said is passed on, nothing more */
    if (waiting(g->inner) != 0)
        return;
    shut(g->inner);
    if (is_http(g) || g->is_inner_over)
        proxy_client_end(g);
}

void proxy_client_open(struct proxy_client *g)
{
    g->stage = EGRESS_OPEN;
    g->egress->totals.connections++;
    bufferevent_setcb(g->outer, proxy_client_on_outer, proxy_client_on_outer_sent,
                      proxy_client_on_outer_event, g);
    bufferevent_setwatermark(g->outer, EV_READ, 0, EGRESS_HIGH);
    bufferevent_setwatermark(g->outer, EV_WRITE, EGRESS_LOW, 0);
    (void)bufferevent_enable(g->outer, EV_READ | EV_WRITE);
    if (g->how == EGRESS_CONNECT)
        (void)bufferevent_write(g->inner, "HTTP/1.1 200 Connection established\r\n\r\n", 39);
    else if (g->how == EGRESS_SOCKS5)
        (void)bufferevent_write(g->inner, "\5\0\0\1\0\0\0\0\0\0", 10);
    else if (!proxy_client_count(g, g->head.len, 0)) {
        return;
    } else if (bufferevent_write(g->outer, g->head.data, g->head.len) < 0) {
        proxy_client_end(g);
        return;
    }
    g->active_ns = loop_now_ns();
    (void)bufferevent_enable(g->inner, EV_READ);
    from_inner(g); /* what came with the question */
}
