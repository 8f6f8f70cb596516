/* Any bytes as the stream of a run's events from a virtual machine: the first byte is the length of
 * the pieces in which they come. However they are cut, the same events are read, or the same
 * mistake; and what is taken of them is within its bounds.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/stream.h"
#include "engine/masking.h"
#include "vm/events.h"
#include "vm/inside.h"

#define OUTPUT_BYTES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct reading {
    struct events_reader reader;
    struct buf seen; /* names and data, one after the other */
    struct run *run;
    struct inside_live live;
    size_t told; /* bytes of output that somebody was told of */
    bool has_answer;
};

static void on_told(struct run *run, const struct run_event *event)
{
    struct reading *r = run->user;

    if (event->kind == RUN_EVENT_STDOUT || event->kind == RUN_EVENT_STDERR)
        r->told += event->len;
}

static size_t limit(void *user, const char *name)
{
    const struct reading *r = user;

    return inside_event_limit(r->run, name);
}

static int on_event(void *user, const char *name, const char *data, size_t len, struct error *err)
{
    struct reading *r = user;

    if (strlen(name) > EVENTS_NAME_MAX || !inside_event_limit(r->run, name) ||
        len > inside_event_limit(r->run, name))
        abort();
    if (buf_add(&r->seen, name, strlen(name) + 1, err) < 0 ||
        buf_add(&r->seen, data, len, err) < 0 || buf_add(&r->seen, "", 1, err) < 0)
        abort();
    if (strcmp(name, "result") != 0 && strcmp(name, "error") != 0)
        return inside_take_event(r->run, &r->live, name, data, len, err);
    if (!r->has_answer)
        inside_take_answer(r->run, &r->live, *name == 'r' ? 200 : 500, data, len);
    r->has_answer = true;
    return 0;
}

static void begin(struct reading *r, struct masks *masks)
{
    *r = (struct reading){.run = run_new()};
    events_init(&r->reader, limit, on_event, r);
    buf_init(&r->seen, MIB);
    if (!r->run)
        abort();
    r->run->masks = masks;
    r->run->user = r;
    r->run->on_event = on_told;
    r->run->terms.profile = "standard";
    r->run->terms.limits.output_bytes = OUTPUT_BYTES;
    run_stream_done(&r->run->result.out);
    run_stream_done(&r->run->result.err);
    run_stream_init(&r->run->result.out, OUTPUT_BYTES);
    run_stream_init(&r->run->result.err, OUTPUT_BYTES);
}

static void done(struct reading *r)
{
    const struct run_result *result = &r->run->result;

    if (result->n_displays > LIMIT_DISPLAYS ||
        result->out.head.len + result->out.tail.len > OUTPUT_BYTES ||
        result->err.head.len + result->err.tail.len > OUTPUT_BYTES)
        abort();
    events_done(&r->reader);
    inside_live_done(&r->live);
    buf_done(&r->seen);
    run_free(r->run);
}

static int feed(struct reading *r, const char *data, size_t len, size_t piece)
{
    cleanup_error struct error err = {0};

    for (size_t at = 0; at < len; at += piece)
        if (events_feed(&r->reader, data + at, len - at < piece ? len - at : piece, &err) < 0)
            return -1;
    return events_is_whole(&r->reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct masks *masks;
    struct reading whole, cut;
    int a, b;

    if (!masks)
        masks = masks_new(NULL, NULL, NULL);
    if (!masks || len < 2)
        return 0;
    begin(&whole, masks);
    begin(&cut, masks);
    a = feed(&whole, (const char *)data + 1, len - 1, len);
    b = feed(&cut, (const char *)data + 1, len - 1, (size_t)(data[0] % 32) + 1);
    if (a != b || whole.seen.len != cut.seen.len ||
        memcmp(buf_str(&whole.seen), buf_str(&cut.seen), cut.seen.len) != 0)
        abort();
    done(&whole);
    done(&cut);
    return 0;
}
