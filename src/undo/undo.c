#include "undo/undo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "undo/undo_internal.h"

const char *undo_action_name(enum undo_action action)
{
    static const char *const names[] = {
        [UNDO_REMOVED] = "removed",
        [UNDO_RESTORED] = "restored",
        [UNDO_REVERTED] = "reverted",
        [UNDO_RENAMED] = "renamed",
    };

    return names[action];
}

/* --- the report --- */

void undo_report_done(struct undo_report *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free(r->items[i].path);
        free(r->items[i].to);
        free(r->items[i].conflict);
    }
    free(r->items);
    free(r->twins);
    undo_marks_done(&r->marks);
    free(r->steps);
    *r = (struct undo_report){0};
}

static int add_item(struct undo_report *r, struct undo_item item, struct error *err)
{
    struct undo_item *grown;

    if (item.conflict)
        r->n_conflicts++;
    else
        r->n_done++;
    if (r->count >= UNDO_ITEMS_MAX)
        return 0;
    grown = array_grow(r->items, r->count, &r->size, sizeof(*r->items));
    if (!grown)
        return error_memory(err);
    r->items = grown;
    item.path = strdup(item.path);
    item.to = item.to ? strdup(item.to) : NULL;
    item.conflict = item.conflict ? strdup(item.conflict) : NULL;
    r->items[r->count++] = item;
    return item.path ? 0 : error_memory(err);
}

static enum undo_action action_of(const struct entry *e)
{
    switch (e->kind) {
    case ENTRY_CHANGE:
    case ENTRY_META:
        return UNDO_REVERTED;
    case ENTRY_REMOVE:
    case ENTRY_DROP:
        return UNDO_RESTORED;
    case ENTRY_RENAME:
    case ENTRY_SWAP:
        return UNDO_RENAMED;
    default:
        return UNDO_REMOVED;
    }
}

static struct undo_item item_of(const struct entry *e)
{
    struct undo_item item = {.action = action_of(e), .grant = e->grant, .path = (char *)e->path};

    if (item.action == UNDO_RENAMED) {
        item.path = (char *)e->more;
        item.to = (char *)e->path;
    }
    return item;
}

/* The path by which people know what the run made: where it was in the end. */
static struct undo_item made_item(struct undoer *g, const struct entry *e)
{
    const struct entry *last = undoer_subject(g, e->dev, e->ino)->final_;
    struct undo_item item = item_of(e);

    if (e->kind == ENTRY_CREATED && last && last->grant == e->grant && *last->path)
        item.path = (char *)last->path;
    return item;
}

static int conflict(struct undoer *g, const struct entry *e, const char *why, struct error *err)
{
    struct undo_item item = made_item(g, e);

    item.conflict = (char *)why;
    return add_item(g->report, item, err);
}

/* --- outcome of a step --- */

/* An action that failed is a conflict, with its own words. */
static int settle(struct undoer *g, const struct entry *e, int result, struct error *cause,
                  struct error *err)
{
    if (result < 0)
        return conflict(g, e, cause->message ? cause->message : "it failed", err);
    return add_item(g->report, made_item(g, e), err);
}

static bool is_made(const struct undoer *g, const struct entry *e)
{
    return g->made[e - g->reader.entries];
}

#define GONE      "it no longer exists"
#define REPLACED  "something else has taken its place since the run"
#define CHANGED   "it was changed after the run"
#define UNKNOWN   "the run did not end normally, and it was changed since"
#define TAKEN     "something else is there now"
#define NO_PLACE  "its directory no longer exists"
#define HIDDEN    "it cannot be examined"
#define PROTECTED "it is a protected name, which Belljar does not write"

static const char *changed_words(struct undoer *g, const struct entry *e)
{
    return undoer_subject(g, e->dev, e->ino)->final_ ? CHANGED : UNKNOWN;
}

/* --- made by the run --- */

static const char *obstacle_to_removal(struct undoer *g, const struct entry *e,
                                       const struct stat *st)
{
    const struct subject *s = undoer_subject(g, e->dev, e->ino);

    if (S_ISDIR(st->st_mode)) {
        if (!undoer_is_it(g, e, st))
            return REPLACED;
        return view_is_empty(&g->view, e->grant, e->path)
                   ? NULL
                   : "it contains something that is not from the run, or that was left alone";
    }
    if (e->kind == ENTRY_LINKED) {
        if (!undoer_is_it(g, e, st))
            return REPLACED;
        /* An undo gives back a name as a file of its own where it finds no other name. */
        return st->st_nlink + s->extra_links > 1 || st->st_ino != s->ino
                   ? NULL
                   : "it is the last name of the file";
    }
    if (!S_ISREG(st->st_mode))
        return undoer_is_it(g, e, st) ? NULL : REPLACED;
    return undoer_is_as_left(g, e, st) ? NULL
           : undoer_is_it(g, e, st)    ? changed_words(g, e)
                                       : REPLACED;
}

static int undo_created(struct undoer *g, const struct entry *e, struct error *err)
{
    cleanup_error struct error cause = {0};
    struct subject *s = undoer_subject(g, e->dev, e->ino);
    const char *why = NULL;
    struct stat st;
    int r = view_look(&g->view, e->grant, e->path, &st);

    if (r > 0)
        why = undoer_is_protected(g, e->grant, e->path, e->mode) ? PROTECTED
                                                                 : obstacle_to_removal(g, e, &st);
    if (r > 0 && !why)
        r = settle(g, e, act_remove(g, e, &st, &cause), &cause, err);
    else if (r > 0 && !(s->is_gone && e->kind == ENTRY_CREATED))
        r = conflict(g, e, why, err);
    else if (r < 0)
        r = conflict(g, e, HIDDEN, err);
    /* Before this, the number was another file's, if any. */
    if (e->kind == ENTRY_CREATED)
        undoer_forget(s);
    return r < 0 ? -1 : 0;
}

/* Announced, and nothing was heard of it: the end came in between. Only something that has nothing
 * in it, or another name, and came into being in that moment, is taken for the run's. */
static int undo_create(struct undoer *g, const struct entry *e, struct error *err)
{
    const struct entry *next = e + 1, *end = g->reader.entries + g->reader.count;
    cleanup_error struct error cause = {0};
    int64_t changed_ns;
    struct stat st;

    if (next < end && next->id == e->id &&
        (next->kind == ENTRY_CREATED || next->kind == ENTRY_LINKED))
        return 0;
    if (view_look(&g->view, e->grant, e->path, &st) <= 0)
        return 0;
    changed_ns = file_time_ns(&st.st_ctim);
    if (undoer_is_protected(g, e->grant, e->path, e->mode) || changed_ns < e->at_ns - 20000000 ||
        changed_ns > e->at_ns + 1000000000 ||
        (S_ISDIR(st.st_mode) ? !view_is_empty(&g->view, e->grant, e->path)
                             : S_ISREG(st.st_mode) && st.st_size > 0 && st.st_nlink == 1))
        return conflict(g, e, "the run ended while it was created; it may belong to somebody else",
                        err);
    return settle(g, e, act_remove(g, e, &st, &cause), &cause, err);
}

/* --- changed by the run --- */

static int undo_change(struct undoer *g, const struct entry *e, struct error *err)
{
    cleanup_error struct error cause = {0};
    struct subject *s = undoer_subject(g, e->dev, e->ino);
    bool has_content = e->kind == ENTRY_CHANGE && !s->is_ours;
    struct stat st;
    int r = view_look(&g->view, e->grant, e->path, &st);

    if (r <= 0)
        return conflict(g, e, r < 0 ? HIDDEN : GONE, err);
    if (s->is_ours ? !undoer_is_it(g, e, &st) : false)
        return conflict(g, e, REPLACED, err);
    if ((e->mode & S_IFMT) == (st.st_mode & S_IFMT) &&
        (!has_content || act_has_saved_content(g, e, &st)) && act_has_saved_meta(g, e, &st))
        return undoer_mark(g, &st, err); /* as before the run, but for its ctime */
    if (e->kind == ENTRY_CHANGE && !undoer_is_as_left(g, e, &st))
        return conflict(g, e, undoer_is_it(g, e, &st) ? changed_words(g, e) : REPLACED, err);
    if (e->kind == ENTRY_META && !undoer_is_it(g, e, &st))
        return conflict(g, e, REPLACED, err);
    if (e->kind == ENTRY_META && !s->is_ours && s->final_ && s->final_->mode != st.st_mode)
        return conflict(g, e, CHANGED, err);
    if (undoer_is_protected(g, e->grant, e->path, e->mode))
        return conflict(g, e, PROTECTED, err);
    r = act_revert(g, e, &st, has_content, &cause);
    if (r == 0) {
        s->new_dev = st.st_dev;
        s->new_ino = st.st_ino;
        s->is_ours = true;
    }
    return settle(g, e, r, &cause, err);
}

/* --- removed by the run --- */

static bool is_at(struct undoer *g, const struct entry *e, const char *path, struct stat *ret_st)
{
    return view_look(&g->view, e->grant, path, ret_st) == 1 && undoer_is_it(g, e, ret_st);
}

/* Recognizes a file that is already at the place: the file itself, which was never removed, one
 * that an undo has made, or one with the same content. */
static bool is_there_again(struct undoer *g, const struct entry *e, const struct stat *st)
{
    if ((e->mode & S_IFMT) != (st->st_mode & S_IFMT))
        return false;
    if (S_ISDIR(st->st_mode))
        return true;
    if (S_ISREG(st->st_mode))
        return e->size == (uint64_t)st->st_size && e->mtime_ns == file_time_ns(&st->st_mtim) &&
               (undoer_is_it(g, e, st) || act_has_saved_content(g, e, st));
    if (S_ISLNK(st->st_mode))
        return act_has_saved_content(g, e, st);
    return true;
}

/* Another name of the same inode, which an earlier entry knows. */
static const char *find_link(struct undoer *g, const struct entry *e)
{
    const struct entry *at = e;
    struct stat st;

    if (!S_ISREG(e->mode) || e->nlink < 2)
        return NULL;
    if (e->more && is_at(g, e, e->more, &st))
        return e->more;
    for (size_t i = 0; i < 1000 && at-- > g->reader.entries; i++)
        if (at->kind == ENTRY_LINKED && at->ino == e->ino && at->dev == e->dev &&
            at->grant == e->grant && strcmp(at->path, e->path) != 0 && is_at(g, e, at->path, &st))
            return at->path;
    return NULL;
}

static int restore(struct undoer *g, const struct entry *e, struct error *cause)
{
    struct subject *s = undoer_subject(g, e->dev, e->ino);
    const char *other = find_link(g, e);
    struct stat st;

    if (other) {
        s->was_as_left = is_at(g, e, other, &st) && undoer_is_as_left(g, e, &st);
        s->extra_links += g->is_rehearsal;
        return act_link(g, e, other, &st, cause);
    }
    if (act_make(g, e, &st, cause) < 0)
        return -1;
    s->is_ours = true;
    return undoer_stands_for(g, e, &st) < 0 ? error_memory(cause) : 0;
}

static int undo_remove(struct undoer *g, const struct entry *e, struct error *err)
{
    cleanup_error struct error cause = {0};
    struct subject *s = undoer_subject(g, e->dev, e->ino);
    struct stat st;
    int r = view_look(&g->view, e->grant, e->path, &st);

    if (r < 0)
        return conflict(g, e, HIDDEN, err);
    if (r > 0 && is_there_again(g, e, &st)) {
        /* A file of the user that looks the same is done with, but the other steps, which would
         * write or move it, are not meant for it. */
        if (!S_ISREG(st.st_mode)) {
            s->new_dev = st.st_dev;
            s->new_ino = st.st_ino;
        }
        return 0;
    }
    if (r > 0)
        return conflict(g, e, TAKEN, err);
    if (!view_has_parent(&g->view, e->grant, e->path))
        return conflict(g, e, NO_PLACE, err);
    if (undoer_is_protected(g, e->grant, e->path, e->mode))
        return conflict(g, e, PROTECTED, err);
    return settle(g, e, restore(g, e, &cause), &cause, err);
}

/* Made and removed by the run: a directory may have held things that have to come back first, and
 * is made once more until its own creation is undone. */
static int undo_drop(struct undoer *g, const struct entry *e)
{
    cleanup_error struct error cause = {0};
    struct subject *s = undoer_subject(g, e->dev, e->ino);
    struct stat st;

    if (!S_ISDIR(e->mode) && e->nlink > 1)
        return 0; /* only one of its names */
    s->is_gone = true;
    s->final_ = NULL;
    if (!S_ISDIR(e->mode) || view_look(&g->view, e->grant, e->path, &st) != 0 ||
        !view_has_parent(&g->view, e->grant, e->path) ||
        undoer_is_protected(g, e->grant, e->path, e->mode) || act_make(g, e, &st, &cause) < 0)
        return 0;
    return undoer_stands_for(g, e, &st);
}

/* --- moved by the run --- */

static int undo_rename(struct undoer *g, const struct entry *e, struct error *err)
{
    cleanup_error struct error cause = {0};
    const struct subject *s = undoer_subject(g, e->dev, e->ino);
    struct stat st, other;
    int r;

    if (!is_at(g, e, e->more, &st)) {
        if (s->is_gone || is_at(g, e, e->path, &other) ||
            (view_look(&g->view, e->grant, e->more, &st) == 0 && is_made(g, e)))
            return 0;
        r = view_look(&g->view, e->grant, e->more, &st);
        return conflict(g, e, r == 0 ? GONE : r < 0 ? HIDDEN : REPLACED, err);
    }
    r = view_look(&g->view, e->grant, e->path, &other);
    if (r > 0 && other.st_dev == st.st_dev && other.st_ino == st.st_ino)
        return 0; /* two names of one file: rename(2) does nothing */
    if (r != 0)
        return conflict(g, e, r < 0 ? HIDDEN : "something else is where it was before", err);
    if (!view_has_parent(&g->view, e->grant, e->path))
        return conflict(g, e, NO_PLACE, err);
    if (undoer_is_protected_move(g, e->grant, e->more, e->path, st.st_mode))
        return conflict(g, e, PROTECTED, err);
    r = act_rename(g, e, &st, &cause);
    /* A file that the run made is reported once, where the run left it. */
    return r == 0 && is_made(g, e) ? 0 : settle(g, e, r, &cause, err);
}

static int undo_swap(struct undoer *g, const struct entry *e, struct error *err)
{
    cleanup_error struct error cause = {0};
    struct stat st, other;

    if (!is_at(g, e, e->more, &st)) {
        if (undoer_subject(g, e->dev, e->ino)->is_gone || is_at(g, e, e->path, &other))
            return 0;
        return conflict(g, e, REPLACED, err);
    }
    if (view_look(&g->view, e->grant, e->path, &other) != 1)
        return conflict(g, e, "the file it was exchanged with no longer exists", err);
    if (undoer_is_protected_move(g, e->grant, e->more, e->path, st.st_mode) ||
        undoer_is_protected_move(g, e->grant, e->path, e->more, other.st_mode))
        return conflict(g, e, PROTECTED, err);
    return settle(g, e, act_swap(g, e, &st, &cause), &cause, err);
}

/* --- all of it --- */

static int undo_entry(struct undoer *g, const struct entry *e, struct error *err)
{
    switch (e->kind) {
    case ENTRY_CREATE:
        return undo_create(g, e, err);
    case ENTRY_CREATED:
    case ENTRY_LINKED:
        return undo_created(g, e, err);
    case ENTRY_CHANGE:
    case ENTRY_META:
        return undo_change(g, e, err);
    case ENTRY_REMOVE:
        return undo_remove(g, e, err);
    case ENTRY_DROP:
        return undo_drop(g, e);
    case ENTRY_RENAME:
        return undo_rename(g, e, err);
    default:
        return undo_swap(g, e, err);
    }
}

/* The record of a step that an earlier undo has done. */
static void pass_over(struct undoer *g, const struct entry *e)
{
    struct subject *s = undoer_subject(g, e->dev, e->ino);

    if (e->kind == ENTRY_REMOVE)
        s->is_ours = true;
    if (e->kind == ENTRY_DROP)
        s->is_gone = true;
    if (e->kind == ENTRY_CREATED)
        undoer_forget(s);
}

/* The path and the neighbours of a place decide what it is: no sandbox changes them between the
 * check and the act. */
static int undo_locked(struct undoer *g, const struct entry *e, struct error *err)
{
    int r;

    if (g->lock.fd < 0)
        return undo_entry(g, e, err);
    if (tree_lock_take(&g->lock) < 0)
        return error_errno(err, "lock the granted directories");
    r = undo_entry(g, e, err);
    tree_lock_release(&g->lock);
    return r;
}

static int undo_step(struct undoer *g, const struct entry *e, struct error *err)
{
    size_t conflicts = g->report->n_conflicts;
    char *step = &g->report->steps[e->id];
    int r;

    if (!strchr("cClWMRrNE", (int)e->kind))
        return 0;
    /* The entry of a creation and the one that confirms it are one step. */
    if (*step == '1' && e->kind != ENTRY_CREATE) {
        pass_over(g, e);
        return 0;
    }
    if (*step != '0')
        return 0;
    if (g->dirs[e->grant].fd < 0)
        return e->kind == ENTRY_CREATED || e->kind == ENTRY_LINKED || e->kind == ENTRY_DROP
                   ? 0
                   : conflict(g, e, "the granted directory was replaced", err);
    r = undo_locked(g, e, err);
    if (r == 0 && g->report->n_conflicts == conflicts)
        *step = '1';
    return r;
}

int undo_run(const struct undo_task *task, struct undo_report *ret_report, struct error *err)
{
    cleanup(undoer_done) struct undoer g;

    *ret_report = (struct undo_report){0};
    if (undoer_init(&g, task, ret_report, err) < 0)
        return -1;
    for (size_t i = g.reader.count; i-- > 0;)
        if (undo_step(&g, &g.reader.entries[i], err) < 0)
            return -1;
    return 0;
}
