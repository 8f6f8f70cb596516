/* Streams of events (text/event-stream) of several nodes, as a gateway merges them: one event of a
 * node's stream, and the id of an event of the merged one.
 *
 * An id of the merged stream has the place in the stream of each node, "a1-hs8x0c2k1f.b2-…" (in
 * base 36), since each node counts by itself. So a client that comes back, to any gateway, goes on
 * behind what it has of each node.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/span.h"
#include "cluster/cluster.h"

/* The most that one event of an engine takes, and more. */
#define EVENT_TEXT_MAX (64 * KIB)

#define EVENT_NAME_MAX 40

struct event_text {
    bool has_id;
    uint64_t id;
    struct span name; /* empty: it is a comment */
    struct span data; /* one line without control characters */
};

/* Takes the first event of `text`. 1: *ret_used bytes were it; 0: more is needed; -1: it is none of
 * an engine's. What is taken points into `text`. */
int event_text_next(struct span text, struct event_text *ret_event, size_t *ret_used);

struct event_place {
    char node[13];
    uint64_t id;
};

struct event_places {
    struct event_place list[CLUSTER_NAMES_MAX];
    size_t count;
};

/* NULL: it is not among them. */
const struct event_place *event_places_find(const struct event_places *places, const char *node);
void event_places_set(struct event_places *places, const char *node, uint64_t id);

void event_places_remove(struct event_places *places, const char *node);

/* False, and none: it is no id of a merged stream. */
bool event_places_read(struct span text, struct event_places *ret_places);
int event_places_write(const struct event_places *places, struct buf *out, struct error *err);
