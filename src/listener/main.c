/* belljar-listener: reads what strangers send to `belljar serve`.
 *
 * Theory of operation. The engine executes it with two sockets and nothing else, in a clean
 * environment, one for the network and one for Unix sockets. Its first message brings the settings
 * and, for the network, the certificate and its key. The process then confines itself (confine.c):
 * it can neither open a file nor make a socket, start a program or see another process. Connections
 * come from the engine, accepted. It speaks TLS, reads heads and the framing of bodies, and hands
 * on what it has read as fields and pieces; answers come back as bytes. What a request means it
 * does not know, and the engine believes nothing it says (http/listener_message.h).
 *
 * It ends with the engine, by a signal and by the end of the socket. When it ends by itself, the
 * engine starts another one.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "listener/internal.h"
#include "wire/fds.h"

/* Bytes of bodies on their way to the engine. */
#define BEHIND_BYTES MIB

#define TICK_MS 500

/* Of frames that the engine does not need at once (say_later()). */
#define LATER_MS    20
#define LATER_BYTES (16 * KIB)

/* Memory that is kept for the next piece of a body: to give it back and take it again costs more
 * than to read the piece. */
#define KEPT_BYTES (4 * (int)MIB)

#define READ_BYTES (4 * LISTENER_PIECE)

/* --- to the engine --- */

void say_later(struct listener *listener, enum listener_type type, uint64_t connection,
               const void *data, size_t len)
{
    uint8_t header[LISTENER_HEADER_BYTES];

    listener_frame_header(header, type, connection, len);
    if (evbuffer_add(listener->out, header, sizeof(header)) < 0 ||
        (len && evbuffer_add(listener->out, data, len) < 0))
        _exit(1);
}

void say(struct listener *listener, enum listener_type type, uint64_t connection, const void *data,
         size_t len)
{
    say_later(listener, type, connection, data, len);
    listener->is_urgent = true;
}

bool is_behind(const struct listener *listener)
{
    return evbuffer_get_length(listener->out) > BEHIND_BYTES;
}

static void on_caught_up(void *arg)
{
    connections_go_on(arg);
}

static void on_writable(void *arg)
{
    flush(arg);
}

static void on_later(void *arg)
{
    struct listener *listener = arg;

    listener->has_timer = false;
    listener->is_urgent = true;
    flush(listener);
}

/* Each frame that comes alone wakes the engine: what can wait goes with the next request. */
static bool waits(struct listener *listener)
{
    size_t len = evbuffer_get_length(listener->out);

    if (len == 0 || len > LATER_BYTES || listener->is_urgent)
        return false;
    if (!listener->has_timer)
        loop_timer_start(listener->later, LATER_MS);
    listener->has_timer = true;
    return true;
}

void flush(struct listener *listener)
{
    if (waits(listener))
        return;
    while (evbuffer_get_length(listener->out)) {
        if (evbuffer_write(listener->out, LISTENER_LINK) > 0 || errno == EINTR)
            continue;
        if (errno != EAGAIN)
            _exit(0);
        if (!listener->writing)
            listener->writing =
                loop_watch_fd(listener->loop, LISTENER_LINK, LOOP_WRITE, on_writable, listener);
        if (!listener->writing)
            _exit(1);
        break;
    }
    if (evbuffer_get_length(listener->out) == 0) {
        loop_watch_free(take_ptr(listener->writing));
        listener->is_urgent = false;
    }
    /* Bodies that waited go on. Not at once, since they flush, too. */
    if (listener->has_stalled && evbuffer_get_length(listener->out) < BEHIND_BYTES / 2) {
        listener->has_stalled = false;
        loop_work_post(listener->loop, &listener->catching_up, on_caught_up, listener);
    }
}

/* --- from the engine --- */

/* Returns false when there is none. */
static bool take_connection(struct listener *listener)
{
    struct listener_connection what;
    char control[FDS_SPACE(1)];
    struct iovec iov = {&what, sizeof(what)};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control,
                         .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(LISTENER_CONNECTIONS, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    int fd = -1;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n != (ssize_t)sizeof(what))
        _exit(0);
    (void)fds_take(&msg, &fd, 1); /* none: there are too many open */
    connection_new(listener, &what, fd);
    return true;
}

/* Sockets that were let go are closed at the end of a turn of the loop, so that only so many are
 * taken in one. */
static void on_connections(void *arg)
{
    for (size_t i = 0; i < LISTENER_TAKEN_AT_ONCE && take_connection(arg); i++)
        ;
}

/* A connection that is not known is gone, or still on its way on the other socket. */
static void handle(struct listener *listener, const struct listener_frame *frame)
{
    if (frame->type == LISTENER_STOP)
        listener->is_stopping = true;
    else if (frame->type != LISTENER_SETUP)
        while (!connection_frame(listener, frame) && take_connection(listener))
            ;
}

/* Blocks only before the first message. */
static void receive(struct listener *listener)
{
    ssize_t n;

    if (buf_reserve(&listener->in, READ_BYTES, NULL) < 0)
        _exit(1);
    n = read(LISTENER_LINK, listener->in.data + listener->in.len, READ_BYTES);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        _exit(0);
    listener->in.len += (size_t)n;
}

/* Returns false when no whole frame is there. */
static bool next_frame(struct listener *listener, size_t *at, struct listener_frame *ret_frame)
{
    ssize_t n = listener_frame_parse(buf_str(&listener->in) + *at, listener->in.len - *at,
                                     LISTENER_ENGINE, ret_frame);

    if (n < 0)
        _exit(1);
    *at += (size_t)n;
    return n > 0;
}

static void on_readable(void *arg)
{
    struct listener *listener = arg;
    struct listener_frame frame;
    size_t at = 0;

    receive(listener);
    while (next_frame(listener, &at, &frame))
        handle(listener, &frame);
    buf_consume(&listener->in, at);
    flush(listener);
}

/* --- the beginning --- */

static void __attribute__((noreturn)) fail(struct listener *listener, const struct error *err)
{
    const char *message = error_message(err);

    say(listener, LISTENER_FAILED, 0, message, strlen(message));
    (void)evbuffer_write(listener->out, LISTENER_LINK);
    _exit(1);
}

static int take_settings(struct listener *listener, uint64_t *ret_connections, struct error *err)
{
    struct listener_setup setup;
    struct listener_frame frame;
    size_t at = 0;
    int r = 0;

    while (!next_frame(listener, &at, &frame))
        receive(listener);
    if (frame.type != LISTENER_SETUP || !listener_setup_read(&frame, &setup))
        return error_set(err, E_INTERNAL, "the first message is not the settings");
    listener->idle_ms = setup.idle_ms;
    *ret_connections = setup.connections;
    if (setup.cert.len)
        r = tls_open(&(struct tls_pair){setup.cert, setup.key}, &listener->tls, err);
    explicit_bzero(listener->in.data, at);
    buf_consume(&listener->in, at);
    return r;
}

static void on_tick(void *arg)
{
    struct listener *listener = arg;

    connections_tick(listener);
    loop_timer_start(listener->tick, TICK_MS);
}

static int open_loop(struct listener *listener, struct error *err)
{
    struct loop *loop = loop_new(err);

    if (!loop)
        return -1;
    listener->loop = loop;
    listener->tick = loop_timer(loop, on_tick, listener);
    listener->later = loop_timer(loop, on_later, listener);
    if (!listener->tick || !listener->later ||
        !loop_watch_fd(loop, LISTENER_LINK, LOOP_READ, on_readable, listener) ||
        !loop_watch_fd(loop, LISTENER_CONNECTIONS, LOOP_READ, on_connections, listener))
        return error_memory(err);
    loop_timer_start(listener->tick, TICK_MS);
    return 0;
}

static void ignore_signals(void)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2};

    for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
        (void)signal(ignored[i], SIG_IGN);
}

int main(void)
{
    static struct listener listener;
    struct error err = {0};
    uint64_t connections = 0;

    ignore_signals();
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    (void)mallopt(M_TOP_PAD, KEPT_BYTES / 4);
    (void)prctl(PR_SET_NAME, "belljar-listen", 0, 0, 0);
    TAILQ_INIT(&listener.connections);
    listener.out = evbuffer_new();
    buf_init(&listener.in, READ_BYTES + LISTENER_FRAME_MAX);
    if (!listener.out)
        return 1;
    if (take_settings(&listener, &connections, &err) < 0 || open_loop(&listener, &err) < 0)
        fail(&listener, &err);
    if (fcntl(LISTENER_LINK, F_SETFL, O_RDWR | O_NONBLOCK) < 0) {
        (void)error_errno(&err, "fcntl");
        fail(&listener, &err);
    }
    if (confine(connections, &err) < 0)
        fail(&listener, &err);
    say(&listener, LISTENER_READY, 0, NULL, 0);
    flush(&listener);
    return loop_run(listener.loop, &err) < 0;
}
