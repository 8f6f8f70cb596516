/* Any bytes as what a listener says: frames are the same in one piece and byte by byte, a head that
 * is taken fits what handlers count on, and packed again it is read as the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/listener_message.h"
#include "http/request_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool is_same(struct span a, struct span b)
{
    return a.len == b.len && (!a.len || memcmp(a.data, b.data, a.len) == 0);
}

static void check_fields(const struct http_head *head)
{
    size_t bytes = head->method.len + head->target.len;

    if (!head->method.len || !head->path.len || head->path.data[0] != '/' ||
        http_head_count(head, "host") != 1 || head->n_headers > HTTP_REQUEST_HEADERS)
        abort();
    for (size_t i = 0; i < head->n_headers; i++) {
        struct span name = head->headers[i].name, value = head->headers[i].value;

        bytes += name.len + value.len;
        if (!name.len || memchr(value.data, '\n', value.len) || memchr(value.data, 0, value.len) ||
            memchr(value.data, '\r', value.len) || memchr(name.data, ':', name.len))
            abort();
    }
    if (bytes > HTTP_HEAD_BYTES || (head->framing == HTTP_LENGTH) != (head->length > 0))
        abort();
}

static void check_again(const struct http_head *head)
{
    struct listener_frame frame = {.type = LISTENER_HEAD, .connection = 1};
    struct http_head again;
    struct pack p;

    pack_init(&p, LISTENER_FRAME_MAX);
    listener_head_write(&p, head, head->expects_continue);
    frame.data = (const char *)p.data;
    frame.len = p.len;
    if (p.failed || !listener_head_read(&frame, &again) || !is_same(head->path, again.path) ||
        !is_same(head->query, again.query) || head->n_headers != again.n_headers ||
        head->length != again.length || head->framing != again.framing ||
        head->keeps_alive != again.keeps_alive || head->expects_continue != again.expects_continue)
        abort();
    pack_done(&p);
}

static void check_frame(const struct listener_frame *frame)
{
    struct listener_mistake mistake;
    struct http_head head;

    if (frame->type == LISTENER_HEAD && listener_head_read(frame, &head)) {
        check_fields(&head);
        check_again(&head);
    }
    if (frame->type == LISTENER_MISTAKE && listener_mistake_read(frame, &mistake) &&
        (mistake.status < 400 || strlen(mistake.words) > LISTENER_WORDS_MAX))
        abort();
    if (frame->type == LISTENER_WRITTEN)
        (void)listener_number(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct listener_frame frame, slow;
    size_t at = 0;
    ssize_t n;

    while ((n = listener_frame_parse(data + at, len - at, LISTENER_ITSELF, &frame)) > 0) {
        for (size_t i = 0; i < (size_t)n; i++)
            if (listener_frame_parse(data + at, i, LISTENER_ITSELF, &slow) != 0)
                abort();
        if (frame.data + frame.len > (const char *)data + len)
            abort();
        check_frame(&frame);
        at += (size_t)n;
    }
    return 0;
}
