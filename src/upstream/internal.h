/* Shared by the files of the client of other servers: upstream.c (calls, and the life of a wire)
 * and upstream_chain.c (what is asked of a server before calls are). */
#pragma once

#include <sys/queue.h>

#include "upstream/upstream.h"
#include "upstream/wire.h"

#define UPSTREAM_MODERN "2026-07-28"
#define UPSTREAM_META   "io.modelcontextprotocol/"

#define UPSTREAM_VERSION_MAX 32

enum upstream_state { UPSTREAM_IDLE, UPSTREAM_OPENING, UPSTREAM_READY };

struct upstream {
    struct upstreams *all;
    const struct config_server *config;
    enum upstream_state state;
    struct upstream_wire *wire;
    bool is_modern;
    bool is_stale;   /* the server said that its tools have changed */
    bool is_listing; /* the chain is at tools/list */
    unsigned n_pages;
    char version[UPSTREAM_VERSION_MAX];
    json_t *listed;      /* that is being filled */
    json_t *description; /* {"tools", "title", "instructions"}, or NULL */
    json_t *opening;     /* title and instructions, until the tools are there */
    struct upstream_request *requests;
    struct upstream_call *waiting;    /* for the chain, in order */
    LIST_HEAD(, upstream_call) calls; /* all, for counting and ending */
    size_t n_calls;
    uint64_t last_id;
    struct loop_watch *broken; /* runs the end of the wire outside of its own callbacks */
    struct error failure;      /* why; E_NONE: all is well */
    unsigned failures;         /* in a row */
    uint64_t not_before_ns;
    unsigned silences;
    uint64_t n_starts;
};

struct upstreams {
    struct loop *loop;
    struct resolver *resolver;
    size_t n;
    struct upstream list[];
};

/* Of ours, or on behalf of a call. */
struct upstream_request {
    struct upstream *upstream;
    struct upstream_request *next;
    uint64_t id;
    struct upstream_call *call; /* NULL: it is a link of the chain */
    void (*on_result)(struct upstream *u, const json_t *result);
    void (*on_refused)(struct upstream *u, const struct error *err, int code);
    struct loop_watch *clock; /* of a link */
};

struct upstream_call {
    struct upstream *upstream;
    LIST_ENTRY(upstream_call) link; /* of all */
    struct upstream_call *next;     /* that waits, too */
    bool is_waiting;
    uint64_t start; /* of the server, that it belongs to */
    char *owner;    /* whose share it takes */
    char *tool;     /* NULL: only the list is asked for */
    json_t *arguments;
    struct upstream_request *request;
    upstream_done done;
    void *user;
    struct loop_watch *clock;
    struct loop_watch *soon; /* an answer that is there already */
};

static inline int upstream_no_memory(struct error *err)
{
    return error_memory(err);
}

static inline uint64_t upstream_timeout_ms(const struct upstream *u)
{
    return (uint64_t)(u->config->timeout_s * 1000);
}

/* Freeing one makes its answer an answer to nothing. */
struct upstream_request *upstream_request_new(struct upstream *u);
void upstream_request_free(struct upstream_request *request);

/* Sends a request, or with `id` 0 a notice. `params` is taken over; NULL fails. */
int upstream_post(struct upstream *u, const char *method, json_t *params, uint64_t id,
                  struct error *err);

/* Ends the wire, from the loop: whoever waits is told why. */
void upstream_break(struct upstream *u, const struct error *why);

/* Sends what waited, once the server is ready. */
void upstream_pump(struct upstream *u);

/* --- upstream_chain.c: ends in upstream_pump(), or upstream_break() --- */

void upstream_chain_begin(struct upstream *u);

/* Its last link alone: the tools have changed. */
void upstream_chain_list(struct upstream *u);
