/* Allowances of tokens that hold on all machines of a cluster together: each engine says what it
 * has counted for each token since it began, and adds what the others have counted to its own.
 *
 * The other machines are not believed beyond this: what they say uses up allowances of tokens, up
 * to twice the allowance, and does nothing else.
 */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "admit/auth.h"

/* Tokens that a machine reports; more are counted by each machine for itself. */
#define SPENT_TOKENS_MAX 64

/* Machines that are heard. */
#define SPENT_NODES_MAX 256

struct spent;

struct spent *spent_new(void); /* NULL: out of memory */
void spent_free(struct spent *spent);

/* {"since": "2026-…", "tokens": {"ci": [12, 3.5, 1024]}}: runs, CPU seconds and bytes of tokens
 * with allowances. `since`: when this engine began. NULL: out of memory. */
json_t *spent_json(const struct auth *auth, const char *since);

/* Adds what other machines say, by their names: an object as above for each. The first time it is
 * only noted, since this engine does not know how old it is. */
void spent_take(struct spent *spent, const struct auth *auth, const json_t *nodes, uint64_t now_ns);
