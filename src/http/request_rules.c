#include "http/request_rules.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

/* --- the target --- */

/* A percent sign is followed by two hex digits, and there is no NUL in disguise. */
static bool is_encoded(struct span s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] != '%')
            continue;
        if (i + 2 >= s.len || !isxdigit((unsigned char)s.data[i + 1]) ||
            !isxdigit((unsigned char)s.data[i + 2]))
            return false;
        if (s.data[i + 1] == '0' && s.data[i + 2] == '0')
            return false;
    }
    return true;
}

static int read_target(struct http_head *head, struct span target, struct http_refusal *why)
{
    const char *mark;

    if (target.len == 0 || target.data[0] != '/')
        return http_refuse(why, 400, "the target is not a path that begins with a slash");
    if (!is_encoded(target))
        return http_refuse(why, 400, "the target has an invalid percent-encoding");
    mark = memchr(target.data, '?', target.len);
    head->path = (struct span){target.data, mark ? (size_t)(mark - target.data) : target.len};
    head->query = (struct span){"", 0};
    if (mark)
        head->query = (struct span){mark + 1, target.len - head->path.len - 1};
    return 0;
}

/* --- headers --- */

/* MCP repeats parts of its body as headers, some under names of a tool's choice. */
static int check_mcp_repeats(const struct http_head *head, struct http_refusal *why)
{
    for (size_t i = 0; i < head->n_headers; i++) {
        struct span name = head->headers[i].name;

        if (name.len < 4 || strncasecmp(name.data, "mcp-", 4) != 0)
            continue;
        for (size_t k = 0; k < i; k++)
            if (span_equal_nocase(head->headers[k].name, name))
                return http_refuse(why, 400, "a header that may occur only once is given twice");
    }
    return 0;
}

/* Those that we read. One reader takes the first, another the last. */
static int check_repeats(const struct http_head *head, struct http_refusal *why)
{
    static const char *const once[] = {"host",
                                       "content-type",
                                       "authorization",
                                       "origin",
                                       "expect",
                                       "range",
                                       "if-range",
                                       "last-event-id",
                                       "cookie",
                                       "content-range",
                                       "content-encoding",
                                       "traceparent",
                                       "idempotency-key",
                                       "x-api-key",
                                       "x-access-token",
                                       "e2b-traffic-access-token",
                                       "e2b-sandbox-id",
                                       "e2b-sandbox-port"};

    for (size_t i = 0; i < ARRAY_SIZE(once); i++) {
        if (http_head_count(head, once[i]) > 1)
            return http_refuse(why, 400, "a header that may occur only once is given twice");
    }
    return check_mcp_repeats(head, why);
}

/* NAME[:PORT] or [IPv6][:PORT]. Which of them are ours is not asked here. */
static int check_host(const struct http_head *head, struct http_refusal *why)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_[]:";
    struct span host = http_head_get(head, "host");

    if (!host.data)
        return http_refuse(why, 400, "there is no Host header");
    if (host.len == 0 || host.len > 255)
        return http_refuse(why, 400, "the Host header has no name");
    for (size_t i = 0; i < host.len; i++)
        if (!memchr(allowed, host.data[i], sizeof(allowed) - 1))
            return http_refuse(why, 400, "the Host header has no name");
    return 0;
}

static int check_headers(struct http_head *head, struct http_refusal *why)
{
    struct span expect;

    if (check_repeats(head, why) < 0 || check_host(head, why) < 0)
        return -1;
    expect = http_head_get(head, "expect");
    if (expect.data && !span_is_nocase(expect, "100-continue"))
        return http_refuse(why, 417, "only `Expect: 100-continue` is supported");
    head->expects_continue = expect.data && !head->is_old;
    head->keeps_alive = head->is_old
                            ? http_head_lists(head, "connection", (struct span){"keep-alive", 10})
                            : !http_head_lists(head, "connection", (struct span){"close", 5});
    return 0;
}

static const struct http_limits limits = {HTTP_HEAD_BYTES, HTTP_REQUEST_HEADERS,
                                          "the head is longer than 16 KB",
                                          "there are more than 64 headers"};

static int check_rules(struct http_head *head, struct http_refusal *why)
{
    return read_target(head, head->target, why) < 0 ? -1 : check_headers(head, why);
}

ssize_t http_request_check(const char *data, size_t len, size_t *scanned,
                           struct http_head *ret_head, struct http_refusal *ret_why)
{
    ssize_t end = http_read_request(data, len, &limits, scanned, ret_head, ret_why);

    if (end <= 0)
        return end;
    return check_rules(ret_head, ret_why) < 0 ? -1 : end;
}

int http_request_check_again(struct http_head *head, struct http_refusal *ret_why)
{
    if (http_check_request(head, &limits, ret_why) < 0)
        return -1;
    return check_rules(head, ret_why);
}
