/* Skills and states that all machines share, on their way between the engine of this machine and
 * the bus (src/store/replica.h says what they are). The node asks what the engine wants to know,
 * and understands none of it: all of it is sealed with keys that are made of tokens.
 *
 * The bus has them in a stream of JetStream, with one message for each subject:
 *
 *   belljar.v1.store.PLACE.list   belljar.v1.store.PLACE.ID.N
 *
 * The link is a connection to `cluster_socket` on which lines of JSON go in both directions
 * (src/api/route_replica.c).
 */
#pragma once

#include "cluster/bus.h"
#include "cluster/cluster.h"

#define STORE_STREAM   "belljar_store"
#define STORE_SUBJECTS CLUSTER_SUBJECTS ".store."
#define STORE_ANSWERS  CLUSTER_SUBJECTS ".stores.node."

/* The largest size of the stream. */
#define STORE_BYTES (512 * (int64_t)MIB)

struct node;
struct store_link;

int store_link_new(struct node *node, struct store_link **ret_link, struct error *err);
void store_link_free(struct store_link *link); /* accepts NULL */

/* To subscribe to. */
const char *store_link_subject(const struct store_link *link);

/* True: the message was for it. */
bool store_link_take(struct store_link *link, const struct bus_message *message);

/* With every heartbeat: connects to the engine, again and again. */
void store_link_tick(struct store_link *link);
