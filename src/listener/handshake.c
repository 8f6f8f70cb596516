/* The handshake of TLS, as posted work: anybody may open connections and have a signature made for
 * each, all in one moment. Places that connections come from take turns. */
#include <unistd.h>

#include "base/cleanup.h"
#include "listener/internal.h"

static void step(void *arg);

static void on_ready(void *arg)
{
    struct connection *c = arg;

    /* Until its turn it need not be told again. */
    loop_watch_free(c->ready);
    c->ready = NULL;
    loop_line_post(c->listener->loop, &c->peer->line, &c->work, step, c);
}

static void finish(struct connection *c)
{
    struct bufferevent *socket =
        tls_greeting_finish(c->greeting, loop_base(c->listener->loop), c->greeting_fd);

    if (!socket) {
        connection_close(c);
        return;
    }
    c->greeting = NULL;
    c->greeting_fd = -1;
    bufferevent_free(c->socket);
    c->socket = socket;
    connection_open(c);
}

static void step(void *arg)
{
    struct connection *c = arg;
    enum tls_step result = tls_greeting_step(c->greeting);

    if (result == TLS_DONE) {
        finish(c);
        return;
    }
    if (result != TLS_FAILED)
        c->ready =
            loop_watch_fd(c->listener->loop, c->greeting_fd,
                          result == TLS_WAITS_TO_WRITE ? LOOP_WRITE : LOOP_READ, on_ready, c);
    if (!c->ready)
        connection_close(c);
}

int handshake_begin(struct connection *c, int fd)
{
    c->greeting = tls_greet(c->listener->tls, fd);
    c->ready = c->greeting ? loop_watch_fd(c->listener->loop, fd, LOOP_READ, on_ready, c) : NULL;
    if (!c->ready)
        return -1;
    c->greeting_fd = fd;
    return 0;
}

void handshake_end(struct connection *c)
{
    loop_watch_free(c->ready);
    c->ready = NULL;
    tls_greeting_free(c->greeting);
    c->greeting = NULL;
    close_fd(&c->greeting_fd);
}
