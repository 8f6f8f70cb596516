/* Common parts of the calls: they find the place, and have the journal save what will be lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/calls.h"

/* The journal could not take what would be lost: the change is not made. */
long keep_refused(struct broker *b, const struct place *place, const struct error *err)
{
    if (err->code == E_TOO_LARGE)
        return judge_refuse(b, place, "change",
                            "the old content does not fit into the space for undo", EDQUOT);
    if (err->code == E_UNSUPPORTED)
        return judge_refuse(b, place, "remove or rename",
                            "it was changed, and undo would not find its other names (hard links)",
                            EPERM);
    return judge_refuse(b, place, "change", "the old content cannot be saved for undo",
                        err->errnum == EACCES ? EACCES : EIO);
}

#define KEEP(b, place, function, ...)                                                              \
    ({                                                                                             \
        cleanup_error struct error keep_err_ = {0};                                                \
        (b)->journal &&function((b)->journal, (place)->index, __VA_ARGS__, &keep_err_) < 0         \
            ? keep_refused(b, place, &keep_err_)                                                   \
            : 0;                                                                                   \
    })

/* Whether the content can be saved now, or a copy has to be waited for. */
static long prepare_copy(struct broker *b, const struct place *p)
{
    cleanup_error struct error err = {0};
    int r;

    if (!b->journal || !S_ISREG(p->st.st_mode))
        return 0;
    r = journal_prepare(b->journal, p->parent, p->name, &p->st, &b->waits_for, &err);
    if (r < 0)
        return keep_refused(b, p, &err);
    return r == 1 ? ANSWER_LATER : 0;
}

long keep_content(struct broker *b, const struct place *p)
{
    long r = prepare_copy(b, p);

    if (r != 0)
        return r;
    return KEEP(b, p, journal_change, p->path, p->parent, p->name, &p->st);
}

long keep_attributes(struct broker *b, const struct place *p)
{
    return KEEP(b, p, journal_meta, p->path, p->parent, p->name, &p->st);
}

long keep_name(struct broker *b, const struct place *p)
{
    long r = prepare_copy(b, p);

    if (r != 0)
        return r;
    return KEEP(b, p, journal_remove, p->path, p->parent, p->name, &p->st);
}

/* The change that was announced did not happen. */
long keep_undone(struct broker *b, long r)
{
    if (b->journal)
        (void)journal_done(b->journal, NULL);
    return r;
}

long keep_announce(struct broker *b, const struct place *p)
{
    return KEEP(b, p, journal_create, p->path);
}

static int tell_created(struct broker *b, const struct place *p, const struct place *from,
                        struct error *err)
{
    if (!b->journal || !p->exists)
        return 0;
    return from ? journal_linked(b->journal, p->index, p->path, from->path, p->parent, p->name,
                                 &p->st, err)
                : journal_created(b->journal, p->index, p->path, &p->st, err);
}

long keep_created(struct broker *b, struct place *p, const struct place *from)
{
    cleanup_error struct error err = {0};

    place_look(p);
    if (tell_created(b, p, from, &err) < 0) {
        /* Undo would not know whose it is. It is empty, or another name, and nobody has it yet. */
        (void)unlinkat(p->parent, p->name, S_ISDIR(p->st.st_mode) ? AT_REMOVEDIR : 0);
        return keep_undone(b, keep_refused(b, p, &err));
    }
    b->report->created++;
    return 0;
}

void call_adopt_umask(struct held_call *c)
{
    mode_t mask;

    if (c->b->has_umask || target_umask(c->pid, &mask) < 0)
        return;
    (void)umask(mask);
    c->b->umask = mask;
    c->b->has_umask = !c->b->umask_varies;
}

int keep_open_journal(struct broker *b, struct error *err)
{
    int r;

    if (!b->is_keeping || b->journal)
        return 0;
    r = journal_new(b->journal_dir, &b->limits, &b->journal, err);
    for (uint32_t i = 0; r == 0 && i < b->n_grants; i++)
        if (b->grants[i].mount >= 0)
            r = journal_grant(b->journal, i, b->grants[i].mount, err);
    if (r < 0) {
        journal_free(b->journal);
        b->journal = NULL;
    }
    return r;
}

/* Changes are made while a run is on, and kept. */
static long begin_change(struct held_call *c, const struct place *p)
{
    cleanup_error struct error err = {0};

    if (c->b->is_paused) {
        c->b->waits_for = -1;
        return ANSWER_LATER;
    }
    return keep_open_journal(c->b, &err) < 0 ? keep_refused(c->b, p, &err) : 0;
}

long call_find(struct held_call *c, int dirfd, uint64_t path, bool follows, struct place *p)
{
    long r = resolve_place(c->b, c->pid, dirfd, path, follows, p);

    return r == 0 ? begin_change(c, p) : r;
}

long call_find_object(struct held_call *c, int dirfd, uint64_t path, int flags, struct place *p)
{
    long r = resolve_object(c->b, c->pid, dirfd, path, flags, p);

    return r == 0 ? begin_change(c, p) : r;
}
