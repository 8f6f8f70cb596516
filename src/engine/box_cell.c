#include "engine/box_cell.h"

#define TO(state) (1u << CELL_##state)

static const struct {
    const char *name;
    uint32_t next; /* states that may follow */
} states[CELL_STATES] = {
    [CELL_NONE] = {"none", TO(WAITING)},
    [CELL_WAITING] = {"waiting",
                      TO(SENT) | TO(STOPPING) | TO(KILLED) | TO(DONE) | TO(EXITED) | TO(ANSWERING)},
    [CELL_SENT] = {"sent", TO(STOPPING) | TO(KILLED) | TO(DONE) | TO(EXITED) | TO(ANSWERING)},
    [CELL_STOPPING] = {"stopping", TO(KILLED) | TO(DONE) | TO(EXITED) | TO(ANSWERING)},
    [CELL_KILLED] = {"killed", TO(CLEARED) | TO(EXITED) | TO(ANSWERING)},
    [CELL_CLEARED] = {"cleared", TO(EXITED) | TO(ANSWERING)},
    /* A kernel that said it was done can end before the answer. */
    [CELL_DONE] = {"done", TO(KILLED) | TO(EXITED) | TO(ANSWERING)},
    /* Its last word comes on another channel than that of its end, and may be read later. */
    [CELL_EXITED] = {"exited", TO(DONE) | TO(ANSWERING)},
    [CELL_ANSWERING] = {"answering", TO(NONE)},
};

bool cell_may_enter(enum cell_state from, enum cell_state to)
{
    return states[from].next >> to & 1;
}

bool cell_enter(struct box_cell *cell, enum cell_state to)
{
    if (cell->state == CELL_ANSWERING && (to == CELL_DONE || to == CELL_EXITED)) {
        cell->passed |= 1u << to;
        return true;
    }
    if (!cell_may_enter(cell->state, to))
        return cell->state == to;
    cell->state = to;
    cell->passed |= 1u << to;
    return true;
}

const char *cell_state_name(enum cell_state state)
{
    return states[state].name;
}
