/* The handshake of TLS, as posted work: anybody may open connections and have a signature made for
 * each, all in one moment. Places that connections come from take turns. */
#include <unistd.h>

#include "base/cleanup.h"
#include "http/internal.h"

static void step(void *arg);

static void on_ready(void *arg)
{
    struct http_connection *c = arg;

    /* Until its turn it need not be told again. */
    loop_watch_free(c->ready);
    c->ready = NULL;
    loop_line_post(c->server->loop, &c->peer->line, &c->work, step, c);
}

static void finish(struct http_connection *c)
{
    struct bufferevent *socket =
        tls_greeting_finish(c->greeting, loop_base(c->server->loop), c->greeting_fd);

    if (!socket) {
        http_cut(c);
        return;
    }
    c->greeting = NULL;
    c->greeting_fd = -1;
    bufferevent_free(c->socket);
    c->socket = socket;
    http_open(c);
}

static void step(void *arg)
{
    struct http_connection *c = arg;
    enum tls_step result = tls_greeting_step(c->greeting);

    if (result == TLS_DONE) {
        finish(c);
        return;
    }
    if (result != TLS_FAILED)
        c->ready =
            loop_watch_fd(c->server->loop, c->greeting_fd,
                          result == TLS_WAITS_TO_WRITE ? LOOP_WRITE : LOOP_READ, on_ready, c);
    if (!c->ready)
        http_cut(c);
}

int http_greet(struct http_connection *c, struct tls *tls, int fd)
{
    c->greeting = tls_greet(tls, fd);
    c->ready = c->greeting ? loop_watch_fd(c->server->loop, fd, LOOP_READ, on_ready, c) : NULL;
    if (!c->ready)
        return -1;
    c->greeting_fd = fd;
    return 0;
}

void http_greet_end(struct http_connection *c)
{
    loop_watch_free(c->ready);
    c->ready = NULL;
    tls_greeting_free(c->greeting);
    c->greeting = NULL;
    close_fd(&c->greeting_fd);
}
