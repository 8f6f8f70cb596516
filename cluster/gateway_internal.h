/* Shared by the files of the gateway. */
#pragma once

#include <event2/buffer.h>

#include "cluster/beat.h"
#include "cluster/gateway.h"
#include "cluster/names.h"
#include "cluster/roster.h"
#include "cluster/route.h"
#include "cluster/stream.h"
#include "http/server.h"

#define EXCHANGE_BUCKETS 1024

/* Nodes that one request is offered to. */
#define TRIES_MAX 8

/* A body that is kept, so that a lost node's work can be given to another. */
#define COPY_BYTES MIB

/* A body that has to be read before it is known who answers. */
#define COLLECT_BYTES (8 * MIB)

struct fan;

enum exchange_phase {
    EXCHANGE_READS,   /* the body has to be known first, or who has the name */
    EXCHANGE_OFFERED, /* a node was asked whether it accepts, and has not said */
    EXCHANGE_RUNS,    /* a node has it */
};

/* One request of a client. */
struct exchange {
    LIST_ENTRY(exchange) of_bucket;
    TAILQ_ENTRY(exchange) of_gateway;
    struct gateway *gateway;
    struct request *request; /* NULL: it is one of a fan, or its client has gone */
    struct fan *fan;         /* of which it is one part, or which it has begun; or NULL */
    bool is_part;
    const struct http_head *head;
    struct route_target target;
    struct stream stream;
    bool has_stream;
    enum exchange_phase phase;
    char node[13];
    char tried[TRIES_MAX][13];
    size_t n_tried;
    uint64_t asked_ns;
    uint64_t offered_ns;      /* to this node */
    struct evbuffer *pending; /* of the client, for which the stream has no room */
    struct evbuffer *copy;    /* of all of it, while it is short; NULL: it may not be run again */
    size_t untaken;           /* bytes of it that the client's connection counts */
    bool is_body_over;
    bool is_fresh;
    bool collects;                     /* the body is read before anybody is asked */
    bool has_no_bucket;                /* for names */
    bool has_claimed;                  /* the name's entry was written for this request */
    uint64_t epoch;                    /* of what is known of names, when the bucket was asked */
    char profile[65], environment[65]; /* that the work needs; "": any */
    bool has_key;                      /* `key` is of an idempotency key, else of a name */
    bool has_answer;
    bool wants_upgrade, is_upgraded;
    bool is_held; /* the client is behind */
    bool was_busy;
    bool asked_all;              /* of a durable job: which node has it, or its key, now */
    struct keep_request *asking; /* who has the name */
    char key[KEEP_KEY_SIZE];     /* of the name; "": there is none */
};

LIST_HEAD(exchange_bucket, exchange);
TAILQ_HEAD(exchange_list, exchange);

struct gateway {
    struct loop *loop;
    const struct settings *settings;
    struct bus *bus;
    char *password;
    char own_subject[CLUSTER_SUBJECT_MAX];
    const char *subjects[4];
    struct beat beat;
    struct members nodes;
    uint64_t last_exchange;
    struct exchange_bucket buckets[EXCHANGE_BUCKETS];
    struct exchange_list exchanges;
    uint64_t n_freed; /* exchanges: whoever walks the list begins again */
    struct http_server *http;
    struct keep *keep;
    struct names *names;
    struct buf tls_cert, tls_key;
    struct loop_watch *tick, *beat_timer;
    uint64_t up_ns;    /* since when the bus is there */
    uint64_t heard_ns; /* when any node was heard last */
    uint64_t lost_ns;  /* when one was lost last */
    bool is_listening;
    uint64_t listen_by_ns; /* even if no node was heard until then */
    uint64_t random;       /* of choices between nodes */
    uint64_t n_lost;       /* nodes that fell silent */
    struct roster lost;    /* of those that are not back */
};

/* --- gateway.c --- */

/* A node for fresh work that was not tried, or NULL: of two by chance, the roomier one. */
struct member *gateway_choose(struct gateway *gateway, const struct exchange *x);

/* Whether a node may be given that work now, and the runs that it has room for. */
bool gateway_is_ready(const struct gateway *gateway, const struct exchange *x,
                      const struct member *m);
int64_t gateway_room(const struct member *m);

/* Whether a node has said which profiles or environments it serves: then bodies are read first. */
bool gateway_places(const struct gateway *gateway);

/* The node that all gateways choose for x's name, of those that they know. */
struct member *gateway_home(struct gateway *gateway, const struct exchange *x);

/* Whether a node by that name was heard lately. */
bool gateway_knows(const struct gateway *gateway, const char *node);

/* Fresh work that the node had accepted is over: there is room for one more. */
void gateway_note_end(struct gateway *gateway, const char *node);

/* Nothing at all is heard: what it knows of the nodes is worth nothing. */
bool gateway_is_deaf(const struct gateway *gateway);

/* --- exchange.c --- */

int exchange_on_head(void *user, struct request *request);
void exchange_on_whole(void *user, struct request *request);

/* NULL: out of memory. `request`: NULL for a part of a fan. */
struct exchange *exchange_make(struct gateway *gateway, struct request *request);

/* It is found by that number from here on. */
void exchange_enter(struct exchange *x, uint64_t number);

/* Sends what the client has sent, as far as there is room. */
void exchange_pump(struct exchange *x);

/* A frame for it. */
void exchange_take(struct exchange *x, const struct frame *frame);

/* The server says that nobody listens at its node. */
void exchange_no_responders(struct exchange *x);

/* Its node is gone. */
void exchange_lose(struct exchange *x);

/* Now and then. */
void exchange_tick(struct exchange *x, uint64_t now_ns);

/* Without an answer. */
void exchange_free(struct exchange *x);

/* --- dispatch.c --- */

/* Finds who answers, by the head, or by the body that has come. -1: it was refused, and x is gone.
 */
int exchange_dispatch(struct exchange *x);
int exchange_dispatch_body(struct exchange *x);

/* To a node that has not been asked; the same. */
int exchange_offer_next(struct exchange *x);

/* A durable job that its first home does not have: all are asked. -1: it was refused, and x is
 * gone. */
int exchange_find_job(struct exchange *x);

/* For a fan: one request to that node, whose answer the fan collects. `body` outlives it. -1: it
 * was not sent, and the fan has been told, or there is no memory. */
int exchange_begin_part(struct fan *fan, const struct http_head *head, const char *node,
                        struct span body);

/* What a fan has found out: the node that has the name, or NULL if no node has it. */
void exchange_found(struct exchange *x, const char *node);

/* --- fan.c: one request to all nodes --- */

/* Asks all nodes and merges their lists. -1: it was refused, and x is gone. */
int fan_list(struct exchange *x);

/* Asks all nodes for that path; exchange_found() follows. */
void fan_find(struct exchange *x, const char *target);

/* The streams of events of all nodes as one. The same. */
int follow_events(struct exchange *x);

/* Cuts a batch, whose body has been collected, and spreads it over nodes. False: that is not
 * possible now, and one node is to have it; else x has been dealt with. */
bool spread_batch(struct exchange *x, const json_t *body);

/* The part may take as long as it does. */
bool fan_lasts(const struct exchange *part);

/* Now and then; and when the client has read. It may be gone afterwards, with its exchange. */
void fan_tick(struct fan *fan, uint64_t now_ns);
void fan_drained(struct fan *fan);

struct gateway *fan_gateway(const struct fan *fan);
void fan_free(struct fan *fan); /* with all its parts */

void fan_take_head(struct exchange *part, int status);
bool fan_take_data(struct exchange *part, const void *data, size_t len); /* false: it is to wait */
void fan_note_no_engine(struct exchange *part);         /* it could not be asked, or ended */
void fan_end_part(struct exchange *part, bool is_lost); /* the part is freed */

/* --- refuse.c: answers of the gateway's own --- */

/* Answers and frees it. `code` is one of the API's words. */
void exchange_refuse(struct exchange *x, int status, const char *code, const char *message,
                     const char *hint);

/* A node that does not answer may have it. */
void exchange_refuse_unsure(struct exchange *x);

/* The node that its id names is gone. */
void exchange_refuse_lost(struct exchange *x);
