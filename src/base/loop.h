/* The event loop: a thin wrapper of libevent. One per process; callbacks read, enqueue and return.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct event_base;
struct loop;
struct loop_watch; /* a descriptor, a timer or a signal */

enum { LOOP_READ = 1, LOOP_WRITE = 2 };

typedef void (*loop_fn)(void *arg);

struct loop *loop_new(struct error *err);
void loop_free(struct loop *loop);

/* Runs until loop_stop(). */
int loop_run(struct loop *loop, struct error *err);
void loop_stop(struct loop *loop);

/* `fn` is called whenever the descriptor is ready, until the watch is freed. NULL: out of memory.
 */
struct loop_watch *loop_watch_fd(struct loop *loop, int fd, int what, loop_fn fn, void *arg);
struct loop_watch *loop_watch_signal(struct loop *loop, int sig, loop_fn fn, void *arg);

/* A timer that is not running. */
struct loop_watch *loop_timer(struct loop *loop, loop_fn fn, void *arg);
void loop_timer_start(struct loop_watch *timer,
                      uint64_t ms); /* once, from now; restarts a running one */
void loop_timer_stop(struct loop_watch *timer);

/* Accepts NULL. Safe from within the watch's own callback. */
void loop_watch_free(struct loop_watch *watch);

/* Work on bytes of programs and clients: done piece by piece, in the order in which it was posted,
 * for a few milliseconds of CPU time in each turn of the loop. What is left over comes first in the
 * next turn, when everybody else has been looked at. So one that always has something to do delays
 * the others by no more than a piece. Embedded in its owner and all zero before its first use. */
struct loop_work {
    struct loop *loop;        /* NULL: it is not posted */
    struct loop_queue *queue; /* in which it waits */
    struct loop_work *before, *after;
    loop_fn fn;
    void *arg;
};

struct loop_queue {
    struct loop_work *first, *last;
};

/* The work of one token. However much of it there is, it takes one place in the order: lines take
 * turns, a piece of each. All zero before its first use. It outlives what is posted to it. */
struct loop_line {
    struct loop_work turn;
    struct loop_queue queue;
};

/* `fn` is called once, soon; it may post the work again. Does nothing where it is posted already.
 */
void loop_work_post(struct loop *loop, struct loop_work *work, loop_fn fn, void *arg);
void loop_work_cancel(struct loop_work *work);

/* Like loop_work_post(), but after the work that already waits in the line. NULL: the work has a
 * place of its own. */
void loop_line_post(struct loop *loop, struct loop_line *line, struct loop_work *work, loop_fn fn,
                    void *arg);
bool loop_line_is_empty(const struct loop_line *line);

/* Called after every turn with what it took: CPU time, and time on the wall since the first of our
 * own callbacks in it (0: there was none). */
typedef void (*loop_turn_fn)(void *arg, uint64_t cpu_ns, uint64_t wall_ns);
void loop_on_turn(struct loop *loop, loop_turn_fn fn, void *arg);

/* Whether this turn has taken so much CPU time that what can wait for the next one should. */
bool loop_is_late(const struct loop *loop);

/* Begins the wall time of the turn: for callbacks that libevent calls itself. */
void loop_mark(struct loop *loop);

/* libevent's own handle, for its buffered sockets (http/server.c). */
struct event_base *loop_base(struct loop *loop);

/* Monotonic nanoseconds. */
uint64_t loop_now_ns(void);

/* CPU time of this thread, in nanoseconds: what other processes do on the host does not count. */
uint64_t loop_cpu_ns(void);

static inline double loop_ms_since(uint64_t ns)
{
    return (double)(loop_now_ns() - ns) / 1e6;
}
