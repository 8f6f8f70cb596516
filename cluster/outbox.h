/* Frames on their way to the bus. Those of one turn of the loop that are for the same subject leave
 * as one message, since a message costs the servers and the other side about as much as ten more
 * frames in it. A frame that nobody waits for leaves with the next message to its subject.
 */
#pragma once

#include <stdbool.h>

#include "cluster/bus.h"

/* A message holds so many frames, and so many bytes, unless it is a single frame. */
#define OUTBOX_FRAMES 16
#define OUTBOX_BYTES  (16 * KIB)

struct outbox;

/* A message. `reply`: "" is none. Whoever keeps the packet takes a reference. */
typedef void (*outbox_fn)(void *user, const char *subject, const char *reply,
                          struct packet *packet);

struct outbox *outbox_new(outbox_fn fn, void *user); /* NULL: out of memory */
void outbox_free(struct outbox *outbox);             /* accepts NULL; nothing more leaves */

/* Takes a reference of its own. The order of a subject's frames stays. `reply`: NULL is none; a
 * message has one at most. */
void outbox_add(struct outbox *outbox, const char *subject, const char *reply,
                struct packet *packet, bool can_wait);

/* Sends the frames; with `is_all` also those that can wait. */
void outbox_flush(struct outbox *outbox, bool is_all);
