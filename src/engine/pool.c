#include "engine/pool.h"

#include <stdlib.h>

#include "calls/outside.h"
#include "engine/pool_internal.h"
#include "engine/recorder.h"

static void on_soon(void *arg)
{
    pool_schedule(arg);
}

int pool_new(struct loop *loop, const struct pool_options *options, struct pool **ret_pool,
             struct error *err)
{
    struct pool *pool = calloc(1, sizeof(*pool));

    if (!pool)
        return error_memory(err);
    *pool = (struct pool){.loop = loop, .options = *options};
    TAILQ_INIT(&pool->queue);
    TAILQ_INIT(&pool->ordered);
    TAILQ_INIT(&pool->done);
    TAILQ_INIT(&pool->away);
    pool_open_zygotes(pool);
    pool->soon = loop_timer(loop, on_soon, pool);
    if (!pool->soon) {
        pool_free(pool);
        return error_memory(err);
    }
    if (pool_open_stock(pool, err) < 0 || pool_start_zygotes(pool, err) < 0) {
        pool_free(pool);
        return -1;
    }
    *ret_pool = pool;
    return 0;
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    pool->is_closing = true;
    pool_cancel_queue(pool);
    pool_cancel_away(pool);
    pool_end_zygotes(pool);
    pool_deliver_all(pool);
    pool_close_stock(pool);
    loop_watch_free(pool->soon);
    free(pool);
}

void pool_set_cgroups(struct pool *pool, struct cgroup_host *cgroups)
{
    pool->cgroups = cgroups;
}

void pool_set_brokers(struct pool *pool, struct brokers *brokers)
{
    pool->brokers = brokers;
}

void pool_set_witness(struct pool *pool, struct recorder *recorder)
{
    pool->recorder = recorder;
}

struct masks *pool_masks(const struct pool *pool)
{
    return pool->options.masks;
}

struct approvals *pool_approvals(const struct pool *pool)
{
    return &pool->options.outside->approvals;
}

const struct outside *pool_outside(const struct pool *pool)
{
    return pool->options.outside;
}

struct recorder *pool_witness(const struct pool *pool)
{
    return pool->recorder;
}

void pool_notice(struct pool *pool)
{
    loop_timer_start(pool->soon, 0);
}

void pool_level(const struct pool *pool, struct pool_level *ret_level)
{
    size_t wanted = 0;

    for (size_t i = 0; i < pool->n_stocks; i++)
        wanted += stock_wanted(pool, &pool->stocks[i]);
    *ret_level = (struct pool_level){
        .idle = pool_count_idle(pool),
        .making = pool_count_making(pool),
        .active = pool->n_active,
        .queued = pool->n_queued,
        .wanted = wanted,
        .made = pool->made,
    };
}

bool pool_is_ready(const struct pool *pool)
{
    const struct zygote_client *zygote = pool_zygote(pool);

    return pool->options.elsewhere || (zygote && zygote_client_is_ready(zygote));
}

int pool_record_call(const struct pool *pool, const struct call_record *call, struct error *err)
{
    return recorder_call(pool->recorder, call, err);
}

const struct elsewhere *pool_elsewhere(const struct pool *pool)
{
    return pool->options.elsewhere;
}

const struct zygote_client *pool_zygote(const struct pool *pool)
{
    const struct stock *stock = &pool->stocks[STOCK_FULL];

    for (size_t i = 0; i < stock->n_zygotes; i++)
        if (stock->zygotes[i] && zygote_client_is_ready(stock->zygotes[i]))
            return stock->zygotes[i];
    return stock->zygotes[0];
}
