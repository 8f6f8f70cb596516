/* The way back of one message: JSON in one piece, or events that can be returned to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/http_internal.h"

/* Proxies are asked not to wait for more before they pass an event on. */
#define STREAM_HEADERS "X-Accel-Buffering: no\r\n"

/* Clients of this version and later know what an event without data is for. */
#define PRIMING_VERSION "2025-11-25"

static struct mcp_stream *stream_of(const struct mcp_exchange *exchange)
{
    return (struct mcp_stream *)exchange;
}

void mcp_stream_free(struct mcp_stream *stream)
{
    struct request *reader = stream->sse.reader;

    LIST_REMOVE(stream, link);
    if (stream->request)
        request_abort(stream->request);
    if (reader)
        request_abort(reader);
    mcp_peer_free(stream->peer);
    sse_done(&stream->sse);
    free(stream);
}

void mcp_stream_add(struct sse *sse, const json_t *message)
{
    cleanup(buf_done) struct buf text = BUF_OF(SIZE_MAX / 2);

    if (json_text_dump(message, JSON_TEXT_COMPACT, &text, NULL) == 0)
        (void)sse_add(sse, "message", buf_str(&text), text.len, NULL);
}

/* --- the reader --- */

/* A modern stream that has ended and been read. */
static bool is_done(const struct mcp_stream *stream)
{
    return !stream->session && !stream->is_open && !stream->request && !stream->sse.reader;
}

static void on_gone(struct request *request)
{
    struct mcp_stream *stream = request->user;

    stream->request = NULL;
    sse_detach(&stream->sse);
    if (stream->session)
        return; /* it may be returned to */
    if (stream->is_open)
        mcp_exchange_gone(&stream->exchange);
    mcp_stream_free(stream);
}

static void on_drained(struct request *request)
{
    struct mcp_stream *stream = request->user;

    sse_pump(&stream->sse);
    if (is_done(stream))
        mcp_stream_free(stream);
}

static void take_request(struct mcp_stream *stream, struct request *request)
{
    request->user = stream;
    request->on_gone = on_gone;
    request->on_drained = on_drained;
}

void mcp_stream_resume(struct mcp_stream *stream, struct request *request, uint64_t after)
{
    take_request(stream, request);
    sse_attach(&stream->sse, request, after);
}

static bool knows_priming(const struct mcp_stream *stream)
{
    const char *version = stream->session ? mcp_peer_version(stream->session->peer) : NULL;

    return version && strcmp(version, PRIMING_VERSION) >= 0;
}

void mcp_stream_begin(struct mcp_stream *stream)
{
    struct request *request = stream->request;
    struct sse *sse = &stream->sse;

    if (stream->has_events)
        return;
    stream->has_events = true;
    stream->request = NULL;
    sse->headers = STREAM_HEADERS;
    sse->is_silent = true;
    sse->has_no_ids = !stream->session;
    (void)snprintf(sse->prefix, sizeof(sse->prefix), "%u-", stream->number);
    if (knows_priming(stream))
        (void)sse_prime(sse, MCP_RETRY_MS, NULL);
    if (request)
        sse_attach(sse, request, 0);
}

/* --- what the dispatcher says --- */

static void on_send(struct mcp_exchange *exchange, const json_t *message)
{
    struct mcp_stream *stream = stream_of(exchange);

    mcp_stream_begin(stream);
    mcp_stream_add(&stream->sse, message);
}

/* The first answer names the session; one that failed has opened none. */
static void answer_initialize(struct mcp_stream *stream, const json_t *answer, int status)
{
    struct mcp_http_session *session = stream->session;
    struct request *request = take_ptr(stream->request);
    bool is_good = json_object_get(answer, "result") != NULL;
    char header[MCP_SESSION_ID_SIZE + 32];

    (void)snprintf(header, sizeof(header), "Mcp-Session-Id: %s\r\n", session->id);
    if (request)
        request_answer_json_with(request, status, is_good ? header : NULL,
                                 json_incref((json_t *)answer));
    if (is_good)
        mcp_stream_free(stream);
    else
        mcp_http_session_free(session);
}

/* Nobody wants an answer any more, or nobody ever did. */
static void end_without(struct mcp_stream *stream, int status)
{
    struct request *request = take_ptr(stream->request);

    if (request && status) {
        request_answer_empty(request, status);
    } else if (request) {
        request_begin(request, 200, "text/event-stream", NULL, REQUEST_UNKNOWN_LENGTH);
        request_end(request);
    }
    mcp_stream_free(stream);
}

static void end_events(struct mcp_stream *stream, const json_t *answer)
{
    struct mcp_http_session *session = stream->session;

    if (answer)
        mcp_stream_add(&stream->sse, answer);
    sse_finish(&stream->sse);
    if (session)
        mcp_http_session_trim(session);
    else if (is_done(stream))
        mcp_stream_free(stream);
}

static void on_finish(struct mcp_exchange *exchange, const json_t *answer, int status)
{
    struct mcp_stream *stream = stream_of(exchange);
    struct request *request;

    stream->is_open = false;
    stream->since_ns = loop_now_ns();
    if (stream->has_events) {
        end_events(stream, answer);
    } else if (!answer) {
        end_without(stream, status);
    } else if (stream->is_initialize) {
        answer_initialize(stream, answer, status);
    } else {
        request = take_ptr(stream->request);
        if (request)
            request_answer_json(request, status, json_incref((json_t *)answer));
        mcp_stream_free(stream);
    }
}

static struct span on_header(const struct mcp_exchange *exchange, const char *name)
{
    const struct mcp_stream *stream = stream_of(exchange);

    return stream->request ? request_header(stream->request, name) : (struct span){0};
}

static bool on_behind(const struct mcp_exchange *exchange)
{
    return sse_is_behind(&stream_of(exchange)->sse);
}

/* The client comes back for the rest: it knows the id of an event, and when. */
static void on_rest(struct mcp_exchange *exchange)
{
    struct mcp_stream *stream = stream_of(exchange);
    struct request *reader;

    if (!knows_priming(stream))
        return;
    mcp_stream_begin(stream);
    reader = stream->sse.reader;
    if (!reader || stream->sse.unsent)
        return;
    sse_detach(&stream->sse);
    request_end(reader);
}

struct mcp_stream *mcp_stream_new(struct mcp_http *http, struct mcp_http_session *session,
                                  struct request *request)
{
    struct mcp_stream *stream = calloc(1, sizeof(*stream));
    struct error err = {0};

    if (!stream) {
        error_memory(&err);
        request_answer_error(request, &err);
        return NULL;
    }
    *stream = (struct mcp_stream){
        .exchange = {.send = on_send,
                     .finish = on_finish,
                     .header = on_header,
                     .is_behind = on_behind,
                     .rest = on_rest},
        .http = http,
        .session = session,
        .request = request,
        .since_ns = loop_now_ns(),
        .is_open = true,
    };
    if (session)
        stream->number = ++session->last_number;
    LIST_INSERT_HEAD(stream->session ? &stream->session->streams : &stream->http->streams, stream,
                     link);
    take_request(stream, request);
    return stream;
}
