#include "machine/mux.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Beyond it no more data is taken from connections, */
#define PORT_FULL (128 * 1024)
/* and beyond it nothing from the port either, whose frames may want an answer. The rest of
 * MUX_PORT_MAX is for answers to what one read brings. */
#define PORT_BLOCKED (256 * 1024)

/* Bytes of the port in one turn. */
#define READ_MAX 65536

/* The sender hears of what was passed on in pieces of so many bytes. */
#define CREDIT_STEP (LINK_WINDOW / 4)

/* Bytes that wait, from `start` on. */
struct waiting {
    char *data;
    size_t start, len, size;
};

struct connection {
    uint64_t number; /* 0: the place is free */
    int fd;
    uint32_t credit;     /* that we may send */
    uint32_t passed_on;  /* since we said so */
    struct waiting out;  /* for the socket: at most LINK_WINDOW */
    bool is_closed;      /* by the other side: what waits still goes out */
    bool is_blocked_out; /* the socket takes no more now */
};

struct mux {
    struct mux_options options;
    struct link_reader reader;
    uint64_t epoch, last;
    bool is_up, is_broken;
    struct waiting out; /* for the port */
    struct connection connections[MUX_CONNECTIONS];
    size_t count;
    size_t places[MUX_POLL]; /* whose connection the entries of poll() are */
};

/* --- bytes that wait --- */

static int put(struct waiting *w, const void *data, size_t len, size_t max)
{
    if (w->len + len > max)
        return -1;
    if (w->start + w->len + len > w->size && w->start) {
        memmove(w->data, w->data + w->start, w->len);
        w->start = 0;
    }
    if (w->len + len > w->size) {
        size_t size = w->size ? w->size : 4096;
        char *grown;

        while (size < w->len + len)
            size *= 2;
        grown = realloc(w->data, size);
        if (!grown)
            return -1;
        w->data = grown;
        w->size = size;
    }
    memcpy(w->data + w->start + w->len, data, len);
    w->len += len;
    return 0;
}

static void drop(struct waiting *w, size_t len)
{
    w->start += len;
    w->len -= len;
    if (!w->len)
        w->start = 0;
}

static void done(struct waiting *w)
{
    free(w->data);
    *w = (struct waiting){0};
}

/* Bytes written, 0 where none can be now; -1: nobody reads them any more. */
static ssize_t write_some(int fd, struct waiting *w)
{
    ssize_t n = 0;

    while (w->len) {
        n = write(fd, w->data + w->start, w->len);
        if (n < 0 && errno == EINTR)
            continue;
        break;
    }
    if (n < 0)
        return errno == EAGAIN ? 0 : -1;
    drop(w, (size_t)n);
    return n;
}

/* --- frames out --- */

static void send_frame(struct mux *mux, enum link_type type, uint64_t connection, const void *data,
                       size_t len, uint32_t credit)
{
    const struct link_frame frame = {.type = type,
                                     .epoch = mux->epoch,
                                     .connection = connection,
                                     .payload = {data, len},
                                     .credit = credit};
    char bytes[LINK_FRAME_MAX];
    size_t size = link_write(&frame, bytes);

    /* No honest peer lets so much wait. */
    if (put(&mux->out, bytes, size, MUX_PORT_MAX) < 0)
        mux->is_broken = true;
}

/* --- connections --- */

static void forget(struct mux *mux, struct connection *c)
{
    (void)close(c->fd);
    done(&c->out);
    *c = (struct connection){.fd = -1};
    mux->count--;
}

static void forget_all(struct mux *mux)
{
    for (size_t i = 0; i < MUX_CONNECTIONS; i++)
        if (mux->connections[i].number)
            forget(mux, &mux->connections[i]);
}

/* Ends it on both sides. */
static void end(struct mux *mux, struct connection *c)
{
    if (!c->is_closed)
        send_frame(mux, LINK_CLOSE, c->number, NULL, 0, 0);
    forget(mux, c);
}

static struct connection *find(struct mux *mux, uint64_t number)
{
    for (size_t i = 0; i < MUX_CONNECTIONS; i++)
        if (mux->connections[i].number == number)
            return &mux->connections[i];
    return NULL;
}

static struct connection *make(struct mux *mux, uint64_t number, int fd)
{
    struct connection *c = find(mux, 0);

    if (!c)
        return NULL;
    *c = (struct connection){.number = number, .fd = fd, .credit = LINK_WINDOW};
    mux->count++;
    return c;
}

/* What waits for the socket goes out; the sender hears of it. */
static void flush(struct mux *mux, struct connection *c)
{
    ssize_t n = 0;

    while (c->out.len && (n = write_some(c->fd, &c->out)) > 0)
        c->passed_on += (uint32_t)n;
    c->is_blocked_out = c->out.len > 0;
    if (n < 0 || (c->is_closed && !c->out.len)) {
        end(mux, c);
        return;
    }
    if (c->passed_on >= CREDIT_STEP && !c->is_closed) {
        send_frame(mux, LINK_CREDIT, c->number, NULL, 0, c->passed_on);
        c->passed_on = 0;
    }
}

/* --- frames in --- */

static void on_hello(struct mux *mux, uint64_t epoch)
{
    if (mux->options.side == LINK_MACHINE) {
        forget_all(mux);
        done(&mux->out);
        mux->epoch = epoch;
        mux->last = 0;
        send_frame(mux, LINK_HELLO, 0, NULL, 0, 0);
    }
    mux->is_up = true;
}

static void on_open(struct mux *mux, uint64_t number)
{
    int fd;

    if (number <= mux->last) {
        mux->is_broken = true;
        return;
    }
    mux->last = number;
    fd = find(mux, 0) ? mux->options.on_open(mux->options.user) : -1;
    if (fd < 0)
        send_frame(mux, LINK_CLOSE, number, NULL, 0, 0);
    else
        (void)make(mux, number, fd);
}

/* For a connection that is there. */
static void on_frame_of(struct mux *mux, struct connection *c, const struct link_frame *frame)
{
    switch (frame->type) {
    case LINK_DATA:
        /* The sender counts what we have not passed on, and what we have and not said. */
        if (c->is_closed ||
            put(&c->out, frame->payload.data, frame->payload.len, LINK_WINDOW - c->passed_on) < 0)
            mux->is_broken = true;
        else
            flush(mux, c);
        return;
    case LINK_CREDIT:
        if (frame->credit > LINK_WINDOW - c->credit)
            mux->is_broken = true;
        else
            c->credit += frame->credit;
        return;
    default: /* LINK_CLOSE */
        c->is_closed = true;
        flush(mux, c);
        return;
    }
}

static void on_frame(struct mux *mux, const struct link_frame *frame)
{
    struct connection *c;

    if (frame->type == LINK_HELLO) {
        on_hello(mux, frame->epoch);
        return;
    }
    if (frame->type == LINK_OPEN) {
        on_open(mux, frame->connection);
        return;
    }
    c = find(mux, frame->connection);
    if (c)
        on_frame_of(mux, c, frame);
    else if (frame->connection > mux->last)
        mux->is_broken = true;
    /* Else it crosses our CLOSE. */
}

/* Everything is as before the first epoch: another host may come. */
static void start_over(struct mux *mux)
{
    forget_all(mux);
    done(&mux->out);
    mux->is_up = mux->is_broken = false;
    mux->last = 0;
    link_reader_init(&mux->reader, LINK_HOST, mux->epoch);
}

static void take(struct mux *mux, const char *data, size_t len)
{
    struct link_frame frame;
    int r;

    while (!mux->is_broken && (r = link_read(&mux->reader, &data, &len, &frame)) != 0) {
        if (r > 0)
            on_frame(mux, &frame);
        else if (mux->options.side == LINK_HOST)
            mux->is_broken = true;
        /* The machine's reader looks for the host's next epoch. */
    }
    if (mux->is_broken && mux->options.side == LINK_MACHINE)
        start_over(mux);
}

/* --- turns --- */

static enum mux_state read_port(struct mux *mux)
{
    char bytes[READ_MAX];
    ssize_t n = read(mux->options.port, bytes, sizeof(bytes));

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? MUX_UP : MUX_GONE;
    if (n == 0)
        return MUX_GONE;
    take(mux, bytes, (size_t)n);
    return MUX_UP;
}

/* As much as the other side has room for. */
static void read_connection(struct mux *mux, struct connection *c)
{
    char bytes[LINK_DATA_MAX];
    size_t most = c->credit < sizeof(bytes) ? c->credit : sizeof(bytes);
    ssize_t n = read(c->fd, bytes, most);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        end(mux, c);
        return;
    }
    c->credit -= (uint32_t)n;
    send_frame(mux, LINK_DATA, c->number, bytes, (size_t)n, 0);
}

size_t mux_prepare(struct mux *mux, struct pollfd *fds)
{
    bool may_read = mux->is_up && mux->out.len < PORT_FULL;
    size_t n = 1;

    fds[0] = (struct pollfd){.fd = mux->options.port};
    fds[0].events =
        (short)((mux->out.len < PORT_BLOCKED ? POLLIN : 0) | (mux->out.len ? POLLOUT : 0));
    for (size_t i = 0; i < MUX_CONNECTIONS; i++) {
        struct connection *c = &mux->connections[i];

        if (!c->number)
            continue;
        mux->places[n] = i;
        fds[n] = (struct pollfd){.fd = c->fd};
        fds[n].events = (short)((may_read && c->credit && !c->is_closed ? POLLIN : 0) |
                                (c->is_blocked_out ? POLLOUT : 0));
        /* An end that is reported now would be reported again and again; it comes when what was
         * written before it has been read. */
        if (!fds[n].events)
            fds[n].fd = -1;
        n++;
    }
    return n;
}

enum mux_state mux_handle(struct mux *mux, const struct pollfd *fds, size_t count)
{
    enum mux_state state = MUX_UP;

    for (size_t i = 1; i < count; i++) {
        struct connection *c = &mux->connections[mux->places[i]];

        if (!c->number || c->fd != fds[i].fd || !fds[i].revents)
            continue;
        if (fds[i].events & POLLOUT)
            flush(mux, c);
        if (c->number && (fds[i].events & POLLIN))
            read_connection(mux, c);
    }
    if (fds[0].revents & (POLLIN | POLLHUP | POLLERR))
        state = read_port(mux);
    if (state == MUX_UP && mux->out.len && write_some(mux->options.port, &mux->out) < 0)
        state = MUX_GONE;
    if (mux->is_broken)
        state = MUX_BROKEN;
    if (mux->options.side == LINK_HOST || state == MUX_UP)
        return state;
    start_over(mux);
    return MUX_GONE;
}

/* --- life --- */

struct mux *mux_new(const struct mux_options *options)
{
    static const char pause[LINK_PAUSE];
    struct mux *mux = calloc(1, sizeof(*mux));

    if (!mux)
        return NULL;
    mux->options = *options;
    for (size_t i = 0; i < MUX_CONNECTIONS; i++)
        mux->connections[i].fd = -1;
    if (options->side == LINK_MACHINE) {
        link_reader_init(&mux->reader, LINK_HOST, 0);
        return mux;
    }
    mux->epoch = options->epoch;
    link_reader_init(&mux->reader, LINK_MACHINE, options->epoch);
    if (put(&mux->out, pause, sizeof(pause), MUX_PORT_MAX) < 0) {
        free(mux);
        return NULL;
    }
    send_frame(mux, LINK_HELLO, 0, NULL, 0, 0);
    return mux;
}

void mux_free(struct mux *mux)
{
    if (!mux)
        return;
    forget_all(mux);
    done(&mux->out);
    (void)close(mux->options.port);
    free(mux);
}

bool mux_is_up(const struct mux *mux)
{
    return mux->is_up;
}

bool mux_has_room(const struct mux *mux)
{
    return mux->is_up && mux->out.len < PORT_FULL && mux->count < MUX_CONNECTIONS;
}

int mux_add(struct mux *mux, int fd)
{
    if (!mux_has_room(mux) || !make(mux, mux->last + 1, fd))
        return -1;
    send_frame(mux, LINK_OPEN, ++mux->last, NULL, 0, 0);
    return 0;
}

size_t mux_count(const struct mux *mux)
{
    return mux->count;
}
