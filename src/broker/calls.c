/* One handler for each call that changes something by a path. All have the same shape: find the
 * place, judge it, write down what will be lost, act on directory and name with no link followed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include "base/cleanup.h"
#include "broker/internal.h"
#include "sandbox/root.h"

/* Of the flags of open(2), what is passed on when a file is opened for a program. */
#define OPEN_FLAGS_KEPT (O_ACCMODE | O_APPEND | O_SYNC | O_DSYNC | O_DIRECT | O_NOATIME)

/* Set-id bits never reach a directory of the host; the sandbox's filter refuses them, too. */
#define FILE_MODE 0777
#define DIR_MODE  01777

/* A file may come or go while we look: the user has the directory, too. */
#define ATTEMPTS_MAX 8

/* The call, with its arguments in one order: several calls are older forms of another. */
struct call {
    struct broker *b;
    pid_t pid;
    const uint64_t *args;
    int fd; /* for the caller, or -1 */
    uint32_t fd_flags;
};

static int dirfd_of(uint64_t arg)
{
    return (int)(uint32_t)arg;
}

/* --- what is common to all --- */

/* Two brokers may have the same directory. What a place is, its path and what lies beside it say:
 * nobody else changes them between the judgement and the act. */
static int lock_places(const struct broker *b)
{
    int r;

    while ((r = flock(b->lock, LOCK_EX)) < 0 && errno == EINTR)
        ;
    return r;
}

/* The journal could not take what would be lost: the change is not made. */
static long cannot_keep(struct broker *b, const struct place *place, const struct error *err)
{
    if (err->code == E_TOO_LARGE)
        return judge_refuse(b, place, "change",
                            "what would be lost does not fit into the space for undo", EDQUOT);
    return judge_refuse(b, place, "change", "what would be lost cannot be saved for undo",
                        err->errnum == EACCES ? EACCES : EIO);
}

#define KEEP(b, place, function, ...)                                                              \
    ({                                                                                             \
        cleanup_error struct error keep_err_ = {0};                                                \
        (b)->journal &&function((b)->journal, (place)->index, __VA_ARGS__, &keep_err_) < 0         \
            ? cannot_keep(b, place, &keep_err_)                                                    \
            : 0;                                                                                   \
    })

/* Whether the content can be saved now, or a copy has to be waited for. */
static long prepare_copy(struct broker *b, const struct place *p)
{
    cleanup_error struct error err = {0};
    int r;

    if (!b->journal || !S_ISREG(p->st.st_mode))
        return 0;
    r = journal_prepare(b->journal, p->parent, p->name, &p->st, &b->waits_for, &err);
    if (r < 0)
        return cannot_keep(b, p, &err);
    return r == 1 ? ANSWER_LATER : 0;
}

static long keep_content(struct broker *b, const struct place *p)
{
    long r = prepare_copy(b, p);

    if (r != 0)
        return r;
    return KEEP(b, p, journal_change, p->path, p->parent, p->name, &p->st);
}

static long keep_attributes(struct broker *b, const struct place *p)
{
    return KEEP(b, p, journal_meta, p->path, p->parent, p->name, &p->st);
}

static long keep_name(struct broker *b, const struct place *p)
{
    long r = prepare_copy(b, p);

    if (r != 0)
        return r;
    return KEEP(b, p, journal_remove, p->path, p->parent, p->name, &p->st);
}

/* The change that was announced did not happen. */
static long undone(struct broker *b, long r)
{
    if (b->journal)
        (void)journal_done(b->journal, NULL);
    return r;
}

static long announce(struct broker *b, const struct place *p)
{
    return KEEP(b, p, journal_create, p->path);
}

static void created(struct broker *b, struct place *p)
{
    place_look(p);
    if (b->journal && p->exists)
        (void)journal_created(b->journal, p->index, p->path, &p->st, NULL);
    b->report->created++;
}

/* New files get the mode that the caller's umask leaves. It is asked for once, and again only after
 * some process of the sandbox has called umask(2). */
static void adopt_umask(struct call *c)
{
    mode_t mask;

    if (c->b->has_umask || target_umask(c->pid, &mask) < 0)
        return;
    (void)umask(mask);
    c->b->has_umask = !c->b->umask_varies;
}

/* With the first call of a run that may change something, so that most runs have none. */
static int open_journal(struct broker *b, struct error *err)
{
    int r;

    if (!b->is_keeping || b->journal)
        return 0;
    r = journal_new(b->journal_dir, &b->limits, &b->journal, err);
    for (uint32_t i = 0; r == 0 && i < b->n_grants; i++)
        if (b->grants[i].mount >= 0)
            r = journal_grant(b->journal, i, b->grants[i].mount, err);
    if (r < 0) {
        journal_free(b->journal);
        b->journal = NULL;
    }
    return r;
}

/* 0: the place is found, and what happens there can be kept. */
static long find(struct call *c, int dirfd, uint64_t path, bool follows, struct place *p)
{
    cleanup_error struct error err = {0};
    long r = resolve_place(c->b, c->pid, dirfd, path, follows, p);

    if (r != 0)
        return r;
    if (c->b->is_paused) {
        c->b->waits_for = -1;
        return ANSWER_LATER;
    }
    return open_journal(c->b, &err) < 0 ? cannot_keep(c->b, p, &err) : 0;
}

/* --- open --- */

static int open_existing(const struct place *p, int flags)
{
    return openat(p->parent, p->name,
                  (flags & OPEN_FLAGS_KEPT) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

/* O_NONBLOCK was ours: a name that has become a FIFO must not hold us up. */
static long hand_over(struct call *c, int *fd, int flags)
{
    if (!(flags & O_NONBLOCK) && fcntl(*fd, F_SETFL, flags & (O_APPEND | O_DIRECT | O_NOATIME)) < 0)
        return -errno;
    c->fd = take_fd(*fd);
    c->fd_flags = flags & O_CLOEXEC ? O_CLOEXEC : 0;
    return 0;
}

/* Content is saved when the file is open, since then the caller may write, and before it is cut. */
static long open_to_change(struct call *c, struct place *p, int flags)
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
    if ((flags & O_TRUNC) && ftruncate(fd, 0) < 0)
        return undone(c->b, -errno);
    c->b->report->changed++;
    return hand_over(c, &fd, flags);
}

static long open_old(struct call *c, struct place *p, int flags)
{
    if ((flags & O_CREAT) && (flags & O_EXCL))
        return -EEXIST;
    if (S_ISLNK(p->st.st_mode))
        return -ELOOP;
    if (S_ISDIR(p->st.st_mode))
        return -EISDIR;
    if (p->has_slash || (flags & O_DIRECTORY))
        return -ENOTDIR;
    /* FIFOs, sockets and devices are not changed by opening them, and the mount has no devices.
     * What is only read is opened as the sandbox sees it: our mount has nothing covered. */
    if (!S_ISREG(p->st.st_mode) || ((flags & O_ACCMODE) == O_RDONLY && !(flags & O_TRUNC)))
        return ANSWER_CONTINUE;
    return open_to_change(c, p, flags);
}

static long open_new(struct call *c, struct place *p, int flags, mode_t mode)
{
    cleanup_close int fd = -1;
    long r;

    if (!(flags & O_CREAT))
        return -ENOENT;
    if (p->has_slash)
        return -EISDIR;
    if (flags & O_DIRECTORY)
        return -EINVAL;
    r = judge(c->b, p, JUDGE_CREATE);
    if (r == 0)
        r = announce(c->b, p);
    if (r < 0)
        return r;
    adopt_umask(c);
    fd = openat(p->parent, p->name,
                (flags & OPEN_FLAGS_KEPT) | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                mode & FILE_MODE);
    if (fd < 0)
        return undone(c->b, errno == EEXIST ? -EAGAIN : -errno);
    created(c->b, p);
    return hand_over(c, &fd, flags);
}

static long open_place(struct call *c, int dirfd, uint64_t path, int flags, mode_t mode)
{
    bool follows = !(flags & O_NOFOLLOW) && !((flags & O_CREAT) && (flags & O_EXCL));
    long r = -EAGAIN;

    for (int i = 0; r == -EAGAIN && i < ATTEMPTS_MAX; i++) {
        cleanup(place_done) struct place p = {.parent = -1};

        r = find(c, dirfd, path, follows, &p);
        if (r == 0)
            r = p.exists ? open_old(c, &p, flags) : open_new(c, &p, flags, mode);
    }
    return r;
}

/* A file without a name that gets one later: programs do without where a file system has none. */
static long open_nameless(struct call *c, int dirfd, uint64_t path)
{
    cleanup(place_done) struct place p = {.parent = -1};
    long r = find(c, dirfd, path, true, &p);

    return r == 0 ? -EOPNOTSUPP : r;
}

static long do_openat(struct call *c, int dirfd, uint64_t path, uint64_t flags_arg, uint64_t mode)
{
    int flags = (int)(uint32_t)flags_arg;

    if (flags & O_PATH)
        return ANSWER_CONTINUE;
    if ((flags & O_TMPFILE) == O_TMPFILE)
        return open_nameless(c, dirfd, path);
    return open_place(c, dirfd, path, flags, (mode_t)mode);
}

static long call_open(struct call *c)
{
    return do_openat(c, AT_FDCWD, c->args[0], c->args[1], c->args[2]);
}

static long call_openat(struct call *c)
{
    return do_openat(c, dirfd_of(c->args[0]), c->args[1], c->args[2], c->args[3]);
}

static long call_creat(struct call *c)
{
    return do_openat(c, AT_FDCWD, c->args[0], O_CREAT | O_WRONLY | O_TRUNC, c->args[1]);
}

static long call_truncate(struct call *c)
{
    cleanup(place_done) struct place p = {.parent = -1};
    cleanup_close int fd = -1;
    off_t size = (off_t)c->args[1];
    long r = find(c, AT_FDCWD, c->args[0], true, &p);

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
        return undone(c->b, -errno);
    c->b->report->changed++;
    return 0;
}

/* --- new names --- */

/* The name must be free and permitted; afterwards the change is announced. */
static long prepare_new(struct call *c, const struct place *p, enum judge_act act)
{
    long r;

    if (p->exists)
        return -EEXIST;
    r = judge(c->b, p, act);
    if (r == 0)
        r = announce(c->b, p);
    if (r == 0)
        adopt_umask(c);
    return r;
}

static long do_mkdir(struct call *c, int dirfd, uint64_t path, uint64_t mode)
{
    cleanup(place_done) struct place p = {.parent = -1};
    long r = find(c, dirfd, path, false, &p);

    if (r != 0)
        return r;
    r = prepare_new(c, &p, JUDGE_CREATE);
    if (r < 0)
        return r;
    if (mkdirat(p.parent, p.name, (mode_t)mode & DIR_MODE) < 0)
        return undone(c->b, -errno);
    created(c->b, &p);
    return 0;
}

static long call_mkdir(struct call *c)
{
    return do_mkdir(c, AT_FDCWD, c->args[0], c->args[1]);
}

static long call_mkdirat(struct call *c)
{
    return do_mkdir(c, dirfd_of(c->args[0]), c->args[1], c->args[2]);
}

/* Regular files only. FIFOs, sockets and devices are left to the read-only mount. */
static long do_mknod(struct call *c, int dirfd, uint64_t path, uint64_t mode)
{
    long r;

    if ((mode & S_IFMT) != S_IFREG && (mode & S_IFMT) != 0)
        return ANSWER_CONTINUE;
    r = do_openat(c, dirfd, path, O_CREAT | O_EXCL | O_WRONLY, mode);
    close_fd(&c->fd);
    return r;
}

static long call_mknod(struct call *c)
{
    return do_mknod(c, AT_FDCWD, c->args[0], c->args[1]);
}

static long call_mknodat(struct call *c)
{
    return do_mknod(c, dirfd_of(c->args[0]), c->args[1], c->args[2]);
}

static long do_symlink(struct call *c, uint64_t target_arg, int dirfd, uint64_t path)
{
    cleanup(place_done) struct place p = {.parent = -1};
    char target[PATH_MAX];
    long r = find(c, dirfd, path, false, &p);

    if (r != 0)
        return r;
    r = target_path(c->pid, target_arg, target);
    if (r < 0)
        return r;
    if (!target_waits(c->b))
        return -EINTR;
    if (p.has_slash || *target == '\0')
        return -ENOENT;
    r = p.exists ? -EEXIST : judge_target(c->b, &p, target);
    if (r == 0)
        r = prepare_new(c, &p, JUDGE_CREATE_LINK);
    if (r < 0)
        return r;
    if (symlinkat(target, p.parent, p.name) < 0)
        return undone(c->b, -errno);
    created(c->b, &p);
    return 0;
}

static long call_symlink(struct call *c)
{
    return do_symlink(c, c->args[0], AT_FDCWD, c->args[1]);
}

static long call_symlinkat(struct call *c)
{
    return do_symlink(c, c->args[0], dirfd_of(c->args[1]), c->args[2]);
}

static long link_places(struct call *c, struct place *from, struct place *to)
{
    long r;

    if (!from->exists)
        return -ENOENT;
    if (from->index != to->index)
        return -EXDEV;
    if (!S_ISREG(from->st.st_mode) && !S_ISLNK(from->st.st_mode))
        return -EPERM;
    if (from->has_slash || to->has_slash)
        return -ENOTDIR;
    r = judge(c->b, from, JUDGE_LINK);
    if (r == 0)
        r = judge_move(c->b, from, to);
    if (r == 0)
        r = prepare_new(c, to, JUDGE_CREATE);
    if (r < 0)
        return r;
    if (linkat(from->parent, from->name, to->parent, to->name, 0) < 0)
        return undone(c->b, -errno);
    judge_note_link(c->b, from);
    created(c->b, to);
    return 0;
}

/* Calls with two paths: when only one of them leads into the directory, they are on two mounts, and
 * the kernel says so. */
static long do_link(struct call *c, int from_dir, uint64_t from, int to_dir, uint64_t to, int flags)
{
    cleanup(place_done) struct place a = {.parent = -1};
    cleanup(place_done) struct place b = {.parent = -1};
    long r;

    if (flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    r = find(c, from_dir, from, flags & AT_SYMLINK_FOLLOW, &a);
    if (r == 0)
        r = find(c, to_dir, to, false, &b);
    return r == 0 ? link_places(c, &a, &b) : r;
}

static long call_link(struct call *c)
{
    return do_link(c, AT_FDCWD, c->args[0], AT_FDCWD, c->args[1], 0);
}

static long call_linkat(struct call *c)
{
    return do_link(c, dirfd_of(c->args[0]), c->args[1], dirfd_of(c->args[2]), c->args[3],
                   (int)c->args[4]);
}

/* --- names that go --- */

static long do_unlink(struct call *c, int dirfd, uint64_t path, int flags)
{
    cleanup(place_done) struct place p = {.parent = -1};
    bool is_rmdir = flags & AT_REMOVEDIR;
    long r;

    if (flags & ~AT_REMOVEDIR)
        return -EINVAL;
    r = find(c, dirfd, path, false, &p);
    if (r != 0)
        return r;
    if (!p.exists)
        return -ENOENT;
    if (is_rmdir && !S_ISDIR(p.st.st_mode))
        return -ENOTDIR;
    if (!is_rmdir && S_ISDIR(p.st.st_mode))
        return -EISDIR;
    if (!is_rmdir && p.has_slash)
        return -ENOTDIR;
    r = judge(c->b, &p, JUDGE_REMOVE);
    if (r == 0)
        r = keep_name(c->b, &p);
    if (r != 0)
        return r;
    if (unlinkat(p.parent, p.name, flags) < 0)
        return undone(c->b, -errno);
    judge_forget_name(c->b, &p);
    c->b->report->removed++;
    return 0;
}

static long call_unlink(struct call *c)
{
    return do_unlink(c, AT_FDCWD, c->args[0], 0);
}

static long call_rmdir(struct call *c)
{
    return do_unlink(c, AT_FDCWD, c->args[0], AT_REMOVEDIR);
}

static long call_unlinkat(struct call *c)
{
    return do_unlink(c, dirfd_of(c->args[0]), c->args[1], (int)c->args[2]);
}

/* --- rename --- */

static long judge_rename(struct call *c, const struct place *from, const struct place *to)
{
    long r = judge(c->b, from, JUDGE_REMOVE);

    if (r == 0)
        r = judge(c->b, to, to->exists ? JUDGE_REMOVE : JUDGE_CREATE);
    if (r == 0)
        r = judge_move(c->b, from, to);
    return r;
}

static bool is_same_file(const struct place *a, const struct place *b)
{
    return a->exists && b->exists && a->st.st_dev == b->st.st_dev && a->st.st_ino == b->st.st_ino;
}

static long keep_rename(struct broker *b, const struct place *from, const struct place *to)
{
    cleanup_error struct error err = {0};
    long r = to->exists ? keep_name(b, to) : 0;

    if (r != 0 || !b->journal)
        return r;
    if (journal_rename(b->journal, from->index, from->path, to->path, &from->st, &err) == 0)
        return 0;
    if (to->exists)
        (void)journal_done(b->journal, NULL);
    return cannot_keep(b, from, &err);
}

static long rename_places(struct call *c, struct place *from, struct place *to, unsigned flags)
{
    bool is_dir;
    long r;

    if (!from->exists)
        return -ENOENT;
    is_dir = S_ISDIR(from->st.st_mode);
    if (from->index != to->index)
        return -EXDEV;
    if ((from->has_slash || to->has_slash) && !is_dir)
        return -ENOTDIR;
    if (to->exists && (flags & RENAME_NOREPLACE))
        return -EEXIST;
    if (to->exists && is_dir != (bool)S_ISDIR(to->st.st_mode))
        return is_dir ? -ENOTDIR : -EISDIR;
    r = judge_rename(c, from, to);
    if (r < 0 || is_same_file(from, to))
        return r;
    r = keep_rename(c->b, from, to);
    if (r != 0)
        return r;
    if (syscall(SYS_renameat2, from->parent, from->name, to->parent, to->name, flags) < 0) {
        r = undone(c->b, -errno);
        return to->exists ? undone(c->b, r) : r;
    }
    if (to->exists)
        judge_forget_name(c->b, to);
    c->b->report->renamed++;
    return 0;
}

/* An exchange of two names is left out, as on many file systems: programs then rename twice. */
static long do_rename(struct call *c, int from_dir, uint64_t from, int to_dir, uint64_t to,
                      unsigned flags)
{
    cleanup(place_done) struct place a = {.parent = -1};
    cleanup(place_done) struct place b = {.parent = -1};
    long r = find(c, from_dir, from, false, &a);

    if (r == 0)
        r = find(c, to_dir, to, false, &b);
    if (r != 0)
        return r;
    if (flags & ~(unsigned)RENAME_NOREPLACE)
        return -EINVAL;
    return rename_places(c, &a, &b, flags);
}

static long call_rename(struct call *c)
{
    return do_rename(c, AT_FDCWD, c->args[0], AT_FDCWD, c->args[1], 0);
}

static long call_renameat(struct call *c)
{
    return do_rename(c, dirfd_of(c->args[0]), c->args[1], dirfd_of(c->args[2]), c->args[3], 0);
}

static long call_renameat2(struct call *c)
{
    return do_rename(c, dirfd_of(c->args[0]), c->args[1], dirfd_of(c->args[2]), c->args[3],
                     (unsigned)c->args[4]);
}

/* --- attributes --- */

/* Finds what is there and writes its attributes down. */
static long prepare_attributes(struct call *c, int dirfd, uint64_t path, int flags, struct place *p)
{
    long r;

    if (path == 0 || (flags & AT_EMPTY_PATH))
        return ANSWER_CONTINUE; /* about a descriptor */
    r = find(c, dirfd, path, !(flags & AT_SYMLINK_NOFOLLOW), p);
    if (r != 0)
        return r;
    if (!p->exists)
        return -ENOENT;
    if (p->has_slash && !S_ISDIR(p->st.st_mode))
        return -ENOTDIR;
    r = judge(c->b, p, JUDGE_CHANGE);
    return r == 0 ? keep_attributes(c->b, p) : r;
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

static long do_chmod(struct call *c, int dirfd, uint64_t path, uint64_t mode, int flags)
{
    cleanup(place_done) struct place p = {.parent = -1};
    long r = prepare_attributes(c, dirfd, path, flags, &p);

    if (r != 0)
        return r;
    if (change_mode(&p, (mode_t)mode) < 0)
        return undone(c->b, -errno);
    c->b->report->changed++;
    return 0;
}

static long call_chmod(struct call *c)
{
    return do_chmod(c, AT_FDCWD, c->args[0], c->args[1], 0);
}

static long call_fchmodat(struct call *c)
{
    return do_chmod(c, dirfd_of(c->args[0]), c->args[1], c->args[2], 0);
}

static long call_fchmodat2(struct call *c)
{
    return do_chmod(c, dirfd_of(c->args[0]), c->args[1], c->args[2], (int)c->args[3]);
}

/* Nobody but oneself can be made the owner, and that one is already. */
static long do_chown(struct call *c, int dirfd, uint64_t path, uint64_t uid, uint64_t gid,
                     int flags)
{
    cleanup(place_done) struct place p = {.parent = -1};
    long r;

    if (flags & AT_EMPTY_PATH)
        return ANSWER_CONTINUE;
    r = find(c, dirfd, path, !(flags & AT_SYMLINK_NOFOLLOW), &p);
    if (r != 0)
        return r;
    if (!p.exists)
        return -ENOENT;
    if (((uint32_t)uid != UINT32_MAX && (uint32_t)uid != ROOT_UID) ||
        ((uint32_t)gid != UINT32_MAX && (uint32_t)gid != ROOT_UID))
        return -EPERM;
    return p.st.st_uid == c->b->uid ? 0 : -EPERM;
}

static long call_chown(struct call *c)
{
    return do_chown(c, AT_FDCWD, c->args[0], c->args[1], c->args[2], 0);
}

static long call_lchown(struct call *c)
{
    return do_chown(c, AT_FDCWD, c->args[0], c->args[1], c->args[2], AT_SYMLINK_NOFOLLOW);
}

static long call_fchownat(struct call *c)
{
    return do_chown(c, dirfd_of(c->args[0]), c->args[1], c->args[2], c->args[3], (int)c->args[4]);
}

static long do_utimes(struct call *c, int dirfd, uint64_t path, const struct timespec *times,
                      int flags)
{
    cleanup(place_done) struct place p = {.parent = -1};
    long r = prepare_attributes(c, dirfd, path, flags, &p);

    if (r != 0)
        return r;
    if (utimensat(p.parent, p.name, times, AT_SYMLINK_NOFOLLOW) < 0)
        return undone(c->b, -errno);
    c->b->report->changed++;
    return 0;
}

static long call_utimensat(struct call *c)
{
    struct timespec times[2];

    if (c->args[2] && target_read(c->pid, c->args[2], times, sizeof(times)) < 0)
        return -EFAULT;
    return do_utimes(c, dirfd_of(c->args[0]), c->args[1], c->args[2] ? times : NULL,
                     (int)c->args[3]);
}

/* The older forms, with microseconds or whole seconds. */
static long do_utimeval(struct call *c, int dirfd, uint64_t path, uint64_t address)
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

static long call_utimes(struct call *c)
{
    return do_utimeval(c, AT_FDCWD, c->args[0], c->args[1]);
}

static long call_futimesat(struct call *c)
{
    return do_utimeval(c, dirfd_of(c->args[0]), c->args[1], c->args[2]);
}

static long call_utime(struct call *c)
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
static long call_umask(struct call *c)
{
    c->b->has_umask = false;
    c->b->umask_varies = true;
    return ANSWER_CONTINUE;
}

/* --- the table --- */

/* clang-format off */
static const struct {
    int number;
    long (*perform)(struct call *c);
} calls[] = {
#ifdef SYS_open /* architectures older than the calls with a directory descriptor */
    {SYS_open,      call_open     },
    {SYS_creat,     call_creat    },
    {SYS_mkdir,     call_mkdir    },
    {SYS_rmdir,     call_rmdir    },
    {SYS_mknod,     call_mknod    },
    {SYS_unlink,    call_unlink   },
    {SYS_rename,    call_rename   },
    {SYS_link,      call_link     },
    {SYS_symlink,   call_symlink  },
    {SYS_chmod,     call_chmod    },
    {SYS_chown,     call_chown    },
    {SYS_lchown,    call_lchown   },
    {SYS_utime,     call_utime    },
    {SYS_utimes,    call_utimes   },
    {SYS_futimesat, call_futimesat},
    {SYS_renameat,  call_renameat },
#endif
    {SYS_openat,    call_openat   },
    {SYS_truncate,  call_truncate },
    {SYS_mkdirat,   call_mkdirat  },
    {SYS_mknodat,   call_mknodat  },
    {SYS_unlinkat,  call_unlinkat },
    {SYS_renameat2, call_renameat2},
    {SYS_linkat,    call_linkat   },
    {SYS_symlinkat, call_symlinkat},
    {SYS_fchmodat,  call_fchmodat },
    {452,           call_fchmodat2},
    {SYS_fchownat,  call_fchownat },
    {SYS_utimensat, call_utimensat},
    {SYS_umask,     call_umask    },
};
/* clang-format on */

long call_perform(struct broker *b, const struct seccomp_notif *notif, int *ret_fd,
                  uint32_t *ret_fd_flags)
{
    uint64_t args[6];
    struct call c = {.b = b, .pid = (pid_t)notif->pid, .args = args, .fd = -1};
    long r = ANSWER_CONTINUE;

    for (size_t i = 0; i < ARRAY_SIZE(args); i++)
        args[i] = notif->data.args[i];
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        if (calls[i].number == notif->data.nr) {
            r = lock_places(b) < 0 ? -EIO : calls[i].perform(&c);
            (void)flock(b->lock, LOCK_UN);
            break;
        }
    *ret_fd = c.fd;
    *ret_fd_flags = c.fd_flags;
    return r;
}
