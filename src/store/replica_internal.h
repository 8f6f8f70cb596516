/* Shared by replica.c (owners and questions), replica_fetch.c (from the bus to the store),
 * replica_publish.c (from the store to the bus) and replica_sweep.c (cleaning the bus). */
#pragma once

#include <stdint.h>

#include "base/seal.h"
#include "base/store_place.h"
#include "store/replica.h"

#define REPLICA_OWNER_SIZE 96
#define REPLICA_PLACE_SIZE (STORE_PLACE_SIZE + ID_PLAIN_SIZE + 16)

/* LIMIT_WORKS and LIMIT_SKILLS items, with names of any length. */
#define REPLICA_LIST_BYTES (64 * KIB)

/* For a change, if other machines change the same owner's things; with random pauses of up to 64 ms
 * in between, that is a second. And for a list whose objects are missing. */
#define REPLICA_TRIES   40
#define REPLICA_FETCHES 4

TAILQ_HEAD(replica_waits, replica_wait);

struct replica_answer {
    int status;
    uint64_t sequence;
    struct span data; /* as it came: sealed */
};

typedef void (*replica_next)(struct replica_owner *owner, const struct replica_answer *answer);

/* The row of an owner in the store. */
struct replica_row {
    bool is_there;
    int64_t serial;
    json_t *items; /* never NULL */
};

/* One owner. It has one round at a time. */
struct replica_owner {
    LIST_ENTRY(replica_owner) of_bucket;
    struct replicas *replicas;
    char name[REPLICA_OWNER_SIZE];
    char place[STORE_PLACE_SIZE];
    unsigned char key[SEAL_KEY];
    struct replica_waits waits;   /* for the next round */
    struct replica_waits reading; /* of this one */
    struct replica_wait *change;  /* or NULL */
    bool is_working;
    bool has_complained;
    bool has_orphans; /* there may be objects that no list names */
    unsigned tries;
    struct loop_watch *clock; /* of a question */
    struct loop_watch *pause; /* before the next try */

    /* --- the question that was asked --- */
    uint64_t asked, asked_ns;
    replica_next next;

    /* --- what was fetched --- */
    struct replica_row row;
    json_t *items; /* of the list; or NULL */
    uint64_t sequence;
    int64_t serial;
    const char *key_now; /* of `items`, or of `names` */
    json_t *names;       /* that are to be published */
    bool is_first;       /* this machine has never had the owner's list */
    bool heals;          /* all that is here goes to the bus anew */

    /* --- the item that is fetched or published --- */
    struct replica_item item;
    size_t version;
    unsigned piece;
    struct buf bytes;
    char id[ID_PLAIN_SIZE]; /* of the object */
    void (*then)(struct replica_owner *owner);

    /* --- the change --- */
    json_t *old;                      /* ids that are of no use after it */
    char published[96];               /* key of the item; "": nothing */
    char published_id[ID_PLAIN_SIZE]; /* "": it goes */
    bool is_gone;                     /* after the change */
    bool is_unsure;                   /* whether the list was written: nobody has said */
};

/* --- replica.c --- */

struct store *replica_store(const struct replica_owner *owner);

/* next() follows from the loop. */
void replica_ask(struct replica_owner *owner, enum replica_do what, const char *place,
                 struct span data, uint64_t after, replica_next next);
void replica_purge(struct replica_owner *owner, const char *id);

/* "PLACE.ID.N" */
void replica_object(const struct replica_owner *owner, const char *id, unsigned piece,
                    char place[REPLICA_PLACE_SIZE]);

/* Begins a round: fetches the list. */
void replica_begin(struct replica_owner *owner);

/* Calls those that only read. */
void replica_tell_readers(struct replica_owner *owner);

/* The round is over. `err` NULL: all is well; it is emptied. */
void replica_end(struct replica_owner *owner, struct error *err);

/* Ends the round with the error that belongs to an unexpected status. */
void replica_fail(struct replica_owner *owner, int status);

/* Begins again; after REPLICA_TRIES it fails. */
void replica_again(struct replica_owner *owner);

/* --- replica_sweep.c --- */

/* Removes objects that no list names. A server that ended in the middle has left them, or one that
 * was slower than another. */
void replica_sweep(struct replica_owner *owner);

/* --- replica_fetch.c --- */

void replica_fetch(struct replica_owner *owner);
void replica_row_done(struct replica_row *row);

/* Notes that the store has what this list names. */
int replica_row_save(struct replica_owner *owner, json_t *items, int64_t serial, struct error *err);

/* --- replica_publish.c --- */

/* The store is what the list says: publishes what is here alone, and then the change. */
void replica_publish(struct replica_owner *owner);
