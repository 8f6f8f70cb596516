#include "http/parser.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

/* Digits of a length: a petabyte is more than anybody sends, and no sum of ours overflows. */
#define LENGTH_DIGITS 15

#define METHOD_MAX 16

bool span_is(struct span s, const char *text)
{
    return s.len == strlen(text) && memcmp(s.data, text, s.len) == 0;
}

bool span_is_nocase(struct span s, const char *text)
{
    return s.len == strlen(text) && strncasecmp(s.data, text, s.len) == 0;
}

/* Nothing here ends in a NUL: strcspn() would read on. */
size_t span_until(struct span s, const char *ends)
{
    size_t n = 0;

    while (n < s.len && !strchr(ends, s.data[n]))
        n++;
    return n;
}

static int refuse(struct http_refusal *why, int status, const char *message)
{
    *why = (struct http_refusal){status, message};
    return -1;
}

/* --- where the head ends --- */

/* Before anything is taken apart: every line ends in CR LF, and no other control byte but the tab
 * is there. */
static ssize_t find_end(const char *data, size_t len, size_t *scanned, struct http_refusal *why)
{
    size_t i = *scanned;

    for (; i < len && i < HTTP_HEAD_BYTES; i++) {
        unsigned char c = (unsigned char)data[i];

        if (c == '\n') {
            if (i == 0 || data[i - 1] != '\r')
                return refuse(why, 400, "a line ends in a bare LF");
            if (i >= 3 && data[i - 2] == '\n')
                return (ssize_t)i + 1;
            if (i == 1)
                return refuse(why, 400, "the request begins with an empty line");
        } else if (i > 0 && data[i - 1] == '\r') {
            return refuse(why, 400, "a CR stands inside a line");
        } else if ((c < 0x20 && c != '\r' && c != '\t') || c == 0x7f) {
            return refuse(why, 400, "a control character stands in the head");
        }
    }
    *scanned = i;
    if (i == HTTP_HEAD_BYTES)
        return refuse(why, 431, "the head is longer than 16 KB");
    return 0;
}

/* The next line without its CR LF; the head is known to end in one. */
static struct span take_line(struct span *rest)
{
    const char *end = memchr(rest->data, '\r', rest->len);
    struct span line = {rest->data, (size_t)(end - rest->data)};

    rest->data += line.len + 2;
    rest->len -= line.len + 2;
    return line;
}

/* --- the request line --- */

static bool is_token_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_method(struct span s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] < 'A' || s.data[i] > 'Z')
            return false;
    return s.len > 0 && s.len <= METHOD_MAX;
}

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
        return refuse(why, 400, "the target is not a path that begins with a slash");
    for (size_t i = 0; i < target.len; i++)
        if (target.data[i] <= ' ' || target.data[i] > '~' || target.data[i] == '#')
            return refuse(why, 400, "a character in the target has to be percent-encoded");
    if (!is_encoded(target))
        return refuse(why, 400, "the target has an invalid percent-encoding");
    mark = memchr(target.data, '?', target.len);
    head->path = (struct span){target.data, mark ? (size_t)(mark - target.data) : target.len};
    head->query = (struct span){"", 0};
    if (mark)
        head->query = (struct span){mark + 1, target.len - head->path.len - 1};
    return 0;
}

static int read_request_line(struct http_head *head, struct span line, struct http_refusal *why)
{
    const char *end = line.data + line.len;
    const char *first = memchr(line.data, ' ', line.len);
    const char *last = memrchr(line.data, ' ', line.len);
    struct span version;

    if (!first || first == last)
        return refuse(why, 400, "the first line is not `METHOD /path HTTP/1.1`");
    head->method = (struct span){line.data, (size_t)(first - line.data)};
    version = (struct span){last + 1, (size_t)(end - last - 1)};
    if (!is_method(head->method))
        return refuse(why, 400, "the method is not an upper-case word");
    if (span_is(version, "HTTP/1.0"))
        head->is_old = true;
    else if (version.len == 8 && memcmp(version.data, "HTTP/", 5) == 0 &&
             !span_is(version, "HTTP/1.1"))
        return refuse(why, 505, "the version is not HTTP/1.1");
    else if (!span_is(version, "HTTP/1.1"))
        return refuse(why, 400, "the first line is not `METHOD /path HTTP/1.1`");
    return read_target(head, (struct span){first + 1, (size_t)(last - first - 1)}, why);
}

/* --- headers --- */

static int add_header(struct http_head *head, struct span line, struct http_refusal *why)
{
    const char *colon = memchr(line.data, ':', line.len);
    struct span name = {line.data, colon ? (size_t)(colon - line.data) : 0};
    struct span value;

    if (line.data[0] == ' ' || line.data[0] == '\t')
        return refuse(why, 400, "a header is folded over two lines");
    if (!colon || name.len == 0)
        return refuse(why, 400, "a header has no name");
    for (size_t i = 0; i < name.len; i++)
        if (!is_token_char(name.data[i]))
            return refuse(why, 400, "invalid character in a header name");
    value = (struct span){colon + 1, line.len - name.len - 1};
    while (value.len && (value.data[0] == ' ' || value.data[0] == '\t')) {
        value.data++;
        value.len--;
    }
    while (value.len && (value.data[value.len - 1] == ' ' || value.data[value.len - 1] == '\t'))
        value.len--;
    if (head->n_headers == HTTP_HEADERS_MAX)
        return refuse(why, 431, "there are more than 64 headers");
    head->headers[head->n_headers++] = (struct http_header){name, value};
    return 0;
}

struct span http_head_get(const struct http_head *head, const char *name)
{
    for (size_t i = 0; i < head->n_headers; i++)
        if (span_is_nocase(head->headers[i].name, name))
            return head->headers[i].value;
    return (struct span){NULL, 0};
}

/* MCP repeats parts of its body as headers, some under names of a tool's choice. */
static int check_mcp_repeats(const struct http_head *head, struct http_refusal *why)
{
    for (size_t i = 0; i < head->n_headers; i++) {
        struct span name = head->headers[i].name;

        if (name.len < 4 || strncasecmp(name.data, "mcp-", 4) != 0)
            continue;
        for (size_t k = 0; k < i; k++)
            if (head->headers[k].name.len == name.len &&
                strncasecmp(head->headers[k].name.data, name.data, name.len) == 0)
                return refuse(why, 400, "a header that may occur only once is given twice");
    }
    return 0;
}

/* Those that we read. One reader takes the first, another the last. */
static int check_repeats(const struct http_head *head, struct http_refusal *why)
{
    static const char *const once[] = {"host",
                                       "content-length",
                                       "transfer-encoding",
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
                                       "idempotency-key"};

    for (size_t i = 0; i < ARRAY_SIZE(once); i++) {
        size_t count = 0;

        for (size_t k = 0; k < head->n_headers; k++)
            count += span_is_nocase(head->headers[k].name, once[i]);
        if (count > 1)
            return refuse(why, 400, "a header that may occur only once is given twice");
    }
    return check_mcp_repeats(head, why);
}

static int read_length(struct span text, uint64_t *ret_length)
{
    uint64_t length = 0;

    if (text.len == 0 || text.len > LENGTH_DIGITS)
        return -1;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return -1;
        length = length * 10 + (uint64_t)(text.data[i] - '0');
    }
    *ret_length = length;
    return 0;
}

static int read_framing(struct http_head *head, struct http_refusal *why)
{
    struct span length = http_head_get(head, "content-length");
    struct span coding = http_head_get(head, "transfer-encoding");

    if (coding.data && (length.data || head->is_old || !span_is_nocase(coding, "chunked")))
        return refuse(why, 400,
                      "the body's framing is unclear: one Content-Length, or "
                      "`Transfer-Encoding: chunked`");
    if (length.data && read_length(length, &head->length) < 0)
        return refuse(why, 400, "Content-Length is not a plain number");
    head->framing = coding.data ? HTTP_CHUNKED : head->length ? HTTP_LENGTH : HTTP_NO_BODY;
    return 0;
}

/* NAME[:PORT] or [IPv6][:PORT]. Which of them are ours is not asked here. */
static int check_host(const struct http_head *head, struct http_refusal *why)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_[]:";
    struct span host = http_head_get(head, "host");

    if (!host.data)
        return refuse(why, 400, "there is no Host header");
    if (host.len == 0 || host.len > 255)
        return refuse(why, 400, "the Host header has no name");
    for (size_t i = 0; i < host.len; i++)
        if (!memchr(allowed, host.data[i], sizeof(allowed) - 1))
            return refuse(why, 400, "the Host header has no name");
    return 0;
}

/* Among several words of one or several `Connection` headers. */
static bool says_connection(const struct http_head *head, const char *word)
{
    for (size_t i = 0; i < head->n_headers; i++) {
        struct span rest = head->headers[i].value;

        if (!span_is_nocase(head->headers[i].name, "connection"))
            continue;
        while (rest.len) {
            size_t n = span_until(rest, ", \t");

            if (span_is_nocase((struct span){rest.data, n}, word))
                return true;
            n += n < rest.len;
            rest.data += n;
            rest.len -= n;
        }
    }
    return false;
}

static int read_headers(struct http_head *head, struct span rest, struct http_refusal *why)
{
    struct span expect;

    for (struct span line = take_line(&rest); line.len; line = take_line(&rest))
        if (add_header(head, line, why) < 0)
            return -1;
    if (check_repeats(head, why) < 0 || read_framing(head, why) < 0 || check_host(head, why) < 0)
        return -1;
    expect = http_head_get(head, "expect");
    if (expect.data && !span_is_nocase(expect, "100-continue"))
        return refuse(why, 417, "only `Expect: 100-continue` is supported");
    head->expects_continue = expect.data && !head->is_old;
    head->keeps_alive =
        head->is_old ? says_connection(head, "keep-alive") : !says_connection(head, "close");
    return 0;
}

ssize_t http_parser_check(const char *data, size_t len, size_t *scanned, struct http_head *ret_head,
                         struct http_refusal *ret_why)
{
    ssize_t end = find_end(data, len, scanned, ret_why);
    struct span rest = {data, end > 0 ? (size_t)end : 0};

    if (end <= 0)
        return end;
    *ret_head = (struct http_head){0};
    if (read_request_line(ret_head, take_line(&rest), ret_why) < 0 ||
        read_headers(ret_head, rest, ret_why) < 0)
        return -1;
    return end;
}
