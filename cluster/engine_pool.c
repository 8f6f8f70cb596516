#include "cluster/engine_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include <event2/bufferevent.h>
#include <event2/event.h>

#include "base/loop.h"

struct idle {
    TAILQ_ENTRY(idle) link;
    struct engine_pool *pool;
    struct bufferevent *socket;
    uint64_t since_ns;
};

struct engine_pool {
    TAILQ_HEAD(idle_list, idle) list; /* the youngest first */
    size_t count;
};

struct engine_pool *engine_pool_new(void)
{
    struct engine_pool *pool = calloc(1, sizeof(*pool));

    if (pool)
        TAILQ_INIT(&pool->list);
    return pool;
}

static struct bufferevent *remove_idle(struct idle *idle)
{
    struct bufferevent *socket = idle->socket;

    TAILQ_REMOVE(&idle->pool->list, idle, link);
    idle->pool->count--;
    free(idle);
    return socket;
}

void engine_pool_free(struct engine_pool *pool)
{
    if (!pool)
        return;
    while (!TAILQ_EMPTY(&pool->list))
        bufferevent_free(remove_idle(TAILQ_FIRST(&pool->list)));
    free(pool);
}

/* The engine has closed it, or says what nobody has asked for. */
static void on_bytes(struct bufferevent *socket, void *arg)
{
    (void)socket;
    bufferevent_free(remove_idle(arg));
}

static void on_event(struct bufferevent *socket, short what, void *arg)
{
    (void)what;
    on_bytes(socket, arg);
}

/* That it was closed may be known to the kernel only. */
static int is_open(struct bufferevent *socket)
{
    char byte;

    return recv(bufferevent_getfd(socket), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
           errno == EAGAIN;
}

struct bufferevent *engine_pool_take(struct engine_pool *pool)
{
    while (!TAILQ_EMPTY(&pool->list)) {
        struct bufferevent *socket = remove_idle(TAILQ_FIRST(&pool->list));

        if (is_open(socket))
            return socket;
        bufferevent_free(socket);
    }
    return NULL;
}

void engine_pool_put(struct engine_pool *pool, struct bufferevent *socket)
{
    struct idle *idle = pool->count < ENGINE_POOL_MAX ? malloc(sizeof(*idle)) : NULL;

    if (!idle) {
        bufferevent_free(socket);
        return;
    }
    *idle = (struct idle){.pool = pool, .socket = socket, .since_ns = loop_now_ns()};
    TAILQ_INSERT_HEAD(&pool->list, idle, link);
    pool->count++;
    bufferevent_setcb(socket, on_bytes, NULL, on_event, idle);
}

void engine_pool_tick(struct engine_pool *pool, uint64_t now_ns)
{
    struct idle *last;

    while ((last = TAILQ_LAST(&pool->list, idle_list)) != NULL &&
           now_ns - last->since_ns > ENGINE_POOL_MS * UINT64_C(1000000))
        bufferevent_free(remove_idle(last));
}
