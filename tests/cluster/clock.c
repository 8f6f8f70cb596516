/* Preloaded into a process under test: its wall clock is off by as many seconds as the file
 * $CLOCK_FILE says, at each moment. Time that is measured (CLOCK_MONOTONIC) stays as it is, as with
 * a clock that somebody sets. Of a wait until some time of the wall clock, a jump before or after
 * it is shown, but not one during the wait. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset(void)
{
    static char path[512];
    char text[32] = "";
    int fd;

    if (!*path && getenv("CLOCK_FILE"))
        (void)strncpy(path, getenv("CLOCK_FILE"), sizeof(path) - 1);
    fd = *path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof(text) - 1) < 0)
        text[0] = '\0';
    (void)close(fd);
    return strtol(text, NULL, 10);
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
    static int (*real)(clockid_t, struct timespec *);
    int r;

    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    r = real(id, ts);
    if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        ts->tv_sec += offset();
    return r;
}

int gettimeofday(struct timeval *tv, void *zone)
{
    struct timespec ts;

    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &ts) < 0)
        return -1;
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *ret)
{
    struct timespec ts;

    if (clock_gettime(CLOCK_REALTIME, &ts) < 0)
        return -1;
    if (ret)
        *ret = ts.tv_sec;
    return ts.tv_sec;
}

/* libnats waits by the wall clock. A time as small as this is one of CLOCK_MONOTONIC. */
#define LONG_AGO 1000000000

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                           const struct timespec *until)
{
    static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    struct timespec at = *until;

    if (!real)
        real = (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))dlsym(
            RTLD_NEXT, "pthread_cond_timedwait");
    if (at.tv_sec > LONG_AGO)
        at.tv_sec -= offset();
    return real(cond, mutex, &at);
}
