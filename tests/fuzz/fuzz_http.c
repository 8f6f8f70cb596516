/* Any bytes as a request: in one piece or byte by byte they mean the same, spans stay inside, and a
 * body ends where both readings say it does. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/parser.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const char *data = (const char *)bytes;
    struct http_refusal why = {0}, why_slow = {0};
    struct http_head head, slow;
    size_t scanned = 0, scanned_slow = 0;
    size_t content, used, content_slow, used_slow;
    ssize_t n = http_parser_check(data, len, &scanned, &head, &why), n_slow = 0;
    int r;

    for (size_t i = 0; i <= len && n_slow == 0; i++)
        n_slow = http_parser_check(data, i, &scanned_slow, &slow, &why_slow);
    if (n != n_slow || (n < 0 && (why.status != why_slow.status || why.status < 400)))
        abort();
    if (n <= 0)
        return 0;
    check_head(&head, data, (size_t)n);
    if (head.framing == HTTP_NO_BODY)
        return 0;
    data += n;
    len -= (size_t)n;
    r = read_body(&head, data, len, len, &content, &used);
    if (r != read_body(&head, data, len, 1, &content_slow, &used_slow) ||
        (r >= 0 && (content != content_slow || used != used_slow)))
        abort();
    return 0;
}
