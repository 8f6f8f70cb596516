/* A stage on which sessions live, for the parts of `belljar bench` that measure them. */
#pragma once

#include "cli/bench/bench.h"
#include "engine/session.h"

/* A cell, and what comes of it: printed, or as its value. */
struct cell {
    const char *code;
    const char *printed;
    const char *value; /* or NULL */
};

struct stage {
    struct bench *bench;
    struct session **sessions;
    size_t count;
    struct loop_watch *poll;

    /* The cells that are being run: `wanted` of them, over the first `over` sessions in turn. */
    const struct cell *cell;
    enum run_language language;
    size_t wanted, over, done, failed;
    double *ms;
    bool is_opening; /* each in a session of its own, which is opened and ended for it */
    bool is_closing;
    uint64_t begun_ns;
    struct error error;
};

/* The engine with a stock of this kind, and a table of sessions. To be closed also after a failure.
 */
int stage_open(struct stage *g, struct bench *b, struct engine_stock stock, struct error *err);
void stage_close(struct stage *g);
struct engine *stage_engine(const struct stage *g);

/* Runs the loop until stage_stop(), and fails when a session did. */
int stage_run(struct stage *g, struct error *err);
void stage_stop(struct stage *g);

/* The cell could not be submitted: that is the stage's error, and it stops. */
void stage_drop(struct stage *g, struct run *run);

struct run *stage_admitted(struct stage *g, const char *code, struct error *err);
int stage_open_one(struct stage *g, struct session **ret_session, struct error *err);

/* Runs the cell so often, one after the other, over the first `over` sessions. */
int stage_cells(struct stage *g, const struct cell *cell, size_t wanted, size_t over,
                struct error *err);
bool cell_is_right(const struct cell *cell, const struct run *run);
