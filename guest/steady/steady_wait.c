/* Waiting. A sleep passes at once. A wait for something that others may bring is a real one for as
 * long as there are others; when it ends without it, that much time has passed. */
#include "guest/steady/steady.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

static uint64_t ns_of(const struct timespec *ts)
{
    return (uint64_t)ts->tv_sec * NS_PER_S + (uint64_t)ts->tv_nsec;
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

static bool is_duration(const struct timespec *ts)
{
    return ts && ts->tv_sec >= 0 && ts->tv_nsec >= 0 && ts->tv_nsec < (long)NS_PER_S;
}

/* --- sleeping --- */

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted,
                    struct timespec *remaining)
{
    static int (*next)(clockid_t, int, const struct timespec *, struct timespec *);
    uint64_t now, until;

    NEXT(next, "clock_nanosleep");
    if (!steady_is_on() || !is_duration(wanted))
        return next(clock, flags, wanted, remaining);
    now = steady_clock_ns(clock, false);
    until = flags & TIMER_ABSTIME ? ns_of(wanted) : now + ns_of(wanted);
    if (until > now)
        steady_pass_ns(until - now);
    return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *remaining)
{
    int r = clock_nanosleep(CLOCK_REALTIME, 0, wanted, remaining);

    if (r == 0)
        return 0;
    errno = r;
    return -1;
}

unsigned sleep(unsigned seconds)
{
    struct timespec wanted = {.tv_sec = seconds}, left = {0};

    return nanosleep(&wanted, &left) == 0 ? 0 : (unsigned)left.tv_sec;
}

int usleep(useconds_t us)
{
    struct timespec wanted = timespec_of((uint64_t)us * 1000);

    return nanosleep(&wanted, NULL);
}

/* --- waiting for descriptors: `left` is how long, -1 without end, and what the real call got ---
 */

enum plan { PLAN_PASS_ON, PLAN_LOOK, PLAN_WAIT };

static enum plan plan(bool has_end, uint64_t ns)
{
    if (!steady_is_on() || !has_end || ns == 0)
        return PLAN_PASS_ON;
    return steady_is_alone() ? PLAN_LOOK : PLAN_WAIT;
}

static int after(enum plan plan, uint64_t ns, int r)
{
    if (plan != PLAN_PASS_ON && r == 0)
        steady_pass_ns(ns);
    return r;
}

static uint64_t ns_of_ms(int ms)
{
    return ms > 0 ? (uint64_t)ms * 1000000 : 0;
}

int poll(struct pollfd *fds, nfds_t n, int ms)
{
    static int (*next)(struct pollfd *, nfds_t, int);
    enum plan p = plan(ms >= 0, ns_of_ms(ms));

    NEXT(next, "poll");
    return after(p, ns_of_ms(ms), next(fds, n, p == PLAN_LOOK ? 0 : ms));
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
    static int (*next)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
    uint64_t ns = is_duration(timeout) ? ns_of(timeout) : 0;
    enum plan p = plan(timeout, ns);
    static const struct timespec none;

    NEXT(next, "ppoll");
    return after(p, ns, next(fds, n, p == PLAN_LOOK ? &none : timeout, mask));
}

int select(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout)
{
    static int (*next)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
    uint64_t ns = timeout && timeout->tv_sec >= 0 && timeout->tv_usec >= 0
                      ? (uint64_t)timeout->tv_sec * NS_PER_S + (uint64_t)timeout->tv_usec * 1000
                      : 0;
    enum plan p = plan(timeout, ns);
    struct timeval none = {0};

    NEXT(next, "select");
    return after(p, ns, next(n, r, w, e, p == PLAN_LOOK ? &none : timeout));
}

int pselect(int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *timeout,
            const sigset_t *mask)
{
    static int (*next)(int, fd_set *, fd_set *, fd_set *, const struct timespec *,
                       const sigset_t *);
    uint64_t ns = is_duration(timeout) ? ns_of(timeout) : 0;
    enum plan p = plan(timeout, ns);
    static const struct timespec none;

    NEXT(next, "pselect");
    return after(p, ns, next(n, r, w, e, p == PLAN_LOOK ? &none : timeout, mask));
}

int epoll_wait(int epoll, struct epoll_event *events, int n, int ms)
{
    static int (*next)(int, struct epoll_event *, int, int);
    enum plan p = plan(ms >= 0, ns_of_ms(ms));

    NEXT(next, "epoll_wait");
    return after(p, ns_of_ms(ms), next(epoll, events, n, p == PLAN_LOOK ? 0 : ms));
}

int epoll_pwait(int epoll, struct epoll_event *events, int n, int ms, const sigset_t *mask)
{
    static int (*next)(int, struct epoll_event *, int, int, const sigset_t *);
    enum plan p = plan(ms >= 0, ns_of_ms(ms));

    NEXT(next, "epoll_pwait");
    return after(p, ns_of_ms(ms), next(epoll, events, n, p == PLAN_LOOK ? 0 : ms, mask));
}

/* --- waiting for other threads: a moment of our clock becomes one of the real clock --- */

struct deadline {
    uint64_t left_ns;
    struct timespec real; /* CLOCK_MONOTONIC */
};

static struct deadline deadline_of(clockid_t clock, const struct timespec *until)
{
    static int (*next)(clockid_t, struct timespec *);
    uint64_t now = steady_clock_ns(clock, false);
    struct deadline d = {.left_ns = ns_of(until) > now ? ns_of(until) - now : 0};

    NEXT(next, "clock_gettime");
    (void)next(CLOCK_MONOTONIC, &d.real);
    d.real = timespec_of(ns_of(&d.real) + d.left_ns);
    return d;
}

/* Python reads the clock whenever it takes a lock, and once more if somebody else has it; its own
 * lock, which stands in a variable of its, is waited for by the clock, too. How often that happens
 * depends on who runs when, and it is not the program's time that passes. */
static const char *interpreter(size_t *ret_size)
{
    static const char *start;
    static size_t size;
    static atomic_bool has_looked; /* set last: two threads may be here at once */

    if (!atomic_load(&has_looked)) {
        const char *found = dlsym(RTLD_DEFAULT, "_PyRuntime");
        const ElfW(Sym) *symbol = NULL;
        Dl_info info;

        if (found && dladdr1(found, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol) {
            size = symbol->st_size;
            start = found;
        }
        atomic_store(&has_looked, true);
    }
    *ret_size = size;
    return start;
}

static bool is_interpreter_lock(const void *cond)
{
    size_t size;
    const char *start = interpreter(&size);

    return start && (const char *)cond >= start && (const char *)cond < start + size;
}

static void take_lock(void)
{
    size_t size;

    if (steady_is_on() && interpreter(&size))
        steady_unread();
}

int sem_wait(sem_t *sem)
{
    static int (*next)(sem_t *);

    NEXT(next, "sem_wait");
    take_lock();
    return next(sem);
}

int sem_trywait(sem_t *sem)
{
    static int (*next)(sem_t *);

    NEXT(next, "sem_trywait");
    take_lock();
    return next(sem);
}

int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
    static int (*next)(sem_t *, clockid_t, const struct timespec *);
    struct deadline d;
    int r;

    NEXT(next, "sem_clockwait");
    if (!steady_is_on() || !is_duration(until))
        return next(sem, clock, until);
    take_lock();
    d = deadline_of(clock, until);
    if (!steady_is_alone()) {
        r = next(sem, CLOCK_MONOTONIC, &d.real);
    } else {
        r = sem_trywait(sem);
        if (r < 0 && errno == EAGAIN)
            errno = ETIMEDOUT;
    }
    if (r < 0 && errno == ETIMEDOUT)
        steady_pass_ns(d.left_ns);
    return r;
}

int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict until)
{
    static int (*next)(sem_t *, const struct timespec *);

    NEXT(next, "sem_timedwait");
    return steady_is_on() ? sem_clockwait(sem, CLOCK_REALTIME, until) : next(sem, until);
}

int pthread_cond_clockwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           clockid_t clock, const struct timespec *restrict until)
{
    static int (*next)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
    struct deadline d;
    int r;

    NEXT(next, "pthread_cond_clockwait");
    if (!steady_is_on() || !is_duration(until))
        return next(cond, mutex, clock, until);
    d = deadline_of(clock, until);
    r = steady_is_alone() ? ETIMEDOUT : next(cond, mutex, CLOCK_MONOTONIC, &d.real);
    if (r == ETIMEDOUT)
        steady_pass_ns(d.left_ns);
    return r;
}

static int wait_for_interpreter(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                                const struct timespec *until)
{
    static int (*next)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
    struct deadline d;

    NEXT(next, "pthread_cond_clockwait");
    steady_unread();
    d = deadline_of(clock, until);
    return next(cond, mutex, CLOCK_MONOTONIC, &d.real);
}

/* The clock of `cond` cannot be queried; the two clocks are decades apart. */
int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until)
{
    static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    clockid_t clock;

    NEXT(next, "pthread_cond_timedwait");
    if (!steady_is_on() || !is_duration(until))
        return next(cond, mutex, until);
    clock = ns_of(until) >= steady_clock_ns(CLOCK_REALTIME, false) / 2 ? CLOCK_REALTIME
                                                                       : CLOCK_MONOTONIC;
    if (is_interpreter_lock(cond))
        return wait_for_interpreter(cond, mutex, clock, until);
    return pthread_cond_clockwait(cond, mutex, clock, until);
}
