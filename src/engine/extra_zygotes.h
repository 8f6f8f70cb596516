/* Zygotes beside the pool's own: those of other environments, and those for runs with a seed. One
 * is started when a run asks for it, keeps nothing in stock, and ends when nobody has for a while.
 */
#pragma once

#include "base/loop.h"
#include "base/run_terms.h"
#include "engine/environment.h"
#include "engine/fingerprint.h"
#include "engine/zygote_client.h"

#define EXTRA_ZYGOTES_MAX 8

struct extra_zygote {
    char *name; /* of its environment; NULL: the pool's own */
    struct environment environment;
    struct zygote_client *zygote; /* NULL: the place is free */
    uint64_t used_ns;
    char fingerprint[FINGERPRINT_TEXT]; /* "": nobody has asked yet */
};

struct extra_zygotes {
    struct loop *loop;
    struct masks *masks;           /* engine/masking.h */
    const struct config *config;   /* where environments are found; NULL: there is only one */
    const struct environment *own; /* the pool's */
    const struct zygote_events *events;
    void *owner;
    struct extra_zygote slots[EXTRA_ZYGOTES_MAX];
};

/* Do programs on these terms need another zygote than the pool's own? */
bool extra_zygotes_serve(const struct extra_zygotes *sides, const struct run_terms *terms);

/* The zygote for such terms, which is started if need be. NULL: *err says why not. */
struct zygote_client *extra_zygotes_zygote(struct extra_zygotes *sides,
                                           const struct run_terms *terms, struct error *err);

/* The side this zygote belongs to, or NULL. */
struct extra_zygote *extra_zygotes_find(struct extra_zygotes *sides,
                                        const struct zygote_client *zygote);

/* Its zygote has ended, or lives on elsewhere. */
void extra_zygote_forget(struct extra_zygote *side);

/* Ends what nobody has used for a while. */
void extra_zygotes_tend(struct extra_zygotes *sides);
