/* The stock of finished sandboxes, and how each is made. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/meminfo.h"
#include "engine/pool_internal.h"

/* Sandboxes under way at once, beyond those that a run waits for: the zygote makes one after the
 * other, more would only wait. */
#define MAKING_MAX 2

/* The part of the stock that is left to callers with few runs: a fourth of it. */
#define STOCK_RESERVE 4

#define PRESSURE_MS 1000

/* Below a tenth of the memory free the stock is let go, above a sixth it is filled again. */
#define PRESSURE_LOW  10
#define PRESSURE_HIGH 6

/* Memory of an automatic stock: a finished sandbox takes 1 to 6 MB. */
#define AUTO_BOX_BYTES (8 * MIB)
#define AUTO_FRACTION  32

/* --- those that wait --- */

static void idle_push(struct pool *pool, struct box *box)
{
    pool->idle[pool->n_idle++] = box;
    pool->n_hot_idle += box_is_touched(box);
}

static struct box *idle_remove_at(struct pool *pool, size_t i)
{
    struct box *box = pool->idle[i];

    pool->n_idle--;
    pool->n_hot_idle -= box_is_touched(box);
    memmove(&pool->idle[i], &pool->idle[i + 1], (pool->n_idle - i) * sizeof(struct box *));
    return box;
}

static void idle_remove(struct pool *pool, const struct box *box)
{
    for (size_t i = 0; i < pool->n_idle; i++)
        if (pool->idle[i] == box) {
            (void)idle_remove_at(pool, i);
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
static struct box *take_any(struct pool *pool)
{
    bool has_old = false;
    size_t best = SIZE_MAX;

    for (size_t i = pool->n_idle; i-- > 0;) {
        const struct box *b = pool->idle[i];
        bool is_old = box_zygote(b) != pool->zygote;

        if (!is_usable(b))
            continue;
        has_old = has_old || is_old;
        if (best == SIZE_MAX || is_old || (box_is_touched(b) && !box_is_touched(pool->idle[best])))
            best = i;
        if (is_old || (!pool->has_old_idle && (box_is_touched(b) || !pool->n_hot_idle)))
            break;
    }
    pool->has_old_idle = has_old;
    return best == SIZE_MAX ? NULL : idle_remove_at(pool, best);
}

struct box *pool_take_idle(struct pool *pool, const struct zygote_client *zygote)
{
    if (!zygote)
        return take_any(pool);
    for (size_t i = pool->n_idle; i-- > 0;)
        if (box_zygote(pool->idle[i]) == zygote && is_usable(pool->idle[i]))
            return idle_remove_at(pool, i);
    return NULL;
}

void pool_tell_level(struct pool *pool)
{
    if (pool->options.on_level)
        pool->options.on_level(pool->options.user, pool->n_idle, pool->options.size);
}

void pool_each_idle(const struct pool *pool, void (*fn)(void *user, const struct box *box),
                    void *user)
{
    for (size_t i = pool->n_idle; i-- > 0;)
        fn(user, pool->idle[i]);
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
    order->state = POOL_ORDER_NONE;
    return order;
}

static void on_idle(void *owner, struct box *box)
{
    struct pool *pool = owner;
    struct pool_order *order = pool_take_reserved(pool, box);

    pool->n_making--;
    pool->n_hot_making -= box_is_touched(box);
    if (order) {
        pool_start(pool, box, order);
    } else if (pool->n_idle < pool->options.size) {
        idle_push(pool, box);
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
    struct pool_order *order = pool_take_reserved(pool, box);
    struct error copy = {0};
    bool was_made = box_was_idle(box);

    idle_remove(pool, box);
    if (!was_made) {
        pool->n_making--;
        pool->n_hot_making -= box_is_touched(box);
    }
    if (err && !was_made)
        error_copy(&copy, err);
    else if (order)
        error_set(&copy, E_SYSTEM, "the sandbox died while it was made");
    box_free(box);
    if (order)
        pool_answer_error(pool, order, &copy);
    else if (copy.code != E_NONE && pool->n_idle == 0 && pool->n_making == 0)
        pool_fail_queue(pool, NULL, &copy); /* sandboxes cannot be made at all: waiting is no use */
    error_done(&copy);
    loop_timer_start(pool->soon, 0);
}

static const struct box_events box_events = {
    .on_idle = on_idle, .on_done = on_done, .on_gone = on_gone};

int pool_make_box(struct pool *pool, struct zygote_client *zygote, const struct box_spec *spec,
                  struct pool_order *order, struct error *err)
{
    struct box *box;

    if (box_new(pool->loop, zygote, pool->cgroups, spec, &box_events, pool, &box, err) < 0)
        return -1;
    if (order) {
        box_reserve(box, order);
        order->state = POOL_ORDER_MAKING;
        order->box = box;
        TAILQ_INSERT_TAIL(&pool->ordered, order, link);
        pool->n_ordered++;
    }
    pool->n_making++;
    pool->n_hot_making += spec->touch;
    pool->made++;
    return 0;
}

/* --- how many --- */

static size_t automatic_size(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t size = (size_t)(cores > 0 ? cores : 1) * 4;
    struct meminfo m;

    if (meminfo_read(&m) && size > m.available_bytes / AUTO_FRACTION / AUTO_BOX_BYTES)
        size = m.available_bytes / AUTO_FRACTION / AUTO_BOX_BYTES;
    return size ? size : 1;
}

size_t pool_reserve(const struct pool *pool)
{
    return (pool->options.size + STOCK_RESERVE - 1) / STOCK_RESERVE;
}

static bool refill_one(struct pool *pool, bool touch)
{
    struct box_spec spec = {.limits = pool->options.limits,
                            .masks = pool->options.masks,
                            .outside = pool->options.outside,
                            .egress = pool->options.egress,
                            .recorder = pool->recorder,
                            .touch = touch};
    struct error err = {0};
    bool ok = pool_make_box(pool, pool->zygote, &spec, NULL, &err) == 0;

    error_done(&err); /* the next request will meet the same error and say it */
    return ok;
}

void pool_refill(struct pool *pool)
{
    size_t wanted = pool->is_tight ? 0 : pool->options.size;

    if (!pool->zygote || !zygote_client_is_ready(pool->zygote))
        return;
    /* The reserve for callers with a single run is made in addition to what the others have
     * ordered. */
    if (wanted && pool->n_ordered &&
        pool->n_idle + (pool->n_making - pool->n_ordered) < pool_reserve(pool)) {
        (void)refill_one(pool, false);
        return;
    }
    /* While a run is on and the stock is not low, its core time is worth more than a full stock. */
    if (pool->n_active && pool->n_idle > wanted / 2)
        return;
    /* Warming up in the child is work that only pays while nobody waits. */
    while (pool->n_idle + pool->n_making < wanted && pool->n_making < MAKING_MAX) {
        if (!refill_one(pool, !pool->n_active && !pool->n_queued &&
                                  pool->n_hot_idle + pool->n_hot_making < pool->options.hot))
            return;
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
    for (size_t n = pool->is_tight ? (pool->n_idle + 1) / 2 : 0; n > 0; n--) {
        struct box *box = take_any(pool);

        if (box)
            box_kill(box);
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
    pool->idle = calloc(o->size + 1, sizeof(struct box *));
    pool->pressure = loop_timer(pool->loop, on_pressure, pool);
    if (!pool->idle || !pool->pressure)
        return error_memory(err);
    if (o->size)
        loop_timer_start(pool->pressure, PRESSURE_MS);
    return 0;
}

void pool_close_stock(struct pool *pool)
{
    loop_watch_free(pool->pressure);
    free(pool->idle);
}
