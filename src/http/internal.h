/* Shared by accept.c (connections), server.c (requests in) and answer.c (answers out). */
#pragma once

#include <event2/buffer.h>
#include <event2/listener.h>

#include "http/link.h"
#include "http/peer.h"
#include "http/request_rules.h"
#include "http/server.h"

#define HTTP_LISTENERS_MAX 8

/* A listener process for the network, and one for Unix sockets: whoever takes over the first cannot
 * speak as a user of this machine. */
enum { HTTP_NETWORK, HTTP_LOCAL, HTTP_LINKS };

/* As the engine sees it; the listener has clocks and states of its own. */
enum http_state {
    HTTP_IDLE,      /* no head of a request yet */
    HTTP_BODY,      /* the head is accepted, the body comes */
    HTTP_HANDLING,  /* whole, in a handler's hands */
    HTTP_STREAMING, /* the same, and its answer has begun */
    HTTP_WRITING,   /* answered; the bytes are on their way */
    HTTP_LINGERING, /* the listener closes it */
    HTTP_DEAD,
};

struct http_listener {
    struct http_server *server;
    struct evconnlistener *socket;
    struct http_link **link;
    bool is_tls, is_cluster;
    uint16_t service;
};

struct http_connection {
    struct http_server *server;
    TAILQ_ENTRY(http_connection) of_server;
    TAILQ_ENTRY(http_connection) of_corked;
    bool is_corked; /* it is in that list */
    struct http_link *link;
    uint64_t id;
    int fd; /* until the listener has it, or -1 */
    bool is_tls;
    uint16_t service; /* as in struct request */
    enum http_state state;
    uint64_t since_ns;    /* in this state */
    uint64_t added;       /* bytes of answers, all of them */
    uint64_t passed;      /* of these: given to the listener */
    uint64_t written;     /* of these: taken by the client's socket */
    struct evbuffer *out; /* those that wait for room on the way */
    uint64_t content;     /* bytes of the body so far */
    uint64_t untold;      /* of these: taken, and the listener does not know */
    uint64_t untaken;     /* of a request that takes itself, or after 101: what waits here */
    bool is_open_body;    /* the listener has not said that the body is over */
    bool is_ended;        /* the listener knows that the answer is over */
    bool is_unix, is_cluster;
    uid_t peer_uid;
    struct http_peer *peer;
    bool is_surplus;  /* one too many from its place, when it came */
    bool is_going_on; /* a frame of it is being handled */
    bool is_closing;  /* after this answer */
    bool is_upgraded; /* 101 was answered: it carries another protocol */
    bool is_framed;   /* which is WebSocket */
    bool is_torn;     /* a part of the answer is missing: there was no memory for it */
    bool is_chunked;  /* the answer that streams */
    bool omits_body;  /* HEAD */
    uint64_t owed;    /* bytes the answer's length has promised and that have not come */
    uint64_t held;    /* of options.body_total */
    struct share_account *account; /* of its latest request */
    struct request *request;
};

/* An id leads to a slot: it is the slot's number, and how often that was given away. */
struct http_slot {
    struct http_connection *connection; /* NULL: free */
    uint32_t uses;
    uint32_t next_free;
};

struct http_server {
    struct loop *loop;
    struct http_options options;
    struct http_link *links[HTTP_LINKS];
    struct http_listener listeners[HTTP_LISTENERS_MAX];
    size_t n_listeners;
    TAILQ_HEAD(, http_connection) connections;
    size_t count;
    bool is_corked;
    TAILQ_HEAD(, http_connection) corked; /* whose answers wait for http_uncork() */
    struct http_slot *slots;
    uint32_t n_slots, free_slot; /* n_slots: none is free */
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

/* --- slots.c --- */

/* Gives the connection an id that none had before. -1: out of memory. */
int http_take_slot(struct http_server *server, struct http_connection *c);
void http_give_slot_back(struct http_server *server, const struct http_connection *c);

/* -1: there never was such a connection of that listener. *ret_c is NULL for one that is gone:
 * frames cross each other. */
int http_find_connection(const struct http_server *server, const struct http_link *link,
                         uint64_t id, struct http_connection **ret_c);

/* --- server.c --- */

void http_enter(struct http_connection *c, enum http_state state);

/* Bytes of answers that the client has not got. */
static inline size_t http_waiting(const struct http_connection *c)
{
    return (size_t)(c->added - c->written);
}

/* --- answer.c --- */

void http_put(struct http_connection *c, const void *data, size_t len);

/* --- upgrade.c --- */

/* BODY, FRAME and BROKEN of a connection with another protocol. -1: they break the rules. */
int http_on_upgraded(struct http_connection *c, const struct listener_frame *frame);

/* Handlers of such connections are told that the server stops. */
void http_stop_upgraded(struct http_server *server);

/* --- accept.c --- */

/* Takes new connections, or rests while there are as many as there may be. */
void http_rest_or_listen(struct http_server *server);

/* --- server.c --- */

/* For struct http_link_events. */
int http_on_frame(void *user, struct http_link *link, const struct listener_frame *frame);

/* One that is in no list any more. */
void http_free_connection(struct http_connection *c);

/* Gives the listener what there is room for, or notes that http_uncork() has to. */
void http_pump(struct http_connection *c);

/* Ready for the next request, or for the end, once all of an answer that has ended is written. */
void http_settle(struct http_connection *c);

/* Frees the request without an answer, after on_gone where somebody holds it. */
void http_drop_request(struct http_connection *c, bool is_gone);

/* Nothing more is expected of the connection. */
void http_cut(struct http_connection *c);
