/* The zygotes of a pool: the one that makes new sandboxes, those that live until their last sandbox
 * is gone, and those of other environments (engine/extra_zygotes.h). */
#include "engine/pool_internal.h"

static void on_ready(void *owner, struct zygote_client *zygote)
{
    struct pool *pool = owner;

    (void)zygote;
    loop_timer_start(pool->soon, 0);
}

bool stock_has_zygote(const struct stock *stock, const struct zygote_client *zygote)
{
    for (size_t i = 0; i < stock->n_zygotes; i++)
        if (stock->zygotes[i] == zygote)
            return true;
    return false;
}

struct zygote_client *pool_next_zygote(const struct stock *stock)
{
    struct zygote_client *found = NULL;

    for (size_t i = 0; i < stock->n_zygotes; i++) {
        struct zygote_client *z = stock->zygotes[(stock->turn + i) % stock->n_zygotes];

        if (z && zygote_client_is_ready(z))
            return z;
        found = found ? found : z;
    }
    return found;
}

void pool_end_turn(struct stock *stock, const struct zygote_client *zygote)
{
    for (size_t i = 0; i < stock->n_zygotes; i++)
        if (stock->zygotes[i] == zygote)
            stock->turn = (i + 1) % stock->n_zygotes;
}

/* The stock that it makes sandboxes for, and its place there, or NULL. */
static struct stock *stock_of(struct pool *pool, const struct zygote_client *zygote,
                              struct zygote_client ***ret_place)
{
    for (size_t i = 0; i < pool->n_stocks; i++)
        for (size_t j = 0; j < pool->stocks[i].n_zygotes; j++)
            if (pool->stocks[i].zygotes[j] == zygote) {
                *ret_place = &pool->stocks[i].zygotes[j];
                return &pool->stocks[i];
            }
    return NULL;
}

/* But for the one at that place. */
static bool are_others_ready(const struct stock *stock, struct zygote_client *const *place)
{
    for (size_t i = 0; i < stock->n_zygotes; i++) {
        const struct zygote_client *z = stock->zygotes[i];

        if (&stock->zygotes[i] != place && !(z && zygote_client_is_ready(z)))
            return false;
    }
    return true;
}

/* Its sandboxes died with it. Runs that had their code are lost and said to be: code is never run
 * twice. */
static void on_zygote_end(void *owner, struct zygote_client *zygote, const struct error *err)
{
    struct pool *pool = owner;
    bool was_ready = zygote_client_python_version(zygote) != NULL;
    struct extra_zygote *side = extra_zygotes_find(&pool->sides, zygote);
    struct zygote_client **place = NULL;
    const struct stock *stock = stock_of(pool, zygote, &place);
    struct error gone = {0}, again = {0};
    struct box *box;

    error_set(&gone, E_SYSTEM, "the zygote of the session is gone");
    while ((box = zygote_client_any_box(zygote)))
        box_on_gone(box, err);
    if (stock) {
        const struct zygote_client *other;

        *place = NULL;
        other = pool_next_zygote(stock);
        if (!was_ready && !(other && zygote_client_is_ready(other)))
            pool_fail_queue(pool, NULL, err);
    } else if (side) {
        extra_zygote_forget(side);
    }
    for (size_t i = 0; i < POOL_RETIRED_MAX; i++)
        if (pool->retired[i] == zygote)
            pool->retired[i] = NULL;
    pool_fail_queue(pool, zygote, &gone);
    zygote_client_free(zygote);
    if (was_ready && pool_start_zygotes(pool, &again) < 0)
        pool_fail_queue(pool, NULL, &again);
    error_done(&gone);
    error_done(&again);
}

static const struct zygote_events events = {on_ready, on_zygote_end};

void pool_open_zygotes(struct pool *pool)
{
    pool->sides = (struct extra_zygotes){.loop = pool->loop,
                                         .masks = pool->options.masks,
                                         .config = pool->options.config,
                                         .own = &pool->options.environment,
                                         .events = &events,
                                         .owner = pool};
}

static int start_zygote(struct pool *pool, struct stock *stock, struct zygote_client **ret_zygote,
                        struct error *err)
{
    return zygote_client_new(pool->loop, pool->options.masks, &stock->environment, &events, pool,
                             ret_zygote, err);
}

static int start_missing(struct pool *pool, struct stock *stock, struct error *err)
{
    for (size_t i = 0; i < stock->n_zygotes; i++)
        if (!stock->zygotes[i] && start_zygote(pool, stock, &stock->zygotes[i], err) < 0)
            return -1;
    return 0;
}

int pool_start_zygotes(struct pool *pool, struct error *err)
{
    if (pool->options.elsewhere)
        return 0;
    for (size_t i = 0; i < pool->n_stocks; i++)
        if (start_missing(pool, &pool->stocks[i], err) < 0)
            return -1;
    return 0;
}

struct zygote_client *pool_zygote_for(struct pool *pool, const struct pool_order *order,
                                      struct error *err)
{
    if (order->zygote)
        return order->zygote;
    return extra_zygotes_serve(&pool->sides, order->terms)
               ? extra_zygotes_zygote(&pool->sides, order->terms, err)
               : pool_next_zygote(pool_stock_for(pool, order));
}

/* Lets go of those that have nothing left to do, and finds a place for another. */
static struct zygote_client **tend_retired(struct pool *pool)
{
    struct zygote_client **place = NULL;

    for (size_t i = 0; i < POOL_RETIRED_MAX; i++) {
        if (!pool->retired[i])
            place = &pool->retired[i];
        else if (!zygote_client_is_needed(pool->retired[i]))
            zygote_client_end(pool->retired[i]);
    }
    return place;
}

/* All children of a zygote share its address layout and hash seed, so it does not live for ever.
 * The old one lives on until its last sandbox is gone. */
static void recycle(struct pool *pool, struct stock *stock, struct zygote_client **at)
{
    const struct pool_options *o = &pool->options;
    struct zygote_client **place = tend_retired(pool);
    struct zygote_client *z = *at;
    struct error err = {0};

    /* Those that were started together grow old together: one must be there meanwhile. */
    if (!z || !place || !zygote_client_is_ready(z) || !are_others_ready(stock, at))
        return;
    if (!(o->zygote_max_runs && zygote_client_spawned(z) >= o->zygote_max_runs) &&
        !(o->zygote_max_ms &&
          (loop_now_ns() - zygote_client_started_ns(z)) / 1000000 >= o->zygote_max_ms))
        return;
    *place = z;
    *at = NULL;
    stock->has_old_idle = true;
    if (start_zygote(pool, stock, at, &err) < 0) { /* better an old one than none */
        *at = z;
        *place = NULL;
    }
    error_done(&err);
}

void pool_recycle(struct pool *pool)
{
    for (size_t i = 0; i < pool->n_stocks; i++)
        for (size_t j = 0; j < pool->stocks[i].n_zygotes; j++)
            recycle(pool, &pool->stocks[i], &pool->stocks[i].zygotes[j]);
}

void pool_each_box(const struct pool *pool, void (*fn)(void *user, struct box *box), void *user)
{
    for (size_t i = 0; i < pool->n_stocks; i++)
        for (size_t j = 0; j < pool->stocks[i].n_zygotes; j++)
            zygote_client_each_box(pool->stocks[i].zygotes[j], fn, user);
    for (size_t i = 0; i < EXTRA_ZYGOTES_MAX; i++)
        zygote_client_each_box(pool->sides.slots[i].zygote, fn, user);
    for (size_t i = 0; i < POOL_RETIRED_MAX; i++)
        zygote_client_each_box(pool->retired[i], fn, user);
}

/* --- the end --- */

static void free_zygote(struct pool *pool, struct zygote_client *zygote)
{
    struct box *box;

    while (zygote && (box = zygote_client_any_box(zygote))) {
        struct pool_order *order = box_reserved(box);

        if (box_is_kept(box)) { /* its keeper frees it */
            box_on_gone(box, NULL);
            continue;
        }
        if (order && !pool_take_reserved(pool, box))
            box_reserve(box, NULL); /* its run was under way */
        if (order)
            pool_answer_cancelled(pool, order);
        box_free(box);
    }
    zygote_client_free(zygote);
}

/* A zygote's processes have to be gone before their cgroups can be removed with the boxes. */
static void end_zygote(struct pool *pool, struct zygote_client *zygote)
{
    if (zygote)
        zygote_client_wait(zygote);
    free_zygote(pool, zygote);
}

void pool_end_zygotes(struct pool *pool)
{
    for (size_t i = 0; i < pool->n_stocks; i++)
        for (size_t j = 0; j < pool->stocks[i].n_zygotes; j++)
            end_zygote(pool, pool->stocks[i].zygotes[j]);
    for (size_t i = 0; i < EXTRA_ZYGOTES_MAX; i++) {
        end_zygote(pool, pool->sides.slots[i].zygote);
        extra_zygote_forget(&pool->sides.slots[i]);
    }
    for (size_t i = 0; i < POOL_RETIRED_MAX; i++)
        end_zygote(pool, pool->retired[i]);
}
