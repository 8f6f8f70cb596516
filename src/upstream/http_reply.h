/* The answer of an HTTP server, read byte by byte: a JSON body, or a stream of events that each
 * carry one text. Pure functions over bytes; the server is a stranger.
 *
 * base/http1.h reads HTTP itself. Compression is refused. Everything has a ceiling.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/http1.h"

#define HTTP_REPLY_SESSION_MAX 256

struct http_reply {
    struct http_response response; /* is_over: the answer has ended */
    bool has_read_head;
    int status;
    bool is_events;                       /* text/event-stream */
    uint64_t total;                       /* bytes so far, of everything */
    char session[HTTP_REPLY_SESSION_MAX]; /* the header Mcp-Session-Id, or "" */
    struct buf text;                      /* the body, or the data of an event */
    struct buf event_line;
    /* A whole text: the body, or the data of one event. */
    void (*on_text)(void *user, const char *text, size_t len);
    void *user;
};

void http_reply_init(struct http_reply *reply,
                     void (*on_text)(void *user, const char *text, size_t len), void *user);
void http_reply_done(struct http_reply *reply);

/* E_PROTOCOL, or E_TOO_LARGE: nothing more can be made of it. Bytes behind the end are passed over.
 */
int http_reply_feed(struct http_reply *reply, const char *data, size_t len, struct error *err);

/* The connection has ended: E_PROTOCOL when the answer had not. */
int http_reply_end(struct http_reply *reply, struct error *err);
