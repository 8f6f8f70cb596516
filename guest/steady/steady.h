/* A process whose clock, random numbers, directory order and file times depend on a seed alone.
 *
 * Theory of operation. The library stands in front of the C library (LD_PRELOAD). It passes
 * everything on until it is told a seed: by belljar_steady_begin() in a kernel that was forked from
 * a warm interpreter, by the variable BELLJAR_SEED in a program that was executed. From then on a
 * clock stands at the same moment in every run and goes on by a microsecond each time it is read,
 * and by the length of a sleep, which does not wait. It is a courtesy to programs that want to be
 * repeated, no wall: one that makes its own system calls sees the world as it is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The one function that others look up, by its name. */
void belljar_steady_begin(uint64_t seed);

bool steady_is_on(void);

/* Nobody but us can bring what we wait for: no thread, no child, and we are not a child of the
 * program's. */
bool steady_is_alone(void);

/* The time of our clock; `reads`: reading advances it. */
uint64_t steady_clock_ns(clockid_t clock, bool reads);

/* The look at the clock that this thread has just had was not the program's. */
void steady_unread(void);

/* Time that passed while we were waiting. */
void steady_pass_ns(uint64_t ns);

/* Files made since the run began have the time of its beginning: see steady_files.c. */
bool steady_is_of_this_run(time_t seconds);

/* The function of that name behind ours. Ends the process where there is none. */
void *steady_next(const char *name);

/* Keeps the address in a variable of the caller's, of the function's own type. */
#define NEXT(variable, name)                                                                       \
    do {                                                                                           \
        if (!(variable))                                                                           \
            (variable) = (__typeof__(variable))steady_next(name);                                  \
    } while (0)

#define NS_PER_S UINT64_C(1000000000)
