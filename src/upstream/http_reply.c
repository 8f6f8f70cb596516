#include "upstream/http_reply.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

/* One line of the head or of the sizes of chunks, and how many of them there may be in a head. */
#define LINE_BYTES  (16 * KIB)
#define HEADERS_MAX 200

void http_reply_init(struct http_reply *reply,
                     void (*on_text)(void *user, const char *text, size_t len), void *user)
{
    *reply = (struct http_reply){.on_text = on_text, .user = user};
    buf_init(&reply->line, LINE_BYTES);
    buf_init(&reply->text, LIMIT_UPSTREAM_MESSAGE);
    buf_init(&reply->event_line, LIMIT_UPSTREAM_MESSAGE);
}

void http_reply_done(struct http_reply *reply)
{
    buf_done(&reply->line);
    buf_done(&reply->text);
    buf_done(&reply->event_line);
}

static int broken(struct error *err, const char *what)
{
    return error_set(err, E_PROTOCOL, "malformed HTTP response: %s", what);
}

/* --- events --- */

static void end_event(struct http_reply *r)
{
    if (r->text.len)
        r->on_text(r->user, buf_str(&r->text), r->text.len);
    buf_clear(&r->text);
}

/* Only data counts; names, numbers and comments say nothing that we act on. */
static int take_event_line(struct http_reply *r, struct error *err)
{
    const char *line = buf_str(&r->event_line);
    size_t len = r->event_line.len;

    if (len && line[len - 1] == '\r')
        len--;
    if (!len) {
        end_event(r);
        return 0;
    }
    if (len < 5 || memcmp(line, "data:", 5) != 0)
        return 0;
    line += 5;
    len -= 5;
    if (len && *line == ' ') {
        line++;
        len--;
    }
    if (r->text.len && buf_add(&r->text, "\n", 1, err) < 0)
        return -1;
    return buf_add(&r->text, line, len, err);
}

static int take_events(struct http_reply *r, const char *data, size_t len, struct error *err)
{
    while (len) {
        const char *newline = memchr(data, '\n', len);
        size_t piece = newline ? (size_t)(newline - data) : len;

        if (buf_add(&r->event_line, data, piece, err) < 0)
            return -1;
        if (newline) {
            if (take_event_line(r, err) < 0)
                return -1;
            buf_clear(&r->event_line);
            piece++;
        }
        data += piece;
        len -= piece;
    }
    return 0;
}

/* --- the body --- */

static void finish(struct http_reply *r)
{
    if (r->state == HTTP_REPLY_DONE)
        return;
    r->state = HTTP_REPLY_DONE;
    if (!r->is_events)
        end_event(r);
}

static int take_body(struct http_reply *r, const char *data, size_t len, struct error *err)
{
    if (r->is_events)
        return take_events(r, data, len, err);
    return buf_add(&r->text, data, len, err);
}

static int take_chunk_size(struct http_reply *r, const char *line, struct error *err)
{
    char *end = NULL;

    if (!isxdigit((unsigned char)*line))
        return broken(err, "a chunk without a size");
    r->left = strtoull(line, &end, 16);
    if (*end && *end != ';' && *end != ' ')
        return broken(err, "a chunk without a size");
    r->state = r->left ? HTTP_REPLY_BODY : HTTP_REPLY_TRAILERS;
    return 0;
}

/* --- the head --- */

static int take_status(struct http_reply *r, const char *line, struct error *err)
{
    if (strncmp(line, "HTTP/1.", 7) != 0 || !isdigit((unsigned char)line[7]) || line[8] != ' ' ||
        strspn(line + 9, "0123456789") != 3 || (line[12] && line[12] != ' '))
        return broken(err, "its first line");
    r->status = (int)strtol(line + 9, NULL, 10);
    r->state = HTTP_REPLY_HEADERS;
    return 0;
}

static int take_length(struct http_reply *r, const char *value, struct error *err)
{
    size_t digits = strspn(value, "0123456789");

    if (!digits || digits > 15 || value[digits] || r->has_length)
        return broken(err, "its length");
    r->has_length = true;
    r->left = strtoull(value, NULL, 10);
    return 0;
}

static int keep_session(struct http_reply *r, const char *value, struct error *err)
{
    size_t len = strlen(value);

    for (size_t i = 0; i < len; i++)
        if (value[i] < 0x21 || value[i] > 0x7e)
            return broken(err, "the name of its session");
    if (len >= sizeof(r->session))
        return broken(err, "the name of its session");
    memcpy(r->session, value, len + 1);
    return 0;
}

static int take_header(struct http_reply *r, char *line, struct error *err)
{
    char *value = strchr(line, ':');

    if (!value || value == line || ++r->n_headers > HEADERS_MAX)
        return broken(err, "a header");
    *value++ = '\0';
    value += strspn(value, " \t");
    for (size_t len = strlen(value); len && strchr(" \t", value[len - 1]); len--)
        value[len - 1] = '\0';
    if (strcasecmp(line, "content-length") == 0)
        return take_length(r, value, err);
    if (strcasecmp(line, "mcp-session-id") == 0)
        return keep_session(r, value, err);
    if (strcasecmp(line, "content-type") == 0)
        r->is_events = strncasecmp(value, "text/event-stream", 17) == 0;
    if (strcasecmp(line, "content-encoding") == 0 && strcasecmp(value, "identity") != 0)
        return broken(err, "it is compressed, which was not asked for");
    if (strcasecmp(line, "transfer-encoding") == 0) {
        if (strcasecmp(value, "chunked") != 0)
            return broken(err, "the way it is transferred");
        r->is_chunked = true;
    }
    return 0;
}

static int end_head(struct http_reply *r, struct error *err)
{
    if (r->status < 200) { /* the real one follows */
        if (r->status == 101)
            return broken(err, "another protocol");
        r->state = HTTP_REPLY_STATUS;
        return 0;
    }
    if (r->is_chunked && r->has_length)
        return broken(err, "two lengths");
    if (r->status == 204 || r->status == 304 || (r->has_length && !r->left))
        finish(r);
    else
        r->state = r->is_chunked ? HTTP_REPLY_CHUNK : HTTP_REPLY_BODY;
    return 0;
}

/* --- lines --- */

static int take_line(struct http_reply *r, struct error *err)
{
    char *line = r->line.data;
    size_t len = r->line.len;

    if (len && line[len - 1] == '\r')
        line[--len] = '\0';
    if (strlen(len ? line : "") != len)
        return broken(err, "a NUL in its head");
    switch (r->state) {
    case HTTP_REPLY_STATUS:
        return take_status(r, len ? line : "", err);
    case HTTP_REPLY_HEADERS:
        return len ? take_header(r, line, err) : end_head(r, err);
    case HTTP_REPLY_CHUNK:
        return take_chunk_size(r, len ? line : "", err);
    case HTTP_REPLY_CHUNK_END:
        r->state = HTTP_REPLY_CHUNK;
        return len ? broken(err, "a chunk without an end") : 0;
    case HTTP_REPLY_TRAILERS:
        if (!len)
            finish(r);
        return 0;
    default:
        return 0;
    }
}

static int feed_line(struct http_reply *r, const char *data, size_t len, size_t *ret_used,
                     struct error *err)
{
    const char *newline = memchr(data, '\n', len);
    size_t piece = newline ? (size_t)(newline - data) : len;

    if (buf_add(&r->line, data, piece, err) < 0)
        return -1;
    *ret_used = piece + (newline ? 1 : 0);
    if (!newline)
        return 0;
    if (!r->line.data && buf_reserve(&r->line, 1, err) < 0)
        return -1;
    if (take_line(r, err) < 0)
        return -1;
    buf_clear(&r->line);
    return 0;
}

static int feed_body(struct http_reply *r, const char *data, size_t len, size_t *ret_used,
                     struct error *err)
{
    bool is_bounded = r->is_chunked || r->has_length;

    if (is_bounded && len > r->left)
        len = (size_t)r->left;
    if (take_body(r, data, len, err) < 0)
        return -1;
    *ret_used = len;
    if (!is_bounded)
        return 0;
    r->left -= len;
    if (r->left == 0 && r->is_chunked)
        r->state = HTTP_REPLY_CHUNK_END;
    else if (r->left == 0)
        finish(r);
    return 0;
}

int http_reply_feed(struct http_reply *reply, const char *data, size_t len, struct error *err)
{
    reply->total += len;
    if (reply->total > LIMIT_UPSTREAM_LINE)
        return error_set(err, E_TOO_LARGE, "the server's answer has no end");
    while (len && reply->state != HTTP_REPLY_DONE) {
        size_t used = 0;

        if ((reply->state == HTTP_REPLY_BODY ? feed_body : feed_line)(reply, data, len, &used,
                                                                      err) < 0)
            return -1;
        data += used;
        len -= used;
    }
    return 0;
}

int http_reply_end(struct http_reply *reply, struct error *err)
{
    bool is_open = reply->state == HTTP_REPLY_BODY && !reply->is_chunked && !reply->has_length;

    if (reply->state == HTTP_REPLY_DONE)
        return 0;
    if (!is_open)
        return error_set(err, E_PROTOCOL, "the server ended its answer early");
    finish(reply);
    return 0;
}
