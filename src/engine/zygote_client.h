/* The supervisor's side of one zygote: starts it, asks it for sandboxes, hears of their ends.
 *
 * Sandboxes are known by an id that the client hands out; a message about an id that is not alive
 * is ignored (a sandbox may die while we are giving it up), anything else unexpected ends the
 * zygote.
 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "base/error.h"
#include "base/loop.h"
#include "engine/environment.h"
#include "sandbox/ns.h"
#include "wire/message.h"

struct zygote_client;
struct box;

struct zygote_events {
    void (*on_ready)(void *owner, struct zygote_client *zygote);
    /* It ended, and no process of it or of its sandboxes is left; `err` says why, NULL: it was
     * asked to. Called once, from the loop, never from within a call of ours. The owner frees it.
     */
    void (*on_end)(void *owner, struct zygote_client *zygote, const struct error *err);
};

struct masks; /* engine/masking.h: for what the zygote says */

int zygote_client_new(struct loop *loop, struct masks *masks, const struct environment *environment,
                      const struct zygote_events *events, void *owner,
                      struct zygote_client **ret_zygote, struct error *err);

/* Kills it; on_end follows. */
void zygote_client_end(struct zygote_client *zygote);

/* Kills it and waits, some seconds at most, until no process of it or of its sandboxes is left.
 * Only where no loop runs any more. */
void zygote_client_wait(struct zygote_client *zygote);

/* Waits as well, unless it has ended. */
void zygote_client_free(struct zygote_client *zygote);

bool zygote_client_is_ready(const struct zygote_client *zygote);
bool zygote_client_is_ending(const struct zygote_client *zygote); /* on_end will follow */
/* The level `process`: its sandboxes have no namespaces. */
bool zygote_client_is_on_host(const struct zygote_client *zygote);

/* Are modules imported in advance? Then each first kernel has a holder of its memory. */
bool zygote_client_has_stack(const struct zygote_client *zygote);

/* The signal that ends it, or the first process of one of its sandboxes, with all they started. */
int zygote_client_end_signal(const struct zygote_client *zygote);

/* The files of a sandbox that is gone are needed no more. */
void zygote_client_remove_files(struct zygote_client *zygote, uint64_t id);

/* The number of a policy that its sandboxes know (struct wire_run). 0: they do not. */
uint32_t zygote_client_knows_policy(const struct zygote_client *zygote, struct span policy);

const struct ns_ids *zygote_client_ids(const struct zygote_client *zygote);
const char *zygote_client_python_version(const struct zygote_client *zygote);

/* Modules that could not be imported, as "name: why". */
const char *const *zygote_client_missing(const struct zygote_client *zygote, size_t *ret_count);

size_t zygote_client_boxes(const struct zygote_client *zygote); /* alive */

/* Somebody may want a sandbox of this very zygote later: an image is of one zygote. */
struct zygote_pin {
    struct zygote_client *zygote; /* NULL: it is gone, or there is no pin */
    LIST_ENTRY(zygote_pin) link;
};

void zygote_client_pin(struct zygote_client *zygote, struct zygote_pin *pin);
void zygote_client_unpin(struct zygote_pin *pin); /* accepts one that was never set */

/* It has sandboxes or pins. */
bool zygote_client_is_needed(const struct zygote_client *zygote);
uint64_t zygote_client_spawned(const struct zygote_client *zygote);
uint64_t zygote_client_started_ns(const struct zygote_client *zygote);
pid_t zygote_client_pid(const struct zygote_client *zygote);

/* Registers a box and gives it its id. 0: out of memory. */
uint64_t zygote_client_add(struct zygote_client *zygote, struct box *box);
void zygote_client_remove(struct zygote_client *zygote, uint64_t id);

/* One that is still registered, or NULL. */
struct box *zygote_client_any_box(const struct zygote_client *zygote);

/* Calls `fn` for each that is registered. It must not free any. Accepts NULL. */
void zygote_client_each_box(const struct zygote_client *zygote,
                            void (*fn)(void *user, struct box *box), void *user);

int zygote_client_spawn(struct zygote_client *zygote, const struct wire_spawn *spec, const int *fds,
                        size_t n_fds, struct error *err);
