/* A model of a session: what it should remember, the cells that test it, and whether an answer
 * fits.
 *
 * The driver tells the model what it did to a session; the model knows what may come of it. An
 * answer is right, or it is an honest word about something that was done: there is no third.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/run.h"

/* A counter in a kernel: it is somewhere from low to high, or, if the kernel may have been killed
 * since, there is none. */
struct counter {
    long low, high;
    bool may_be_lost;
};

struct model {
    struct counter counters[2]; /* by language */
    long file;                  /* what /workspace/file holds; 0: there is none */
    bool is_file_known;
};

/* Harm done to a session, as far as it concerns one cell. */
enum harm {
    HARM_INTERRUPT = 1, /* while the cell waited or ran */
    HARM_KILL = 2,      /* a process of the sandbox, just before or meanwhile */
    HARM_END = 4,       /* the whole session */
};

enum effect { LEAVES, COUNTS, WRITES, LOSES };

/* NUMBER: lines of "cell N", with the number of this very cell. */
enum printed { TEXT, COUNTER, CONTENT, NUMBER };

struct cell {
    const char *name;
    enum run_language language;
    const char *code; /* %ld: the number of the cell */
    uint32_t timeout_ms;
    enum run_status status;
    int exit_code;
    enum effect effect;
    enum printed printed;
    const char *text;   /* of TEXT */
    const char *result; /* its value, or NULL */
    unsigned weight;
};

extern const struct cell cells[];
extern const size_t n_cells;

/* Returns NULL when it fits, else what does not. Learns from it. */
const char *model_judge(struct model *model, const struct cell *cell, long number,
                        const struct run *run, unsigned harms);

/* A fresh kernel of that language, or one that may be. */
void model_lose(struct model *model, enum run_language language);
void model_may_lose(struct model *model);

/* The memory of a copy of the session: it learns of a loss only at its time. */
struct model model_copy(const struct model *model);
