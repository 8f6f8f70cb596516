/* The server: TCP and Unix sockets, connections and their shares, requests in and answers out. What
 * a request means is not known here (api/router.h).
 *
 * Connections are accepted here, so that who is at the other end is our own knowledge, and handed
 * to a process that reads what strangers send (src/listener/). Here nothing is parsed that comes
 * from a client's socket: requests come as fields, which are checked (http/listener_message.h).
 *
 * One request at a time on a connection; the next is looked at when the answer is on its way. Every
 * buffer has a ceiling, and a connection that breaks a rule is answered once and closed. When the
 * listener ends, its connections do; requests of theirs end as if their clients had gone.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/group_sync.h"
#include "base/loop.h"
#include "http/request.h"

struct http_server;

struct http_options {
    size_t max_connections;
    size_t max_per_peer;     /* from one place (http/peer.h) */
    uint64_t idle_ms;        /* between requests */
    uint64_t body_total;     /* bytes of bodies held for all requests together */
    size_t answers_total;    /* bytes of answers that wait for their readers */
    struct group_sync *disk; /* answers wait for it (base/disk_hold.h); NULL: they do not */
    struct span cert, key;   /* PEM, for TLS, or empty; copied with the first socket */

    /* The head is whole. 0: go on with the body (request->body_limit and on_piece count from here);
     * -1: it has been answered. */
    int (*on_head)(void *user, struct request *request);
    /* Whether there is more than one account, so that shares matter. */
    bool (*has_others)(void *user);
    /* The body too. It has to be answered, now or later. */
    void (*on_whole)(void *user, struct request *request);
    /* Whether who asked is still known; looked at now and then, while a page's request goes on. */
    bool (*is_known)(const struct request *request);
    void *user;
};

int http_new(struct loop *loop, const struct http_options *options, struct http_server **ret_server,
             struct error *err);

/* HTTP_CLUSTER: a Unix socket behind which are clients of other machines, whoever connects: nobody
 * is believed to be a user of this one, and one peer may have all connections. */
enum http_socket { HTTP_PLAIN, HTTP_TLS, HTTP_UNIX, HTTP_CLUSTER };

/* Takes a listening socket over, also on failure. Starts the listener for its kind, and fails when
 * that cannot be confined. */
int http_listen(struct http_server *server, int fd, enum http_socket kind, struct error *err);

/* A plain one whose requests are for one service only, whatever they say (struct request). */
int http_listen_for(struct http_server *server, int fd, uint16_t service, struct error *err);

/* Parts of answers from http_cork() to http_uncork() leave together: a listener that is told of
 * each wakes up, and wakes the client up, as often. */
void http_cork(struct http_server *server);
void http_uncork(struct http_server *server);

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
