/* The queue for sandboxes: the runs that wait, the next one, and the sandbox it gets. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/pool_internal.h"
#include "engine/program_needs.h"
#include "engine/recorder.h"

/* Sandboxes that are made to order at once. A run that comes later and has to go first, since its
 * caller has nothing else under way, waits for no more than these. */
#define ORDERED_MAX 4

/* A caller with more runs than this leaves part of the stock to others. */
#define CROWD_SMALL 2

/* --- waiting, and answers --- */

static void deliver(void *arg);

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
 * submitting or cancelling. */
void pool_answer(struct pool *pool, struct pool_order *order)
{
    if (order->run)
        order->run->box = NULL;
    order->state = POOL_ORDER_DONE;
    TAILQ_INSERT_TAIL(&pool->done, order, link);
    loop_work_post(pool->loop, &pool->answering, deliver, pool);
}

void pool_answer_error(struct pool *pool, struct pool_order *order, struct error *err)
{
    error_move(order->run ? &order->run->result.error : &order->error, err);
    pool_answer(pool, order);
}

void pool_answer_cancelled(struct pool *pool, struct pool_order *order)
{
    if (order->run) {
        order->run->result.status = RUN_CANCELLED;
        order->run->result.exit_code = 130;
    }
    pool_answer(pool, order);
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

void pool_fail_queue(struct pool *pool, const struct zygote_client *zygote, const struct error *err)
{
    for (struct pool_order *order = TAILQ_FIRST(&pool->queue), *next; order; order = next) {
        struct error copy = {0};

        next = TAILQ_NEXT(order, link);
        if (zygote && order->zygote != zygote)
            continue;
        dequeue(pool, order);
        error_copy(&copy, err);
        pool_answer_error(pool, order, &copy);
    }
}

void pool_cancel_queue(struct pool *pool)
{
    while (pool->n_queued) {
        struct pool_order *order = TAILQ_FIRST(&pool->queue);

        dequeue(pool, order);
        pool_answer_cancelled(pool, order);
    }
}

void pool_deliver_all(struct pool *pool)
{
    while (!TAILQ_EMPTY(&pool->done))
        deliver(pool);
    loop_work_cancel(&pool->answering);
}

/* --- a sandbox has been found --- */

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
        pool_answer_error(pool, order, &err);
    }
}

void pool_start(struct pool *pool, struct box *box, struct pool_order *order)
{
    if (order->run)
        start_run(pool, box, order);
    else
        order->on_box(order, box); /* neither is the pool's any more */
}

/* --- scheduling: the one place where it is decided what happens next --- */

/* Waiting sandboxes are made for the default limits; what the kernel fixed at their birth cannot be
 * changed. */
static bool fits_stock(const struct pool *pool, const struct run_terms *terms)
{
    return pool->options.size > 0 && terms->n_grants == 0 && !terms->workdir && !terms->net &&
           !terms->has_terminal && !extra_zygotes_serve(&pool->sides, terms) &&
           terms->limits.disk_bytes == pool->options.limits.disk_bytes &&
           terms->limits.inodes == pool->options.limits.inodes;
}

/* A sandbox is made to order. Returns false when it has to wait. */
static bool make_to_order(struct pool *pool, struct zygote_client *zygote, struct pool_order *order)
{
    const struct run_terms *terms = order->terms;
    struct error err = {0};

    dequeue(pool, order);
    if (pool_make_box(pool, pool_stock_for(pool, order), zygote,
                      &(struct box_spec){.recorder = pool->recorder,
                                         .masks = pool->options.masks,
                                         .outside = pool->options.outside,
                                         .egress = pool->options.egress,
                                         .limits = terms->limits,
                                         .grants = terms->grants,
                                         .n_grants = terms->n_grants,
                                         .workdir = terms->workdir,
                                         .has_terminal = terms->has_terminal,
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
    pool_answer_error(pool, order, &err);
    return true;
}

/* One from the stock, if it fits and may be taken. */
static struct box *take_idle(struct pool *pool, const struct pool_order *order)
{
    struct stock *stock = pool_stock_for(pool, order);

    if (!fits_stock(pool, order->terms))
        return NULL;
    if (order->crowd > CROWD_SMALL && stock->n_idle <= stock_reserve(pool, stock))
        return NULL;
    return pool_take_idle(stock, order->zygote);
}

static bool serve(struct pool *pool, struct pool_order *order)
{
    struct box *box = take_idle(pool, order);
    struct error err = {0};
    struct zygote_client *zygote = box ? NULL : pool_zygote_for(pool, order, &err);

    if (box) {
        dequeue(pool, order);
        pool_start(pool, box, order);
        pool_tell_level(pool);
        return true;
    }
    if (err.code != E_NONE) {
        dequeue(pool, order);
        pool_answer_error(pool, order, &err);
        return true;
    }
    /* A zygote that is still warming up makes it first thing afterwards. With a stock, that has the
     * first word. */
    if (!zygote || zygote_client_is_ending(zygote) ||
        (fits_stock(pool, order->terms) && !zygote_client_is_ready(zygote)) ||
        pool_count_making(pool) >= ORDERED_MAX)
        return false;
    return make_to_order(pool, zygote, order);
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

void pool_schedule(struct pool *pool)
{
    if (pool->is_closing)
        return;
    pool_recycle(pool);
    extra_zygotes_tend(&pool->sides);
    while (pool->n_queued && pool->n_active + pool->n_ordered < pool->options.max_active)
        if (!serve(pool, next_order(pool)))
            break;
    pool_refill(pool);
}

/* --- interface --- */

/* The answer follows: there will be no sandbox any more. */
static bool refuse_while_closing(struct pool *pool, struct pool_order *order)
{
    struct error err = {0};

    if (!pool->is_closing)
        return false;
    error_set(&err, E_BUSY, "Belljar is stopping");
    error_hint(&err, "try again when it is up");
    pool_answer_error(pool, order, &err);
    return true;
}

static void go_elsewhere(struct pool *pool, struct pool_order *order)
{
    struct error err = {0};

    if (!order->run) {
        error_set(&err, E_UNSUPPORTED, "this needs a sandbox outside of the virtual machine");
        pool_answer_error(pool, order, &err);
        return;
    }
    TAILQ_INSERT_TAIL(&pool->away, order, link);
    pool->n_active++;
    order->run->elsewhere = pool->options.elsewhere;
    pool->options.elsewhere->start(pool->options.elsewhere->user, order->run);
}

static void submit(struct pool *pool, struct pool_order *order)
{
    struct error err = {0};

    if (pool->options.elsewhere) {
        go_elsewhere(pool, order);
        return;
    }
    enqueue(pool, order, false);
    pool_learn_mix(pool, order);
    if (pool_start_zygotes(pool, &err) < 0) {
        pool_fail_queue(pool, NULL, &err);
        error_done(&err);
        return;
    }
    pool_schedule(pool);
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
    *order = (struct pool_order){.terms = &run->terms,
                                 .crowd = run->origin.crowd,
                                 .run = run,
                                 .is_bare = pool->n_stocks > STOCK_BARE &&
                                            !program_needs(&run->program,
                                                           pool->options.environment.preload,
                                                           pool->options.environment.n_preload)};
    run->result.started_ns = loop_now_ns();
    run->masks = pool->options.masks;
    if (refuse_while_closing(pool, order))
        return 0;
    if (recorder_start(pool->recorder, run, &err) < 0) {
        pool_answer_error(pool, order, &err);
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
        pool_answer_cancelled(pool, order);
    } else if (order->state == POOL_ORDER_MAKING) { /* for nobody now */
        struct box *box = order->box;

        (void)pool_take_reserved(pool, box);
        box_kill(box);
        pool_answer_cancelled(pool, order);
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

static void leave_away(struct pool *pool, struct pool_order *order)
{
    TAILQ_REMOVE(&pool->away, order, link);
    pool->n_active--;
}

static void cancel_away(struct pool *pool, struct pool_order *order)
{
    pool->options.elsewhere->cancel(pool->options.elsewhere->user, order->run);
    order->run->elsewhere = NULL;
    leave_away(pool, order);
    pool_answer_cancelled(pool, order);
}

void pool_cancel_away(struct pool *pool)
{
    while (!TAILQ_EMPTY(&pool->away))
        cancel_away(pool, TAILQ_FIRST(&pool->away));
    if (pool->options.elsewhere)
        pool->options.elsewhere->settle(pool->options.elsewhere->user);
}

void pool_finish(struct pool *pool, struct run *run)
{
    struct pool_order *order = find_order(&pool->away, run);

    if (!order)
        return;
    leave_away(pool, order);
    run->elsewhere = NULL;
    pool_answer(pool, order);
}

void pool_cancel(struct pool *pool, struct run *run)
{
    struct pool_order *order = find_order(&pool->queue, run), *away = find_order(&pool->away, run);

    if (!order)
        order = find_order(&pool->ordered, run);
    if (away)
        cancel_away(pool, away);
    else if (order)
        pool_cancel_order(pool, order);
    else if (run->box)
        box_cancel(run->box);
}

void pool_hold(struct run *run, bool is_held)
{
    if (run->elsewhere)
        run->elsewhere->hold(run->elsewhere->user, run, is_held);
    else if (run->command)
        box_command_hold(run, is_held);
    else if (run->box && box_run(run->box) == run)
        box_hold(run->box, is_held);
}
