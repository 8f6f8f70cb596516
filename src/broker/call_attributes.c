/* Calls that change mode, owner or times of what is there. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include "base/cleanup.h"
#include "broker/calls.h"
#include "sandbox/root.h"

#define OBJECT_FLAGS (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)

/* Finds what is there and judges it. */
static long prepare_attributes(struct held_call *c, int dirfd, uint64_t path, int flags,
                               enum judge_act act, struct place *p)
{
    long r;

    if (flags & ~OBJECT_FLAGS)
        return -EINVAL;
    r = call_find_object(c, dirfd, path, flags, p);
    if (r == 0)
        r = judge(c->b, p, act);
    return r;
}

/* Of a compiled module that was written to nowhere: see open_nowhere(). */
static bool is_nowhere(long r, const struct place *p)
{
    return r == -ENOENT && p->grant && !p->exists && protected_is_cache(p->path);
}

/* A directory that its owner cannot read or enter cannot be surveyed: no later grant of the tree
 * would be possible. The granted directory itself is not the program's own: its owner keeps all
 * rights, and nobody gets the right to write there who did not have it. */
static long judge_mode(struct held_call *c, const struct place *p, mode_t mode)
{
    mode_t more = mode & ~p->st.st_mode & (S_IWGRP | S_IWOTH);
    mode_t less = ~mode & p->st.st_mode & S_IRWXU;

    if (!S_ISDIR(p->st.st_mode))
        return 0;
    if ((mode & DIR_OWNER_MODE) != DIR_OWNER_MODE)
        return judge_refuse(c->b, p, "change the mode of", DIR_OWNER_WHY, EPERM);
    if (*p->path == '\0' && (more || less))
        return judge_refuse(c->b, p, "change the mode of",
                            "the granted directory itself stays open to its owner, and closed to "
                            "other users",
                            EPERM);
    return 0;
}

/* There is no chmod that does not follow links before Linux 6.6: by descriptor, through /proc. */
static int change_mode(const struct place *p, mode_t mode)
{
    cleanup_close int fd = openat(p->parent, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    char path[64];
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    if (S_ISLNK(st.st_mode)) {
        errno = EOPNOTSUPP;
        return -1;
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return chmod(path, mode & (S_ISDIR(st.st_mode) ? DIR_MODE : FILE_MODE));
}

long call_set_mode(struct held_call *c, struct place *p, mode_t mode)
{
    long r = judge_mode(c, p, mode);

    if (r == 0)
        r = keep_attributes(c->b, p);
    if (r != 0)
        return r;
    if (change_mode(p, mode) < 0)
        return keep_undone(c->b, -errno);
    c->b->report->changed++;
    return 0;
}

static long do_chmod(struct held_call *c, int dirfd, uint64_t path, uint64_t mode, int flags)
{
    cleanup(place_done) struct place p = {.parent = -1};
    long r = prepare_attributes(c, dirfd, path, flags, JUDGE_CHANGE, &p);

    if (is_nowhere(r, &p))
        return 0;
    return r == 0 ? call_set_mode(c, &p, (mode_t)mode) : r;
}

long call_chmod(struct held_call *c)
{
    return do_chmod(c, AT_FDCWD, c->args[0], c->args[1], 0);
}

long call_fchmod(struct held_call *c)
{
    return do_chmod(c, dirfd_of(c->args[0]), 0, c->args[1], 0);
}

long call_fchmodat(struct held_call *c)
{
    return do_chmod(c, dirfd_of(c->args[0]), c->args[1], c->args[2], 0);
}

long call_fchmodat2(struct held_call *c)
{
    return do_chmod(c, dirfd_of(c->args[0]), c->args[1], c->args[2], (int)c->args[3]);
}

/* Nobody but oneself can be made the owner, and that one is already. */
static long do_chown(struct held_call *c, int dirfd, uint64_t path, uint64_t uid, uint64_t gid,
                     int flags)
{
    cleanup(place_done) struct place p = {.parent = -1};
    long r;

    if (flags & ~OBJECT_FLAGS)
        return -EINVAL;
    r = call_find_object(c, dirfd, path, flags, &p);
    if (r != 0)
        return r;
    if (((uint32_t)uid != UINT32_MAX && (uint32_t)uid != ROOT_UID) ||
        ((uint32_t)gid != UINT32_MAX && (uint32_t)gid != ROOT_UID))
        return -EPERM;
    return p.st.st_uid == c->b->uid ? 0 : -EPERM;
}

long call_chown(struct held_call *c)
{
    return do_chown(c, AT_FDCWD, c->args[0], c->args[1], c->args[2], 0);
}

long call_lchown(struct held_call *c)
{
    return do_chown(c, AT_FDCWD, c->args[0], c->args[1], c->args[2], AT_SYMLINK_NOFOLLOW);
}

long call_fchown(struct held_call *c)
{
    return do_chown(c, dirfd_of(c->args[0]), 0, c->args[1], c->args[2], 0);
}

long call_fchownat(struct held_call *c)
{
    return do_chown(c, dirfd_of(c->args[0]), c->args[1], c->args[2], c->args[3], (int)c->args[4]);
}

static long do_utimes(struct held_call *c, int dirfd, uint64_t path, const struct timespec *times,
                      int flags)
{
    cleanup(place_done) struct place p = {.parent = -1};
    long r = prepare_attributes(c, dirfd, path, flags, JUDGE_TIMES, &p);

    if (is_nowhere(r, &p))
        return 0;
    if (r == 0)
        r = keep_attributes(c->b, &p);
    if (r != 0)
        return r;
    if (utimensat(p.parent, p.name, times, AT_SYMLINK_NOFOLLOW) < 0)
        return keep_undone(c->b, -errno);
    c->b->report->changed++;
    return 0;
}

long call_utimensat(struct held_call *c)
{
    struct timespec times[2];

    if (c->args[2] && target_read(c->pid, c->args[2], times, sizeof(times)) < 0)
        return -EFAULT;
    return do_utimes(c, dirfd_of(c->args[0]), c->args[1], c->args[2] ? times : NULL,
                     (int)c->args[3]);
}

/* The older forms, with microseconds or whole seconds. */
static long do_utimeval(struct held_call *c, int dirfd, uint64_t path, uint64_t address)
{
    struct timeval old[2];
    struct timespec times[2];

    if (!address)
        return do_utimes(c, dirfd, path, NULL, 0);
    if (target_read(c->pid, address, old, sizeof(old)) < 0)
        return -EFAULT;
    for (int i = 0; i < 2; i++) {
        if (old[i].tv_usec < 0 || old[i].tv_usec >= 1000000)
            return -EINVAL;
        times[i] = (struct timespec){old[i].tv_sec, old[i].tv_usec * 1000};
    }
    return do_utimes(c, dirfd, path, times, 0);
}

long call_utimes(struct held_call *c)
{
    return do_utimeval(c, AT_FDCWD, c->args[0], c->args[1]);
}

long call_futimesat(struct held_call *c)
{
    return do_utimeval(c, dirfd_of(c->args[0]), c->args[1], c->args[2]);
}

long call_utime(struct held_call *c)
{
    struct utimbuf old;
    struct timespec times[2];

    if (!c->args[1])
        return do_utimes(c, AT_FDCWD, c->args[0], NULL, 0);
    if (target_read(c->pid, c->args[1], &old, sizeof(old)) < 0)
        return -EFAULT;
    times[0] = (struct timespec){old.actime, 0};
    times[1] = (struct timespec){old.modtime, 0};
    return do_utimes(c, AT_FDCWD, c->args[0], times, 0);
}

/* From here on processes of the sandbox may differ in their umask. */
long call_umask(struct held_call *c)
{
    c->b->has_umask = false;
    c->b->umask_varies = true;
    return ANSWER_CONTINUE;
}
