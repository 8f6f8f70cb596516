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
#include "engine/run_list.h"

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

struct pool {
    struct loop *loop;
    struct cgroup_host *cgroups;
    struct recorder *recorder;
    struct brokers *brokers;
    struct pool_options options;
    struct zygote_client *zygote;               /* makes new sandboxes */
    struct extra_zygotes sides;                 /* those of other environments and seeds */
    struct zygote_client *retired[RETIRED_MAX]; /* live until their last sandbox is gone */
    struct box *idle;
    size_t n_idle, n_hot_idle, n_making, n_hot_making, n_active;
    size_t n_ordered; /* of those being made: for a run that waits for it */
    uint64_t made;
    struct run_list queue;
    struct run_list done; /* their on_done is due */
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

/* --- runs that wait for a sandbox, and their answers --- */

/* Answers are given from the loop, so that on_done is never called while its caller is still
 * submitting or cancelling. */
static void answer(struct pool *pool, struct run *run)
{
    run->box = NULL;
    run_list_add(&pool->done, run);
    loop_work_post(pool->loop, &pool->answering, deliver, pool);
}

static void answer_error(struct pool *pool, struct run *run, struct error *err)
{
    error_move(&run->result.error, err);
    answer(pool, run);
}

static void answer_cancelled(struct pool *pool, struct run *run)
{
    run->result.status = RUN_CANCELLED;
    run->result.exit_code = 130;
    answer(pool, run);
}

/* Written down first. A sandbox for a session is no run. */
static void hand_over(struct pool *pool, struct run *run)
{
    uint64_t began_ns = loop_cpu_ns();

    if (!run->on_box)
        recorder_end(pool->recorder, run);
    run->result.server_cpu_ns += loop_cpu_ns() - began_ns;
    run->on_done(run);
}

/* One at a time: writing an answer takes milliseconds, and many runs can end in one moment. */
static void deliver(void *arg)
{
    struct pool *pool = arg;
    struct run *run = pool->done.first;

    if (!run)
        return;
    (void)run_list_remove(&pool->done, run);
    if (pool->done.first)
        loop_work_post(pool->loop, &pool->answering, deliver, pool);
    hand_over(pool, run);
}

static void fail_queue(struct pool *pool, const struct error *err)
{
    while (pool->queue.first) {
        struct run *run = pool->queue.first;
        struct error copy = {0};

        (void)run_list_remove(&pool->queue, run);
        error_copy(&copy, err);
        answer_error(pool, run, &copy);
    }
}

/* --- the stock --- */

static void idle_push(struct pool *pool, struct box *box)
{
    box_set_next(box, pool->idle);
    pool->idle = box;
    pool->n_idle++;
    pool->n_hot_idle += box_is_touched(box);
}

static void idle_remove(struct pool *pool, struct box *box)
{
    struct box *before = NULL;

    for (struct box *b = pool->idle; b; before = b, b = box_next(b)) {
        if (b != box)
            continue;
        if (before)
            box_set_next(before, box_next(b));
        else
            pool->idle = box_next(b);
        pool->n_idle--;
        pool->n_hot_idle -= box_is_touched(b);
        return;
    }
}

/* One of a retired zygote first, which lives until they are used up. Else a hot one; hot ones are
 * pushed like the others, so the search ends early while there are any. */
static struct box *idle_take_any(struct pool *pool)
{
    bool has_old = false;
    struct box *best = NULL;

    for (struct box *b = pool->idle; b; b = box_next(b)) {
        bool is_old = box_zygote(b) != pool->zygote;

        /* One that died, or whose zygote did, stays in the list until that is reported. */
        if (box_state(b) != BOX_IDLE || !zygote_client_is_ready(box_zygote(b)))
            continue;
        has_old = has_old || is_old;
        if (!best || is_old || (box_is_touched(b) && !box_is_touched(best)))
            best = b;
        if (is_old || (!pool->has_old_idle && (box_is_touched(b) || !pool->n_hot_idle)))
            break;
    }
    pool->has_old_idle = has_old;
    if (best)
        idle_remove(pool, best);
    return best;
}

/* `zygote`: only one of its, or NULL. */
static struct box *idle_take(struct pool *pool, const struct zygote_client *zygote)
{
    if (!zygote)
        return idle_take_any(pool);
    for (struct box *b = pool->idle; b; b = box_next(b)) {
        if (box_zygote(b) != zygote || box_state(b) != BOX_IDLE || !zygote_client_is_ready(zygote))
            continue;
        idle_remove(pool, b);
        return b;
    }
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

static void start(struct pool *pool, struct box *box, struct run *run)
{
    struct error err = {0};

    if (run->on_box) { /* neither is the pool's any more */
        run->box = NULL;
        run->on_box(run, box);
        return;
    }
    run->box = box;
    pool->n_active++;
    if (note_fingerprint(pool, box, run, &err) == 0 && box_start(box, run, &err) == 0)
        return;
    pool->n_active--;
    /* A sandbox that died unnoticed took no code: the run goes to the next one. Anything else would
     * meet it there, too. */
    box_kill(box);
    if (err.code == E_BUSY) {
        error_done(&err);
        run->box = NULL;
        run_list_add_first(&pool->queue, run);
        loop_timer_start(pool->soon, 0);
    } else {
        answer_error(pool, run, &err);
    }
}

static void on_idle(void *owner, struct box *box)
{
    struct pool *pool = owner;
    struct run *run = box_reserved(box);

    pool->n_making--;
    pool->n_hot_making -= box_is_touched(box);
    if (run) {
        box_reserve(box, NULL);
        pool->n_ordered--;
        start(pool, box, run);
    } else {
        idle_push(pool, box);
        tell_level(pool);
    }
    schedule(pool);
}

static void on_done(void *owner, struct box *box, struct run *run)
{
    struct pool *pool = owner;

    (void)box;
    pool->n_active--;
    answer(pool, run);
    loop_timer_start(pool->soon, 0);
}

static void on_gone(void *owner, struct box *box, const struct error *err)
{
    struct pool *pool = owner;
    struct run *run = box_reserved(box);
    struct error copy = {0};
    bool was_made = box_was_idle(box);

    idle_remove(pool, box);
    if (!was_made) {
        pool->n_making--;
        pool->n_hot_making -= box_is_touched(box);
    }
    if (err && !was_made)
        error_copy(&copy, err);
    else if (run)
        error_set(&copy, E_SYSTEM, "the sandbox died while it was made");
    box_free(box);
    pool->n_ordered -= run != NULL;
    if (run)
        answer_error(pool, run, &copy);
    else if (copy.code != E_NONE && pool->n_idle == 0 && pool->n_making == 0)
        fail_queue(pool, &copy); /* sandboxes cannot be made at all: nobody waits for a miracle */
    error_done(&copy);
    loop_timer_start(pool->soon, 0);
}

static const struct box_events box_events = {
    .on_idle = on_idle, .on_done = on_done, .on_gone = on_gone};

/* NULL: there is none just now, or *err says why there cannot be one. */
static struct zygote_client *zygote_for(struct pool *pool, const struct run *run, struct error *err)
{
    if (run->zygote)
        return run->zygote;
    return extra_zygotes_serve(&pool->sides, run) ? extra_zygotes_zygote(&pool->sides, run, err)
                                                  : pool->zygote;
}

static int make_box(struct pool *pool, struct zygote_client *zygote, const struct box_spec *spec,
                    struct run *reserved, struct error *err)
{
    struct box *box;

    if (box_new(pool->loop, zygote, pool->cgroups, spec, &box_events, pool, &box, err) < 0)
        return -1;
    box_reserve(box, reserved);
    if (reserved) {
        reserved->box = box;
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

/* Those who wait for a sandbox of this one and no other. */
static void fail_bound(struct pool *pool, const struct zygote_client *zygote)
{
    for (struct run *run = pool->queue.first, *next; run; run = next) {
        struct error err = {0};

        next = run->next;
        if (run->zygote != zygote)
            continue;
        (void)run_list_remove(&pool->queue, run);
        error_set(&err, E_SYSTEM, "the zygote of the session is gone");
        answer_error(pool, run, &err);
    }
}

/* Its sandboxes died with it. Runs that had their code are lost and said to be: code is never run
 * twice. */
static void on_zygote_end(void *owner, struct zygote_client *zygote, const struct error *err)
{
    struct pool *pool = owner;
    bool was_ready = zygote_client_python_version(zygote) != NULL;
    struct extra_zygote *side = extra_zygotes_find(&pool->sides, zygote);
    struct error again = {0};
    struct box *box;

    while ((box = zygote_client_any_box(zygote)))
        box_on_gone(box, err);
    if (zygote == pool->zygote) {
        pool->zygote = NULL;
        if (!was_ready)
            fail_queue(pool, err);
    } else if (side) {
        extra_zygote_forget(side);
    }
    for (size_t i = 0; i < RETIRED_MAX; i++)
        if (pool->retired[i] == zygote)
            pool->retired[i] = NULL;
    fail_bound(pool, zygote);
    zygote_client_free(zygote);
    if (was_ready && !pool->zygote && start_zygote(pool, &again) < 0)
        fail_queue(pool, &again);
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
    if (pool->is_tight)
        for (size_t n = (pool->n_idle + 1) / 2; n > 0 && pool->idle; n--)
            box_kill(idle_take_any(pool));
    loop_timer_start(pool->pressure, PRESSURE_MS);
    schedule(pool);
}

/* --- scheduling: the one place where it is decided what happens next --- */

/* Waiting sandboxes are made for the default limits; what the kernel fixed at their birth cannot be
 * changed. */
static bool fits_stock(const struct pool *pool, const struct run *run)
{
    return pool->options.size > 0 && run->terms.n_grants == 0 && !run->terms.workdir &&
           !run->terms.net && !extra_zygotes_serve(&pool->sides, run) &&
           run->terms.limits.disk_bytes == pool->options.limits.disk_bytes &&
           run->terms.limits.inodes == pool->options.limits.inodes;
}

/* A sandbox is made for the run. Returns false when it has to wait. */
static bool order(struct pool *pool, struct zygote_client *zygote, struct run *run)
{
    struct error err = {0};

    (void)run_list_remove(&pool->queue, run);
    if (make_box(pool, zygote,
                 &(struct box_spec){.recorder = pool->recorder,
                                    .masks = pool->options.masks,
                                    .outside = pool->options.outside,
                                    .egress = pool->options.egress,
                                    .limits = run->terms.limits,
                                    .grants = run->terms.grants,
                                    .n_grants = run->terms.n_grants,
                                    .workdir = run->terms.workdir,
                                    .net = run->terms.net,
                                    .brokers = pool->brokers},
                 run, &err) == 0)
        return true;
    /* The zygote is gone, and its end, which is about to be reported, says why. */
    if (err.errnum == EPIPE || err.errnum == ECONNRESET) {
        error_done(&err);
        run->box = NULL;
        run_list_add_first(&pool->queue, run);
        return false;
    }
    answer_error(pool, run, &err);
    return true;
}

static size_t reserve(const struct pool *pool)
{
    return (pool->options.size + STOCK_RESERVE - 1) / STOCK_RESERVE;
}

static bool may_take_idle(const struct pool *pool, const struct run *run)
{
    return fits_stock(pool, run) &&
           (run->origin.crowd <= CROWD_SMALL || pool->n_idle > reserve(pool));
}

/* Takes one from the stock, if it fits. */
static bool serve(struct pool *pool, struct run *run)
{
    struct box *box = may_take_idle(pool, run) ? idle_take(pool, run->zygote) : NULL;
    struct error err = {0};
    struct zygote_client *zygote = box ? NULL : zygote_for(pool, run, &err);

    if (box) {
        (void)run_list_remove(&pool->queue, run);
        start(pool, box, run);
        tell_level(pool);
        return true;
    }
    if (err.code != E_NONE) {
        (void)run_list_remove(&pool->queue, run);
        answer_error(pool, run, &err);
        return true;
    }
    /* A zygote that is still warming up makes it first thing afterwards. With a stock, that has the
     * first word. */
    if (!zygote || zygote_client_is_ending(zygote) ||
        (fits_stock(pool, run) && !zygote_client_is_ready(zygote)) || pool->n_making >= ORDERED_MAX)
        return false;
    return order(pool, zygote, run);
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
        if (!refill_one(pool, !pool->n_active && !pool->queue.count &&
                                  pool->n_hot_idle + pool->n_hot_making < pool->options.hot))
            return;
    }
}

/* The caller with the fewest runs goes first; ties by arrival. */
static struct run *next_run(const struct pool *pool)
{
    struct run *best = pool->queue.first;

    for (struct run *run = best; run; run = run->next)
        if (run->origin.crowd < best->origin.crowd)
            best = run;
    return best;
}

static void schedule(struct pool *pool)
{
    if (pool->is_closing)
        return;
    recycle(pool);
    extra_zygotes_tend(&pool->sides);
    while (pool->queue.first && pool->n_active + pool->n_ordered < pool->options.max_active)
        if (!serve(pool, next_run(pool)))
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
    pool->soon = loop_timer(loop, on_soon, pool);
    pool->pressure = loop_timer(loop, on_pressure, pool);
    if (!pool->soon || !pool->pressure) {
        loop_watch_free(pool->soon);
        loop_watch_free(pool->pressure);
        free(pool);
        return error_memory(err);
    }
    if (start_zygote(pool, err) < 0) {
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
        struct run *run = box_run(box) ? box_run(box) : box_reserved(box);

        if (box_is_kept(box)) { /* its keeper frees it */
            box_on_gone(box, NULL);
            continue;
        }
        if (run)
            answer_cancelled(pool, run);
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
    while (pool->queue.first) {
        struct run *run = pool->queue.first;

        (void)run_list_remove(&pool->queue, run);
        answer_cancelled(pool, run);
    }
    end_zygote(pool, pool->zygote);
    for (size_t i = 0; i < EXTRA_ZYGOTES_MAX; i++) {
        end_zygote(pool, pool->sides.slots[i].zygote);
        extra_zygote_forget(&pool->sides.slots[i]);
    }
    for (size_t i = 0; i < RETIRED_MAX; i++)
        end_zygote(pool, pool->retired[i]);
    while (pool->done.first)
        deliver(pool);
    loop_work_cancel(&pool->answering);
    loop_watch_free(pool->soon);
    loop_watch_free(pool->pressure);
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

void pool_submit(struct pool *pool, struct run *run)
{
    uint64_t began_ns = loop_cpu_ns();
    struct error err = {0};

    run->result.started_ns = loop_now_ns();
    run->masks = pool->options.masks;
    if (pool->is_closing) {
        error_set(&err, E_BUSY, "Belljar is stopping");
        error_hint(&err, "try again when it is up");
        answer_error(pool, run, &err);
        return;
    }
    if (!run->on_box && recorder_start(pool->recorder, run, &err) < 0) {
        answer_error(pool, run, &err);
        return;
    }
    run->result.server_cpu_ns +=
        loop_cpu_ns() - began_ns; /* masking and writing down the program */
    run_list_add(&pool->queue, run);
    if (!pool->zygote && start_zygote(pool, &err) < 0) {
        fail_queue(pool, &err);
        error_done(&err);
        return;
    }
    schedule(pool);
}

void pool_refuse(struct pool *pool, struct run *run)
{
    hand_over(pool, run);
}

void pool_cancel(struct pool *pool, struct run *run)
{
    struct box *box = run->box;

    if (run_list_remove(&pool->queue, run)) {
        answer_cancelled(pool, run);
    } else if (box && box_reserved(box) == run) { /* it is still being made, for nobody now */
        box_reserve(box, NULL);
        pool->n_ordered--;
        box_kill(box);
        answer_cancelled(pool, run);
    } else if (box) {
        box_cancel(box);
    }
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
        .queued = pool->queue.count,
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
    for (struct box *b = pool->idle; b; b = box_next(b))
        fn(user, b);
}
