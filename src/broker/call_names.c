/* Calls that make, remove or change names. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "broker/calls.h"

/* --- new names --- */

/* The name must be free and permitted; afterwards the change is announced. */
static long prepare_new(struct held_call *c, const struct place *p, enum judge_act act)
{
    long r;

    if (p->exists)
        return -EEXIST;
    r = judge(c->b, p, act);
    if (r == 0)
        r = keep_announce(c->b, p);
    if (r == 0)
        call_adopt_umask(c);
    return r;
}

static long do_mkdir(struct held_call *c, int dirfd, uint64_t path, uint64_t mode)
{
    cleanup(place_done) struct place p = {.parent = -1};
    long r = call_find(c, dirfd, path, false, &p);

    if (r != 0)
        return r;
    if (p.exists)
        return -EEXIST;
    call_adopt_umask(c);
    if ((mode & ~(uint64_t)c->b->umask & DIR_OWNER_MODE) != DIR_OWNER_MODE)
        return judge_refuse(c->b, &p, "create", DIR_OWNER_WHY, EPERM);
    r = prepare_new(c, &p, JUDGE_CREATE_DIR);
    if (r < 0)
        return r;
    if (mkdirat(p.parent, p.name, (mode_t)mode & DIR_MODE) < 0)
        return keep_undone(c->b, -errno);
    return keep_created(c->b, &p, NULL);
}

long call_mkdir(struct held_call *c)
{
    return do_mkdir(c, AT_FDCWD, c->args[0], c->args[1]);
}

long call_mkdirat(struct held_call *c)
{
    return do_mkdir(c, dirfd_of(c->args[0]), c->args[1], c->args[2]);
}

/* Regular files only. FIFOs, sockets and devices are left to the read-only mount. */
static long do_mknod(struct held_call *c, int dirfd, uint64_t path, uint64_t mode)
{
    long r;

    if ((mode & S_IFMT) != S_IFREG && (mode & S_IFMT) != 0)
        return ANSWER_CONTINUE;
    r = call_open_at(c, dirfd, path, O_CREAT | O_EXCL | O_WRONLY, mode);
    close_fd(&c->fd);
    return r;
}

long call_mknod(struct held_call *c)
{
    return do_mknod(c, AT_FDCWD, c->args[0], c->args[1]);
}

long call_mknodat(struct held_call *c)
{
    return do_mknod(c, dirfd_of(c->args[0]), c->args[1], c->args[2]);
}

static long do_symlink(struct held_call *c, uint64_t target_arg, int dirfd, uint64_t path)
{
    cleanup(place_done) struct place p = {.parent = -1};
    char target[PATH_MAX];
    long r = call_find(c, dirfd, path, false, &p);

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
        return keep_undone(c->b, -errno);
    return keep_created(c->b, &p, NULL);
}

long call_symlink(struct held_call *c)
{
    return do_symlink(c, c->args[0], AT_FDCWD, c->args[1]);
}

long call_symlinkat(struct held_call *c)
{
    return do_symlink(c, c->args[0], dirfd_of(c->args[1]), c->args[2]);
}

static long link_places(struct held_call *c, struct place *from, struct place *to)
{
    enum protected_data data;
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
    if (r < 0)
        return r;
    if (to->exists)
        return -EEXIST;
    r = judge(c->b, to, JUDGE_ARRIVE);
    data = r == 0 ? judge_data(c->b, to) : PROTECTED_DATA_NONE;
    if (data)
        return git_link(c, from, to, data);
    if (r == 0 && !links_have_room(c->b, &from->st))
        r = judge_refuse(c->b, to, "create",
                         "too many files of this sandbox have hard links; make a copy", EMLINK);
    if (r == 0)
        r = keep_announce(c->b, to);
    if (r < 0)
        return r;
    if (linkat(from->parent, from->name, to->parent, to->name, 0) < 0)
        return keep_undone(c->b, -errno);
    r = keep_created(c->b, to, from);
    if (r == 0)
        links_note(c->b, &from->st);
    return r;
}

/* Calls with two paths: when only one of them leads into the directory, they are on two mounts, and
 * Linux says so. */
static long do_link(struct held_call *c, int from_dir, uint64_t from, int to_dir, uint64_t to,
                    int flags)
{
    cleanup(place_done) struct place a = {.parent = -1};
    cleanup(place_done) struct place b = {.parent = -1};
    long r;

    if (flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    r = call_find(c, from_dir, from, flags & AT_SYMLINK_FOLLOW, &a);
    if (r == 0)
        r = call_find(c, to_dir, to, false, &b);
    return r == 0 ? link_places(c, &a, &b) : r;
}

long call_link(struct held_call *c)
{
    return do_link(c, AT_FDCWD, c->args[0], AT_FDCWD, c->args[1], 0);
}

long call_linkat(struct held_call *c)
{
    return do_link(c, dirfd_of(c->args[0]), c->args[1], dirfd_of(c->args[2]), c->args[3],
                   (int)c->args[4]);
}

/* --- names that go --- */

static bool is_empty(const struct place *p)
{
    cleanup_closedir DIR *entries = file_open_dir(p->parent, p->name);
    const struct dirent *entry;

    while (entries && (entry = readdir(entries)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return false;
    return true;
}

static long do_unlink(struct held_call *c, int dirfd, uint64_t path, int flags)
{
    cleanup(place_done) struct place p = {.parent = -1};
    bool is_rmdir = flags & AT_REMOVEDIR;
    long r;

    if (flags & ~AT_REMOVEDIR)
        return -EINVAL;
    r = call_find(c, dirfd, path, false, &p);
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
    /* Programs try to remove directories that may be empty: this one is not, whatever it is. */
    if (is_rmdir && judge_quietly(c->b, &p, JUDGE_REMOVE) < 0 && !is_empty(&p))
        return -ENOTEMPTY;
    r = judge(c->b, &p, JUDGE_REMOVE);
    if (r == 0)
        r = keep_name(c->b, &p);
    if (r != 0)
        return r;
    if (unlinkat(p.parent, p.name, flags) < 0)
        return keep_undone(c->b, -errno);
    links_forget(c->b, &p.st);
    c->b->report->removed++;
    return 0;
}

long call_unlink(struct held_call *c)
{
    return do_unlink(c, AT_FDCWD, c->args[0], 0);
}

long call_rmdir(struct held_call *c)
{
    return do_unlink(c, AT_FDCWD, c->args[0], AT_REMOVEDIR);
}

long call_unlinkat(struct held_call *c)
{
    return do_unlink(c, dirfd_of(c->args[0]), c->args[1], (int)c->args[2]);
}

/* --- rename --- */

static long judge_rename(struct held_call *c, const struct place *from, const struct place *to)
{
    long r = judge(c->b, from, JUDGE_LEAVE);

    if (r == 0)
        r = judge(c->b, to, JUDGE_ARRIVE);
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
    return keep_refused(b, from, &err);
}

static long rename_places(struct held_call *c, struct place *from, struct place *to, unsigned flags)
{
    enum protected_data data;
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
    /* The other sandbox's locks are on the directories that are above its own now. */
    if (is_dir && tree_lock_is_marked(&c->b->lock, &from->st))
        return judge_refuse(c->b, from, "rename",
                            "a directory in it is granted to another sandbox; try again later",
                            EBUSY);
    data = judge_data(c->b, to);
    if (data)
        return git_rename(c, from, to, data);
    r = keep_rename(c->b, from, to);
    if (r != 0)
        return r;
    if (syscall(SYS_renameat2, from->parent, from->name, to->parent, to->name, flags) < 0) {
        r = keep_undone(c->b, -errno);
        return to->exists ? keep_undone(c->b, r) : r;
    }
    if (to->exists)
        links_forget(c->b, &to->st);
    c->b->report->renamed++;
    return 0;
}

/* An exchange of two names is left out, as on many file systems: programs then rename twice. */
static long do_rename(struct held_call *c, int from_dir, uint64_t from, int to_dir, uint64_t to,
                      unsigned flags)
{
    cleanup(place_done) struct place a = {.parent = -1};
    cleanup(place_done) struct place b = {.parent = -1};
    long r = call_find(c, from_dir, from, false, &a);

    if (r == 0)
        r = call_find(c, to_dir, to, false, &b);
    if (r != 0)
        return r;
    if (flags & ~(unsigned)RENAME_NOREPLACE)
        return -EINVAL;
    /* A compiled module that was written to nowhere: see open_nowhere(). */
    if (!a.exists && protected_is_cache(a.path) && protected_is_cache(b.path))
        return 0;
    return rename_places(c, &a, &b, flags);
}

long call_rename(struct held_call *c)
{
    return do_rename(c, AT_FDCWD, c->args[0], AT_FDCWD, c->args[1], 0);
}

long call_renameat(struct held_call *c)
{
    return do_rename(c, dirfd_of(c->args[0]), c->args[1], dirfd_of(c->args[2]), c->args[3], 0);
}

long call_renameat2(struct held_call *c)
{
    return do_rename(c, dirfd_of(c->args[0]), c->args[1], dirfd_of(c->args[2]), c->args[3],
                     (unsigned)c->args[4]);
}
