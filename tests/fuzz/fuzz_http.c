/* Any bytes, as a request to the server and as an answer of another one: in one piece or byte by
 * byte they mean the same, spans stay inside, and a body ends where both readings say it does. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "http/request_rules.h"
#include "upstream/http_reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void inside(struct span s, const char *data, size_t len)
{
    if (s.len && (s.data < data || s.data + s.len > data + len))
        abort();
}

static void check_head(const struct http_head *head, const char *data, size_t len)
{
    inside(head->method, data, len);
    inside(head->path, data, len);
    inside(head->query, data, len);
    for (size_t i = 0; i < head->n_headers; i++) {
        inside(head->headers[i].name, data, len);
        inside(head->headers[i].value, data, len);
        if (memchr(head->headers[i].value.data, '\n', head->headers[i].value.len))
            abort();
    }
    if (head->path.len == 0 || head->path.data[0] != '/')
        abort();
    if (!http_head_get(head, "host").data)
        abort();
    if (http_head_get(head, "content-length").data && http_head_get(head, "transfer-encoding").data)
        abort();
}

/* The content's length, and how many bytes it took; -1 where it is broken, with nothing else. */
static int read_body(const struct http_head *head, const char *data, size_t len, size_t step,
                     size_t *ret_content, size_t *ret_used)
{
    struct http_body body;
    int r = 0;

    *ret_content = *ret_used = 0;
    http_body_init(&body, head);
    while (r == 0 && *ret_used < len) {
        size_t size = len - *ret_used < step ? len - *ret_used : step, used;
        struct span piece;

        r = http_body_next(&body, data + *ret_used, size, &piece, &used);
        if (r < 0)
            return r;
        if (used > size || piece.len > used || (used == 0 && r == 0))
            abort();
        inside(piece, data + *ret_used, used);
        *ret_used += used;
        *ret_content += piece.len;
    }
    return r;
}

static void as_request(const char *data, size_t len)
{
    struct http_refusal why = {0}, why_slow = {0};
    struct http_head head, slow;
    size_t scanned = 0, scanned_slow = 0;
    size_t content, used, content_slow, used_slow;
    ssize_t n = http_request_check(data, len, &scanned, &head, &why), n_slow = 0;
    int r;

    for (size_t i = 0; i <= len && n_slow == 0; i++)
        n_slow = http_request_check(data, i, &scanned_slow, &slow, &why_slow);
    if (n != n_slow || (n < 0 && (why.status != why_slow.status || why.status < 400)))
        abort();
    if (n <= 0)
        return;
    check_head(&head, data, (size_t)n);
    if (head.framing == HTTP_NO_BODY)
        return;
    data += n;
    len -= (size_t)n;
    r = read_body(&head, data, len, len, &content, &used);
    if (r != read_body(&head, data, len, 1, &content_slow, &used_slow) ||
        (r >= 0 && (content != content_slow || used != used_slow)))
        abort();
}

/* --- answers --- */

struct seen {
    size_t n, bytes;
    uint64_t sum;
};

static void on_text(void *user, const char *text, size_t len)
{
    struct seen *seen = user;

    if (!len || len > LIMIT_UPSTREAM_MESSAGE)
        abort();
    seen->n++;
    seen->bytes += len;
    for (size_t i = 0; i < len; i++)
        seen->sum = seen->sum * 31 + (unsigned char)text[i];
}

static int read_in_pieces(const char *data, size_t len, size_t piece, struct seen *seen,
                          int *ret_status)
{
    cleanup_error struct error err = {0};
    struct http_reply reply;
    int r = 0;

    http_reply_init(&reply, on_text, seen);
    for (size_t at = 0; r == 0 && at < len; at += piece)
        r = http_reply_feed(&reply, data + at, len - at < piece ? len - at : piece, &err);
    if (r == 0)
        r = http_reply_end(&reply, &err);
    if ((r < 0) != (err.code != E_NONE) || strlen(reply.session) >= sizeof(reply.session))
        abort();
    *ret_status = reply.status;
    http_reply_done(&reply);
    return r < 0;
}

static void as_response(const char *data, size_t len)
{
    struct seen whole = {0}, cut = {0};
    int status, cut_status;
    int r = read_in_pieces(data, len, len + 1, &whole, &status);

    if (read_in_pieces(data, len, 1, &cut, &cut_status) != r || status != cut_status ||
        memcmp(&whole, &cut, sizeof(cut)) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    as_request((const char *)data, len);
    as_response((const char *)data, len);
    return 0;
}
