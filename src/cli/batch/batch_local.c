/* Programs of a batch in sandboxes of this process. */
#include <signal.h>
#include <stdlib.h>

#include "admit/admit.h"
#include "admit/profiles.h"
#include "admit/tokens.h"
#include "base/cleanup.h"
#include "cli/batch/batch.h"
#include "cli/cmd.h"
#include "cli/run_source.h"
#include "engine/engine.h"
#include "store/store.h"

/* From so many programs on, it pays to import the data stack once for all of them. */
#define WARM_MIN 32

struct local {
    struct batch *batch;
    struct engine engine;
    struct profiles *profiles;
    struct store *store;
    struct slot *slots; /* one for each that runs */
    size_t n_slots, n_running, next;
    struct loop_watch *soon;
    bool is_closing; /* asked to stop: nothing new is begun */
    struct error err;
};

struct slot {
    struct local *local;
    struct batch_item *item; /* NULL: it is free */
    struct run *run;
    struct run_text text;
    struct run_request asked;
};

static void free_slot(struct slot *slot)
{
    if (slot->run)
        run_free(slot->run);
    run_request_done(&slot->asked);
    run_text_done(&slot->text);
    *slot = (struct slot){.local = slot->local};
}

/* A failure of ours ends the batch. */
static void check(struct local *l, int r)
{
    if (r < 0) {
        l->is_closing = true;
        loop_stop(l->engine.loop);
    }
}

static void on_done(struct run *run)
{
    struct slot *slot = run->user;
    struct local *l = slot->local;

    if (run->result.error.code != E_NONE)
        check(l, batch_report_error(l->batch, slot->item, &run->result.error, &l->err));
    else
        check(l, batch_report(l->batch, slot->item, run, NULL, &l->err));
    l->n_running--;
    free_slot(slot);
    loop_timer_start(l->soon, 0);
}

static int make_run(struct slot *slot, struct error *err)
{
    struct local *l = slot->local;
    const struct admission admission = {
        .config = l->batch->config,
        .profiles = l->profiles,
        .has_settings_grants = true,
        .cow = ADMISSION_COW_IS_DENIED,
        .has_skills = true,
        .may_keep = true,
        .store = l->store,
        .keeper = TOKEN_FIRST,
    };
    const struct run_source source = {.file = slot->item->path};

    if (batch_read(l->batch, slot->item, &slot->text, &slot->asked, err) < 0 ||
        admit_request(&admission, &slot->asked, &slot->run, err) < 0)
        return -1;
    slot->run->user = slot;
    slot->run->on_done = on_done;
    slot->run->is_unmetered = true;
    return run_source_place(&source, slot->run, err);
}

static void begin(struct slot *slot)
{
    struct local *l = slot->local;
    struct error why = {0};

    if (make_run(slot, &why) < 0) {
        check(l, batch_report_error(l->batch, slot->item, &why, &l->err));
        free_slot(slot);
        return;
    }
    l->n_running++;
    if (pool_submit(l->engine.pool, slot->run) < 0)
        pool_refuse(l->engine.pool, slot->run);
}

static void on_soon(void *arg)
{
    struct local *l = arg;

    for (size_t i = 0; i < l->n_slots && !l->is_closing && l->next < l->batch->count; i++) {
        if (l->slots[i].item)
            continue;
        l->slots[i].item = &l->batch->items[l->next++];
        begin(&l->slots[i]);
    }
    if (l->n_running == 0 && (l->is_closing || l->next == l->batch->count))
        loop_stop(l->engine.loop);
    else if (l->n_running < l->n_slots && !l->is_closing && l->next < l->batch->count)
        loop_timer_start(l->soon, 0); /* one could not be begun */
}

static void on_signal(void *arg)
{
    struct local *l = arg;

    if (l->is_closing) /* asked twice: go, Linux cleans up behind us */
        loop_stop(l->engine.loop);
    l->is_closing = true;
    for (size_t i = 0; i < l->n_slots; i++)
        if (l->slots[i].run)
            pool_cancel(l->engine.pool, l->slots[i].run);
    loop_timer_start(l->soon, 0);
}

static int open_local(struct local *l, struct error *err)
{
    const struct batch *batch = l->batch;
    struct run_limits limits;
    size_t jobs = (size_t)batch->jobs < batch->count ? (size_t)batch->jobs : batch->count;

    run_limits_init(&limits);
    if (engine_open(
            &l->engine, batch->config,
            &(struct engine_stock){.size = jobs, .warm = true, .bare = batch->count < WARM_MIN},
            &limits, err) < 0 ||
        engine_open_trail(&l->engine, batch->config,
                          &(struct recorder_options){.is_brief = true, .on_note = cmd_note},
                          err) < 0 ||
        profiles_open(batch->config, &l->profiles, err) < 0)
        return -1;
    l->store = store_open_usual(NULL);
    l->n_slots = jobs;
    l->slots = calloc(jobs, sizeof(*l->slots));
    l->soon = loop_timer(l->engine.loop, on_soon, l);
    if (!l->slots || !l->soon)
        return error_memory(err);
    for (size_t i = 0; i < jobs; i++)
        l->slots[i].local = l;
    return 0;
}

static void close_local(struct local *l)
{
    engine_end(&l->engine);
    for (size_t i = 0; l->slots && i < l->n_slots; i++)
        free_slot(&l->slots[i]);
    free(l->slots);
    loop_watch_free(l->soon);
    engine_close(&l->engine);
    store_free(l->store);
    profiles_free(l->profiles);
}

int batch_run_here(struct batch *batch, struct error *err)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct loop_watch *watches[ARRAY_SIZE(signals)] = {0};
    struct local local = {.batch = batch};
    int r = open_local(&local, err);

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(signals); i++)
        watches[i] = loop_watch_signal(local.engine.loop, signals[i], on_signal, &local);
    if (r == 0) {
        loop_timer_start(local.soon, 0);
        r = loop_run(local.engine.loop, err);
    }
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        loop_watch_free(watches[i]);
    close_local(&local);
    if (r == 0 && local.err.code != E_NONE) {
        error_move(err, &local.err);
        return -1;
    }
    return r < 0 ? -1 : local.is_closing;
}
