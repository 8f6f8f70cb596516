/* Shared by the files of the gate: egress.c (its listening socket and clients), egress_ask.c (what
 * they say), egress_way.c (to the host), egress_relay.c (bytes). */
#pragma once

#include <sys/queue.h>

#include "base/limits.h"
#include "base/resolve.h"
#include "egress/egress.h"
#include "egress/proxy_head.h"

struct bufferevent;

/* The most bytes that wait for a slow reader, in each direction, and the level at which the writer
 * continues. */
#define EGRESS_HIGH ((size_t)256 * 1024)
#define EGRESS_LOW  ((size_t)64 * 1024)

enum egress_stage {
    EGRESS_ASKING,  /* has not said what it wants */
    EGRESS_SOCKS,   /* has been greeted */
    EGRESS_WAITING, /* for somebody's yes to its host */
    EGRESS_MAKING,  /* the way is being made */
    EGRESS_OPEN,    /* bytes flow */
    EGRESS_CLOSING, /* an answer of ours is on its way, then the end */
};

enum egress_how { EGRESS_HTTP, EGRESS_CONNECT, EGRESS_SOCKS5 };

struct proxy_client {
    struct egress *egress;
    LIST_ENTRY(proxy_client) link;
    enum egress_stage stage;
    enum egress_how how;
    struct bufferevent *inner; /* the program's */
    struct bufferevent *outer; /* the host's, or NULL */
    struct host host;
    uint16_t port;
    bool is_known; /* host and port are */
    const struct net_grant *grant;
    bool is_tls;

    struct lookup *lookup;
    struct address addresses[RESOLVE_MAX];
    size_t n_addresses, tried;

    struct buf head; /* of a request, as it goes out */
    struct http_body body;
    size_t scanned;   /* of a head that is not all there */
    bool is_asked;    /* the request's body has passed, too */
    bool is_answered; /* the head of the answer has passed */
    bool is_inner_held, is_outer_held;
    bool is_inner_over, is_outer_over;
    bool is_reported;
    bool is_over_share; /* it is refused, and not counted as open */

    uint64_t sent, received;
    uint64_t started_ns, active_ns;
};

struct egress {
    struct egress_settings *settings;
    struct loop *loop;
    int listener;
    struct net *net;
    struct egress_owner *owner; /* never NULL */
    egress_fn fn;
    void *user;
    struct loop_watch *door; /* NULL: nobody is let in now */
    struct loop_watch *tick;
    LIST_HEAD(, proxy_client) clients;
    size_t n_guests;
    uint64_t n_total; /* connections, refused ones too */
    struct egress_totals totals;
    egress_ask_fn ask; /* NULL: nobody is asked for hosts */
    struct asked *asked;
    size_t n_asked;
};

/* --- egress.c --- */

/* Ends it: the record, and the memory. `why`: as in a note, or NULL. */
void proxy_client_end(struct proxy_client *g);

/* Counts, and ends it when the sandbox has moved too much. False: it has. */
bool proxy_client_count(struct proxy_client *g, uint64_t sent, uint64_t received);

/* An answer of ours, then the end. `status` of HTTP; `why` in words; `grant`: whether one would
 * help. */
void proxy_client_refuse(struct proxy_client *g, int status, const char *why, bool would_help);

/* --- egress_ask.c --- */

/* The program said something, and has no connection yet. */
void proxy_client_listen(struct proxy_client *g);

/* --- asked.c --- */

#define EGRESS_SAID_NO "the host is not granted, and whoever was asked said no"

/* The grant that somebody's yes has made of the client's host, or NULL. */
const struct net_grant *egress_match_asked(struct proxy_client *g, const struct net_ask *ask);

/* Asks for the host of a client, or says what was answered before. LATER: it has to wait. */
enum egress_consent egress_ask(struct proxy_client *g, const char **ret_why);
void egress_forget_asked(struct egress *egress);

/* --- egress_way.c --- */

/* To where g->host, port, grant and is_tls say. */
void proxy_client_go(struct proxy_client *g);

/* --- egress_relay.c --- */

/* The way is there. */
void proxy_client_open(struct proxy_client *g);
void proxy_client_on_inner(struct bufferevent *inner, void *arg);
void proxy_client_on_inner_event(struct bufferevent *inner, short what, void *arg);
void proxy_client_on_outer(struct bufferevent *outer, void *arg);
void proxy_client_on_outer_event(struct bufferevent *outer, short what, void *arg);
void proxy_client_on_inner_sent(struct bufferevent *inner, void *arg);
void proxy_client_on_outer_sent(struct bufferevent *outer, void *arg);
