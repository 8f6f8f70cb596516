/* A process that does nothing but share the kernel's memory, so that the kernel's end is quick.
 *
 * Linux tells the parent of an exit only after it has taken the memory apart, which takes
 * milliseconds for an interpreter with a data stack. While somebody else holds the memory, an exit
 * only lets go of it: pid 1 hears of it at once and the answer need not wait; the memory goes with
 * the sandbox.
 */
#pragma once

#include <sys/types.h>

/* Called by the kernel before it waits for code. It is a child of pid 1, holds no descriptor,
 * blocks every signal, and a filter of its own lets it do nothing but wait. Returns its pid, or -1:
 * then the end is only slower. It closes its descriptors and loads its filter beside the caller. */
pid_t memory_holder_start(void);

/* Returns when it has done both, or is no more. Nothing of a program runs before. */
void memory_holder_await(pid_t holder);

/* Ends it, and waits until pid 1 has noticed: a copy of a session refuses processes it does not
 * know, and may be asked for at once. */
void memory_holder_end(pid_t holder);
