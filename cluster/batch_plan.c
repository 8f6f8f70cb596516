#include "cluster/batch_plan.h"

#include <stdio.h>
#include <string.h>

/* ",998-999" and the NUL. */
#define RANGE_SIZE 10

void batch_plan_init(struct batch_plan *plan, size_t count)
{
    memset(plan, 0, sizeof(*plan));
    plan->count = plan->n_waiting = count;
}

static bool may_be_given(const struct batch_plan *plan, size_t run)
{
    return run < plan->count && plan->runs[run].state == BATCH_WAITS &&
           plan->runs[run].tries < BATCH_TRIES_MAX;
}

size_t batch_plan_give(struct batch_plan *plan, uint16_t owner, size_t wanted, char *text,
                       size_t size)
{
    size_t given = 0, len = 0;

    *text = '\0';
    for (size_t run = 0; run < plan->count && given < wanted && len + RANGE_SIZE <= size; run++) {
        size_t first = run;

        while (may_be_given(plan, run) && given < wanted) {
            plan->runs[run].state = BATCH_GIVEN;
            plan->runs[run].owner = owner;
            plan->runs[run].tries++;
            given++;
            run++;
        }
        if (run == first)
            continue;
        len += (size_t)snprintf(text + len, size - len, "%s%zu", len ? "," : "", first);
        if (run - first > 1)
            len += (size_t)snprintf(text + len, size - len, "-%zu", run - 1);
    }
    plan->n_waiting -= given;
    return given;
}

bool batch_plan_answer(struct batch_plan *plan, uint16_t owner, size_t run)
{
    if (run >= plan->count || plan->runs[run].state != BATCH_GIVEN ||
        plan->runs[run].owner != owner)
        return false;
    plan->runs[run].state = BATCH_ANSWERED;
    plan->n_answered++;
    return true;
}

void batch_plan_lose(struct batch_plan *plan, uint16_t owner)
{
    for (size_t run = 0; run < plan->count; run++)
        if (plan->runs[run].state == BATCH_GIVEN && plan->runs[run].owner == owner) {
            plan->runs[run].state = BATCH_WAITS;
            plan->n_waiting++;
        }
}

bool batch_plan_give_up(struct batch_plan *plan, bool is_all, size_t *ret_run)
{
    for (size_t run = 0; plan->n_waiting && run < plan->count; run++)
        if (plan->runs[run].state == BATCH_WAITS &&
            (is_all || plan->runs[run].tries == BATCH_TRIES_MAX)) {
            plan->runs[run].state = BATCH_ANSWERED;
            plan->n_waiting--;
            plan->n_answered++;
            *ret_run = run;
            return true;
        }
    return false;
}
