/* Sessions in `belljar bench`: what a cell costs in a live one, how long one takes to open, and
 * what those weigh that nobody uses. A cell is timed from its submission to its answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admit/admit.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "cli/bench/session.h"
#include "sandbox/monitor.h"

static const struct cell expression = {"1+1", "", "2"};
static const struct cell print_cell = {"print(1)", "1\n", NULL};
static const struct cell pandas_cell = {
    "import numpy, pandas; print(pandas.DataFrame({'a':[1,2,3]}).sum().a)", "6\n", NULL};
static const struct cell bash_cell = {"echo 1", "1\n", NULL};
static const struct cell import_cell = {"import pandas", "", NULL};

/* Looks at what has no event of its own. */
#define POLL_MS 2

struct engine *stage_engine(const struct stage *g)
{
    return &g->bench->drive.engine;
}

void stage_stop(struct stage *g)
{
    loop_stop(stage_engine(g)->loop);
}

/* --- sessions --- */

struct run *stage_admitted(struct stage *g, const char *code, struct error *err)
{
    struct drive *d = &g->bench->drive;
    struct run *run = run_new();

    if (!run || buf_add_str(&run->program.code, code, err) < 0) {
        run_free(run);
        error_memory(err);
        return NULL;
    }
    run->program.language = g->language;
    if (admit_run(run, d->config, d->profile, err) < 0) {
        run_free(run);
        return NULL;
    }
    run->user = g;
    return run;
}

/* One that ends by itself: there is nothing to measure. */
static void on_end(void *user, struct session *session, const char *why)
{
    struct stage *g = user;

    (void)session;
    if (g->is_closing || g->is_opening)
        return;
    if (g->error.code == E_NONE)
        error_set(&g->error, E_SYSTEM, "a session ended: %s", why);
    stage_stop(g);
}

int stage_open_one(struct stage *g, struct session **ret_session, struct error *err)
{
    struct run *run = stage_admitted(g, "", err);
    int r;

    if (!run)
        return -1;
    r = sessions_open(stage_engine(g)->sessions, &run->terms,
                      &(struct session_options){.owner = "", .on_end = on_end, .user = g},
                      ret_session, err);
    run_free(run);
    return r;
}

static bool all_are_open(const struct stage *g)
{
    struct session_info info;

    for (size_t i = 0; i < g->count; i++) {
        session_info(g->sessions[i], &info);
        if (info.state == SESSION_STARTING)
            return false;
    }
    return true;
}

static void on_poll(void *arg)
{
    struct stage *g = arg;

    if (g->error.code != E_NONE || all_are_open(g))
        stage_stop(g);
    else
        loop_timer_start(g->poll, POLL_MS);
}

/* Until it is stopped; fails when a session did. */
int stage_run(struct stage *g, struct error *err)
{
    if (g->error.code == E_NONE && loop_run(stage_engine(g)->loop, err) < 0)
        return -1;
    if (g->error.code == E_NONE)
        return 0;
    error_move(err, &g->error);
    return -1;
}

/* Opens so many at once and waits for all of them. */
static int open_many(struct stage *g, size_t count, struct error *err)
{
    g->sessions = calloc(count, sizeof(struct session *));
    if (!g->sessions)
        return error_memory(err);
    for (; g->count < count; g->count++)
        if (stage_open_one(g, &g->sessions[g->count], err) < 0)
            return -1;
    loop_timer_start(g->poll, 0);
    return stage_run(g, err);
}

/* --- cells --- */

static void next_cell(struct stage *g);

bool cell_is_right(const struct cell *cell, const struct run *run)
{
    const char *value = run->result.value_text ? run->result.value_text : "";

    return run->result.error.code == E_NONE && run->result.status == RUN_SUCCESS &&
           strcmp(buf_str(&run->result.out.head), cell->printed) == 0 &&
           strcmp(value, cell->value ? cell->value : "") == 0;
}

static void on_cell(struct run *run)
{
    struct stage *g = run->user;

    g->ms[g->done] = (double)(loop_now_ns() - g->begun_ns) / 1e6;
    g->failed += !cell_is_right(g->cell, run);
    run_free(run);
    g->done++;
    if (g->is_opening) {
        session_close(g->sessions[0], NULL);
        stage_stop(g); /* the next one when nothing is under way */
    } else if (g->done < g->wanted) {
        next_cell(g);
    } else {
        stage_stop(g);
    }
}

void stage_drop(struct stage *g, struct run *run)
{
    error_done(&g->error);
    error_move(&g->error, &run->result.error);
    run_free(run);
    stage_stop(g);
}

static void next_cell(struct stage *g)
{
    struct run *run = stage_admitted(g, g->cell->code, &g->error);

    if (!run) {
        stage_stop(g);
        return;
    }
    run->on_done = on_cell;
    if (!g->is_opening)
        g->begun_ns = loop_now_ns();
    if (session_submit(g->sessions[g->done % g->over], run) < 0)
        stage_drop(g, run);
}

static int prepare(struct stage *g, const struct cell *cell, size_t wanted, size_t over,
                   struct error *err)
{
    free(g->ms);
    g->ms = calloc(wanted, sizeof(*g->ms));
    if (!g->ms)
        return error_memory(err);
    g->cell = cell;
    g->wanted = wanted;
    g->over = over;
    g->done = g->failed = 0;
    return 0;
}

/* One after the other. */
int stage_cells(struct stage *g, const struct cell *cell, size_t wanted, size_t over,
                struct error *err)
{
    if (prepare(g, cell, wanted, over, err) < 0)
        return -1;
    next_cell(g);
    return stage_run(g, err);
}

static int note_times(struct stage *g, const char *name)
{
    struct drive *d = &g->bench->drive;

    qsort(g->ms, g->done, sizeof(*g->ms), drive_compare);
    d->n_done = g->done;
    d->n_failed = g->failed;
    d->n_from_stock = 0;
    return bench_add_times(g->bench, name, g->ms, g->done);
}

static int time_cells(struct stage *g, const char *name, const struct cell *cell, struct error *err)
{
    /* The first of a kind is not a warm one. */
    if (stage_cells(g, cell, 2, 1, err) < 0 ||
        stage_cells(g, cell, g->bench->plan.runs, 1, err) < 0)
        return -1;
    return note_times(g, name);
}

/* --- the parts --- */

int stage_open(struct stage *g, struct bench *b, struct engine_stock stock, struct error *err)
{
    *g = (struct stage){.bench = b};
    if (drive_open(&b->drive, stock, err) < 0 ||
        engine_open_sessions(&b->drive.engine,
                             &(struct sessions_options){.max_total = LIMIT_SANDBOXES,
                                                        .max_per_owner = LIMIT_SANDBOXES},
                             err) < 0)
        return -1;
    g->poll = loop_timer(b->drive.engine.loop, on_poll, g);
    return g->poll ? 0 : error_memory(err);
}

void stage_close(struct stage *g)
{
    g->is_closing = true;
    loop_watch_free(g->poll);
    drive_close(&g->bench->drive);
    free(g->sessions);
    free(g->ms);
    error_done(&g->error);
}

static int cells(struct stage *g, struct error *err)
{
    if (open_many(g, 1, err) < 0 || time_cells(g, "cell_expression", &expression, err) < 0 ||
        time_cells(g, "cell_print", &print_cell, err) < 0 ||
        time_cells(g, "cell_pandas", &pandas_cell, err) < 0)
        return -1;
    g->language = RUN_BASH;
    return time_cells(g, "cell_bash", &bash_cell, err);
}

/* From the wish for a session to the answer of its first cell. */
static int openings(struct stage *g, struct error *err)
{
    g->sessions = calloc(1, sizeof(struct session *));
    if (!g->sessions)
        return error_memory(err);
    g->is_opening = true;
    if (prepare(g, &print_cell, g->bench->plan.runs, 1, err) < 0)
        return -1;
    while (g->done < g->wanted) {
        if (drive_settle(&g->bench->drive, err) < 0)
            return -1;
        g->begun_ns = loop_now_ns();
        if (stage_open_one(g, &g->sessions[0], err) < 0)
            return -1;
        next_cell(g);
        if (stage_run(g, err) < 0)
            return -1;
    }
    return note_times(g, "session_open_print");
}

int bench_cells(struct bench *b, struct error *err)
{
    struct stage g;
    int r = stage_open(&g, b, bench_no_stock, err);

    if (r == 0)
        r = cells(&g, err);
    stage_close(&g);
    if (r < 0)
        return -1;
    r = stage_open(&g, b, bench_full_stock(b), err);
    if (r == 0)
        r = openings(&g, err);
    stage_close(&g);
    return r;
}

/* --- memory --- */

static int weigh(struct stage *g, const char *kind, uint64_t before, double seconds)
{
    uint64_t after = bench_available_bytes();
    uint64_t shared = 0, private = 0;
    struct monitor_usage usage;
    double count = (double)g->count, host;
    char name[48], human[160];

    for (size_t i = 0; i < g->count; i++) {
        monitor_read(session_pid(g->sessions[i]), &usage);
        shared += usage.memory_bytes;
        private += usage.private_bytes;
    }
    host = before > after ? (double)(before - after) / MIB : 0;
    (void)snprintf(name, sizeof(name), "sessions_%zu_%s", g->count, kind);
    (void)snprintf(human, sizeof(human),
                   "%.2f MB each (PSS), %.2f private, %.0f MB of the host in all, in %.1f s",
                   (double)shared / count / 1e6, (double)private / count / 1e6, host, seconds);
    return bench_add(g->bench, name,
                     json_pack("{s:I,s:f,s:f,s:f,s:f,s:I}", "count", (json_int_t)g->count, "pss_mb",
                               (double)shared / count / 1e6, "private_mb",
                               (double)private / count / 1e6, "host_mb", host, "seconds", seconds,
                               "failed", (json_int_t)g->failed),
                     human);
}

static int sessions(struct stage *g, size_t count, uint64_t before, struct error *err)
{
    uint64_t begin = loop_now_ns();
    char name[48];

    if (open_many(g, count, err) < 0 ||
        weigh(g, "fresh", before, (double)(loop_now_ns() - begin) / 1e9) < 0)
        return -1;
    begin = loop_now_ns();
    if (stage_cells(g, &import_cell, count, count, err) < 0 ||
        weigh(g, "pandas", before, (double)(loop_now_ns() - begin) / 1e9) < 0)
        return -1;
    (void)snprintf(name, sizeof(name), "cell_with_%zu_open", count);
    return time_cells(g, name, &print_cell, err);
}

int bench_sessions(struct bench *b, struct error *err)
{
    for (size_t i = 0; i < b->plan.n_idle; i++) {
        struct stage g;
        uint64_t before;
        int r = drive_open(&b->drive, bench_no_stock, err);

        drive_close(&b->drive); /* the page cache is warm now */
        if (r < 0)
            return -1;
        before = bench_available_bytes();
        r = stage_open(&g, b, bench_no_stock, err);
        if (r == 0)
            r = sessions(&g, b->plan.idle[i], before, err);
        stage_close(&g);
        if (r < 0)
            return -1;
    }
    return 0;
}
