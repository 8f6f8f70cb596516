#include "undo/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "undo/journal_internal.h"

#define FIRST_SLOTS 256

/* --- life --- */

static int begin(struct journal *j, int dir, struct error *err)
{
    struct entry entry = {.kind = ENTRY_BEGIN, .size = ENTRY_VERSION, .path = ""};

    j->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
    if (j->dir < 0)
        return error_errno(err, "keep the undo directory");
    if (mkdirat(j->dir, "saved", 0700) < 0)
        return error_errno(err, "make the undo directory");
    j->saved_dir = openat(j->dir, "saved", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    j->fd = openat(j->dir, "journal", O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                   0600);
    if (j->saved_dir < 0 || j->fd < 0)
        return error_errno(err, "make the undo journal");
    return journal_append(j, &entry, err);
}

int journal_new(int dir, const struct journal_limits *limits, struct journal **ret_journal,
                struct error *err)
{
    struct journal *j = calloc(1, sizeof(*j));

    if (!j)
        return error_memory(err);
    j->limits = *limits;
    if (!j->limits.text)
        j->limits.text = LIMIT_UNDO_TEXT;
    j->dir = j->saved_dir = j->fd = -1;
    for (size_t i = 0; i < LIMIT_GRANTS; i++)
        j->grants[i] = -1;
    j->n_slots = FIRST_SLOTS;
    j->objects = calloc(j->n_slots, sizeof(*j->objects));
    if ((j->objects ? begin(j, dir, err) : error_memory(err)) < 0) {
        journal_free(j);
        return -1;
    }
    *ret_journal = j;
    return 0;
}

void journal_free(struct journal *j)
{
    if (!j)
        return;
    journal_stop_background(j);
    for (size_t i = 0; i < LIMIT_GRANTS; i++)
        close_fd(&j->grants[i]);
    for (size_t i = 0; i < ANNOUNCED_MAX; i++)
        free(j->announced[i].path);
    for (size_t i = 0; j->objects && j->names_bytes && i < j->n_slots; i++)
        journal_names_forget(j, &j->objects[i]);
    close_fd(&j->fd);
    close_fd(&j->saved_dir);
    close_fd(&j->dir);
    free(j->objects);
    free(j);
}

int journal_grant(struct journal *j, unsigned grant, int dir, struct error *err)
{
    if (grant >= LIMIT_GRANTS)
        return error_set(err, E_INTERNAL, "there is no grant %u", grant);
    close_fd(&j->grants[grant]);
    j->grants[grant] = fcntl(dir, F_DUPFD_CLOEXEC, 3);
    return j->grants[grant] < 0 ? error_errno(err, "keep a granted directory") : 0;
}

void journal_count(const struct journal *j, struct journal_counts *ret_counts)
{
    *ret_counts = j->counts;
}

/* --- lines --- */

int journal_charge(struct journal *j, uint64_t bytes, struct error *err)
{
    if (bytes > j->limits.bytes || j->counts.bytes > j->limits.bytes - bytes) {
        error_set(err, E_TOO_LARGE,
                  "the change cannot be recorded for undo: more than %llu MiB in this run",
                  (unsigned long long)(j->limits.bytes / MIB));
        return error_hint(err, "raise `undo_mb`, or grant the directory `:cow`");
    }
    j->counts.bytes += bytes;
    return 0;
}

/* The outcome of an announced change. Refusing it would not undo the change. At most one such line
 * exceeds the limits, because nothing is announced afterwards. */
static bool is_outcome(enum entry_kind kind)
{
    return kind == ENTRY_CREATED || kind == ENTRY_LINKED || kind == ENTRY_CANCEL;
}

static int charge_line(struct journal *j, const struct entry *entry, size_t len, struct error *err)
{
    if (is_outcome(entry->kind) || j->is_sealing) {
        j->counts.bytes += len;
        return 0;
    }
    if (len > j->limits.text || (uint64_t)j->size > j->limits.text - len) {
        error_set(err, E_TOO_LARGE,
                  "the change cannot be recorded for undo: the list of changes of this run is "
                  "longer than %llu MiB",
                  (unsigned long long)(j->limits.text / MIB));
        return error_hint(err, "split the work into several runs, or grant the directory `:cow`");
    }
    return journal_charge(j, len, err);
}

/* A line that was written in part would swallow the next one. */
static int take_back(struct journal *j, struct error *err)
{
    if (ftruncate(j->fd, j->size) < 0)
        j->is_broken = true;
    return error_errno(err, "write the undo journal");
}

int journal_append(struct journal *j, struct entry *entry, struct error *err)
{
    size_t len;
    ssize_t n;

    if (j->is_broken || j->is_sealed)
        return error_set(err, E_SYSTEM, "the undo journal is closed");
    entry->at_ns = entry_now();
    len = entry_format(entry, j->line);
    if (!len)
        return error_set(err, E_INVALID, "the path is too long for the undo journal");
    if (charge_line(j, entry, len, err) < 0)
        return -1;
    do
        n = write(j->fd, j->line, len);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return error_errno(err, "write the undo journal");
    if ((size_t)n < len) {
        errno = ENOSPC;
        return take_back(j, err);
    }
    j->size += n;
    return 0;
}

/* Gives a change its number. */
static int count_entry(struct journal *j, struct entry *entry, struct error *err)
{
    if (j->entries >= j->limits.entries) {
        error_set(err, E_TOO_LARGE,
                  "the change cannot be recorded for undo: more than %llu "
                  "changes in this run",
                  (unsigned long long)j->limits.entries);
        return error_hint(err, "split the work into several runs, or grant the directory `:cow`");
    }
    entry->id = j->entries + 1;
    return 0;
}

static void note_announced(struct journal *j, const struct announced *a)
{
    if (j->n_announced == ANNOUNCED_MAX) {
        free(j->announced[0].path);
        memmove(j->announced, j->announced + 1, (ANNOUNCED_MAX - 1) * sizeof(*a));
        j->n_announced--;
    }
    j->announced[j->n_announced++] = *a;
}

/* The change needs no entry. It takes a place all the same, so that journal_done() takes back none
 * of the changes before it. */
static int announce_nothing(struct journal *j)
{
    note_announced(j, &(struct announced){0});
    return 0;
}

static uint64_t *counter_of(struct journal *j, const struct announced *a)
{
    switch (a->kind) {
    case ENTRY_CREATE:
        return &j->counts.created;
    case ENTRY_CHANGE:
    case ENTRY_META:
        return a->is_made ? NULL : &j->counts.changed;
    case ENTRY_REMOVE:
        return &j->counts.removed;
    case ENTRY_RENAME:
    case ENTRY_SWAP:
        return a->is_made ? NULL : &j->counts.renamed;
    default:
        return NULL;
    }
}

/* +1: it was announced, -1: it was taken back. */
static void count_change(struct journal *j, const struct announced *a, int sign)
{
    uint64_t *counter = counter_of(j, a), step = sign < 0 ? UINT64_MAX : 1;

    if (counter)
        *counter += step;
    if (a->kind == ENTRY_DROP)
        j->counts.created -= step;
    /* A new file that takes the place of an old one is a changed file to everybody. */
    if (a->is_replaced) {
        j->counts.created -= step;
        j->counts.removed -= step;
        j->counts.changed += step;
    }
}

/* `announced` is taken over. */
static int announce(struct journal *j, struct entry *entry, struct announced announced,
                    struct error *err)
{
    announced.kind = entry->kind;
    announced.id = entry->id;
    announced.dev = entry->dev;
    announced.ino = entry->ino;
    if (journal_append(j, entry, err) < 0) {
        free(announced.path);
        return -1;
    }
    j->entries++;
    count_change(j, &announced, 1);
    note_announced(j, &announced);
    return 0;
}

/* --- objects --- */

static size_t slot_of(const struct journal *j, uint64_t dev, uint64_t ino)
{
    uint64_t hash = (ino ^ dev << 40) * UINT64_C(0x9e3779b97f4a7c15);

    return (size_t)(hash >> 20) & (j->n_slots - 1);
}

static struct object *find_slot(const struct journal *j, uint64_t dev, uint64_t ino)
{
    size_t slot = slot_of(j, dev, ino);

    while (j->objects[slot].ino && (j->objects[slot].ino != ino || j->objects[slot].dev != dev))
        slot = (slot + 1) & (j->n_slots - 1);
    return &j->objects[slot];
}

static int grow(struct journal *j, struct error *err)
{
    struct object *old = j->objects;
    size_t n_old = j->n_slots;

    if (2 * j->n_objects < j->n_slots)
        return 0;
    j->objects = calloc(2 * n_old, sizeof(*old));
    if (!j->objects) {
        j->objects = old;
        return error_memory(err);
    }
    j->n_slots = 2 * n_old;
    for (size_t i = 0; i < n_old; i++)
        if (old[i].ino)
            *find_slot(j, old[i].dev, old[i].ino) = old[i];
    free(old);
    return 0;
}

int64_t journal_born(int parent, const char *name)
{
    struct statx st;

    if (statx(parent, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, STATX_BTIME, &st) < 0 ||
        !(st.stx_mask & STATX_BTIME))
        return 0;
    return file_time_ns(&(struct timespec){st.stx_btime.tv_sec, st.stx_btime.tv_nsec});
}

struct object *journal_object(struct journal *j, const struct stat *st, int parent,
                              const char *name)
{
    struct object *o = find_slot(j, st->st_dev, st->st_ino);
    int64_t born;

    if (!o->ino || !o->flags)
        return NULL;
    if (parent < 0 || !o->born_ns || !(born = journal_born(parent, name)))
        return o;
    /* Somebody outside removed the file that we knew, and its inode number went to another file. */
    if (o->flags & OBJECT_MADE ? born > o->born_ns : born != o->born_ns) {
        o->flags = 0;
        return NULL;
    }
    return o;
}

struct object *journal_object_make(struct journal *j, const struct stat *st, struct error *err)
{
    struct object *o;

    if (grow(j, err) < 0)
        return NULL;
    o = find_slot(j, st->st_dev, st->st_ino);
    if (!o->ino) {
        j->n_objects++;
        *o = (struct object){.dev = st->st_dev, .ino = st->st_ino};
    }
    return o;
}

static bool is_made(const struct object *o)
{
    return o && o->flags & OBJECT_MADE;
}

/* --- taken back --- */

int journal_done(struct journal *j, struct error *err)
{
    struct entry entry = {.kind = ENTRY_CANCEL, .path = ""};
    struct announced *a;
    struct object *o;

    if (j->n_announced == 0)
        return 0;
    a = &j->announced[--j->n_announced];
    if (!a->id)
        return 0;
    entry.id = a->id;
    count_change(j, a, -1);
    free(take_ptr(a->path));
    o = a->ino ? find_slot(j, a->dev, a->ino) : NULL;
    /* The saved content stays, for the next entry of the same inode. */
    if (o && o->ino)
        o->flags = a->flags | (o->flags & OBJECT_SAVED);
    return journal_append(j, &entry, err);
}

/* --- changes --- */

int journal_create(struct journal *j, unsigned grant, const char *path, struct error *err)
{
    struct entry entry = {.kind = ENTRY_CREATE, .grant = grant, .path = path};

    if (count_entry(j, &entry, err) < 0)
        return -1;
    return announce(j, &entry, (struct announced){0}, err);
}

int journal_created(struct journal *j, unsigned grant, const char *path, const struct stat *st,
                    struct error *err)
{
    struct entry entry = {.kind = ENTRY_CREATED, .grant = grant, .id = j->entries, .path = path};
    struct object *o;

    entry_set_stat(&entry, st);
    if (journal_append(j, &entry, err) < 0)
        return -1;
    o = journal_object_make(j, st, err);
    if (!o)
        return -1;
    journal_names_forget(j, o);
    *o = (struct object){
        .dev = st->st_dev, .ino = st->st_ino, .flags = OBJECT_MADE, .born_ns = entry_now()};
    return 0;
}

/* The object of an inode whose state before the run was just saved. */
static struct object *known_object(struct journal *j, struct object *o, const struct stat *st,
                                   int parent, const char *name, struct error *err)
{
    if (o)
        return o;
    o = journal_object_make(j, st, err);
    if (!o)
        return NULL;
    journal_names_forget(j, o);
    *o = (struct object){
        .dev = st->st_dev, .ino = st->st_ino, .born_ns = journal_born(parent, name)};
    return o;
}

int journal_linked(struct journal *j, unsigned grant, const char *path, const char *from,
                   int parent, const char *name, const struct stat *st, struct error *err)
{
    struct entry entry = {
        .kind = ENTRY_LINKED, .grant = grant, .id = j->entries, .path = path, .more = from};
    struct object *o;

    entry_set_stat(&entry, st);
    if (journal_append(j, &entry, err) < 0)
        return -1;
    o = known_object(j, journal_object(j, st, parent, name), st, parent, name, err);
    if (!o)
        return -1;
    o->flags |= OBJECT_LINKED;
    journal_name(j, grant, from, st);
    journal_name(j, grant, path, st);
    return 0;
}

int journal_change(struct journal *j, unsigned grant, const char *path, int parent,
                   const char *name, const struct stat *st, struct error *err)
{
    struct entry entry = {.kind = ENTRY_CHANGE, .grant = grant, .path = path};
    struct object *o;

    if (!S_ISREG(st->st_mode))
        return announce_nothing(j);
    o = journal_object(j, st, parent, name);
    if (o && o->flags & (OBJECT_MADE | OBJECT_CHANGED))
        return announce_nothing(j);
    entry_set_stat(&entry, st);
    if (count_entry(j, &entry, err) < 0)
        return -1;
    if (o && o->flags & OBJECT_SAVED)
        entry.saved = o->saved;
    else if (journal_save(j, parent, name, st, &entry.saved, err) < 0)
        return -1;
    if (journal_save_xattrs(j, parent, name, st, entry.id, err) < 0 ||
        announce(j, &entry, (struct announced){.flags = o ? o->flags : 0}, err) < 0)
        return -1;
    o = known_object(j, o, st, parent, name, err);
    if (!o)
        return -1;
    o->flags |= OBJECT_SAVED | OBJECT_CHANGED | OBJECT_META;
    o->saved = entry.saved;
    return 0;
}

int journal_held(struct journal *j, unsigned grant, const char *path, int parent, const char *name,
                 const struct stat *st, int content, struct error *err)
{
    struct entry entry = {.kind = ENTRY_CHANGE, .grant = grant, .path = path};
    struct object *o = journal_object(j, st, parent, name);

    entry_set_stat(&entry, st);
    if (count_entry(j, &entry, err) < 0 ||
        (content >= 0 && journal_save_from(j, content, st, &entry.saved, err) < 0) ||
        journal_save_xattrs(j, parent, name, st, entry.id, err) < 0 ||
        announce(j, &entry, (struct announced){.flags = o ? o->flags : 0}, err) < 0)
        return -1;
    o = known_object(j, o, st, parent, name, err);
    if (!o)
        return -1;
    o->flags |= OBJECT_CHANGED | OBJECT_META | (entry.saved ? OBJECT_SAVED : 0);
    o->saved = entry.saved;
    return 0;
}

int journal_meta(struct journal *j, unsigned grant, const char *path, int parent, const char *name,
                 const struct stat *st, struct error *err)
{
    struct entry entry = {.kind = ENTRY_META, .grant = grant, .path = path};
    struct object *o = journal_object(j, st, parent, name);

    if (o && o->flags & (OBJECT_MADE | OBJECT_META))
        return announce_nothing(j);
    entry_set_stat(&entry, st);
    if (count_entry(j, &entry, err) < 0 ||
        journal_save_xattrs(j, parent, name, st, entry.id, err) < 0 ||
        announce(j, &entry, (struct announced){.flags = o ? o->flags : 0}, err) < 0)
        return -1;
    o = known_object(j, o, st, parent, name, err);
    if (!o)
        return -1;
    o->flags |= OBJECT_META;
    return 0;
}

/* Fills the entry with the data to make the removed file again. */
static int save_removed(struct journal *j, struct object *o, int parent, const char *name,
                        const struct stat *st, struct entry *entry, char target[PATH_MAX],
                        struct error *err)
{
    ssize_t len;

    switch (st->st_mode & S_IFMT) {
    case S_IFREG:
        if (o && o->flags & OBJECT_SAVED)
            entry->saved = o->saved;
        else if (journal_save(j, parent, name, st, &entry->saved, err) < 0)
            return -1;
        return journal_save_xattrs(j, parent, name, st, entry->id, err);
    case S_IFLNK:
        len = readlinkat(parent, name, target, PATH_MAX - 1);
        if (len < 0)
            return error_errno(err, "read the link");
        target[len] = '\0';
        entry->more = target;
        return 0;
    case S_IFDIR:
        return journal_save_xattrs(j, parent, name, st, entry->id, err);
    case S_IFIFO:
    case S_IFSOCK:
        return 0;
    default:
        return error_set(err, E_DENIED, "a device cannot be saved for undo");
    }
}

/* The file goes on under another name, and was changed: the change belongs to that name, too. */
static int note_change(struct journal *j, const struct object *o, unsigned grant, const char *path,
                       int parent, const char *name, const struct stat *st, struct error *err)
{
    struct entry entry = {.kind = o->flags & OBJECT_CHANGED ? ENTRY_CHANGE : ENTRY_META,
                          .grant = grant,
                          .path = path,
                          .saved = o->flags & OBJECT_CHANGED ? o->saved : 0};

    entry_set_stat(&entry, st);
    if (count_entry(j, &entry, err) < 0 ||
        journal_save_xattrs(j, parent, name, st, entry.id, err) < 0 ||
        journal_append(j, &entry, err) < 0)
        return -1;
    j->entries++;
    return 0;
}

/* One of several names of a file will be removed. *ret_other: another one, or NULL. */
static int keep_others(struct journal *j, const struct object *o, unsigned grant, const char *path,
                       int parent, const char *name, const struct stat *st, char other[PATH_MAX],
                       const char **ret_other, struct error *err)
{
    bool is_changed = o && o->flags & (OBJECT_CHANGED | OBJECT_META);

    if (journal_find_name(j, o, grant, path, parent, st, other)) {
        *ret_other = other;
        return is_changed ? note_change(j, o, grant, other, parent, name, st, err) : 0;
    }
    if (!is_changed || j->limits.is_undo)
        return 0;
    return error_set(err, E_UNSUPPORTED,
                     "it was changed, and its other names (hard links) are not known");
}

int journal_remove(struct journal *j, unsigned grant, const char *path, int parent,
                   const char *name, const struct stat *st, struct error *err)
{
    struct object *o = journal_object(j, st, parent, name);
    bool is_last = S_ISDIR(st->st_mode) || st->st_nlink <= 1;
    struct entry entry = {.grant = grant, .path = path};
    char target[PATH_MAX], other[PATH_MAX];

    entry.kind = is_made(o) ? ENTRY_DROP : ENTRY_REMOVE;
    if (!is_last && S_ISREG(st->st_mode) && !is_made(o) &&
        keep_others(j, o, grant, path, parent, name, st, other, &entry.more, err) < 0)
        return -1;
    entry_set_stat(&entry, st);
    if (count_entry(j, &entry, err) < 0 ||
        (!is_made(o) && save_removed(j, o, parent, name, st, &entry, target, err) < 0) ||
        announce(j, &entry, (struct announced){.path = strdup(path), .flags = o ? o->flags : 0},
                 err) < 0)
        return -1;
    if (is_last) {
        /* The number may go to another file now. */
        if (o) {
            journal_names_forget(j, o);
            o->flags = 0;
        }
        return 0;
    }
    if (is_made(o) || !S_ISREG(st->st_mode))
        return 0;
    o = known_object(j, o, st, parent, name, err);
    if (!o)
        return -1;
    o->flags |= OBJECT_SAVED;
    o->saved = entry.saved;
    return 0;
}

/* The name that was removed just before is the one that is taken now. */
static bool replaces(const struct journal *j, const struct stat *st, const char *to)
{
    const struct announced *last = j->n_announced ? &j->announced[j->n_announced - 1] : NULL;

    return last && last->kind == ENTRY_REMOVE && last->id == j->entries && last->path &&
           S_ISREG(st->st_mode) && strcmp(last->path, to) == 0;
}

int journal_rename(struct journal *j, unsigned grant, const char *from, const char *to,
                   const struct stat *st, struct error *err)
{
    struct entry entry = {.kind = ENTRY_RENAME, .grant = grant, .path = from, .more = to};
    struct object *o = journal_object(j, st, -1, NULL);
    bool made = is_made(o);

    entry_set_stat(&entry, st);
    if (count_entry(j, &entry, err) < 0)
        return -1;
    if (o)
        journal_names_move(j, o, from, to);
    return announce(j, &entry,
                    (struct announced){.is_made = made,
                                       .is_replaced = made && replaces(j, st, to),
                                       .flags = o ? o->flags : 0},
                    err);
}

int journal_swap(struct journal *j, unsigned grant, const char *one, const char *other,
                 const struct stat *st, struct error *err)
{
    struct entry entry = {.kind = ENTRY_SWAP, .grant = grant, .path = one, .more = other};

    struct object *o = journal_object(j, st, -1, NULL);

    entry_set_stat(&entry, st);
    if (count_entry(j, &entry, err) < 0)
        return -1;
    return announce(j, &entry, (struct announced){.flags = o ? o->flags : 0}, err);
}
