#include "sandbox/files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "base/closer.h"
#include "base/fiber.h"
#include "base/file.h"
#include "base/limits.h"
#include "sandbox/files_internal.h"

/* Somebody renaming directories while Linux resolves a path makes it start again, and in the
 * end give up with EAGAIN. */
#define RESOLVE_TIMES 16

static int take(struct files *files, int fd, bool is_on_host, struct error *err)
{
    cleanup_close int dir = fd;
    struct statfs fs;
    struct stat st;

    *files = (struct files){.fd = -1};
    if (fstat(dir, &st) < 0 || fstatfs(dir, &fs) < 0)
        return error_errno(err, "look at the workspace");
    if (!S_ISDIR(st.st_mode) || (!is_on_host && fs.f_type != TMPFS_MAGIC))
        return error_set(err, E_PROTOCOL, "received an invalid workspace");
    *files = (struct files){
        .fd = take_fd(dir),
        .uid = st.st_uid,
        .gid = st.st_gid,
        .is_on_host = is_on_host,
        .is_other = st.st_uid != geteuid(),
    };
    return 0;
}

int files_init(struct files *files, int fd, struct error *err)
{
    return take(files, fd, false, err);
}

int files_init_on_host(struct files *files, int fd, struct error *err)
{
    return take(files, fd, true, err);
}

int files_add_tmp(struct files *files, int fd, struct error *err)
{
    cleanup_close int dir = fd;
    struct stat st, workspace;

    if (fstat(dir, &st) < 0 || fstat(files->fd, &workspace) < 0)
        return error_errno(err, "look at /tmp");
    if (!S_ISDIR(st.st_mode) || st.st_dev != workspace.st_dev || st.st_uid != workspace.st_uid)
        return error_set(err, E_PROTOCOL, "received an invalid /tmp");
    files->tmp_fd = take_fd(dir);
    files->has_tmp = true;
    return 0;
}

int files_copy(const struct files *files, struct files *ret_copy, struct error *err)
{
    *ret_copy = *files;
    ret_copy->bill = NULL;
    ret_copy->has_tmp = false;
    ret_copy->fd = fcntl(files->fd, F_DUPFD_CLOEXEC, 3);
    if (ret_copy->fd < 0)
        return error_errno(err, "fcntl");
    if (files->has_tmp) {
        ret_copy->tmp_fd = fcntl(files->tmp_fd, F_DUPFD_CLOEXEC, 3);
        if (ret_copy->tmp_fd < 0) {
            (void)error_errno(err, "fcntl");
            files_done(ret_copy);
            return -1;
        }
        ret_copy->has_tmp = true;
    }
    ret_copy->bill = files_bill_ref(files->bill);
    return 0;
}

void files_done(struct files *files)
{
    closer_close(&files->fd); /* it may be all that holds the file system */
    if (files->has_tmp)
        closer_close(&files->tmp_fd);
    files->has_tmp = false;
    files_bill_unref(files->bill);
    files->bill = NULL;
}

/* --- as whom --- */

/* Root does not exist in the sandbox's user namespace and so cannot make files on its disk; and it
 * could open what the program closed. The ids of file access are a thread's own, and this is the
 * only one. */
int files_enter(struct files_guard *guard, const struct files *files, struct error *err)
{
    *guard = (struct files_guard){0};
    if (files->fd < 0)
        return error_set(err, E_NOT_FOUND, "the workspace no longer exists");
    if (!files->is_other)
        return 0;
    guard->dumpable = prctl(PR_GET_DUMPABLE);
    (void)prctl(PR_GET_PDEATHSIG, &guard->death_signal);
    guard->is_other = true;
    guard->gid = (gid_t)setfsgid(files->gid);
    guard->uid = (uid_t)setfsuid(files->uid);
    /* Neither call reports success; an invalid id changes nothing and returns the present one. */
    if ((uid_t)setfsuid((uid_t)-1) == files->uid && (gid_t)setfsgid((gid_t)-1) == files->gid) {
        if (guard->death_signal) /* the change of ids took it away */
            (void)prctl(PR_SET_PDEATHSIG, guard->death_signal);
        return 0;
    }
    files_leave(guard);
    return error_set(err, E_SYSTEM, "cannot act as the sandbox's user");
}

void files_leave(struct files_guard *guard)
{
    if (!guard->is_other)
        return;
    (void)setfsuid(guard->uid);
    (void)setfsgid(guard->gid);
    /* The change of ids has taken these away, too; the second is from whoever started us. */
    if (guard->dumpable == 1)
        (void)prctl(PR_SET_DUMPABLE, 1);
    if (guard->death_signal)
        (void)prctl(PR_SET_PDEATHSIG, guard->death_signal);
    guard->is_other = false;
}

int files_pause(struct files_guard *guard, const struct files *files, struct error *err)
{
    if (fiber_is_cancelled())
        return error_set(err, E_SYSTEM, "nobody waits for it");
    if (!fiber_is_due())
        return 0;
    files_leave(guard);
    fiber_pause();
    return files_enter(guard, files, err);
}

/* --- opening --- */

int files_openat(int dir, const char *path, int flags, mode_t mode)
{
    struct open_how how = {
        .flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW | (flags & O_PATH ? 0 : O_NONBLOCK) |
                            (flags & O_PATH ? 0 : O_NOCTTY)),
        .mode = mode,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    int fd;

    for (int i = 0; i < RESOLVE_TIMES; i++) {
        fd = (int)syscall(SYS_openat2, dir, *path ? path : ".", &how, sizeof(how));
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    return fd;
}

int files_find_root(const struct files *files, const char **path)
{
    if (!files_path_is_tmp(*path))
        return files->fd;
    if (!files->has_tmp) {
        errno = EOPNOTSUPP;
        return -1;
    }
    *path += strlen("/tmp");
    *path += **path == '/';
    return files->tmp_fd;
}

int files_open_path(const struct files *files, const char *path, int flags, mode_t mode)
{
    int root = files_find_root(files, &path);

    return root < 0 ? -1 : files_openat(root, path, flags, mode);
}

int files_open_parent(const struct files *files, const char *path, int *ret_dir,
                      char ret_name[NAME_MAX + 1], struct error *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    char parent[PATH_MAX];
    int dir;

    if (!*name || strcmp(path, "/tmp") == 0)
        return error_set(err, E_INVALID, "the path names %s itself", *name ? "/tmp" : "/workspace");
    if (strlen(name) > NAME_MAX || strlen(path) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return files_fail(err, "open", path);
    }
    (void)snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 0, path);
    dir = files_open_path(files, parent, O_PATH | O_DIRECTORY, 0);
    if (dir < 0)
        return files_fail(err, "open the directory of", path);
    *ret_dir = dir;
    (void)snprintf(ret_name, NAME_MAX + 1, "%s", name);
    return 0;
}

/* The meaning of an errno for a file in a sandbox. */
static const struct {
    int errnum;
    enum error_code code;
    const char *message;
    const char *hint;
} meanings[] = {
    {ENOENT, E_NOT_FOUND, "no such file or directory", NULL},
    {ENOTDIR, E_INVALID, "a part of the path is not a directory", NULL},
    {EISDIR, E_INVALID, "it is a directory", NULL},
    {EEXIST, E_INVALID, "something else has that name", NULL},
    {ENOTEMPTY, E_INVALID, "the directory is not empty", "ask for a recursive delete"},
    {ENAMETOOLONG, E_INVALID, "the path is too long", NULL},
    {ELOOP, E_DENIED, "the path leads through a symbolic link",
     "name the file itself; links are not followed"},
    {EXDEV, E_DENIED, "the path leads out of /workspace or /tmp", NULL},
    {EOPNOTSUPP, E_UNSUPPORTED, "this sandbox has no /tmp of its own", "use a path in /workspace"},
    {EACCES, E_DENIED, "its mode forbids it", "the program can change the mode with `chmod`"},
    {EPERM, E_DENIED, "its mode forbids it", "the program can change the mode with `chmod`"},
    {EAGAIN, E_BUSY, "the program is using or moving it", "try again"},
    {EBUSY, E_BUSY, "the program is using it", "try again"},
    {ENXIO, E_INVALID, "it is not a regular file", NULL},
    {ENOSPC, E_TOO_LARGE, "the sandbox's disk is full", "delete files, or allow a larger disk"},
    {EDQUOT, E_TOO_LARGE, "the sandbox's disk is full", "delete files, or allow a larger disk"},
    {EFBIG, E_TOO_LARGE, "the file is too large", NULL},
};

int files_fail(struct error *err, const char *what, const char *path)
{
    cleanup(buf_done) struct buf shown = BUF_OF(4 * PATH_MAX + 1);
    int errnum = errno;

    (void)files_path_escape(*path ? path : "/workspace", &shown, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(meanings); i++) {
        if (meanings[i].errnum != errnum)
            continue;
        error_set(err, meanings[i].code, "%s `%s`: %s", what, buf_str(&shown), meanings[i].message);
        if (err)
            err->errnum = errnum;
        return meanings[i].hint ? error_hint(err, "%s", meanings[i].hint) : -1;
    }
    errno = errnum;
    (void)error_errno(err, "%s `%s`", what, buf_str(&shown));
    return -1;
}

/* --- looking and reading --- */

const char *files_kind_name(enum files_kind kind)
{
    static const char *const names[] = {
        [FILES_REGULAR] = "file", [FILES_DIRECTORY] = "directory", [FILES_LINK] = "link",
        [FILES_FIFO] = "fifo",    [FILES_SOCKET] = "socket",       [FILES_OTHER] = "other",
    };

    return names[kind];
}

static enum files_kind kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return FILES_REGULAR;
    case S_IFDIR:
        return FILES_DIRECTORY;
    case S_IFLNK:
        return FILES_LINK;
    case S_IFIFO:
        return FILES_FIFO;
    case S_IFSOCK:
        return FILES_SOCKET;
    default:
        return FILES_OTHER;
    }
}

void files_fill(struct files_entry *entry, const struct stat *st)
{
    entry->kind = kind_of(st->st_mode);
    entry->mode = st->st_mode & 07777;
    entry->size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
    entry->inode = st->st_ino;
    entry->mtime_ns = file_time_ns(&st->st_mtim);
    entry->ctime_ns = file_time_ns(&st->st_ctim);
}

int files_stat(const struct files *files, const char *path, struct files_entry *ret_entry,
               struct error *err)
{
    cleanup(files_leave) struct files_guard guard = {0};
    cleanup(closer_close_file) int fd = -1; /* the program may delete it meanwhile */
    struct stat st;

    if (files_enter(&guard, files, err) < 0)
        return -1;
    fd = files_open_path(files, path, O_PATH, 0);
    if (fd < 0 || fstat(fd, &st) < 0)
        return files_fail(err, "look at", path);
    *ret_entry = (struct files_entry){.path = path};
    files_fill(ret_entry, &st);
    return 0;
}

int files_read_link(const struct files *files, const char *path, char ret_target[PATH_MAX],
                    struct error *err)
{
    cleanup(files_leave) struct files_guard guard = {0};
    cleanup(closer_close_file) int fd = -1;
    char target[PATH_MAX];
    ssize_t n;

    if (files_enter(&guard, files, err) < 0)
        return -1;
    fd = files_open_path(files, path, O_PATH, 0);
    if (fd < 0)
        return files_fail(err, "look at", path);
    n = readlinkat(fd, "", target, sizeof(target) - 1);
    if (n < 0)
        return error_set(err, E_INVALID, "it is not a symbolic link");
    target[n] = '\0';
    memcpy(ret_target, target, (size_t)n + 1);
    return 0;
}

int files_open(const struct files *files, const char *path, int *ret_fd,
               struct files_entry *ret_entry, struct error *err)
{
    cleanup(files_leave) struct files_guard guard = {0};
    struct files_entry entry = {.path = path};
    cleanup(closer_close_file) int fd = -1;
    struct stat st;

    if (files_enter(&guard, files, err) < 0)
        return -1;
    /* Without waiting for the writer of a FIFO or for the holder of a lease. */
    fd = files_open_path(files, path, O_RDONLY, 0);
    if (fd < 0 || fstat(fd, &st) < 0)
        return files_fail(err, "open", path);
    files_fill(&entry, &st);
    if (entry.kind != FILES_REGULAR) {
        errno = entry.kind == FILES_DIRECTORY ? EISDIR : ENXIO;
        return files_fail(err, "open", path);
    }
    if (ret_entry)
        *ret_entry = entry;
    *ret_fd = take_fd(fd);
    return 0;
}

ssize_t files_read(int fd, uint64_t offset, void *data, size_t len, struct error *err)
{
    size_t got = 0;

    if (offset > INT64_MAX || len > (uint64_t)INT64_MAX - offset)
        return error_set(err, E_INVALID, "the range is beyond the end of any file");
    while (got < len) {
        ssize_t n = pread(fd, (char *)data + got, len - got, (off_t)(offset + got));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, "read");
        if (n == 0)
            break;
        got += (size_t)n;
    }
    return (ssize_t)got;
}
