/* A worker: a process for one long task of a server, such as an undo or the list of changes.
 *
 * It is a fork of the server. It does its task, writes one JSON object into a pipe and ends. The
 * server goes on meanwhile and reads the object as it would read a stranger's. A worker that takes
 * too long is killed.
 */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/error.h"
#include "base/loop.h"

struct worker;

struct worker_task {
    /* In the worker. *ret_answer becomes worker.c's. */
    int (*work)(const void *arg, json_t **ret_answer, struct error *err);
    const void *arg; /* has to be valid until worker_start() returns */

    /* In the server, once. `answer` is only lent, and NULL where `err` says why. */
    void (*on_done)(void *user, json_t *answer, struct error *err);
    void *user;

    /* In the server, for each line that the task tells meanwhile (worker_tell()); it is only lent.
     * Optional. */
    void (*on_progress)(void *user, const json_t *line);
    struct worker **ret_worker; /* for worker_cancel(), until on_done; optional */

    unsigned patience_ms;
    bool outlives_server; /* it finishes its task when the server ends; else it is killed */
    bool keeps_nothing;   /* it closes all descriptors but the standard ones and its pipe */
    bool allows_many;     /* the answer may have any number of values */
    bool allows_nul;      /* and its texts NUL: those of programs */
    const char *name;     /* for errors: "the undo" */
    const char *late_hint;
};

/* In the worker: a small object for on_progress(). Takes it over. */
void worker_tell(json_t *line);

/* Kills it; on_done() follows. */
void worker_cancel(struct worker *worker);

/* On failure on_done() is not called. */
int worker_start(struct loop *loop, const struct worker_task *task, struct error *err);
