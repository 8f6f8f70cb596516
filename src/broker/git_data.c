/* Files that git believes get their names here. The program writes them under another name, as git
 * does (index.lock, tmp_obj_...). What gets the name is a copy, made and checked by us: the program
 * may still have its own file open, or have it under a second name. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "broker/calls.h"
#include "sandbox/git_data.h"

#define COPY_NAME 48

static const char *judge_path(void *arg, const char *path)
{
    return judge_name(arg, path);
}

/* Through the writable mount: the way to the directory may be closed to us. */
static int open_directory(void *arg, const char *path)
{
    struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
    };
    const struct broker *b = arg;
    int fd = -1;

    for (uint32_t i = 0; fd < 0 && i < b->n_grants; i++) {
        size_t len = strlen(b->grants[i].path);
        const char *below = path + len;

        if (b->grants[i].mount < 0 || strncmp(path, b->grants[i].path, len) != 0 ||
            (*below != '/' && *below != '\0'))
            continue;
        below += strspn(below, "/");
        fd = (int)syscall(SYS_openat2, b->grants[i].mount, *below ? below : ".", &how, sizeof(how));
    }
    return fd;
}

/* The whole content; the size is looked at first, so that nobody waits for gigabytes. */
static long read_content(const struct place *from, struct stat *ret_st, struct buf *content)
{
    cleanup_close int fd =
        openat(from->parent, from->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    buf_init(content, GIT_DATA_BYTES);
    if (fd < 0 || fstat(fd, ret_st) < 0)
        return -errno;
    if (!S_ISREG(ret_st->st_mode))
        return -EPERM;
    if (ret_st->st_size > (off_t)GIT_DATA_BYTES || buf_read_fd(content, fd, NULL) < 0)
        return -EFBIG;
    return 0;
}

static long refuse(struct broker *b, const struct place *to, const struct git_data *data)
{
    char why[BROKER_WHY_MAX];

    if (!data->entry[0])
        return judge_refuse(b, to, "replace", data->why, EPERM);
    (void)snprintf(why, sizeof(why), "%s: %.40s", data->why, data->entry);
    return judge_refuse(b, to, "replace", why, EPERM);
}

static void copy_drop(const struct place *to, const char *name)
{
    (void)unlinkat(to->parent, name, 0);
}

/* The times stay: git tells by that of the index which files it has to compare. */
static long write_copy(const struct place *to, const char *name, const struct stat *st,
                       const struct buf *content)
{
    const struct timespec times[2] = {st->st_atim, st->st_mtim};
    cleanup_close int fd = openat(to->parent, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return -errno;
    if (file_write_all(fd, buf_str(content), content->len) < 0 ||
        fchmod(fd, st->st_mode & 0777) < 0 || futimens(fd, times) < 0) {
        long r = -errno;

        copy_drop(to, name);
        return r;
    }
    return 0;
}

/* Checks what is at `from` and makes the copy in the directory of `to`. */
static long copy_make(struct broker *b, const struct place *from, const struct place *to,
                      enum protected_data kind, char ret_name[COPY_NAME])
{
    char path[2 * PATH_MAX];
    struct git_data data = {.kind = kind,
                            .dir = to->parent,
                            .path = path,
                            .judge = judge_path,
                            .open = open_directory,
                            .arg = b};
    cleanup(buf_done) struct buf now = {0}, content = {0};
    uint64_t chance;
    struct stat st;
    long r;

    (void)snprintf(path, sizeof(path), "%s/%s", to->grant->path, to->path);
    r = read_content(from, &st, &now);
    if (r == -EFBIG)
        return judge_refuse(b, to, "replace", "it is too large to be checked", EPERM);
    if (r < 0)
        return r;
    if (git_data_check(&data, &now, &content) < 0)
        return refuse(b, to, &data);
    if (getrandom(&chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
        return -EIO;
    /* Among objects, git removes what a crash leaves under a name like this. */
    (void)snprintf(ret_name, COPY_NAME, "tmp_obj_%016llx", (unsigned long long)chance);
    return write_copy(to, ret_name, &st, &content);
}

/* Gives it its name. With `is_new` nothing may be there. On failure the copy is gone. */
static long copy_place(const struct place *to, const char *name, bool is_new)
{
    long r = 0;

    if (!is_new) {
        if (renameat(to->parent, name, to->parent, to->name) == 0)
            return 0;
        r = -errno;
    } else if (linkat(to->parent, name, to->parent, to->name, 0) < 0) {
        r = -errno;
    }
    copy_drop(to, name);
    return r;
}

long git_link(struct call *c, struct place *from, struct place *to, enum protected_data data)
{
    char copy[COPY_NAME];
    long r = copy_make(c->b, from, to, data, copy);

    if (r < 0)
        return r;
    r = keep_announce(c->b, to);
    if (r < 0) {
        copy_drop(to, copy);
        return r;
    }
    r = copy_place(to, copy, true);
    return r < 0 ? keep_undone(c->b, r) : keep_created(c->b, to);
}

/* What the journal is told: `from` goes, the old content of `to` goes, and another file is there.
 * Returns the number of entries, or what the caller is answered. */
static long keep_rename(struct broker *b, const struct place *from, const struct place *to)
{
    long r = keep_name(b, from), told = r == 0;

    if (r == 0 && to->exists) {
        r = keep_name(b, to);
        told += r == 0;
    }
    if (r == 0) {
        r = keep_announce(b, to);
        told += r == 0;
    }
    if (r == 0)
        return told;
    while (told--)
        (void)keep_undone(b, 0);
    return r;
}

long git_rename(struct call *c, struct place *from, struct place *to, enum protected_data data)
{
    char copy[COPY_NAME];
    long told, r;

    if (to->exists && data == PROTECTED_DATA_OBJECT)
        return -EEXIST; /* with the same content */
    r = copy_make(c->b, from, to, data, copy);
    if (r < 0)
        return r;
    told = keep_rename(c->b, from, to);
    if (told < 0) {
        copy_drop(to, copy);
        return told;
    }
    r = copy_place(to, copy, !to->exists);
    if (r < 0) {
        while (told--)
            (void)keep_undone(c->b, 0);
        return r;
    }
    if (to->exists)
        links_forget(c->b, &to->st);
    if (unlinkat(from->parent, from->name, 0) == 0)
        links_forget(c->b, &from->st);
    place_look(to);
    if (c->b->journal && to->exists)
        (void)journal_created(c->b->journal, to->index, to->path, &to->st, NULL);
    c->b->report->renamed++;
    return 0;
}
