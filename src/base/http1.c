#include "base/http1.h"

#include <string.h>

/* Digits of a length: a petabyte is more than anybody sends, and no sum of ours overflows. */
#define LENGTH_DIGITS 15

#define METHOD_MAX 16

/* --- where the head ends --- */

/* Before anything is taken apart: every line ends in CR LF, and no other control byte but the tab
 * is there. */
static ssize_t find_end(const char *data, size_t len, const struct http_limits *limits,
                        size_t *scanned, struct http_refusal *why)
{
    size_t i = *scanned;

    for (; i < len && i < limits->bytes; i++) {
        unsigned char c = (unsigned char)data[i];

        if (c == '\n') {
            if (i == 0 || data[i - 1] != '\r')
                return http_refuse(why, 400, "a line ends in a bare LF");
            if (i >= 3 && data[i - 2] == '\n')
                return (ssize_t)i + 1;
            if (i == 1)
                return http_refuse(why, 400, "the message begins with an empty line");
        } else if (i > 0 && data[i - 1] == '\r') {
            return http_refuse(why, 400, "a CR inside a line");
        } else if ((c < 0x20 && c != '\r' && c != '\t') || c == 0x7f) {
            return http_refuse(why, 400, "a control character in the head");
        }
    }
    *scanned = i;
    if (i == limits->bytes)
        return http_refuse(why, 431, limits->too_long);
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

/* --- the first line --- */

static bool is_method(struct span s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((s.data[i] < 'A' || s.data[i] > 'Z') && s.data[i] != '-')
            return false;
    return s.len > 0 && s.len <= METHOD_MAX;
}

static int check_target(struct span target, struct http_refusal *why)
{
    for (size_t i = 0; i < target.len; i++)
        if (target.data[i] <= ' ' || target.data[i] > '~' || target.data[i] == '#')
            return http_refuse(why, 400, "a character in the target has to be percent-encoded");
    return target.len ? 0 : http_refuse(why, 400, "the request has no target");
}

static int read_request_line(struct http_head *head, struct span line, struct http_refusal *why)
{
    const char *end = line.data + line.len;
    const char *first = memchr(line.data, ' ', line.len);
    const char *last = memrchr(line.data, ' ', line.len);
    struct span version;

    if (!first || first == last)
        return http_refuse(why, 400, "the first line is not `METHOD /path HTTP/1.1`");
    head->method = (struct span){line.data, (size_t)(first - line.data)};
    version = (struct span){last + 1, (size_t)(end - last - 1)};
    if (!is_method(head->method))
        return http_refuse(why, 400, "the method is not an upper-case word");
    if (span_is(version, "HTTP/1.0"))
        head->is_old = true;
    else if (version.len == 8 && memcmp(version.data, "HTTP/", 5) == 0 &&
             !span_is(version, "HTTP/1.1"))
        return http_refuse(why, 505, "the version is not HTTP/1.1");
    else if (!span_is(version, "HTTP/1.1"))
        return http_refuse(why, 400, "the first line is not `METHOD /path HTTP/1.1`");
    head->target = (struct span){first + 1, (size_t)(last - first - 1)};
    return check_target(head->target, why);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* HTTP/1.x NNN, and words that nobody reads. */
static int read_status_line(struct http_head *head, struct span line, struct http_refusal *why)
{
    const char *at = line.data;

    if (line.len < 12 || memcmp(at, "HTTP/1.", 7) != 0 || (at[7] != '0' && at[7] != '1') ||
        at[8] != ' ' || at[9] < '1' || at[9] > '9' || !is_digit(at[10]) || !is_digit(at[11]) ||
        (line.len > 12 && at[12] != ' '))
        return http_refuse(why, 502, "bad status line");
    head->is_old = at[7] == '0';
    head->status = (at[9] - '0') * 100 + (at[10] - '0') * 10 + (at[11] - '0');
    return 0;
}

/* --- headers --- */

static bool is_token_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static int check_name(struct span name, struct http_refusal *why)
{
    if (name.len == 0)
        return http_refuse(why, 400, "a header has no name");
    for (size_t i = 0; i < name.len; i++)
        if (!is_token_char(name.data[i]))
            return http_refuse(why, 400, "invalid character in a header name");
    return 0;
}

static int add_header(struct http_head *head, struct span line, const struct http_limits *limits,
                      struct http_refusal *why)
{
    const char *colon = memchr(line.data, ':', line.len);
    struct span name = {line.data, colon ? (size_t)(colon - line.data) : 0};
    struct span value;

    if (line.data[0] == ' ' || line.data[0] == '\t')
        return http_refuse(why, 400, "a header is folded over two lines");
    if (check_name(name, why) < 0)
        return -1;
    value = span_trim((struct span){colon + 1, line.len - name.len - 1});
    if (head->n_headers == limits->headers || head->n_headers == HTTP_HEADERS_MAX)
        return http_refuse(why, 431, limits->too_many);
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

size_t http_head_count(const struct http_head *head, const char *name)
{
    size_t count = 0;

    for (size_t i = 0; i < head->n_headers; i++)
        count += span_is_nocase(head->headers[i].name, name);
    return count;
}

bool http_head_lists(const struct http_head *head, const char *name, struct span word)
{
    for (size_t i = 0; i < head->n_headers; i++) {
        struct span rest = head->headers[i].value;

        if (!span_is_nocase(head->headers[i].name, name))
            continue;
        while (rest.len) {
            size_t n = span_until(rest, ", \t");

            if (span_equal_nocase((struct span){rest.data, n}, word))
                return true;
            n += n < rest.len;
            rest.data += n;
            rest.len -= n;
        }
    }
    return false;
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

    if (http_head_count(head, "content-length") > 1 ||
        http_head_count(head, "transfer-encoding") > 1)
        return http_refuse(why, 400, "a header that may occur only once is given twice");
    if (coding.data && (length.data || head->is_old || !span_is_nocase(coding, "chunked")))
        return http_refuse(why, 400,
                           "the body's framing is unclear: one Content-Length, or "
                           "`Transfer-Encoding: chunked`");
    if (length.data && read_length(length, &head->length) < 0)
        return http_refuse(why, 400, "Content-Length is not a plain number");
    head->framing = coding.data ? HTTP_CHUNKED : head->length ? HTTP_LENGTH : HTTP_NO_BODY;
    if (head->status && !coding.data && !length.data)
        head->framing = HTTP_UNTIL_CLOSE;
    if (head->status && (head->status < 200 || head->status == 204 || head->status == 304))
        head->framing = HTTP_NO_BODY;
    return 0;
}

/* --- heads --- */

static ssize_t read_head(const char *data, size_t len, const struct http_limits *limits,
                         size_t *scanned,
                         int (*read_first)(struct http_head *, struct span, struct http_refusal *),
                         struct http_head *head, struct http_refusal *why)
{
    ssize_t end = find_end(data, len, limits, scanned, why);
    struct span rest = {data, end > 0 ? (size_t)end : 0};

    if (end <= 0)
        return end;
    *head = (struct http_head){0};
    if (read_first(head, take_line(&rest), why) < 0)
        return -1;
    for (struct span line = take_line(&rest); line.len; line = take_line(&rest))
        if (add_header(head, line, limits, why) < 0)
            return -1;
    return read_framing(head, why) < 0 ? -1 : end;
}

ssize_t http_read_request(const char *data, size_t len, const struct http_limits *limits,
                          size_t *scanned, struct http_head *ret_head, struct http_refusal *ret_why)
{
    return read_head(data, len, limits, scanned, read_request_line, ret_head, ret_why);
}

ssize_t http_read_response(const char *data, size_t len, const struct http_limits *limits,
                           size_t *scanned, struct http_head *ret_head,
                           struct http_refusal *ret_why)
{
    return read_head(data, len, limits, scanned, read_status_line, ret_head, ret_why);
}

/* --- a head that was taken apart elsewhere --- */

static bool has_control(struct span s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.data[i];

        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return true;
    }
    return false;
}

int http_check_request(struct http_head *head, const struct http_limits *limits,
                       struct http_refusal *ret_why)
{
    size_t bytes = head->method.len + head->target.len;

    if (!is_method(head->method))
        return http_refuse(ret_why, 400, "the method is not an upper-case word");
    if (check_target(head->target, ret_why) < 0)
        return -1;
    if (head->n_headers > limits->headers || head->n_headers > HTTP_HEADERS_MAX)
        return http_refuse(ret_why, 431, limits->too_many);
    for (size_t i = 0; i < head->n_headers; i++) {
        const struct http_header *header = &head->headers[i];

        if (check_name(header->name, ret_why) < 0)
            return -1;
        if (has_control(header->value))
            return http_refuse(ret_why, 400, "a control character stands in the head");
        if (span_trim(header->value).len != header->value.len)
            return http_refuse(ret_why, 400, "a header's value has blanks around it");
        bytes += header->name.len + header->value.len;
    }
    if (bytes > limits->bytes)
        return http_refuse(ret_why, 431, limits->too_long);
    head->status = 0;
    head->length = 0;
    return read_framing(head, ret_why);
}
