/* A function on a stack of its own that can stop in the middle and go on later: for work on bytes
 * of others that is long and would be hard to cut into pieces otherwise, such as reading a JSON
 * text of megabytes or masking one. base/task.h runs a fiber from the event loop.
 *
 * A fiber runs in its caller's thread, only inside fiber_resume(). What it works on has to stay as
 * it is while it pauses.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct fiber;

/* NULL: out of memory. */
struct fiber *fiber_new(void (*fn)(void *arg), void *arg);

/* Runs it until it has taken a few milliseconds of CPU time, or has ended: then it returns true. */
bool fiber_resume(struct fiber *fiber);

/* Accepts NULL. One that has not ended is dropped where it stands: it must not own anything. */
void fiber_free(struct fiber *fiber);

/* Asks the fiber to end soon: from now on it does not pause, and fiber_is_cancelled() is true in
 * it.
 */
void fiber_cancel(struct fiber *fiber);

/* Inside a fiber: stops here when its time is up. Elsewhere: nothing. Costs a look at a clock. */
void fiber_pause(void);

/* Whether fiber_pause() would stop here: for those who have to put something away first. */
bool fiber_is_due(void);

/* Whether the caller runs in a fiber that was cancelled: what it does is of no use to anybody. */
bool fiber_is_cancelled(void);

/* Whether the caller runs in a fiber, or in this one. */
bool fiber_is_running(void);
bool fiber_is_here(const struct fiber *fiber);
