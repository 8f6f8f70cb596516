#include "upstream/http_reply.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/limits.h"

void http_reply_init(struct http_reply *reply,
                     void (*on_text)(void *user, const char *text, size_t len), void *user)
{
    *reply = (struct http_reply){.on_text = on_text, .user = user};
    http_response_init(&reply->response);
    buf_init(&reply->text, LIMIT_UPSTREAM_MESSAGE);
    buf_init(&reply->event_line, LIMIT_UPSTREAM_MESSAGE);
}

void http_reply_done(struct http_reply *reply)
{
    http_response_done(&reply->response);
    buf_done(&reply->text);
    buf_done(&reply->event_line);
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

/* --- the head --- */

static int keep_session(struct http_reply *r, struct span value, struct error *err)
{
    for (size_t i = 0; i < value.len; i++)
        if (value.data[i] < 0x21 || value.data[i] > 0x7e)
            return http_malformed("bad Mcp-Session-Id", err);
    if (value.len >= sizeof(r->session))
        return http_malformed("Mcp-Session-Id is too long", err);
    memcpy(r->session, value.data, value.len);
    return 0;
}

/* A header that we read may be there once: one reader takes the first, another the last. */
static int read_head(struct http_reply *r, struct error *err)
{
    static const char *const once[] = {"content-type", "content-encoding", "mcp-session-id"};
    static const char events[] = "text/event-stream";
    const struct http_head *head = &r->response.head;
    struct span type = http_head_get(head, "content-type");
    struct span coding = http_head_get(head, "content-encoding");
    struct span session = http_head_get(head, "mcp-session-id");

    for (size_t i = 0; i < ARRAY_SIZE(once); i++)
        if (http_head_count(head, once[i]) > 1)
            return http_malformed("a header that may occur only once is given twice", err);
    if (coding.data && !span_is_nocase(coding, "identity"))
        return http_malformed("it is compressed, which was not asked for", err);
    r->status = head->status;
    type.len = type.data ? span_until(type, "; \t") : 0;
    r->is_events = type.data && span_is_nocase(type, events);
    r->has_read_head = true;
    return session.data ? keep_session(r, session, err) : 0;
}

/* --- the body --- */

static int take_piece(void *user, const char *data, size_t len, struct error *err)
{
    struct http_reply *r = user;

    if (!r->has_read_head && read_head(r, err) < 0)
        return -1;
    return r->is_events ? take_events(r, data, len, err) : buf_add(&r->text, data, len, err);
}

static int finish(struct http_reply *r, struct error *err)
{
    if (!r->has_read_head && read_head(r, err) < 0)
        return -1;
    if (!r->is_events)
        end_event(r);
    return 0;
}

int http_reply_feed(struct http_reply *reply, const char *data, size_t len, struct error *err)
{
    struct http_response *response = &reply->response;

    if (response->is_over)
        return 0;
    reply->total += len;
    if (reply->total > LIMIT_UPSTREAM_LINE)
        return error_set(err, E_TOO_LARGE, "the server's answer is not complete");
    if (http_response_feed(response, data, len, take_piece, reply, err) < 0)
        return -1;
    return response->is_over ? finish(reply, err) : 0;
}

int http_reply_end(struct http_reply *reply, struct error *err)
{
    if (reply->response.is_over)
        return 0;
    return http_response_end(&reply->response, err) < 0 ? -1 : finish(reply, err);
}
