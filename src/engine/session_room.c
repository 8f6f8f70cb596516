/* How many sessions an owner may have, and how much they may keep outside of their sandboxes. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/share.h"
#include "engine/session_internal.h"

static bool is_idle(const struct session *s)
{
    return !session_is_starting(s) && !s->current && !s->n_queued && !s->n_commands && !s->copy &&
           !s->fork && !s->seed && !s->born;
}

/* The owner's longest idle session, and the number of the owner's sessions. */
static struct session *longest_idle(const struct sessions *table, const char *owner,
                                    size_t *ret_count)
{
    struct session *best = NULL;

    *ret_count = 0;
    for (struct session *s = TAILQ_FIRST(&table->all); s; s = TAILQ_NEXT(s, link)) {
        if (strcmp(s->owner, owner) != 0)
            continue;
        ++*ret_count;
        if (is_idle(s) && (!best || s->rested_ns < best->rested_ns))
            best = s;
    }
    return best;
}

bool sessions_have_others(const struct sessions *table)
{
    return table->options.has_others && table->options.has_others(table->options.user);
}

/* --- eviction --- */

/* Only sessions that nobody asked to be kept: no name was chosen for them, and no checkpoint was
 * made. The one from which a copy is made is not ended for the copy. */
static bool is_evictable(const struct session *s, const struct session_options *options,
                         const struct session *source)
{
    return s->evicts && !s->is_kept && !s->is_paused && !s->checkpoints && s != source &&
           is_idle(s) && strcmp(s->owner, options->owner) == 0 &&
           !(options->spares && strcmp(s->id, options->spares) == 0);
}

static struct session *next_evicted(const struct sessions *table,
                                    const struct session_options *options,
                                    const struct session *source, size_t *ret_count)
{
    struct session *best = NULL;

    *ret_count = 0;
    for (struct session *s = TAILQ_FIRST(&table->all); s; s = TAILQ_NEXT(s, link)) {
        if (!is_evictable(s, options, source))
            continue;
        ++*ret_count;
        if (!best || s->rested_ns < best->rested_ns)
            best = s;
    }
    return best;
}

/* --- room --- */

struct room {
    struct share share;
    size_t own_max;
};

static bool has_room(const struct room *room, size_t n)
{
    return room->share.own + n <= room->own_max && share_allows(&room->share, n);
}

/* Ends as many sessions as are needed, or none. */
static bool evict(struct sessions *table, const struct session_options *options,
                  const struct session *source, size_t n, struct room room, struct buf *evicted)
{
    size_t most, needed = 0;

    (void)next_evicted(table, options, source, &most);
    while (!has_room(&room, n)) {
        if (needed == most)
            return false;
        needed++;
        room.share.used--;
        room.share.own--;
    }
    while (needed--) {
        struct session *s = next_evicted(table, options, source, &most);

        (void)buf_printf(evicted, NULL, "%s%s", evicted->len ? " " : "", s->id);
        session_close(s, "a new session of the same owner needed its place");
    }
    return true;
}

/* Frees a place for an owner without a session if another owner has more than half of them, taken
 * when it was alone. The other owner's longest idle session ends. */
static bool take_back(struct sessions *table, const char *owner)
{
    for (struct session *s = TAILQ_FIRST(&table->all); s; s = TAILQ_NEXT(s, link)) {
        size_t count;
        struct session *idle;

        if (strcmp(s->owner, owner) == 0)
            continue;
        idle = longest_idle(table, s->owner, &count);
        if (!idle || count <= table->options.max_total / 2)
            continue;
        session_close(idle, "another token needed a place, and this one has more than its share");
        return true;
    }
    return false;
}

static int refuse_more(const struct sessions *table, const struct room *room, size_t n,
                       const struct session_options *options, struct error *err)
{
    const struct share *share = &room->share;

    if (share->has_others && share->own + n <= room->own_max &&
        share->used + n <= table->options.max_total)
        error_set(err, E_BUSY, "this token already has %llu sessions open, which is its share",
                  (unsigned long long)share->own);
    else
        error_set(err, E_BUSY, "%llu sessions are open, and no more are allowed",
                  (unsigned long long)share->own);
    if (options->evicts)
        return error_hint(err, "all of them are in use or kept; end one that is not needed; "
                               "list_open_sessions lists them, end_session ends one");
    return error_hint(err, "end one that is not needed, or let idle ones be evicted "
                           "(`session_evict`)");
}

int session_make_room(struct sessions *table, const struct session_options *options,
                      const struct session *source, size_t n, struct buf *evicted,
                      struct error *err)
{
    struct room room = {.share = {.total = table->options.max_total,
                                  .used = table->count,
                                  .has_others = sessions_have_others(table)},
                        .own_max = table->options.max_per_owner};
    long max_own = options->max_own;
    size_t own;

    (void)longest_idle(table, options->owner, &own);
    room.share.own = own;
    if (max_own && (max_own < 0 || (size_t)max_own < room.own_max))
        room.own_max = max_own < 0 ? 0 : (size_t)max_own;
    if (has_room(&room, n))
        return 0;
    if (n == 1 && own == 0 && room.own_max && room.share.has_others &&
        take_back(table, options->owner))
        return 0;
    if (options->evicts && evict(table, options, source, n, room, evicted))
        return 0;
    return refuse_more(table, &room, n, options, err);
}

/* --- memory outside of sandboxes --- */

static int refuse_kept(const char *whose, uint64_t held, struct error *err)
{
    error_set(err, E_TOO_LARGE,
              "uploaded files, checkpoints, snapshots and restored sessions hold %llu MB, "
              "and no more is allowed %s",
              (unsigned long long)(held >> 20), whose);
    return error_hint(err,
                      "forget checkpoints and snapshots, delete files, or end sessions that are "
                      "not needed");
}

/* Images may take so many times what the session's sandbox may. */
#define IMAGES_PER_MEMORY 2

int session_check_kept(const struct session *s, uint64_t more, struct error *err)
{
    struct sessions *table = s->table;
    uint64_t own_images = session_copy_bytes(s, ++table->marks), mark = ++table->marks;
    struct share share = {.total = table->options.kept_bytes,
                          .has_others = sessions_have_others(table)};

    for (const struct session *other = TAILQ_FIRST(&table->all); other;
         other = TAILQ_NEXT(other, link)) {
        uint64_t bytes =
            session_copy_bytes(other, mark) + (other->box ? box_outside_bytes(other->box) : 0);

        share.used += bytes;
        if (strcmp(other->owner, s->owner) == 0)
            share.own += bytes;
    }
    snapshots_count(table, s->owner, mark, &share);
    if (own_images > IMAGES_PER_MEMORY * s->terms.limits.memory_bytes)
        return refuse_kept("for one session", own_images, err);
    if (share.total && !share_allows(&share, more))
        return refuse_kept(share.has_others ? "for this token" : "in all", share.own, err);
    return 0;
}
