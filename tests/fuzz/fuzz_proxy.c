/* Messages of a program and of a host to the gate. The first byte chooses: a request to the proxy,
 * chunks, an answer, a host, a grant. What was taken has to be what goes out. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/net.h"
#include "egress/proxy_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool is_true)
{
    if (!is_true)
        abort();
}

/* A server that reads what we wrote finds the same host and the same body; and no line more. */
static void request(const char *data, size_t len)
{
    static struct proxy_head head;
    cleanup(buf_done) struct buf out = {0};
    const char *why = NULL, *end;
    size_t scanned = 0;
    long n = proxy_head_read(data, len, &scanned, &head, &why);

    must(n >= -1 && n <= (long)len && (n >= 0 || why));
    if (n <= 0 || head.is_connect)
        return;
    buf_init(&out, 1 << 20);
    if (proxy_head_write(&head, "X-Key: key", &out, NULL) < 0)
        abort();
    end = memmem(out.data, out.len, "\r\n\r\n", 4);
    must(end && end + 4 == out.data + out.len && !memchr(out.data, '\0', out.len));
    for (const char *at = out.data; (at = memchr(at, '\n', (size_t)(out.data + out.len - at)));
         at++)
        must(at[-1] == '\r' && at[1] != ' ' && at[1] != '\t');
    must(memmem(out.data, out.len, "\r\nX-Key: key\r\n", 14));
}

/* Byte by byte, it is the same. */
static void chunks(const char *data, size_t len)
{
    const struct http_head head = {.framing = HTTP_CHUNKED};
    struct http_body whole, parts;
    struct span piece;
    size_t content = 0, content_parts = 0;
    int r = 0, r_parts = 0;

    http_body_init(&whole, &head);
    http_body_init(&parts, &head);
    for (size_t at = 0, used; at < len && r == 0; at += used, content += piece.len)
        if ((r = http_body_next(&whole, data + at, len - at, &piece, &used)) < 0)
            break;
    for (size_t at = 0, used; at < len && r_parts == 0; at += used, content_parts += piece.len)
        if ((r_parts = http_body_next(&parts, data + at, 1, &piece, &used)) < 0)
            break;
    must(r == r_parts && (r < 0 || content == content_parts));
}

static void answer(const char *data, size_t len)
{
    cleanup(buf_done) struct buf out = {0};
    size_t scanned = 0;
    bool is_interim;
    long n;

    buf_init(&out, 1 << 20);
    n = proxy_answer_head(data, len, &scanned, &out, &is_interim, NULL);
    must(n >= -1 && n <= (long)len);
}

/* Its one form is a form of itself. */
static void host(const char *data, size_t len)
{
    struct host first, again;
    uint16_t port = 1;

    (void)host_parse_port(data, len, &first, &port);
    if (host_parse(data, len, false, &first))
        return;
    must(!host_parse(first.name, strlen(first.name), false, &again));
    must(host_equal(&first, &again));
}

static void grant(const char *data, size_t len)
{
    cleanup_free char *text = span_dup((struct span){data, len});
    cleanup(net_unref_p) struct net *net = net_new();
    struct host where;
    char written[1024];

    if (!text || !net || net_add(net, text, NULL) < 0)
        return;
    (void)net_grant_text(&net->grants[0], written, sizeof(written));
    if (host_parse("evil.test", 9, true, &where) == NULL) {
        struct net_ask ask = {.host = &where, .port = 80, .method = "GET", .path = "/"};
        const char *why;
        uint16_t port;
        bool is_tls;

        must(!net_match(net, &ask, &port, &is_tls, &why) || strstr(written, "test"));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const parts[])(const char *, size_t) = {request, chunks, answer, host, grant};

    if (size)
        parts[data[0] % ARRAY_SIZE(parts)]((const char *)data + 1, size - 1);
    return 0;
}
