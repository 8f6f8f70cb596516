#include "guest/steady/steady.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <unistd.h>

/* 2026-01-01T00:00:00Z, a Thursday; the machine has been up for a quarter of an hour. */
#define EPOCH_S  UINT64_C(1767225600)
#define UPTIME_S UINT64_C(900)

#define STEP_NS 1000

/* Files that were given to the run have been written a moment before it. */
#define MARGIN_S 60

static struct {
    bool is_on;
    bool is_first; /* the run's first process, as opposed to one it has executed */
    pid_t pid;
    uint64_t seed;
    time_t real_start;
    _Atomic uint64_t elapsed_ns;
    _Atomic uint64_t drawn;
    atomic_bool had_threads;
} steady;

/* Of a thread that the program has started, by the order in which it did; 0: the first one. Its own
 * looks at the clock and its own random numbers are not those of the others, who run beside it. */
static __thread struct {
    unsigned number;
    uint64_t ahead_ns;
    uint64_t drawn;
    bool has_read; /* the clock, and nobody has taken it back */
} own;

#define THREADS_MAX 1024 /* those beyond share what the first one has */

static struct {
    void *(*start)(void *);
    void *arg;
} threads[THREADS_MAX];

static _Atomic unsigned n_threads;

void *steady_next(const char *name)
{
    /* Of some there are two; the newer ones, by the names of x86-64 and of 64-bit ARM. */
    static const char *const versions[] = {"GLIBC_2.3.2", "GLIBC_2.17"};
    void *symbol = NULL;

    if (strncmp(name, "pthread_cond_", 13) == 0)
        for (size_t i = 0; i < 2 && !symbol; i++)
            symbol = dlvsym(RTLD_NEXT, name, versions[i]);
    if (!symbol)
        symbol = dlsym(RTLD_NEXT, name);
    if (!symbol)
        abort();
    return symbol;
}

/* --- the seed --- */

static time_t real_seconds(void)
{
    static int (*next)(clockid_t, struct timespec *);
    struct timespec now = {0};

    NEXT(next, "clock_gettime");
    (void)next(CLOCK_REALTIME, &now);
    return now.tv_sec;
}

static void begin(uint64_t seed, bool is_first)
{
    steady.seed = seed;
    steady.pid = getpid();
    steady.real_start = real_seconds();
    steady.is_first = is_first;
    steady.is_on = true;
}

void belljar_steady_begin(uint64_t seed)
{
    begin(seed, true);
}

__attribute__((constructor)) static void begin_by_variable(void)
{
    const char *seed = getenv("BELLJAR_SEED");

    if (seed)
        begin(strtoull(seed, NULL, 10), false);
}

bool steady_is_on(void)
{
    return steady.is_on;
}

bool steady_is_alone(void)
{
    siginfo_t info = {0};

    return steady.is_first && !atomic_load(&steady.had_threads) && getpid() == steady.pid &&
           waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

bool steady_is_of_this_run(time_t seconds)
{
    return seconds >= steady.real_start - MARGIN_S;
}

static void *start_thread(void *arg)
{
    own.number = (unsigned)(uintptr_t)arg;
    return threads[own.number].start(threads[own.number].arg);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    unsigned number;

    NEXT(next, "pthread_create");
    atomic_store(&steady.had_threads, true);
    number = steady.is_on ? atomic_fetch_add(&n_threads, 1) + 1 : THREADS_MAX;
    if (number >= THREADS_MAX)
        return next(thread, attr, start, arg);
    threads[number].start = start;
    threads[number].arg = arg;
    return next(thread, attr, start_thread, (void *)(uintptr_t)number);
}

/* --- the clock --- */

static uint64_t base_ns(clockid_t clock)
{
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_TAI:
    case CLOCK_REALTIME_ALARM:
        return EPOCH_S * NS_PER_S;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_BOOTTIME:
    case CLOCK_BOOTTIME_ALARM:
        return UPTIME_S * NS_PER_S;
    default: /* time on the processor */
        return 0;
    }
}

uint64_t steady_clock_ns(clockid_t clock, bool reads)
{
    own.has_read |= reads;
    if (own.number) {
        own.ahead_ns += reads ? STEP_NS : 0;
        return base_ns(clock) + atomic_load(&steady.elapsed_ns) + own.ahead_ns;
    }
    return base_ns(clock) + (reads ? atomic_fetch_add(&steady.elapsed_ns, STEP_NS)
                                   : atomic_load(&steady.elapsed_ns));
}

void steady_unread(void)
{
    if (!own.has_read)
        return;
    own.has_read = false;
    if (own.number)
        own.ahead_ns -= STEP_NS;
    else
        (void)atomic_fetch_sub(&steady.elapsed_ns, STEP_NS);
}

void steady_pass_ns(uint64_t ns)
{
    (void)atomic_fetch_add(&steady.elapsed_ns, ns);
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    static int (*next)(clockid_t, struct timespec *);
    uint64_t now;

    NEXT(next, "clock_gettime");
    if (!steady.is_on)
        return next(clock, ts);
    now = steady_clock_ns(clock, true);
    *ts = (struct timespec){.tv_sec = (time_t)(now / NS_PER_S), .tv_nsec = (long)(now % NS_PER_S)};
    return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    static int (*next)(struct timeval *, void *);
    uint64_t now;

    NEXT(next, "gettimeofday");
    if (!steady.is_on)
        return next(tv, zone);
    now = steady_clock_ns(CLOCK_REALTIME, true) / 1000;
    *tv = (struct timeval){.tv_sec = (time_t)(now / 1000000),
                           .tv_usec = (suseconds_t)(now % 1000000)};
    return 0;
}

time_t time(time_t *ret)
{
    static time_t (*next)(time_t *);
    time_t now;

    NEXT(next, "time");
    if (!steady.is_on)
        return next(ret);
    now = (time_t)(steady_clock_ns(CLOCK_REALTIME, true) / NS_PER_S);
    if (ret)
        *ret = now;
    return now;
}

int timespec_get(struct timespec *ts, int base)
{
    return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, ts) == 0 ? base : 0;
}

clock_t clock(void)
{
    static clock_t (*next)(void);

    NEXT(next, "clock");
    return steady.is_on ? (clock_t)(steady_clock_ns(CLOCK_PROCESS_CPUTIME_ID, true) / 1000)
                        : next();
}

clock_t times(struct tms *ret)
{
    static clock_t (*next)(struct tms *);
    clock_t hundredths;

    NEXT(next, "times");
    if (!steady.is_on)
        return next(ret);
    hundredths = (clock_t)(steady_clock_ns(CLOCK_MONOTONIC, true) / 10000000);
    if (ret)
        *ret = (struct tms){.tms_utime = hundredths - (clock_t)UPTIME_S * 100};
    return hundredths;
}

int getrusage(__rusage_who_t who, struct rusage *usage)
{
    static int (*next)(__rusage_who_t, struct rusage *);
    uint64_t now;
    int r;

    NEXT(next, "getrusage");
    r = next(who, usage);
    if (!steady.is_on || r < 0)
        return r;
    now = steady_clock_ns(CLOCK_PROCESS_CPUTIME_ID, true) / 1000;
    *usage = (struct rusage){
        .ru_utime = {.tv_sec = (time_t)(now / 1000000), .tv_usec = (suseconds_t)(now % 1000000)}};
    return 0;
}

/* --- random numbers: a counter and a mixer, a stream of its own for every process and thread ---
 */

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static void draw(void *data, size_t len)
{
    uint64_t stream = mix(steady.seed) ^ mix((uint64_t)getpid() << 32 | own.number);
    char *at = data;

    while (len > 0) {
        uint64_t drawn = own.number ? own.drawn++ : atomic_fetch_add(&steady.drawn, 1);
        uint64_t word = mix(stream + drawn * UINT64_C(0x9e3779b97f4a7c15));
        size_t n = len < sizeof(word) ? len : sizeof(word);

        memcpy(at, &word, n);
        at += n;
        len -= n;
    }
}

ssize_t getrandom(void *data, size_t len, unsigned flags)
{
    static ssize_t (*next)(void *, size_t, unsigned);

    NEXT(next, "getrandom");
    if (!steady.is_on)
        return next(data, len, flags);
    draw(data, len);
    return (ssize_t)len;
}

int getentropy(void *data, size_t len)
{
    if (len > 256) {
        errno = EIO;
        return -1;
    }
    return getrandom(data, len, 0) == (ssize_t)len ? 0 : -1;
}

uint32_t arc4random(void)
{
    uint32_t word = 0;

    (void)getrandom(&word, sizeof(word), 0);
    return word;
}

void arc4random_buf(void *data, size_t len)
{
    (void)getrandom(data, len, 0);
}

/* The devices, by whatever name and descriptor: SQLite, for one, reads them. */
static bool is_random_device(int fd)
{
    struct stat st;
    int saved = errno;
    bool is_one = fstatat(fd, "", &st, AT_EMPTY_PATH) == 0 && S_ISCHR(st.st_mode) &&
                  (st.st_rdev == makedev(1, 8) || st.st_rdev == makedev(1, 9));

    errno = saved;
    return is_one;
}

ssize_t read(int fd, void *data, size_t len)
{
    static ssize_t (*next)(int, void *, size_t);

    NEXT(next, "read");
    if (!steady.is_on || !len || !is_random_device(fd))
        return next(fd, data, len);
    draw(data, len);
    return (ssize_t)len;
}

/* Called by programs that were built with checks of buffers. */
ssize_t __read_chk(int fd, void *data, size_t len, size_t size);

ssize_t __read_chk(int fd, void *data, size_t len, size_t size)
{
    if (len > size)
        abort();
    return read(fd, data, len);
}
