/* Calls that open or cut a file. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/calls.h"

/* Of the flags of open(2), what is passed on when a file is opened for a program. */
#define OPEN_FLAGS_KEPT (O_ACCMODE | O_APPEND | O_SYNC | O_DSYNC | O_DIRECT | O_NOATIME)

/* A file may come or go while we look: the user has the directory, too. */
#define ATTEMPTS_MAX 8

static int open_existing(const struct place *p, int flags)
{
    return openat(p->parent, p->name,
                  (flags & OPEN_FLAGS_KEPT) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

/* O_NONBLOCK was ours: a name that has become a FIFO must not hold us up. */
static long hand_over(struct held_call *c, int *fd, int flags)
{
    if (!(flags & O_NONBLOCK) && fcntl(*fd, F_SETFL, flags & (O_APPEND | O_DIRECT | O_NOATIME)) < 0)
        return -errno;
    c->fd = take_fd(*fd);
    c->fd_flags = flags & O_CLOEXEC ? O_CLOEXEC : 0;
    return 0;
}

/* Content is saved when the file is open, since then the caller may write, and before it is cut. */
static long open_to_change(struct held_call *c, struct place *p, int flags)
{
    int access = (flags & O_ACCMODE) == O_RDONLY ? O_RDWR : flags & O_ACCMODE;
    cleanup_close int fd = -1;
    struct stat st;
    long r;

    r = judge(c->b, p, JUDGE_CHANGE);
    if (r < 0)
        return r;
    fd = open_existing(p, (flags & ~O_ACCMODE) | access);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0 || st.st_ino != p->st.st_ino || st.st_dev != p->st.st_dev)
        return -EAGAIN;
    r = keep_content(c->b, p);
    if (r != 0)
        return r;
    if (!c->b->report->run)
        held_note_opened(p, fd);
    if ((flags & O_TRUNC) && ftruncate(fd, 0) < 0)
        return keep_undone(c->b, -errno);
    c->b->report->changed++;
    return hand_over(c, &fd, flags);
}

static long open_old(struct held_call *c, struct place *p, int flags)
{
    if ((flags & O_CREAT) && (flags & O_EXCL))
        return -EEXIST;
    if (S_ISLNK(p->st.st_mode))
        return -ELOOP;
    if (S_ISDIR(p->st.st_mode))
        return -EISDIR;
    if (p->has_slash || (flags & O_DIRECTORY))
        return -ENOTDIR;
    /* A FIFO is a way to a process of the host, and neither the mount nor, below /tmp, Landlock
     * stops it. Its devices cannot be opened, nor sockets. */
    if (!S_ISREG(p->st.st_mode) && (flags & O_ACCMODE) != O_RDONLY)
        return -EACCES;
    /* A file that is only read is opened as the sandbox sees it: our mount has nothing covered. */
    if (!S_ISREG(p->st.st_mode) || ((flags & O_ACCMODE) == O_RDONLY && !(flags & O_TRUNC)))
        return ANSWER_CONTINUE;
    return open_to_change(c, p, flags);
}

/* A compiled module of Python's. Tools that copy packages expect to be able to write it, and nobody
 * misses it later: they get a file without a name. */
static long open_nowhere(struct held_call *c, const struct place *p, int flags, mode_t mode)
{
    int access = (flags & O_ACCMODE) == O_RDONLY ? O_RDWR : flags & O_ACCMODE;
    cleanup_close int fd =
        openat(p->parent, ".", O_TMPFILE | O_EXCL | O_CLOEXEC | access, mode & FILE_MODE);

    return fd < 0 ? -EPERM : hand_over(c, &fd, flags);
}

static long open_new(struct held_call *c, struct place *p, int flags, mode_t mode)
{
    cleanup_close int fd = -1;
    long r;

    if (!(flags & O_CREAT))
        return -ENOENT;
    if (p->has_slash)
        return -EISDIR;
    if (flags & O_DIRECTORY)
        return -EINVAL;
    if (protected_is_cache(p->path))
        return open_nowhere(c, p, flags, mode);
    r = judge(c->b, p, JUDGE_CREATE);
    if (r == 0)
        r = keep_announce(c->b, p);
    if (r < 0)
        return r;
    call_adopt_umask(c);
    fd = openat(p->parent, p->name,
                (flags & OPEN_FLAGS_KEPT) | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                mode & FILE_MODE);
    if (fd < 0)
        return keep_undone(c->b, errno == EEXIST ? -EAGAIN : -errno);
    r = keep_created(c->b, p, NULL);
    return r == 0 ? hand_over(c, &fd, flags) : r;
}

static long open_place(struct held_call *c, int dirfd, uint64_t path, int flags, mode_t mode)
{
    bool follows = !(flags & O_NOFOLLOW) && !((flags & O_CREAT) && (flags & O_EXCL));
    long r = -EAGAIN;

    for (int i = 0; r == -EAGAIN && i < ATTEMPTS_MAX; i++) {
        cleanup(place_done) struct place p = {.parent = -1};

        r = call_find(c, dirfd, path, follows, &p);
        if (r == 0)
            r = p.exists ? open_old(c, &p, flags) : open_new(c, &p, flags, mode);
    }
    return r;
}

/* A file without a name that gets one later: programs do without where a file system has none. */
static long open_nameless(struct held_call *c, int dirfd, uint64_t path)
{
    cleanup(place_done) struct place p = {.parent = -1};
    long r = call_find(c, dirfd, path, true, &p);

    return r == 0 ? -EOPNOTSUPP : r;
}

long call_open_at(struct held_call *c, int dirfd, uint64_t path, uint64_t flags_arg, uint64_t mode)
{
    int flags = (int)(uint32_t)flags_arg;

    if (flags & O_PATH)
        return ANSWER_CONTINUE;
    if ((flags & O_TMPFILE) == O_TMPFILE)
        return open_nameless(c, dirfd, path);
    return open_place(c, dirfd, path, flags, (mode_t)mode);
}

long call_open(struct held_call *c)
{
    return call_open_at(c, AT_FDCWD, c->args[0], c->args[1], c->args[2]);
}

long call_openat(struct held_call *c)
{
    return call_open_at(c, dirfd_of(c->args[0]), c->args[1], c->args[2], c->args[3]);
}

long call_creat(struct held_call *c)
{
    return call_open_at(c, AT_FDCWD, c->args[0], O_CREAT | O_WRONLY | O_TRUNC, c->args[1]);
}

long call_truncate(struct held_call *c)
{
    cleanup(place_done) struct place p = {.parent = -1};
    cleanup_close int fd = -1;
    off_t size = (off_t)c->args[1];
    long r = call_find(c, AT_FDCWD, c->args[0], true, &p);

    if (r != 0)
        return r;
    if (!p.exists)
        return -ENOENT;
    if (S_ISDIR(p.st.st_mode))
        return -EISDIR;
    if (!S_ISREG(p.st.st_mode) || size < 0)
        return -EINVAL;
    if (c->b->file_bytes && (uint64_t)size > c->b->file_bytes)
        return -EFBIG;
    r = judge(c->b, &p, JUDGE_CHANGE);
    if (r < 0)
        return r;
    fd = open_existing(&p, O_WRONLY);
    if (fd < 0)
        return -errno;
    r = keep_content(c->b, &p);
    if (r != 0)
        return r;
    if (ftruncate(fd, size) < 0)
        return keep_undone(c->b, -errno);
    c->b->report->changed++;
    return 0;
}
