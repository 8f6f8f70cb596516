/* Connections to the engine's socket between two requests. A new one costs the engine and its
 * listener as much as a short request, so one that has done its work waits a moment for more.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct bufferevent;

/* Shorter than the least that the engine lets a connection be idle (`http_idle_s`): the engine does
 * not close one just as it is used again. */
#define ENGINE_POOL_MS  800
#define ENGINE_POOL_MAX 64

struct engine_pool;

struct engine_pool *engine_pool_new(void);       /* NULL: out of memory */
void engine_pool_free(struct engine_pool *pool); /* accepts NULL */

/* One that is open and idle, or NULL. The caller sets its callbacks. */
struct bufferevent *engine_pool_take(struct engine_pool *pool);

/* Takes it over. Nothing is in its buffers. */
void engine_pool_put(struct engine_pool *pool, struct bufferevent *socket);

/* Now and then. */
void engine_pool_tick(struct engine_pool *pool, uint64_t now_ns);
