/* Files of other programs: read whole, and replaced whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "cli/setup/setup.h"

#define BACKUP_SUFFIX ".belljar-backup"

void setup_file_done(struct setup_file *file)
{
    free(file->path);
    free(file->backup);
    buf_done(&file->text);
    *file = (struct setup_file){0};
}

/* A link stays a link: what it leads to is what is replaced. */
static int resolve(struct setup_file *file, const char *path, struct error *err)
{
    struct stat st;

    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
        file->path = realpath(path, NULL);
        if (!file->path && errno == ENOENT) {
            error_set(err, E_INVALID, "%s is a link to a missing file", path);
            return error_hint(err, "remove the link, or create its target");
        }
    } else {
        file->path = strdup(path);
    }
    if (!file->path)
        return error_errno(err, "%s", path);
    if (asprintf(&file->backup, "%s" BACKUP_SUFFIX, file->path) < 0) {
        file->backup = NULL;
        return error_memory(err);
    }
    return 0;
}

static int read_text(int fd, const char *path, struct stat *st, struct buf *text, struct error *err)
{
    if (fstat(fd, st) < 0)
        return error_errno(err, "%s", path);
    if (!S_ISREG(st->st_mode))
        return error_set(err, E_INVALID, "%s is not a regular file", path);
    return buf_read_fd(text, fd, err) < 0 ? error_wrap(err, "%s", path) : 0;
}

int setup_file_read(struct setup_file *file, const char *path, struct error *err)
{
    cleanup_close int fd = -1;

    *file = (struct setup_file){0};
    buf_init(&file->text, SETUP_FILE_BYTES);
    if (resolve(file, path, err) < 0)
        return -1;
    /* O_NONBLOCK: a FIFO is refused, not waited for. */
    fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 && (errno == EACCES || errno == EPERM))
        return error_set(err, E_DENIED, "%s is not readable for this user", file->path);
    if (fd < 0)
        return error_errno(err, "open %s", file->path);
    file->is_there = true;
    return read_text(fd, file->path, &file->before, &file->text, err);
}

/* --- writing --- */

static int make_parents(const char *path, struct error *err)
{
    cleanup_free char *dir = strdup(path);

    if (!dir)
        return error_memory(err);
    for (char *slash = strchr(dir + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(dir, 0700) < 0 && errno != EEXIST)
            return error_errno(err, "make the directory %s", dir);
        *slash = '/';
    }
    return 0;
}

/* Root may write everything; a file that is marked read-only is left alone all the same. */
static int check_writable(const struct setup_file *file, struct error *err)
{
    if (!file->is_there || ((file->before.st_mode & S_IWUSR) && access(file->path, W_OK) == 0))
        return 0;
    error_set(err, E_DENIED, "%s is read-only", file->path);
    return error_hint(err, "make it writable, or add the entry yourself: `--print` shows it");
}

/* The client itself may have written it meanwhile; its words must not be lost. */
static int check_unchanged(const struct setup_file *file, struct error *err)
{
    struct stat now;
    bool is_there = stat(file->path, &now) == 0;

    if (is_there == file->is_there &&
        (!is_there || (now.st_ino == file->before.st_ino && now.st_size == file->before.st_size &&
                       now.st_mtim.tv_sec == file->before.st_mtim.tv_sec &&
                       now.st_mtim.tv_nsec == file->before.st_mtim.tv_nsec)))
        return 0;
    error_set(err, E_BUSY, "%s was written by another program just now", file->path);
    return error_hint(err, "nothing was changed: try again");
}

static int fill(int fd, const struct setup_file *file, const struct buf *text, struct error *err)
{
    mode_t mode = file->is_there ? file->before.st_mode & 07777 : 0600;

    if (file->is_there && (file->before.st_uid != geteuid() || file->before.st_gid != getegid()) &&
        fchown(fd, file->before.st_uid, file->before.st_gid) < 0)
        return error_errno(err, "give %s the owner it has", file->path);
    if (fchmod(fd, mode) < 0 || file_write_all(fd, buf_str(text), text->len) < 0 || fsync(fd) < 0)
        return error_errno(err, "write %s", file->path);
    return 0;
}

static void sync_dir(const char *path)
{
    cleanup_free char *dir = strdup(path);
    char *slash = dir ? strrchr(dir, '/') : NULL;
    cleanup_close int fd = -1;

    if (!slash)
        return;
    slash[slash == dir] = '\0';
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        (void)fsync(fd); /* the file is whole either way; this makes it last */
}

/* Under another name first, in the same directory; `to` is there whole or as it was. */
static int put_in_place(const struct setup_file *file, const char *to, const struct buf *text,
                        bool has_to_be_unchanged, struct error *err)
{
    cleanup_free char *name = NULL;
    cleanup_close int fd = -1;
    int r;

    if (asprintf(&name, "%s.XXXXXX", to) < 0) {
        name = NULL;
        return error_memory(err);
    }
    fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, "write beside %s", to);
    r = fill(fd, file, text, err);
    if (r == 0 && has_to_be_unchanged)
        r = check_unchanged(file, err);
    if (r == 0 && rename(name, to) < 0)
        r = error_errno(err, "put %s in its place", to);
    if (r < 0)
        (void)unlink(name);
    else
        sync_dir(to);
    return r;
}

int setup_file_write(const struct setup_file *file, const struct buf *text, struct error *err)
{
    if (check_writable(file, err) < 0 || make_parents(file->path, err) < 0)
        return -1;
    return put_in_place(file, file->path, text, true, err);
}

int setup_file_delete(const struct setup_file *file, struct error *err)
{
    if (check_writable(file, err) < 0 || check_unchanged(file, err) < 0)
        return -1;
    return unlink(file->path) < 0 ? error_errno(err, "delete %s", file->path) : 0;
}

int setup_file_write_backup(const struct setup_file *file, struct error *err)
{
    if (!file->is_there)
        return 0;
    if (check_writable(file, err) < 0)
        return -1;
    return put_in_place(file, file->backup, &file->text, false, err);
}

bool setup_file_read_backup(const struct setup_file *file, struct buf *text)
{
    cleanup_close int fd =
        open(file->backup, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
    struct stat st;

    return fd >= 0 && read_text(fd, file->backup, &st, text, NULL) == 0;
}
