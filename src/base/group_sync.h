/* Says when what was written is on the disk, without keeping the loop.
 *
 * A write is in the kernel when it returns, which is enough for the end of a process. For the end
 * of the machine it has to be on the disk. One fdatasync(2) does it for all who wait: those who
 * come while it is under way share the next one.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/loop.h"

struct group_sync;

/* Embedded in whoever waits, and all zero before its first use. */
struct group_sync_wait {
    struct group_sync_wait *next;
    /* From the loop, or from within group_sync_wait() if it fails at once. `result`: 0 or a
     * negative errno. */
    void (*done)(void *user, int result);
    void *user;
};

struct group_sync_target {
    /* A descriptor of the file as it is now, which is closed after use; or a negative errno. */
    int (*open)(void *user);
    /* Before those who wait are told. What was written meanwhile may be lost, too, and a later sync
     * would not say so: all who wait are told of it. Optional. */
    void (*on_failure)(void *user, int result);
    void *user;
};

int group_sync_new(struct loop *loop, const struct group_sync_target *target,
                   struct group_sync **ret_group, struct error *err);

/* Nobody who waits is told any more. Accepts NULL. */
void group_sync_free(struct group_sync *group);

/* Call it after the write. */
void group_sync_wait(struct group_sync *group, struct group_sync_wait *wait);

/* It is not told any more, if it waits. */
void group_sync_cancel(struct group_sync *group, struct group_sync_wait *wait);

/* For those who do not know whether they have to wait: something was written, which the disk may
 * not have; and whether there is nothing of that kind, or there was a failure. */
void group_sync_touch(struct group_sync *group);
bool group_sync_is_clean(const struct group_sync *group);

/* How often the disk has failed. */
unsigned group_sync_failures(const struct group_sync *group);

/* Waits here for the sync that is under way and for those that follow it. */
void group_sync_finish(struct group_sync *group);
