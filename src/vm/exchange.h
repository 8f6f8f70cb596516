/* Programs of a server in its virtual machine: takes the place of the sandboxes of this host
 * (struct elsewhere in engine/pool.h). One request and one answer for each run; a run ends with its
 * connection.
 */
#pragma once

#include "engine/engine.h"

struct exchanges;
struct machine_door; /* api/api.h */

/* NULL: out of memory. */
struct exchanges *exchanges_new(void);

/* For engine_open(), before the rest. Lives as long as the exchanges. */
const struct elsewhere *exchanges_elsewhere(const struct exchanges *exchanges);

/* With the engine open. */
int exchanges_open(struct exchanges *exchanges, struct engine *engine, const struct config *config,
                   struct error *err);

/* For operators; opened. */
const struct machine_door *exchanges_door(const struct exchanges *exchanges);

/* After the pool. Accepts NULL. */
void exchanges_free(struct exchanges *exchanges);
