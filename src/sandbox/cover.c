#include "sandbox/cover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/paths.h"
#include "sandbox/landlock.h"
#include "sandbox/mount.h"

#define EMPTY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

/* The length of the longest grant's path that `path` lies in; 0: none. */
static size_t grant_len(const struct wire_spawn *spec, struct span path)
{
    size_t best = 0;

    for (uint32_t i = 0; i < spec->n_grants; i++) {
        struct span grant = spec->grants[i].path;

        if (grant.len > best && path.len > grant.len && path.data[grant.len] == '/' &&
            memcmp(path.data, grant.data, grant.len) == 0)
            best = grant.len;
    }
    return best;
}

/* The way to the grant is the template's. Below it there must be no link: the path was resolved
 * outside, and one that somebody put there since must not lead the cover elsewhere. */
static int open_place(const struct wire_spawn *spec, struct span place, const char *path)
{
    struct open_how how = {
        .flags = O_PATH | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    size_t len = grant_len(spec, place);
    cleanup_free char *top = strndup(path, len);
    cleanup_close int grant = -1;

    if (!top || !len) {
        errno = EINVAL;
        return -1;
    }
    grant = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return grant < 0 ? -1 : (int)syscall(SYS_openat2, grant, path + len + 1, &how, sizeof(how));
}

/* Puts an empty directory, or an empty file, over what `fd` stands for. The template's /run is an
 * empty directory. */
static int cover_fd(int fd, bool is_directory, const char *path, struct error *err)
{
    cleanup_close int copy = -1;

    /* The device has to stay one: it is read as an empty file. */
    if (mount_clone(AT_FDCWD, is_directory ? "/run" : "/dev/null",
                    is_directory ? EMPTY : MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, false, &copy,
                    err) < 0)
        return -1;
    if (syscall(SYS_move_mount, copy, "", fd, "",
                MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
        return error_errno(err, "cover %s", path);
    return 0;
}

static int cover(const struct wire_spawn *spec, struct span place, const char *path,
                 struct error *err)
{
    cleanup_close int fd = open_place(spec, place, path);
    struct stat st;

    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES
                   ? 0
                   : error_errno(err, "open %s", path);
    if (fstat(fd, &st) < 0)
        return error_errno(err, "look at %s", path);
    return cover_fd(fd, S_ISDIR(st.st_mode), path, err);
}

int cover_places(const struct wire_spawn *spec, struct error *err)
{
    for (uint32_t i = 0; i < spec->hidden.count; i++) {
        cleanup_free char *path = span_dup(spec->hidden.items[i]);

        if (!path || path[0] != '/')
            return error_set(err, E_PROTOCOL, "a place to hide is not absolute");
        if (cover(spec, spec->hidden.items[i], path, err) < 0)
            return -1;
    }
    return 0;
}

/* --- FIFOs --- */

/* A directory with more, or deeper, is refused: a second or two of looking. */
#define NAMES_MAX 2000000
#define DEPTH_MAX 256
#define FIFOS_MAX 256

struct search {
    size_t names, fifos;
    unsigned depth;
};

static int refuse_search(const char *why, struct error *err)
{
    error_set(err, E_DENIED, "the directory cannot be searched for FIFOs: %s", why);
    return error_hint(err, "move it to a place that is not below /tmp, /var/tmp or /workspace, or "
                           "grant it `:cow`");
}

static int search(struct search *s, int dir, struct error *err);

/* A directory that the program cannot enter is of no use to it. One that it can enter but not list
 * may have FIFOs that it knows by name. */
static int search_below(struct search *s, int dir, const char *name, struct error *err)
{
    int fd, r;

    if (s->depth == DEPTH_MAX)
        return refuse_search("it is too deep", err);
    fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES && faccessat(dir, name, X_OK, AT_EACCESS) == 0)
        return refuse_search("a directory in it cannot be listed", err);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EACCES
                   ? 0
                   : error_errno(err, "open a directory");
    s->depth++;
    r = search(s, fd, err);
    s->depth--;
    return r;
}

static int cover_fifo(struct search *s, int dir, const char *name, struct error *err)
{
    cleanup_close int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return errno == ENOENT || errno == EACCES ? 0 : error_errno(err, "open a FIFO");
    if (fstat(fd, &st) < 0)
        return error_errno(err, "look at a FIFO");
    if (!S_ISFIFO(st.st_mode))
        return 0;
    if (++s->fifos > FIFOS_MAX)
        return refuse_search("it has too many", err);
    return cover_fd(fd, false, "a FIFO", err);
}

static int search_name(struct search *s, int dir, const struct dirent *entry, struct error *err)
{
    unsigned type = entry->d_type;
    struct stat st;

    if (++s->names > NAMES_MAX)
        return refuse_search("it has too many files", err);
    if (type == DT_UNKNOWN && fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        type = IFTODT(st.st_mode);
    if (type == DT_DIR)
        return search_below(s, dir, entry->d_name, err);
    return type == DT_FIFO ? cover_fifo(s, dir, entry->d_name, err) : 0;
}

/* Takes the descriptor over. */
static int search(struct search *s, int dir, struct error *err)
{
    cleanup_closedir DIR *entries = fdopendir(dir);
    struct dirent *entry;

    if (!entries) {
        (void)close(dir);
        return error_errno(err, "list a directory");
    }
    while (errno = 0, (entry = readdir(entries))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (search_name(s, dir, entry, err) < 0)
            return -1;
    }
    return errno ? error_errno(err, "list a directory") : 0;
}

/* Landlock's right to write counts for everything below: sandbox/recipe.c gives it there. */
static bool is_writable_around(const char *path)
{
    return landlock_abi() == 0 || paths_below(path, "/tmp") || paths_below(path, "/var/tmp") ||
           paths_below(path, "/workspace");
}

int cover_fifos(const struct wire_spawn *spec, struct error *err)
{
    struct search s = {0};

    for (uint32_t i = 0; i < spec->n_grants; i++) {
        cleanup_free char *path = span_dup(spec->grants[i].path);
        int dir;

        if (!path)
            return error_memory(err);
        if (spec->grants[i].mode == WIRE_GRANT_COW || !is_writable_around(path))
            continue;
        dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
            return error_errno(err, "open %s", path);
        if (search(&s, dir, err) < 0)
            return error_wrap(err, "grant %s", path);
    }
    return 0;
}
