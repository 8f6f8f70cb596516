#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "sandbox/protected.h"
#include "undo/undo_internal.h"

/* Clocks of files have steps of some milliseconds, and a program writes on after the last entry
 * until it is killed. */
#define SLACK_NS 1000000000

/* --- subjects --- */

static struct subject *find_slot(const struct undoer *g, uint64_t dev, uint64_t ino)
{
    uint64_t hash = (ino ^ dev << 40) * UINT64_C(0x9e3779b97f4a7c15);
    size_t slot = (size_t)(hash >> 20) & (g->n_slots - 1);

    while (g->subjects[slot].ino && (g->subjects[slot].ino != ino || g->subjects[slot].dev != dev))
        slot = (slot + 1) & (g->n_slots - 1);
    return &g->subjects[slot];
}

struct subject *undoer_subject(struct undoer *g, uint64_t dev, uint64_t ino)
{
    return find_slot(g, dev, ino);
}

void undoer_forget(struct subject *s)
{
    *s = (struct subject){.dev = s->dev, .ino = s->ino, .new_dev = s->dev, .new_ino = s->ino};
}

/* --- twins --- */

static struct undo_twin *find_twin(const struct last_twins *l, uint32_t type, uint64_t dev,
                                   uint64_t ino)
{
    uint64_t hash = (ino ^ dev << 40) * UINT64_C(0x9e3779b97f4a7c15);
    size_t slot = (size_t)(hash >> 20) & (l->n_slots - 1);

    while (l->items[slot].ino &&
           (l->items[slot].ino != ino || l->items[slot].dev != dev || l->items[slot].type != type))
        slot = (slot + 1) & (l->n_slots - 1);
    return &l->items[slot];
}

/* Follows a twin to the file that later undos have put in its place. */
static struct undo_twin follow(const struct last_twins *later, struct undo_twin twin)
{
    const struct undo_twin *next = find_twin(later, twin.type, twin.new_dev, twin.new_ino);

    if (next->ino) {
        twin.new_dev = next->new_dev;
        twin.new_ino = next->new_ino;
    }
    return twin;
}

/* From the latest undo to the first: what a twin was replaced by is known when it is looked at. The
 * twins of one undo stand beside each other and do not follow one another: a file that it made may
 * have got the number of one that is gone. Of two that stood for the same number, which was given
 * out again, the first is meant. */
static int resolve_twins(struct undoer *g, struct last_twins *l, struct error *err)
{
    size_t count = g->task->n_twins;
    cleanup_free struct undo_twin *twins = calloc(count + 1, sizeof(*twins));

    l->n_slots = 64;
    while (l->n_slots < 2 * count)
        l->n_slots *= 2;
    l->items = calloc(l->n_slots, sizeof(*l->items));
    if (!twins || !l->items)
        return error_memory(err);
    for (size_t end = count, first; end > 0; end = first) {
        for (first = end;
             first > 0 && g->task->twins[first - 1].undo == g->task->twins[end - 1].undo; first--)
            twins[first - 1] = follow(l, g->task->twins[first - 1]);
        for (size_t i = end; i-- > first;)
            if (twins[i].ino)
                *find_twin(l, twins[i].type, twins[i].dev, twins[i].ino) = twins[i];
    }
    return 0;
}

static bool is_twin(struct undoer *g, const struct entry *e, const struct stat *st)
{
    const struct undo_twin *t = find_twin(&g->twins, e->mode & S_IFMT, e->dev, e->ino);

    return t->ino && t->new_dev == st->st_dev && t->new_ino == st->st_ino;
}

static int take_subjects(struct undoer *g, struct error *err)
{
    size_t wanted = 256;

    while (wanted < 2 * g->reader.count + 2)
        wanted *= 2;
    g->subjects = calloc(wanted, sizeof(*g->subjects));
    if (!g->subjects)
        return error_memory(err);
    g->n_slots = wanted;
    g->made = calloc(g->reader.count + 1, sizeof(*g->made));
    if (!g->made)
        return error_memory(err);
    for (size_t i = 0; i < g->reader.count; i++) {
        const struct entry *e = &g->reader.entries[i];
        struct subject *s;

        if (!e->ino)
            continue;
        s = find_slot(g, e->dev, e->ino);
        if (!s->ino) {
            *s = (struct subject){
                .dev = e->dev, .ino = e->ino, .new_dev = e->dev, .new_ino = e->ino};
        }
        if (e->kind == ENTRY_FINAL)
            s->final_ = e;
        if (e->kind == ENTRY_CREATED)
            s->is_made = true;
        g->made[i] = s->is_made;
        if ((e->kind == ENTRY_REMOVE || e->kind == ENTRY_DROP) &&
            (S_ISDIR(e->mode) || e->nlink <= 1))
            s->is_made = false;
    }
    return resolve_twins(g, &g->twins, err);
}

/* --- life --- */

static int take_grants(struct undoer *g, struct error *err)
{
    for (size_t i = 0; i < LIMIT_GRANTS; i++)
        g->dirs[i].fd = -1;
    for (size_t i = 0; i < g->task->n_grants && i < LIMIT_GRANTS; i++) {
        struct files *dir = &g->dirs[i];
        struct stat st;

        if (g->task->grants[i].fd < 0)
            continue;
        if (fstat(g->task->grants[i].fd, &st) < 0)
            return error_errno(err, "look at `%s`", g->task->grants[i].path);
        *dir = (struct files){
            .fd = g->task->grants[i].fd,
            .uid = st.st_uid,
            .gid = st.st_gid,
            .is_other = geteuid() == 0 && (st.st_uid != 0 || st.st_gid != getegid()),
        };
    }
    return 0;
}

static int open_lock(struct undoer *g, struct error *err)
{
    int roots[LIMIT_GRANTS];

    if (!g->task->lock)
        return 0;
    for (size_t i = 0; i < LIMIT_GRANTS; i++)
        roots[i] = g->dirs[i].fd;
    return tree_lock_open(g->task->lock, roots, LIMIT_GRANTS, &g->lock, err);
}

int undoer_init(struct undoer *g, const struct undo_task *task, struct undo_report *report,
                struct error *err)
{
    *g = (struct undoer){.task = task,
                         .report = report,
                         .saved_dir = -1,
                         .lock = TREE_LOCK_INIT,
                         .is_rehearsal = !task->own};
    if (take_grants(g, err) < 0 || open_lock(g, err) < 0 ||
        reader_load(&g->reader, task->run, err) < 0 || take_subjects(g, err) < 0 ||
        view_init(&g->view, g->dirs, LIMIT_GRANTS, g->is_rehearsal, err) < 0)
        return -1;
    g->saved_dir = openat(task->run, "saved", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    g->end_ns = task->ended_ns > g->reader.last_ns ? task->ended_ns : g->reader.last_ns;
    g->end_ns += SLACK_NS;
    for (size_t i = 0; i < g->reader.count; i++)
        if (g->reader.entries[i].id >= report->n_steps)
            report->n_steps = g->reader.entries[i].id + 1;
    report->steps = malloc(report->n_steps + 1);
    if (!report->steps)
        return error_memory(err);
    memset(report->steps, '0', report->n_steps);
    if (task->steps)
        memcpy(report->steps, task->steps,
               task->n_steps < report->n_steps ? task->n_steps : report->n_steps);
    report->steps[report->n_steps] = '\0';
    return g->saved_dir < 0 ? error_errno(err, "open what was saved") : 0;
}

void undoer_done(struct undoer *g)
{
    view_done(&g->view);
    reader_done(&g->reader);
    close_fd(&g->saved_dir);
    tree_lock_close(&g->lock);
    free(g->subjects);
    free(g->made);
    free(g->twins.items);
    g->twins.items = NULL;
    g->subjects = NULL;
    g->made = NULL;
}

/* --- what is there --- */

bool undoer_is_it(struct undoer *g, const struct entry *e, const struct stat *st)
{
    const struct subject *s = undoer_subject(g, e->dev, e->ino);

    if ((e->mode & S_IFMT) != (st->st_mode & S_IFMT))
        return false;
    if (s->new_dev == st->st_dev && s->new_ino == st->st_ino)
        return true;
    /* This undo knows better what it has put there. */
    return s->new_ino == s->ino && is_twin(g, e, st);
}

bool undoer_knows_directory(const struct undoer *g, const struct stat *st)
{
    for (size_t i = 0; i < g->n_slots; i++)
        if (g->subjects[i].ino && g->subjects[i].new_dev == st->st_dev &&
            g->subjects[i].new_ino == st->st_ino)
            return true;
    return false;
}

/* Of the run's end, or of an undo that touched the file since. */
static bool has_known_ctime(const struct undoer *g, const struct subject *s, const struct stat *st)
{
    if (s->dev == st->st_dev && s->ino == st->st_ino &&
        s->final_->ctime_ns == file_time_ns(&st->st_ctim))
        return true;
    return undo_marks_has(&g->report->marks, st) ||
           (g->task->marks && undo_marks_has(g->task->marks, st));
}

int undoer_mark(struct undoer *g, const struct stat *st, struct error *err)
{
    const struct undo_mark mark = {st->st_dev, st->st_ino, file_time_ns(&st->st_ctim)};

    if (g->is_rehearsal || !S_ISREG(st->st_mode))
        return 0;
    return undo_marks_set(&g->report->marks, &mark) < 0 ? error_memory(err) : 0;
}

bool undoer_is_as_left(struct undoer *g, const struct entry *e, const struct stat *st)
{
    const struct subject *s = undoer_subject(g, e->dev, e->ino);
    int64_t ctime_ns = file_time_ns(&st->st_ctim);

    /* Size and mtime can be forged, on another file of the user and on this one. */
    if (!undoer_is_it(g, e, st))
        return false;
    if (s->is_ours)
        return true;
    if (s->final_)
        return s->final_->size == (uint64_t)st->st_size &&
               s->final_->mtime_ns == file_time_ns(&st->st_mtim) && has_known_ctime(g, s, st);
    if (s->was_as_left && undo_marks_has(&g->report->marks, st))
        return true;
    /* Of a run that ended in order, how it left each of its files is known, or it was not there. */
    return !g->reader.is_sealed && ctime_ns + SLACK_NS >= g->reader.began_ns &&
           ctime_ns <= g->end_ns;
}

static int add_twin(struct undo_report *r, const struct undo_twin *twin)
{
    struct undo_twin *grown = array_grow(r->twins, r->n_twins, &r->twins_size, sizeof(*r->twins));

    if (!grown)
        return -1;
    r->twins = grown;
    r->twins[r->n_twins++] = *twin;
    return 0;
}

/* One twin for a subject: from what there was before this undo to what there is after it. */
int undoer_stands_for(struct undoer *g, const struct entry *e, const struct stat *st)
{
    struct subject *s = undoer_subject(g, e->dev, e->ino);
    const struct undo_twin *last = find_twin(&g->twins, e->mode & S_IFMT, e->dev, e->ino);
    const struct undo_twin twin = {
        .type = e->mode & S_IFMT,
        .dev = last->ino ? last->new_dev : s->dev,
        .ino = last->ino ? last->new_ino : s->ino,
        .new_dev = st->st_dev,
        .new_ino = st->st_ino,
    };

    s->new_dev = st->st_dev;
    s->new_ino = st->st_ino;
    s->is_gone = false;
    /* Files that the run made and removed again are gone when the undo is over. */
    if (g->is_rehearsal || e->kind == ENTRY_DROP)
        return 0;
    if (s->twin) {
        g->report->twins[s->twin - 1] = twin;
        return 0;
    }
    if (add_twin(g->report, &twin) < 0)
        return -1;
    s->twin = g->report->n_twins;
    return 0;
}

/* --- protected names --- */

/* The place on the host; false: longer than a path can be. */
static bool full_path(const struct undoer *g, unsigned grant, const char *path, size_t len,
                      char full[PATH_MAX])
{
    int n = snprintf(full, PATH_MAX, "%s/%.*s", g->task->grants[grant].path, (int)len, path);

    return n > 0 && n < PATH_MAX;
}

static bool is_protected_place(struct undoer *g, unsigned grant, const char *path, size_t len,
                               bool is_link)
{
    char full[PATH_MAX], above[PATH_MAX];
    const char *slash = memrchr(path, '/', len);
    cleanup_close int parent = -1;

    if (!full_path(g, grant, path, len, full))
        return true;
    (void)snprintf(above, sizeof(above), "%.*s", slash ? (int)(slash - path) : 0, path);
    parent = view_open(&g->view, grant, above);
    return (is_link ? protected_judge_link(parent, full) : protected_judge(parent, full)) != NULL;
}

bool undoer_is_protected(struct undoer *g, unsigned grant, const char *path, uint32_t mode)
{
    size_t len = strlen(path);

    if (grant >= g->task->n_grants || is_protected_place(g, grant, path, len, S_ISLNK(mode)))
        return true;
    /* A directory above may be one of git's by what is in it. */
    for (size_t i = 0; i < len; i++)
        if (path[i] == '/' && is_protected_place(g, grant, path, i, false))
            return true;
    return false;
}

bool undoer_is_protected_move(struct undoer *g, unsigned grant, const char *from, const char *to,
                              uint32_t mode)
{
    char full[PATH_MAX], old[PATH_MAX];
    cleanup_close int fd = view_open(&g->view, grant, from);

    if (undoer_is_protected(g, grant, from, mode) || undoer_is_protected(g, grant, to, mode) ||
        !full_path(g, grant, to, strlen(to), full) || !full_path(g, grant, from, strlen(from), old))
        return true;
    /* In a rehearsal it may not be there yet. */
    return fd >= 0 && protected_judge_move(fd, old, full) != NULL;
}

size_t undoer_xattrs(const struct undoer *g, const struct entry *e, const struct entry **ret_first)
{
    const struct entry *at = e;

    while (at > g->reader.entries && at[-1].kind == ENTRY_XATTR && at[-1].id == e->id &&
           at[-1].ino == e->ino && at[-1].dev == e->dev)
        at--;
    *ret_first = at;
    return (size_t)(e - at);
}
