/* Figures of the server: counted as things happen, shown at /metrics (Prometheus) and /v1/stats.
 *
 * No label has a value of a client's choice, so their number is known. Names of tokens are the
 * operator's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/run.h"

/*        refusal                label       */
#define METRICS_REFUSALS(X)                                                                        \
    X(METRICS_AUTH, "auth")         /* no token, or a wrong one */                                 \
    X(METRICS_ORIGIN, "origin")     /* a Host or an Origin that is not ours */                     \
    X(METRICS_OPERATOR, "operator") /* figures are not for this token */                           \
    X(METRICS_QUOTA, "quota")       /* an allowance is used up */                                  \
    X(METRICS_QUEUE, "queue_full")                                                                 \
    X(METRICS_STOPPING, "stopping")                                                                \
    X(METRICS_CONNECTIONS, "connections") /* a token has too many */

enum metrics_refusal {
#define X(refusal, label) refusal,
    METRICS_REFUSALS(X)
#undef X
        METRICS_N_REFUSALS,
};

#define METRICS_BUCKETS 17

struct metrics_histogram {
    uint64_t counts[METRICS_BUCKETS + 1]; /* the last: above all bounds */
    uint64_t count;
    double sum;
};

struct metrics {
    uint64_t runs[RUN_CANCELLED + 1]; /* by status */
    uint64_t failures;                /* Belljar's own */
    uint64_t refusals[METRICS_N_REFUSALS];
    struct metrics_histogram queue_s, start_s, run_s, total_s;
    struct metrics_histogram turn_cpu_s, turn_wall_s; /* turns of the event loop */
    double turn_cpu_max_s;
    double cpu_s;
    double server_cpu_s; /* of ours, for runs */
    uint64_t output_bytes;
    uint64_t masked, masked_runs; /* secrets, and runs that gave some out */
};

/* A run is over. In seconds: waited for its turn, and all in all. */
void metrics_add_run(struct metrics *metrics, const struct run *run, double queue_s,
                     double total_s);

void metrics_observe(struct metrics_histogram *histogram, double seconds);

/* A turn of the event loop is over (loop_turn_fn; `arg` is struct metrics). */
void metrics_add_turn(void *arg, uint64_t cpu_ns, uint64_t wall_ns);

struct api;

/* The text of /metrics. */
int metrics_write(const struct api *api, struct buf *out, struct error *err);
