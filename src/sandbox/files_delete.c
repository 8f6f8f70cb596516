#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/closer.h"
#include "base/limits.h"
#include "sandbox/files_internal.h"

/* Names read at a time, on each level: a deep tree must not take much stack. */
#define NAMES_SIZE 2048

/* Deleted between two looks at the clock. */
#define PAUSE_NAMES 16

struct deletion {
    const struct files *files;
    struct files_guard guard;
    struct error stopped; /* why it did not go on after a pause */
    size_t left;          /* names that may still be looked at */
    unsigned depth;
    bool is_too_large;
};

static int delete_below(struct deletion *d, int parent, const char *name);

/* unlinkat(2) for anything but a directory. A descriptor keeps the file, so that its pages are not
 * freed in our turn of the loop. */
static int unlink_file(int dir, const char *name)
{
    cleanup(closer_close_file) int fd = files_openat(dir, name, O_PATH, 0);

    (void)fd;
    return unlinkat(dir, name, 0) == 0 ? 0 : -errno;
}

/* One entry, whatever it is. A directory that came in place of a file meanwhile is EISDIR, a file
 * in place of a directory ENOTDIR: the program plays, and does not win more than an error. */
static int delete_entry(struct deletion *d, int dir, const char *name)
{
    int r;

    if (d->left == 0) {
        d->is_too_large = true;
        return -1;
    }
    d->left--;
    if (d->left % PAUSE_NAMES == 0 && files_pause(&d->guard, d->files, &d->stopped) < 0)
        return -1;
    r = unlink_file(dir, name);
    if (r == 0 || r == -ENOENT)
        return 0;
    errno = -r;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    return delete_below(d, dir, name);
}

static int empty_directory(struct deletion *d, int dir)
{
    _Alignas(uint64_t) char data[NAMES_SIZE];
    bool found = true;

    /* Deleting moves what has not been read yet on some kernels: from the start until it is empty.
     */
    while (found) {
        struct files_names names = {.fd = dir, .data = data, .size = sizeof(data)};
        const char *name;

        if (lseek(dir, 0, SEEK_SET) < 0)
            return -1;
        found = false;
        while ((name = files_next_name(&names))) {
            found = true;
            if (delete_entry(d, dir, name) < 0)
                return -1;
        }
    }
    return 0;
}

static int delete_below(struct deletion *d, int parent, const char *name)
{
    cleanup_close int dir = -1;
    int r;

    if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
        return 0;
    if (errno != ENOTEMPTY)
        return -1;
    if (d->depth == LIMIT_FILES_DEPTH) {
        d->is_too_large = true;
        return -1;
    }
    dir = files_openat(parent, name, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return -1;
    d->depth++;
    r = empty_directory(d, dir);
    d->depth--;
    return r < 0 ? -1 : unlinkat(parent, name, AT_REMOVEDIR);
}

/* Without `recursive`: unlinkat(2) itself says whether it is a directory. */
static int delete_one(int dir, const char *name)
{
    int r = unlink_file(dir, name);

    if (r == 0)
        return 0;
    errno = -r;
    return errno == EISDIR ? unlinkat(dir, name, AT_REMOVEDIR) : -1;
}

static int delete_path(struct deletion *d, const char *path, bool recursive, struct error *err)
{
    cleanup_close int dir = -1;
    char name[NAME_MAX + 1];

    if (files_enter(&d->guard, d->files, err) < 0 ||
        files_open_parent(d->files, path, &dir, name, err) < 0)
        return -1;
    if (delete_one(dir, name) == 0)
        return 0;
    if (!recursive || errno != ENOTEMPTY)
        return files_fail(err, "delete", path);
    if (delete_below(d, dir, name) == 0)
        return 0;
    if (d->stopped.code != E_NONE) {
        if (err)
            error_move(err, &d->stopped);
        return error_wrap(err, "part of the directory is deleted");
    }
    if (!d->is_too_large)
        return files_fail(err, "delete", path);
    error_set(err, E_TOO_LARGE, "the directory is too large or too deep to delete in one call");
    return error_hint(err, "repeat the request to continue, or let the program delete it");
}

int files_delete(const struct files *files, const char *path, bool recursive, struct error *err)
{
    struct deletion d = {.files = files, .left = LIMIT_FILES_WALK};
    int r = delete_path(&d, path, recursive, err);

    files_leave(&d.guard);
    error_done(&d.stopped);
    return r;
}
