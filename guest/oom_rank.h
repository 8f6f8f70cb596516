/* The order in which the kernel ends processes when memory runs out.
 *
 * The score of a process (`oom_score_adj`) is at most 1000, and raising it needs no privilege. The
 * supervisor keeps the score it was started with and gives its zygote a higher one
 * (sandbox/ns.c). Here pid 1 of a sandbox takes a score between its zygote's and 1000, and the
 * programs it starts have 1000. A host without /proc has no such order.
 */
#pragma once

/* Opens the score of this process, while it still may. Returns the descriptor, or -1. */
int oom_rank_open(void);

/* Called by pid 1 around each fork of a kernel, which inherits the score of that moment. */
void oom_rank_as_program(void);
void oom_rank_as_init(void);
