/* Applies changes to the disk, or discards them.
 *
 * Deletions come first, contents before their directory; then new files, directories before their
 * contents. A file is copied without a name, synced, and then gets its name in one step: a process
 * that is killed in between leaves each file old or new.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "sandbox/files_internal.h"
#include "sandbox/overlay_internal.h"

#define CHUNK (64 * KIB)

/* From one tree to another, and what is wanted of it. */
struct transfer {
    const struct files *from, *to;
    bool is_durable;
};

static void set_failure(struct overlay_entry *e, const struct error *err)
{
    e->obstacle = OVERLAY_FAILED;
    if (!e->failure)
        e->failure = strdup(err->message ? err->message : "it failed");
}

static int copy_bytes(int from, struct files_writer *writer, uint8_t digest[SHA256_BYTES],
                      struct error *err)
{
    struct sha256_stream *sha = sha256_begin();
    cleanup_free char *data = malloc(CHUNK);
    uint64_t at = 0;
    ssize_t n = data && sha ? 1 : error_memory(err);

    while (n > 0) {
        n = files_read(from, at, data, CHUNK, err);
        if (n <= 0)
            break;
        sha256_feed(sha, data, (size_t)n);
        if (files_write_feed(writer, data, (size_t)n, err) < 0)
            n = -1;
        at += (uint64_t)(n > 0 ? n : 0);
    }
    sha256_end(sha, digest);
    return n < 0 ? -1 : 0;
}

/* `expected`: what the copy must be, or NULL. */
static int copy_file(const struct transfer *t, const char *path,
                     const struct files_write_options *options,
                     const uint8_t expected[SHA256_BYTES], struct error *err)
{
    cleanup_close int from = -1;
    struct files_writer writer;
    uint8_t digest[SHA256_BYTES];

    if (files_open(t->from, path, &from, NULL, err) < 0 ||
        files_write_begin(&writer, t->to, path, options, err) < 0)
        return -1;
    if (copy_bytes(from, &writer, digest, err) < 0) {
        files_write_abort(&writer);
        return -1;
    }
    if (expected && sha256_differs(digest, expected)) {
        files_write_abort(&writer);
        return error_set(err, E_BUSY, "the program is writing it");
    }
    return files_write_commit(&writer, err);
}

/* Under a name nobody knows first, and then in place of whatever is there. */
static int make_link(const struct files *to, const char *path, const char *target,
                     struct error *err)
{
    cleanup(files_leave) struct files_guard guard = {0};
    cleanup_close int dir = -1;
    char name[NAME_MAX + 1], other[48];
    uint64_t chance;

    if (files_enter(&guard, to, err) < 0 || files_open_parent(to, path, &dir, name, err) < 0)
        return -1;
    if (getrandom(&chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
        return error_errno(err, "getrandom");
    (void)snprintf(other, sizeof(other), ".belljar-%016llx", (unsigned long long)chance);
    if (symlinkat(target, dir, other) < 0)
        return files_fail(err, "link", path);
    if (renameat(dir, other, dir, name) < 0) {
        (void)files_fail(err, "link", path);
        (void)unlinkat(dir, other, 0);
        return -1;
    }
    return 0;
}

static int copy_link(const struct transfer *t, const char *path,
                     const uint8_t expected[SHA256_BYTES], struct error *err)
{
    char target[PATH_MAX], name[NAME_MAX + 1];
    uint8_t digest[SHA256_BYTES];
    cleanup_close int dir = -1;

    {
        cleanup(files_leave) struct files_guard guard = {0};

        if (files_enter(&guard, t->from, err) < 0 ||
            files_open_parent(t->from, path, &dir, name, err) < 0)
            return -1;
    }
    if (overlay_readlink(t->from, dir, name, target, sizeof(target)) < 0)
        return error_errno(err, "read the link");
    sha256(target, strlen(target), digest);
    if (expected && (sha256_differs(digest, expected) || !overlay_link_stays(path, target)))
        return error_set(err, E_BUSY, "the program is writing it");
    return make_link(t->to, path, target, err);
}

static int make_directory(const struct files *to, const char *path, unsigned mode,
                          struct error *err)
{
    cleanup(files_leave) struct files_guard guard = {0};
    cleanup_close int dir = -1;
    char name[NAME_MAX + 1];
    struct stat st;

    if (files_enter(&guard, to, err) < 0 || files_open_parent(to, path, &dir, name, err) < 0)
        return -1;
    if (mkdirat(dir, name, 0700) == 0)
        return fchmodat(dir, name, mode & 0777, 0) < 0 ? files_fail(err, "make", path) : 0;
    if (errno != EEXIST)
        return files_fail(err, "make", path);
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode)) {
        errno = EEXIST;
        return files_fail(err, "make", path);
    }
    return 0;
}

/* --- to the disk --- */

/* Looks up the present file. 1: there is one; 0: there is none; -1: unknown. */
static int look_on_disk(const struct overlay *overlay, const char *path, struct stat *ret_st)
{
    cleanup_close int fd = overlay_openat(&overlay->disk, overlay->disk.fd, path, O_PATH);

    if (fd < 0 || fstat(fd, ret_st) < 0)
        return errno == ENOENT ? 0 : -1;
    return 1;
}

/* Looked at once more, right before: between the list and now somebody may have saved it. */
static bool has_moved_on(const struct overlay *overlay, const struct overlay_entry *e)
{
    struct stat st;
    int r;

    if (e->kind == FILES_DIRECTORY)
        return false;
    r = look_on_disk(overlay, e->path, &st);
    if (r <= 0)
        return r < 0 || e->ctime_ns != 0;
    /* A second change within one tick of the disk's clock has the same time, and another inode
     * where a file took the place of the other. */
    return overlay_ctime_ns(&st) != e->ctime_ns || overlay_mtime_ns(&st) != e->mtime_ns ||
           st.st_ino != e->inode;
}

static int put_entry(const struct overlay *overlay, const struct overlay_entry *e,
                     struct error *err)
{
    const struct transfer t = {&overlay->upper, &overlay->disk, true};
    const struct files_write_options options = {.has_mode = true,
                                                .mode = e->mode,
                                                .is_synced = true,
                                                .is_new = e->change == OVERLAY_CREATED,
                                                .makes_parents = true};

    if (e->kind == FILES_DIRECTORY)
        return make_directory(t.to, e->path, e->mode, err);
    if (e->kind == FILES_LINK)
        return copy_link(&t, e->path, e->digest, err);
    return copy_file(&t, e->path, &options, e->digest, err);
}

static void apply_entry(struct overlays *overlays, struct overlay_entry *e, bool force)
{
    const struct overlay *overlay = &overlays->items[e->index];
    cleanup_error struct error err = {0};
    struct stat now;

    if (e->obstacle != OVERLAY_NO_OBSTACLE && !(force && e->obstacle == OVERLAY_CONFLICT))
        return;
    if (has_moved_on(overlay, e)) {
        e->obstacle = OVERLAY_CONFLICT;
        return;
    }
    if ((e->change == OVERLAY_DELETED ? files_delete(&overlay->disk, e->path, false, &err)
                                      : put_entry(overlay, e, &err)) < 0) {
        if (err.errnum == EEXIST && e->kind != FILES_DIRECTORY)
            e->obstacle = OVERLAY_CONFLICT;
        else
            set_failure(e, &err);
        return;
    }
    e->obstacle = OVERLAY_NO_OBSTACLE;
    e->is_done = true;
    if (look_on_disk(overlay, e->path, &now) > 0) {
        e->ctime_ns = overlay_ctime_ns(&now);
        e->mtime_ns = overlay_mtime_ns(&now);
        e->inode = now.st_ino;
    } else {
        e->ctime_ns = 0;
    }
}

void overlays_apply(struct overlays *overlays, struct overlays_list *list, bool force,
                    bool (*wanted)(void *arg, const struct overlay_entry *entry), void *arg)
{
    for (size_t i = list->count; i-- > 0;)
        if (list->entries[i].change == OVERLAY_DELETED && wanted(arg, &list->entries[i]))
            apply_entry(overlays, &list->entries[i], force);
    for (size_t i = 0; i < list->count; i++)
        if (list->entries[i].change != OVERLAY_DELETED && wanted(arg, &list->entries[i]))
            apply_entry(overlays, &list->entries[i], force);
}

/* --- back from the disk --- */

/* Root may read what is closed to the program: a file of somebody else's, which it could delete all
 * the same. It does not get it back as one of its own. */
static bool is_programs(const struct overlay *overlay, const char *path)
{
    cleanup_close int fd = overlay_openat(&overlay->disk, overlay->disk.fd, path, O_PATH);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return false;
    return geteuid() != 0 || st.st_uid == overlay->disk.uid || (st.st_mode & S_IROTH);
}

/* The program's view is changed through its own mount, as its user: an overlay in use must not be
 * changed directly, because overlayfs would not notice. */
static int bring_back(const struct overlay *overlay, const struct overlay_entry *e,
                      struct error *err)
{
    const struct transfer t = {&overlay->disk, &overlay->seen, false};
    const struct files_write_options options = {
        .has_mode = true, .mode = e->old_mode, .makes_parents = true};
    struct files_entry on_disk;

    if (files_stat(t.from, e->path, &on_disk, err) < 0)
        return -1;
    if (!is_programs(overlay, e->path))
        return error_set(err, E_DENIED, "it belongs to somebody else");
    switch (on_disk.kind) {
    case FILES_DIRECTORY:
        return make_directory(t.to, e->path, on_disk.mode, err);
    case FILES_LINK:
        return copy_link(&t, e->path, NULL, err);
    case FILES_REGULAR:
        return copy_file(&t, e->path, &options, NULL, err);
    default:
        return error_set(err, E_UNSUPPORTED, "only files, directories and links are applied");
    }
}

static void discard_entry(struct overlays *overlays, struct overlay_entry *e)
{
    const struct overlay *overlay = &overlays->items[e->index];
    cleanup_error struct error err = {0};
    int r = e->change == OVERLAY_CREATED ? files_delete(&overlay->seen, e->path, false, &err)
                                         : bring_back(overlay, e, &err);

    if (r < 0) {
        set_failure(e, &err);
        return;
    }
    e->obstacle = OVERLAY_NO_OBSTACLE;
    e->is_done = true;
}

void overlays_discard(struct overlays *overlays, struct overlays_list *list,
                      bool (*wanted)(void *arg, const struct overlay_entry *entry), void *arg)
{
    for (size_t i = list->count; i-- > 0;)
        if (list->entries[i].change == OVERLAY_CREATED && wanted(arg, &list->entries[i]))
            discard_entry(overlays, &list->entries[i]);
    for (size_t i = 0; i < list->count; i++)
        if (list->entries[i].change != OVERLAY_CREATED && wanted(arg, &list->entries[i]))
            discard_entry(overlays, &list->entries[i]);
}
