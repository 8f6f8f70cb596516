#include "sandbox/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"

int mount_set_attrs(int dirfd, const char *path, uint64_t attrs, bool recursive, struct error *err)
{
    struct mount_attr attr = {.attr_set = attrs};
    unsigned flags = (recursive ? AT_RECURSIVE : 0) | (*path ? 0 : AT_EMPTY_PATH);

    if (syscall(SYS_mount_setattr, dirfd, path, flags, &attr, sizeof(attr)) < 0)
        return error_errno(err, "mount_setattr %s", path);
    return 0;
}

/* Always cut off from the mount it is a copy of: what is mounted below either later must not appear
 * below the other. On most hosts mounts are shared by default. */
static int make_private(int fd, bool recursive, struct error *err)
{
    struct mount_attr attr = {.propagation = MS_PRIVATE};
    unsigned flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0);

    if (syscall(SYS_mount_setattr, fd, "", flags, &attr, sizeof(attr)) < 0)
        return error_errno(err, "make a mount private");
    return 0;
}

int mount_clone(int dirfd, const char *path, uint64_t attrs, bool recursive, int *ret_fd,
                struct error *err)
{
    unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (recursive ? AT_RECURSIVE : 0) |
                     (*path ? 0 : AT_EMPTY_PATH);
    cleanup_close int fd = (int)syscall(SYS_open_tree, dirfd, path, flags);

    if (fd < 0)
        return error_errno(err, "open_tree %s", path);
    if (make_private(fd, recursive, err) < 0)
        return -1;
    if (attrs && mount_set_attrs(fd, "", attrs, recursive, err) < 0)
        return -1;
    *ret_fd = take_fd(fd);
    return 0;
}

int mount_attach(int mount_fd, const char *target, struct error *err)
{
    if (syscall(SYS_move_mount, mount_fd, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return error_errno(err, "move_mount to %s", target);
    return 0;
}

int mount_bind(const char *source, const char *target, uint64_t attrs, struct error *err)
{
    cleanup_close int fd = -1;

    if (mount_clone(AT_FDCWD, source, attrs, true, &fd, err) < 0)
        return -1;
    return mount_attach(fd, target, err);
}

int mount_make_dirs(const char *path, struct error *err)
{
    char part[PATH_MAX];
    size_t len = strlen(path);
    int saved;

    if (len >= sizeof(part))
        return error_set(err, E_INVALID, "path too long");
    for (size_t i = 1; i <= len; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0755) == 0 || errno == EEXIST)
            continue;
        /* A read-only tree that already has the directory says EROFS before it says EEXIST. */
        saved = errno;
        if (saved == EROFS && access(part, F_OK) == 0)
            continue;
        errno = saved;
        return error_errno(err, "mkdir %s", part);
    }
    return 0;
}

int mount_make_point(const char *path, bool is_directory, struct error *err)
{
    int fd;

    if (is_directory)
        return mount_make_dirs(path, err);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0444);
    if (fd < 0)
        return error_errno(err, "create %s", path);
    (void)close(fd);
    return 0;
}

int mount_pivot(const char *path, struct error *err)
{
    char cwd[PATH_MAX];

    if (chdir(path) < 0)
        return error_errno(err, "chdir %s", path);
    /* The new root over the old one, then the old one away: no directory has to exist for it. */
    if (syscall(SYS_pivot_root, ".", ".") < 0)
        return error_errno(err, "pivot_root");
    if (umount2(".", MNT_DETACH) < 0)
        return error_errno(err, "detach the old root");
    if (chdir("/") < 0)
        return error_errno(err, "chdir /");
    if (!getcwd(cwd, sizeof(cwd)) || strcmp(cwd, "/") != 0)
        return error_set(err, E_INTERNAL, "the working directory is not the new root");
    return 0;
}
