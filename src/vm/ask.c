#include "vm/ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "base/cleanup.h"
#include "base/limits.h"

/* A request without its body, and the longest body. */
#define HEAD_MAX    ((size_t)64 << 10)
#define REQUEST_MAX (((size_t)192 << 20) + HEAD_MAX)

/* Read in one turn. */
#define PIECE_BYTES ((size_t)128 << 10)

/* Of a body that comes in pieces: unsent bytes past which its writer waits. */
#define BEHIND_BYTES ((size_t)256 << 10)

struct ask {
    struct loop *loop;
    struct keeper *keeper;
    struct keeper_guest guest;
    const struct ask_events *events;
    void *user;
    struct buf request; /* until there is a connection */
    struct bufferevent *socket;
    struct http_response response;
    struct loop_work failing;
    struct error error;
    bool has_head, is_held, is_behind;
};

void ask_free(struct ask *ask)
{
    if (!ask)
        return;
    keeper_leave(ask->keeper, &ask->guest);
    loop_work_cancel(&ask->failing);
    if (ask->socket)
        bufferevent_free(ask->socket);
    buf_done(&ask->request);
    http_response_done(&ask->response);
    error_done(&ask->error);
    free(ask);
}

static void hang_up(struct ask *ask)
{
    if (ask->socket)
        bufferevent_free(take_ptr(ask->socket));
}

/* The owner may free it. */
static void fail(struct ask *ask, const struct error *err)
{
    hang_up(ask);
    ask->events->on_failed(ask->user, err);
}

/* --- the answer --- */

static int take_head(struct ask *ask, struct error *err)
{
    if (ask->has_head || !ask->response.has_head)
        return 0;
    ask->has_head = true;
    return ask->events->on_head(ask->user, &ask->response.head, err);
}

static int on_piece(void *user, const char *data, size_t len, struct error *err)
{
    struct ask *ask = user;

    return take_head(ask, err) < 0 ? -1 : ask->events->on_piece(ask->user, data, len, err);
}

/* 1: the answer is whole. */
static int read_answer(struct ask *ask, struct error *err)
{
    struct evbuffer *input = bufferevent_get_input(ask->socket);
    size_t len;

    while ((len = evbuffer_get_contiguous_space(input)) > 0 && !ask->response.is_over) {
        const char *data = (const char *)evbuffer_pullup(input, (ssize_t)len);

        if (http_response_feed(&ask->response, data, len, on_piece, ask, err) < 0 ||
            take_head(ask, err) < 0)
            return error_wrap(err, "the virtual machine's answer");
        (void)evbuffer_drain(input, len);
    }
    return ask->response.is_over;
}

static void on_read(struct bufferevent *socket, void *arg)
{
    cleanup_error struct error err = {0};
    struct ask *ask = arg;
    int r = read_answer(ask, &err);

    (void)socket;
    if (r < 0) {
        fail(ask, &err);
    } else if (r > 0) {
        hang_up(ask);
        ask->events->on_end(ask->user);
    }
}

static void on_write(struct bufferevent *socket, void *arg)
{
    struct ask *ask = arg;

    (void)socket;
    if (ask->is_behind && ask->events->on_room) {
        ask->is_behind = false;
        ask->events->on_room(ask->user);
    }
}

static void on_event(struct bufferevent *socket, short what, void *arg)
{
    cleanup_error struct error err = {0};

    (void)socket;
    if (what & BEV_EVENT_CONNECTED)
        return;
    error_set(&err, E_SYSTEM, "the virtual machine ended before it had answered");
    error_hint(&err, "the next run starts another one; try again if that does no harm");
    fail(arg, &err);
}

/* --- the request --- */

static void on_connection(struct keeper_guest *guest, int fd, const struct error *err)
{
    struct ask *ask = (struct ask *)((char *)guest - offsetof(struct ask, guest));
    cleanup_error struct error memory = {0};

    if (fd < 0) {
        fail(ask, err);
        return;
    }
    ask->socket = bufferevent_socket_new(loop_base(ask->loop), fd, BEV_OPT_CLOSE_ON_FREE);
    if (!ask->socket)
        (void)close(fd);
    if (!ask->socket ||
        bufferevent_write(ask->socket, buf_str(&ask->request), ask->request.len) < 0) {
        error_memory(&memory);
        fail(ask, &memory);
        return;
    }
    buf_done(&ask->request);
    bufferevent_setcb(ask->socket, on_read, on_write, on_event, ask);
    bufferevent_setwatermark(ask->socket, EV_READ, 0, PIECE_BYTES);
    bufferevent_setwatermark(ask->socket, EV_WRITE, BEHIND_BYTES / 2, 0);
    (void)bufferevent_enable(ask->socket, ask->is_held ? EV_WRITE : EV_READ | EV_WRITE);
    if (ask->events->on_sent)
        ask->events->on_sent(ask->user);
}

static int write_request(const struct ask_order *order, struct buf *request, struct error *err)
{
    const struct buf *body = order->body;

    if (buf_printf(request, err, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s",
                   order->method, order->path, order->headers ? order->headers : "") < 0)
        return -1;
    if (order->is_upload)
        return buf_add_str(request, "Transfer-Encoding: chunked\r\n\r\n", err);
    if (!body)
        return buf_add_str(request, "\r\n", err);
    if (buf_printf(request, err, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                   body->len) < 0)
        return -1;
    return buf_add(request, body->data, body->len, err);
}

static void fail_now(void *arg)
{
    struct ask *ask = arg;

    fail(ask, &ask->error);
}

struct ask *ask_new(struct loop *loop, struct keeper *keeper, const struct ask_order *order,
                    const struct ask_events *events, void *user)
{
    struct ask *ask = calloc(1, sizeof(*ask));

    if (!ask)
        return NULL;
    *ask = (struct ask){.loop = loop,
                        .keeper = keeper,
                        .guest = {.on_connection = on_connection},
                        .events = events,
                        .user = user};
    buf_init(&ask->request, REQUEST_MAX);
    http_response_init(&ask->response);
    if (write_request(order, &ask->request, &ask->error) < 0) {
        loop_work_post(loop, &ask->failing, fail_now, ask);
    } else if (!order->is_eager && !keeper_is_up(keeper)) {
        error_set(&ask->error, E_SYSTEM, "the virtual machine has ended");
        loop_work_post(loop, &ask->failing, fail_now, ask);
    } else {
        keeper_ask(keeper, &ask->guest);
    }
    return ask;
}

void ask_hold(struct ask *ask, bool is_held)
{
    ask->is_held = is_held;
    if (ask->socket && is_held)
        (void)bufferevent_disable(ask->socket, EV_READ);
    else if (ask->socket)
        (void)bufferevent_enable(ask->socket, EV_READ);
}

/* Without memory the request stays unfinished, and the machine refuses it. */
static void send_bytes(struct ask *ask, const void *data, size_t len)
{
    if (ask->socket)
        (void)bufferevent_write(ask->socket, data, len);
    else
        (void)buf_add(&ask->request, data, len, NULL);
}

bool ask_write(struct ask *ask, const void *data, size_t len)
{
    char size[24];
    int n = snprintf(size, sizeof(size), "%zx\r\n", len);

    if (!len)
        return true;
    send_bytes(ask, size, (size_t)n);
    send_bytes(ask, data, len);
    send_bytes(ask, "\r\n", 2);
    ask->is_behind =
        !ask->socket || evbuffer_get_length(bufferevent_get_output(ask->socket)) > BEHIND_BYTES;
    return !ask->is_behind;
}

void ask_written(struct ask *ask)
{
    send_bytes(ask, "0\r\n\r\n", 5);
}
