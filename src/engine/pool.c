#include "engine/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/meminfo.h"
#include "calls/outside.h"
#include "engine/box.h"
#include "engine/extra_zygotes.h"
#include "engine/fingerprint.h"
#include "engine/recorder.h"

/* Sandboxes under way at once, beyond those that a run waits for: the zygote makes one after the
 * other, more would only wait. */
#define MAKING_MAX 2

/* And those that runs wait for. A run that comes later and has to go first, since its caller has
 * nothing else under way, waits for no more than these. */
#define ORDERED_MAX 4

/* A caller with more runs than this leaves part of the stock to others. */
#define CROWD_SMALL   2
#define STOCK_RESERVE 4 /* a fourth of it */

/* Zygotes that only live for sandboxes they have made: sessions may be kept for hours. At the limit
 * the present one serves on. */
#define RETIRED_MAX 16

#define PRESSURE_MS 1000

/* Below a tenth of the memory free the stock is let go, above a sixth it is filled again. */
#define PRESSURE_LOW  10
#define PRESSURE_HIGH 6

/* Memory of an automatic stock: a finished sandbox takes 1 to 6 MB. */
#define AUTO_BOX_BYTES (8 * MIB)
#define AUTO_FRACTION  32

TAILQ_HEAD(pool_orders, pool_order);

struct pool {
    struct loop *loop;
    struct cgroup_host *cgroups;
    struct recorder *recorder;
    struct brokers *brokers;
    struct pool_options options;
    struct zygote_client *zygote;               /* makes new sandboxes */
    struct extra_zygotes sides;                 /* those of other environments and seeds */
    struct zygote_client *retired[RETIRED_MAX]; /* live until their last sandbox is gone */
    struct box **idle; /* room for `options.size` of them, the latest last */
    size_t n_idle, n_hot_idle, n_making, n_hot_making, n_active;
    size_t n_ordered; /* of those being made: for an order that waits for it */
    size_t n_queued;
    uint64_t made;
    struct pool_orders queue;   /* that wait for their turn */
    struct pool_orders ordered; /* whose sandbox is being made */
    struct pool_orders done;    /* whose answer is due */
    struct loop_work answering;
    struct loop_watch *pressure;
    bool has_old_idle;                  /* some of the stock may be of a retired zygote */
    bool is_tight;                      /* memory is short: no stock */
    bool is_closing;                    /* pool_free() is at work */
    char fingerprint[FINGERPRINT_TEXT]; /* "": nobody has asked yet */
    struct loop_watch *soon;            /* schedules outside of the caller's stack */
};

static void schedule(struct pool *pool);
static void deliver(void *arg);

/* --- orders that wait for a sandbox, and their answers --- */

static void enqueue(struct pool *pool, struct pool_order *order, bool is_first)
{
    order->state = POOL_ORDER_QUEUED;
    if (is_first)
        TAILQ_INSERT_HEAD(&pool->queue, order, link);
    else
        TAILQ_INSERT_TAIL(&pool->queue, order, link);
    pool->n_queued++;
}

static void dequeue(struct pool *pool, struct pool_order *order)
{
    TAILQ_REMOVE(&pool->queue, order, link);
    pool->n_queued--;
    order->state = POOL_ORDER_NONE;
}

/* Answers are given from the loop, so that on_done is never called while its caller is still
 * submitting or cancelling. The order is in no other list. */
static void answer(struct pool *pool, struct pool_order *order)
{
    if (order->run)
        order->run->box = NULL;
    order->state = POOL_ORDER_DONE;
    TAILQ_INSERT_TAIL(&pool->done, order, link);
    loop_work_post(pool->loop, &pool->answering, deliver, pool);
}

static void answer_error(struct pool *pool, struct pool_order *order, struct error *err)
{
    error_move(order->run ? &order->run->result.error : &order->error, err);
    answer(pool, order);
}

static void answer_cancelled(struct pool *pool, struct pool_order *order)
{
    if (order->run) {
        order->run->result.status = RUN_CANCELLED;
        order->run->result.exit_code = 130;
    }
    answer(pool, order);
}

/* The end of a run is recorded before it is told. */
static void answer_run(struct pool *pool, struct run *run)
{
    uint64_t began_ns = loop_cpu_ns();

    recorder_end(pool->recorder, run);
    run->result.server_cpu_ns += loop_cpu_ns() - began_ns;
    run->on_done(run);
}

/* One at a time: writing an answer takes milliseconds, and many runs can end in one moment. */
static void deliver(void *arg)
{
    struct pool *pool = arg;
    struct pool_order *order = TAILQ_FIRST(&pool->done);
    struct error err = {0};

    if (!order)
        return;
    TAILQ_REMOVE(&pool->done, order, link);
    order->state = POOL_ORDER_NONE;
    if (!TAILQ_EMPTY(&pool->done))
        loop_work_post(pool->loop, &pool->answering, deliver, pool);
    if (order->run) {
        struct run *run = order->run;

        free(order);
        answer_run(pool, run);
        return;
    }
    error_move(&err, &order->error);
    order->on_no_box(order, &err);
    error_done(&err);
}

/* Ends the wait of all orders, or of those for this zygote's sandboxes. */
static void fail_queue(struct pool *pool, const struct zygote_client *zygote,
                       const struct error *err)
{
    for (struct pool_order *order = TAILQ_FIRST(&pool->queue), *next; order; order = next) {
        struct error copy = {0};

        next = TAILQ_NEXT(order, link);
        if (zygote && order->zygote != zygote)
            continue;
        dequeue(pool, order);
        error_copy(&copy, err);
        answer_error(pool, order, &copy);
    }
}

/* --- the stock --- */

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
static struct box *idle_take_any(struct pool *pool)
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

/* `zygote`: only one of its, or NULL. */
static struct box *idle_take(struct pool *pool, const struct zygote_client *zygote)
{
    if (!zygote)
        return idle_take_any(pool);
    for (size_t i = pool->n_idle; i-- > 0;)
        if (box_zygote(pool->idle[i]) == zygote && is_usable(pool->idle[i]))
            return idle_remove_at(pool, i);
    return NULL;
}

static void tell_level(struct pool *pool)
{
    if (pool->options.on_level)
        pool->options.on_level(pool->options.user, pool->n_idle, pool->options.size);
}

/* --- events of boxes --- */

/* A run that can be repeated says where. */
static int note_fingerprint(struct pool *pool, const struct box *box, struct run *run,
                            struct error *err)
{
    const struct zygote_client *zygote = box_zygote(box);
    struct extra_zygote *side = extra_zygotes_find(&pool->sides, zygote);
    const struct environment *e = side ? &side->environment : &pool->options.environment;
    char *known = side ? side->fingerprint : pool->fingerprint;

    _Static_assert(sizeof(run->result.fingerprint) == sizeof(pool->fingerprint),
                   "one is the other's copy");
    if (!run->terms.has_seed)
        return 0;
    if (!*known && fingerprint_of(e, zygote_client_python_version(zygote), known, err) < 0)
        return -1;
    memcpy(run->result.fingerprint, known, sizeof(run->result.fingerprint));
    return 0;
}

static void start_run(struct pool *pool, struct box *box, struct pool_order *order)
{
    struct run *run = order->run;
    struct error err = {0};

    run->box = box;
    box_reserve(box, order);
    pool->n_active++;
    if (note_fingerprint(pool, box, run, &err) == 0 && box_start(box, run, &err) == 0)
        return;
    pool->n_active--;
    box_reserve(box, NULL);
    /* A sandbox that died unnoticed took no code: the run goes to the next one. Anything else would
     * meet it there, too. */
    box_kill(box);
    if (err.code == E_BUSY) {
        error_done(&err);
        run->box = NULL;
        enqueue(pool, order, true);
        loop_timer_start(pool->soon, 0);
    } else {
        answer_error(pool, order, &err);
    }
}

static void start(struct pool *pool, struct box *box, struct pool_order *order)
{
    if (order->run)
        start_run(pool, box, order);
    else
        order->on_box(order, box); /* neither is the pool's any more */
}

/* The sandbox is not being made for its order any more. Returns the order, or NULL. */
static struct pool_order *take_reserved(struct pool *pool, struct box *box)
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
    struct pool_order *order = take_reserved(pool, box);

    pool->n_making--;
    pool->n_hot_making -= box_is_touched(box);
    if (order) {
        start(pool, box, order);
    } else if (pool->n_idle < pool->options.size) {
        idle_push(pool, box);
        tell_level(pool);
    } else {
        box_kill(box);
    }
    schedule(pool);
}

static void on_done(void *owner, struct box *box, struct run *run)
{
    struct pool *pool = owner;
    struct pool_order *order = box_reserved(box);

    (void)run;
    pool->n_active--;
    box_reserve(box, NULL);
    answer(pool, order);
    loop_timer_start(pool->soon, 0);
}

static void on_gone(void *owner, struct box *box, const struct error *err)
{
    struct pool *pool = owner;
    struct pool_order *order = take_reserved(pool, box);
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
        answer_error(pool, order, &copy);
    else if (copy.code != E_NONE && pool->n_idle == 0 && pool->n_making == 0)
        fail_queue(pool, NULL, &copy); /* sandboxes cannot be made at all: waiting is no use */
    error_done(&copy);
    loop_timer_start(pool->soon, 0);
}

static const struct box_events box_events = {
    .on_idle = on_idle, .on_done = on_done, .on_gone = on_gone};

/* NULL: there is none just now, or *err says why there cannot be one. */
static struct zygote_client *zygote_for(struct pool *pool, const struct pool_order *order,
                                        struct error *err)
{
    if (order->zygote)
        return order->zygote;
    return extra_zygotes_serve(&pool->sides, order->terms)
               ? extra_zygotes_zygote(&pool->sides, order->terms, err)
               : pool->zygote;
}

static int make_box(struct pool *pool, struct zygote_client *zygote, const struct box_spec *spec,
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

/* --- events of the zygote --- */

static int start_zygote(struct pool *pool, struct error *err);

static void on_ready(void *owner, struct zygote_client *zygote)
{
    struct pool *pool = owner;

    (void)zygote;
    loop_timer_start(pool->soon, 0);
}

/* Its sandboxes died with it. Runs that had their code are lost and said to be: code is never run
 * twice. */
static void on_zygote_end(void *owner, struct zygote_client *zygote, const struct error *err)
{
    struct pool *pool = owner;
    bool was_ready = zygote_client_python_version(zygote) != NULL;
    struct extra_zygote *side = extra_zygotes_find(&pool->sides, zygote);
    struct error gone = {0}, again = {0};
    struct box *box;

    error_set(&gone, E_SYSTEM, "the zygote of the session is gone");
    while ((box = zygote_client_any_box(zygote)))
        box_on_gone(box, err);
    if (zygote == pool->zygote) {
        pool->zygote = NULL;
        if (!was_ready)
            fail_queue(pool, NULL, err);
    } else if (side) {
        extra_zygote_forget(side);
    }
    for (size_t i = 0; i < RETIRED_MAX; i++)
        if (pool->retired[i] == zygote)
            pool->retired[i] = NULL;
    fail_queue(pool, zygote, &gone);
    zygote_client_free(zygote);
    if (was_ready && !pool->zygote && start_zygote(pool, &again) < 0)
        fail_queue(pool, NULL, &again);
    error_done(&gone);
    error_done(&again);
}

static const struct zygote_events zygote_events = {on_ready, on_zygote_end};

static int start_zygote(struct pool *pool, struct error *err)
{
    return zygote_client_new(pool->loop, pool->options.masks, pool->options.program,
                             &pool->options.environment, &zygote_events, pool, &pool->zygote, err);
}

/* Lets go of those that have nothing left to do, and finds a place for another. */
static struct zygote_client **tend_retired(struct pool *pool)
{
    struct zygote_client **place = NULL;

    for (size_t i = 0; i < RETIRED_MAX; i++) {
        if (!pool->retired[i])
            place = &pool->retired[i];
        else if (zygote_client_boxes(pool->retired[i]) == 0)
            zygote_client_end(pool->retired[i]);
    }
    return place;
}

/* All children of a zygote share its address layout and hash seed, so it does not live for ever.
 * The old one lives on until its last sandbox is gone. */
static void recycle(struct pool *pool)
{
    const struct pool_options *o = &pool->options;
    struct zygote_client **place = tend_retired(pool);
    struct zygote_client *z = pool->zygote;
    struct error err = {0};

    if (!z || !place || !zygote_client_is_ready(z))
        return;
    if (!(o->zygote_max_runs && zygote_client_spawned(z) >= o->zygote_max_runs) &&
        !(o->zygote_max_ms &&
          (loop_now_ns() - zygote_client_started_ns(z)) / 1000000 >= o->zygote_max_ms))
        return;
    *place = z;
    pool->zygote = NULL;
    pool->has_old_idle = true;
    if (start_zygote(pool, &err) < 0) { /* better an old one than none */
        pool->zygote = z;
        *place = NULL;
    }
    error_done(&err);
}

/* --- memory pressure --- */

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
        struct box *box = idle_take_any(pool);

        if (box)
            box_kill(box);
    }
    loop_timer_start(pool->pressure, PRESSURE_MS);
    schedule(pool);
}

/* --- scheduling: the one place where it is decided what happens next --- */

/* Waiting sandboxes are made for the default limits; what the kernel fixed at their birth cannot be
 * changed. */
static bool fits_stock(const struct pool *pool, const struct run_terms *terms)
{
    return pool->options.size > 0 && terms->n_grants == 0 && !terms->workdir && !terms->net &&
           !extra_zygotes_serve(&pool->sides, terms) &&
           terms->limits.disk_bytes == pool->options.limits.disk_bytes &&
           terms->limits.inodes == pool->options.limits.inodes;
}

/* A sandbox is made to order. Returns false when it has to wait. */
static bool make_to_order(struct pool *pool, struct zygote_client *zygote, struct pool_order *order)
{
    const struct run_terms *terms = order->terms;
    struct error err = {0};

    dequeue(pool, order);
    if (make_box(pool, zygote,
                 &(struct box_spec){.recorder = pool->recorder,
                                    .masks = pool->options.masks,
                                    .outside = pool->options.outside,
                                    .egress = pool->options.egress,
                                    .limits = terms->limits,
                                    .grants = terms->grants,
                                    .n_grants = terms->n_grants,
                                    .workdir = terms->workdir,
                                    .net = terms->net,
                                    .brokers = pool->brokers},
                 order, &err) == 0)
        return true;
    /* The zygote is gone, and its end, which is about to be reported, says why. */
    if (err.errnum == EPIPE || err.errnum == ECONNRESET) {
        error_done(&err);
        enqueue(pool, order, true);
        return false;
    }
    answer_error(pool, order, &err);
    return true;
}

static size_t reserve(const struct pool *pool)
{
    return (pool->options.size + STOCK_RESERVE - 1) / STOCK_RESERVE;
}

static bool may_take_idle(const struct pool *pool, const struct pool_order *order)
{
    return fits_stock(pool, order->terms) &&
           (order->crowd <= CROWD_SMALL || pool->n_idle > reserve(pool));
}

/* Takes one from the stock, if it fits. */
static bool serve(struct pool *pool, struct pool_order *order)
{
    struct box *box = may_take_idle(pool, order) ? idle_take(pool, order->zygote) : NULL;
    struct error err = {0};
    struct zygote_client *zygote = box ? NULL : zygote_for(pool, order, &err);

    if (box) {
        dequeue(pool, order);
        start(pool, box, order);
        tell_level(pool);
        return true;
    }
    if (err.code != E_NONE) {
        dequeue(pool, order);
        answer_error(pool, order, &err);
        return true;
    }
    /* A zygote that is still warming up makes it first thing afterwards. With a stock, that has the
     * first word. */
    if (!zygote || zygote_client_is_ending(zygote) ||
        (fits_stock(pool, order->terms) && !zygote_client_is_ready(zygote)) ||
        pool->n_making >= ORDERED_MAX)
        return false;
    return make_to_order(pool, zygote, order);
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
    bool ok = make_box(pool, pool->zygote, &spec, NULL, &err) == 0;

    error_done(&err); /* the next request will meet the same error and say it */
    return ok;
}

static void refill(struct pool *pool)
{
    size_t wanted = pool->is_tight ? 0 : pool->options.size;

    if (!pool->zygote || !zygote_client_is_ready(pool->zygote))
        return;
    /* The reserve for callers with a single run is made in addition to what the others have
     * ordered. */
    if (wanted && pool->n_ordered &&
        pool->n_idle + (pool->n_making - pool->n_ordered) < reserve(pool)) {
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

/* The caller with the fewest runs goes first; ties by arrival. */
static struct pool_order *next_order(const struct pool *pool)
{
    struct pool_order *best = TAILQ_FIRST(&pool->queue), *order;

    TAILQ_FOREACH(order, &pool->queue, link)
        if (order->crowd < best->crowd)
            best = order;
    return best;
}

static void schedule(struct pool *pool)
{
    if (pool->is_closing)
        return;
    recycle(pool);
    extra_zygotes_tend(&pool->sides);
    while (pool->n_queued && pool->n_active + pool->n_ordered < pool->options.max_active)
        if (!serve(pool, next_order(pool)))
            break;
    refill(pool);
}

static void on_soon(void *arg)
{
    schedule(arg);
}

/* --- interface --- */

static size_t automatic_size(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t size = (size_t)(cores > 0 ? cores : 1) * 4;
    struct meminfo m;

    if (meminfo_read(&m) && size > m.available_bytes / AUTO_FRACTION / AUTO_BOX_BYTES)
        size = m.available_bytes / AUTO_FRACTION / AUTO_BOX_BYTES;
    return size ? size : 1;
}

int pool_new(struct loop *loop, const struct pool_options *options, struct pool **ret_pool,
             struct error *err)
{
    struct pool *pool = calloc(1, sizeof(*pool));

    if (!pool)
        return error_memory(err);
    *pool = (struct pool){.loop = loop, .options = *options};
    pool->sides = (struct extra_zygotes){.loop = loop,
                                         .masks = options->masks,
                                         .program = options->program,
                                         .config = options->config,
                                         .own = &pool->options.environment,
                                         .events = &zygote_events,
                                         .owner = pool};
    if (pool->options.size == POOL_AUTO)
        pool->options.size = automatic_size();
    if (pool->options.hot == POOL_AUTO)
        pool->options.hot = (pool->options.size + 1) / 2;
    TAILQ_INIT(&pool->queue);
    TAILQ_INIT(&pool->ordered);
    TAILQ_INIT(&pool->done);
    pool->idle = calloc(pool->options.size + 1, sizeof(struct box *));
    pool->soon = loop_timer(loop, on_soon, pool);
    pool->pressure = loop_timer(loop, on_pressure, pool);
    if (!pool->idle || !pool->soon || !pool->pressure)
        error_memory(err);
    else
        (void)start_zygote(pool, err);
    if (!pool->zygote) {
        pool_free(pool);
        return -1;
    }
    if (pool->options.size)
        loop_timer_start(pool->pressure, PRESSURE_MS);
    *ret_pool = pool;
    return 0;
}

static void free_zygote(struct pool *pool, struct zygote_client *zygote)
{
    struct box *box;

    while (zygote && (box = zygote_client_any_box(zygote))) {
        struct pool_order *order = box_reserved(box);

        if (box_is_kept(box)) { /* its keeper frees it */
            box_on_gone(box, NULL);
            continue;
        }
        if (order && !take_reserved(pool, box))
            box_reserve(box, NULL); /* its run was under way */
        if (order)
            answer_cancelled(pool, order);
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

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    pool->is_closing = true;
    while (pool->n_queued) {
        struct pool_order *order = TAILQ_FIRST(&pool->queue);

        dequeue(pool, order);
        answer_cancelled(pool, order);
    }
    end_zygote(pool, pool->zygote);
    for (size_t i = 0; i < EXTRA_ZYGOTES_MAX; i++) {
        end_zygote(pool, pool->sides.slots[i].zygote);
        extra_zygote_forget(&pool->sides.slots[i]);
    }
    for (size_t i = 0; i < RETIRED_MAX; i++)
        end_zygote(pool, pool->retired[i]);
    while (!TAILQ_EMPTY(&pool->done))
        deliver(pool);
    loop_work_cancel(&pool->answering);
    loop_watch_free(pool->soon);
    loop_watch_free(pool->pressure);
    free(pool->idle);
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

struct recorder *pool_witness(const struct pool *pool)
{
    return pool->recorder;
}

/* The answer follows: there will be no sandbox any more. */
static bool refuse_while_closing(struct pool *pool, struct pool_order *order)
{
    struct error err = {0};

    if (!pool->is_closing)
        return false;
    error_set(&err, E_BUSY, "Belljar is stopping");
    error_hint(&err, "try again when it is up");
    answer_error(pool, order, &err);
    return true;
}

static void submit(struct pool *pool, struct pool_order *order)
{
    struct error err = {0};

    enqueue(pool, order, false);
    if (!pool->zygote && start_zygote(pool, &err) < 0) {
        fail_queue(pool, NULL, &err);
        error_done(&err);
        return;
    }
    schedule(pool);
}

void pool_order(struct pool *pool, struct pool_order *order)
{
    if (!refuse_while_closing(pool, order))
        submit(pool, order);
}

int pool_submit(struct pool *pool, struct run *run)
{
    uint64_t began_ns = loop_cpu_ns();
    struct pool_order *order = calloc(1, sizeof(*order));
    struct error err = {0};

    if (!order)
        return error_memory(&run->result.error);
    *order = (struct pool_order){.terms = &run->terms, .crowd = run->origin.crowd, .run = run};
    run->result.started_ns = loop_now_ns();
    run->masks = pool->options.masks;
    if (refuse_while_closing(pool, order))
        return 0;
    if (recorder_start(pool->recorder, run, &err) < 0) {
        answer_error(pool, order, &err);
        return 0;
    }
    run->result.server_cpu_ns +=
        loop_cpu_ns() - began_ns; /* masking and writing down the program */
    submit(pool, order);
    return 0;
}

void pool_refuse(struct pool *pool, struct run *run)
{
    answer_run(pool, run);
}

void pool_cancel_order(struct pool *pool, struct pool_order *order)
{
    if (order->state == POOL_ORDER_QUEUED) {
        dequeue(pool, order);
        answer_cancelled(pool, order);
    } else if (order->state == POOL_ORDER_MAKING) { /* for nobody now */
        struct box *box = order->box;

        (void)take_reserved(pool, box);
        box_kill(box);
        answer_cancelled(pool, order);
    }
}

static struct pool_order *find_order(const struct pool_orders *orders, const struct run *run)
{
    struct pool_order *order;

    TAILQ_FOREACH(order, orders, link)
        if (order->run == run)
            break;
    return order;
}

void pool_cancel(struct pool *pool, struct run *run)
{
    struct pool_order *order = find_order(&pool->queue, run);

    if (!order)
        order = find_order(&pool->ordered, run);
    if (order)
        pool_cancel_order(pool, order);
    else if (run->box)
        box_cancel(run->box);
}

void pool_hold(struct run *run, bool is_held)
{
    if (run->box && box_run(run->box) == run)
        box_hold(run->box, is_held);
}

void pool_notice(struct pool *pool)
{
    loop_timer_start(pool->soon, 0);
}

void pool_level(const struct pool *pool, struct pool_level *ret_level)
{
    *ret_level = (struct pool_level){
        .idle = pool->n_idle,
        .making = pool->n_making,
        .active = pool->n_active,
        .queued = pool->n_queued,
        .wanted = pool->options.size,
        .made = pool->made,
    };
}

const struct zygote_client *pool_zygote(const struct pool *pool)
{
    return pool->zygote;
}

void pool_each_idle(const struct pool *pool, void (*fn)(void *user, const struct box *box),
                    void *user)
{
    for (size_t i = pool->n_idle; i-- > 0;)
        fn(user, pool->idle[i]);
}
