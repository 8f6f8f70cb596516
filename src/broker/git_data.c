/* Files that git believes get their names here. The program writes them under another name, as git
 * does (index.lock, tmp_obj_...). What gets the name is a copy, made and checked by us: the program
 * may still have its own file open, or have it under a second name. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
static long read_content(const struct git_copy *copy, struct buf *content)
{
    buf_init(content, GIT_DATA_BYTES);
    return copy->from_st.st_size > (off_t)GIT_DATA_BYTES ||
                   buf_read_fd(content, copy->from, NULL) < 0
               ? -EFBIG
               : 0;
}

static long refuse(struct broker *b, const struct place *to, const struct git_data *data)
{
    char why[BROKER_WHY_MAX];

    if (!data->entry[0])
        return judge_refuse(b, to, "replace", data->why, EPERM);
    (void)snprintf(why, sizeof(why), "%s: %.40s", data->why, data->entry);
    return judge_refuse(b, to, "replace", why, EPERM);
}

/* --- the copy --- */

/* The times stay: git tells by that of the index which files it has to compare. */
static long fill(int fd, const struct stat *st, const struct buf *content)
{
    const struct timespec times[2] = {st->st_atim, st->st_mtim};

    return file_write_all(fd, buf_str(content), content->len) < 0 ||
                   fchmod(fd, st->st_mode & 0777) < 0 || futimens(fd, times) < 0
               ? -errno
               : 0;
}

/* Without a name nobody else can open it: another sandbox may have the same directory, and it is
 * not locked now. */
static long make_nameless(struct git_copy *copy, struct buf *content)
{
    copy->fd = openat(copy->dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (copy->fd >= 0)
        return fill(copy->fd, &copy->from_st, content);
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
        return -errno;
    copy->content = *content;
    *content = (struct buf){0};
    return 0;
}

long git_copy_make(struct broker *b, struct git_copy *copy)
{
    char path[2 * PATH_MAX];
    struct git_data data = {.kind = copy->kind,
                            .dir = copy->dir,
                            .path = path,
                            .judge = judge_path,
                            .open = open_directory,
                            .arg = b};
    cleanup(buf_done) struct buf now = {0}, content = {0};
    long r;

    (void)snprintf(path, sizeof(path), "%s/%s", copy->to.grant->path, copy->to.path);
    if (read_content(copy, &now) < 0)
        return judge_refuse(b, &copy->to, "replace", "it is too large to be checked", EPERM);
    if (git_data_check(&data, &now, &content) < 0)
        return refuse(b, &copy->to, &data);
    r = make_nameless(copy, &content);
    copy->is_made = r == 0;
    return r;
}

void git_copy_done(struct git_copy *copy)
{
    close_fd(&copy->from);
    close_fd(&copy->dir);
    close_fd(&copy->fd);
    buf_done(&copy->content);
    *copy = (struct git_copy){.from = -1, .dir = -1, .fd = -1};
}

/* Whether the copy is of this file, for this place, and what it was checked against is there yet:
 * entries that an index had before are not judged. */
static bool is_for(const struct git_copy *copy, const struct place *from, const struct place *to,
                   enum protected_data kind)
{
    struct stat dir;

    if (!copy->is_made || copy->kind != kind || to->index != copy->to.index ||
        strcmp(to->path, copy->to.path) != 0)
        return false;
    if (fstat(to->parent, &dir) < 0 || dir.st_dev != copy->dir_st.st_dev ||
        dir.st_ino != copy->dir_st.st_ino || !file_is_unchanged(&from->st, &copy->from_st))
        return false;
    return to->exists ? copy->to_st.st_nlink && file_is_unchanged(&to->st, &copy->to_st)
                      : !copy->to_st.st_nlink;
}

/* Notes what is to be checked. Returns ANSWER_CHECK, or -errno. */
static long note(struct git_copy *copy, const struct place *from, const struct place *to,
                 enum protected_data kind)
{
    git_copy_done(copy);
    copy->from = openat(from->parent, from->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    copy->dir = openat(to->parent, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (copy->from < 0 || copy->dir < 0 || fstat(copy->from, &copy->from_st) < 0 ||
        fstat(copy->dir, &copy->dir_st) < 0)
        return -errno;
    if (!S_ISREG(copy->from_st.st_mode))
        return -EPERM;
    copy->kind = kind;
    if (to->exists)
        copy->to_st = to->st;
    copy->to = *to;
    copy->to.parent = copy->dir;
    copy->to.owns_parent = false;
    copy->to.name = copy->to.path + (to->name - to->path);
    return ANSWER_CHECK;
}

static void drop(const struct place *to, const char *name)
{
    (void)unlinkat(to->parent, name, 0);
}

/* If the file system has no unnamed files, it is written now. */
static long write_named(const struct git_copy *copy, const struct place *to, const char *name)
{
    cleanup_close int fd = openat(to->parent, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    long r = fd < 0 ? -errno : fill(fd, &copy->from_st, &copy->content);

    if (fd >= 0 && r < 0)
        drop(to, name);
    return r;
}

static long give_name(const struct git_copy *copy, const struct place *to, const char *name)
{
    char link[64];

    if (copy->fd < 0)
        return write_named(copy, to, name);
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", copy->fd);
    return linkat(AT_FDCWD, link, to->parent, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* Gives it its name. With `is_new` nothing may be there. A name cannot be given to the copy and
 * taken from another file in one step: so it has one of its own for a moment. Among objects, git
 * removes what a crash leaves under a name like this. */
static long copy_place(const struct git_copy *copy, const struct place *to, bool is_new)
{
    char name[COPY_NAME];
    uint64_t chance;
    long r;

    if (is_new && copy->fd >= 0)
        return give_name(copy, to, to->name);
    if (getrandom(&chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
        return -EIO;
    (void)snprintf(name, sizeof(name), "tmp_obj_%016llx", (unsigned long long)chance);
    r = give_name(copy, to, name);
    if (r < 0)
        return r;
    if (!is_new && renameat(to->parent, name, to->parent, to->name) == 0)
        return 0;
    if (!is_new || linkat(to->parent, name, to->parent, to->name, 0) < 0)
        r = -errno;
    drop(to, name);
    return r;
}

long git_link(struct held_call *c, struct place *from, struct place *to, enum protected_data data)
{
    long r;

    if (!is_for(c->copy, from, to, data))
        return note(c->copy, from, to, data);
    r = keep_announce(c->b, to);
    if (r < 0)
        return r;
    r = copy_place(c->copy, to, true);
    return r < 0 ? keep_undone(c->b, r) : keep_created(c->b, to, NULL);
}

/* Writes the journal entries: `from` goes, the old content of `to` goes, and another file is there.
 * Returns the number of entries, or the answer for the caller. */
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

long git_rename(struct held_call *c, struct place *from, struct place *to, enum protected_data data)
{
    long told, r;

    if (to->exists && data == PROTECTED_DATA_OBJECT)
        return -EEXIST; /* with the same content */
    if (!is_for(c->copy, from, to, data))
        return note(c->copy, from, to, data);
    told = keep_rename(c->b, from, to);
    if (told < 0)
        return told;
    r = copy_place(c->copy, to, !to->exists);
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
