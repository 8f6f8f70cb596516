/* Content: copied to saved/N, at once or by a child process. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/hex.h"
#include "undo/copy.h"
#include "undo/journal_internal.h"

/* A few milliseconds: more is copied by a child where the caller can wait. */
#define INLINE_BYTES (8 * MIB)

/* The limits of Linux: XATTR_LIST_MAX and XATTR_SIZE_MAX. */
#define XATTR_BYTES 65536

enum child_status { CHILD_DONE = 0, CHILD_TOO_LARGE = 1, CHILD_FAILED = 2 };

static uint64_t stored_bytes(const struct stat *st)
{
    return (uint64_t)st->st_blocks * 512;
}

/* --- both files --- */

static int open_source(int parent, const char *name, const struct stat *st, int *ret_fd,
                       struct error *err)
{
    cleanup_close int fd =
        openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat now;

    if (fd < 0 && (errno == EACCES || errno == EPERM)) {
        error_set(err, E_DENIED, "the file cannot be read, and so not saved for undo");
        return error_hint(err, "make it readable for its owner");
    }
    if (fd < 0 || fstat(fd, &now) < 0)
        return error_errno(err, "open the file to save it");
    if (now.st_dev != st->st_dev || now.st_ino != st->st_ino || !S_ISREG(now.st_mode))
        return error_set(err, E_BUSY, "the file was replaced while it was being saved");
    *ret_fd = take_fd(fd);
    return 0;
}

static void saved_name(uint64_t saved, char name[24])
{
    (void)snprintf(name, 24, "%llu", (unsigned long long)saved);
}

static int open_saved(struct journal *j, uint64_t saved, int *ret_fd, struct error *err)
{
    char name[24];
    int fd;

    saved_name(saved, name);
    fd = openat(j->saved_dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno(err, "save a file for undo");
    *ret_fd = fd;
    return 0;
}

static void forget_saved(struct journal *j, uint64_t saved)
{
    char name[24];

    saved_name(saved, name);
    (void)unlinkat(j->saved_dir, name, 0);
}

/* --- at once --- */

static int too_large(struct journal *j, struct error *err)
{
    error_done(err);
    return journal_charge(j, UINT64_MAX, err);
}

static int fill(struct journal *j, int from, int to, const struct stat *st, struct error *err)
{
    uint64_t left = j->limits.bytes - j->counts.bytes, stored = 0;
    cleanup_error struct error cause = {0};

    /* A file that shares its blocks becomes a copy as soon as the other one changes. */
    if (stored_bytes(st) <= left && copy_clone(from, to))
        return journal_charge(j, stored_bytes(st), err);
    if (copy_data(from, to, left, &stored, &cause) < 0) {
        if (cause.code == E_TOO_LARGE)
            return too_large(j, err);
        if (err)
            error_move(err, &cause);
        return -1;
    }
    return journal_charge(j, stored, err);
}

static int save_now(struct journal *j, int parent, const char *name, const struct stat *st,
                    uint64_t *ret_saved, struct error *err)
{
    cleanup_close int from = -1, to = -1;
    uint64_t saved = j->last_saved + 1;

    if (open_source(parent, name, st, &from, err) < 0 || open_saved(j, saved, &to, err) < 0)
        return -1;
    j->last_saved = saved;
    if (fill(j, from, to, st, err) < 0) {
        forget_saved(j, saved);
        return -1;
    }
    *ret_saved = saved;
    return 0;
}

int journal_save_from(struct journal *j, int content, const struct stat *st, uint64_t *ret_saved,
                      struct error *err)
{
    cleanup_close int to = -1;
    uint64_t saved = j->last_saved + 1;

    if (lseek(content, 0, SEEK_SET) < 0)
        return error_errno(err, "read what a file held");
    if (open_saved(j, saved, &to, err) < 0)
        return -1;
    j->last_saved = saved;
    if (fill(j, content, to, st, err) < 0) {
        forget_saved(j, saved);
        return -1;
    }
    *ret_saved = saved;
    return 0;
}

/* --- in the background --- */

__attribute__((noreturn)) static void copy_and_exit(int from, int to, uint64_t limit, pid_t parent)
{
    struct error err = {0};
    uint64_t stored = 0;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(CHILD_FAILED);
    if (copy_data(from, to, limit, &stored, &err) == 0)
        _exit(CHILD_DONE);
    _exit(err.code == E_TOO_LARGE ? CHILD_TOO_LARGE : CHILD_FAILED);
}

/* Without a signal at its end: the caller's waits do not find a child that they do not know. */
static pid_t start_child(int from, int to, uint64_t limit, int *ret_pidfd)
{
    struct clone_args args = {.flags = CLONE_PIDFD, .pidfd = (uint64_t)(uintptr_t)ret_pidfd};
    pid_t parent = getpid();
    long pid = syscall(SYS_clone3, &args, sizeof(args)); /* Linux 5.3 */

    if (pid == 0)
        copy_and_exit(from, to, limit, parent);
    return (pid_t)pid;
}

static struct background *find_background(struct journal *j, const struct stat *st)
{
    for (size_t i = 0; i < BACKGROUND_MAX; i++) {
        struct background *b = &j->background[i];

        if (b->pid && b->st.st_dev == st->st_dev && b->st.st_ino == st->st_ino)
            return b;
    }
    return NULL;
}

static void drop_background(struct journal *j, struct background *b)
{
    j->counts.bytes -= b->reserved;
    forget_saved(j, b->saved);
    close_fd(&b->pidfd);
    *b = (struct background){0};
}

/* A copy that nobody came back for is given up when its place is needed. */
static struct background *free_background(struct journal *j)
{
    for (size_t i = 0; i < BACKGROUND_MAX; i++)
        if (!j->background[i].pid)
            return &j->background[i];
    for (size_t i = 0; i < BACKGROUND_MAX; i++)
        if (j->background[i].is_over) {
            drop_background(j, &j->background[i]);
            return &j->background[i];
        }
    return NULL;
}

static bool is_running(struct background *b)
{
    struct pollfd end = {.fd = b->pidfd, .events = POLLIN};

    return !b->is_over && poll(&end, 1, 0) == 0;
}

/* 0: the copy is there, 1: it is not and has to be made again, -1: it cannot be made. */
static int end_background(struct journal *j, struct background *b, const struct stat *st,
                          struct error *err)
{
    siginfo_t info = {0};
    int status = CHILD_DONE;

    if (!b->is_over) {
        if (waitid(P_PIDFD, (id_t)b->pidfd, &info, WEXITED | __WALL) < 0 ||
            info.si_code != CLD_EXITED)
            status = CHILD_FAILED;
        else
            status = info.si_status;
        b->is_over = true;
    }
    if (status == CHILD_DONE && file_is_unchanged(&b->st, st))
        return 0;
    drop_background(j, b);
    return status == CHILD_TOO_LARGE ? too_large(j, err) : 1;
}

void journal_stop_background(struct journal *j)
{
    for (size_t i = 0; i < BACKGROUND_MAX; i++) {
        struct background *b = &j->background[i];
        siginfo_t info;

        if (!b->pid)
            continue;
        if (!b->is_over) {
            (void)syscall(SYS_pidfd_send_signal, b->pidfd, SIGKILL, NULL, 0);
            (void)waitid(P_PIDFD, (id_t)b->pidfd, &info, WEXITED | __WALL);
        }
        drop_background(j, b);
    }
}

/* 1: a child copies it now, 0: none could be started. */
static int start_background(struct journal *j, int parent, const char *name, const struct stat *st,
                            int *ret_fd, struct error *err)
{
    struct background *b = free_background(j);
    cleanup_close int from = -1, to = -1;
    uint64_t saved = j->last_saved + 1, left = j->limits.bytes - j->counts.bytes;
    struct stat now;

    if (!b)
        return 0;
    if (open_source(parent, name, st, &from, err) < 0 || open_saved(j, saved, &to, err) < 0)
        return -1;
    j->last_saved = saved;
    *b = (struct background){.saved = saved, .pidfd = -1, .born_ns = journal_born(parent, name)};
    /* The file may be larger than its blocks say, where they are compressed. */
    b->reserved = stored_bytes(st) < left ? stored_bytes(st) : left;
    b->st = *st;
    if (copy_clone(from, to))
        b->is_over = true;
    if (fstat(from, &now) < 0 || !file_is_unchanged(&now, st) ||
        (b->pid = b->is_over ? 1 : start_child(from, to, left, &b->pidfd)) <= 0) {
        forget_saved(j, saved);
        *b = (struct background){0};
        return 0;
    }
    j->counts.bytes += b->reserved;
    *ret_fd = b->pidfd;
    return b->is_over ? 0 : 1;
}

int journal_prepare(struct journal *j, int parent, const char *name, const struct stat *st,
                    int *ret_fd, struct error *err)
{
    struct background *b;
    struct object *o;

    if (!S_ISREG(st->st_mode) || stored_bytes(st) <= INLINE_BYTES)
        return 0;
    o = journal_object(j, st, parent, name);
    if (o && o->flags & (OBJECT_MADE | OBJECT_SAVED))
        return 0;
    b = find_background(j, st);
    if (b && is_running(b)) {
        *ret_fd = b->pidfd;
        return 1;
    }
    if (b) {
        int r = end_background(j, b, st, err);

        if (r <= 0)
            return r;
    }
    if (j->counts.bytes > j->limits.bytes || stored_bytes(st) > j->limits.bytes - j->counts.bytes)
        return too_large(j, err);
    return start_background(j, parent, name, st, ret_fd, err);
}

/* --- either way --- */

int journal_save(struct journal *j, int parent, const char *name, const struct stat *st,
                 uint64_t *ret_saved, struct error *err)
{
    struct background *b = find_background(j, st);
    int r = b ? end_background(j, b, st, err) : 1;

    if (r < 0)
        return -1;
    if (r == 1)
        return save_now(j, parent, name, st, ret_saved, err);
    *ret_saved = b->saved;
    close_fd(&b->pidfd);
    *b = (struct background){0};
    return 0;
}

/* --- attributes --- */

static int save_xattr(struct journal *j, int fd, const char *name, const struct stat *st,
                      uint64_t id, unsigned char *value, char *text, struct error *err)
{
    /* With the inode: when the entry fails after its attributes, the next one gets the same id. */
    struct entry entry = {.kind = ENTRY_XATTR,
                          .id = id,
                          .dev = st->st_dev,
                          .ino = st->st_ino,
                          .path = name,
                          .more = text};
    ssize_t len = fgetxattr(fd, name, value, XATTR_BYTES);

    if (len < 0 && errno == ENODATA)
        return 0; /* it went away just now */
    if (len < 0)
        return error_errno(err, "read an attribute of the file");
    hex_write(value, (size_t)len, text);
    return journal_append(j, &entry, err);
}

static int save_all_xattrs(struct journal *j, int fd, const struct stat *st, uint64_t id,
                           ssize_t len, struct error *err)
{
    cleanup_free char *names = malloc((size_t)len), *text = malloc(2 * XATTR_BYTES + 1);
    cleanup_free unsigned char *value = malloc(XATTR_BYTES);

    if (!names || !text || !value)
        return error_memory(err);
    len = flistxattr(fd, names, (size_t)len);
    if (len < 0)
        return error_errno(err, "list the attributes of the file");
    for (const char *name = names; name < names + len; name += strlen(name) + 1)
        if (strncmp(name, "user.", 5) == 0 && save_xattr(j, fd, name, st, id, value, text, err) < 0)
            return -1;
    return 0;
}

/* Only files and directories have attributes of that kind. */
int journal_save_xattrs(struct journal *j, int parent, const char *name, const struct stat *st,
                        uint64_t id, struct error *err)
{
    cleanup_close int fd = -1;
    struct stat now;
    ssize_t len;

    if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
        return 0;
    fd = openat(parent, *name ? name : ".",
                O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    /* Nobody who cannot read it can have set any; mode and times are noted all the same. */
    if (fd < 0 && (errno == EACCES || errno == EPERM))
        return 0;
    if (fd < 0 || fstat(fd, &now) < 0)
        return error_errno(err, "open the file to save its attributes");
    if (now.st_dev != st->st_dev || now.st_ino != st->st_ino)
        return error_set(err, E_BUSY, "the file was replaced while it was being saved");
    len = flistxattr(fd, NULL, 0);
    return len <= 0 ? 0 : save_all_xattrs(j, fd, st, id, len + 4096, err);
}
