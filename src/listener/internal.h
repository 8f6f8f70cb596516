/* Shared by the files of belljar-listener. */
#pragma once

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "base/buf.h"
#include "base/loop.h"
#include "http/listener_message.h"
#include "http/peer.h"
#include "http/request_rules.h"
#include "http/tls.h"
#include "http/websocket_frame.h"

/* Connections in one turn of the loop. */
#define LISTENER_TAKEN_AT_ONCE 64

enum state {
    IDLE,      /* no byte of a request yet */
    HEAD,      /* some */
    BODY,      /* the engine has the head, the body comes */
    HANDLING,  /* the engine has all of it; it answers */
    OPEN,      /* no HTTP any more: the engine gets frames or bytes as they come */
    WRITING,   /* the answer is over; the bytes are on their way */
    LINGERING, /* closed on our side; what the client still sends is thrown away */
    DEAD,
};

/* Bytes have to flow: so many within a window, else the other side is not serious. */
struct pace {
    uint64_t since_ns;
    uint64_t bytes;
};

struct connection {
    struct listener *listener;
    TAILQ_ENTRY(connection) link;
    uint64_t id;
    struct bufferevent *socket;
    enum state state;
    uint64_t since_ns; /* in this state */
    uint64_t heard_ns; /* the last bytes that were thrown away */
    struct pace in, out;
    uint64_t received; /* bytes of the body, its framing included */
    uint64_t added;    /* bytes of answers, all of them */
    uint64_t told;     /* of these: the engine knows that they have left */
    uint64_t untaken;  /* bytes of the body that the engine has not taken */
    size_t scanned;    /* of the head */
    struct http_body body;
    struct websocket_reader frames; /* while OPEN; without a limit for messages there are none */
    struct tls_greeting *greeting;  /* the handshake, or NULL: `socket` has no descriptor yet */
    int greeting_fd;
    struct loop_watch *ready;
    struct http_peer *peer;
    bool is_tls;
    bool is_closing;  /* after this answer */
    bool is_refused;  /* what it sends is not read any more */
    bool is_stalled;  /* it has bytes of a body for which there is no room on the way */
    bool is_ahead;    /* it has sent more than the next head while a request is handled */
    bool is_going_on; /* its bytes are being looked at */
    struct loop_work work;
};

struct listener {
    struct loop *loop;
    uint64_t idle_ms;
    struct tls *tls; /* NULL: there is none */
    bool is_stopping;
    TAILQ_HEAD(, connection) connections;
    struct connection **slots; /* by the lower half of their ids */
    size_t n_slots;
    struct http_peers peers;
    struct loop_watch *tick;
    struct evbuffer *out; /* for the engine */
    struct buf in;        /* from it */
    struct loop_watch *writing;
    bool is_urgent; /* some of `out` does not wait for `later` */
    struct loop_watch *later;
    bool has_timer;   /* `later` is running */
    bool has_stalled; /* bodies wait until the engine has caught up */
    struct loop_work catching_up;
};

/* --- main.c --- */

/* Frames for the engine are collected until flush(). Without memory or without an engine there is
 * nothing to do here: the process ends. */
void say(struct listener *listener, enum listener_type type, uint64_t connection, const void *data,
         size_t len);
/* Goes with the next frame that does not wait, or a moment later. */
void say_later(struct listener *listener, enum listener_type type, uint64_t connection,
               const void *data, size_t len);
void flush(struct listener *listener);

/* The engine is behind: bodies wait. */
bool is_behind(const struct listener *listener);

/* --- connection.c --- */

/* Takes the descriptor over. */
void connection_new(struct listener *listener, const struct listener_connection *what, int fd);

/* Something the engine says about a connection. False: there is none of that id. */
bool connection_frame(struct listener *listener, const struct listener_frame *frame);

/* The engine has caught up. */
void connections_go_on(struct listener *listener);
void connections_tick(struct listener *listener);

/* Requests are read from here on. */
void connection_open(struct connection *c);
void connection_close(struct connection *c);

/* --- handshake.c --- */

/* Begins the handshake; connection_open() follows, or connection_close(). On failure the descriptor
 * is the caller's. */
int handshake_begin(struct connection *c, int fd);
void handshake_end(struct connection *c);

/* --- confine.c --- */

/* Gives up everything but the descriptors it has. */
int confine(uint64_t connections, struct error *err);
