/* Answers: the head, the bytes, and what becomes of the connection. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/error_json.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/span.h"
#include "http/internal.h"

/* Our own headers, and those of a server in a session (api/route_port.c). */
#define HEAD_MAX (12 * KIB)

/* An answer of which the sum of all may become too much. */
#define LARGE_BYTES MIB

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {426, "Upgrade Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
};

static const char *reason_of(int status)
{
    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Unknown";
}

void http_put(struct http_connection *c, const void *data, size_t len)
{
    c->added += len;
    if (evbuffer_add(c->out, data, len) < 0)
        c->is_torn = true; /* out of memory */
}

static void release(const void *data, size_t len, void *arg)
{
    (void)data;
    (void)len;
    shared_unref(arg);
}

/* A short text is copied: that is faster than to keep account of it. */
static void put_shared(struct http_connection *c, struct shared *text, size_t len)
{
    if (len <= REQUEST_COPIED) {
        http_put(c, text->text.data, len);
        return;
    }
    c->added += len;
    if (evbuffer_add_reference(c->out, text->text.data, len, release, shared_ref(text)) < 0) {
        shared_unref(text);
        c->is_torn = true;
    }
}

/* For a page of another origin that the operator has listed, and for nobody else: without these a
 * browser shows it nothing. */
static void put_cors(const struct request *request, char *text, size_t size)
{
    struct span origin = request_header(request, "origin");
    int n = 0;

    if (request->is_cors)
        n = snprintf(text, size,
                     "Access-Control-Allow-Origin: %.*s\r\nVary: Origin\r\n"
                     "Access-Control-Expose-Headers: Mcp-Session-Id, Retry-After, Traceparent, "
                     "Idempotency-Replayed, Content-Range\r\n",
                     (int)origin.len, origin.data);
    if (n <= 0 || (size_t)n >= size)
        text[0] = '\0';
}

/* Whether one of the lines begins so: what is in a value counts for nothing. */
static bool has_line(const char *headers, const char *beginning)
{
    for (; headers && *headers; headers += strcspn(headers, "\n"), headers += *headers != '\0')
        if (strncmp(headers, beginning, strlen(beginning)) == 0)
            return true;
    return false;
}

/* `length` UINT64_MAX: chunks, or the end of the connection for those who know none. */
static void put_head(struct http_connection *c, int status, const char *type, const char *headers,
                     uint64_t length)
{
    char head[HEAD_MAX], date[64], framing[64] = "", retry[32] = "", trace[80] = "", cors[512] = "";
    time_t now = time(NULL);
    struct tm tm;
    int n;

    (void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &tm));
    c->is_chunked = length == REQUEST_UNKNOWN_LENGTH && !c->request->head.is_old;
    c->owed = length;
    if (length != REQUEST_UNKNOWN_LENGTH && status != 204)
        (void)snprintf(framing, sizeof(framing), "Content-Length: %llu\r\n",
                       (unsigned long long)length);
    else if (c->is_chunked)
        (void)snprintf(framing, sizeof(framing), "Transfer-Encoding: chunked\r\n");
    else if (status != 204)
        c->is_closing = true;
    if (*c->request->traceparent)
        (void)snprintf(trace, sizeof(trace), "traceparent: %s\r\n", c->request->traceparent);
    if (status == 429 || status == 503)
        (void)snprintf(retry, sizeof(retry), "Retry-After: %u\r\n",
                       c->request->retry_s ? c->request->retry_s : 1);
    put_cors(c->request, cors, sizeof(cors));
    n = snprintf(head, sizeof(head),
                 "HTTP/1.1 %d %s\r\nDate: %s\r\n%s%s%s%s%s"
                 "X-Content-Type-Options: nosniff\r\n%s%s%s%s%s%s\r\n",
                 status, reason_of(status), date, type ? "Content-Type: " : "", type ? type : "",
                 type ? "\r\n" : "", framing,
                 has_line(headers, "Cache-Control:") ? "" : "Cache-Control: no-store\r\n", retry,
                 trace, c->request->is_repeat ? "Idempotency-Replayed: true\r\n" : "",
                 headers ? headers : "", cors,
                 c->is_closing             ? "Connection: close\r\n"
                 : c->request->head.is_old ? "Connection: keep-alive\r\n"
                                           : "");
    if (n > 0 && (size_t)n < sizeof(head))
        http_put(c, head, (size_t)n);
    else
        c->is_closing = true; /* cannot happen: all parts are ours and short */
}

static void finish(struct http_connection *c)
{
    c->server->served++;
    http_drop_request(c, false);
    if (c->is_torn) {
        http_cut(c);
        return;
    }
    http_enter(c, HTTP_WRITING);
    http_pump(c);
    /* The end of a relayed answer may come after all of its bytes were written: then nothing more
     * is written that would tell. */
    http_settle(c);
    if (http_waiting(c) > LARGE_BYTES)
        loop_timer_start(c->server->tick, 0); /* the sum of all is looked at now */
}

static void answer(struct request *request, int status, const char *headers, const char *text,
                   size_t len)
{
    struct http_connection *c = request->connection;

    put_head(c, status, "application/json", headers, len);
    if (!c->omits_body && len)
        http_put(c, text, len);
    finish(c);
}

void request_answer_text(struct request *request, int status, const char *text, size_t len)
{
    answer(request, status, NULL, text, len);
}

void request_answer_shared(struct request *request, int status, struct shared *text)
{
    struct http_connection *c = request->connection;
    size_t len = text->text.len;

    put_head(c, status, "application/json", NULL, len);
    if (!c->omits_body && len)
        put_shared(c, text, len);
    finish(c);
}

static void answer_json(struct request *request, int status, const char *headers, json_t *value)
{
    static const char failed[] =
        "{\"error\":{\"code\":\"system\",\"message\":\"out of memory\",\"hint\":null}}\n";
    cleanup(buf_done) struct buf text = BUF_OF(SIZE_MAX / 2);

    if (!value || json_text_dump(value, JSON_TEXT_COMPACT, &text, NULL) < 0 ||
        buf_add_str(&text, "\n", NULL) < 0)
        answer(request, 500, NULL, failed, sizeof(failed) - 1);
    else
        answer(request, status, headers, buf_str(&text), text.len);
    json_decref(value);
}

void request_answer_json(struct request *request, int status, json_t *value)
{
    answer_json(request, status, NULL, value);
}

void request_answer_json_with(struct request *request, int status, const char *headers,
                              json_t *value)
{
    answer_json(request, status, headers, value);
}

void request_answer_error_as(struct request *request, int status, const char *headers,
                             struct error *err)
{
    json_t *value;

    if (request->on_error) {
        request->on_error(request, status, err);
        return;
    }
    value = error_json(err, request_reader(request));
    if (!headers && status == 401)
        headers = "WWW-Authenticate: Bearer realm=\"belljar\"\r\n";
    error_done(err);
    answer_json(request, status, headers, value);
}

void request_answer_error(struct request *request, struct error *err)
{
    request_answer_error_as(request, error_code_http(err->code), NULL, err);
}

void request_answer_empty(struct request *request, int status)
{
    struct http_connection *c = request->connection;

    put_head(c, status, NULL, NULL, 0);
    finish(c);
}

/* --- in pieces --- */

void request_begin(struct request *request, int status, const char *type, const char *headers,
                   uint64_t length)
{
    struct http_connection *c = request->connection;

    put_head(c, status, type, headers, length);
    http_enter(c, HTTP_STREAMING);
    http_pump(c);
}

void request_relay(struct request *request, int status, const char *headers, uint64_t length)
{
    struct http_connection *c = request->connection;
    bool has_body = !c->omits_body && status != 204 && status != 304;
    char line[64], framing[64] = "";

    c->is_chunked = has_body && length == REQUEST_UNKNOWN_LENGTH && !request->head.is_old;
    c->owed = has_body ? length : 0;
    if (length != REQUEST_UNKNOWN_LENGTH && status != 204)
        (void)snprintf(framing, sizeof(framing), "Content-Length: %llu\r\n",
                       (unsigned long long)length);
    else if (c->is_chunked)
        (void)snprintf(framing, sizeof(framing), "Transfer-Encoding: chunked\r\n");
    else if (has_body)
        c->is_closing = true;
    http_put(c, line,
             (size_t)snprintf(line, sizeof(line), "HTTP/1.1 %d %s\r\n", status, reason_of(status)));
    http_put(c, headers, strlen(headers));
    http_put(c, framing, strlen(framing));
    if (c->is_closing)
        http_put(c, "Connection: close\r\n", 19);
    else if (request->head.is_old)
        http_put(c, "Connection: keep-alive\r\n", 24);
    http_put(c, "\r\n", 2);
    http_enter(c, HTTP_STREAMING);
    http_pump(c);
}

/* `data`, or the beginning of `shared` where that is not NULL. */
static bool put_piece(struct http_connection *c, const void *data, struct shared *shared,
                      size_t len)
{
    char size[32];

    if (len && c->is_chunked)
        http_put(c, size, (size_t)snprintf(size, sizeof(size), "%zx\r\n", len));
    if (len && shared)
        put_shared(c, shared, len);
    else if (len)
        http_put(c, data, len);
    if (len && c->is_chunked)
        http_put(c, "\r\n", 2);
    else if (len)
        c->owed -= c->owed == REQUEST_UNKNOWN_LENGTH ? 0 : len;
    http_pump(c);
    return http_waiting(c) < REQUEST_HIGH;
}

bool request_write(struct request *request, const void *data, size_t len)
{
    return put_piece(request->connection, data, NULL, len);
}

bool request_write_shared(struct request *request, struct shared *data, size_t len)
{
    return put_piece(request->connection, NULL, data, len);
}

void request_end(struct request *request)
{
    struct http_connection *c = request->connection;

    if (c->is_chunked)
        http_put(c, "0\r\n\r\n", 5);
    else if (c->owed && c->owed != REQUEST_UNKNOWN_LENGTH) {
        request_abort(request);
        return;
    }
    finish(c);
}

void request_abort(struct request *request)
{
    request->on_gone = NULL;
    http_cut(request->connection);
}

enum hint_reader request_reader(const struct request *request)
{
    return span_is(request_header(request, "user-agent"), REQUEST_AGENT) ? HINT_FOR_CLI
                                                                         : HINT_FOR_HTTP;
}

struct span request_header(const struct request *request, const char *name)
{
    return http_head_get(&request->head, name);
}
