/* Checkpoints, going back to them, and forks.
 *
 * All three begin or end with an image (engine/memory_image.h, guest/image/image.h):
 *
 * 1. Between two cells, box_copy.c makes two memfds of a fixed size, a cgroup that pays for them
 * and a pipe, and sends WIRE_IMAGE.
 * 2. guest/image/check.c names everything that cannot be copied. Nothing has happened until then.
 * 3. guest/image/write.c clones a writer, which packs the files and writes the changed pages. The
 *    program goes on when the files are packed.
 *    Overlays of copy-on-write grants are packed by a process of ours (box_overlays.c) before it
 * does.
 * 4. The supervisor seals the memfds and keeps them. It never maps or parses them.
 * 5. A fresh sandbox of the same zygote, under its own limits and filters, gets WIRE_RESTORE. It
 *    unpacks the files, checks the index and opens what has to be opened; any failure until here is
 *    an error in words. Then guest/image/take_over.c maps the pages over everything else and jumps
 *    to the saved registers.
 *
 * To go back, such a copy takes the session over, and only then the old sandbox ends: a failure
 * leaves the session as it was. A zygote lives as long as one of its sandboxes does. A Bash kernel
 * describes itself as commands for another shell (WIRE_SAVED, up to 256 KiB). */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/net.h"
#include "engine/recorder.h"
#include "engine/session_internal.h"
#include "mask/pseudonyms.h"

#define CHECKPOINTS_MAX 32
#define FORKS_MAX       256

struct session_checkpoint {
    struct session_checkpoint *next;
    struct memory_image *image;
    char name[SESSION_NAME_MAX + 1];
};

enum kind { CHECKPOINT, RESTORE, FORK, SNAPSHOT };

struct session_copy {
    struct session *session; /* waits with its end until this is over */
    enum kind kind;
    char name[SESSION_NAME_MAX + 1];
    session_copied_fn fn;
    void *user;
    uint64_t begun_ns, held_ns;
    bool is_released; /* the session may run cells again */
    struct memory_image *image;
    struct error err; /* the first thing that went wrong */
    /* RESTORE */
    struct pool_order order; /* for the new sandbox */
    struct box *box;         /* the new one; then the old one, until it is gone */
    bool is_queued;          /* in the pool */
    bool has_taken_over;
    /* FORK */
    struct session_options options;
    struct session **sessions;
    size_t wanted, made, pending;
    char *evicted; /* as in struct session_copied */
};

/* --- the end of it --- */

static void free_copy(struct session_copy *c)
{
    image_unref(c->image);
    error_done(&c->err);
    free(c->sessions);
    free(c->evicted);
    free(c);
}

/* The outcome: it is recorded before anybody gets it. */
static void tell(struct session_copy *c)
{
    static const struct {
        const char *event, *key; /* of the name, or NULL: there is none */
    } events[] = {
        [CHECKPOINT] = {"checkpoint", "checkpoint"},
        [RESTORE] = {"restore", "checkpoint"},
        [FORK] = {"fork", NULL},
        [SNAPSHOT] = {"snapshot", "snapshot"},
    };
    struct error err = {0};

    if (session_tell(c->session, events[c->kind].event, events[c->kind].key,
                     events[c->kind].key ? c->name : NULL, &c->err, &err) < 0 &&
        c->err.code == E_NONE)
        error_move(&c->err, &err);
    error_done(&err);
}

static void finish(struct session_copy *c)
{
    struct session *s = c->session;
    struct session_copied result = {
        .err = &c->err,
        .source = s,
        .sessions = c->sessions,
        .n_sessions = c->made,
        .evicted = c->evicted,
        .lost = c->image ? c->image->lost : NULL,
        .held_ms = (double)c->held_ns / 1e6,
        .total_ms = loop_ms_since(c->begun_ns),
    };

    for (size_t i = 0; i < c->made; i++)
        c->sessions[i]->born = NULL;
    s->copy = NULL;
    tell(c);
    c->fn(c->user, &result);
    free_copy(c);
    if (s->is_closing)
        session_finish_end(s);
    else
        session_go_on(s);
}

static void fail(struct session_copy *c, const struct error *err)
{
    if (c->err.code == E_NONE)
        error_copy(&c->err, err);
}

/* --- beginning --- */

static int check_name(const char *name, const char *what, struct error *err)
{
    if (session_is_name(name))
        return 0;
    error_set(err, E_INVALID, "invalid %s name", what);
    return error_hint(err,
                      "use up to %d letters, digits, `.`, `_` and `-`, a letter or digit first",
                      SESSION_NAME_MAX);
}

static int check_rest(const struct session *s, struct error *err)
{
    if (s->is_closing)
        return error_set(err, E_NOT_FOUND, "the session has ended");
    if (session_check_here(s, "copies of sessions", err) < 0 || session_check_awake(s, err) < 0)
        return -1;
    if (session_is_starting(s))
        return error_set(err, E_BUSY, "the session is starting");
    if (s->copy)
        return error_set(err, E_BUSY, "the session is being copied");
    if (s->current || s->n_queued) {
        error_set(err, E_BUSY, "a cell is running");
        return error_hint(err, "copies are made between cells");
    }
    return session_check_contexts(s, err) < 0 ? -1 : session_check_commands(s, err);
}

static struct session_copy *begin(struct session *s, enum kind kind, session_copied_fn fn,
                                  void *user, struct error *err)
{
    struct session_copy *c;

    if (s->terms.is_on_host) {
        error_set(err, E_UNSUPPORTED, "with isolation `process`, sessions cannot be copied");
        error_hint(err, "open another session and run its cells again");
        return NULL;
    }
    if (recorder_check_share(s->table->recorder, s->owner, KIB, err) < 0)
        return NULL;
    c = calloc(1, sizeof(*c));
    if (!c) {
        error_memory(err);
        return NULL;
    }
    *c = (struct session_copy){
        .session = s, .kind = kind, .fn = fn, .user = user, .begun_ns = loop_now_ns()};
    return c;
}

/* --- an image of the session --- */

static void keep_checkpoint(struct session_copy *c)
{
    struct session *s = c->session;
    struct session_checkpoint *new = calloc(1, sizeof(*new));
    struct error err = {0};

    if (!new) {
        error_memory(&err);
        fail(c, &err);
        error_done(&err);
        return;
    }
    (void)session_forget(s, c->name, &err); /* one of the same name is replaced */
    error_done(&err);
    new->image = image_ref(c->image);
    memcpy(new->name, c->name, sizeof(new->name));
    new->next = s->checkpoints;
    s->checkpoints = new;
}

static void make_sessions(struct session_copy *c);
static void fill_sessions(struct session_copy *c);

/* Sandboxes for the copies are made while the image is written. */
static void on_released(void *user, bool goes_well)
{
    struct session_copy *c = user;

    c->is_released = true;
    c->held_ns = loop_now_ns() - c->begun_ns;
    if (c->session->is_closing)
        return;
    if (goes_well && c->kind == FORK)
        make_sessions(c);
    session_go_on(c->session);
}

static void on_image(void *user, struct memory_image *image, const struct error *err)
{
    struct session_copy *c = user;
    struct error why = {0};

    c->image = image;
    if (!image)
        fail(c, err);
    else if (c->session->is_closing)
        error_set(&why, E_NOT_FOUND, "the session has ended");
    else
        (void)session_check_kept(c->session, 0, &why); /* its size is known only now */
    if (why.code != E_NONE) {
        fail(c, &why);
        image_unref(take_ptr(c->image));
        error_done(&why);
    }
    if (c->image && c->kind == CHECKPOINT)
        keep_checkpoint(c);
    if (c->image && c->kind == SNAPSHOT && snapshot_keep(c->session, c->name, c->image, &why) < 0)
        fail(c, &why);
    error_done(&why);
    if (c->pending)
        fill_sessions(c);
    else
        finish(c);
}

static const struct box_copy_events image_events = {on_released, on_image};

/* Images that only the session's origin keeps are of no use to its owner. When they have become
 * large, the next image is made without them, and they go when the session is restored from it. */
static bool is_weighed_down(const struct session *s)
{
    uint64_t mark = ++s->table->marks;

    for (const struct session_checkpoint *c = s->checkpoints; c; c = c->next)
        (void)image_count(c->image, mark);
    return image_count(s->origin, mark) > s->terms.limits.memory_bytes / 2;
}

static int take_image(struct session_copy *c, struct error *err)
{
    struct session *s = c->session;

    loop_timer_stop(s->idle);
    if (box_image(s->box, s->origin, is_weighed_down(s), &image_events, c, err) < 0) {
        free_copy(c);
        session_go_on(s);
        return -1;
    }
    s->copy = c;
    return 0;
}

static size_t count_checkpoints(const struct session *s)
{
    size_t n = 0;

    for (const struct session_checkpoint *c = s->checkpoints; c; c = c->next)
        n++;
    return n;
}

uint64_t session_copy_bytes(const struct session *s, uint64_t mark)
{
    uint64_t bytes = image_count(s->origin, mark) + image_count(s->seed, mark);

    for (const struct session_checkpoint *c = s->checkpoints; c; c = c->next)
        bytes += image_count(c->image, mark);
    if (s->copy)
        bytes += image_count(s->copy->image, mark);
    return bytes;
}

int session_checkpoint(struct session *s, const char *name, session_copied_fn fn, void *user,
                       struct error *err)
{
    struct session_copy *c;

    if (check_name(name, "checkpoint", err) < 0 || check_rest(s, err) < 0)
        return -1;
    if (count_checkpoints(s) >= CHECKPOINTS_MAX) {
        error_set(err, E_TOO_LARGE, "the session has %d checkpoints, and no more are allowed",
                  CHECKPOINTS_MAX);
        return error_hint(err, "forget one that is not needed");
    }
    if (session_check_kept(s, 1, err) < 0)
        return -1;
    c = begin(s, CHECKPOINT, fn, user, err);
    if (!c)
        return -1;
    memcpy(c->name, name, strlen(name) + 1);
    return take_image(c, err);
}

int session_snapshot(struct session *s, const char *name, session_copied_fn fn, void *user,
                     struct error *err)
{
    struct session_copy *c;

    if (check_name(name, "snapshot", err) < 0 || check_rest(s, err) < 0 ||
        session_check_grants(&s->terms, err) < 0 || snapshot_check_room(s, name, err) < 0 ||
        session_check_kept(s, 1, err) < 0)
        return -1;
    c = begin(s, SNAPSHOT, fn, user, err);
    if (!c)
        return -1;
    memcpy(c->name, name, strlen(name) + 1);
    return take_image(c, err);
}

static struct session_checkpoint **find(struct session *s, const char *name)
{
    struct session_checkpoint **at = &s->checkpoints;

    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

static int set_unknown(struct error *err)
{
    error_set(err, E_NOT_FOUND, "the session has no checkpoint of that name");
    return error_hint(err, "make one first");
}

int session_forget(struct session *s, const char *name, struct error *err)
{
    struct session_checkpoint **at = find(s, name), *found = *at;

    if (!found)
        return set_unknown(err);
    *at = found->next;
    image_unref(found->image);
    free(found);
    return 0;
}

const char *session_checkpoint_name(const struct session *s, size_t index)
{
    const struct session_checkpoint *c = s->checkpoints;

    while (c && index--)
        c = c->next;
    return c ? c->name : NULL;
}

/* --- directories --- */

void session_make_private(struct run_terms *terms)
{
    for (size_t i = 0; i < terms->n_grants; i++)
        if (terms->grants[i].mode == RUN_GRANT_RW)
            terms->grants[i].mode = RUN_GRANT_COW;
}

int session_check_grants(const struct run_terms *terms, struct error *err)
{
    size_t writable = 0;

    for (size_t i = 0; i < terms->n_grants; i++)
        writable += terms->grants[i].mode != RUN_GRANT_RO;
    if (writable <= LIMIT_COW_GRANTS)
        return 0;
    error_set(err, E_TOO_LARGE,
              "the session has %zu writable directories; a fork can have its own view of %d",
              writable, LIMIT_COW_GRANTS);
    return error_hint(err, "grant a directory that contains several of them");
}

/* --- going back --- */

static void on_restored(void *owner, struct box *box, struct error *err)
{
    struct session *s = owner;
    struct session_copy *c = s->copy;

    if (err->code != E_NONE || s->is_closing) {
        fail(c, err);
        box_kill(box); /* its end is the end of this */
        return;
    }
    /* The new one is the session from here on, the old one goes. Whoever looked at its changes has
     * not seen those of the new one. */
    if (box_overlays(box) && box_overlays(s->box))
        overlays_note_shown(box_overlays(box), overlays_shown(box_overlays(s->box)));
    session_end_watches(s, "the session went back to a checkpoint");
    c->has_taken_over = true;
    c->box = s->box;
    s->box = box;
    image_unref(s->origin);
    s->origin = image_ref(c->image);
    box_kill(c->box);
}

static void on_new_box(struct pool_order *order, struct box *box)
{
    struct session *s = order->user;
    struct session_copy *c = s->copy;
    struct error err = {0};

    if (box_keep(box, &s->terms, &session_box_events, s, &err) < 0 && err.code == E_BUSY) {
        error_done(&err); /* it died unnoticed: the next one */
        session_disown(s, box);
        pool_order(s->table->pool, order);
        return;
    }
    c->is_queued = false;
    c->box = box;
    if (err.code != E_NONE || s->is_closing ||
        box_restore(box, c->image, 0, on_restored, &err) < 0) {
        fail(c, &err);
        error_done(&err);
        box_kill(box);
    }
}

static void on_no_box(struct pool_order *order, struct error *err)
{
    struct session *s = order->user;
    struct session_copy *c = s->copy;

    c->is_queued = false;
    if (err->code != E_NONE)
        fail(c, err);
    else
        error_set(&c->err, E_SYSTEM, "the session ended");
    finish(c);
}

int session_restore(struct session *s, const char *name, session_copied_fn fn, void *user,
                    struct error *err)
{
    struct session_checkpoint *from = *find(s, name);
    struct session_copy *c;

    if (check_rest(s, err) < 0)
        return -1;
    if (!from)
        return set_unknown(err);
    c = begin(s, RESTORE, fn, user, err);
    if (!c)
        return -1;
    memcpy(c->name, from->name, sizeof(c->name));
    c->image = image_ref(from->image);
    c->order = (struct pool_order){.terms = &s->terms,
                                   .zygote = box_zygote(s->box),
                                   .on_box = on_new_box,
                                   .on_no_box = on_no_box,
                                   .user = s};
    loop_timer_stop(s->idle);
    c->is_queued = true;
    s->copy = c;
    pool_order(s->table->pool, &c->order);
    return 0;
}

bool session_copy_on_gone(struct session *s, const struct box *box)
{
    struct session_copy *c = s->copy;

    if (!c || c->kind != RESTORE || c->box != box)
        return false;
    c->box = NULL;
    if (!c->has_taken_over && c->err.code == E_NONE)
        error_set(&c->err, E_SYSTEM, "the sandbox of the copy died");
    c->held_ns = loop_now_ns() - c->begun_ns;
    finish(c);
    return true;
}

/* --- forks --- */

static void settle(struct session_copy *c)
{
    if (--c->pending > 0)
        return;
    if (c->made == c->wanted)
        error_done(&c->err);
    finish(c);
}

static void on_forked(void *owner, struct box *box, struct error *err)
{
    struct session *s = owner;
    struct session_copy *c = s->fork;

    s->fork = NULL;
    if (err->code == E_NONE && !s->is_closing) {
        s->origin = image_ref(c->image);
        c->sessions[c->made++] = s;
        s->born = c;
        session_started(s);
    } else {
        fail(c, err);
        session_begin_end(s, err->message ? err->message : "it could not be made");
        box_kill(box);
    }
    settle(c);
}

static void fill(struct session *s)
{
    struct error err = {0};

    s->awaits_image = false;
    if (box_restore(s->box, s->fork->image, WIRE_RESTORE_RESEED, on_forked, &err) < 0)
        on_forked(s, s->box, &err);
    error_done(&err);
}

void session_copy_on_box(struct session *s)
{
    s->awaits_image = true;
    if (s->fork->image)
        fill(s);
}

static struct session *find_fork(const struct session_copy *c, bool has_sandbox)
{
    struct session *s = NULL;

    while ((s = sessions_next(c->session->table, s)))
        if (s->fork == c && (s->awaits_image || !has_sandbox))
            return s;
    return NULL;
}

/* The image is there, or will not be: those that have their sandbox become copies, or all end.
 * Each may change the table. */
static void fill_sessions(struct session_copy *c)
{
    struct session *s;

    while (c->image && (s = find_fork(c, true)))
        fill(s);
    while (!c->image && (s = find_fork(c, false)))
        session_close(s, c->err.message);
    settle(c);
}

/* A session on the same terms but for directories, whose sandbox comes from the same zygote. NULL:
 * out of memory. */
static struct session *copy_session(const struct session_copy *c)
{
    const struct session *from = c->session;
    cleanup(run_terms_done) struct run_terms terms;
    struct session *s = NULL;

    run_terms_init(&terms);
    if (run_terms_copy(&terms, &from->terms) == 0) {
        session_make_private(&terms);
        s = session_new(from->table, &terms, &c->options);
    }
    if (s)
        s->order.zygote = box_zygote(from->box);
    return s;
}

static void make_sessions(struct session_copy *c)
{
    struct error err = {0};

    c->pending = 1; /* the image */
    for (size_t i = 0; i < c->wanted; i++) {
        struct session *s = copy_session(c);

        if (!s) {
            error_memory(&err);
            fail(c, &err);
            error_done(&err);
            continue;
        }
        (void)snprintf(s->parent, sizeof(s->parent), "%s", c->session->id);
        if (session_tell(s, "open", "from", c->session->id, NULL, &err) < 0) {
            session_discard(s);
            fail(c, &err);
            error_done(&err);
            continue;
        }
        pseudonyms_free(s->names);
        s->names = pseudonyms_ref(c->session->names);
        s->fork = c;
        c->pending++;
        session_order_box(s);
    }
}

int session_fork(struct session *s, size_t n, const struct session_options *options,
                 session_copied_fn fn, void *user, struct error *err)
{
    cleanup(buf_done) struct buf evicted = BUF_OF(SESSION_EVICTED_MAX);
    struct session_options own = *options;
    struct session_copy *c;

    if (n < 1 || n > FORKS_MAX) {
        error_set(err, E_INVALID, "that many copies are not made at once");
        return error_hint(err, "ask for 1 to %d", FORKS_MAX);
    }
    own.name = NULL;
    own.owner = s->owner;
    if (check_rest(s, err) < 0 || session_check_grants(&s->terms, err) < 0 ||
        session_make_room(s->table, &own, s, n, &evicted, err) < 0)
        return -1;
    c = begin(s, FORK, fn, user, err);
    if (!c)
        return -1;
    c->wanted = n;
    c->options = own;
    c->options.spares = NULL; /* it was only lent */
    c->evicted = evicted.len ? strdup(buf_str(&evicted)) : NULL;
    c->sessions = calloc(n, sizeof(struct session *));
    if (!c->sessions) {
        free_copy(c);
        return error_memory(err);
    }
    return take_image(c, err);
}

/* --- for session.c --- */

bool session_copy_holds(const struct session *s)
{
    return s->fork || s->seed || (s->copy && !s->copy->is_released);
}

void session_copy_leave(struct session *s)
{
    struct session_copy *c = s->born;
    struct error err = {0};
    size_t kept = 0;

    if (!c)
        return;
    s->born = NULL;
    for (size_t i = 0; i < c->made; i++)
        if (c->sessions[i] != s)
            c->sessions[kept++] = c->sessions[i];
    c->made = kept;
    error_set(&err, E_SYSTEM, "a copy ended before the others were made: %s", s->why);
    fail(c, &err);
    error_done(&err);
}

bool session_copy_lives(const struct session *s)
{
    return s->copy || s->fork;
}

void session_copy_cancel(struct session *s)
{
    struct session_copy *c = s->copy;
    struct error err = {0};

    if (s->fork) { /* it was to become a copy, and does not */
        c = s->fork;
        s->fork = NULL;
        error_set(&err, E_SYSTEM, "a copy could not be made: %s", s->why ? s->why : "it ended");
        fail(c, &err);
        error_done(&err);
        settle(c);
        return;
    }
    if (!c || c->kind != RESTORE)
        return; /* an image ends with the sandbox; a fork goes on */
    if (c->is_queued)
        pool_cancel_order(s->table->pool, &c->order);
    else if (c->box)
        box_kill(c->box);
}

void session_copy_done(struct session *s)
{
    while (s->checkpoints) {
        struct session_checkpoint *c = s->checkpoints;

        s->checkpoints = c->next;
        image_unref(c->image);
        free(c);
    }
    image_unref(s->origin);
    image_unref(s->seed);
}
