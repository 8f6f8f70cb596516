#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/paths.h"
#include "sandbox/survey_internal.h"

#define LINKS_MAX 40 /* as Linux has it */

/* --- inodes --- */

static size_t slot_of(const struct survey *s, dev_t dev, ino_t ino)
{
    uint64_t h = ((uint64_t)ino ^ ((uint64_t)dev << 32)) * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(h >> 20) & (s->n_slots - 1);

    while (s->inodes[at].flags && (s->inodes[at].dev != dev || s->inodes[at].ino != ino))
        at = (at + 1) & (s->n_slots - 1);
    return at;
}

static int grow_inodes(struct survey *s, struct error *err)
{
    struct survey old = *s;
    size_t wanted = old.n_slots ? 2 * old.n_slots : 256;
    struct survey_inode *grown = calloc(wanted, sizeof(*grown));

    if (!grown)
        return error_memory(err);
    s->inodes = grown;
    s->n_slots = wanted;
    for (size_t i = 0; i < old.n_slots; i++)
        if (old.inodes[i].flags)
            s->inodes[slot_of(s, old.inodes[i].dev, old.inodes[i].ino)] = old.inodes[i];
    free(old.inodes);
    return 0;
}

#define IS_THERE 4u /* so that no slot in use has flags of 0 */

int survey_add_inode(struct survey *s, const struct stat *st, const struct protected_name *row,
                     unsigned flags, struct error *err)
{
    struct survey_inode *inode;

    if (2 * s->n_inodes >= s->n_slots && grow_inodes(s, err) < 0)
        return -1;
    inode = &s->inodes[slot_of(s, st->st_dev, st->st_ino)];
    s->n_inodes += inode->flags == 0;
    inode->dev = st->st_dev;
    inode->ino = st->st_ino;
    inode->flags |= flags | IS_THERE;
    if (row) {
        inode->row = row;
        if (S_ISDIR(st->st_mode)) {
            inode->flags |= SURVEY_DIRECTORY;
            s->has_directories = true;
        }
    }
    return 0;
}

const struct survey_inode *survey_find_inode(const struct survey *s, dev_t dev, ino_t ino)
{
    const struct survey_inode *inode;

    if (!s->n_slots)
        return NULL;
    inode = &s->inodes[slot_of(s, dev, ino)];
    return inode->flags ? inode : NULL;
}

/* --- paths --- */

char *survey_join(const char *dir, const char *name)
{
    char *path = NULL;

    return asprintf(&path, "%s%s%s", dir, *dir ? "/" : "", name) < 0 ? NULL : path;
}

static int open_part(int dir, const char *path, int flags)
{
    struct open_how how = {
        .flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW | (flags & O_PATH ? 0 : O_NONBLOCK)),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
    };

    return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

/* The last name may be a link itself (O_PATH); Linux reports it as ELOOP with NO_SYMLINKS. */
static int open_last(int dir, const char *name, int flags)
{
    return openat(dir, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
}

int survey_open(const struct survey *s, const char *path, int flags)
{
    cleanup_close int dir = fcntl(s->root, F_DUPFD_CLOEXEC, 3);
    char part[PATH_MAX];

    for (;;) {
        size_t len = strlen(path), cut;
        int fd;

        if (dir < 0)
            return -1;
        if (!len)
            return open_part(dir, ".", flags);
        cut = len < PATH_MAX / 2 ? len : PATH_MAX / 2;
        while (cut > 0 && path[cut - 1] != '/')
            cut--;
        if (cut == 0) /* one name is left */
            return open_last(dir, path, flags);
        (void)snprintf(part, sizeof(part), "%.*s", (int)(cut - 1), path);
        fd = open_part(dir, part, O_PATH | O_DIRECTORY);
        close_fd(&dir);
        dir = fd;
        path += cut;
    }
}

static int look(const struct survey *s, const char *path, struct stat *ret_st)
{
    cleanup_close int fd = survey_open(s, path, O_PATH);

    return fd < 0 ? -1 : fstat(fd, ret_st);
}

static int mark(struct survey *s, int dir, struct error *err)
{
    struct stat st;

    if (fstat(dir, &st) < 0)
        return error_errno(err, "look at a directory");
    return survey_add_inode(s, &st, NULL, SURVEY_HOLDS, err);
}

/* From the top, as far as there is something. */
int survey_mark_holders(struct survey *s, const char *path, struct error *err)
{
    cleanup_close int dir = open_part(s->root, ".", O_PATH | O_DIRECTORY);

    if (dir < 0)
        return error_errno(err, "open `%s`", s->path);
    if (mark(s, dir, err) < 0)
        return -1;
    for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
        char name[NAME_MAX + 1];
        int next;

        if (slash - path > NAME_MAX)
            return 0;
        (void)snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
        next = open_part(dir, name, O_PATH | O_DIRECTORY);
        close_fd(&dir);
        dir = next;
        if (dir < 0)
            return 0; /* not there (yet) */
        if (mark(s, dir, err) < 0)
            return -1;
    }
    return 0;
}

/* --- places --- */

static bool is_same_state(const struct protected_state *a, const struct protected_state *b)
{
    return a->row == b->row && a->git == b->git && a->is_installed == b->is_installed &&
           a->python == b->python && a->n_active == b->n_active &&
           memcmp(a->active, b->active, a->n_active * sizeof(a->active[0])) == 0;
}

/* The path of the place, which need not exist. */
static size_t place_slot(const struct survey *s, const char *path,
                         const struct protected_state *state)
{
    uint64_t h = 14695981039346656037u;
    size_t at;

    for (const char *c = path; *c; c++)
        h = (h ^ (uint8_t)*c) * 1099511628211u;
    h = (h ^ (uintptr_t)state->row ^ state->git ^ state->python) * 1099511628211u;
    for (at = (h >> 24) & (s->n_place_slots - 1); s->place_slots[at];
         at = (at + 1) & (s->n_place_slots - 1)) {
        const struct survey_place *place = &s->places[s->place_slots[at] - 1];

        if (is_same_state(&place->state, state) && strcmp(place->path, path) == 0)
            break;
    }
    return at;
}

static int grow_places(struct survey *s, struct error *err)
{
    size_t wanted = s->n_place_slots ? 2 * s->n_place_slots : 256;
    uint32_t *grown = calloc(wanted, sizeof(*grown));

    if (!grown)
        return error_memory(err);
    free(s->place_slots);
    s->place_slots = grown;
    s->n_place_slots = wanted;
    for (size_t i = 0; i < s->n_places; i++)
        s->place_slots[place_slot(s, s->places[i].path, &s->places[i].state)] = (uint32_t)(i + 1);
    return 0;
}

int survey_add_place(struct survey *s, const char *path, const struct protected_state *state,
                     struct error *err)
{
    struct survey_place *grown;
    struct stat st;
    size_t slot;
    char *copy;

    if (2 * s->n_places >= s->n_place_slots && grow_places(s, err) < 0)
        return -1;
    slot = place_slot(s, path, state);
    if (s->place_slots[slot])
        return 0; /* links may lead in circles */
    if (s->n_places == SURVEY_PLACES_MAX) {
        error_set(err, E_TOO_LARGE, "`%s` has too many links to protected places", s->path);
        return error_hint(err, "grant a smaller directory, or this one with :cow");
    }
    grown = array_grow(s->places, s->n_places, &s->places_size, sizeof(*grown));
    if (grown)
        s->places = grown;
    copy = grown ? strdup(path) : NULL;
    if (!copy)
        return error_memory(err);
    s->places[s->n_places++] = (struct survey_place){copy, *state};
    s->place_slots[slot] = (uint32_t)s->n_places;
    if (survey_mark_holders(s, path, err) < 0)
        return -1;
    if (look(s, path, &st) < 0)
        return 0;
    /* A git directory as such is protected, but not everything in it. */
    if (state->row && state->git == GIT_OUTSIDE)
        return survey_add_inode(s, &st, state->row, 0, err);
    return survey_add_inode(s, &st, NULL, SURVEY_HOLDS, err);
}

/* --- where a path leads --- */

struct resolve {
    struct survey *s;
    const struct protected_name *row;
    char *at;   /* where we are, below the grant; "" is the grant */
    char *rest; /* names still to come */
    unsigned links;
    bool is_outside;
};

/* `path` without its last name; of the root: the root. */
static char *parent_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return !slash || slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* The real path of something outside, or of the part of it that is there and may be looked at. What
 * follows that part is taken by its words: ".." must not stay in it, since a path that begins with
 * the grant's would then lead out of it. */
static char *real_outside(const char *path)
{
    char *whole = realpath(path, NULL);
    cleanup_free char *parent = NULL, *real = NULL;
    const char *name = strrchr(path, '/');

    if (whole || !name || name == path)
        return whole;
    parent = parent_of(path);
    real = parent ? real_outside(parent) : NULL;
    if (!real || strcmp(name, "/") == 0 || strcmp(name, "/.") == 0)
        return take_ptr(real);
    if (strcmp(name, "/..") == 0)
        return parent_of(real);
    return asprintf(&whole, "%s%s", strcmp(real, "/") == 0 ? "" : real, name) >= 0 ? whole : NULL;
}

/* The part of `path` behind the grant's; NULL: it is elsewhere. */
static const char *below_grant(const struct survey *s, const char *path)
{
    return paths_below(path, s->path);
}

/* From an absolute path, whose ".." may still lead anywhere. */
static int go_absolute(struct resolve *r, const char *path, struct error *err)
{
    cleanup_free char *real = NULL;
    const char *below = below_grant(r->s, path);
    char *rest;

    if (!below && (real = real_outside(path)))
        below = below_grant(r->s, real);
    if (!below) {
        r->is_outside = true;
        return 0;
    }
    rest = strdup(below);
    if (!rest)
        return error_memory(err);
    free(r->rest);
    r->rest = rest;
    r->at[0] = '\0';
    return 0;
}

static int go_up(struct resolve *r, struct error *err)
{
    char *slash = strrchr(r->at, '/');
    cleanup_free char *path = NULL;

    if (*r->at) {
        *(slash ? slash : r->at) = '\0';
        return 0;
    }
    if (asprintf(&path, "%s/../%s", r->s->path, r->rest) < 0)
        return error_memory(err);
    /* The grant's own path begins this one, but it leads out of it. */
    {
        cleanup_free char *real = real_outside(path);
        const char *below = real ? below_grant(r->s, real) : NULL;

        if (!below) {
            r->is_outside = true;
            return 0;
        }
        return go_absolute(r, real, err);
    }
}

static int take_link(struct resolve *r, int fd, const char *path, struct error *err)
{
    const struct protected_state sealed = {.row = r->row};
    char target[PATH_MAX];
    ssize_t n = readlinkat(fd, "", target, sizeof(target) - 1);
    cleanup_free char *all = NULL;

    if (n < 0 || ++r->links > LINKS_MAX) {
        r->is_outside = true; /* it leads nowhere, and the links themselves cannot be changed */
        return r->row ? survey_add_place(r->s, path, &sealed, err) : 0;
    }
    target[n] = '\0';
    if (r->row && survey_add_place(r->s, path, &sealed, err) < 0)
        return -1;
    all = survey_join(target, r->rest);
    if (!all)
        return error_memory(err);
    if (target[0] == '/')
        return go_absolute(r, all, err);
    free(r->rest);
    r->rest = take_ptr(all);
    return 0;
}

static int go_down(struct resolve *r, const char *name, struct error *err)
{
    cleanup_free char *path = survey_join(r->at, name);
    cleanup_close int fd = -1;
    struct stat st;

    if (!path)
        return error_memory(err);
    fd = survey_open(r->s, path, O_PATH);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISLNK(st.st_mode))
        return take_link(r, fd, path, err);
    free(r->at);
    r->at = take_ptr(path);
    return 0;
}

static int resolve_all(struct resolve *r, struct error *err)
{
    while (!r->is_outside && *r->rest) {
        cleanup_free char *name = NULL;
        size_t len = strcspn(r->rest, "/"), skip = len + strspn(r->rest + len, "/");
        int step;

        name = strndup(r->rest, len);
        if (!name)
            return error_memory(err);
        memmove(r->rest, r->rest + skip, strlen(r->rest + skip) + 1);
        if (!len || strcmp(name, ".") == 0)
            continue;
        step = strcmp(name, "..") == 0 ? go_up(r, err) : go_down(r, name, err);
        if (step < 0)
            return -1;
    }
    return 0;
}

int survey_resolve(struct survey *s, const char *base, const char *target,
                   const struct protected_name *row, char **ret_path, struct error *err)
{
    struct resolve r = {.s = s, .row = row, .at = strdup(base), .rest = strdup(target)};
    int failed = r.at && r.rest ? 0 : error_memory(err);

    if (!failed && target[0] == '/')
        failed = go_absolute(&r, target, err);
    if (!failed)
        failed = resolve_all(&r, err);
    if (!failed)
        *ret_path = r.is_outside ? NULL : take_ptr(r.at);
    free(r.at);
    free(r.rest);
    return failed;
}

int survey_lead(struct survey *s, const char *base, const char *target,
                const struct protected_state *state, struct error *err)
{
    cleanup_free char *path = NULL;

    if (survey_resolve(s, base, target, protected_link_row(state), &path, err) < 0)
        return -1;
    return path ? survey_add_place(s, path, state, err) : 0;
}
