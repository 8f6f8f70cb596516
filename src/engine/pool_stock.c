/* The stocks of finished sandboxes, and how each is made. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/meminfo.h"
#include "engine/pool_internal.h"

/* Sandboxes under way at once for each zygote, beyond those that a run waits for: it makes one
 * after the other, more would only wait. */
#define MAKING_MAX 2

/* The share of bare sandboxes is that among the latest orders, about so many. */
#define STOCK_MEMORY    64
#define STOCK_SHARE_ALL (64 * 1024)

/* The part of the stock that is left to callers with few runs: a fourth of it. */
#define STOCK_RESERVE 4

#define PRESSURE_MS 1000

/* Below a tenth of the memory free the stock is let go, above a sixth it is filled again. */
#define PRESSURE_LOW  10
#define PRESSURE_HIGH 6

#define CORES_PER_ZYGOTE      4
#define CORES_PER_FULL_ZYGOTE 16

/* Memory of an automatic stock: a finished sandbox takes 1 to 6 MB. */
#define AUTO_BOX_BYTES (8 * MIB)
#define AUTO_FRACTION  32

/* --- those that wait --- */

static void idle_push(struct stock *stock, struct box *box)
{
    stock->idle[stock->n_idle++] = box;
    stock->n_hot_idle += box_is_touched(box);
}

static struct box *idle_remove_at(struct stock *stock, size_t i)
{
    struct box *box = stock->idle[i];

    stock->n_idle--;
    stock->n_hot_idle -= box_is_touched(box);
    memmove(&stock->idle[i], &stock->idle[i + 1], (stock->n_idle - i) * sizeof(struct box *));
    return box;
}

static void idle_remove(struct stock *stock, const struct box *box)
{
    for (size_t i = 0; i < stock->n_idle; i++)
        if (stock->idle[i] == box) {
            (void)idle_remove_at(stock, i);
            return;
        }
}

/* One that died, or whose zygote did, stays in the stock until that is reported. */
static bool is_usable(const struct box *box)
{
    return box_state(box) == BOX_IDLE && zygote_client_is_ready(box_zygote(box));
}

/* One of a retired zygote first, which lives until they are used up. Else a hot one; hot ones are
 * pushed like the others, so the search ends early while there are any. */
static struct box *take_any(struct stock *stock)
{
    bool has_old = false;
    size_t best = SIZE_MAX;

    for (size_t i = stock->n_idle; i-- > 0;) {
        const struct box *b = stock->idle[i];
        bool is_old = !stock_has_zygote(stock, box_zygote(b));

        if (!is_usable(b))
            continue;
        has_old = has_old || is_old;
        if (best == SIZE_MAX || is_old || (box_is_touched(b) && !box_is_touched(stock->idle[best])))
            best = i;
        if (is_old || (!stock->has_old_idle && (box_is_touched(b) || !stock->n_hot_idle)))
            break;
    }
    stock->has_old_idle = has_old;
    return best == SIZE_MAX ? NULL : idle_remove_at(stock, best);
}

struct box *pool_take_idle(struct stock *stock, const struct zygote_client *zygote)
{
    if (!zygote)
        return take_any(stock);
    for (size_t i = stock->n_idle; i-- > 0;)
        if (box_zygote(stock->idle[i]) == zygote && is_usable(stock->idle[i]))
            return idle_remove_at(stock, i);
    return NULL;
}

size_t pool_count_idle(const struct pool *pool)
{
    size_t count = 0;

    for (size_t i = 0; i < pool->n_stocks; i++)
        count += pool->stocks[i].n_idle;
    return count;
}

size_t pool_count_making(const struct pool *pool)
{
    size_t count = 0;

    for (size_t i = 0; i < pool->n_stocks; i++)
        count += pool->stocks[i].n_making;
    return count;
}

void pool_tell_level(struct pool *pool)
{
    struct pool_level level;

    if (!pool->options.on_level)
        return;
    pool_level(pool, &level);
    pool->options.on_level(pool->options.user, level.idle, level.wanted);
}

void pool_each_idle(const struct pool *pool, void (*fn)(void *user, const struct box *box),
                    void *user)
{
    for (size_t s = 0; s < pool->n_stocks; s++)
        for (size_t i = pool->stocks[s].n_idle; i-- > 0;)
            fn(user, pool->stocks[s].idle[i]);
}

/* --- which kind, and how many of each --- */

struct stock *pool_stock_for(struct pool *pool, const struct pool_order *order)
{
    return &pool->stocks[order->is_bare && pool->n_stocks > STOCK_BARE ? STOCK_BARE : STOCK_FULL];
}

void pool_learn_mix(struct pool *pool, const struct pool_order *order)
{
    pool->bare_share -= pool->bare_share / STOCK_MEMORY;
    if (order->is_bare)
        pool->bare_share += STOCK_SHARE_ALL / STOCK_MEMORY;
}

/* One of each kind at least: the first program of the other kind is not to wait. */
size_t stock_wanted(const struct pool *pool, const struct stock *stock)
{
    size_t size = pool->options.size;
    size_t bare = (size * pool->bare_share + STOCK_SHARE_ALL / 2) / STOCK_SHARE_ALL;

    if (pool->n_stocks == 1 || size < 2)
        return size;
    bare = bare < 1 ? 1 : bare > size - 1 ? size - 1 : bare;
    return stock->kind == STOCK_BARE ? bare : size - bare;
}

size_t stock_reserve(const struct pool *pool, const struct stock *stock)
{
    return (stock_wanted(pool, stock) + STOCK_RESERVE - 1) / STOCK_RESERVE;
}

/* --- making one --- */

struct pool_order *pool_take_reserved(struct pool *pool, struct box *box)
{
    struct pool_order *order = box_reserved(box);

    if (!order || order->state != POOL_ORDER_MAKING)
        return NULL;
    box_reserve(box, NULL);
    TAILQ_REMOVE(&pool->ordered, order, link);
    pool->n_ordered--;
    pool->stocks[box_stock(box)].n_ordered--;
    order->state = POOL_ORDER_NONE;
    return order;
}

static void on_idle(void *owner, struct box *box)
{
    struct pool *pool = owner;
    struct stock *stock = &pool->stocks[box_stock(box)];
    struct pool_order *order = pool_take_reserved(pool, box);

    stock->n_making--;
    stock->n_hot_making -= box_is_touched(box);
    if (order) {
        pool_start(pool, box, order);
    } else if (stock->n_idle < pool->options.size) {
        idle_push(stock, box);
        pool_tell_level(pool);
    } else {
        box_kill(box);
    }
    pool_schedule(pool);
}

static void on_done(void *owner, struct box *box, struct run *run)
{
    struct pool *pool = owner;
    struct pool_order *order = box_reserved(box);

    (void)run;
    pool->n_active--;
    box_reserve(box, NULL);
    pool_answer(pool, order);
    loop_timer_start(pool->soon, 0);
}

static void on_gone(void *owner, struct box *box, const struct error *err)
{
    struct pool *pool = owner;
    struct stock *stock = &pool->stocks[box_stock(box)];
    struct pool_order *order = pool_take_reserved(pool, box);
    struct error copy = {0};
    bool was_made = box_was_idle(box);

    idle_remove(stock, box);
    if (!was_made) {
        stock->n_making--;
        stock->n_hot_making -= box_is_touched(box);
    }
    if (err && !was_made)
        error_copy(&copy, err);
    else if (order)
        error_set(&copy, E_SYSTEM, "the sandbox died while it was made");
    box_free(box);
    if (order)
        pool_answer_error(pool, order, &copy);
    else if (copy.code != E_NONE && stock->n_idle == 0 && stock->n_making == 0)
        pool_fail_queue(pool, NULL, &copy); /* sandboxes cannot be made at all: waiting is no use */
    error_done(&copy);
    loop_timer_start(pool->soon, 0);
}

static const struct box_events box_events = {
    .on_idle = on_idle, .on_done = on_done, .on_gone = on_gone};

int pool_make_box(struct pool *pool, struct stock *stock, struct zygote_client *zygote,
                  const struct box_spec *spec, struct pool_order *order, struct error *err)
{
    struct box_spec counted = *spec;
    struct box *box;

    counted.stock = stock->kind;
    if (box_new(pool->loop, zygote, pool->cgroups, &counted, &box_events, pool, &box, err) < 0)
        return -1;
    if (order) {
        box_reserve(box, order);
        order->state = POOL_ORDER_MAKING;
        order->box = box;
        TAILQ_INSERT_TAIL(&pool->ordered, order, link);
        pool->n_ordered++;
        stock->n_ordered++;
    }
    stock->n_making++;
    stock->n_hot_making += spec->touch;
    pool->made++;
    pool_end_turn(stock, zygote);
    return 0;
}

/* --- how many --- */

static size_t count_cores(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores > 0 ? (size_t)cores : 1;
}

/* One zygote makes about a thousand bare sandboxes per second, which keep some four cores busy. The
 * others take longer to run than to make, and their zygotes need memory. */
static size_t automatic_zygotes(const struct stock *stock)
{
    size_t count =
        count_cores() / (stock->environment.n_preload ? CORES_PER_FULL_ZYGOTE : CORES_PER_ZYGOTE);

    return count < 1 ? 1 : count > POOL_ZYGOTES_MAX ? POOL_ZYGOTES_MAX : count;
}

static size_t automatic_size(void)
{
    size_t size = count_cores() * 4;
    struct meminfo m;

    if (meminfo_read(&m) && size > m.available_bytes / AUTO_FRACTION / AUTO_BOX_BYTES)
        size = m.available_bytes / AUTO_FRACTION / AUTO_BOX_BYTES;
    return size ? size : 1;
}

static bool refill_one(struct pool *pool, struct stock *stock, struct zygote_client *zygote,
                       bool touch)
{
    struct box_spec spec = {.limits = pool->options.limits,
                            .masks = pool->options.masks,
                            .outside = pool->options.outside,
                            .egress = pool->options.egress,
                            .recorder = pool->recorder,
                            .touch = touch};
    struct error err = {0};
    bool ok = pool_make_box(pool, stock, zygote, &spec, NULL, &err) == 0;

    error_done(&err); /* the next request will meet the same error and say it */
    return ok;
}

static void refill(struct pool *pool, struct stock *stock)
{
    size_t wanted = pool->is_tight ? 0 : stock_wanted(pool, stock);
    struct zygote_client *zygote = pool_next_zygote(stock);

    if (!zygote || !zygote_client_is_ready(zygote))
        return;
    /* The reserve for callers with a single run is made in addition to what the others have
     * ordered. */
    if (wanted && stock->n_ordered &&
        stock->n_idle + (stock->n_making - stock->n_ordered) < stock_reserve(pool, stock)) {
        (void)refill_one(pool, stock, zygote, false);
        return;
    }
    /* While a run is on and the stock is not low, its core time is worth more than a full stock. */
    if (pool->n_active && stock->n_idle > wanted / 2)
        return;
    /* Warming up in the child is work that only pays while nobody waits. */
    while (stock->n_idle + stock->n_making < wanted &&
           stock->n_making < MAKING_MAX * stock->n_zygotes) {
        if (!refill_one(pool, stock, pool_next_zygote(stock),
                        !pool->n_active && !pool->n_queued &&
                            stock->n_hot_idle + stock->n_hot_making < pool->options.hot))
            return;
    }
}

void pool_refill(struct pool *pool)
{
    for (size_t i = 0; i < pool->n_stocks; i++)
        refill(pool, &pool->stocks[i]);
}

/* Lets go of `count` sandboxes that wait. */
static void shrink(struct stock *stock, size_t count)
{
    for (; count > 0; count--) {
        struct box *box = take_any(stock);

        if (box)
            box_kill(box);
    }
}

static void on_pressure(void *arg)
{
    struct pool *pool = arg;
    struct meminfo m;

    if (meminfo_read(&m)) {
        if (m.available_bytes < m.total_bytes / PRESSURE_LOW)
            pool->is_tight = true;
        else if (m.available_bytes > m.total_bytes / PRESSURE_HIGH)
            pool->is_tight = false;
    }
    for (size_t i = 0; i < pool->n_stocks; i++) {
        struct stock *stock = &pool->stocks[i];

        if (pool->is_tight)
            shrink(stock, (stock->n_idle + 1) / 2);
        else if (stock->n_idle > stock_wanted(pool, stock))
            shrink(stock, 1); /* the mix has changed */
    }
    loop_timer_start(pool->pressure, PRESSURE_MS);
    pool_schedule(pool);
}

int pool_open_stock(struct pool *pool, struct error *err)
{
    struct pool_options *o = &pool->options;

    if (o->size == POOL_AUTO)
        o->size = automatic_size();
    if (o->hot == POOL_AUTO)
        o->hot = (o->size + 1) / 2;
    /* Without modules that are imported in advance, all are bare. */
    pool->n_stocks = o->environment.warm && o->environment.n_preload > 0 ? STOCK_KINDS : 1;
    pool->bare_share = STOCK_SHARE_ALL / 2;
    for (size_t i = 0; i < pool->n_stocks; i++) {
        struct stock *stock = &pool->stocks[i];

        stock->kind = i;
        stock->environment = i == STOCK_BARE ? environment_bare(&o->environment) : o->environment;
        stock->n_zygotes = o->zygotes == POOL_AUTO ? automatic_zygotes(stock)
                           : o->zygotes            ? o->zygotes
                                                   : 1;
        stock->idle = calloc(o->size + 1, sizeof(struct box *));
        if (!stock->idle)
            return error_memory(err);
    }
    pool->pressure = loop_timer(pool->loop, on_pressure, pool);
    if (!pool->pressure)
        return error_memory(err);
    if (o->size)
        loop_timer_start(pool->pressure, PRESSURE_MS);
    return 0;
}

void pool_close_stock(struct pool *pool)
{
    loop_watch_free(pool->pressure);
    for (size_t i = 0; i < pool->n_stocks; i++)
        free(pool->stocks[i].idle);
}
