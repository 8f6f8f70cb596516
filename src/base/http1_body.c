/* The framing of a body: a length, chunks without extensions and trailers, or the end of the
 * connection. */
#include "base/http1.h"

#include "base/hex.h"

/* Hex digits of a chunk's size. */
#define CHUNK_DIGITS 8

/* The position in a chunk. Below CHUNK_SIZE_LF the state is how many digits have come. */
enum {
    CHUNK_SIZE = 0,
    CHUNK_SIZE_LF = 100, /* the CR behind the digits has come */
    CHUNK_DATA,          /* content */
    CHUNK_DATA_CR,
    CHUNK_DATA_LF, /* behind it */
    CHUNK_END_CR,
    CHUNK_END_LF, /* the empty line behind the last one */
    CHUNK_OVER,
};

void http_body_init(struct http_body *body, const struct http_head *head)
{
    *body = (struct http_body){head->framing, head->framing == HTTP_LENGTH ? head->length : 0,
                               CHUNK_SIZE};
}

static int expect(struct http_body *body, char c, char wanted, int next)
{
    body->state = next;
    return c == wanted ? 0 : -1;
}

/* One byte of the frame. */
static int step(struct http_body *body, char c)
{
    switch (body->state) {
    case CHUNK_SIZE_LF:
        return expect(body, c, '\n', body->left ? CHUNK_DATA : CHUNK_END_CR);
    case CHUNK_DATA_CR:
        return expect(body, c, '\r', CHUNK_DATA_LF);
    case CHUNK_DATA_LF:
        return expect(body, c, '\n', CHUNK_SIZE);
    case CHUNK_END_CR:
        return expect(body, c, '\r', CHUNK_END_LF);
    case CHUNK_END_LF:
        return expect(body, c, '\n', CHUNK_OVER);
    default: /* the size */
        if (c == '\r' && body->state > 0)
            return expect(body, c, '\r', CHUNK_SIZE_LF);
        if (hex_value(c) < 0 || ++body->state > CHUNK_DIGITS)
            return -1;
        body->left = body->left << 4 | (uint64_t)hex_value(c);
        return 0;
    }
}

static void take_content(struct http_body *body, const char *data, size_t len,
                         struct span *ret_piece, size_t *used)
{
    size_t n = len - *used;

    n = n < body->left ? n : (size_t)body->left;
    *ret_piece = (struct span){data + *used, n};
    body->left -= n;
    *used += n;
}

int http_body_next(struct http_body *body, const char *data, size_t len, struct span *ret_piece,
                   size_t *ret_used)
{
    size_t used = 0;

    *ret_piece = (struct span){data, 0};
    if (body->framing == HTTP_UNTIL_CLOSE) {
        ret_piece->len = *ret_used = len;
        return 0;
    }
    if (body->framing != HTTP_CHUNKED) {
        take_content(body, data, len, ret_piece, &used);
        *ret_used = used;
        return body->left == 0;
    }
    while (used < len && body->state != CHUNK_OVER && !ret_piece->len) {
        if (body->state != CHUNK_DATA) {
            if (step(body, data[used++]) < 0)
                return -1;
            continue;
        }
        take_content(body, data, len, ret_piece, &used);
        if (body->left == 0)
            body->state = CHUNK_DATA_CR;
    }
    *ret_used = used;
    return body->state == CHUNK_OVER;
}
