/* Performs the steps of an undo on the disk. Each is written to the undo's own journal first. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "undo/copy.h"
#include "undo/undo_internal.h"

#define CHUNK       ((size_t)1 << 18)
#define XATTR_BYTES 65536

/* A descriptor's file by a path: the way to open, chmod or stamp exactly the inode that was looked
 * at, whatever happens to its name. */
struct fd_path {
    char text[32];
};

static struct fd_path path_of(int fd)
{
    struct fd_path path;

    (void)snprintf(path.text, sizeof(path.text), "/proc/self/fd/%d", fd);
    return path;
}

struct spot {
    int parent;
    char name[NAME_MAX + 1];
    const struct files *opened; /* the parent was opened for writing in there, until the end */
    mode_t mode;                /* and had this mode */
};

static void spot_done(struct spot *s)
{
    cleanup(files_leave) struct files_guard guard = {0};

    if (s->opened && files_enter(&guard, s->opened, NULL) == 0)
        (void)chmod(path_of(s->parent).text, s->mode);
    close_fd(&s->parent);
}

/* A run may leave a directory in which nobody may write. It is one of those that the journal knows,
 * or stands for one: then the step is made in it all the same. */
static void open_parent(struct undoer *g, const struct files *dir, struct spot *s)
{
    struct stat st;

    if (fstat(s->parent, &st) < 0 || (st.st_mode & S_IRWXU) == S_IRWXU ||
        !undoer_knows_directory(g, &st))
        return;
    if (chmod(path_of(s->parent).text, (st.st_mode & 07777) | S_IRWXU) < 0)
        return;
    s->opened = dir;
    s->mode = st.st_mode & 07777;
}

static int find_spot(struct undoer *g, unsigned grant, const char *path, struct spot *s,
                     struct error *err)
{
    cleanup(files_leave) struct files_guard guard = {0};
    const struct files *dir = &g->dirs[grant];

    s->parent = -1;
    if (files_enter(&guard, dir, err) < 0)
        return -1;
    if (*path) {
        if (files_open_parent(dir, path, &s->parent, s->name, err) < 0)
            return -1;
        open_parent(g, dir, s);
        return 0;
    }
    (void)snprintf(s->name, sizeof(s->name), ".");
    s->parent = fcntl(dir->fd, F_DUPFD_CLOEXEC, 3);
    return s->parent < 0 ? error_errno(err, "open the directory") : 0;
}

/* Right before the change: what is there is still what was judged. */
static int check_again(const struct spot *s, const struct stat *st, struct error *err)
{
    struct stat now;

    if (fstatat(s->parent, s->name, &now, AT_SYMLINK_NOFOLLOW) < 0 || !file_is_same(&now, st))
        return error_set(err, E_BUSY, "it was replaced just now");
    return 0;
}

/* The file at the place has a new ctime by what was just done. */
static int mark_at(struct undoer *g, const struct spot *s, struct error *err)
{
    struct stat st;

    return fstatat(s->parent, s->name, &st, AT_SYMLINK_NOFOLLOW) < 0
               ? error_errno(err, "look at it")
               : undoer_mark(g, &st, err);
}

static int mark_open(struct undoer *g, int fd, struct error *err)
{
    struct stat st;

    return fstat(fd, &st) < 0 ? error_errno(err, "look at it") : undoer_mark(g, &st, err);
}

/* The change that was announced was not made. */
static int failed(struct undoer *g, struct error *err, const char *what)
{
    (void)error_errno(err, "%s", what);
    (void)journal_done(g->task->own, NULL);
    return -1;
}

/* Content that will be overwritten or removed is saved first. A run may have left the file so that
 * not even its owner can read it; the journal has the mode from before. */
static int make_readable(struct undoer *g, const struct entry *e, const struct spot *s,
                         const struct stat *st, struct error *err)
{
    cleanup(files_leave) struct files_guard guard = {0};
    cleanup_close int fd = -1;
    struct stat now;

    if (!S_ISREG(st->st_mode) || st->st_mode & S_IRUSR)
        return 0;
    if (files_enter(&guard, &g->dirs[e->grant], err) < 0)
        return -1;
    fd = openat(s->parent, s->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &now) < 0 || !file_is_same(&now, st))
        return error_set(err, E_BUSY, "it was replaced just now");
    if (chmod(path_of(fd).text, (st->st_mode & 01777) | S_IRUSR) < 0)
        return error_errno(err, "make it readable");
    return mark_open(g, fd, err);
}

static int open_saved(struct undoer *g, const struct entry *e, int *ret_fd, struct error *err)
{
    char name[24];
    int fd;

    if (!e->saved)
        return error_set(err, E_NOT_FOUND,
                         "it was open since an earlier run, and its content was not saved again");
    (void)snprintf(name, sizeof(name), "%llu", (unsigned long long)e->saved);
    fd = openat(g->saved_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return error_set(err, E_NOT_FOUND, "its saved data no longer exists");
    *ret_fd = fd;
    return 0;
}

/* --- attributes --- */

static size_t from_hex(const char *text, unsigned char *value)
{
    size_t len = 0;
    unsigned byte;

    for (; text[0] && text[1] && len < XATTR_BYTES && sscanf(text, "%2x", &byte) == 1; text += 2)
        value[len++] = (unsigned char)byte;
    return len;
}

static const struct entry *find_xattr(const struct entry *first, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(first[i].path, name) == 0)
            return &first[i];
    return NULL;
}

static bool is_plain_name(const char *name)
{
    return strncmp(name, "user.", 5) == 0;
}

struct attributes {
    char names[XATTR_BYTES];
    unsigned char value[XATTR_BYTES], wanted[XATTR_BYTES];
};

/* Makes the attributes user.* those of the entry, or only says whether they are. */
static int set_xattrs(struct undoer *g, const struct entry *e, const char *path, bool only_compares,
                      struct error *err)
{
    cleanup_free struct attributes *a = malloc(sizeof(*a));
    const struct entry *first;
    size_t count = undoer_xattrs(g, e, &first), len;
    ssize_t listed, n;

    if (!a)
        return error_memory(err);
    listed = listxattr(path, a->names, sizeof(a->names));
    for (char *name = a->names; listed > 0 && name < a->names + listed; name += strlen(name) + 1)
        if (is_plain_name(name) && !find_xattr(first, count, name)) {
            if (only_compares)
                return 1;
            if (removexattr(path, name) < 0)
                return error_errno(err, "remove an attribute");
        }
    for (size_t i = 0; i < count; i++) {
        if (!is_plain_name(first[i].path))
            continue;
        len = from_hex(first[i].more, a->wanted);
        n = getxattr(path, first[i].path, a->value, sizeof(a->value));
        if (n >= 0 && (size_t)n == len && memcmp(a->value, a->wanted, len) == 0)
            continue;
        if (only_compares)
            return 1;
        if (setxattr(path, first[i].path, a->wanted, len, 0) < 0)
            return error_errno(err, "set an attribute");
    }
    return 0;
}

/* Set-id bits are not given back to files. */
static mode_t mode_of(const struct entry *e)
{
    return e->mode & (S_ISDIR(e->mode) ? 03777 : 01777);
}

static int set_meta(struct undoer *g, const struct entry *e, int fd, struct error *err)
{
    const struct timespec times[2] = {entry_timespec(e->atime_ns), entry_timespec(e->mtime_ns)};
    struct fd_path path = path_of(fd);
    struct stat now;

    if (S_ISLNK(e->mode))
        return 0;
    /* Attributes of what cannot be written cannot be changed; the mode follows. */
    if (S_ISREG(e->mode) || S_ISDIR(e->mode)) {
        if (fstat(fd, &now) == 0 && (now.st_mode & S_IRWXU) != S_IRWXU)
            (void)chmod(path.text, (now.st_mode & 01777) | S_IRUSR | S_IWUSR);
        if (set_xattrs(g, e, path.text, false, err) < 0)
            return -1;
    }
    if (chmod(path.text, mode_of(e)) < 0)
        return error_errno(err, "set the mode");
    return utimensat(AT_FDCWD, path.text, times, 0) < 0 ? error_errno(err, "set the times") : 0;
}

int act_has_saved_meta(struct undoer *g, const struct entry *e, const struct stat *st)
{
    cleanup(files_leave) struct files_guard guard = {0};
    cleanup_close int fd = -1;

    if ((st->st_mode & 07777) != mode_of(e) ||
        (!S_ISDIR(e->mode) && file_time_ns(&st->st_mtim) != e->mtime_ns))
        return 0;
    fd = view_open(&g->view, e->grant, e->path);
    if (fd < 0)
        return errno == ENOENT;
    if (S_ISLNK(e->mode) || files_enter(&guard, &g->dirs[e->grant], NULL) < 0)
        return S_ISLNK(e->mode);
    return set_xattrs(g, e, path_of(fd).text, true, NULL) == 0;
}

/* --- content --- */

static off_t next_data(int fd, off_t at, off_t size)
{
    off_t data = lseek(fd, at, SEEK_DATA);

    if (data >= 0)
        return data;
    return errno == ENXIO ? size : at;
}

static bool is_same_content(int a, int b, off_t size)
{
    cleanup_free char *one = malloc(CHUNK), *other = malloc(CHUNK);
    off_t at = 0;

    while (one && other) {
        off_t data = next_data(a, at, size), data_b = next_data(b, at, size);
        ssize_t n, m;

        at = data < data_b ? data : data_b;
        if (at >= size)
            return true;
        n = pread(a, one, CHUNK, at);
        m = n > 0 ? pread(b, other, (size_t)n, at) : -1;
        if (n <= 0 || n != m || memcmp(one, other, (size_t)n) != 0)
            return false;
        at += n;
    }
    return false;
}

static bool is_same_target(struct undoer *g, const struct entry *e)
{
    cleanup_close int fd = view_open(&g->view, e->grant, e->path);
    char target[PATH_MAX];
    ssize_t len = fd < 0 ? -1 : readlinkat(fd, "", target, sizeof(target) - 1);

    if (len < 0 || !e->more)
        return false;
    target[len] = '\0';
    return strcmp(target, e->more) == 0;
}

int act_has_saved_content(struct undoer *g, const struct entry *e, const struct stat *st)
{
    cleanup(files_leave) struct files_guard guard = {0};
    cleanup_close int fd = -1, now = -1, saved = -1;

    if (S_ISLNK(e->mode))
        return is_same_target(g, e);
    if (!S_ISREG(e->mode) || (uint64_t)st->st_size != e->size)
        return 0;
    if (st->st_ino == e->ino && st->st_dev == e->dev && file_time_ns(&st->st_ctim) == e->ctime_ns)
        return 1;
    fd = view_open(&g->view, e->grant, e->path);
    if (fd < 0 || open_saved(g, e, &saved, NULL) < 0 ||
        files_enter(&guard, &g->dirs[e->grant], NULL) < 0)
        return 0;
    now = open(path_of(fd).text, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return now >= 0 && is_same_content(now, saved, st->st_size);
}

static int fill(int from, int to, struct error *err)
{
    uint64_t stored = 0;

    if (copy_clone(from, to))
        return 0;
    return copy_data(from, to, UINT64_MAX, &stored, err);
}

/* --- removing, moving --- */

int act_remove(struct undoer *g, const struct entry *e, const struct stat *st, struct error *err)
{
    cleanup(files_leave) struct files_guard guard = {0};
    cleanup(spot_done) struct spot s = {.parent = -1};
    cleanup_close int fd = -1;

    if (g->is_rehearsal)
        return view_take(&g->view, e->grant, e->path) < 0 ? error_memory(err) : 0;
    if (e->kind == ENTRY_LINKED && e->more)
        journal_name(g->task->own, e->grant, e->more, st);
    if (find_spot(g, e->grant, e->path, &s, err) < 0 || check_again(&s, st, err) < 0 ||
        make_readable(g, e, &s, st, err) < 0 ||
        journal_remove(g->task->own, e->grant, e->path, s.parent, s.name, st, err) < 0)
        return -1;
    if (files_enter(&guard, &g->dirs[e->grant], err) < 0 || check_again(&s, st, err) < 0) {
        (void)journal_done(g->task->own, NULL);
        return -1;
    }
    if (st->st_nlink > 1 && S_ISREG(st->st_mode)) /* its other names stay */
        fd = openat(s.parent, s.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (unlinkat(s.parent, s.name, S_ISDIR(st->st_mode) ? AT_REMOVEDIR : 0) < 0)
        return failed(g, err, "remove it");
    return fd < 0 ? 0 : mark_open(g, fd, err);
}

static int move(struct undoer *g, const struct entry *e, const struct stat *st, unsigned flags,
                struct error *err)
{
    cleanup(files_leave) struct files_guard guard = {0};
    cleanup(spot_done) struct spot from = {.parent = -1}, to = {.parent = -1};
    int r;

    if (find_spot(g, e->grant, e->more, &from, err) < 0 ||
        find_spot(g, e->grant, e->path, &to, err) < 0 || check_again(&from, st, err) < 0)
        return -1;
    r = flags & RENAME_EXCHANGE ? journal_swap(g->task->own, e->grant, e->more, e->path, st, err)
                                : journal_rename(g->task->own, e->grant, e->more, e->path, st, err);
    if (r < 0)
        return -1;
    if (files_enter(&guard, &g->dirs[e->grant], err) < 0) {
        (void)journal_done(g->task->own, NULL);
        return -1;
    }
    if (renameat2(from.parent, from.name, to.parent, to.name, flags) < 0)
        return failed(g, err, "move it back");
    if (flags & RENAME_EXCHANGE && mark_at(g, &from, err) < 0)
        return -1;
    return mark_at(g, &to, err);
}

int act_rename(struct undoer *g, const struct entry *e, const struct stat *st, struct error *err)
{
    if (g->is_rehearsal)
        return view_move(&g->view, e->grant, e->more, e->path) < 0 ? error_memory(err) : 0;
    return move(g, e, st, RENAME_NOREPLACE, err);
}

int act_swap(struct undoer *g, const struct entry *e, const struct stat *st, struct error *err)
{
    if (g->is_rehearsal)
        return view_swap(&g->view, e->grant, e->more, e->path) < 0 ? error_memory(err) : 0;
    return move(g, e, st, RENAME_EXCHANGE, err);
}

/* --- making --- */

static int make_node(const struct spot *s, const struct entry *e)
{
    int fd;

    switch (e->mode & S_IFMT) {
    case S_IFREG:
        fd = openat(s->parent, s->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        return fd < 0 ? -1 : close(fd);
    case S_IFDIR:
        return mkdirat(s->parent, s->name, 0700);
    case S_IFLNK:
        return symlinkat(e->more ? e->more : "", s->parent, s->name);
    case S_IFIFO:
        return mkfifoat(s->parent, s->name, 0600);
    case S_IFSOCK:
        return mknodat(s->parent, s->name, S_IFSOCK | 0600, 0);
    default:
        errno = EPERM;
        return -1;
    }
}

/* Opens what was just made, and has the journal know it. `from`: of a hard link, the other name. */
static int take_made(struct undoer *g, const struct entry *e, const struct spot *s,
                     const char *from, int *ret_fd, struct stat *ret_st, struct error *err)
{
    cleanup_close int fd = -1;
    int r;

    {
        cleanup(files_leave) struct files_guard guard = {0};

        if (files_enter(&guard, &g->dirs[e->grant], err) < 0)
            return -1;
        fd = openat(s->parent, s->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstat(fd, ret_st) < 0)
            return error_errno(err, "open it");
    }
    r = from
            ? journal_linked(g->task->own, e->grant, e->path, from, s->parent, s->name, ret_st, err)
            : journal_created(g->task->own, e->grant, e->path, ret_st, err);
    if (r < 0)
        return -1;
    *ret_fd = take_fd(fd);
    return 0;
}

static int fill_file(struct undoer *g, const struct entry *e, int fd, struct error *err)
{
    cleanup(files_leave) struct files_guard guard = {0};
    cleanup_close int saved = -1, to = -1;

    if (open_saved(g, e, &saved, err) < 0 || files_enter(&guard, &g->dirs[e->grant], err) < 0)
        return -1;
    to = open(path_of(fd).text, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (to < 0 && errno == EACCES && chmod(path_of(fd).text, 0600) == 0)
        to = open(path_of(fd).text, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (to < 0 || ftruncate(to, 0) < 0)
        return error_errno(err, "write it");
    return fill(saved, to, err);
}

static int set_all(struct undoer *g, const struct entry *e, int fd, struct error *err)
{
    cleanup(files_leave) struct files_guard guard = {0};

    if (files_enter(&guard, &g->dirs[e->grant], err) < 0)
        return -1;
    return set_meta(g, e, fd, err);
}

static void stat_of(const struct entry *e, struct stat *st)
{
    *st = (struct stat){
        .st_mode = e->mode,
        .st_nlink = 1,
        .st_size = (off_t)e->size,
        .st_mtim = entry_timespec(e->mtime_ns),
    };
}

int act_make(struct undoer *g, const struct entry *e, struct stat *ret_st, struct error *err)
{
    cleanup(spot_done) struct spot s = {.parent = -1};
    cleanup_close int fd = -1;
    int r;

    if (g->is_rehearsal) {
        stat_of(e, ret_st);
        return view_put(&g->view, e->grant, e->path, ret_st) < 0 ? error_memory(err) : 0;
    }
    /* Content that was not saved cannot be restored: nothing is made instead. */
    if (S_ISREG(e->mode) && open_saved(g, e, &fd, err) < 0)
        return -1;
    close_fd(&fd);
    if (find_spot(g, e->grant, e->path, &s, err) < 0 ||
        journal_create(g->task->own, e->grant, e->path, err) < 0)
        return -1;
    {
        cleanup(files_leave) struct files_guard guard = {0};

        if (files_enter(&guard, &g->dirs[e->grant], err) < 0) {
            (void)journal_done(g->task->own, NULL);
            return -1;
        }
        r = make_node(&s, e);
    }
    if (r < 0)
        return failed(g, err, "make it");
    if (take_made(g, e, &s, NULL, &fd, ret_st, err) < 0 ||
        (S_ISREG(e->mode) && fill_file(g, e, fd, err) < 0) || set_all(g, e, fd, err) < 0)
        return -1;
    if (fstat(fd, ret_st) < 0)
        return error_errno(err, "look at it");
    return undoer_mark(g, ret_st, err);
}

int act_link(struct undoer *g, const struct entry *e, const char *other, struct stat *ret_st,
             struct error *err)
{
    cleanup(spot_done) struct spot from = {.parent = -1}, to = {.parent = -1};
    cleanup_close int fd = -1;
    int r;

    if (g->is_rehearsal)
        return view_link(&g->view, e->grant, other, e->path) < 0 ? error_memory(err) : 0;
    if (find_spot(g, e->grant, other, &from, err) < 0 ||
        find_spot(g, e->grant, e->path, &to, err) < 0 ||
        journal_create(g->task->own, e->grant, e->path, err) < 0)
        return -1;
    {
        cleanup(files_leave) struct files_guard guard = {0};

        if (files_enter(&guard, &g->dirs[e->grant], err) < 0)
            return -1;
        r = linkat(from.parent, from.name, to.parent, to.name, 0);
    }
    if (r < 0)
        return failed(g, err, "link it");
    return take_made(g, e, &to, other, &fd, ret_st, err) < 0 ? -1 : undoer_mark(g, ret_st, err);
}

/* --- changing --- */

int act_revert(struct undoer *g, const struct entry *e, const struct stat *st, bool has_content,
               struct error *err)
{
    cleanup(spot_done) struct spot s = {.parent = -1};
    cleanup_close int fd = -1, saved = -1;
    struct stat now;
    int r;

    if (has_content && open_saved(g, e, &saved, err) < 0)
        return -1;
    if (g->is_rehearsal)
        return 0;
    fd = view_open(&g->view, e->grant, e->path);
    if (fd < 0 || fstat(fd, &now) < 0 || !file_is_same(&now, st))
        return error_set(err, E_BUSY, "it was replaced just now");
    if (find_spot(g, e->grant, e->path, &s, err) < 0 || make_readable(g, e, &s, st, err) < 0)
        return -1;
    r = has_content ? journal_change(g->task->own, e->grant, e->path, s.parent, s.name, st, err)
                    : journal_meta(g->task->own, e->grant, e->path, s.parent, s.name, st, err);
    if (r < 0 || (has_content && fill_file(g, e, fd, err) < 0) || set_all(g, e, fd, err) < 0)
        return -1;
    return mark_open(g, fd, err);
}
