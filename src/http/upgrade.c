/* Connections that carry another protocol after an answer of 101. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "http/internal.h"
#include "http/websocket_frame.h"

/* Pieces that are taken before the listener is told. */
#define TELL_BYTES LISTENER_PIECE

void request_upgrade(struct request *request, const char *headers, uint32_t max_message)
{
    static const char line[] = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n";
    struct http_connection *c = request->connection;

    http_put(c, line, sizeof(line) - 1);
    http_put(c, headers, strlen(headers));
    http_put(c, "\r\n", 2);
    c->is_closing = true;
    c->is_chunked = false;
    c->owed = REQUEST_UNKNOWN_LENGTH;
    c->is_upgraded = true;
    c->is_framed = max_message > 0;
    c->untold = c->untaken = 0;
    http_enter(c, HTTP_STREAMING);
    http_pump(c);
    http_link_say_number(c->link, LISTENER_OPEN, c->id, max_message);
    http_link_flush(c->link);
}

void request_taken(struct request *request, size_t len)
{
    struct http_connection *c = request->connection;
    size_t cost = c->is_framed ? listener_cost(len + 1) : len;

    c->untaken -= c->untaken < cost ? c->untaken : cost;
    c->untold += cost;
    /* Of a body the listener sends a window in any case, and begins anew with the next one. */
    if (c->untold < TELL_BYTES && (c->untaken || !c->is_upgraded))
        return;
    http_link_say_number(c->link, LISTENER_TAKEN, c->id, (uint32_t)c->untold);
    http_link_flush(c->link);
    c->untold = 0;
}

/* The window was full when the last piece of it came. */
static int count(struct http_connection *c, size_t len)
{
    c->untaken += c->is_framed ? listener_cost(len) : len;
    return c->untaken <= LISTENER_WINDOW + 2 * LISTENER_PIECE ? 0 : -1;
}

int http_on_upgraded(struct http_connection *c, const struct listener_frame *frame)
{
    bool is_bytes = frame->type == LISTENER_BODY;
    struct request *request = c->request;

    if (!c->is_upgraded || c->is_framed == is_bytes)
        return -1;
    if (c->state != HTTP_STREAMING || !request)
        return 0; /* we have ended it already */
    if (frame->type == LISTENER_BROKEN) {
        request->on_broken(request, (int)listener_number(frame));
        return 0;
    }
    if (count(c, frame->len) < 0)
        return -1;
    if (is_bytes)
        return request->on_bytes(request, 0, frame->data, frame->len);
    return request->on_bytes(request, (unsigned char)frame->data[0], frame->data + 1,
                             frame->len - 1);
}

void http_stop_upgraded(struct http_server *server)
{
    for (struct http_connection *c = TAILQ_FIRST(&server->connections), *next; c; c = next) {
        next = TAILQ_NEXT(c, of_server);
        if (c->is_upgraded && c->state == HTTP_STREAMING && c->request->on_stop)
            c->request->on_stop(c->request);
    }
}
