/* Ships the signed heads of the engine's audit trail to the bus: a stream of JetStream,
 * `belljar_trails`, that keeps the last TRAIL_HEADS of each node. So a node that cuts or loses its
 * trail is found out by whoever compares (`belljar audit verify --cluster`).
 *
 * The node makes the stream where there is none. It cannot change or delete it, nor a message in
 * it, and nobody else can publish for it; but whoever has its key of the bus can push its own older
 * heads out by sending many. What is in the stream is text of that node: only the signature of the
 * trail's key, which the bus never has, makes it a head.
 */
#pragma once

#include <jansson.h>

#include "cluster/bus.h"
#include "cluster/cluster.h"
#include "cluster/settings.h"

#define TRAIL_STREAM        "belljar_trails"
#define TRAIL_SUBJECTS      CLUSTER_SUBJECTS ".trail."
#define TRAIL_STREAM_CREATE "$JS.API.STREAM.CREATE." TRAIL_STREAM
#define TRAIL_STREAM_GET    "$JS.API.STREAM.MSG.GET." TRAIL_STREAM

/* Of each node; and the most that one is. */
#define TRAIL_HEADS      2048
#define TRAIL_HEAD_BYTES 1024

/* Between two on average, so that those that are kept reach back for hours; but the first
 * TRAIL_SHIP_BURST go as soon as they are there. What was written since can be cut off unnoticed.
 */
#define TRAIL_SHIP_MS    5000
#define TRAIL_SHIP_BURST 12

struct trail_ship;

struct trail_ship *trail_ship_new(const struct settings *settings); /* NULL: out of memory */
void trail_ship_free(struct trail_ship *ship);                      /* accepts NULL */

/* Where answers of JetStream come: to be subscribed to. */
const char *trail_ship_subject(const struct trail_ship *ship);

/* What the engine has said: a text, or null. */
void trail_ship_note(struct trail_ship *ship, const json_t *head);

/* Now and then. */
void trail_ship_tick(struct trail_ship *ship, struct bus *bus, uint64_t now_ns);

/* False: the message is not for it. */
bool trail_ship_take(struct trail_ship *ship, struct bus *bus, const struct bus_message *message);
