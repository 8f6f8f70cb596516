/* Undoing runs, for every door: as JSON (undo/store.h), written down in the trail, and on a server
 * by a process of its own, so that a slow disk holds up nobody. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "api/under_way.h"
#include "base/config.h"
#include "base/loop.h"
#include "base/run.h"
#include "engine/recorder.h"

struct undo_wish {
    const char *run;
    const char *keeper; /* whose runs are there; NULL: everybody's */
    const char *who;    /* for the trail */
    bool is_dry;
    const struct config *config;
    struct recorder *recorder;
    bool is_checked;           /* only directories that may still be written: */
    const struct run *granted; /* by this run's grants; NULL: by `allow` of the settings */
};

/* The answer is of undo_store_undo(); the caller's. */
int undo_do(const struct undo_wish *wish, json_t **ret_answer, struct error *err);

/* `answer` is only lent, and NULL where `err` says why. */
typedef void (*undo_fn)(void *user, json_t *answer, struct error *err);

/* Does it in a process of its own; `fn` is called once, from the loop. E_BUSY: too many at once.
 */
int undo_start(struct undo_jobs *jobs, struct loop *loop, const struct undo_wish *wish, undo_fn fn,
               void *user, struct error *err);
