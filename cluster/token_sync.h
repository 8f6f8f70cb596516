/* A node's copy of the cluster's tokens: the engine's own file of tokens, which holds what the list
 * of the bucket says (cluster/token_list.h), and goes on to while the bus is away.
 *
 * What was removed on this machine alone stays removed here. What was added on this machine alone
 * goes, and is kept beside the file, in `.before`.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "cluster/bus.h"
#include "cluster/settings.h"

struct token_sync;

/* The engine's file of tokens is settings->tokens. */
int token_sync_new(const struct settings *settings, struct token_sync **ret_sync,
                   struct error *err);
void token_sync_free(struct token_sync *sync); /* accepts NULL */

/* Where the answers of the bus arrive, for the list of subscriptions. */
const char *token_sync_subject(const struct token_sync *sync);

/* A message of any subject. False: it is not about tokens. */
bool token_sync_take(struct token_sync *sync, struct bus *bus, const struct bus_message *message);

/* Asks for the list now. */
void token_sync_ask(struct token_sync *sync, struct bus *bus);

/* With every heartbeat. */
void token_sync_tick(struct token_sync *sync, struct bus *bus);
