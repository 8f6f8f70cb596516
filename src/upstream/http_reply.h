/* The answer of an HTTP server, read byte by byte: a JSON body, or a stream of events that each
 * carry one text. Pure functions over bytes; the server is a stranger.
 *
 * Only what is asked for is understood: HTTP/1.x, a length, chunks or the end of the connection,
 * and no compression. Everything has a ceiling.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

#define HTTP_REPLY_SESSION_MAX 256

enum http_reply_state {
    HTTP_REPLY_STATUS,
    HTTP_REPLY_HEADERS,
    HTTP_REPLY_BODY,      /* `left` bytes of it, or of a chunk, or all until the end */
    HTTP_REPLY_CHUNK,     /* the line with its size */
    HTTP_REPLY_CHUNK_END, /* the empty line behind it */
    HTTP_REPLY_TRAILERS,
    HTTP_REPLY_DONE,
};

struct http_reply {
    enum http_reply_state state;
    int status;
    bool is_events; /* text/event-stream */
    bool is_chunked;
    bool has_length;
    unsigned n_headers;
    uint64_t left;
    uint64_t total;                       /* bytes so far, of everything */
    char session[HTTP_REPLY_SESSION_MAX]; /* the header Mcp-Session-Id, or "" */
    struct buf line;
    struct buf text; /* the body, or the data of an event */
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
