/* Long work on bytes of a program or a client, done from the event loop without keeping it.
 *
 * The work is a function that runs in a fiber (base/fiber.h), as posted work (base/loop.h): a few
 * milliseconds of CPU time, then everybody else has a turn. It stops only where it calls
 * fiber_pause(), or a function that does: the masker, the reader and the writer of JSON. While it
 * stops, its owner must leave alone what the work uses.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

struct fiber;

struct task_steps {
    void (*work)(void *arg); /* in the fiber */
    /* The work has ended; called outside of the fiber. It may begin the task again, or free it. */
    void (*done)(void *arg);
    /* Part of it took so much CPU time. It may cancel the task, not end it. Optional. */
    void (*spent)(void *arg, uint64_t cpu_ns);
};

/* Embedded in its owner and all zero before its first use. */
struct task {
    struct loop *loop;
    struct loop_work turn;
    struct fiber *fiber; /* NULL: it is not under way */
    const struct task_steps *steps;
    void *arg;
    struct loop_line *line; /* set by the owner: whose line it waits in, or NULL */
};

/* Begins the work at once: short work is over, and done() was called, when this returns. Inside a
 * fiber it begins in a later turn. Without memory for a fiber it is done in one go. */
void task_begin(struct task *task, struct loop *loop, const struct task_steps *steps, void *arg);

/* Like task_begin(), but the work begins in a later turn. */
void task_post(struct task *task, struct loop *loop, const struct task_steps *steps, void *arg);

/* Whether the work was begun and has not ended; and whether it has stopped in the middle, and the
 * caller is somebody else. */
bool task_is_under_way(const struct task *task);
bool task_is_paused(const struct task *task);

/* Asks the work to end soon (fiber_is_cancelled()); done() follows. Nothing if it is not under way.
 */
void task_cancel(struct task *task);

/* Cancels the work and runs it to its end, here. done() is not called. Returns whether there was
 * any. */
bool task_end(struct task *task);
