/* Shared by trail.c (opening, appending), trail_repair.c (what may be wrong with the end),
 * trail_prune.c (files that are too old) and trail_sync.c (the way to the disk). */
#pragma once

#include "audit/segment.h"
#include "audit/signed_head.h"
#include "audit/trail.h"
#include "base/sync.h"

struct trail {
    struct trail_options options;
    int dir, lock;
    struct key_pair *key;
    bool is_key_new; /* and not on the disk yet */

    /* --- the end, as we last saw it --- */
    int fd;
    uint64_t first_seq; /* of the file */
    uint64_t end;       /* of its last record */
    uint64_t allocated; /* bytes of the disk that are the file's */
    struct record_mark mark;
    bool is_sealed;

    unsigned n_open; /* starts whose end is due */
    struct buf line;

    /* --- the way to the disk --- */
    struct loop_watch *timer;
    bool has_timer;           /* it is running */
    struct group_sync *group; /* of records */
    struct group_sync_wait records;
    bool is_round;              /* records, then the head, are on their way */
    struct sync *sync;          /* of the head */
    int head_fd;                /* of a head that is on its way, or -1 */
    struct record_mark syncing; /* what it will say */
    bool is_dirty;              /* records were added since */
    int broken;                 /* errno: the disk does not take it */
    pid_t child;                /* is at it for us, or 0 */
    pid_t round_child;          /* the same, before the end */
};

/* --- trail.c --- */

/* Adds it behind trail->mark. The lock is ours. */
int trail_add(struct trail *trail, const struct record *record, struct record_mark *ret_mark,
              struct error *err);
void trail_note(const struct trail *trail, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Waits for it, not for ever. */
int trail_lock(const struct trail *trail, struct error *err);
void trail_unlock(const struct trail *trail);

/* --- trail_repair.c --- */

/* Finds the end anew: after opening, or when the file is not as we left it. What we knew of it
 * (`known`, seq 0: nothing) and what the signed head says has to be there. The lock is ours. */
int trail_locate(struct trail *trail, const struct record_mark *known, struct error *err);

/* --- trail_prune.c --- */

/* Removes the oldest files, as far as the options say. What cannot be done is told and stays. The
 * lock is ours. */
void trail_prune(struct trail *trail);

/* --- trail_sync.c --- */

int trail_sync_open(struct trail *trail, struct error *err);
void trail_sync_close(struct trail *trail);

/* Removes what is left of heads that never took their place. */
void trail_sync_tidy(const struct trail *trail);
void trail_sync_soon(struct trail *trail);

/* For TRAIL_AT_ONCE: waits for the disk. */
int trail_sync_now(struct trail *trail, struct error *err);

/* The head of what is there now, at once. The lock is ours. */
int trail_sign_now(struct trail *trail, struct error *err);
