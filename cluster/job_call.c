#include "cluster/job_call.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/http1.h"
#include "cluster/node_internal.h"

/* Longer than a job is waited for. */
#define SILENT_S 45

struct job_call {
    struct bufferevent *socket;
    struct http_response response;
    struct buf body;
    job_call_fn fn;
    void *user;
};

void job_call_free(struct job_call *call)
{
    if (!call)
        return;
    if (call->socket)
        bufferevent_free(call->socket);
    http_response_done(&call->response);
    buf_done(&call->body);
    free(call);
}

static void end(struct job_call *call, int status)
{
    struct buf body = call->body;

    call->body = (struct buf){0};
    call->fn(call->user, status, &body);
    buf_done(&body);
    job_call_free(call);
}

static int on_piece(void *user, const char *data, size_t len, struct error *err)
{
    struct job_call *call = user;

    return buf_add(&call->body, data, len, err);
}

static void on_read(struct bufferevent *socket, void *arg)
{
    struct job_call *call = arg;
    struct evbuffer *input = bufferevent_get_input(socket);
    size_t len = evbuffer_get_length(input);
    const char *data = (const char *)evbuffer_pullup(input, -1);

    if (!data || http_response_feed(&call->response, data, len, on_piece, call, NULL) < 0) {
        end(call, 0);
        return;
    }
    (void)evbuffer_drain(input, len);
    if (call->response.is_over)
        end(call, call->response.head.status);
}

static void on_event(struct bufferevent *socket, short what, void *arg)
{
    struct job_call *call = arg;

    (void)socket;
    if (what & BEV_EVENT_CONNECTED)
        return;
    end(call, http_response_end(&call->response, NULL) == 0 ? call->response.head.status : 0);
}

static void write_request(struct evbuffer *out, const struct job_call_order *order)
{
    (void)evbuffer_add_printf(out,
                              "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n",
                              order->method, order->target, order->credentials);
    if (order->body)
        (void)evbuffer_add_printf(
            out, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n", order->body->len);
    else
        (void)evbuffer_add(out, "\r\n", 2);
    if (order->body)
        (void)evbuffer_add(out, buf_str(order->body), order->body->len);
}

struct job_call *job_call_begin(struct loop *loop, const struct job_call_order *order)
{
    static const struct timeval silent = {.tv_sec = SILENT_S};
    struct job_call *call = calloc(1, sizeof(*call));
    int fd = call ? relay_dial(order->socket) : -1;

    if (fd >= 0)
        call->socket = bufferevent_socket_new(loop_base(loop), fd, BEV_OPT_CLOSE_ON_FREE);
    if (!call || !call->socket) {
        if (fd >= 0)
            (void)close(fd);
        free(call);
        return NULL;
    }
    call->fn = order->fn;
    call->user = order->user;
    http_response_init(&call->response);
    buf_init(&call->body, order->max_answer);
    bufferevent_setcb(call->socket, on_read, NULL, on_event, call);
    (void)bufferevent_set_timeouts(call->socket, &silent, &silent);
    write_request(bufferevent_get_output(call->socket), order);
    (void)bufferevent_enable(call->socket, EV_READ | EV_WRITE);
    return call;
}
