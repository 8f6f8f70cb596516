/* Snapshots: images (engine/memory_image.h) with a name that outlive the session they were made of.
 * They are kept in memory and go with the server.
 *
 * A snapshot has the terms of its session, a reference to its image, and a pin on the zygote, since
 * an image fits the sandboxes of one zygote only. A session that is opened from it is one whose
 * sandbox becomes a copy before its first cell, as a fork does (session_copy.c). */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "engine/session_internal.h"
#include "mask/pseudonyms.h"

struct session_snapshot {
    TAILQ_ENTRY(session_snapshot) link;
    char name[SESSION_NAME_MAX + 1];
    char source[ID_SIZE]; /* the id of its session */
    char *owner;
    struct run_terms terms;
    struct pseudonyms *names;
    struct memory_image *image;
    struct zygote_pin pin;
    uint64_t made_ns;
};

static void free_snapshot(struct session_snapshot *n)
{
    zygote_client_unpin(&n->pin);
    image_unref(n->image);
    pseudonyms_free(n->names);
    run_terms_done(&n->terms);
    free(n->owner);
    free(n);
}

static void drop(struct sessions *table, struct session_snapshot *n)
{
    TAILQ_REMOVE(&table->snapshots, n, link);
    free_snapshot(n);
    pool_notice(table->pool); /* its zygote may have waited for that */
}

static struct session_snapshot *find(const struct sessions *table, const char *owner,
                                     const char *name)
{
    struct session_snapshot *n;

    TAILQ_FOREACH(n, &table->snapshots, link)
        if (strcmp(n->owner, owner) == 0 && strcmp(n->name, name) == 0)
            return n;
    return NULL;
}

static int set_unknown(struct error *err)
{
    error_set(err, E_NOT_FOUND, "there is no snapshot with that name");
    return error_hint(err, "GET /v1/snapshots lists those that there are");
}

/* --- making --- */

int snapshot_check_room(const struct session *s, const char *name, struct error *err)
{
    const struct session_snapshot *n;
    size_t own = 0;

    TAILQ_FOREACH(n, &s->table->snapshots, link)
        own += strcmp(n->owner, s->owner) == 0;
    if (own < LIMIT_SNAPSHOTS || find(s->table, s->owner, name))
        return 0;
    error_set(err, E_TOO_LARGE, "there are %d snapshots, and no more are allowed", LIMIT_SNAPSHOTS);
    return error_hint(err, "delete one that is not needed: DELETE /v1/snapshots/NAME");
}

int snapshot_keep(struct session *s, const char *name, struct memory_image *image,
                  struct error *err)
{
    struct session_snapshot *n = calloc(1, sizeof(*n)), *old;

    if (!n)
        return error_memory(err);
    *n = (struct session_snapshot){.owner = strdup(s->owner), .made_ns = loop_now_ns()};
    run_terms_init(&n->terms);
    if (!n->owner || run_terms_copy(&n->terms, &s->terms) < 0) {
        free_snapshot(n);
        return error_memory(err);
    }
    (void)snprintf(n->name, sizeof(n->name), "%s", name);
    (void)snprintf(n->source, sizeof(n->source), "%s", s->id);
    n->names = pseudonyms_ref(s->names);
    n->image = image_ref(image);
    zygote_client_pin(box_zygote(s->box), &n->pin);
    old = find(s->table, s->owner, name);
    if (old) /* one of the same name is replaced */
        drop(s->table, old);
    TAILQ_INSERT_HEAD(&s->table->snapshots, n, link);
    return 0;
}

/* --- looking, and forgetting --- */

bool sessions_snapshot(const struct sessions *table, const char *owner, size_t index,
                       struct snapshot_info *ret_info)
{
    const struct session_snapshot *n;

    TAILQ_FOREACH(n, &table->snapshots, link)
        if (strcmp(n->owner, owner) == 0 && index-- == 0)
            break;
    if (!n)
        return false;
    *ret_info = (struct snapshot_info){
        .name = n->name,
        .source = n->source,
        .terms = &n->terms,
        .age_ms = (loop_now_ns() - n->made_ns) / 1000000,
        .bytes = image_bytes(n->image),
        .is_usable = n->pin.zygote != NULL,
    };
    return true;
}

int sessions_forget_snapshot(struct sessions *table, const char *owner, const char *name,
                             struct error *err)
{
    struct session_snapshot *n = find(table, owner, name);

    if (!n)
        return set_unknown(err);
    drop(table, n);
    return 0;
}

void snapshots_forget(struct sessions *table, const char *owner)
{
    struct session_snapshot *n = TAILQ_FIRST(&table->snapshots), *next;

    for (; n; n = next) {
        next = TAILQ_NEXT(n, link);
        if (!owner || strcmp(n->owner, owner) == 0)
            drop(table, n);
    }
}

void snapshots_count(const struct sessions *table, const char *owner, uint64_t mark,
                     struct share *share)
{
    const struct session_snapshot *n;

    TAILQ_FOREACH(n, &table->snapshots, link) {
        uint64_t bytes = image_count(n->image, mark);

        share->used += bytes;
        if (strcmp(n->owner, owner) == 0)
            share->own += bytes;
    }
}

/* --- a session from one --- */

static void on_seeded(void *owner, struct box *box, struct error *err)
{
    struct session *s = owner;

    if (err->code != E_NONE || s->is_closing) {
        session_begin_end(s, err->message ? err->message : "it could not be made");
        box_kill(box);
        return;
    }
    s->origin = take_ptr(s->seed);
    session_started(s);
}

void session_seed(struct session *s)
{
    struct error err = {0};

    if (box_restore(s->box, s->seed, WIRE_RESTORE_RESEED, on_seeded, &err) < 0)
        on_seeded(s, s->box, &err);
    error_done(&err);
}

static struct session *copy_session(struct sessions *table, const struct session_snapshot *n,
                                    const struct session_options *options)
{
    cleanup(run_terms_done) struct run_terms terms;
    struct session *s = NULL;

    run_terms_init(&terms);
    if (run_terms_copy(&terms, &n->terms) == 0) {
        session_make_private(&terms);
        s = session_new(table, &terms, options);
    }
    if (!s)
        return NULL;
    s->order.zygote = n->pin.zygote;
    s->seed = image_ref(n->image);
    (void)snprintf(s->parent, sizeof(s->parent), "%s", n->source);
    pseudonyms_free(s->names);
    s->names = pseudonyms_ref(n->names);
    return s;
}

static int check_snapshot(const struct session_snapshot *n, struct error *err)
{
    if (!n)
        return set_unknown(err);
    if (!n->pin.zygote) {
        error_set(err, E_NOT_FOUND, "the snapshot was lost with the interpreter that it is of");
        return error_hint(err, "delete it, and make another one");
    }
    return session_check_grants(&n->terms, err);
}

const struct run_terms *sessions_snapshot_terms(const struct sessions *table, const char *owner,
                                                const char *name, struct error *err)
{
    const struct session_snapshot *n = find(table, owner, name);

    return check_snapshot(n, err) < 0 ? NULL : &n->terms;
}

int sessions_open_snapshot(struct sessions *table, const char *name,
                           const struct session_options *options, struct session **ret_session,
                           struct error *err)
{
    cleanup(buf_done) struct buf evicted = BUF_OF(SESSION_EVICTED_MAX);
    const struct session_snapshot *n = find(table, options->owner, name);
    struct session *s;

    if (check_snapshot(n, err) < 0 || session_check_name(table, options, err) < 0 ||
        session_make_room(table, options, NULL, 1, &evicted, err) < 0)
        return -1;
    s = copy_session(table, n, options);
    if (!s)
        return error_memory(err);
    if (evicted.len)
        s->evicted = strdup(buf_str(&evicted));
    if (session_tell(s, "open", "snapshot", name, NULL, err) < 0) {
        session_discard(s);
        return -1;
    }
    session_order_box(s);
    *ret_session = s;
    return 0;
}
