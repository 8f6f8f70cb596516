#include "base/disk_hold.h"

static void on_synced(void *user, int result)
{
    struct disk_hold *hold = user;

    hold->is_waiting = false;
    if (result == 0 && hold->free < hold->asked)
        hold->free = hold->asked;
    hold->events->on_free(hold->user); /* a failure is noticed when it asks */
}

void disk_hold_init(struct disk_hold *hold, struct group_sync *group,
                    const struct disk_hold_events *events, void *user)
{
    *hold = (struct disk_hold){.group = group, .events = events, .user = user};
    hold->wait = (struct group_sync_wait){.done = on_synced, .user = hold};
    if (group)
        hold->failures = group_sync_failures(group);
}

void disk_hold_done(struct disk_hold *hold)
{
    if (hold->is_waiting)
        group_sync_cancel(hold->group, &hold->wait);
    hold->is_waiting = false;
}

/* Bytes that have not been asked for yet may speak of what is lost, too. */
static bool is_lost(struct disk_hold *hold, size_t queued)
{
    unsigned failures = group_sync_failures(hold->group);

    if (failures == hold->failures)
        return false;
    hold->failures = failures;
    if (queued <= hold->free)
        return false;
    hold->events->on_lost(hold->user);
    return true;
}

size_t disk_hold_ask(struct disk_hold *hold, size_t queued)
{
    if (!hold->group)
        return queued;
    if (is_lost(hold, queued))
        return 0;
    if (hold->free < queued && group_sync_is_clean(hold->group)) {
        hold->free = queued;
    } else if (hold->free < queued && !hold->is_waiting) {
        hold->is_waiting = true;
        hold->asked = queued;
        group_sync_wait(hold->group, &hold->wait);
    }
    return hold->free;
}

void disk_hold_left(struct disk_hold *hold, size_t count)
{
    if (!hold->group)
        return;
    hold->free -= count;
    hold->asked -= count < hold->asked ? count : hold->asked;
}

void disk_hold_release(struct disk_hold *hold, size_t count)
{
    if (hold->free < count)
        hold->free = count;
}

void disk_hold_reset(struct disk_hold *hold)
{
    hold->free = hold->asked = 0;
}
