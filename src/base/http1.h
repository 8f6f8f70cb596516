/* HTTP/1: the one reader of messages, for the server, its clients, the gate, servers behind a URL
 * and functions.
 *
 * Two readers of one message that disagree about where it ends are a hole (request smuggling), so
 * there is one, and what RFC 9112 lets a lenient reader accept is refused: a bare LF, a space
 * before the colon, folded lines, repeated or conflicting lengths, any transfer coding but
 * `chunked`, chunk extensions, trailers.
 *
 * Heads and bodies are pure functions over bytes. struct http_response reads a whole response as it
 * comes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/span.h"

#define HTTP_HEADERS_MAX 128

/* Of the head: its bytes, and its headers, of which HTTP_HEADERS_MAX is the most; and what to say
 * when there are more. */
struct http_limits {
    size_t bytes, headers;
    const char *too_long, *too_many;
};

/* The error, and the status that a server answers with before it closes the connection. */
struct http_refusal {
    int status;
    const char *message;
};

static inline int http_refuse(struct http_refusal *why, int status, const char *message)
{
    *why = (struct http_refusal){status, message};
    return -1;
}

static inline int http_malformed(const char *what, struct error *err)
{
    return error_set(err, E_PROTOCOL, "malformed HTTP response: %s", what);
}

/* HTTP_UNTIL_CLOSE: of responses only. */
enum http_framing { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED, HTTP_UNTIL_CLOSE };

struct http_header {
    struct span name, value;
};

/* Points into the bytes it was read from. */
struct http_head {
    struct span method;    /* of a request: capitals and hyphens */
    struct span target;    /* of a request: printable ASCII without `#` */
    struct span path;      /* for the server (http/request_rules.h): begins with a slash */
    struct span query;     /* for the server: behind the question mark, or empty */
    int status;            /* of a response: 100 to 999 */
    bool is_old;           /* HTTP/1.0 */
    bool keeps_alive;      /* for the server */
    bool expects_continue; /* for the server */
    enum http_framing framing;
    uint64_t length; /* of the body, for HTTP_LENGTH */
    struct http_header headers[HTTP_HEADERS_MAX];
    size_t n_headers;
};

/* Both return the length of a whole head, 0 when more bytes are needed, -1 when it is refused.
 * *scanned is how far an earlier call has looked, 0 at first: a head that comes byte by byte is
 * looked at once. */
ssize_t http_read_request(const char *data, size_t len, const struct http_limits *limits,
                          size_t *scanned, struct http_head *ret_head,
                          struct http_refusal *ret_why);
ssize_t http_read_response(const char *data, size_t len, const struct http_limits *limits,
                           size_t *scanned, struct http_head *ret_head,
                           struct http_refusal *ret_why);

/* Applies these rules to a request whose head another process has taken apart: method, target,
 * is_old and headers are given and checked, framing and length are worked out from them. -1: it
 * breaks a rule, and no reader of ours would have let it through. */
int http_check_request(struct http_head *head, const struct http_limits *limits,
                       struct http_refusal *ret_why);

/* The value of the first header of that name, or NULL data. Names are compared without case. */
struct span http_head_get(const struct http_head *head, const char *name);
size_t http_head_count(const struct http_head *head, const char *name);

/* Whether a header that is a list, as `Connection`, has that word, in one line or several. */
bool http_head_lists(const struct http_head *head, const char *name, struct span word);

/* --- the body --- */

struct http_body {
    enum http_framing framing;
    uint64_t left; /* of the body, or of the chunk */
    int state;     /* of the chunk's frame */
};

void http_body_init(struct http_body *body, const struct http_head *head);

/* Looks at the next bytes. Returns 1 when the body is over, 0 when it goes on, -1 when its framing
 * is broken. *ret_used bytes of `data` are done with; *ret_piece is the part of them that is
 * content, maybe none. */
int http_body_next(struct http_body *body, const char *data, size_t len, struct span *ret_piece,
                   size_t *ret_used);

/* --- a response as it comes --- */

/* Takes a piece of the body. An error ends the reading. */
typedef int (*http_piece_fn)(void *user, const char *data, size_t len, struct error *err);

struct http_response {
    struct http_head head; /* once has_head; of the last one, behind 100 Continue */
    bool has_head;
    bool is_over; /* what follows is not looked at */
    struct buf bytes;
    size_t scanned;
    struct http_body body;
};

void http_response_init(struct http_response *response);
void http_response_done(struct http_response *response);

/* E_PROTOCOL: it is not HTTP/1, or not as strict as it has to be. */
int http_response_feed(struct http_response *response, const char *data, size_t len,
                       http_piece_fn on_piece, void *user, struct error *err);

/* The connection has ended: E_PROTOCOL when the response had not. */
int http_response_end(struct http_response *response, struct error *err);
