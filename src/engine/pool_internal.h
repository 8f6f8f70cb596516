/* Shared by pool.c (life of a pool), pool_queue.c (orders: who waits, who is next, answers),
 * pool_stock.c (sandboxes that wait, and how they are made) and pool_zygotes.c (what makes them).
 */
#pragma once

#include "engine/box.h"
#include "engine/extra_zygotes.h"
#include "engine/fingerprint.h"
#include "engine/pool.h"

/* Zygotes that only live for sandboxes they have made: sessions may be kept for hours. At the limit
 * the present one serves on. */
#define POOL_RETIRED_MAX 16

TAILQ_HEAD(pool_orders, pool_order);

/* Two kinds of sandboxes. An interpreter alone is made, filled and removed several times as fast as
 * one that carries the modules of `preload`, and can import whatever the other has: a wrong choice
 * costs time only (engine/program_needs.h). Sessions get the full kind. */
enum stock_kind { STOCK_FULL, STOCK_BARE, STOCK_KINDS };

struct stock {
    enum stock_kind kind;
    struct environment environment; /* shares everything with the pool's */
    struct zygote_client
        *zygotes[POOL_ZYGOTES_MAX]; /* make new sandboxes in turn; NULL between two */
    size_t n_zygotes;               /* so many there should be */
    size_t turn;                    /* the place whose turn it is */
    struct box **idle;              /* room for `options.size` of them, the latest last */
    size_t n_idle, n_hot_idle;
    size_t n_making, n_hot_making; /* for the stock and for orders */
    size_t n_ordered;              /* of these, for orders */
    bool has_old_idle;             /* some may be of a retired zygote */
};

struct pool {
    struct loop *loop;
    struct cgroup_host *cgroups;
    struct recorder *recorder;
    struct brokers *brokers;
    struct pool_options options;
    bool is_closing;         /* pool_free() is at work */
    struct loop_watch *soon; /* schedules outside of the caller's stack */

    /* pool_queue.c */
    struct pool_orders queue;   /* that wait for their turn */
    struct pool_orders ordered; /* whose sandbox is being made */
    struct pool_orders done;    /* whose answer is due */
    struct pool_orders away;    /* whose run is elsewhere */
    size_t n_queued, n_ordered;
    size_t n_active; /* runs in their sandbox */
    struct loop_work answering;

    /* pool_stock.c */
    struct stock stocks[STOCK_KINDS];
    size_t n_stocks;     /* 1: all sandboxes are alike, since nothing is imported in advance */
    uint32_t bare_share; /* of the latest orders, in parts of STOCK_SHARE_ALL */
    uint64_t made;
    struct loop_watch *pressure;
    bool is_tight; /* memory is short: no stock */

    /* pool_zygotes.c */
    char fingerprint[FINGERPRINT_TEXT]; /* of its environment; "": nobody has asked yet */
    struct extra_zygotes sides;         /* those of other environments and seeds */
    struct zygote_client *retired[POOL_RETIRED_MAX]; /* live until their last sandbox is gone */
};

/* --- pool_queue.c --- */

/* Decides what happens next: serves orders, and refills the stock. */
void pool_schedule(struct pool *pool);

/* A sandbox has been made for the order, or was in stock. */
void pool_start(struct pool *pool, struct box *box, struct pool_order *order);

/* Answers follow from the loop. The order is in no list. */
void pool_answer(struct pool *pool, struct pool_order *order);
void pool_answer_error(struct pool *pool, struct pool_order *order, struct error *err);
void pool_answer_cancelled(struct pool *pool, struct pool_order *order);

/* Ends the wait of all orders, or of those for this zygote's sandboxes. */
void pool_fail_queue(struct pool *pool, const struct zygote_client *zygote,
                     const struct error *err);

/* Cancels what is elsewhere. */
void pool_cancel_away(struct pool *pool);

/* Cancels what waits, and gives all answers that are due. */
void pool_cancel_queue(struct pool *pool);
void pool_deliver_all(struct pool *pool);

/* --- pool_stock.c --- */

/* Makes room for the stock and looks after memory. */
int pool_open_stock(struct pool *pool, struct error *err);
void pool_close_stock(struct pool *pool);

/* The stock that has sandboxes of the kind that the order asks for. */
struct stock *pool_stock_for(struct pool *pool, const struct pool_order *order);

/* The mix of orders decides how many of each kind wait. */
void pool_learn_mix(struct pool *pool, const struct pool_order *order);

/* One from the stock, NULL: there is none. `zygote`: only one of its, or NULL. */
struct box *pool_take_idle(struct stock *stock, const struct zygote_client *zygote);

/* How many should wait, and how many of them are left to callers with few runs. */
size_t stock_wanted(const struct pool *pool, const struct stock *stock);
size_t stock_reserve(const struct pool *pool, const struct stock *stock);

/* In all stocks. */
size_t pool_count_idle(const struct pool *pool);
size_t pool_count_making(const struct pool *pool);

/* Makes what is missing, as far as that is worth while now. */
void pool_refill(struct pool *pool);
void pool_tell_level(struct pool *pool);

/* Has a sandbox made, for that order or, with NULL, for the stock that it counts in. */
int pool_make_box(struct pool *pool, struct stock *stock, struct zygote_client *zygote,
                  const struct box_spec *spec, struct pool_order *order, struct error *err);

/* The sandbox is not being made for its order any more. Returns the order, or NULL. */
struct pool_order *pool_take_reserved(struct pool *pool, struct box *box);

/* --- pool_zygotes.c --- */

void pool_open_zygotes(struct pool *pool);

/* Starts those that are missing. */
int pool_start_zygotes(struct pool *pool, struct error *err);

/* The one that makes the next sandbox of the stock: one that is ready, if there is any. NULL: there
 * is none just now. It is the same one until pool_end_turn() says that it has made one. */
struct zygote_client *pool_next_zygote(const struct stock *stock);
void pool_end_turn(struct stock *stock, const struct zygote_client *zygote);

/* It makes sandboxes for the stock, and no other one has taken its place. */
bool stock_has_zygote(const struct stock *stock, const struct zygote_client *zygote);

/* The zygote whose sandboxes fit the order. NULL: there is none just now, or *err says why there
 * cannot be one. */
struct zygote_client *pool_zygote_for(struct pool *pool, const struct pool_order *order,
                                      struct error *err);

/* Replaces zygotes that are old, and ends those that have nothing left to do. */
void pool_recycle(struct pool *pool);

/* Ends all, and answers what ran in their sandboxes as cancelled. */
void pool_end_zygotes(struct pool *pool);
