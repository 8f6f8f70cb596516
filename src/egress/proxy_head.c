#include "egress/proxy_head.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hex.h"

/* --- small pieces --- */

static bool is_token_char(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(struct span s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_token_char((unsigned char)s.data[i]))
            return false;
    return s.len > 0;
}

static bool span_is(struct span s, const char *word)
{
    return s.len == strlen(word) && strncasecmp(s.data, word, s.len) == 0;
}

static struct span trim(struct span s)
{
    while (s.len && (s.data[0] == ' ' || s.data[0] == '\t')) {
        s.data++;
        s.len--;
    }
    while (s.len && (s.data[s.len - 1] == ' ' || s.data[s.len - 1] == '\t'))
        s.len--;
    return s;
}

/* The line at *at without its end, and on to the next. False: it ends in something else than CR LF,
 * or has one of the two inside. */
static bool next_line(const char *data, size_t len, size_t *at, struct span *ret_line)
{
    const char *from = data + *at, *end = memchr(from, '\n', len - *at);

    if (!end || end == from || end[-1] != '\r')
        return false;
    *ret_line = (struct span){from, (size_t)(end - from) - 1};
    if (memchr(from, '\r', ret_line->len))
        return false;
    *at += ret_line->len + 2;
    return true;
}

/* Where the head ends, behind its empty line; 0: not yet; -1: it will not any more. */
static long find_end(const char *data, size_t len)
{
    size_t most = len < PROXY_HEAD_BYTES ? len : PROXY_HEAD_BYTES;
    const char *end = memmem(data, most, "\r\n\r\n", 4);

    if (end)
        return end + 4 - data;
    return len < PROXY_HEAD_BYTES ? 0 : -1;
}

/* --- the request line --- */

static const char *read_authority(struct span authority, struct proxy_head *h)
{
    h->port = 0;
    return host_parse_port(authority.data, authority.len, &h->host, &h->port);
}

static const char *read_url(struct span target, struct proxy_head *h)
{
    size_t scheme = target.len > 7 && strncasecmp(target.data, "http://", 7) == 0    ? 7
                    : target.len > 8 && strncasecmp(target.data, "https://", 8) == 0 ? 8
                                                                                     : 0;
    struct span authority = {target.data + scheme, 0};
    size_t rest = target.len - scheme;
    const char *why, *question;

    if (!scheme)
        return "a request to a proxy names a whole URL, http://HOST/PATH";
    if (memchr(target.data, '#', target.len))
        return "a URL with a fragment";
    while (authority.len < rest && authority.data[authority.len] != '/' &&
           authority.data[authority.len] != '?')
        authority.len++;
    why = read_authority(authority, h);
    h->is_tls = scheme == 8;
    if (!h->port)
        h->port = h->is_tls ? 443 : 80;
    h->target = (struct span){authority.data + authority.len, rest - authority.len};
    question = memchr(h->target.data, '?', h->target.len);
    h->path = h->target;
    if (question)
        h->path.len = (size_t)(question - h->target.data);
    return why;
}

static const char *read_target(struct span target, struct proxy_head *h)
{
    const char *why;

    for (size_t i = 0; i < target.len; i++)
        if ((unsigned char)target.data[i] <= ' ' || (unsigned char)target.data[i] >= 0x7f)
            return "a character that no URL has";
    if (!h->is_connect)
        return read_url(target, h);
    why = read_authority(target, h);
    return why ? why : h->port ? NULL : "CONNECT without a port";
}

static const char *read_request_line(struct span line, struct proxy_head *h)
{
    const char *space = memchr(line.data, ' ', line.len);
    const char *last = memrchr(line.data, ' ', line.len);
    struct span target, version;

    if (!space || space == last)
        return "invalid request line";
    h->method = (struct span){line.data, (size_t)(space - line.data)};
    target = (struct span){space + 1, (size_t)(last - space) - 1};
    version = (struct span){last + 1, line.len - (size_t)(last - line.data) - 1};
    if (!is_token(h->method) || h->method.len > 32)
        return "invalid method";
    h->is_old = version.len == 8 && memcmp(version.data, "HTTP/1.0", 8) == 0;
    if (!h->is_old && (version.len != 8 || memcmp(version.data, "HTTP/1.1", 8) != 0))
        return "a version of HTTP other than 1.0 and 1.1";
    h->is_connect = h->method.len == 7 && memcmp(h->method.data, "CONNECT", 7) == 0;
    /* It has the server repeat the request, with what the gate added. */
    if (span_is(h->method, "TRACE") || span_is(h->method, "TRACK"))
        return "a method that a proxy must not forward";
    return read_target(target, h);
}

/* --- fields --- */

static const char *read_field(struct span line, struct proxy_head *h)
{
    const char *colon = memchr(line.data, ':', line.len);
    struct span name, value;

    if (line.len && (line.data[0] == ' ' || line.data[0] == '\t'))
        return "a header that goes on in the next line";
    if (!colon)
        return "a header without a colon";
    name = (struct span){line.data, (size_t)(colon - line.data)};
    value = trim((struct span){colon + 1, line.len - name.len - 1});
    if (!is_token(name))
        return "invalid header name";
    for (size_t i = 0; i < value.len; i++)
        if (((unsigned char)value.data[i] < ' ' && value.data[i] != '\t') || value.data[i] == 0x7f)
            return "a control character in a header";
    if (h->n_fields == PROXY_FIELDS)
        return "more than 128 headers";
    h->fields[h->n_fields].name = name;
    h->fields[h->n_fields++].value = value;
    return NULL;
}

/* The only field of that name; NULL: there is none. *ret_many: there are several. */
static const struct span *find(const struct proxy_head *h, const char *name, bool *ret_many)
{
    const struct span *found = NULL;

    for (size_t i = 0; i < h->n_fields; i++)
        if (span_is(h->fields[i].name, name)) {
            *ret_many = *ret_many || found;
            found = &h->fields[i].value;
        }
    return found;
}

static const char *check_host(const struct proxy_head *h)
{
    bool has_many = false;
    const struct span *field = find(h, "Host", &has_many);
    uint16_t port = h->is_connect ? h->port : h->is_tls ? 443 : 80;
    struct host host;

    if (has_many)
        return "several Host headers";
    if (!field)
        return h->is_old || h->is_connect ? NULL : "no Host header";
    if (host_parse_port(field->data, field->len, &host, &port) || !host_equal(&host, &h->host) ||
        port != h->port)
        return "a Host header that is not the host of the URL";
    return NULL;
}

static const char *read_length(struct span text, uint64_t *ret_length)
{
    uint64_t length = 0;

    if (text.len == 0 || text.len > 18)
        return "invalid Content-Length";
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return "invalid Content-Length";
        length = length * 10 + (uint64_t)(text.data[i] - '0');
    }
    *ret_length = length;
    return NULL;
}

static const char *check_body(struct proxy_head *h)
{
    bool has_many = false;
    const struct span *length = find(h, "Content-Length", &has_many);
    const struct span *coding = find(h, "Transfer-Encoding", &has_many);
    const char *why = NULL;

    if (has_many || (length && coding))
        return "a body with two lengths";
    if (h->is_connect && (length || coding))
        return "CONNECT with a body";
    if (coding && (h->is_old || !span_is(*coding, "chunked")))
        return "a Transfer-Encoding other than chunked";
    if (length)
        why = read_length(*length, &h->length);
    h->body = coding ? PROXY_CHUNKED : h->length ? PROXY_LENGTH : PROXY_EMPTY;
    return why;
}

static const char *read_lines(const char *data, size_t len, struct proxy_head *h)
{
    struct span line;
    size_t at = 0;
    const char *why;

    if (memchr(data, '\0', len))
        return "a NUL byte";
    if (!next_line(data, len, &at, &line))
        return "a line that does not end in CR LF";
    why = read_request_line(line, h);
    while (!why) {
        if (!next_line(data, len, &at, &line))
            return "a line that does not end in CR LF";
        if (line.len == 0)
            break;
        why = read_field(line, h);
    }
    why = why ? why : check_host(h);
    return why ? why : check_body(h);
}

long proxy_head_read(const char *data, size_t len, struct proxy_head *ret_head,
                     const char **ret_why)
{
    long end = find_end(data, len);
    const char *why;

    if (end < 0)
        *ret_why = "a head of more than 64 KiB";
    if (end <= 0)
        return end;
    *ret_head = (struct proxy_head){0};
    why = read_lines(data, (size_t)end, ret_head);
    if (why) {
        *ret_why = why;
        return -1;
    }
    return end;
}

/* --- what goes on --- */

/* Whether the list, a value of Connection, has that word. */
static bool lists(struct span list, struct span word)
{
    for (size_t at = 0; at <= list.len;) {
        const char *comma = memchr(list.data + at, ',', list.len - at);
        size_t end = comma ? (size_t)(comma - list.data) : list.len;
        struct span item = trim((struct span){list.data + at, end - at});

        if (item.len == word.len && strncasecmp(item.data, word.data, word.len) == 0)
            return true;
        at = end + 1;
    }
    return false;
}

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
        if (span_is(name, names[i]))
            return true;
    for (size_t i = 0; i < h->n_fields; i++)
        if (span_is(h->fields[i].name, "Connection") && lists(h->fields[i].value, name))
            return true;
    return false;
}

static int write_host(const struct proxy_head *h, struct buf *out, struct error *err)
{
    bool is_v6 = h->host.is_address && h->host.address.is_v6;
    bool has_port = h->port != (h->is_tls ? 443 : 80);

    if (buf_printf(out, err, "Host: %s%s%s", is_v6 ? "[" : "", h->host.name, is_v6 ? "]" : "") < 0)
        return -1;
    return has_port ? buf_printf(out, err, ":%u\r\n", h->port) : buf_add_str(out, "\r\n", err);
}

static int write_fields(const struct proxy_head *h, const char *header, struct buf *out,
                        struct error *err)
{
    struct span replaced = {header, header ? strcspn(header, ":") : 0};

    for (size_t i = 0; i < h->n_fields; i++) {
        struct span name = h->fields[i].name, value = h->fields[i].value;

        if (is_for_proxy(h, name) || (header && is_alike(name, replaced)) ||
            (h->is_part && says_otherwise(name)))
            continue;
        if (buf_add(out, name.data, name.len, err) < 0 || buf_add_str(out, ": ", err) < 0 ||
            buf_add(out, value.data, value.len, err) < 0 || buf_add_str(out, "\r\n", err) < 0)
            return -1;
    }
    return header ? buf_printf(out, err, "%s\r\n", header) : 0;
}

int proxy_head_write(const struct proxy_head *h, const char *header, struct buf *out,
                     struct error *err)
{
    bool has_slash = h->target.len && h->target.data[0] == '/', has_many = false;
    const char *version = h->is_old ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n";

    if (buf_add(out, h->method.data, h->method.len, err) < 0 ||
        buf_add_str(out, has_slash ? " " : " /", err) < 0 ||
        buf_add(out, h->target.data, h->target.len, err) < 0 || buf_add_str(out, version, err) < 0)
        return -1;
    if (write_host(h, out, err) < 0 || write_fields(h, header, out, err) < 0)
        return -1;
    if (h->body == PROXY_CHUNKED && buf_add_str(out, "Transfer-Encoding: chunked\r\n", err) < 0)
        return -1;
    if (find(h, "Content-Length", &has_many) &&
        buf_printf(out, err, "Content-Length: %llu\r\n", (unsigned long long)h->length) < 0)
        return -1;
    return buf_add_str(out, "Connection: close\r\n\r\n", err);
}

/* --- chunks --- */

enum { CHUNK_SIZE, CHUNK_SIZE_LF, CHUNK_DATA, CHUNK_CR, CHUNK_LF, CHUNK_LAST_CR, CHUNK_LAST_LF };

/* One byte that is not data. False: it does not belong there. Extensions and trailers do not
 * either: hardly anybody sends them, and servers differ about them. */
static bool chunk_step(struct proxy_chunks *c, char byte, bool *ret_is_over)
{
    int digit = hex_value(byte);

    switch (c->state) {
    case CHUNK_SIZE:
        if (digit >= 0 && c->digits < 15) {
            c->left = c->left * 16 + (uint64_t)digit;
            c->digits++;
            return true;
        }
        c->state = CHUNK_SIZE_LF;
        return byte == '\r' && c->digits;
    case CHUNK_SIZE_LF:
        c->state = c->left ? CHUNK_DATA : CHUNK_LAST_CR;
        return byte == '\n';
    case CHUNK_CR:
        c->state = CHUNK_LF;
        return byte == '\r';
    case CHUNK_LF:
        *c = (struct proxy_chunks){0};
        return byte == '\n';
    case CHUNK_LAST_CR:
        c->state = CHUNK_LAST_LF;
        return byte == '\r';
    default:
        *ret_is_over = true;
        return byte == '\n';
    }
}

long proxy_chunks_feed(struct proxy_chunks *c, const char *data, size_t len, bool *ret_is_over)
{
    size_t at = 0;

    *ret_is_over = false;
    while (at < len && !*ret_is_over) {
        if (c->state == CHUNK_DATA) {
            size_t n = c->left < len - at ? (size_t)c->left : len - at;

            at += n;
            c->left -= n;
            if (!c->left)
                c->state = CHUNK_CR;
        } else if (!chunk_step(c, data[at++], ret_is_over)) {
            return -1;
        }
    }
    return (long)at;
}

/* --- answers --- */

static bool is_status_line(struct span line)
{
    return line.len >= 12 && memcmp(line.data, "HTTP/1.", 7) == 0 &&
           (line.data[7] == '0' || line.data[7] == '1') && line.data[8] == ' ' &&
           line.data[9] >= '1' && line.data[9] <= '9' && line.data[10] >= '0' &&
           line.data[10] <= '9' && line.data[11] >= '0' && line.data[11] <= '9' &&
           (line.len == 12 || line.data[12] == ' ');
}

static bool is_hop(struct span line)
{
    static const char *const names[] = {"Connection", "Keep-Alive", "Proxy-Connection",
                                        "Proxy-Authenticate"};
    const char *colon = memchr(line.data, ':', line.len);
    struct span name = {line.data, colon ? (size_t)(colon - line.data) : 0};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (span_is(name, names[i]))
            return true;
    return false;
}

long proxy_answer_head(const char *data, size_t len, struct buf *out, bool *ret_is_interim,
                       struct error *err)
{
    long end = find_end(data, len);
    struct span line;
    size_t at = 0;

    if (end <= 0)
        return end;
    if (!next_line(data, (size_t)end, &at, &line) || !is_status_line(line))
        return -1;
    *ret_is_interim = line.data[9] == '1';
    /* It would speak another language from here on, which nobody asked for. */
    if (*ret_is_interim && memcmp(line.data + 9, "101", 3) == 0)
        return -1;
    do {
        if (!is_hop(line) &&
            (buf_add(out, line.data, line.len, err) < 0 || buf_add_str(out, "\r\n", err) < 0))
            return -1;
        if (!next_line(data, (size_t)end, &at, &line))
            return -1;
    } while (line.len);
    if (!*ret_is_interim && buf_add_str(out, "Connection: close\r\n", err) < 0)
        return -1;
    return buf_add_str(out, "\r\n", err) < 0 ? -1 : end;
}
