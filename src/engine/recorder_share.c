/* Counts what each token has written to the trail, so that none can push the records of others out.
 *
 * The trail has a size, and its oldest files go when it is full. What tokens write within a day
 * stays below that size: each has a share (base/share.h) of a part of it, and what it wrote
 * counts less as the day passes. A request that would go beyond is refused before anything of it
 * happens. What has happened is always recorded, and counts. Refusals of clients without a token
 * have a share, too: that of the owner "".
 */
#include <stdlib.h>
#include <string.h>

#include "base/share.h"
#include "engine/recorder_internal.h"

#define DAY_NS    (UINT64_C(86400) * 1000000000)
#define SECOND_NS UINT64_C(1000000000)

struct recorder_owner {
    struct recorder_owner *next;
    double bytes;
    char name[];
};

/* In a day as much again flows back as may be held: within any day the trail grows by at most
 * twice this. That is less than what pruning leaves (RECORDER_FILES). */
static uint64_t total_of(const struct recorder *recorder)
{
    return recorder->max_bytes / 8 * 3;
}

static void flow_back(struct recorder *recorder)
{
    uint64_t now = loop_now_ns(), passed = now - recorder->shares_at_ns;
    double left = passed < DAY_NS ? 1 - (double)passed / (double)DAY_NS : 0;

    if (passed < SECOND_NS)
        return;
    recorder->shares_at_ns = now;
    for (struct recorder_owner *o = recorder->owners; o; o = o->next)
        o->bytes *= left;
}

static struct recorder_owner *find(const struct recorder *recorder, const char *name)
{
    struct recorder_owner *o = recorder->owners;

    while (o && strcmp(o->name, name) != 0)
        o = o->next;
    return o;
}

static bool allows(struct recorder *recorder, const char *owner, size_t bytes)
{
    const struct recorder_owner *own = owner ? find(recorder, owner) : NULL;
    struct share share = {.total = total_of(recorder), .has_others = true};
    double used = 0;

    if (!owner || !recorder->max_bytes || !recorder->has_others ||
        (*owner && !recorder->has_others(recorder->user)))
        return true;
    flow_back(recorder);
    for (const struct recorder_owner *o = recorder->owners; o; o = o->next)
        used += o->bytes;
    share.used = (uint64_t)used;
    share.own = own ? (uint64_t)own->bytes : 0;
    return share_allows(&share, bytes);
}

int recorder_check_share(struct recorder *recorder, const char *owner, size_t bytes,
                         struct error *err)
{
    if (!recorder || allows(recorder, owner, bytes))
        return 0;
    error_set(err, E_BUSY, "this token has used up its share of the audit trail");
    return error_hint(err, "the share comes back within a day; a larger `trail_max_mb` in the "
                           "settings of the server makes it larger");
}

void recorder_count(struct recorder *recorder, const char *owner, size_t bytes)
{
    struct recorder_owner *o;
    size_t size;

    if (!owner || !recorder->max_bytes || !recorder->has_others)
        return;
    flow_back(recorder);
    o = find(recorder, owner);
    size = strlen(owner) + 1;
    if (!o && (o = calloc(1, sizeof(*o) + size))) {
        memcpy(o->name, owner, size);
        o->next = recorder->owners;
        recorder->owners = o;
    }
    if (o)
        o->bytes += (double)bytes;
}

void recorder_free_shares(struct recorder *recorder)
{
    for (struct recorder_owner *o = recorder->owners, *next; o; o = next) {
        next = o->next;
        free(o);
    }
    recorder->owners = NULL;
}
