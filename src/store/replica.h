/* Skills and saved states that all machines of a cluster have, and that each keeps a copy of.
 *
 * What belongs to an owner lies on the bus, sealed with a key that is made of the owner's token:
 *
 *   PLACE.list    {"serial":N,"items":{"state/NAME":"obj_…", "skill/NAME":"obj_…"}}
 *   PLACE.ID.N    piece N of an object: an item, or the content of a version (store/replica_item.h)
 *
 * PLACE is made of the token's hash. Objects never change. The list is written only over the one
 * that was read (compare-and-swap), so all changes of an owner are in one order, and a machine that
 * has the present list, and what it names, has everything.
 *
 * Every read asks for the list first, and brings the store up to it. While the bus is away, reads
 * get what the store has, and changes fail. A change is made in the store, looked at and undone;
 * the result is published, and then goes into the store. If another machine was faster, all of it
 * is done again.
 *
 * A process that can write to the bus, but has not got the token, can read nothing and forge
 * nothing. It can delete objects, or restore an older list; a machine with a newer one refuses that
 * and publishes its own again.
 *
 * This module does not know the bus: the user of a struct replica_port carries its questions.
 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "base/loop.h"
#include "store/replica_item.h"
#include "store/store.h"

struct replicas;
struct replica_owner;

/* The loop and the store outlive them. */
int replicas_new(struct loop *loop, struct store *store, struct replicas **ret_replicas,
                 struct error *err);

/* Calls nobody that waits. Accepts NULL. */
void replicas_free(struct replicas *replicas);

/* For a server without a cluster: what was shared belongs to this machine alone again. */
int replicas_leave(struct store *store, struct error *err);

/* Tells the owner's token, which has been checked. From here on its things are shared. */
void replicas_learn(struct replicas *replicas, const char *owner, struct span token);

/* The token was removed: this machine forgets what it shared. The bus has it until the operator's
 * command removes it there, so a token that comes back finds it again. */
void replicas_drop(struct replicas *replicas, const char *owner);

/* --- waiting --- */

/* Embedded in its owner, and zeroed before its first use. */
struct replica_wait {
    TAILQ_ENTRY(replica_wait) link;
    struct replica_owner *of; /* NULL: it does not wait */
    bool is_read;             /* as it is set by the functions below */

    /* --- of a change --- */
    enum replica_kind kind;
    char name[STORE_NAME_MAX + 1]; /* of the item that it changes; a skill's is its key */
    /* Makes the change with the functions of the store. It may be called again: what it did before
     * was undone. */
    int (*make)(struct replica_wait *wait, struct error *err);

    /* Takes the words out of *err; code E_NONE: success. The wait can be used again. */
    void (*done)(struct replica_wait *wait, struct error *err);
};

/* Brings the store up to date, as far as that is possible now: it does not fail. Where nothing is
 * shared, both functions call done() at once. */
void replica_read(struct store *store, const char *owner, struct replica_wait *wait);

/* The caller has set kind, name and make. E_BUSY: the bus is away. make() refuses invalid names. */
void replica_change(struct store *store, const char *owner, struct replica_wait *wait);

/* Neither done() nor make() is called from here on. A change that is under way may still happen. */
void replica_forget(struct replica_wait *wait);

/* --- the way to the bus --- */

enum replica_do {
    REPLICA_GET,   /* 200, 404 */
    REPLICA_PUT,   /* 200 */
    REPLICA_SWAP,  /* over the one of number `after`; 0: there is none. 200, 409 */
    REPLICA_PURGE, /* an object with all its pieces. No answer */
    REPLICA_FIND,  /* ids of all objects of PLACE, each with a newline behind it. 200 */
};

/* Other statuses are 507, the bus is full; 501, it keeps nothing; and 503, it is away. */
struct replica_ask {
    uint64_t number;
    enum replica_do what;
    const char *place;
    struct span data;
    uint64_t after;
};

struct replica_port {
    void (*send)(void *user, const struct replica_ask *ask);
    void *user;
};

/* Replaces an earlier port. NULL: there is no way to the bus. */
void replicas_connect(struct replicas *replicas, const struct replica_port *port);

/* Whether this is the user of the present port. */
bool replicas_is_port(const struct replicas *replicas, const void *user);

/* `sequence` is the number of what was read or written. */
void replicas_answer(struct replicas *replicas, uint64_t number, int status, uint64_t sequence,
                     struct span data);
