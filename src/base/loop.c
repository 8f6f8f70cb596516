#include "base/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"

/* Posted work in one turn of the loop. A turn has other callbacks, too, and the promise is that
 * nobody waits for more than 50 ms (docs/PROMISES.md). */
#define SLICE_NS ((uint64_t)4000000)
#define LATE_NS  ((uint64_t)8000000)

/* How long the CPU clock goes on by the wall clock before it is read again. */
#define CLOCK_FRESH_NS ((uint64_t)50000)

struct loop {
    struct event_base *base;
    bool is_stopped;
    struct loop_queue queue;
    struct event *work; /* active while something is posted */
    bool is_put_off;    /* work waits for the next turn, since this one was late */
    loop_turn_fn on_turn;
    void *on_turn_arg;
    uint64_t began_ns;  /* CPU time at the beginning of this turn */
    uint64_t marked_ns; /* when the first callback of this turn began; 0: none has */
};

struct loop_watch {
    struct loop *loop;
    struct event *event;
    loop_fn fn;
    void *arg;
};

/* --- CPU time ---
 *
 * Reading it is a system call of 0.6 us, and a run asks some hundred times. A thread has never used
 * more CPU time than time has passed, so between two readings the wall clock, which costs next to
 * nothing, is an upper bound. It is too high by CLOCK_FRESH_NS at most, where the thread had to
 * give up its core meanwhile. After it has slept the clock is read again: nobody pays for that
 * time. */

struct cpu_clock {
    uint64_t cpu_ns, wall_ns; /* of the last reading; 0: it is to be read */
    uint64_t said_ns;         /* the clock does not go back */
};

/* A child has a CPU time of its own: Linux clears this page for it. NULL: not asked for yet. */
static struct cpu_clock *cpu_clock;
static bool has_no_clock; /* without such a page every question is a reading */

uint64_t loop_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t read_cpu_clock(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool open_cpu_clock(void)
{
    void *page;

    if (cpu_clock || has_no_clock)
        return cpu_clock != NULL;
    has_no_clock = true;
    page =
        mmap(NULL, sizeof(*cpu_clock), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    if (madvise(page, sizeof(*cpu_clock), MADV_WIPEONFORK) < 0) { /* Linux 4.14 */
        (void)munmap(page, sizeof(*cpu_clock));
        return false;
    }
    cpu_clock = page;
    return true;
}

/* Time on the wall since the last reading may not have been CPU time. */
static void forget_cpu_clock(void)
{
    if (cpu_clock)
        cpu_clock->wall_ns = 0;
}

uint64_t loop_cpu_ns(void)
{
    uint64_t now_ns, ns;

    if (!open_cpu_clock())
        return read_cpu_clock();
    now_ns = loop_now_ns();
    if (!cpu_clock->wall_ns || now_ns - cpu_clock->wall_ns >= CLOCK_FRESH_NS) {
        cpu_clock->wall_ns = now_ns;
        cpu_clock->cpu_ns = read_cpu_clock();
    }
    ns = cpu_clock->cpu_ns + (now_ns - cpu_clock->wall_ns);
    if (ns > cpu_clock->said_ns)
        cpu_clock->said_ns = ns;
    return cpu_clock->said_ns;
}

/* --- posted work --- */

static void enqueue(struct loop *loop, struct loop_queue *queue, struct loop_work *work, loop_fn fn,
                    void *arg)
{
    *work = (struct loop_work){
        .loop = loop, .queue = queue, .before = queue->last, .fn = fn, .arg = arg};
    if (queue->last)
        queue->last->after = work;
    else
        queue->first = work;
    queue->last = work;
}

static void do_first(struct loop_queue *queue)
{
    struct loop_work *work = queue->first;
    loop_fn fn = work->fn;
    void *arg = work->arg;

    loop_work_cancel(work);
    fn(arg);
}

void loop_work_post(struct loop *loop, struct loop_work *work, loop_fn fn, void *arg)
{
    if (work->loop)
        return;
    enqueue(loop, &loop->queue, work, fn, arg);
    /* In this turn, behind what is due in it. */
    event_active(loop->work, 0, 0);
}

void loop_work_cancel(struct loop_work *work)
{
    struct loop_queue *queue = work->queue;

    if (!work->loop)
        return;
    if (work->before)
        work->before->after = work->after;
    else
        queue->first = work->after;
    if (work->after)
        work->after->before = work->before;
    else
        queue->last = work->before;
    *work = (struct loop_work){0};
}

/* A turn of the line is a place in the loop's own order. */
static void do_line(void *arg)
{
    struct loop_line *line = arg;
    struct loop *loop;

    if (!line->queue.first) /* all of it was cancelled */
        return;
    loop = line->queue.first->loop;
    if (line->queue.first->after)
        loop_work_post(loop, &line->turn, do_line, line);
    do_first(&line->queue);
}

void loop_line_post(struct loop *loop, struct loop_line *line, struct loop_work *work, loop_fn fn,
                    void *arg)
{
    if (!line) {
        loop_work_post(loop, work, fn, arg);
        return;
    }
    if (work->loop)
        return;
    enqueue(loop, &line->queue, work, fn, arg);
    loop_work_post(loop, &line->turn, do_line, line);
}

bool loop_line_is_empty(const struct loop_line *line)
{
    return !line->queue.first;
}

static void do_work(evutil_socket_t fd, short what, void *arg)
{
    struct loop *loop = arg;
    uint64_t began_ns = loop_cpu_ns();

    (void)fd;
    (void)what;
    loop_mark(loop);
    /* A late turn is not made longer, unless work has waited for one already. */
    loop->is_put_off = !loop->is_put_off && loop_is_late(loop);
    while (!loop->is_put_off && loop->queue.first && loop_cpu_ns() - began_ns < SLICE_NS)
        do_first(&loop->queue);
    /* Work that fn() posted made the event active again in this turn. The rest waits for the next
     * turn, after a check of all descriptors. */
    (void)event_del(loop->work);
    if (loop->queue.first)
        (void)event_add(loop->work, &(struct timeval){0});
}

/* --- the loop --- */

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
    if (loop && loop->base)
        loop->work = event_new(loop->base, -1, 0, do_work, loop);
    if (!loop || !loop->work) {
        loop_free(loop);
        error_set(err, E_SYSTEM, "cannot create the event loop");
        return NULL;
    }
    return loop;
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    if (loop->work)
        event_free(loop->work);
    if (loop->base)
        event_base_free(loop->base);
    free(loop);
}

/* CPU time does not pass while the turn waits for something to happen. */
static int turn(struct loop *loop)
{
    int r;

    loop->marked_ns = 0;
    loop->began_ns = loop_cpu_ns();
    forget_cpu_clock();
    r = event_base_loop(loop->base, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY);
    if (loop->on_turn)
        loop->on_turn(loop->on_turn_arg, loop_cpu_ns() - loop->began_ns,
                      loop->marked_ns ? loop_now_ns() - loop->marked_ns : 0);
    return r;
}

int loop_run(struct loop *loop, struct error *err)
{
    loop->is_stopped = false;
    while (!loop->is_stopped)
        if (turn(loop) < 0)
            return error_set(err, E_SYSTEM, "the event loop failed");
    return 0;
}

void loop_stop(struct loop *loop)
{
    loop->is_stopped = true;
    (void)event_base_loopbreak(loop->base);
}

void loop_on_turn(struct loop *loop, loop_turn_fn fn, void *arg)
{
    loop->on_turn = fn;
    loop->on_turn_arg = arg;
}

bool loop_is_late(const struct loop *loop)
{
    return loop->began_ns && loop_cpu_ns() - loop->began_ns > LATE_NS;
}

void loop_mark(struct loop *loop)
{
    if (!loop->marked_ns)
        loop->marked_ns = loop_now_ns();
}

static void dispatch(evutil_socket_t fd, short what, void *arg)
{
    struct loop_watch *watch = arg;

    (void)fd;
    (void)what;
    loop_mark(watch->loop);
    watch->fn(watch->arg);
}

static struct loop_watch *watch_new(struct loop *loop, int fd, short what, loop_fn fn, void *arg)
{
    struct loop_watch *watch = calloc(1, sizeof(*watch));

    if (!watch)
        return NULL;
    *watch = (struct loop_watch){.loop = loop, .fn = fn, .arg = arg};
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

static bool can_be_watched(int fd)
{
    cleanup_close int probe = epoll_create1(EPOLL_CLOEXEC);

    return probe < 0 ||
           epoll_ctl(probe, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN}) == 0 ||
           errno != EPERM;
}

struct loop_watch *loop_watch_fd(struct loop *loop, int fd, int what, loop_fn fn, void *arg)
{
    short flags = EV_PERSIST;
    struct stat st;

    /* epoll refuses regular files, and devices that never block, such as /dev/null. */
    if (fstat(fd, &st) == 0 &&
        (S_ISREG(st.st_mode) || (S_ISCHR(st.st_mode) && !can_be_watched(fd))))
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

    /* libevent counts from the beginning of the turn, so a timer would strike early by its length.
     */
    (void)event_base_update_cache_time(event_get_base(timer->event));
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
