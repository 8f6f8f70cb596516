/* The strict look at the bytes of a request: the one parser of HTTP there is.
 *
 * Two readers of one message that disagree about where it ends are a hole (request smuggling), so
 * there is one, and what RFC 9112 lets a lenient one accept is refused: a bare LF, a space before
 * the colon, folded lines, repeated or conflicting lengths, any transfer coding but `chunked`,
 * absolute targets, chunk extensions, trailers. A client that speaks HTTP sends none of it.
 *
 * Pure functions over bytes: nothing is read, written or allocated here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/limits.h"
#include "wire/pack.h"

#define HTTP_HEAD_BYTES  (16 * KIB)
#define HTTP_HEADERS_MAX 64

/* Answer with this status and close: what follows cannot be told from the head any more. */
struct http_refusal {
    int status;
    const char *message;
};

enum http_framing { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED };

struct http_header {
    struct span name, value;
};

/* Points into the bytes it was read from. */
struct http_head {
    struct span method;
    struct span path;  /* still percent-encoded, begins with a slash */
    struct span query; /* behind the question mark, or empty */
    bool is_old;       /* HTTP/1.0 */
    bool keeps_alive;
    bool expects_continue;
    enum http_framing framing;
    uint64_t length; /* of the body, for HTTP_LENGTH */
    struct http_header headers[HTTP_HEADERS_MAX];
    size_t n_headers;
};

/* Returns the length of a whole head, 0 when more bytes are needed, -1 when it is refused. *scanned
 * is how far an earlier call has looked, 0 at first: a head that comes byte by byte is looked at
 * once. */
ssize_t http_parser_check(const char *data, size_t len, size_t *scanned, struct http_head *ret_head,
                         struct http_refusal *ret_why);

/* The value of a header that is there once, or NULL data. Names are compared without case. */
struct span http_head_get(const struct http_head *head, const char *name);

bool span_is(struct span s, const char *text);        /* the same bytes */
bool span_is_nocase(struct span s, const char *text); /* the same letters */
size_t span_until(struct span s, const char *ends);   /* bytes before the first of these */

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
