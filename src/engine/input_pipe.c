#include "engine/input_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static void unwatch(struct input_pipe *p)
{
    loop_watch_free(p->watch);
    p->watch = NULL;
}

void input_pipe_close(struct input_pipe *p)
{
    unwatch(p);
    close_fd(&p->fd);
}

static void on_writable(void *arg)
{
    struct input_pipe *p = arg;
    ssize_t n = 0;

    if (p->sent < p->data->len)
        n = write(p->fd, p->data->data + p->sent, p->data->len - p->sent);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        p->sent += (size_t)n;
    if (n >= 0 && p->sent < p->data->len)
        return;
    if (n < 0 || !p->stays_open) { /* the program does not want the rest, or has all of it */
        input_pipe_close(p);
        return;
    }
    buf_clear(p->data);
    p->sent = 0;
    unwatch(p);
}

int input_pipe_go_on(struct input_pipe *p, struct error *err)
{
    if (p->fd < 0 || p->watch)
        return 0;
    p->watch = loop_watch_fd(p->loop, p->fd, LOOP_WRITE, on_writable, p);
    return p->watch ? 0 : error_memory(err);
}

/* Only once it is as much as what waits, so that each byte is moved once. */
void input_pipe_forget(struct input_pipe *p)
{
    if (p->fd < 0 || p->sent < p->data->len - p->sent)
        return;
    buf_consume(p->data, p->sent);
    p->sent = 0;
}

size_t input_pipe_waiting(const struct input_pipe *p)
{
    return p->fd < 0 ? 0 : p->data->len - p->sent;
}

int input_pipe_open(struct input_pipe *p, struct loop *loop, struct buf *data, bool stays_open,
                    int *ret_theirs, struct error *err)
{
    int pair[2];

    if (pipe2(pair, O_CLOEXEC) < 0)
        return error_errno(err, "pipe2");
    *p = (struct input_pipe){.fd = pair[1], .loop = loop, .data = data, .stays_open = stays_open};
    *ret_theirs = pair[0];
    if (fchmod(pair[0], 0666) < 0) /* for /dev/stdin */
        return error_errno(err, "fchmod");
    if (fcntl(pair[1], F_SETFL, O_NONBLOCK) < 0)
        return error_errno(err, "fcntl");
    return input_pipe_go_on(p, err);
}

int input_pipe_use(struct input_pipe *p, struct loop *loop, struct buf *data, int fd,
                   struct error *err)
{
    *p = (struct input_pipe){.fd = fd, .loop = loop, .data = data, .stays_open = true};
    return input_pipe_go_on(p, err);
}
