/* Drives runs of one program through the engine and keeps their times. For `belljar bench`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "admit/profile.h"
#include "engine/engine.h"

struct program {
    const char *code;
    const char *expect; /* its output, checked every time */
};

struct drive {
    const struct config *config;
    const struct profile *profile;
    struct engine engine;

    struct program program;
    size_t wanted; /* runs still to start */
    size_t under_way;
    uint64_t until_ns; /* start no more after this; 0: no such time */
    bool is_one_by_one;
    bool is_ending_timed;
    struct loop_watch *poll;
    uint64_t wait_since_ns;
    uint64_t answered_ns; /* the last run, until its sandbox is gone */

    size_t n_done, n_failed;
    size_t n_from_stock; /* got a sandbox that was waiting */
    double *ms, *end_ms; /* of the finished runs, sorted; end_ms: from the answer until nothing of
                            the sandbox is left */
    size_t n_end, size;
};

/* Starts an engine with that stock and waits until the stock is full and nothing is under way. */
int drive_open(struct drive *drive, struct engine_stock stock, struct error *err);
void drive_close(struct drive *drive);

/* Waits for that again. */
int drive_settle(struct drive *drive, struct error *err);

/* One run after the other, each with a full stock and a quiet supervisor. With `time_ending`, which
 * needs a stock of none, also how long each sandbox takes to go. */
int drive_one_by_one(struct drive *drive, struct program program, size_t runs, bool time_ending,
                     struct error *err);

/* As fast as it goes: so many clients, each starting its next run when it has its answer, until
 * `runs` are started or so many seconds have passed (0: no such limit). */
int drive_closed_loop(struct drive *drive, struct program program, size_t clients, size_t runs,
                      double seconds, struct error *err);

/* For qsort(3) of times. */
int drive_compare(const void *a, const void *b);

/* Of sorted values; NAN of none. */
double drive_percentile(const double *values, size_t count, double p);
