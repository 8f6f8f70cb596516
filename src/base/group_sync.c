#include "base/group_sync.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/sync.h"

struct group_sync {
    struct group_sync_target target;
    struct sync *sync;
    struct group_sync_wait *told;   /* those who are told now */
    struct group_sync_wait *served; /* by the one that is under way */
    struct group_sync_wait *next;   /* those who came since */
    uint64_t touched;               /* so often */
    uint64_t covered;               /* of these: by the one that is under way */
    uint64_t synced;                /* of these: on the disk, or lost */
    unsigned failures;
};

/* One at a time: whoever is told may cancel another. */
static void tell(struct group_sync *group, int result)
{
    while (group->told) {
        struct group_sync_wait *wait = group->told;

        group->told = wait->next;
        wait->next = NULL;
        wait->done(wait->user, result);
    }
}

static void fail(struct group_sync *group, int result)
{
    struct group_sync_wait **end = &group->served;

    while (*end)
        end = &(*end)->next;
    *end = take_ptr(group->next);
    group->told = take_ptr(group->served);
    group->synced = group->touched;
    group->failures++;
    if (group->target.on_failure)
        group->target.on_failure(group->target.user, result);
    tell(group, result);
}

static void start(struct group_sync *group)
{
    int opened = group->target.open(group->target.user);
    cleanup_close int fd = opened;

    if (opened < 0) {
        fail(group, opened);
        return;
    }
    group->served = take_ptr(group->next);
    group->covered = group->touched;
    sync_start(group->sync, fd);
}

static void on_synced(void *arg, int result)
{
    struct group_sync *group = arg;

    if (result < 0) {
        fail(group, result);
        return;
    }
    group->told = take_ptr(group->served);
    group->synced = group->covered;
    tell(group, 0);
    if (group->next && !sync_is_busy(group->sync))
        start(group);
}

void group_sync_wait(struct group_sync *group, struct group_sync_wait *wait)
{
    wait->next = group->next;
    group->next = wait;
    if (!sync_is_busy(group->sync))
        start(group);
}

static bool drop(struct group_sync_wait **list, const struct group_sync_wait *wait)
{
    for (; *list; list = &(*list)->next)
        if (*list == wait) {
            *list = wait->next;
            return true;
        }
    return false;
}

void group_sync_cancel(struct group_sync *group, struct group_sync_wait *wait)
{
    if (drop(&group->next, wait) || drop(&group->served, wait) || drop(&group->told, wait))
        wait->next = NULL;
}

void group_sync_touch(struct group_sync *group)
{
    group->touched++;
}

bool group_sync_is_clean(const struct group_sync *group)
{
    return group->synced == group->touched;
}

unsigned group_sync_failures(const struct group_sync *group)
{
    return group->failures;
}

void group_sync_finish(struct group_sync *group)
{
    while (sync_is_busy(group->sync))
        sync_wait(group->sync);
}

int group_sync_new(struct loop *loop, const struct group_sync_target *target,
                   struct group_sync **ret_group, struct error *err)
{
    struct group_sync *group = calloc(1, sizeof(*group));

    if (!group)
        return error_memory(err);
    group->target = *target;
    if (sync_new(loop, on_synced, group, &group->sync, err) < 0) {
        free(group);
        return -1;
    }
    *ret_group = group;
    return 0;
}

void group_sync_free(struct group_sync *group)
{
    if (!group)
        return;
    group->told = group->served = group->next = NULL;
    group->target.on_failure = NULL;
    sync_wait(group->sync);
    sync_free(group->sync);
    free(group);
}
