#include "machine/grants.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/paths.h"
#include "sandbox/mount.h"

#define EMPTY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)
#define SHOWN (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

int grants_add(struct grants *grants, const char *text)
{
    char *end;
    long fd = strtol(text, &end, 10);

    if (grants->count == MACHINE_GRANTS_MAX || end == text || fd < 3 || fd > 1024 || *end != '=' ||
        end[1] != '/')
        return -1;
    grants->list[grants->count].fd = (int)fd;
    grants->list[grants->count++].path = end + 1;
    return 0;
}

int grants_hide(struct grants *grants, const char *path)
{
    if (grants->n_hidden == MACHINE_HIDDEN_MAX || *path != '/')
        return -1;
    grants->hidden[grants->n_hidden++] = path;
    return 0;
}

static void place_of(const char *place, size_t number, char path[128])
{
    (void)snprintf(path, 128, "%s/%zu", place, number);
}

/* Nobody who can write to the directory may lead the cover elsewhere. */
static int open_below(const char *top, const char *path)
{
    struct open_how how = {
        .flags = O_PATH | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    cleanup_close int base = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return base < 0 ? -1 : (int)syscall(SYS_openat2, base, path, &how, sizeof(how));
}

/* Whatever else stops it stops the machine: what must be hidden is not shown. A place that this
 * process cannot get to is out of virtiofsd's reach, too, which is the same user. */
static int cover(const char *top, const char *path, const char *empty, const char *nothing,
                 struct error *err)
{
    cleanup_close int fd = open_below(top, path), copy = -1;
    struct stat st;

    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES
                   ? 0
                   : error_errno(err, "hide %s", path);
    if (fstat(fd, &st) < 0)
        return error_errno(err, "look at %s", path);
    if (mount_clone(AT_FDCWD, S_ISDIR(st.st_mode) ? empty : nothing, EMPTY, false, &copy, err) < 0)
        return -1;
    if (syscall(SYS_move_mount, copy, "", fd, "",
                MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
        return error_errno(err, "hide %s", path);
    return 0;
}

/* In each of them: one may be in another. */
static int cover_all(const struct grants *grants, const char *place, const char *empty,
                     const char *nothing, struct error *err)
{
    char top[128];

    for (size_t i = 0; i < grants->count; i++)
        for (size_t n = 0; n < grants->n_hidden; n++) {
            const char *rest = paths_below(grants->hidden[n], grants->list[i].path);

            if (!rest || !*rest)
                continue;
            place_of(place, i, top);
            if (cover(top, rest + (*rest == '/'), empty, nothing, err) < 0)
                return -1;
        }
    return 0;
}

int grants_show(struct grants *grants, const char *place, struct error *err)
{
    char path[128], empty[128], nothing[128];

    place_of(place, grants->count, empty);
    place_of(place, grants->count + 1, nothing);
    for (size_t i = 0; i <= grants->count; i++) {
        place_of(place, i, path);
        if (mount_make_dirs(path, err) < 0)
            return -1;
    }
    /* The share itself is memory of the host: nobody in the machine may fill it. */
    if (mount_make_point(nothing, false, err) < 0 || mount_bind(place, place, SHOWN, err) < 0)
        return -1;
    for (size_t i = 0; i < grants->count; i++) {
        place_of(place, i, path);
        if (mount_attach(grants->list[i].fd, path, err) < 0 ||
            mount_set_attrs(AT_FDCWD, path, SHOWN, false, err) < 0)
            return error_wrap(err, "%s", grants->list[i].path);
        close_fd(&grants->list[i].fd);
    }
    return cover_all(grants, place, empty, nothing, err);
}
