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

/* libevent's own handle, for its buffered sockets (front/http.c). */
struct event_base *loop_base(struct loop *loop);

/* Monotonic nanoseconds. */
uint64_t loop_now_ns(void);
