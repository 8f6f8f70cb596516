/* The role of a node: serves an engine to the cluster. It hears frames of gateways, makes HTTP
 * requests of them on the engine's socket, and sends the answers back.
 */
#pragma once

#include "base/error.h"
#include "base/loop.h"
#include "cluster/settings.h"

struct node;

int node_new(struct loop *loop, const struct settings *settings, struct node **ret_node,
             struct error *err);

/* Takes no fresh work any more; what is there goes on. */
void node_drain(struct node *node, bool is_draining);

/* Nothing is under way. */
bool node_is_idle(const struct node *node);

/* Ends what is under way and tells the gateways. */
void node_close(struct node *node);

/* The bus refuses it: the process is to end with an error. */
bool node_is_refused(const struct node *node);
