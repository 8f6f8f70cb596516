/* In place of the C library's: a disk that is slow, and that knows nothing of what was not synced.
 *
 * Preloaded into a server. Each sync takes DELAY_MS and is then a line of the file NOTES: the inode
 * and how long the file was when the sync began. Whoever plays a power failure ends the server and
 * cuts its files to these lengths. While the file FAILING is there, syncs fail.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CONTEXTS 64

struct sync {
    struct stat st;
    int event;
    int result;
    int is_there;
};

static struct sync syncs[CONTEXTS];
static unsigned n_contexts;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

static int end_sync(const struct stat *st)
{
    struct timespec delay = {DELAY_MS / 1000, DELAY_MS % 1000 * 1000000L};
    char line[64];
    int fd, n;

    while (nanosleep(&delay, &delay) < 0)
        ;
    if (access(FAILING, F_OK) == 0)
        return -EIO;
    n = snprintf(line, sizeof(line), "%ju %jd\n", (uintmax_t)st->st_ino, (intmax_t)st->st_size);
    fd = open(NOTES, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        abort();
    close(fd);
    return 0;
}

int fdatasync(int fd)
{
    struct stat st;
    int result = fstat(fd, &st) < 0 ? -errno : end_sync(&st);

    errno = -result;
    return result < 0 ? -1 : 0;
}

int fsync(int fd)
{
    return fdatasync(fd);
}

static void *work(void *arg)
{
    struct sync *sync = arg;
    int result = end_sync(&sync->st), event = sync->event;
    uint64_t one = 1;

    pthread_mutex_lock(&lock);
    sync->result = result;
    sync->is_there = 1;
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&lock);
    if (event >= 0 && write(event, &one, sizeof(one)) < 0)
        abort();
    return NULL;
}

static long submit(unsigned context, struct iocb *request)
{
    struct sync *sync = &syncs[context];
    pthread_t thread;

    *sync =
        (struct sync){.event = request->aio_flags & IOCB_FLAG_RESFD ? (int)request->aio_resfd : -1};
    if (fstat((int)request->aio_fildes, &sync->st) < 0 || pthread_create(&thread, NULL, work, sync))
        abort();
    pthread_detach(thread);
    return 1;
}

static long reap(unsigned context, struct io_event *event, const struct timespec *patience)
{
    struct sync *sync = &syncs[context];
    long n = 0;

    pthread_mutex_lock(&lock);
    while (!sync->is_there && !patience)
        pthread_cond_wait(&ended, &lock);
    if (sync->is_there) {
        *event = (struct io_event){.res = sync->result};
        sync->is_there = 0;
        n = 1;
    }
    pthread_mutex_unlock(&lock);
    return n;
}

long syscall(long number, ...)
{
    static long (*next)(long, ...);
    long a[6];
    va_list args;

    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_io_setup && n_contexts + 1 < CONTEXTS) {
        *(aio_context_t *)a[1] = ++n_contexts;
        return 0;
    }
    if (number == SYS_io_submit)
        return submit((unsigned)a[0], *(struct iocb **)a[2]);
    if (number == SYS_io_getevents)
        return reap((unsigned)a[0], (struct io_event *)a[3], (struct timespec *)a[4]);
    if (number == SYS_io_destroy)
        return 0;
    if (!next)
        next = dlsym(RTLD_NEXT, "syscall");
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
