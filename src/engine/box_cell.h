/* One program in a sandbox, from the moment the sandbox takes it to its answer: a cell of a
 * session, or the only run of a sandbox that is not kept.
 *
 *     NONE ─▶ WAITING ─▶ SENT ──────────────▶ DONE ⇄ EXITED ─▶ ANSWERING ─▶ NONE
 *                └────────┴─▶ STOPPING ────────┴───────┘            ▲
 *                └────────┴──────┴─▶ KILLED ─▶ CLEARED ─▶ EXITED ───┘
 *
 * The picture leaves out that every state but NONE may go to ANSWERING: the sandbox can die at any
 * time. DONE goes to KILLED when the kernel turns out to have lied. The table in box_cell.c has
 * every permitted change.
 *
 * What belongs to one program is in struct box_cell. It begins as BOX_CELL_INIT and ends as an
 * empty struct, so that nothing of it reaches the next one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/message.h"

enum cell_state {
    CELL_NONE,     /* no program is here */
    CELL_WAITING,  /* for its files, its kernel, or signals of the cell before */
    CELL_SENT,     /* its kernel has it */
    CELL_STOPPING, /* it is to end: interrupted, or never sent */
    CELL_KILLED,   /* its kernel was sent SIGKILL */
    CELL_CLEARED,  /* so was everything else in the sandbox but pid 1 */
    CELL_DONE,     /* its kernel said that it ended, and remembers what it left */
    CELL_EXITED,   /* its kernel has ended, by the word of pid 1 */
    CELL_ANSWERING,
    CELL_STATES,
};

/* Why we ended the run; the program's own end needs no verdict. */
enum box_verdict {
    BOX_NO_VERDICT,
    BOX_TIMEOUT,
    BOX_CPU_TIME,
    BOX_MEMORY,
    BOX_CANCELLED,
    BOX_BROKEN, /* it broke the rules of its channel */
    BOX_WORK,   /* its output took too much of our own time */
};

/* Whether a cell is really refused, as a fresh process says (box_check.c). */
enum box_check {
    BOX_CHECK_NONE,    /* nobody asked */
    BOX_CHECK_PENDING, /* the checker has not answered yet */
    BOX_CHECK_REFUSED, /* the policy refuses the cell */
    BOX_CHECK_PASSED,  /* the policy permits the cell: the kernel lied */
    BOX_CHECK_UNKNOWN, /* the checker could not do its work */
};

struct box_cell {
    enum cell_state state;
    uint32_t passed; /* a bit for each state it has been in */
    enum box_verdict verdict;
    enum box_check check;
    bool is_refused; /* by the policy */
    bool is_retried; /* its kernel was dead when it was to be sent, and is replaced */
    bool is_interrupted_twice;
    bool has_grace;          /* after an interrupt: no limit but that of time is exceeded */
    uint64_t interrupted_ns; /* 0: it was not */
    uint32_t grace_ms;       /* from then on, if it has one */
    uint32_t done_code;
    struct wire_exited exited;

    /* The clock stands while somebody has to answer a question, but for the CPU time that the
     * sandbox uses meanwhile: nobody computes for free. */
    unsigned n_held;   /* such questions */
    uint64_t clock_ns; /* when the clock began */
    uint64_t stood_ns; /* for how long it has stood, without the present question */
    uint64_t held_since_ns, held_cpu_ms; /* at the beginning of the present question */

    uint64_t work_ns;     /* CPU time of ours that it has taken so far */
    size_t drained;       /* bytes read of its output since its end */
    uint64_t memory_peak; /* the next three: seen by the monitor */
    uint32_t processes_peak;
    uint64_t cpu_ms;
    bool is_peak_known; /* of processes: Linux keeps it */
};

#define BOX_CELL_INIT ((struct box_cell){.state = CELL_WAITING, .passed = 1u << CELL_WAITING})

bool cell_may_enter(enum cell_state from, enum cell_state to);

/* False: the table does not permit it, and nothing has changed. A cell that is being answered stays
 * in that state, and remembers a late CELL_DONE or CELL_EXITED for its result. */
bool cell_enter(struct box_cell *cell, enum cell_state to);

static inline bool cell_has_been(const struct box_cell *cell, enum cell_state state)
{
    return cell->passed >> state & 1;
}

/* The kernel said so, and was not killed for anything since. */
static inline bool cell_is_done(const struct box_cell *cell)
{
    return cell_has_been(cell, CELL_DONE) && !cell_has_been(cell, CELL_KILLED);
}

const char *cell_state_name(enum cell_state state);
