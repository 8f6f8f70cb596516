/* An event stream (text/event-stream): numbered events, one reader at a time, which may reconnect.
 *
 * Events are kept as text. Events that were read stay for a while, up to SSE_KEPT bytes, so that a
 * reader that lost its connection continues after the last id it saw. The writer bounds the events
 * that were not read yet: past SSE_BEHIND bytes it is asked to stop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "http/request.h"

#define SSE_KEPT   MIB
#define SSE_BEHIND (256 * KIB)

struct sse_event;

struct sse {
    struct sse_event *first, *last;
    struct sse_event *unsent; /* the first of those, or NULL */
    uint64_t last_id;
    size_t sent_bytes, unsent_bytes;
    bool is_over; /* nothing is added any more */
    struct request *reader;

    /* --- how it looks; may be set before the first event --- */
    const char *headers; /* of the answer: lines with their CR LF, or NULL */
    char prefix[24];     /* of every id */
    bool has_no_ids;
    bool is_silent; /* about events that are gone */
};

void sse_init(struct sse *sse);
void sse_done(struct sse *sse);

/* Adds the text of an event without an id to `out`: for streams that are not kept, and have no
 * struct sse. */
int sse_text_add(struct buf *out, const char *name, const json_t *data, struct error *err);

/* Adds an event and passes it on. `data` is one line of JSON. */
int sse_add(struct sse *sse, const char *name, const char *data, size_t len, struct error *err);

/* Adds the first `len` bytes of a text that may be long: it is not copied. */
int sse_add_shared(struct sse *sse, const char *name, struct shared *data, size_t len,
                   struct error *err);

/* Adds an event that says nothing but its id, so that a reader knows where to come back to, and
 * after how long. */
int sse_prime(struct sse *sse, unsigned retry_ms, struct error *err);

/* The last event has been added: the stream ends when the reader has it. */
void sse_finish(struct sse *sse);

/* From here on this request reads, behind the event of that id (SSE_UNREAD: behind what anybody has
 * been sent); one that read before is let go. The answer begins. The caller sets on_gone and
 * on_drained. */
#define SSE_UNREAD UINT64_MAX
void sse_attach(struct sse *sse, struct request *request, uint64_t after_id);

/* The reader is gone. */
void sse_detach(struct sse *sse);

/* Passes on what there is room for. */
void sse_pump(struct sse *sse);

/* True: the reader, or the lack of one, is so far behind that nothing more should be added. */
bool sse_is_behind(const struct sse *sse);

/* A comment, where nothing else is on its way: the connection lives. */
void sse_keep_alive(struct sse *sse);
