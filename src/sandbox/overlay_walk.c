/* Finds a program's changes: compares the overlay with the directory on the disk.
 *
 * The overlay has every file that was written, in whole and at its place; a character device 0/0
 * where something was deleted; and an attribute at directories that stand in place of deleted ones,
 * of which nothing shows through (Documentation/filesystems/overlayfs.rst). None of that is
 * believed to be well-formed: whatever is odd becomes an entry that is not applied.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "sandbox/files_internal.h"
#include "sandbox/overlay_internal.h"
#include "sandbox/survey.h"

#define CHUNK (64 * KIB)
#define NAMES (16 * KIB)

struct walk {
    const struct overlay *overlay;
    size_t index;
    struct overlays_list *list;
    struct survey *survey; /* of the disk, made before the overlay is looked at */
    size_t seen;
    bool is_full; /* nothing more is looked at */
    unsigned depth;
    char path[PATH_MAX];
    size_t len;
};

void overlays_list_done(struct overlays_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->entries[i].failure);
    free(list->entries);
    buf_done(&list->paths);
    *list = (struct overlays_list){0};
}

/* --- the list --- */

static int grow(struct overlays_list *list, struct error *err)
{
    struct overlay_entry *grown =
        array_grow(list->entries, list->count, &list->size, sizeof(*grown));

    if (!grown)
        return error_memory(err);
    list->entries = grown;
    return 0;
}

static bool is_odd_name(const char *path)
{
    size_t len = strlen(path);

    if (utf8_valid(path, len) != len)
        return true;
    for (size_t i = 0; i < len; i++)
        if ((uint8_t)path[i] < 0x20 || path[i] == 0x7f)
            return true;
    return false;
}

/* Names protected because of links and git's configuration on the disk. If they could not be found
 * out, everything is protected. */
static bool is_led_to(const struct walk *w, enum files_kind kind)
{
    return !w->survey || survey_judge_path(w->survey, w->path) ||
           (kind == FILES_LINK && survey_judge_move(w->survey, -1, w->path));
}

static enum overlay_obstacle obstacle_of(const struct walk *w, const struct overlay_entry *e,
                                         const char *target)
{
    if (overlay_is_protected(w->overlay, w->path, e->kind) || is_led_to(w, e->kind))
        return OVERLAY_PROTECTED;
    if (e->change != OVERLAY_DELETED && protected_is_cache(w->path))
        return OVERLAY_PROTECTED;
    if (is_odd_name(w->path))
        return OVERLAY_ODD_NAME;
    if (e->change != OVERLAY_DELETED && e->kind != FILES_REGULAR && e->kind != FILES_DIRECTORY &&
        e->kind != FILES_LINK)
        return OVERLAY_SPECIAL;
    if (e->change != OVERLAY_DELETED && e->kind == FILES_LINK &&
        !overlay_link_stays(w->path, target ? target : ""))
        return OVERLAY_LEADS_OUT;
    if (e->ctime_ns && e->kind != FILES_DIRECTORY && overlay_is_conflict(w->overlay, w->path, e))
        return OVERLAY_CONFLICT;
    return OVERLAY_NO_OBSTACLE;
}

/* `w->path` has changed. Returns the entry, which holds until the next one; NULL: no room. */
static struct overlay_entry *add(struct walk *w, enum overlay_change change, const struct stat *now,
                                 const struct stat *was, const char *target, struct error *err)
{
    struct overlays_list *list = w->list;
    struct files_entry new = {0}, old = {0};
    struct overlay_entry *e;

    if (list->count == LIMIT_FILES_WALK || grow(list, err) < 0 ||
        list->paths.len + w->len + 1 > LIMIT_FILES_PATHS) {
        list->is_partial = w->is_full = true;
        return NULL;
    }
    if (now)
        files_fill(&new, now);
    if (was)
        files_fill(&old, was);
    e = &list->entries[list->count];
    *e = (struct overlay_entry){
        .index = w->index,
        .path_at = list->paths.len,
        .change = change,
        .kind = now ? new.kind : old.kind,
        .old_kind = was ? old.kind : new.kind,
        .mode = new.mode & 0777,
        .old_mode = old.mode & 0777,
        .size = new.size,
        .old_size = old.size,
        .ctime_ns = was ? overlay_ctime_ns(was) : 0,
        .mtime_ns = was ? overlay_mtime_ns(was) : 0,
        .inode = was ? was->st_ino : 0,
    };
    e->obstacle = obstacle_of(w, e, target);
    /* Of a regular file the content counts: look_at_file(). */
    if (e->obstacle == OVERLAY_NO_OBSTACLE &&
        (e->kind != FILES_REGULAR || change == OVERLAY_DELETED) &&
        overlay_git_refuses(w->overlay, w->survey, w->path, e, -1, NULL))
        e->obstacle = OVERLAY_PROTECTED;
    if (buf_add(&list->paths, w->path, w->len + 1, err) < 0) {
        list->is_partial = w->is_full = true;
        return NULL;
    }
    list->count++;
    return e;
}

/* --- one step down --- */

static bool push(struct walk *w, const char *name, size_t *ret_len)
{
    size_t slash = w->len > 0, len = strlen(name);

    *ret_len = w->len;
    w->is_full |= w->seen++ >= 4 * (size_t)LIMIT_FILES_WALK;
    if (w->is_full || w->len + slash + len >= sizeof(w->path)) {
        w->list->is_partial = true;
        return false;
    }
    if (slash)
        w->path[w->len] = '/';
    memcpy(w->path + w->len + slash, name, len + 1);
    w->len += slash + len;
    return true;
}

static void pop(struct walk *w, size_t len)
{
    w->len = len;
    w->path[len] = '\0';
}

/* Calls `fn` for every name in the directory, with that name pushed. */
static void each_name(struct walk *w, int dir,
                      void (*fn)(struct walk *w, const char *name, void *arg), void *arg)
{
    cleanup_free char *data = malloc(NAMES);
    struct files_names names = {.fd = dir, .data = data, .size = NAMES};
    const char *name;

    if (!data || w->depth == LIMIT_FILES_DEPTH) {
        w->list->is_partial = true;
        return;
    }
    w->depth++;
    while ((name = files_next_name(&names))) {
        char copy[NAME_MAX + 1];
        size_t before;

        (void)snprintf(copy, sizeof(copy), "%s", name);
        if (push(w, copy, &before))
            fn(w, copy, arg);
        pop(w, before);
        if (w->is_full)
            break;
    }
    w->depth--;
}

/* --- deletions --- */

static void delete_tree(struct walk *w, int disk, const char *name, const struct stat *st);

static void delete_name(struct walk *w, const char *name, void *arg)
{
    const int *disk = arg;
    struct stat st;

    if (overlay_look(&w->overlay->disk, *disk, name, &st) == 0)
        delete_tree(w, *disk, name, &st);
}

/* Lists what is at `w->path` on the disk, and everything below it. */
static void delete_tree(struct walk *w, int disk, const char *name, const struct stat *st)
{
    struct overlay_entry *e = add(w, OVERLAY_DELETED, NULL, st, NULL, NULL);

    if (e && S_ISDIR(st->st_mode)) {
        cleanup_close int dir =
            overlay_openat(&w->overlay->disk, disk, name, O_RDONLY | O_DIRECTORY);

        if (dir >= 0)
            each_name(w, dir, delete_name, &dir);
        else
            e->obstacle = OVERLAY_UNREADABLE;
    }
}

/* --- files --- */

/* Whether both hold the same, and what the new one holds. -1: one of them is not to be read. */
static int compare_content(int now, int was, uint8_t digest[SHA256_BYTES])
{
    struct sha256_stream *sha = sha256_begin();
    cleanup_free char *data = malloc(2 * CHUNK);
    bool is_same = was >= 0;
    uint64_t at = 0;
    ssize_t n = data && sha ? 1 : -1;

    while (n > 0) {
        n = files_read(now, at, data, CHUNK, NULL);
        if (n < 0)
            break;
        sha256_feed(sha, data, (size_t)n);
        if (is_same && (files_read(was, at, data + CHUNK, CHUNK, NULL) != n ||
                        memcmp(data, data + CHUNK, (size_t)n) != 0))
            is_same = false;
        at += (uint64_t)n;
    }
    sha256_end(sha, digest);
    return n < 0 ? -1 : is_same;
}

struct pair {
    int upper, disk; /* directories; the second -1: there is none */
    bool is_opaque;  /* nothing of the second shows through */
};

static int open_regular(const struct files *files, int dir, const char *name)
{
    cleanup_close int fd = overlay_openat(files, dir, name, O_RDONLY);
    struct stat st;

    /* The name may stand for something else by now. */
    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
        return -1;
    return take_fd(fd);
}

static void look_at_file(struct walk *w, const struct pair *p, const char *name,
                         const struct stat *now, const struct stat *was)
{
    bool may_be_same = was && S_ISREG(was->st_mode) && was->st_size == now->st_size;
    cleanup_close int new = open_regular(&w->overlay->upper, p->upper, name);
    cleanup_close int old = may_be_same ? open_regular(&w->overlay->disk, p->disk, name) : -1;
    uint8_t digest[SHA256_BYTES] = {0};
    int is_same = new < 0 ? -1 : compare_content(new, old, digest);
    struct overlay_entry *e;

    if (was && is_same == 1 && (now->st_mode & 0777) == (was->st_mode & 0777))
        return;
    e = add(w, was ? OVERLAY_CHANGED : OVERLAY_CREATED, now, was, NULL, NULL);
    if (!e)
        return;
    memcpy(e->digest, digest, sizeof(digest));
    if ((e->obstacle == OVERLAY_NO_OBSTACLE || e->obstacle == OVERLAY_CONFLICT) &&
        overlay_git_refuses(w->overlay, w->survey, w->path, e, new, e->digest))
        e->obstacle = OVERLAY_PROTECTED;
    if (is_same < 0 && (e->obstacle == OVERLAY_NO_OBSTACLE || e->obstacle == OVERLAY_CONFLICT))
        e->obstacle = OVERLAY_UNREADABLE;
}

static void look_at_link(struct walk *w, const struct pair *p, const char *name,
                         const struct stat *now, const struct stat *was)
{
    char target[PATH_MAX], old[PATH_MAX];
    struct overlay_entry *e;

    if (overlay_readlink(&w->overlay->upper, p->upper, name, target, sizeof(target)) < 0)
        target[0] = '\0'; /* leads nowhere, and is not applied */
    if (was && S_ISLNK(was->st_mode) &&
        overlay_readlink(&w->overlay->disk, p->disk, name, old, sizeof(old)) >= 0 &&
        strcmp(target, old) == 0)
        return;
    e = add(w, was ? OVERLAY_CHANGED : OVERLAY_CREATED, now, was, target, NULL);
    if (e)
        sha256(target, strlen(target), e->digest);
}

/* --- directories --- */

static void look_at_name(struct walk *w, const char *name, void *arg);

static bool is_opaque(int dir)
{
    char value = 0;

    return fgetxattr(dir, "user.overlay.opaque", &value, 1) == 1 && value == 'y';
}

/* In a directory of which nothing shows through. */
static void delete_hidden(struct walk *w, const char *name, void *arg)
{
    struct pair *p = arg;
    struct stat st;

    if (overlay_look(&w->overlay->upper, p->upper, name, &st) < 0 && errno == ENOENT)
        delete_name(w, name, &p->disk);
}

static void look_at_pair(struct walk *w, struct pair *p)
{
    each_name(w, p->upper, look_at_name, p);
    if (p->is_opaque && p->disk >= 0)
        each_name(w, p->disk, delete_hidden, p);
}

static void look_at_directory(struct walk *w, const struct pair *above, const char *name,
                              const struct stat *now, const struct stat *was)
{
    bool is_on_disk = was && S_ISDIR(was->st_mode);
    cleanup_close int upper =
        overlay_openat(&w->overlay->upper, above->upper, name, O_RDONLY | O_DIRECTORY);
    cleanup_close int disk =
        is_on_disk ? overlay_openat(&w->overlay->disk, above->disk, name, O_RDONLY | O_DIRECTORY)
                   : -1;
    struct pair p = {upper, disk, upper >= 0 && is_opaque(upper)};
    struct overlay_entry *e;

    if (!is_on_disk || upper < 0 || disk < 0) {
        e = add(w, is_on_disk ? OVERLAY_CHANGED : OVERLAY_CREATED, now, is_on_disk ? was : NULL,
                NULL, NULL);
        if (e && (upper < 0 || is_on_disk))
            e->obstacle = OVERLAY_UNREADABLE;
    }
    if (upper >= 0 && (disk >= 0 || !is_on_disk))
        look_at_pair(w, &p);
}

static bool is_whiteout(const struct stat *st)
{
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

/* One that stood there and was of another kind is deleted first. */
static bool is_replaced(const struct stat *now, const struct stat *was)
{
    return S_ISDIR(was->st_mode) != S_ISDIR(now->st_mode);
}

static void look_at_name(struct walk *w, const char *name, void *arg)
{
    const struct pair *p = arg;
    struct stat now, old, *was = &old;

    if (overlay_look(&w->overlay->upper, p->upper, name, &now) < 0)
        return; /* gone meanwhile */
    if (p->disk < 0 || overlay_look(&w->overlay->disk, p->disk, name, &old) < 0)
        was = NULL;
    if (was && (is_whiteout(&now) || is_replaced(&now, was))) {
        delete_tree(w, p->disk, name, was);
        was = NULL;
    }
    if (is_whiteout(&now))
        return;
    if (S_ISDIR(now.st_mode))
        look_at_directory(w, p, name, &now, was);
    else if (S_ISREG(now.st_mode))
        look_at_file(w, p, name, &now, was);
    else if (S_ISLNK(now.st_mode))
        look_at_link(w, p, name, &now, was);
    else
        (void)add(w, was ? OVERLAY_CHANGED : OVERLAY_CREATED, &now, was, NULL, NULL);
}

static int compare_entries(const void *a, const void *b)
{
    const struct overlay_entry *left = a, *right = b;
    int by_path;

    if (left->index != right->index)
        return left->index < right->index ? -1 : 1;
    by_path = strcmp(left->path, right->path);
    return by_path ? by_path
                   : (left->change != OVERLAY_DELETED) - (right->change != OVERLAY_DELETED);
}

static bool is_empty(int dir)
{
    cleanup_free char *data = malloc(NAMES);
    cleanup_close int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct files_names names = {.fd = fd, .data = data, .size = NAMES};

    return fd >= 0 && data && !files_next_name(&names);
}

static int walk_layer(const struct overlays *overlays, size_t index, struct overlays_list *list,
                      struct error *err)
{
    const struct overlay *overlay = &overlays->items[index];
    struct walk *w = calloc(1, sizeof(*w));
    struct pair top = {-1, -1, false};
    int r = 0;

    if (!w)
        return error_memory(err);
    w->overlay = overlay;
    w->index = index;
    w->list = list;
    if (overlay->upper.fd < 0) {
        free(w);
        return error_set(err, E_NOT_FOUND, "there is no overlay (yet)");
    }
    top.upper = overlay_openat(&overlay->upper, overlay->upper.fd, "", O_RDONLY | O_DIRECTORY);
    top.disk = overlay_openat(&overlay->disk, overlay->disk.fd, "", O_RDONLY | O_DIRECTORY);
    if (top.upper < 0 || top.disk < 0)
        r = error_errno(err, "open `%s`", overlay->path);
    else if (!is_empty(top.upper)) {
        /* First: the program may go on, and what is listed should still be so when it is shown. */
        (void)survey_new_for_review(overlay->disk.fd, overlay->path, &w->survey, NULL);
        look_at_pair(w, &top);
    }
    close_fd(&top.upper);
    close_fd(&top.disk);
    survey_free(w->survey);
    free(w);
    return r;
}

int overlays_changes(const struct overlays *overlays, struct overlays_list *ret_list,
                     struct error *err)
{
    struct overlays_list list = {0};

    buf_init(&list.paths, LIMIT_FILES_PATHS);
    for (size_t i = 0; i < overlays->count; i++)
        if (walk_layer(overlays, i, &list, err) < 0) {
            overlays_list_done(&list);
            return -1;
        }
    for (size_t i = 0; i < list.count; i++)
        list.entries[i].path = list.paths.data + list.entries[i].path_at;
    if (list.count)
        qsort(list.entries, list.count, sizeof(*list.entries), compare_entries);
    *ret_list = list;
    return 0;
}

/* --- contents --- */

static bool read_whole(const struct files *files, const char *path, size_t limit, struct buf *out)
{
    cleanup_close int fd = -1;

    buf_init(out, limit);
    if (files->fd < 0)
        return false;
    fd = open_regular(files, files->fd, path);
    return fd >= 0 && buf_read_fd(out, fd, NULL) == 0;
}

static bool read_target(const struct files *files, const char *path, struct buf *out)
{
    cleanup(files_leave) struct files_guard guard = {0};
    char target[PATH_MAX], name[NAME_MAX + 1];
    cleanup_close int dir = -1;
    ssize_t n;

    if (files->fd < 0 || files_enter(&guard, files, NULL) < 0 ||
        files_open_parent(files, path, &dir, name, NULL) < 0)
        return false;
    n = readlinkat(dir, name, target, sizeof(target));
    return n >= 0 && (size_t)n < sizeof(target) && buf_add(out, target, (size_t)n, NULL) == 0;
}

static bool read_content(const struct files *files, const struct overlay_entry *e,
                         enum files_kind kind, size_t limit, struct buf *out)
{
    if (kind == FILES_LINK)
        return read_target(files, e->path, out);
    return kind == FILES_REGULAR && read_whole(files, e->path, limit, out);
}

bool overlays_read(const struct overlays *overlays, const struct overlay_entry *e, size_t limit,
                   struct buf *ret_old, struct buf *ret_new)
{
    const struct overlay *overlay = &overlays->items[e->index];

    buf_init(ret_old, limit);
    buf_init(ret_new, limit);
    if (e->size > limit || e->old_size > limit)
        return false;
    if (e->change != OVERLAY_CREATED && e->ctime_ns &&
        !read_content(&overlay->disk, e, e->old_kind, limit, ret_old))
        return false;
    return e->change == OVERLAY_DELETED ||
           read_content(&overlay->upper, e, e->kind, limit, ret_new);
}
