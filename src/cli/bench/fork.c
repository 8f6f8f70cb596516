/* Copies of sessions in `belljar bench`: how long a session is held for them, when they answer, and
 * what they weigh. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "cli/bench/session.h"
#include "sandbox/monitor.h"

static const struct row {
    size_t megabytes; /* of numbers that the session made itself */
    size_t copies;
    size_t times; /* at most */
} rows[] = {
    {0, 1, 10}, {100, 1, 10}, {1000, 1, 3}, {100, 8, 5}, {0, 100, 3},
};

/* Memory of the session beyond its data and the copy that is written of it while it goes on. */
#define ROOM_MB 256

#define TIMES_MAX 16

/* A fork in progress. */
struct fork {
    struct stage stage;
    const struct row *row;
    struct cell cell; /* what each copy is asked */
    struct session **copies;
    size_t n_copies, answered, ended, failed;
    uint64_t begun_ns;
    double held_ms, first_ms, all_ms, private_mb;
};

static void on_copy_end(void *user, struct session *session, const char *why)
{
    struct fork *f = user;

    (void)session;
    (void)why;
    if (++f->ended == f->n_copies)
        stage_stop(&f->stage);
}

static void on_copy_cell(struct run *run)
{
    struct fork *f = run->user;

    f->failed += !cell_is_right(&f->cell, run);
    if (f->answered++ == 0)
        f->first_ms = loop_ms_since(f->begun_ns);
    if (f->answered == f->n_copies) {
        f->all_ms = loop_ms_since(f->begun_ns);
        stage_stop(&f->stage);
    }
    run_free(run);
}

static void ask(struct fork *f, struct session *copy)
{
    struct run *run = stage_admitted(&f->stage, f->cell.code, &f->stage.error);

    if (!run) {
        stage_stop(&f->stage);
        return;
    }
    run->on_done = on_copy_cell;
    run->user = f;
    if (session_submit(copy, run) < 0)
        stage_drop(&f->stage, run);
}

static void on_copied(void *user, const struct session_copied *result)
{
    struct fork *f = user;

    f->held_ms = result->held_ms;
    f->n_copies = result->n_sessions;
    for (size_t i = 0; i < result->n_sessions; i++)
        f->copies[i] = result->sessions[i];
    if (result->err->code != E_NONE) {
        error_copy(&f->stage.error, result->err);
        stage_stop(&f->stage);
        return;
    }
    for (size_t i = 0; i < f->n_copies; i++)
        ask(f, f->copies[i]);
}

/* Forks, asks all copies, weighs them, and waits until they are gone. */
static int fork_once(struct fork *f, struct error *err)
{
    struct stage *g = &f->stage;
    struct monitor_usage usage;
    uint64_t bytes = 0;

    f->n_copies = f->answered = f->ended = 0;
    f->begun_ns = loop_now_ns();
    if (session_fork(g->sessions[0], f->row->copies,
                     &(struct session_options){.owner = "", .on_end = on_copy_end, .user = f},
                     on_copied, f, err) < 0 ||
        stage_run(g, err) < 0)
        return -1;
    for (size_t i = 0; i < f->n_copies; i++) {
        monitor_read(session_pid(f->copies[i]), &usage);
        bytes += usage.private_bytes;
    }
    f->private_mb = (double)bytes / (double)f->n_copies / 1e6;
    for (size_t i = 0; i < f->n_copies; i++)
        session_close(f->copies[i], NULL);
    return stage_run(g, err);
}

static int note(struct fork *f, const double *held, const double *first, const double *all,
                size_t times)
{
    double h = drive_percentile(held, times, 0.5), a = drive_percentile(all, times, 0.5),
           one = drive_percentile(first, times, 0.5);
    char name[48], human[160];

    (void)snprintf(name, sizeof(name), "fork_%zu_of_%zu_mb", f->row->copies, f->row->megabytes);
    (void)snprintf(human, sizeof(human),
                   "held %.2f ms, the first answers after %.1f ms, all after %.1f ms; %.2f MB "
                   "private each",
                   h, one, a, f->private_mb);
    f->stage.bench->drive.n_failed = f->failed;
    return bench_add(f->stage.bench, name,
                     json_pack("{s:I,s:I,s:f,s:f,s:f,s:f,s:I,s:I}", "copies",
                               (json_int_t)f->row->copies, "data_mb", (json_int_t)f->row->megabytes,
                               "held_ms", h, "first_ms", one, "all_ms", a, "private_mb",
                               f->private_mb, "times", (json_int_t)times, "failed",
                               (json_int_t)f->failed),
                     human);
}

static int measure_times(struct fork *f, struct error *err)
{
    size_t runs = f->stage.bench->plan.runs;
    size_t times = runs < f->row->times ? runs : f->row->times;
    double held[TIMES_MAX] = {0}, first[TIMES_MAX] = {0}, all[TIMES_MAX] = {0};

    for (size_t i = 0; i < times; i++) {
        if (fork_once(f, err) < 0)
            return -1;
        held[i] = f->held_ms;
        first[i] = f->first_ms;
        all[i] = f->all_ms;
    }
    qsort(held, times, sizeof(*held), drive_compare);
    qsort(first, times, sizeof(*first), drive_compare);
    qsort(all, times, sizeof(*all), drive_compare);
    return note(f, held, first, all, times);
}

static int open_source(struct fork *f, struct error *err)
{
    struct stage *g = &f->stage;
    struct run *run = stage_admitted(g, "", err);
    int r;
    char code[160];
    struct cell fill = {code, "", NULL};

    if (!run)
        return -1;
    run->terms.limits.memory_bytes = (2 * f->row->megabytes + ROOM_MB) * MIB;
    g->sessions = calloc(1, sizeof(struct session *));
    f->copies = calloc(f->row->copies, sizeof(struct session *));
    if (!g->sessions || !f->copies) {
        run_free(run);
        return error_memory(err);
    }
    r = sessions_open(stage_engine(g)->sessions, &run->terms,
                      &(struct session_options){.owner = ""}, &g->sessions[0], err);
    run_free(run);
    if (r < 0)
        return -1;
    (void)snprintf(code, sizeof(code), "import numpy; a = numpy.full(%zu, 7.0)",
                   f->row->megabytes * MIB / 8 + 1);
    f->cell = (struct cell){"print(a[-1])", "7.0\n", NULL};
    if (stage_cells(g, &fill, 1, 1, err) < 0)
        return -1;
    return g->failed ? error_set(err, E_SYSTEM, "a session could not be filled with %zu MB",
                                 f->row->megabytes)
                     : 0;
}

int bench_forks(struct bench *b, struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct fork f = {.row = &rows[i]};
        int r = stage_open(&f.stage, b, bench_no_stock, err);

        if (r == 0)
            r = open_source(&f, err);
        if (r == 0)
            r = measure_times(&f, err);
        stage_close(&f.stage);
        free(f.copies);
        if (r < 0)
            return -1;
    }
    return 0;
}
