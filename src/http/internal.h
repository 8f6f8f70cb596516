/* Shared by http.c (sockets, clocks, requests in) and http_answer.c (answers out). */
#pragma once

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>

#include "http/peer.h"
#include "http/request_rules.h"
#include "http/server.h"

#define HTTP_LISTENERS_MAX 8

enum http_state {
    HTTP_IDLE,      /* no byte of a request yet */
    HTTP_HEAD,      /* some */
    HTTP_BODY,      /* the head is accepted, the body comes */
    HTTP_HANDLING,  /* whole, in a handler's hands */
    HTTP_STREAMING, /* the same, and its answer has begun */
    HTTP_WRITING,   /* answered; the bytes are on their way */
    HTTP_LINGERING, /* closed on our side; what the client still sends is thrown away */
    HTTP_DEAD,
};

struct http_listener {
    struct http_server *server;
    struct evconnlistener *socket;
    struct tls *tls;
};

/* Bytes have to flow: so many within a window, else the other side is not serious. */
struct http_pace {
    uint64_t since_ns;
    uint64_t bytes;
};

struct http_connection {
    struct http_server *server;
    struct http_connection *before, *after;
    struct bufferevent *socket;
    enum http_state state;
    uint64_t since_ns; /* in this state */
    struct http_pace in, out;
    uint64_t received; /* bytes of the body, its framing included */
    uint64_t added;    /* bytes of answers, all of them */
    size_t scanned;    /* of the head */
    struct http_body body;
    bool is_unix;
    bool is_tls;
    struct tls_greeting *greeting; /* the handshake, or NULL: `socket` has no descriptor yet */
    int greeting_fd;
    struct loop_watch *ready;
    uid_t peer_uid;
    struct http_peer *peer;
    bool is_surplus;  /* one too many from its place, when it came */
    bool is_going_on; /* its bytes are being looked at */
    bool is_closing;  /* after this answer */
    bool is_chunked;  /* the answer that streams */
    bool omits_body;  /* HEAD */
    uint64_t owed;    /* bytes the answer's length has promised and that have not come */
    uint64_t held;    /* of options.body_total */
    struct share_account *account; /* of its latest request */
    struct request *request;
    struct loop_work work; /* what it has received waits for a turn of the loop */
};

struct http_server {
    struct loop *loop;
    struct http_options options;
    struct http_listener listeners[HTTP_LISTENERS_MAX];
    size_t n_listeners;
    struct http_connection *first, *last;
    size_t count;
    struct http_peers peers;
    size_t n_requests;
    uint64_t served;
    uint64_t held;
    struct share_account nobody; /* of requests without a caller */
    struct loop_watch *tick;
    bool is_full; /* the listeners rest */
    bool is_stopping;
    void (*on_idle)(void *user);
    void *on_idle_user;
};

void http_enter(struct http_connection *c, enum http_state state);

/* --- http_greet.c --- */

/* Begins the handshake; http_open() follows, or http_cut(). On failure the descriptor is the
 * caller's. */
int http_greet(struct http_connection *c, struct tls *tls, int fd);
void http_greet_end(struct http_connection *c);

/* --- http.c --- */

/* Requests are read from here on. */
void http_open(struct http_connection *c);

/* Frees the request without an answer, after on_gone where somebody holds it. */
void http_drop_request(struct http_connection *c, bool is_gone);

/* Nothing more is expected of the connection. */
void http_cut(struct http_connection *c);
