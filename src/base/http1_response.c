/* A response as it comes, whole or in pieces. */
#include "base/cleanup.h"
#include "base/http1.h"
#include "base/limits.h"

static const struct http_limits limits = {
    64 * KIB, HTTP_HEADERS_MAX, "the head is longer than 64 KB", "there are more than 128 headers"};

void http_response_init(struct http_response *r)
{
    *r = (struct http_response){0};
    buf_init(&r->bytes, limits.bytes);
}

void http_response_done(struct http_response *r)
{
    buf_done(&r->bytes);
}

/* The head is complete, and its last `end` bytes are all that there is. */
static int end_head(struct http_response *r, struct error *err)
{
    if (r->head.status == 101)
        return http_malformed("it switched to another protocol", err);
    if (r->head.status < 200) { /* the real one follows */
        buf_clear(&r->bytes);
        r->scanned = 0;
        return 0;
    }
    http_body_init(&r->body, &r->head);
    r->has_head = true;
    r->is_over = r->head.framing == HTTP_NO_BODY;
    return 0;
}

/* *ret_used of the new bytes belong to this head. */
static int feed_head(struct http_response *r, const char *data, size_t len, size_t *ret_used,
                     struct error *err)
{
    struct http_refusal why = {0};
    size_t before = r->bytes.len, room = limits.bytes - before;
    ssize_t end;

    len = len < room ? len : room;
    if (buf_add(&r->bytes, data, len, err) < 0)
        return -1;
    end = http_read_response(r->bytes.data, r->bytes.len, &limits, &r->scanned, &r->head, &why);
    if (end < 0)
        return http_malformed(why.message, err);
    *ret_used = end ? (size_t)end - before : len;
    return end ? end_head(r, err) : 0;
}

static int feed_body(struct http_response *r, const char *data, size_t len, http_piece_fn on_piece,
                     void *user, size_t *ret_used, struct error *err)
{
    struct span piece;
    int over = http_body_next(&r->body, data, len, &piece, ret_used);

    if (over < 0)
        return http_malformed("bad chunk", err);
    r->is_over = over;
    return piece.len ? on_piece(user, piece.data, piece.len, err) : 0;
}

int http_response_feed(struct http_response *r, const char *data, size_t len,
                       http_piece_fn on_piece, void *user, struct error *err)
{
    while (len && !r->is_over) {
        size_t used = 0;

        if ((r->has_head ? feed_body(r, data, len, on_piece, user, &used, err)
                         : feed_head(r, data, len, &used, err)) < 0)
            return -1;
        data += used;
        len -= used;
    }
    return 0;
}

int http_response_end(struct http_response *r, struct error *err)
{
    if (!r->is_over && !(r->has_head && r->head.framing == HTTP_UNTIL_CLOSE))
        return error_set(err, E_PROTOCOL, "the server ended its answer early");
    r->is_over = true;
    return 0;
}
