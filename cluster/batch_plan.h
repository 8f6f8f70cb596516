/* Which node has which runs of a batch. Each run is answered once, whatever nodes say: an answer
 * counts only from the node that has the run now. A run whose node is lost goes to another one, so
 * often at most, since a program may be what brings machines down.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nodes that are given one run, one after the other. */
#define BATCH_TRIES_MAX 3

/* The engine's limit (api/route_batch.c). */
#define BATCH_RUNS_MAX 1000

struct batch_plan {
    struct {
        enum { BATCH_WAITS, BATCH_GIVEN, BATCH_ANSWERED } state;
        uint16_t owner; /* whose it is: a number of the caller's */
        uint8_t tries;
    } runs[BATCH_RUNS_MAX];
    size_t count, n_waiting, n_answered;
};

/* `count` is at most BATCH_RUNS_MAX. */
void batch_plan_init(struct batch_plan *plan, size_t count);

/* Gives `wanted` of the waiting runs to `owner`, or as many as the text has room for. Returns their
 * number; `text` says which: "0-99,205". */
size_t batch_plan_give(struct batch_plan *plan, uint16_t owner, size_t wanted, char *text,
                       size_t size);

/* False: that run is not this owner's, or was answered. */
bool batch_plan_answer(struct batch_plan *plan, uint16_t owner, size_t run);

/* Its unanswered runs wait again. */
void batch_plan_lose(struct batch_plan *plan, uint16_t owner);

/* A waiting run that is not given to anybody any more, or with `is_all` any that waits; it counts
 * as answered then. False: there is none. */
bool batch_plan_give_up(struct batch_plan *plan, bool is_all, size_t *ret_run);
