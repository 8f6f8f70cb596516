#include "base/sync.h"

#include <errno.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

struct sync {
    sync_fn done;
    void *arg;
    aio_context_t context; /* 0: Linux has none for us */
    int event;
    struct loop *loop;
    struct loop_watch *watch;
    struct loop_watch *soon;
    bool is_tried; /* to get a context */
    bool is_busy;
    int result; /* of one that was done at once */
};

static void finish(struct sync *sync, int result)
{
    sync->is_busy = false;
    sync->done(sync->arg, result);
}

static void reap(struct sync *sync, struct timespec *patience)
{
    struct io_event event;
    long n;

    do
        n = syscall(SYS_io_getevents, sync->context, 1L, 1L, &event, patience);
    while (n < 0 && errno == EINTR);
    if (n == 1)
        finish(sync, (int)event.res);
    else if (n < 0)
        finish(sync, -errno);
}

static void on_event(void *arg)
{
    struct sync *sync = arg;
    struct timespec none = {0};
    uint64_t count;

    if (read(sync->event, &count, sizeof(count)) == (ssize_t)sizeof(count) && sync->is_busy)
        reap(sync, &none);
}

static void on_soon(void *arg)
{
    struct sync *sync = arg;

    if (sync->is_busy)
        finish(sync, sync->result);
}

/* Without it every sync is a call that takes its time. Giving one back takes Linux some ten
 * milliseconds, so who never syncs has none. */
static void open_context(struct sync *sync)
{
    struct loop *loop = sync->loop;

    sync->is_tried = true;
    if (syscall(SYS_io_setup, 4U, &sync->context) < 0) {
        sync->context = 0;
        return;
    }
    sync->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    sync->watch = sync->event >= 0 && loop
                      ? loop_watch_fd(loop, sync->event, LOOP_READ, on_event, sync)
                      : NULL;
    if (sync->event >= 0 && (sync->watch || !loop))
        return;
    (void)syscall(SYS_io_destroy, sync->context);
    sync->context = 0;
}

int sync_new(struct loop *loop, sync_fn done, void *arg, struct sync **ret_sync, struct error *err)
{
    struct sync *sync = calloc(1, sizeof(*sync));

    if (sync) {
        *sync = (struct sync){.done = done, .arg = arg, .event = -1, .loop = loop};
        sync->soon = loop ? loop_timer(loop, on_soon, sync) : NULL;
    }
    if (!sync || (loop && !sync->soon)) {
        free(sync);
        return error_memory(err);
    }
    *ret_sync = sync;
    return 0;
}

void sync_free(struct sync *sync)
{
    if (!sync)
        return;
    loop_watch_free(sync->watch);
    loop_watch_free(sync->soon);
    close_fd(&sync->event);
    if (sync->context)
        (void)syscall(SYS_io_destroy, sync->context);
    free(sync);
}

bool sync_is_busy(const struct sync *sync)
{
    return sync->is_busy;
}

void sync_start(struct sync *sync, int fd)
{
    struct iocb request = {
        .aio_lio_opcode = IOCB_CMD_FDSYNC,
        .aio_fildes = (uint32_t)fd,
        .aio_flags = IOCB_FLAG_RESFD,
    };
    struct iocb *requests[] = {&request};

    if (!sync->is_tried)
        open_context(sync);
    request.aio_resfd = (uint32_t)sync->event;
    sync->is_busy = true;
    if (sync->context && syscall(SYS_io_submit, sync->context, 1L, requests) == 1)
        return;
    /* Not every file system takes it this way. */
    if (sync->context)
        (void)syscall(SYS_io_destroy, sync->context);
    sync->context = 0;
    sync->result = fdatasync(fd) < 0 ? -errno : 0;
    if (sync->soon)
        loop_timer_start(sync->soon, 0);
}

void sync_wait(struct sync *sync)
{
    if (!sync->is_busy)
        return;
    if (sync->context)
        reap(sync, NULL);
    else
        finish(sync, sync->result);
}
