/* The listener: TCP and Unix sockets, connections with their clocks and bounds, requests in and
 * answers out. What a request means is not known here (api/router.h).
 *
 * One request at a time on a connection; the next is looked at when the answer is on its way. Every
 * clock is a bound on patience, every buffer has a ceiling, and a connection that breaks a rule is
 * answered once and closed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/loop.h"
#include "http/request.h"
#include "http/tls.h"

struct http_server;

struct http_options {
    size_t max_connections;
    size_t max_per_peer;  /* from one place (http/peer.h) */
    uint64_t idle_ms;     /* between requests */
    uint64_t body_total;  /* bytes of bodies held for all requests together */
    size_t answers_total; /* bytes of answers that wait for their readers */

    /* The head is whole. 0: go on with the body (request->body_limit and on_piece count from here);
     * -1: it has been answered. */
    int (*on_head)(void *user, struct request *request);
    /* Whether there is more than one account, so that shares matter. */
    bool (*has_others)(void *user);
    /* The body too. It has to be answered, now or later. */
    void (*on_whole)(void *user, struct request *request);
    void *user;
};

int http_new(struct loop *loop, const struct http_options *options, struct http_server **ret_server,
             struct error *err);

/* Takes a listening socket over, also on failure. `tls`: what is spoken on it, or NULL; it outlives
 * the server. */
int http_listen(struct http_server *server, int fd, struct tls *tls, struct error *err);

/* Takes no new connection and ends each existing one after its answer. `on_idle` is called from the
 * loop when the last one is gone. */
void http_stop(struct http_server *server, void (*on_idle)(void *user), void *user);

/* Cuts what is left. on_gone of open requests is called. */
void http_free(struct http_server *server);

struct http_level {
    size_t connections, requests; /* open; being answered */
    uint64_t served;
};

void http_level(const struct http_server *server, struct http_level *ret_level);
