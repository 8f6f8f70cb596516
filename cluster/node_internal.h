/* Shared by the files of the node. */
#pragma once

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "base/http1.h"
#include "cluster/beat.h"
#include "cluster/engine_pool.h"
#include "cluster/job_keep.h"
#include "cluster/node.h"
#include "cluster/store_link.h"
#include "cluster/stream.h"
#include "cluster/token_sync.h"
#include "cluster/trail_ship.h"

#define RELAY_BUCKETS 1024

/* Requests of all gateways at once: each has a connection to the engine and two windows. */
#define RELAYS_MAX 4096

/* Bytes for the engine that wait: beyond it the gateway is told nothing of what was used. */
#define RELAY_HIGH (256 * KIB)

/* One request of a gateway. */
struct relay {
    LIST_ENTRY(relay) of_bucket;
    TAILQ_ENTRY(relay) of_node;
    struct node *node;
    char gate[13];
    struct stream stream;
    struct evbuffer *request; /* bytes for the engine while there is no connection */
    struct bufferevent *socket;
    struct http_body body_in;  /* of the request, as its head promises: no more, no less */
    struct http_body body_out; /* of the answer */
    size_t scanned;            /* of the answer's head */
    uint64_t left_in;          /* of the request's body with a length */
    uint64_t opened_ns;
    bool is_fresh, has_begun; /* GO has come, or was not needed */
    bool is_asking;           /* whether the gateway still waits for it: it was late */
    bool is_sure;             /* it does */
    bool is_chunked_in;
    bool wants_upgrade, is_upgraded;
    bool is_head;                       /* HEAD: the answer has no body, whatever it says */
    bool has_answer;                    /* its head was passed on */
    bool is_over;                       /* the answer was sent as a whole */
    bool is_request_over;               /* all of the request has come */
    bool keeps_alive;                   /* the engine's connection can be used again */
    bool is_stalled;                    /* the gateway has no room: the engine is not read */
    struct job_hook *hook;              /* of a request that makes or ends a durable job; or NULL */
    bool is_job;                        /* a new durable job, which needs no room now */
    char job_path[CLUSTER_SUBJECT_MAX]; /* of a durable job by its id or key; "": it is another */
    bool reads_job;                     /* GET of it, or of its result */
    uint64_t waits_ns;                  /* since when for the bus to know its end; 0: it does not */
    bool is_held;                       /* the answer waits for the hook */
};

LIST_HEAD(relay_bucket, relay);

struct node {
    struct loop *loop;
    const struct settings *settings;
    struct bus *bus;
    char *password;
    const char *subjects[16];
    char own_subjects[2][CLUSTER_SUBJECT_MAX];
    uint64_t twin_ns; /* another process serves this node, and goes on; when it was heard last */
    uint64_t instance;
    struct beat beat;
    struct members gates;
    struct loop_watch *tick;
    struct relay_bucket buckets[RELAY_BUCKETS];
    TAILQ_HEAD(, relay) relays;
    size_t n_relays, n_fresh;
    int64_t fresh_then; /* n_fresh when the engine said how much room it has */
    bool has_complained;
    bool is_draining;
    struct engine_watch *engine;
    struct engine_pool *pool;
    struct trail_ship *trail;
    struct token_sync *tokens; /* NULL: it keeps none */
    struct job_keep *jobs;     /* NULL: the bus has no copies of them */
    struct store_link *store;
};

/* --- node.c --- */

void node_send_beat(struct node *node);

/* The bus knows that the job is over: what the engine says of it is passed on. */
void node_tell_end(struct node *node, const char *job);

void relay_free(struct relay *relay);

/* Tells the gateway and frees it. */
void relay_reset(struct relay *relay, enum frame_reason reason);

/* --- relay.c: the engine's side --- */

/* A connection to that Unix socket, or -1. */
int relay_dial(const char *path);

/* Connects. -1: the engine cannot be reached. */
int relay_connect(struct relay *relay);

/* A piece of the request's body. -1: more than its head has promised. */
int relay_take_body(struct relay *relay, const struct span *piece, bool is_last);

/* The hook is done: the answer goes. */
void relay_release(struct relay *relay);

/* Makes the head for the engine. -1: it breaks the rules, or is not for gateways. */
int relay_take_head(struct relay *relay, struct span text);

/* The gateway has room again, or what the relay waited for is there. */
void relay_go_on(struct relay *relay);

/* Its connection to the engine is used no longer. */
void relay_close(struct relay *relay);

/* --- engine_watch.c: how much room the engine has --- */

int engine_watch_new(struct node *node, struct engine_watch **ret_watch, struct error *err);
void engine_watch_free(struct engine_watch *watch);

/* Asks again. */
void engine_watch_ask(struct engine_watch *watch);

/* Takes the counts for tokens of another node's engine; NULL: it sent none. */
void engine_watch_hear(struct engine_watch *watch, const char *node, json_t *spent);
