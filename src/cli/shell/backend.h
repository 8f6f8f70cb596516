/* Runs the cells of a prompt: in a session of this process (backend_local.c), or elsewhere.
 *
 * One cell is under way at a time. A backend answers from the loop, never from within the call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/run.h"

struct backend_cell {
    enum run_language language;
    const char *code;
    size_t len;
    double timeout_s; /* 0: as the session has it */
    bool can_ask;     /* a person is there to answer questions */
    bool can_type;    /* and to type what a program reads */
    /* Output, displays, progress and questions, as they come. NULL: nobody wants them. */
    void (*on_event)(void *user, const struct run_event *event);
    /* The end, once. `run` has the result and is only lent. */
    void (*on_done)(void *user, const struct run *run);
    void *user;
};

struct backend;

struct backend_ops {
    /* Copies what it needs of the cell. on_done follows unless this fails. */
    int (*run)(struct backend *backend, const struct backend_cell *cell, struct error *err);
    /* As Ctrl-C does; on_done follows in any case. */
    void (*interrupt)(struct backend *backend);
    /* The output is not taken at the moment: the cell may have to wait. Optional. */
    void (*hold)(struct backend *backend, bool is_held);
};

/* The first member of each kind of backend. */
struct backend {
    const struct backend_ops *ops;
};
