#include "sandbox/cover.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
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

/* The template's /run is an empty directory. */
static int cover(const struct wire_spawn *spec, struct span place, const char *path,
                 struct error *err)
{
    cleanup_close int fd = open_place(spec, place, path), copy = -1;
    bool is_directory;
    struct stat st;

    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES
                   ? 0
                   : error_errno(err, "open %s", path);
    if (fstat(fd, &st) < 0)
        return error_errno(err, "look at %s", path);
    is_directory = S_ISDIR(st.st_mode);
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
