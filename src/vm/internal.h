/* Shared by exchange.c (runs and cells), away.c (sessions) and away_file.c (their files). */
#pragma once

#include <sys/queue.h>

#include "base/buf.h"
#include "base/loop.h"
#include "engine/elsewhere.h"
#include "vm/ask.h"
#include "vm/door.h"
#include "vm/exchange.h"
#include "vm/keeper.h"

struct masks;   /* engine/masking.h */
struct outside; /* calls/outside.h */

/* Longer than a machine may be silent about what takes no time. */
#define GRACE_MS 120000

LIST_HEAD(exchange_list, exchange);
LIST_HEAD(errand_list, errand);
LIST_HEAD(away_list, away);

struct exchanges {
    struct elsewhere elsewhere;
    struct loop *loop;
    struct pool *pool;
    struct keeper *keeper;
    struct masks *masks;
    struct machine_door door;
    struct outside *outside; /* what calls of programs reach */
    bool is_emulated;
    unsigned cpus; /* of the machine */
    struct exchange_list list;
    struct away_list aways;
    struct errand_list errands; /* small requests about sessions */
};

/* --- exchange.c --- */

/* A run or a cell on its way: a request, and an answer that comes while it runs. */
struct exchange;

/* `body` writes the request's. `done` follows once, from the loop, when the result or its error is
 * filled in. NULL: out of memory. */
struct exchange *exchange_new(struct exchanges *all, struct run *run, const char *path,
                              int (*body)(const struct run *run, struct buf *out,
                                          struct error *err),
                              void (*done)(void *user, struct run *run), void *user);

/* Nothing follows, and the run inside ends. Accepts NULL. */
void exchange_drop(struct exchange *exchange);

void exchange_hold(void *user, struct run *run, bool is_held);

/* --- away.c --- */

void away_fill(struct elsewhere *elsewhere);

/* All sessions are lost: the machine has ended. */
void away_lose_all(struct exchanges *all);

/* Whatever is left. */
void away_free_all(struct exchanges *all);

/* The path of the session inside, and what is behind it. */
int away_path(const struct away *away, const char *behind, struct buf *out, struct error *err);
struct exchanges *away_exchanges(const struct away *away);

/* --- away_file.c --- */

void away_file_fill(struct elsewhere *elsewhere);
