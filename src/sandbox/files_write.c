#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "base/closer.h"
#include "base/fiber.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "sandbox/files_internal.h"

/* New names are read by people and put into JSON; odd ones are left to the program. */
static int check_new_name(const char *path, struct error *err)
{
    size_t len = strlen(path);

    if (utf8_valid(path, len) != len)
        return error_set(err, E_INVALID, "the name of a new file must be UTF-8");
    for (size_t i = 0; i < len; i++)
        if ((uint8_t)path[i] < 0x20 || path[i] == 0x7f)
            return error_set(err, E_INVALID,
                             "the name of a new file must not contain control characters");
    return 0;
}

/* --- the bill --- */

/* Overhead of a file or a directory beside its bytes, and the unit of those. */
#define PAGE 4096

/* So much is reserved at a time: each step is a question to the owner. */
#define STEP ((uint64_t)MIB)

struct files_bill {
    unsigned refs;
    uint64_t bytes;    /* at most so many of ours are in there */
    uint64_t reserved; /* what the owner has said yes to */
    files_reserve_fn reserve;
    void *user;
};

struct files_bill *files_bill_ref(struct files_bill *bill)
{
    if (bill)
        bill->refs++;
    return bill;
}

void files_bill_unref(struct files_bill *bill)
{
    if (bill && --bill->refs == 0)
        free(bill);
}

int files_open_bill(struct files *files, files_reserve_fn reserve, void *user, struct error *err)
{
    files->bill = calloc(1, sizeof(*files->bill));
    if (!files->bill)
        return error_memory(err);
    *files->bill = (struct files_bill){.refs = 1, .reserve = reserve, .user = user};
    return 0;
}

void files_close_bill(const struct files *files)
{
    if (files->bill)
        files->bill->reserve = NULL;
}

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static uint64_t used_of(int fd)
{
    struct statfs fs;

    if (fd < 0 || fstatfs(fd, &fs) < 0)
        return 0;
    return (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize +
           (uint64_t)(fs.f_files - fs.f_ffree) * PAGE;
}

uint64_t files_used(const struct files *files)
{
    return files->is_on_host ? 0 : used_of(files->fd);
}

/* Nobody can tell which pages are whose, but ours cannot be more than there are. */
static void settle(struct files_bill *bill, int fd)
{
    uint64_t there = used_of(fd), needed;

    if (!bill->reserve || !there)
        return;
    if (bill->bytes > there)
        bill->bytes = there;
    needed = round_up(bill->bytes, STEP);
    if (needed < bill->reserved && bill->reserve(bill->user, needed, NULL) == 0)
        bill->reserved = needed;
}

void files_settle_bill(const struct files *files)
{
    if (files->bill && files->bill->bytes && files->fd >= 0)
        settle(files->bill, files->fd);
}

/* `more` bytes are about to be written to the file system of `fd`. */
static int charge(struct files_bill *bill, int fd, uint64_t more, struct error *err)
{
    uint64_t wanted;

    if (!bill)
        return 0;
    if (!bill->reserve)
        return error_set(err, E_NOT_FOUND, "the sandbox has ended");
    if (bill->bytes + more > bill->reserved) {
        settle(bill, fd); /* the program may have deleted something */
        wanted = round_up(bill->bytes + more, STEP);
        if (bill->bytes + more > bill->reserved) {
            if (bill->reserve(bill->user, wanted, err) < 0)
                return -1;
            bill->reserved = wanted;
        }
    }
    bill->bytes += more;
    return 0;
}

/* --- directories --- */

/* One step down, into a directory that is made where it is missing. The program may delete it
 * between the two calls, again and again; it does not get more than a few tries. */
static int step_into(const struct files *files, int dir, const char *name)
{
    for (int i = 0; i < 4; i++) {
        int fd = files_openat(dir, name, O_PATH | O_DIRECTORY, 0);

        if (fd >= 0 || errno != ENOENT)
            return fd;
        if (mkdirat(dir, name, 0755) < 0 && errno != EEXIST)
            return -1;
        /* We act as the sandbox's user here and can ask nobody. The next byte pays for it. */
        if (files->bill)
            files->bill->bytes += PAGE;
    }
    errno = EAGAIN;
    return -1;
}

/* Returns the last directory of `path`, or -1 with errno. */
static int make_directories(const struct files *files, const char *path)
{
    int root = files_find_root(files, &path);
    cleanup_close int dir = root < 0 ? -1 : files_openat(root, "", O_PATH | O_DIRECTORY, 0);
    mode_t mask = umask(022);

    while (dir >= 0 && *path) {
        size_t len = strcspn(path, "/");
        char name[NAME_MAX + 1];
        int next;

        if (len > NAME_MAX) {
            errno = ENAMETOOLONG;
            close_fd(&dir);
            break;
        }
        memcpy(name, path, len);
        name[len] = '\0';
        next = step_into(files, dir, name);
        (void)close(dir);
        dir = next;
        path += len + (path[len] == '/');
    }
    (void)umask(mask);
    return take_fd(dir);
}

int files_make_directory(const struct files *files, const char *path, struct error *err)
{
    cleanup(files_leave) struct files_guard guard = {0};
    cleanup_close int dir = -1;

    if (check_new_name(path, err) < 0 || charge(files->bill, files->fd, PAGE, err) < 0 ||
        files_enter(&guard, files, err) < 0)
        return -1;
    dir = make_directories(files, path);
    return dir < 0 ? files_fail(err, "make the directory", path) : 0;
}

/* --- files --- */

static void writer_done(struct files_writer *writer)
{
    closer_close_file(&writer->fd);
    files_done(&writer->dir);
}

static int open_directory(struct files_writer *writer, const struct files *files, const char *path,
                          bool makes_parents, struct error *err)
{
    cleanup_error struct error missing = {0};
    const char *slash = strrchr(path, '/');
    char parent[PATH_MAX];

    if (files_open_parent(files, path, &writer->dir.fd, writer->name, &missing) == 0)
        return 0;
    if (!makes_parents || !slash || missing.errnum != ENOENT) {
        if (err)
            error_move(err, &missing);
        return -1;
    }
    (void)snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
    (void)snprintf(writer->name, sizeof(writer->name), "%s", slash + 1);
    writer->dir.fd = make_directories(files, parent);
    return writer->dir.fd < 0 ? files_fail(err, "make the directory", parent) : 0;
}

int files_write_begin(struct files_writer *writer, const struct files *files, const char *path,
                      const struct files_write_options *options, struct error *err)
{
    cleanup(files_leave) struct files_guard guard = {0};
    mode_t mode = options->has_mode ? options->mode & 0777 : options->is_executable ? 0755 : 0644;

    *writer = (struct files_writer){
        .dir = *files,
        .fd = -1,
        .limit = options->limit ? options->limit : UINT64_MAX,
        .is_synced = options->is_synced,
        .is_new = options->is_new,
    };
    writer->dir.fd = -1;
    writer->dir.has_tmp = false;
    writer->dir.bill = files_bill_ref(files->bill);
    if (check_new_name(path, err) < 0 || charge(files->bill, files->fd, PAGE, err) < 0 ||
        files_enter(&guard, files, err) < 0 ||
        open_directory(writer, files, path, options->makes_parents, err) < 0) {
        writer_done(writer);
        return -1;
    }
    writer->fd = files_openat(writer->dir.fd, "", O_TMPFILE | O_WRONLY, 0600);
    if (writer->fd < 0 || fchmod(writer->fd, mode) < 0) {
        files_fail(err, "write", path);
        writer_done(writer);
        return -1;
    }
    return 0;
}

int files_write_feed(struct files_writer *writer, const void *data, size_t len, struct error *err)
{
    const char *at = data;

    if (writer->fd < 0)
        return error_set(err, E_INTERNAL, "the file is already finished");
    if (len > writer->limit - writer->written)
        return error_set(err, E_TOO_LARGE, "the file is larger than %llu bytes",
                         (unsigned long long)writer->limit);
    if (charge(writer->dir.bill, writer->fd,
               round_up(writer->written + len, PAGE) - round_up(writer->written, PAGE), err) < 0)
        return -1;
    while (len) {
        ssize_t n = write(writer->fd, at, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return files_fail(err, "write", writer->name);
        at += n;
        len -= (size_t)n;
        writer->written += (size_t)n;
    }
    return 0;
}

/* A link never replaces anything, so it gets a name nobody knows first, and is moved from there. */
static int replace(struct files_writer *writer, const char *from)
{
    /* Keeps the file that is replaced: its pages are not freed in our turn of the loop. */
    cleanup(closer_close_file) int old = files_openat(writer->dir.fd, writer->name, O_PATH, 0);
    char name[48];
    uint64_t chance;
    int errnum;

    (void)old; /* keeps the pages of the file that is replaced */
    if (getrandom(&chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
        return -1;
    (void)snprintf(name, sizeof(name), ".belljar-%016llx", (unsigned long long)chance);
    if (linkat(AT_FDCWD, from, writer->dir.fd, name, AT_SYMLINK_FOLLOW) < 0)
        return -1;
    if (renameat(writer->dir.fd, name, writer->dir.fd, writer->name) == 0)
        return 0;
    errnum = errno;
    (void)unlinkat(writer->dir.fd, name, 0);
    errno = errnum;
    return -1;
}

/* The directory was opened to find things in it only. */
static int sync_directory(const struct files_writer *writer)
{
    cleanup_close int dir = files_openat(writer->dir.fd, "", O_RDONLY | O_DIRECTORY, 0);

    return dir < 0 ? -1 : fsync(dir);
}

int files_write_commit(struct files_writer *writer, struct error *err)
{
    cleanup(files_leave) struct files_guard guard = {0};
    char from[48];
    int r;

    if (writer->fd < 0)
        return error_set(err, E_INTERNAL, "the file is already finished");
    r = files_enter(&guard, &writer->dir, err);
    if (r == 0) {
        /* The one way that needs no capability. The link in /proc is ours and the file it stands
         * for is what we opened. */
        (void)snprintf(from, sizeof(from), "/proc/self/fd/%d", writer->fd);
        if ((writer->is_synced && fsync(writer->fd) < 0) ||
            (linkat(AT_FDCWD, from, writer->dir.fd, writer->name, AT_SYMLINK_FOLLOW) < 0 &&
             (errno != EEXIST || writer->is_new || replace(writer, from) < 0)) ||
            (writer->is_synced && sync_directory(writer) < 0))
            r = files_fail(err, "write", writer->name);
    }
    writer_done(writer);
    return r;
}

/* Freed in our turn, a few milliseconds: the sender of a file that was too large may send a small
 * one at once, before the closer has freed the rest. */
#define FREED_AT_ONCE ((off_t)16 << 20)

void files_write_abort(struct files_writer *writer)
{
    off_t written = (off_t)writer->written;

    if (writer->fd >= 0 && written)
        (void)!ftruncate(writer->fd, written > FREED_AT_ONCE ? written - FREED_AT_ONCE : 0);
    writer_done(writer);
}

/* --- another name --- */

/* Copied between two pauses: less than a millisecond. */
#define COPY_BYTES ((size_t)256 << 10)

static int copy_into(struct files_writer *writer, int fd, struct error *err)
{
    cleanup_free char *data = malloc(COPY_BYTES);
    ssize_t n;

    if (!data)
        return error_memory(err);
    while ((n = files_read(fd, writer->written, data, COPY_BYTES, err)) > 0) {
        if (fiber_is_cancelled())
            return error_set(err, E_SYSTEM, "nobody waits for it");
        if (files_write_feed(writer, data, (size_t)n, err) < 0)
            return -1;
        fiber_pause();
    }
    return n < 0 ? -1 : 0;
}

/* The program may have put something else there while the file was copied: that stays. */
static int delete_copied(const struct files *files, const char *path, uint64_t inode,
                         struct error *err)
{
    struct files_entry now;

    if (files_stat(files, path, &now, NULL) < 0)
        return 0;
    return now.inode == inode ? files_delete(files, path, false, err) : 0;
}

/* Linux renames nothing from one mount to another. */
static int move_across(const struct files *files, const char *from, const char *to,
                       struct error *err)
{
    struct files_write_options options = {.makes_parents = true, .has_mode = true};
    cleanup(closer_close_file) int fd = -1;
    struct files_writer writer;
    struct files_entry entry;

    if (files_stat(files, from, &entry, err) < 0)
        return -1;
    if (entry.kind != FILES_REGULAR) {
        error_set(err, E_INVALID,
                  "only regular files can be moved between /workspace and /tmp from outside");
        return error_hint(err, "let a command move it: `mv`");
    }
    if (files_open(files, from, &fd, &entry, err) < 0)
        return -1;
    options.mode = entry.mode;
    if (files_write_begin(&writer, files, to, &options, err) < 0)
        return -1;
    if (copy_into(&writer, fd, err) < 0) {
        files_write_abort(&writer);
        return -1;
    }
    if (files_write_commit(&writer, err) < 0)
        return -1;
    return delete_copied(files, from, entry.inode, err);
}

int files_move(const struct files *files, const char *from, const char *to, struct error *err)
{
    cleanup(files_leave) struct files_guard guard = {0};
    struct files_writer target = {.dir = {.fd = -1}, .fd = -1};
    cleanup_close int source = -1;
    cleanup(closer_close_file) int old = -1; /* its pages are not freed in our turn of the loop */
    char name[NAME_MAX + 1];
    int r = 0;

    if (files_path_is_tmp(from) != files_path_is_tmp(to))
        return move_across(files, from, to, err);
    if (check_new_name(to, err) < 0 || charge(files->bill, files->fd, PAGE, err) < 0 ||
        files_enter(&guard, files, err) < 0 ||
        files_open_parent(files, from, &source, name, err) < 0)
        return -1;
    if (faccessat(source, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return files_fail(err, "move", from);
    if (open_directory(&target, files, to, true, err) < 0)
        return -1;
    old = files_openat(target.dir.fd, target.name, O_PATH, 0);
    if (renameat(source, name, target.dir.fd, target.name) < 0)
        r = errno == EINVAL ? error_set(err, E_INVALID, "a directory cannot be moved into itself")
                            : files_fail(err, "move", from);
    close_fd(&target.dir.fd);
    return r;
}
