#include "sandbox/overlay_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "sandbox/mount.h"

/* Names without a colon, a comma or a backslash, which all mean something to the file system: the
 * granted path itself never goes into an option. */
struct places {
    char base[64], lower[80], upper[80], work[80];
};

static int make_places(struct places *p, const char *disk, size_t n, struct error *err)
{
    (void)snprintf(p->base, sizeof(p->base), "%.40s/cow%zu", disk, n);
    (void)snprintf(p->lower, sizeof(p->lower), "%s/lower", p->base);
    (void)snprintf(p->upper, sizeof(p->upper), "%s/upper", p->base);
    (void)snprintf(p->work, sizeof(p->work), "%s/work", p->base);
    if (mkdir(p->base, 0700) < 0 || mkdir(p->lower, 0700) < 0 || mkdir(p->upper, 0700) < 0 ||
        mkdir(p->work, 0700) < 0)
        return error_errno(err, "make room for the overlay");
    return 0;
}

static int unsupported(struct error *err)
{
    error_errno(err, "put an overlay over it");
    if (err)
        err->code = E_UNSUPPORTED;
    return error_hint(err,
                      "copy-on-write needs overlayfs in user namespaces (Linux 5.11; as root "
                      "5.19) on a file system that supports it; grant it `:ro`, or `:rw` and do "
                      "not fork the session");
}

/* `userxattr`: what the file system notes in the upper directory are attributes that a user may
 * set. With it there are no redirects: the upper directory has every file where it is seen. */
static int make_overlay(const struct places *p, int *ret_fd, struct error *err)
{
    cleanup_close int fs = (int)syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC);
    cleanup_close int overlay = -1;

    if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "lowerdir", p->lower, 0) < 0 ||
        syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "upperdir", p->upper, 0) < 0 ||
        syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "workdir", p->work, 0) < 0 ||
        syscall(SYS_fsconfig, fs, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) < 0 ||
        syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return unsupported(err);
    overlay = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (overlay < 0)
        return unsupported(err);
    *ret_fd = take_fd(overlay);
    return 0;
}

/* The overlay holds what it is made of; here nothing of it stays but the upper directory, which
 * is covered like the rest of the disk. */
static int overlay_grant(const char *disk, size_t n, int *grant_fd, int *ret_upper,
                         struct error *err)
{
    cleanup_close int upper = -1;
    struct places p = {0};
    struct stat st;
    int overlay = -1;

    if (make_places(&p, disk, n, err) < 0 || mount_attach(*grant_fd, p.lower, err) < 0)
        return -1;
    if (stat(p.lower, &st) < 0 || chmod(p.upper, st.st_mode & 0777) < 0)
        return error_errno(err, "look at the directory");
    upper = open(p.upper, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (upper < 0)
        return error_errno(err, "open the upper directory");
    if (make_overlay(&p, &overlay, err) < 0)
        return -1;
    (void)close(*grant_fd);
    *grant_fd = overlay;
    *ret_upper = take_fd(upper);
    return umount2(p.lower, MNT_DETACH) < 0 ? error_errno(err, "detach the directory") : 0;
}

int overlay_grants(const struct wire_spawn *spec, const char *disk, int *grant_fds,
                   int *overlay_fds, struct error *err)
{
    size_t count = 0;

    for (uint32_t i = 0; i < spec->n_grants; i++) {
        if (spec->grants[i].mode != WIRE_GRANT_COW)
            continue;
        if (count == WIRE_COW_MAX)
            return error_set(err, E_PROTOCOL, "more than %d copy-on-write grants", WIRE_COW_MAX);
        if (overlay_grant(disk, count, &grant_fds[i], &overlay_fds[2 * count], err) < 0)
            return error_wrap(err, "copy-on-write grant %.*s", (int)spec->grants[i].path.len,
                              spec->grants[i].path.data);
        count++;
    }
    return 0;
}

int overlay_open(const char *path, int *ret_fd, struct error *err)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return error_errno(err, "open the directory");
    *ret_fd = fd;
    return 0;
}
