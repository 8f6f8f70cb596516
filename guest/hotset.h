/* Pages that ordinary programs use: learned once, given to each child in advance instead of by a
 * fault each.
 *
 * A fault costs microseconds, a page in a batch a fraction of that. What is learned is only a guess
 * that saves time; a page that was not guessed is faulted in as ever. Needs Linux 5.14
 * (MADV_POPULATE_READ, MADV_POPULATE_WRITE); older kernels just fault.
 */
#pragma once

#include "base/error.h"

enum hotset_kind {
    HOTSET_ANY,   /* to check, compile and run anything at all */
    HOTSET_STACK, /* beyond that, to use the data stack */
    HOTSET_COUNT
};

/* After the rebase: runs `work` in a child that then ends, and keeps the lists of pages it wrote
 * and read. Failing is not fatal: the set stays empty. */
void hotset_learn(enum hotset_kind kind, void (*work)(void));

/* In a child: makes the pages that are written this process's own. */
void hotset_populate(enum hotset_kind kind);

/* In a child that nobody waits for yet: looks those up that are only read. */
void hotset_look_up(enum hotset_kind kind);
