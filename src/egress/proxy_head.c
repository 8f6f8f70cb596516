#include "egress/proxy_head.h"

#include <string.h>

#include "base/cleanup.h"

static const struct http_limits limits = {PROXY_HEAD_BYTES, HTTP_HEADERS_MAX,
                                          "the head is longer than 64 KB",
                                          "there are more than 128 headers"};

/* --- the request line --- */

static const char *read_url(struct proxy_head *h)
{
    struct url url;
    const char *why = url_parse(h->http.target.data, h->http.target.len, &url);
    const char *question;

    if (why)
        return why;
    h->host = url.host;
    h->port = url_port(&url);
    h->is_tls = url.is_tls;
    h->target = h->path = url.target;
    question = memchr(h->target.data, '?', h->target.len);
    if (question)
        h->path.len = (size_t)(question - h->target.data);
    return NULL;
}

static const char *read_target(struct proxy_head *h)
{
    const char *why;

    h->is_connect = span_is(h->http.method, "CONNECT");
    /* It has the server repeat the request, with what the gate added. */
    if (span_is(h->http.method, "TRACE") || span_is(h->http.method, "TRACK"))
        return "a method that a proxy must not forward";
    if (!h->is_connect)
        return read_url(h);
    why = host_parse_port(h->http.target.data, h->http.target.len, &h->host, &h->port);
    return why ? why : h->port ? NULL : "CONNECT without a port";
}

/* --- headers --- */

static const char *check_host(const struct proxy_head *h)
{
    struct span field = http_head_get(&h->http, "host");
    uint16_t port = h->is_connect ? h->port : h->is_tls ? 443 : 80;
    struct host host;

    if (http_head_count(&h->http, "host") > 1)
        return "several Host headers";
    if (!field.data)
        return h->http.is_old || h->is_connect ? NULL : "no Host header";
    if (host_parse_port(field.data, field.len, &host, &port) || !host_equal(&host, &h->host) ||
        port != h->port)
        return "a Host header that is not the host of the URL";
    return NULL;
}

static bool has_body(const struct proxy_head *h)
{
    return h->http.framing != HTTP_NO_BODY || http_head_get(&h->http, "content-length").data;
}

long proxy_head_read(const char *data, size_t len, size_t *scanned, struct proxy_head *ret_head,
                     const char **ret_why)
{
    struct http_refusal refusal = {0};
    const char *why;
    ssize_t end;

    *ret_head = (struct proxy_head){0};
    end = http_read_request(data, len, &limits, scanned, &ret_head->http, &refusal);
    if (end == 0)
        return 0;
    why = end < 0 ? refusal.message : read_target(ret_head);
    why = why ? why : check_host(ret_head);
    if (!why && ret_head->is_connect && has_body(ret_head))
        why = "CONNECT with a body";
    if (why)
        *ret_why = why;
    return why ? -1 : end;
}

/* --- what goes on --- */

/* Servers that pass headers on as variables take `X_Key` and `X-Key` for one. */
static char fold(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return (char)(c == '_' ? '-' : c);
}

static bool is_alike(struct span name, struct span other)
{
    for (size_t i = 0; name.len == other.len && i < name.len; i++)
        if (fold(name.data[i]) != fold(other.data[i]))
            return false;
    return name.len == other.len;
}

/* Frameworks believe these more than the first line, which is what was granted. */
static bool says_otherwise(struct span name)
{
    static const char *const names[] = {
        "X-HTTP-Method",     "X-HTTP-Method-Override", "X-Method-Override",
        "X-Original-Method", "X-Original-URL",         "X-Rewrite-URL",
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (is_alike(name, (struct span){names[i], strlen(names[i])}))
            return true;
    return false;
}

/* Said to the proxy, or to be said by us. */
static bool is_for_proxy(const struct proxy_head *h, struct span name)
{
    static const char *const names[] = {
        "Host",
        "Connection",
        "Proxy-Connection",
        "Proxy-Authorization",
        "Keep-Alive",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "Upgrade",
        "Content-Length",
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (span_is_nocase(name, names[i]))
            return true;
    return http_head_lists(&h->http, "connection", name);
}

static int write_host(const struct proxy_head *h, struct buf *out, struct error *err)
{
    bool has_port = h->port != (h->is_tls ? 443 : 80);
    char host[HOST_TEXT];

    host_text(&h->host, host);
    if (buf_printf(out, err, "Host: %s", host) < 0)
        return -1;
    return has_port ? buf_printf(out, err, ":%u\r\n", h->port) : buf_add_str(out, "\r\n", err);
}

static int write_line(struct span first, const char *between, struct span second, struct buf *out,
                      struct error *err)
{
    return buf_add(out, first.data, first.len, err) < 0 || buf_add_str(out, between, err) < 0 ||
                   buf_add(out, second.data, second.len, err) < 0
               ? -1
               : buf_add_str(out, "\r\n", err);
}

static int write_fields(const struct proxy_head *h, const char *header, struct buf *out,
                        struct error *err)
{
    struct span replaced = {header, header ? strcspn(header, ":") : 0};

    for (size_t i = 0; i < h->http.n_headers; i++) {
        struct span name = h->http.headers[i].name, value = h->http.headers[i].value;

        if (is_for_proxy(h, name) || (header && is_alike(name, replaced)) ||
            (h->is_part && says_otherwise(name)))
            continue;
        if (write_line(name, ": ", value, out, err) < 0)
            return -1;
    }
    return header ? buf_printf(out, err, "%s\r\n", header) : 0;
}

int proxy_head_write(const struct proxy_head *h, const char *header, struct buf *out,
                     struct error *err)
{
    bool has_slash = h->target.len && h->target.data[0] == '/';
    const char *version = h->http.is_old ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n";

    if (buf_add(out, h->http.method.data, h->http.method.len, err) < 0 ||
        buf_add_str(out, has_slash ? " " : " /", err) < 0 ||
        buf_add(out, h->target.data, h->target.len, err) < 0 || buf_add_str(out, version, err) < 0)
        return -1;
    if (write_host(h, out, err) < 0 || write_fields(h, header, out, err) < 0)
        return -1;
    if (h->http.framing == HTTP_CHUNKED &&
        buf_add_str(out, "Transfer-Encoding: chunked\r\n", err) < 0)
        return -1;
    if (http_head_get(&h->http, "content-length").data &&
        buf_printf(out, err, "Content-Length: %llu\r\n", (unsigned long long)h->http.length) < 0)
        return -1;
    return buf_add_str(out, "Connection: close\r\n\r\n", err);
}

/* --- answers --- */

static bool is_hop(struct span name)
{
    static const char *const names[] = {"Connection", "Keep-Alive", "Proxy-Connection",
                                        "Proxy-Authenticate"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (span_is_nocase(name, names[i]))
            return true;
    return false;
}

long proxy_answer_head(const char *data, size_t len, size_t *scanned, struct buf *out,
                       bool *ret_is_interim, struct error *err)
{
    struct http_refusal refusal = {0};
    struct http_head head;
    ssize_t end = http_read_response(data, len, &limits, scanned, &head, &refusal);
    struct span first = {data, 0};

    if (end <= 0)
        return end;
    *ret_is_interim = head.status < 200;
    /* It would speak another protocol from here on, which nobody asked for. */
    if (head.status == 101)
        return -1;
    first.len = (size_t)((const char *)memchr(data, '\r', (size_t)end) - data);
    if (write_line(first, "", (struct span){"", 0}, out, err) < 0)
        return -1;
    for (size_t i = 0; i < head.n_headers; i++)
        if (!is_hop(head.headers[i].name) &&
            write_line(head.headers[i].name, ": ", head.headers[i].value, out, err) < 0)
            return -1;
    if (!*ret_is_interim && buf_add_str(out, "Connection: close\r\n", err) < 0)
        return -1;
    return buf_add_str(out, "\r\n", err) < 0 ? -1 : end;
}
