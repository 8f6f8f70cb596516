/* Streams to E2B's clients: their pace, and a sign of life in a long silence. */
#include "compat/e2b_internal.h"

#define TICK_MS 1000

static void begin_ticks(struct e2b *e2b)
{
    if (!e2b->is_ticking)
        loop_timer_start(e2b->tick, TICK_MS);
    e2b->is_ticking = true;
}

void e2b_stream_begin(struct e2b_stream *stream, struct e2b *e2b, struct request *request,
                      const char *type)
{
    stream->e2b = e2b;
    stream->request = request;
    stream->wrote_ns = loop_now_ns();
    LIST_INSERT_HEAD(&e2b->streams, stream, link);
    begin_ticks(e2b);
    request_begin(request, 200, type, NULL, REQUEST_UNKNOWN_LENGTH);
}

void e2b_stream_write(struct e2b_stream *stream, const void *data, size_t len)
{
    stream->wrote_ns = loop_now_ns();
    if (!request_write(stream->request, data, len))
        stream->is_behind = true;
}

void e2b_stream_drop(struct e2b_stream *stream)
{
    if (!stream->request)
        return;
    LIST_REMOVE(stream, link);
    stream->request = NULL;
}

void e2b_stream_end(struct e2b_stream *stream)
{
    struct request *request = stream->request;

    if (!request)
        return;
    e2b_stream_drop(stream);
    request->on_gone = NULL;
    request->on_drained = NULL;
    request_end(request);
}

void e2b_stream_tick(void *arg)
{
    struct e2b *e2b = arg;
    uint64_t now = loop_now_ns();
    struct e2b_stream *stream;

    LIST_FOREACH(stream, &e2b->streams, link)
        if (stream->ping_ms && !stream->is_behind &&
            (now - stream->wrote_ns) / 1000000 >= stream->ping_ms)
            e2b_stream_write(stream, stream->ping.data, stream->ping.len);
    e2b->is_ticking = !LIST_EMPTY(&e2b->streams);
    if (e2b->is_ticking)
        loop_timer_start(e2b->tick, TICK_MS);
}
