#include "base/loop.h"

#include <event2/event.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

struct loop {
    struct event_base *base;
};

struct loop_watch {
    struct event *event;
    loop_fn fn;
    void *arg;
};

struct loop *loop_new(struct error *err)
{
    struct loop *loop = calloc(1, sizeof(*loop));
    struct event_config *config = event_config_new();

    /* One thread: locks would only cost. */
    if (config)
        (void)event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    if (loop && config)
        loop->base = event_base_new_with_config(config);
    if (config)
        event_config_free(config);
    if (!loop || !loop->base) {
        free(loop);
        error_set(err, E_SYSTEM, "cannot create the event loop");
        return NULL;
    }
    return loop;
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    event_base_free(loop->base);
    free(loop);
}

int loop_run(struct loop *loop, struct error *err)
{
    if (event_base_loop(loop->base, EVLOOP_NO_EXIT_ON_EMPTY) < 0)
        return error_set(err, E_SYSTEM, "the event loop failed");
    return 0;
}

void loop_stop(struct loop *loop)
{
    (void)event_base_loopbreak(loop->base);
}

static void dispatch(evutil_socket_t fd, short what, void *arg)
{
    struct loop_watch *watch = arg;

    (void)fd;
    (void)what;
    watch->fn(watch->arg);
}

static struct loop_watch *watch_new(struct loop *loop, int fd, short what, loop_fn fn, void *arg)
{
    struct loop_watch *watch = calloc(1, sizeof(*watch));

    if (!watch)
        return NULL;
    *watch = (struct loop_watch){.fn = fn, .arg = arg};
    watch->event = event_new(loop->base, fd, what, dispatch, watch);
    if (!watch->event) {
        free(watch);
        return NULL;
    }
    return watch;
}

static struct loop_watch *watch_start(struct loop_watch *watch)
{
    if (watch && event_add(watch->event, NULL) < 0) {
        loop_watch_free(watch);
        return NULL;
    }
    return watch;
}

/* A regular file is always ready, and epoll refuses to wait for it. A timer that is to come back
 * needs a time: after one of zero libevent forgets it. */
static struct loop_watch *watch_always(struct loop_watch *watch)
{
    if (watch && event_add(watch->event, &(struct timeval){.tv_usec = 1}) < 0) {
        loop_watch_free(watch);
        return NULL;
    }
    return watch;
}

struct loop_watch *loop_watch_fd(struct loop *loop, int fd, int what, loop_fn fn, void *arg)
{
    short flags = EV_PERSIST;
    struct stat st;

    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return watch_always(watch_new(loop, -1, EV_PERSIST, fn, arg));
    flags |= what & LOOP_READ ? EV_READ : 0;
    flags |= what & LOOP_WRITE ? EV_WRITE : 0;
    return watch_start(watch_new(loop, fd, flags, fn, arg));
}

struct loop_watch *loop_watch_signal(struct loop *loop, int sig, loop_fn fn, void *arg)
{
    return watch_start(watch_new(loop, sig, EV_SIGNAL | EV_PERSIST, fn, arg));
}

struct loop_watch *loop_timer(struct loop *loop, loop_fn fn, void *arg)
{
    return watch_new(loop, -1, 0, fn, arg);
}

void loop_timer_start(struct loop_watch *timer, uint64_t ms)
{
    struct timeval tv = {(time_t)(ms / 1000), (suseconds_t)(ms % 1000 * 1000)};

    (void)event_add(timer->event,
                    &tv); /* fails only where memory for the heap does; the loop grew it before */
}

void loop_timer_stop(struct loop_watch *timer)
{
    (void)event_del(timer->event);
}

void loop_watch_free(struct loop_watch *watch)
{
    if (!watch)
        return;
    event_free(watch->event);
    free(watch);
}

struct event_base *loop_base(struct loop *loop)
{
    return loop->base;
}

uint64_t loop_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
