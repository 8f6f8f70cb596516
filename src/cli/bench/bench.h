/* Shared by the parts of `belljar bench`: the plan, and the list of figures. */
#pragma once

#include "base/json.h"
#include "cli/bench/drive.h"

/* Sizes that --idle takes at once. */
#define BENCH_IDLE_MAX 16

struct plan {
    size_t runs;
    double seconds;
    size_t idle[BENCH_IDLE_MAX];
    size_t n_idle;
    const char *only;
    bool has_samples;
};

struct bench {
    struct plan plan;
    struct drive drive;
    json_t *report;
};

/* Notes a figure, for machines and for people. Takes `value`. */
int bench_add(struct bench *b, const char *name, json_t *value, const char *human);

/* Of sorted times in ms; how many runs failed is in b->drive. */
int bench_add_times(struct bench *b, const char *name, const double *values, size_t count);

/* A stock as the settings have it, and none; the interpreter is warm in both. */
struct engine_stock bench_full_stock(const struct bench *b);
extern const struct engine_stock bench_no_stock;

/* Memory of the host that is not in use. */
uint64_t bench_available_bytes(void);

/* --- bench_session.c --- */

int bench_cells(struct bench *b, struct error *err);
int bench_sessions(struct bench *b, struct error *err);

/* --- bench_fork.c --- */

int bench_forks(struct bench *b, struct error *err);
