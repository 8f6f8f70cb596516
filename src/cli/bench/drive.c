#include "cli/bench/drive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "admit/admit.h"
#include "base/cleanup.h"
#include "cli/cmd.h"

/* A stock that is not full after this is not going to be. */
#define PATIENCE_NS UINT64_C(60000000000)

#define POLL_MS 2

static void start_more(struct drive *d);

static void on_done(struct run *run)
{
    struct drive *d = run->user;
    uint64_t now = loop_now_ns();

    if (run->result.error.code != E_NONE || run->result.status != RUN_SUCCESS ||
        strcmp(buf_str(&run->result.out.head), d->program.expect) != 0)
        d->n_failed++;
    if (d->n_done < d->size)
        d->ms[d->n_done] = (double)(now - run->result.started_ns) / 1e6;
    d->n_done++;
    d->under_way--;
    d->answered_ns = now;
    run_free(run);
    start_more(d);
}

static int submit(struct drive *d, struct error *err)
{
    struct run *run = run_new();
    struct pool_level before, after;

    if (!run || buf_add_str(&run->program.code, d->program.code, err) < 0) {
        run_free(run);
        return error_memory(err);
    }
    if (admit_run(run, d->config, d->profile, err) < 0) {
        run_free(run);
        return -1;
    }
    run->user = d;
    run->on_done = on_done;
    pool_level(d->engine.pool, &before);
    if (pool_submit(d->engine.pool, run) < 0) {
        error_move(err, &run->result.error);
        run_free(run);
        return -1;
    }
    d->under_way++;
    pool_level(d->engine.pool, &after);
    d->n_from_stock += after.idle < before.idle;
    return 0;
}

static void start_one(struct drive *d)
{
    struct error err = {0};

    d->wanted--;
    if (submit(d, &err) < 0) {
        (void)cmd_fail(&err);
        d->n_failed++;
        d->wanted = 0;
        loop_stop(d->engine.loop);
    }
}

static void start_more(struct drive *d)
{
    if (d->until_ns && loop_now_ns() >= d->until_ns)
        d->wanted = 0;
    if (d->is_one_by_one) { /* after the last one too: its end is waited for */
        d->wait_since_ns = loop_now_ns();
        loop_timer_start(d->poll, 0);
    } else if (d->wanted) {
        start_one(d);
    } else if (d->under_way == 0) {
        loop_stop(d->engine.loop);
    }
}

/* The stock is full, and nothing is under way that would take the other core: no run, no birth, no
 * death. */
static bool is_quiet(const struct drive *d)
{
    const struct zygote_client *zygote = pool_zygote(d->engine.pool);
    struct pool_level level;

    pool_level(d->engine.pool, &level);
    return zygote && zygote_client_is_ready(zygote) && level.idle >= level.wanted &&
           level.making == 0 && level.active == 0 && zygote_client_boxes(zygote) <= level.idle;
}

static void on_poll(void *arg)
{
    struct drive *d = arg;

    if (!is_quiet(d) && loop_now_ns() - d->wait_since_ns < PATIENCE_NS) {
        /* An ending that is timed is looked at as often as the loop turns. */
        loop_timer_start(d->poll, d->is_ending_timed && d->answered_ns ? 0 : POLL_MS);
        return;
    }
    if (d->is_ending_timed && d->answered_ns && d->n_end < d->size)
        d->end_ms[d->n_end++] = (double)(loop_now_ns() - d->answered_ns) / 1e6;
    d->answered_ns = 0;
    if (d->wanted)
        start_one(d);
    else
        loop_stop(d->engine.loop);
}

static int no_stock(struct error *err)
{
    error_set(err, E_SYSTEM, "the pool does not fill");
    return error_hint(err, "`belljar doctor` reports whether sandboxes can be created here");
}

int drive_settle(struct drive *d, struct error *err)
{
    d->wanted = 0;
    d->is_ending_timed = false;
    d->wait_since_ns = loop_now_ns();
    loop_timer_start(d->poll, 0);
    if (loop_run(d->engine.loop, err) < 0)
        return -1;
    return is_quiet(d) ? 0 : no_stock(err);
}

int drive_open(struct drive *d, struct engine_stock stock, struct error *err)
{
    struct run_limits limits = {0};

    admit_limits(d->config, d->profile, &limits);
    stock.policies = (struct wire_policies){1, {profile_encoded(d->profile)}};
    if (engine_open(&d->engine, d->config, &stock, &limits, err) < 0)
        return -1;
    d->poll = loop_timer(d->engine.loop, on_poll, d);
    if (!d->poll)
        return error_memory(err);
    return drive_settle(d, err);
}

void drive_close(struct drive *d)
{
    loop_watch_free(d->poll);
    d->poll = NULL;
    engine_close(&d->engine);
    free(d->ms);
    free(d->end_ms);
    d->ms = d->end_ms = NULL;
}

int drive_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

double drive_percentile(const double *values, size_t count, double p)
{
    return count ? values[(size_t)(p * (double)(count - 1) + 0.5)] : NAN;
}

static int prepare(struct drive *d, struct program program, size_t runs, struct error *err)
{
    free(d->ms);
    free(d->end_ms);
    d->ms = calloc(runs, sizeof(*d->ms));
    d->end_ms = calloc(runs, sizeof(*d->end_ms));
    if (!d->ms || !d->end_ms)
        return error_memory(err);
    d->program = program;
    d->size = d->wanted = runs;
    d->n_done = d->n_failed = d->n_from_stock = d->under_way = d->n_end = 0;
    d->until_ns = d->answered_ns = 0;
    return 0;
}

static int drive(struct drive *d, struct error *err)
{
    if (loop_run(d->engine.loop, err) < 0)
        return -1;
    if (d->n_done < d->size)
        d->size = d->n_done;
    qsort(d->ms, d->size, sizeof(*d->ms), drive_compare);
    qsort(d->end_ms, d->n_end, sizeof(*d->end_ms), drive_compare);
    return 0;
}

int drive_one_by_one(struct drive *d, struct program program, size_t runs, bool time_ending,
                     struct error *err)
{
    if (prepare(d, program, runs, err) < 0)
        return -1;
    d->is_one_by_one = true;
    d->is_ending_timed = time_ending;
    start_more(d);
    return drive(d, err);
}

int drive_closed_loop(struct drive *d, struct program program, size_t clients, size_t runs,
                      double seconds, struct error *err)
{
    if (prepare(d, program, runs, err) < 0)
        return -1;
    if (seconds > 0)
        d->until_ns = loop_now_ns() + (uint64_t)(seconds * 1e9);
    d->is_one_by_one = d->is_ending_timed = false;
    for (size_t i = 0; i < clients && d->wanted; i++)
        start_one(d);
    return d->under_way ? drive(d, err) : 0;
}
