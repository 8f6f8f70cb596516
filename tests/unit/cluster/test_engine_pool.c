#include "cluster/engine_pool.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/bufferevent.h>
#include <event2/event.h>

#include "base/loop.h"
#include "unit.h"

static struct event_base *base;
static struct engine_pool *pool;

static int set_up(void **state)
{
    (void)state;
    base = event_base_new();
    pool = engine_pool_new();
    return base && pool ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    engine_pool_free(pool);
    event_base_free(base);
    return 0;
}

/* A connection; *ret_engine is the other end. */
static struct bufferevent *dial(int *ret_engine)
{
    struct bufferevent *socket;
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    socket = bufferevent_socket_new(base, ends[0], BEV_OPT_CLOSE_ON_FREE);
    assert_non_null(socket);
    (void)bufferevent_enable(socket, EV_READ | EV_WRITE);
    *ret_engine = ends[1];
    return socket;
}

/* Whether the other end was closed, which libevent does in a turn of the loop. */
static bool is_closed(int engine)
{
    char byte;

    (void)event_base_loop(base, EVLOOP_NONBLOCK);
    return read(engine, &byte, 1) >= 0 || errno != EAGAIN;
}

TEST(the_one_that_was_used_last_is_used_again)
{
    int engines[2];
    struct bufferevent *first = dial(&engines[0]), *second = dial(&engines[1]);

    assert_null(engine_pool_take(pool));
    engine_pool_put(pool, first);
    engine_pool_put(pool, second);
    assert_ptr_equal(engine_pool_take(pool), second);
    assert_ptr_equal(engine_pool_take(pool), first);
    assert_null(engine_pool_take(pool));
    bufferevent_free(first);
    bufferevent_free(second);
    (void)close(engines[0]);
    (void)close(engines[1]);
}

TEST(one_that_the_engine_has_closed_is_not_used)
{
    struct bufferevent *open;
    int engine, other;

    engine_pool_put(pool, open = dial(&other));
    engine_pool_put(pool, dial(&engine));
    (void)close(engine);
    assert_ptr_equal(engine_pool_take(pool), open); /* the loop has not heard of it */
    bufferevent_free(open);
    (void)close(other);
    engine_pool_put(pool, dial(&engine));
    (void)close(engine);
    (void)event_base_loop(base, EVLOOP_ONCE);
    assert_null(engine_pool_take(pool));
}

/* It would be taken for an answer to the next request. */
TEST(one_on_which_the_engine_speaks_is_not_used)
{
    int engine;

    engine_pool_put(pool, dial(&engine));
    assert_int_equal(write(engine, "x", 1), 1);
    assert_null(engine_pool_take(pool));
    assert_true(is_closed(engine));
    (void)close(engine);
    engine_pool_put(pool, dial(&engine));
    assert_int_equal(write(engine, "x", 1), 1);
    (void)event_base_loop(base, EVLOOP_ONCE);
    assert_true(is_closed(engine));
    (void)close(engine);
}

TEST(none_is_idle_for_long)
{
    uint64_t now = loop_now_ns();
    int engine;

    engine_pool_put(pool, dial(&engine));
    engine_pool_tick(pool, now);
    assert_false(is_closed(engine));
    engine_pool_tick(pool, loop_now_ns() + (ENGINE_POOL_MS + 1) * UINT64_C(1000000));
    assert_true(is_closed(engine));
    assert_null(engine_pool_take(pool));
    (void)close(engine);
}

TEST(there_are_not_too_many)
{
    int engines[ENGINE_POOL_MAX + 1];

    for (size_t i = 0; i <= ENGINE_POOL_MAX; i++)
        engine_pool_put(pool, dial(&engines[i]));
    assert_true(is_closed(engines[ENGINE_POOL_MAX]));
    assert_false(is_closed(engines[0]));
    for (size_t i = 0; i <= ENGINE_POOL_MAX; i++)
        (void)close(engines[i]);
}

UNIT_MAIN_WITH(set_up, tear_down)
