/* A change of skills or states that a request asks for: made at once, or, if several machines share
 * them (store/replica.h), when all of them have it. */
#pragma once

#include "http/request.h"
#include "store/replica.h"

struct store_change {
    struct replica_wait wait; /* first: it is how the change is found again */
    struct request *request;
    struct store *store;
    const char *owner;

    /* --- set by the caller --- */
    /* Makes it; it may be called again, as replica_wait's. */
    int (*make)(struct store_change *change, struct error *err);
    /* Answers the request. After a failure `err` has its code. */
    void (*answer)(struct store_change *change, struct error *err);
    json_t *input; /* freed with the change; or NULL */

    /* --- results of make() --- */
    int64_t version;
    bool is_new;
};

/* For a state of that name, or a skill. NULL: the request has been answered. */
struct store_change *store_change_new(struct request *request, enum replica_kind kind,
                                      const char *name);

/* answer() follows, unless the client goes away; then the change is freed. */
void store_change_begin(struct store_change *change);
