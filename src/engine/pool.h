/* Provides sandboxes: a stock of finished ones, which is refilled in the background.
 *
 * Taking one costs a message. A run that needs what a finished sandbox cannot have (granted
 * directories, another disk size) gets one made to order. Without a stock every sandbox is made on
 * demand, as for `belljar run` without a server.
 */
#pragma once

#include <stddef.h>
#include <sys/queue.h>

#include "base/error.h"
#include "base/loop.h"
#include "base/run.h"
#include "engine/elsewhere.h"
#include "engine/zygote_client.h"
#include "sandbox/cgroup.h"

struct brokers;     /* engine/broker_client.h */
struct call_record; /* calls/call.h */
struct pool;
struct recorder; /* engine/recorder.h */

struct pool_options {
    const struct elsewhere *elsewhere; /* NULL: programs run here. Outlives the pool */
    struct masks *masks;               /* of every run (engine/masking.h); outlives the pool */
    struct environment environment;
    struct outside *outside;        /* what calls reach (calls/outside.h); outlives the pool */
    struct egress_settings *egress; /* how granted hosts are reached (egress/egress.h); too */
    const struct config *config;    /* where others are found; NULL: there are none */
    size_t size;                    /* sandboxes that wait; POOL_AUTO: from cores and memory */
    size_t hot; /* of these, how many have run the warm-up; POOL_AUTO: as many as cores times two */
    size_t zygotes;           /* of each kind of sandbox; 0: one; POOL_AUTO: from cores */
    size_t max_active;        /* runs at once; more wait in order */
    uint64_t zygote_max_runs; /* then it is replaced; 0: never */
    uint64_t zygote_max_ms;
    struct run_limits limits; /* what waiting sandboxes are made for */
    void (*on_level)(void *user, size_t idle, size_t wanted); /* optional */
    void *user;
};

#define POOL_AUTO ((size_t)-1)

#define POOL_ZYGOTES_MAX 16

struct pool_level {
    size_t idle, making, active, queued, wanted;
    uint64_t made; /* sandboxes so far */
};

/* Starts the zygote, which warms up while the caller goes on. */
int pool_new(struct loop *loop, const struct pool_options *options, struct pool **ret_pool,
             struct error *err);

/* Sets the cgroups of sandboxes. Call it before the loop runs or anything is submitted; probing the
 * host and starting the zygote then go side by side. */
void pool_set_cgroups(struct pool *pool, struct cgroup_host *cgroups);

/* The write brokers; as above. */
void pool_set_brokers(struct pool *pool, struct brokers *brokers);

/* Sets the recorder of runs, before anything is submitted. It outlives the pool. NULL: none. */
void pool_set_witness(struct pool *pool, struct recorder *recorder);
/* Of every run that is submitted. A text of no run is masked with them, too (engine/masking.h). */
struct masks *pool_masks(const struct pool *pool);

/* Calls of its runs that wait for a yes (calls/approval.h). */
struct approvals *pool_approvals(const struct pool *pool);
const struct outside *pool_outside(const struct pool *pool);

struct recorder *pool_witness(const struct pool *pool);

/* Ends everything: unanswered runs are answered as cancelled, what their on_done still submits as
 * E_BUSY. When it returns, no process of ours is left. Not from within an on_done. */
void pool_free(struct pool *pool);

/* The run's on_done follows, from the loop. The run stays the caller's and must live until then.
 * -1: out of memory, which run->result.error says. No on_done follows, unless the caller refuses
 * it. */
int pool_submit(struct pool *pool, struct run *run);

/* The answer of a run that never had its turn: run->result.status and .error say why. It is written
 * down, and its on_done is called from here. */
void pool_refuse(struct pool *pool, struct run *run);

/* The run has been elsewhere, and its result is filled in; its on_done follows. */
void pool_finish(struct pool *pool, struct run *run);

/* Ends a run early, wherever it is; its on_done follows. */
void pool_cancel(struct pool *pool, struct run *run);

enum pool_order_state {
    POOL_ORDER_NONE,
    POOL_ORDER_QUEUED, /* waits for its turn */
    POOL_ORDER_MAKING, /* its sandbox is being made */
    POOL_ORDER_DONE,   /* its answer is due */
};

/* An order for a sandbox: a place in the pool's queue. The pool makes one for each run that is
 * submitted; a session has one of its own, and gets the sandbox itself. */
struct pool_order {
    const struct run_terms *terms; /* outlive the order */
    uint32_t crowd;                /* as in struct run_origin */
    struct zygote_client *zygote;  /* the sandbox has to be one of this one's; NULL: of any */
    /* A sandbox that fits. It is the taker's from here on (engine/box.h, box_keep). */
    void (*on_box)(struct pool_order *order, struct box *box);
    /* There is none, and why; E_NONE: the order was cancelled. It may be freed from here on. */
    void (*on_no_box)(struct pool_order *order, struct error *err);
    void *user;

    /* --- the pool's own --- */
    TAILQ_ENTRY(pool_order) link;
    enum pool_order_state state;
    bool is_bare;       /* an interpreter without the modules of `preload` will do */
    struct run *run;    /* to be run in it; NULL: the sandbox itself is wanted */
    struct box *box;    /* that is being made for it */
    struct error error; /* why there is none */
};

/* One of on_box and on_no_box follows, on_no_box from the loop. The order stays the caller's and
 * must live until then. */
void pool_order(struct pool *pool, struct pool_order *order);

/* Its on_no_box follows, unless it has been answered. */
void pool_cancel_order(struct pool *pool, struct pool_order *order);

/* Holds the output of a run that has its sandbox, and lets it flow again: for a client that reads
 * slower than the program writes. What is not read stays in the pipes, and the program waits when
 * they are full. Its clocks go on. A run that ends is not held. */
void pool_hold(struct run *run, bool is_held);

/* A sandbox that was ordered is gone: its zygote may have been waiting for that. */
void pool_notice(struct pool *pool);

void pool_level(const struct pool *pool, struct pool_level *ret_level);

/* Programs can run at once. Elsewhere they wait for what they need there. */
bool pool_is_ready(const struct pool *pool);

/* Records a call of a program that runs elsewhere, which is about to be answered. */
int pool_record_call(const struct pool *pool, const struct call_record *call, struct error *err);

/* NULL: programs run here. */
const struct elsewhere *pool_elsewhere(const struct pool *pool);

/* The zygote that makes sandboxes with the modules of `preload`; NULL between two. */
const struct zygote_client *pool_zygote(const struct pool *pool);

/* Calls `fn` for each sandbox, sessions' included. It must not free any. */
void pool_each_box(const struct pool *pool, void (*fn)(void *user, struct box *box), void *user);

/* Calls `fn` for each waiting sandbox (for measuring them). */
void pool_each_idle(const struct pool *pool, void (*fn)(void *user, const struct box *box),
                    void *user);
