/* The supervisor's side of the write broker (broker/broker.h): starts one for a sandbox, tells it
 * when runs begin and end, and reads what it did.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/loop.h"
#include "base/run.h"

struct config; /* base/config.h */

/* Shared by all brokers of one engine. */
struct brokers;
struct broker_client;

struct masks; /* engine/masking.h: for what brokers say */

struct brokers *brokers_new(struct loop *loop, struct masks *masks, const struct config *config,
                            struct error *err);

/* Waits for those that are still ending. Accepts NULL. */
void brokers_free(struct brokers *brokers);

struct broker_events {
    void (*on_ready)(void *owner);
    void (*on_begun)(void *owner); /* see broker_client_has_begun() */
    /* It cannot work, or it ended by itself. Called once; the client is of no further use. */
    void (*on_failed)(void *owner, struct error *err);
};

struct broker_spec {
    const struct run_grant *grants;
    size_t n_grants;
    const int *writable; /* mounts of those for writing (sandbox/grant.h); only lent */
    uint32_t uid, gid;   /* of the sandbox on the host */
};

int broker_client_new(struct brokers *brokers, const struct broker_spec *spec,
                      const struct broker_events *events, void *owner,
                      struct broker_client **ret_client, struct error *err);

/* Lets it go: it finishes what it does, closes its journal and ends. Accepts NULL. */
void broker_client_free(struct broker_client *client);

bool broker_client_is_ready(const struct broker_client *client);

/* Calls of the sandbox are the broker's from here on. Both descriptors are taken over. */
int broker_client_listen(struct broker_client *client, int root, int listener, struct error *err);

/* Before a run or a cell is handed its code. Where its changes cannot be kept for undo although the
 * settings want that, it does not begin. */
int broker_client_begin(struct broker_client *client, const struct run *run, struct error *err);

/* Whether the broker is done with the run before, and knows of this one. Where processes of an
 * earlier run may still have files open, the program must not get its code before. */
bool broker_client_has_begun(const struct broker_client *client);

/* CPU time that the broker has taken for the present run so far. */
uint64_t broker_client_cpu_ns(const struct broker_client *client);

/* After it: fills in what it changed and what it was refused. */
void broker_client_end(struct broker_client *client, struct run *run);
