/* The queue in front of the pool: bounded, and fair between callers.
 *
 * Each caller has its own line, and the lines take turns: a caller with a thousand runs delays only
 * itself. When all lines together are full, a caller with a shorter line still gets in: the newest
 * run of the longest line is refused. A run that has waited too long is refused.
 *
 * A cell of a session has its sandbox already and takes no room of the pool's, but it counts
 * towards what its caller may run at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "admit/caller.h"
#include "base/error.h"
#include "base/loop.h"

struct queue;

struct queue_options {
    size_t max_running; /* in the pool at once */
    size_t max_waiting; /* of all callers together */
    uint64_t wait_ms;   /* then it is refused */
    size_t reserved;    /* of max_running, for callers of whom nothing runs */
};

enum queue_state { QUEUE_OUT, QUEUE_WAITING, QUEUE_RUNNING, QUEUE_REFUSED };

/* Embedded in what waits. */
struct queue_place {
    struct caller *caller;
    bool has_box; /* a session's cell */
    /* One of both, once: at its turn, maybe from within queue_enter(); or, from the loop, that it
     * will not have one. Code E_NONE: it was cancelled. */
    void (*on_turn)(void *user);
    void (*on_refused)(void *user, struct error *err);
    void *user;

    /* --- the queue's own --- */
    enum queue_state state;
    struct queue_place *before, *after;
    uint64_t since_ns;
    struct error why;
};

int queue_new(struct loop *loop, const struct queue_options *options, struct queue **ret_queue,
              struct error *err);
void queue_free(struct queue *queue); /* when nothing waits any more */

/* E_BUSY: the queue is full, and this caller has no claim to another's place. */
int queue_check(const struct queue *queue, const struct caller *caller, struct error *err);

void queue_enter(struct queue *queue, struct queue_place *place);

/* It does not want to wait any more; on_refused follows. False: it is not waiting. */
bool queue_cancel(struct queue *queue, struct queue_place *place);

/* Ends the turn of a run. */
void queue_leave(struct queue *queue, struct queue_place *place);

struct queue_level {
    size_t running, waiting, max_running, max_waiting;
    uint64_t displaced, expired;
};

void queue_level(const struct queue *queue, struct queue_level *ret_level);
