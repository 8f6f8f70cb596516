/* Holds bytes of a queue back until what was written before them is on the disk.
 *
 * A door with this gives out nothing that speaks of what a power failure could undo. Whoever has
 * the queue asks before each write how many of its first bytes may leave.
 */
#pragma once

#include <stddef.h>

#include "base/group_sync.h"

struct disk_hold_events {
    /* More may leave. From the loop, or from within disk_hold_ask(). */
    void (*on_free)(void *user);
    /* The disk has failed: bytes of the queue are not to leave any more, and disk_hold_ask() has
     * said 0. From within disk_hold_ask(). */
    void (*on_lost)(void *user);
};

struct disk_hold {
    struct group_sync *group; /* NULL: nothing is held */
    const struct disk_hold_events *events;
    void *user;
    struct group_sync_wait wait;
    size_t free;  /* bytes that may leave */
    size_t asked; /* that may leave when the sync that is waited for is done */
    bool is_waiting;
    unsigned failures; /* of the disk that are known */
};

void disk_hold_init(struct disk_hold *hold, struct group_sync *group,
                    const struct disk_hold_events *events, void *user);
void disk_hold_done(struct disk_hold *hold);

/* How many of the `queued` bytes may leave now. If not all, a sync is under way and on_free
 * follows. */
size_t disk_hold_ask(struct disk_hold *hold, size_t queued);

/* So many have left. */
void disk_hold_left(struct disk_hold *hold, size_t count);

/* The first bytes of the queue say nothing that has to wait. */
void disk_hold_release(struct disk_hold *hold, size_t count);

/* The queue was emptied. */
void disk_hold_reset(struct disk_hold *hold);
