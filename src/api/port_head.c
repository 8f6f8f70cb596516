#include "api/port_head.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/span.h"

/* Of the request, beside those that `Connection` names. */
static const char *const withheld[] = {
    /* of one connection (RFC 9110, 7.6.1) */
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
    "te", "trailer", "transfer-encoding", "upgrade", "content-length", "expect", "host",
    /* the client's with us */
    "authorization", "x-api-key", "x-access-token", "e2b-traffic-access-token", "cookie", "origin",
    "referer", "idempotency-key",
    /* bodies are masked, so that they come whole and as they are */
    "accept-encoding", "range", "if-range"};

/* Of the answer. What is not here could be about our origin (cookies, policies, other pages'
 * rights), about our connection, or is an order to a proxy in front of us. */
static const char *const permitted[] = {
    "content-type", "content-language", "content-disposition", "content-encoding",
    "etag",         "last-modified",    "retry-after",         "vary",
    "x-request-id", "x-total-count"};

/* Of one that changes the protocol. */
static const char *const permitted_upgrade[] = {"sec-websocket-accept", "sec-websocket-protocol",
                                                "sec-websocket-extensions"};

static bool is_in(struct span name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (span_is_nocase(name, list[i]))
            return true;
    return false;
}

int port_head_read(const struct request *request, struct port_head *ret_head, struct error *err)
{
    static const char before[] = "/v1/sessions/", mark[] = "/ports/";
    struct span path = request->head.path;
    size_t skipped = span_starts_with(path, before) ? sizeof(before) - 1 : 0; /* a name follows */
    const char *at = memmem(path.data + skipped, path.len - skipped, mark, sizeof(mark) - 1);
    struct span rest = {at ? at + sizeof(mark) - 1 : path.data, 0};
    unsigned port = 0;
    size_t digits, before_path;

    rest.len = path.len - (size_t)(rest.data - path.data);
    digits = span_until(rest, "/");
    for (size_t i = 0; i < digits && i < 6; i++)
        port = rest.data[i] >= '0' && rest.data[i] <= '9' && port < 100000
                   ? port * 10 + (unsigned)(rest.data[i] - '0')
                   : 100000;
    if (!at || digits == 0 || digits > 5 || rest.data[0] == '0' || port > UINT16_MAX)
        return error_set(err, E_INVALID, "the path names no port from 1 to 65535");
    before_path = (size_t)(rest.data + digits - path.data);
    *ret_head = (struct port_head){
        .port = (uint16_t)port,
        .path = {rest.data + digits, rest.len - digits},
        .prefix = {path.data + request->path_added, before_path - request->path_added},
    };
    return 0;
}

bool port_head_upgrades(const struct http_head *head)
{
    return !head->is_old && head->framing == HTTP_NO_BODY && span_is(head->method, "GET") &&
           http_head_lists(head, "connection", (struct span){"upgrade", 7}) &&
           http_head_lists(head, "upgrade", (struct span){"websocket", 9});
}

static int add_header(struct buf *out, const struct http_header *h, struct error *err)
{
    return buf_printf(out, err, "%.*s: %.*s\r\n", (int)h->name.len, h->name.data, (int)h->value.len,
                      h->value.data);
}

int port_head_write(const struct request *request, const struct port_head *head, struct buf *out,
                    struct error *err)
{
    const struct http_head *h = &request->head;
    bool upgrades = port_head_upgrades(h);
    int r = buf_printf(out, err, "%.*s %s%.*s%s%.*s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n",
                       (int)h->method.len, h->method.data, head->path.len ? "" : "/",
                       (int)head->path.len, head->path.data, h->query.len ? "?" : "",
                       (int)h->query.len, h->query.data, head->port);

    if (r == 0)
        r = buf_printf(out, err, "Connection: %s\r\n%sX-Forwarded-Prefix: %.*s\r\n",
                       upgrades ? "Upgrade" : "close", upgrades ? "Upgrade: websocket\r\n" : "",
                       (int)head->prefix.len, head->prefix.data);
    for (size_t i = 0; r == 0 && i < h->n_headers; i++)
        if (!is_in(h->headers[i].name, withheld, ARRAY_SIZE(withheld)) &&
            !http_head_lists(h, "connection", h->headers[i].name))
            r = add_header(out, &h->headers[i], err);
    if (r == 0 && h->framing == HTTP_LENGTH)
        r = buf_printf(out, err, "Content-Length: %llu\r\n", (unsigned long long)h->length);
    if (r == 0 && h->framing == HTTP_CHUNKED)
        r = buf_add_str(out, "Transfer-Encoding: chunked\r\n", err);
    return r == 0 ? buf_add_str(out, "\r\n", err) : r;
}

/* A dot, in either spelling: its length. */
static size_t dot_at(struct span text, size_t at)
{
    if (at < text.len && text.data[at] == '.')
        return 1;
    return at + 3 <= text.len && strncasecmp(text.data + at, "%2e", 3) == 0 ? 3 : 0;
}

/* Whether a client may take the path for one that leads upwards. What clients leave out or read in
 * another way (spaces, control characters, backslashes) counts as if it did. */
static bool leads_up(struct span to)
{
    struct span path = {to.data, span_until(to, "?#")};

    for (size_t i = 0; i < to.len; i++)
        if ((unsigned char)to.data[i] <= ' ' || to.data[i] == 0x7f || to.data[i] == '\\')
            return true;
    for (size_t i = 0; i < path.len; i++) {
        size_t one = path.data[i] == '/' ? dot_at(path, i + 1) : 0;
        size_t two = one ? dot_at(path, i + 1 + one) : 0, end = i + 1 + one + two;

        if (two && (end >= path.len || path.data[end] == '/' || path.data[end] == ';'))
            return true;
    }
    return false;
}

/* Only to the server itself: another place, such as a route of ours that a client would ask with
 * its token, is not for it to send our clients to. */
static int add_location(const struct http_head *answer, const struct port_head *head,
                        struct buf *out, struct error *err)
{
    static const char *const own[] = {"http://127.0.0.1:", "http://localhost:"};
    struct span to = http_head_get(answer, "location");
    char port[8];

    (void)snprintf(port, sizeof(port), "%u", head->port);
    for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
        size_t n = strlen(own[i]) + strlen(port);

        if (to.len >= n && strncasecmp(to.data, own[i], strlen(own[i])) == 0 &&
            memcmp(to.data + strlen(own[i]), port, strlen(port)) == 0 &&
            (to.len == n || to.data[n] == '/'))
            to = to.len == n ? (struct span){"/", 1} : (struct span){to.data + n, to.len - n};
    }
    if (!to.len || to.data[0] != '/' || leads_up(to))
        return 0;
    if (!head->prefix.len && to.len > 1 && to.data[1] == '/')
        return 0; /* the name of another host */
    return buf_printf(out, err, "Location: %.*s%.*s\r\n", (int)head->prefix.len, head->prefix.data,
                      (int)to.len, to.data);
}

int port_head_answer(const struct http_head *answer, const struct port_head *head, bool is_masked,
                     struct buf *out, struct error *err)
{
    bool upgrades = answer->status == 101;
    int r = buf_add_str(out,
                        upgrades ? "Upgrade: websocket\r\n"
                                 : "Content-Security-Policy: sandbox allow-scripts allow-forms "
                                   "allow-modals allow-popups\r\n"
                                   "Cross-Origin-Resource-Policy: same-origin\r\n",
                        err);

    for (size_t i = 0; r == 0 && i < answer->n_headers; i++) {
        struct span name = answer->headers[i].name;

        if (upgrades ? is_in(name, permitted_upgrade, ARRAY_SIZE(permitted_upgrade))
                     : is_in(name, permitted, ARRAY_SIZE(permitted)) &&
                           !(is_masked && span_is_nocase(name, "etag")))
            r = add_header(out, &answer->headers[i], err);
    }
    return r < 0 || upgrades ? r : add_location(answer, head, out, err);
}

/* Names of types have no case. */
static bool contains_nocase(struct span type, const char *part)
{
    size_t n = strlen(part);

    for (size_t i = 0; i + n <= type.len; i++)
        if (strncasecmp(type.data + i, part, n) == 0)
            return true;
    return false;
}

bool port_head_is_text(const struct http_head *answer)
{
    static const char *const kinds[] = {"json", "xml", "javascript", "x-www-form-urlencoded",
                                        "yaml", "toml"};
    struct span type = http_head_get(answer, "content-type");

    if (http_head_get(answer, "content-encoding").data)
        return false;
    type.len = type.data ? span_until(type, ";") : 0;
    if (!type.len || (type.len >= 5 && strncasecmp(type.data, "text/", 5) == 0))
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (contains_nocase(type, kinds[i]))
            return true;
    return false;
}
