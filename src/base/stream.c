#include "base/stream.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/spool.h"
#include "base/utf8.h"

/* A character has at most three bytes after its first. */
#define STREAM_CUT_MAX ((size_t)3)

void run_stream_init(struct run_stream *stream, size_t limit)
{
    *stream = (struct run_stream){.limit = limit};
    buf_init(&stream->head, limit - limit / 2);
    buf_init(&stream->tail, limit / 2);
}

void run_stream_done(struct run_stream *stream)
{
    buf_done(&stream->head);
    buf_done(&stream->tail);
    spool_free(run_stream_take_spool(stream));
}

void run_stream_spill(struct run_stream *stream, struct spool_directory *spools, uint64_t *spooled)
{
    stream->spooled = spooled;
    stream->spools = spools;
}

struct spool *run_stream_take_spool(struct run_stream *stream)
{
    struct spool *spool = stream->spool;

    stream->spool = NULL;
    stream->spools = NULL;
    return spool;
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The ring is full: each new byte takes the place of the oldest. Bytes that would be overwritten
 * within this very call are not written at all. */
static void overwrite(struct run_stream *stream, const char *data, size_t len)
{
    struct buf *tail = &stream->tail;

    if (tail->len == 0)
        return;
    if (len > tail->len) {
        data += len - tail->len;
        len = tail->len;
    }
    while (len) {
        size_t n = min_size(len, tail->len - stream->tail_start);

        memcpy(tail->data + stream->tail_start, data, n);
        stream->tail_start = (stream->tail_start + n) % tail->len;
        data += n;
        len -= n;
    }
}

static int keep(struct run_stream *stream, const char *data, size_t len, struct error *err)
{
    size_t n = min_size(len, stream->head.limit - stream->head.len);
    int r;

    /* Once the tail has begun, the head is closed, also when it could not grow for want of memory.
     */
    if (stream->tail.len == 0 && n) {
        r = buf_add(&stream->head, data, n, err);
        if (r < 0)
            return r;
        data += n;
        len -= n;
    }
    n = min_size(len, stream->tail.limit - stream->tail.len);
    if (n) {
        r = buf_add(&stream->tail, data, n, err);
        if (r < 0)
            return r;
        data += n;
        len -= n;
    }
    overwrite(stream, data, len);
    return 0;
}

/* The first bytes are about to fall out: up to here head and tail are the whole, unless memory was
 * short. Without a file the stream goes on as one that keeps none. */
static void spill(struct run_stream *stream, const char *data, size_t len)
{
    if (!stream->spools || stream->total + len <= stream->limit)
        return;
    if (!stream->spool) {
        if (stream->dropped ||
            spool_new(stream->spools, stream->spooled, &stream->spool, NULL) < 0) {
            stream->spools = NULL;
            return;
        }
        spool_add(stream->spool, buf_str(&stream->head), stream->head.len);
        spool_add(stream->spool, buf_str(&stream->tail), stream->tail.len);
    }
    spool_add(stream->spool, data, len);
}

int run_stream_add(struct run_stream *stream, struct clean_text text, struct error *err)
{
    int r;

    spill(stream, clean_data(text), clean_len(text));
    r = keep(stream, clean_data(text), clean_len(text), err);

    stream->total += clean_len(text);
    stream->dropped = stream->total - stream->head.len - stream->tail.len;
    return r;
}

void run_stream_skip(struct run_stream *stream, uint64_t count)
{
    stream->spools = NULL;
    stream->head.limit = stream->head.len;
    stream->total += count;
    stream->dropped += count + stream->tail.len;
    buf_clear(&stream->tail);
    stream->tail_start = 0;
}

/* Bytes at the start of the tail that only continue a character. */
static size_t cut_at_start(const struct run_stream *stream)
{
    const struct buf *tail = &stream->tail;
    size_t n = 0;

    while (n < STREAM_CUT_MAX && n < tail->len &&
           ((uint8_t)tail->data[(stream->tail_start + n) % tail->len] & 0xc0) == 0x80)
        n++;
    return n;
}

int run_stream_render(const struct run_stream *stream, struct buf *out, struct error *err)
{
    const struct buf *head = &stream->head;
    const struct buf *tail = &stream->tail;
    size_t head_cut = 0, tail_cut = 0, start;
    int r;

    if (stream->dropped) {
        head_cut = utf8_cut_at_end(buf_str(head), head->len);
        tail_cut = cut_at_start(stream);
    }
    r = buf_add(out, buf_str(head), head->len - head_cut, err);
    if (r == 0 && stream->dropped)
        r = buf_printf(out, err, "\n… [%" PRIu64 " bytes dropped] …\n",
                       stream->dropped + head_cut + tail_cut);
    if (r < 0 || tail->len == tail_cut)
        return r;

    /* The ring unrolled: from the oldest byte to the end, then from the beginning. */
    start = stream->tail_start + tail_cut;
    if (start < tail->len) {
        r = buf_add(out, tail->data + start, tail->len - start, err);
        start = 0;
    } else {
        start -= tail->len;
    }
    if (r == 0 && stream->tail_start > start)
        r = buf_add(out, tail->data + start, stream->tail_start - start, err);
    return r;
}

/* Adds the last bytes of a piece, as many as there is room for in front of what is there. */
static int add_before(struct buf *out, const char *data, size_t len)
{
    cleanup(buf_done) struct buf joined = {0};
    size_t n = min_size(len, out->limit - out->len);

    buf_init(&joined, out->limit);
    if (buf_add(&joined, data + len - n, n, NULL) < 0 ||
        buf_add(&joined, buf_str(out), out->len, NULL) < 0)
        return -1;
    buf_clear(out);
    return buf_add(out, buf_str(&joined), joined.len, NULL);
}

int run_stream_tail(const struct run_stream *stream, struct buf *out)
{
    const struct buf *tail = &stream->tail;

    if (tail->len &&
        (add_before(out, tail->data, stream->tail_start) < 0 ||
         add_before(out, tail->data + stream->tail_start, tail->len - stream->tail_start) < 0))
        return -1;
    return stream->dropped || !stream->head.len
               ? 0
               : add_before(out, stream->head.data, stream->head.len);
}

/* From the part that is in memory once bytes are missing: the ring of the tail. */
static size_t read_tail(const struct run_stream *stream, uint64_t *offset, char *data, size_t size)
{
    const struct buf *tail = &stream->tail;
    uint64_t from = stream->total - tail->len;
    size_t at, n;

    if (*offset < from)
        *offset = from;
    if (*offset >= stream->total)
        return 0;
    at = (stream->tail_start + (size_t)(*offset - from)) % tail->len;
    n = min_size(size, min_size((size_t)(stream->total - *offset), tail->len - at));
    memcpy(data, tail->data + at, n);
    return n;
}

size_t run_stream_read(const struct run_stream *stream, uint64_t *offset, char *data, size_t size)
{
    ssize_t spooled = stream->spool ? spool_read(stream->spool, *offset, data, size, NULL) : 0;
    size_t n;

    if (spooled > 0)
        return (size_t)spooled;
    if (*offset >= stream->head.len)
        return read_tail(stream, offset, data, size);
    n = min_size(size, stream->head.len - (size_t)*offset);
    memcpy(data, stream->head.data + *offset, n);
    return n;
}
