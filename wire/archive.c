#include "wire/archive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "wire/message.h"
#include "wire/put.h"

#define MAGIC     "BJFILES\1"
#define DEPTH_MAX 64    /* directories in each other: one descriptor each */
#define LINKS_MAX 65536 /* files with several names */
#define BUFFER    (1 << 18)

enum record_kind {
    RECORD_END,
    RECORD_TREE,    /* `size`: which of the paths */
    RECORD_DIR,     /* with its name; what is in it follows */
    RECORD_DIR_END, /* now it gets its mode and time */
    RECORD_FILE,    /* extents follow, up to one without length */
    RECORD_SYMLINK, /* `size` bytes of target follow */
    RECORD_LINK,    /* `size` bytes follow: a name in the same tree */
    RECORD_GONE,    /* of overlays: whatever is there is removed */
    RECORD_KINDS,
};

struct record {
    uint32_t kind;
    uint32_t mode;
    uint64_t size;
    int64_t seconds;
    uint32_t nanoseconds;
    uint32_t name_len;
};

struct extent {
    uint64_t start, len;
};

/* The first name of a file that has several: where in the archive it is. */
struct hard_link {
    uint64_t ino;
    uint64_t name_at;
    uint32_t name_len;
};

struct work {
    char *why;
    size_t why_size;
    int fd;
    bool is_of_overlays;
    uint64_t at;
    char name[PATH_MAX]; /* below the tree */
    char *buffer;
    /* writing */
    const char *tree;
    dev_t dev; /* of the tree */
    struct hard_link *links;
    uint32_t n_links;
    /* reading */
    int root;
    int parent; /* the directory of the last name */
    char parent_name[PATH_MAX];
    bool has_parent;
};

static int __attribute__((format(printf, 2, 3))) fail(struct work *w, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(w->why, w->why_size, format, args);
    va_end(args);
    return -1;
}

static int map_work(struct work *w, bool is_writer)
{
    size_t size = BUFFER + (is_writer ? LINKS_MAX * sizeof(struct hard_link) : 0);

    /* A mapping of its own: the heap may be being written to an image. */
    w->buffer = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (w->buffer == MAP_FAILED)
        return fail(w, "no memory to handle the files");
    w->links = (struct hard_link *)(w->buffer + BUFFER);
    return 0;
}

static void unmap_work(struct work *w, bool is_writer)
{
    (void)munmap(w->buffer, BUFFER + (is_writer ? LINKS_MAX * sizeof(struct hard_link) : 0));
}

/* --- packing --- */

static int put(struct work *w, const void *data, size_t len)
{
    int r = put_bytes(w->fd, data, len, w->at);

    w->at += len;
    if (r == -EPERM || r == -EFBIG || r == -ENOSPC)
        return fail(w, "the files are larger than the limit of a copy");
    return r < 0 ? fail(w, "pack the files: %s", strerror(-r)) : 0;
}

static int put_record(struct work *w, enum record_kind kind, const struct stat *st, uint64_t size)
{
    struct record record = {
        .kind = kind,
        .mode = st ? st->st_mode & 07777 : 0,
        .size = size,
        .seconds = st ? st->st_mtim.tv_sec : 0,
        .nanoseconds = st ? (uint32_t)st->st_mtim.tv_nsec : 0,
        .name_len = (uint32_t)strlen(w->name),
    };

    return put(w, &record, sizeof(record)) < 0 ? -1 : put(w, w->name, record.name_len);
}

static int put_extent(struct work *w, int file, off_t start, off_t end)
{
    struct extent extent = {(uint64_t)start, (uint64_t)(end - start)};

    if (put(w, &extent, sizeof(extent)) < 0)
        return -1;
    while (start < end) {
        size_t want = end - start < BUFFER ? (size_t)(end - start) : BUFFER;
        ssize_t n = pread(file, w->buffer, want, start);

        if (n <= 0)
            return fail(w, "`%.200s` changes while it is read", w->name);
        if (put(w, w->buffer, (size_t)n) < 0)
            return -1;
        start += n;
    }
    return 0;
}

static int put_contents(struct work *w, int file, const struct stat *st)
{
    static const struct extent last;
    off_t at = 0;

    while (at < st->st_size) {
        off_t start = lseek(file, at, SEEK_DATA), end;

        if (start < 0 && errno == ENXIO)
            break;
        end = start < 0 ? -1 : lseek(file, start, SEEK_HOLE);
        if (end < 0)
            return fail(w, "`%.200s` cannot be read: %s", w->name, strerror(errno));
        end = end < st->st_size ? end : st->st_size;
        if (start < end && put_extent(w, file, start, end) < 0)
            return -1;
        at = end;
    }
    return put(w, &last, sizeof(last));
}

/* 1: a file that was packed under another name; that one is put. */
static int put_known_link(struct work *w, const struct stat *st)
{
    struct hard_link *end = w->links + w->n_links;
    char first[PATH_MAX];

    for (const struct hard_link *link = w->links; link < end; link++) {
        if (link->ino != st->st_ino)
            continue;
        if (pread(w->fd, first, link->name_len, (off_t)link->name_at) != (ssize_t)link->name_len)
            return fail(w, "pack the files: a name is missing");
        if (put_record(w, RECORD_LINK, st, link->name_len) < 0 || put(w, first, link->name_len) < 0)
            return -1;
        return 1;
    }
    if (w->n_links == LINKS_MAX)
        return fail(w, "too many files have several names");
    *end = (struct hard_link){st->st_ino, w->at + sizeof(struct record), (uint32_t)strlen(w->name)};
    w->n_links++;
    return 0;
}

static int put_file(struct work *w, int dir, const char *name, const struct stat *st)
{
    int r = st->st_nlink > 1 ? put_known_link(w, st) : 0;
    struct stat now;
    int file;

    if (r != 0)
        return r < 0 ? -1 : 0;
    file = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return fail(w, "`%.200s` cannot be read: %s", w->name, strerror(errno));
    if (fstat(file, &now) < 0 || !S_ISREG(now.st_mode))
        r = fail(w, "`%.200s` changes while it is read", w->name);
    if (r == 0)
        r = put_record(w, RECORD_FILE, &now, (uint64_t)now.st_size);
    if (r == 0)
        r = put_contents(w, file, &now);
    (void)close(file);
    return r;
}

static int put_symlink(struct work *w, int dir, const char *name, const struct stat *st)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(dir, name, target, sizeof(target));

    if (n <= 0 || n == sizeof(target))
        return fail(w, "`%.200s` cannot be read", w->name);
    return put_record(w, RECORD_SYMLINK, st, (uint64_t)n) < 0 ? -1 : put(w, target, (size_t)n);
}

static int put_directory(struct work *w, int parent, const char *name, unsigned depth);

/* In the upper directory of an overlay: what was deleted. */
static bool is_whiteout(const struct work *w, const struct stat *st)
{
    return w->is_of_overlays && S_ISCHR(st->st_mode) && st->st_rdev == 0;
}

/* A directory in place of a deleted one, of which nothing shows through. */
static bool is_opaque(const struct work *w, int dir)
{
    char value;

    return w->is_of_overlays && fgetxattr(dir, "user.overlay.opaque", &value, 1) == 1 &&
           value == 'y';
}

static int put_entry(struct work *w, int dir, const char *name, unsigned depth)
{
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return fail(w, "`%.200s` cannot be examined: %s", w->name, strerror(errno));
    if (is_whiteout(w, &st))
        return put_record(w, RECORD_GONE, NULL, 0);
    switch (st.st_mode & S_IFMT) {
    case S_IFDIR:
        /* A directory of the host that is granted at its own place, below one of ours: the copy has
         * it, too, and it is not ours to copy. */
        if (st.st_dev != w->dev)
            return 0;
        return put_directory(w, dir, name, depth + 1);
    case S_IFREG:
        return put_file(w, dir, name, &st);
    case S_IFLNK:
        return put_symlink(w, dir, name, &st);
    default:
        return fail(w, "`%.200s` is a %s, which a copy cannot have", w->name,
                    S_ISFIFO(st.st_mode)   ? "FIFO"
                    : S_ISSOCK(st.st_mode) ? "socket"
                                           : "device");
    }
}

/* The settings of git that say who commits: every kernel writes its own when it starts. */
static bool is_made_anew(const struct work *w, const char *name)
{
    static const char path[] = WIRE_GIT_CONFIG;
    size_t len = w->tree ? strlen(w->tree) : 0; /* overlays have no path */

    return len && !*w->name && strncmp(path, w->tree, len) == 0 && path[len] == '/' &&
           strcmp(path + len + 1, name) == 0;
}

static int put_entries(struct work *w, int dir, unsigned depth)
{
    char entries[2048] __attribute__((aligned(8)));
    size_t len = strlen(w->name);
    long n;

    while ((n = syscall(SYS_getdents64, dir, entries, sizeof(entries))) > 0) {
        for (long at = 0; at < n;) {
            const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
            const char *name = entry->d_name;
            int r;

            at += entry->d_reclen;
            if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || is_made_anew(w, name))
                continue;
            if (len + strlen(name) + 2 > sizeof(w->name))
                return fail(w, "a name below `%.100s` is too long", w->name);
            (void)snprintf(w->name + len, sizeof(w->name) - len, "%s%s", len ? "/" : "", name);
            r = put_entry(w, dir, name, depth);
            w->name[len] = '\0';
            if (r < 0)
                return -1;
        }
    }
    return n < 0 ? fail(w, "`%.200s` cannot be listed", w->name) : 0;
}

static int put_directory(struct work *w, int parent, const char *name, unsigned depth)
{
    int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int r;

    if (dir < 0 || fstat(dir, &st) < 0) {
        if (dir >= 0)
            (void)close(dir);
        return fail(w, "`%.200s` cannot be opened: %s", w->name, strerror(errno));
    }
    if (depth == 0)
        w->dev = st.st_dev;
    if (depth > DEPTH_MAX)
        r = fail(w, "directories are too deep below `%.200s`", w->name);
    else
        r = depth > 0 && is_opaque(w, dir) ? put_record(w, RECORD_GONE, NULL, 0) : 0;
    if (r == 0 && depth > 0)
        r = put_record(w, RECORD_DIR, &st, 0);
    if (r == 0)
        r = put_entries(w, dir, depth);
    if (r == 0)
        r = put_record(w, RECORD_DIR_END, &st, 0);
    (void)close(dir);
    return r;
}

/* Each tree is a path, or else the directory of a descriptor. */
static int put_all(struct work *w, const char *const *paths, const int *dirs, size_t count)
{
    int r;

    if (map_work(w, true) < 0)
        return -1;
    r = put(w, MAGIC, 8);
    for (size_t i = 0; i < count && r == 0; i++) {
        w->n_links = 0; /* a link to another tree would leave its own */
        w->tree = paths ? paths[i] : NULL;
        r = put_record(w, RECORD_TREE, NULL, i);
        if (r == 0)
            r = put_directory(w, dirs ? dirs[i] : AT_FDCWD, paths ? paths[i] : ".", 0);
    }
    if (r == 0)
        r = put_record(w, RECORD_END, NULL, 0);
    unmap_work(w, true);
    return r;
}

int archive_write(int fd, const char *const *paths, size_t n_paths, char *why, size_t why_size)
{
    struct work w = {.why = why, .why_size = why_size, .fd = fd};

    return put_all(&w, paths, NULL, n_paths);
}

int archive_write_overlays(int fd, const int *dirs, size_t n_dirs, char *why, size_t why_size)
{
    struct work w = {.why = why, .why_size = why_size, .fd = fd, .is_of_overlays = true};

    return put_all(&w, NULL, dirs, n_dirs);
}

/* --- unpacking --- */

static int get(struct work *w, void *data, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pread(w->fd, (char *)data + done, len - done, (off_t)(w->at + done));

        if (n <= 0)
            return fail(w, "the packed files end too early");
        done += (size_t)n;
    }
    w->at += len;
    return 0;
}

static int get_text(struct work *w, char text[PATH_MAX], uint64_t len)
{
    if (len >= PATH_MAX)
        return fail(w, "the packed files are damaged");
    text[len] = '\0';
    if (get(w, text, (size_t)len) < 0)
        return -1;
    return memchr(text, '\0', (size_t)len) ? fail(w, "the packed files are damaged") : 0;
}

/* One step down, of a name that can only lead down. */
static int step(int dir, const char *name)
{
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        errno = EINVAL;
        return -1;
    }
    return openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int walk(int root, char *name)
{
    int dir = fcntl(root, F_DUPFD_CLOEXEC, 3);

    for (char *part = name; dir >= 0 && part;) {
        char *slash = strchr(part, '/');
        int next;

        if (slash)
            *slash = '\0';
        next = step(dir, part);
        (void)close(dir);
        if (slash)
            *slash = '/';
        dir = next;
        part = slash ? slash + 1 : NULL;
    }
    return dir;
}

/* The directory a name is in, and the last part of the name. The directory stays open for the next:
 * names come in the order of the tree. */
static int find_parent(struct work *w, char *name, const char **ret_last)
{
    char *slash = strrchr(name, '/');
    const char *last = slash ? slash + 1 : name;

    if (last[0] == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
        return fail(w, "the packed files have a name that leads elsewhere");
    *ret_last = last;
    if (!slash)
        return w->root;
    *slash = '\0';
    if (!w->has_parent || strcmp(w->parent_name, name) != 0) {
        if (w->has_parent)
            (void)close(w->parent);
        w->parent = walk(w->root, name);
        w->has_parent = w->parent >= 0;
        memcpy(w->parent_name, name, strlen(name) + 1);
    }
    *slash = '/';
    return w->has_parent ? w->parent : fail(w, "`%.200s` cannot be unpacked", name);
}

/* --- what stands in the way, where an overlay is unpacked over a directory --- */

static int remove_tree(int parent, const char *name, unsigned depth);

/* Names may move when others go: whoever has removed some begins again. */
static int remove_entries(int dir, unsigned depth)
{
    char entries[2048] __attribute__((aligned(8)));
    long n;

    while ((n = syscall(SYS_getdents64, dir, entries, sizeof(entries))) > 0) {
        bool has_removed = false;

        for (long at = 0; at < n;) {
            const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
            const char *name = entry->d_name;

            at += entry->d_reclen;
            if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
                continue;
            if (remove_tree(dir, name, depth + 1) < 0)
                return -1;
            has_removed = true;
        }
        if (has_removed)
            (void)lseek(dir, 0, SEEK_SET);
    }
    return n < 0 ? -1 : 0;
}

static int remove_tree(int parent, const char *name, unsigned depth)
{
    int dir, r;

    if (unlinkat(parent, name, 0) == 0 || (errno == ENOENT && depth == 0))
        return 0;
    if (errno != EISDIR)
        return -1;
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
        return 0;
    if (depth == DEPTH_MAX) {
        errno = ELOOP;
        return -1;
    }
    (void)!fchmodat(parent, name, 0700, 0);
    dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    r = dir < 0 ? -1 : remove_entries(dir, depth);
    if (dir >= 0)
        (void)close(dir);
    return r < 0 ? -1 : unlinkat(parent, name, AT_REMOVEDIR);
}

/* Of overlays: makes room for something of another kind. */
static int make_room(struct work *w, int dir, const char *name)
{
    if (!w->is_of_overlays)
        return 0;
    if (remove_tree(dir, name, 0) < 0)
        return fail(w, "`%.200s` cannot be replaced: %s", w->name, strerror(errno));
    if (w->has_parent && w->parent != dir) { /* it may have been in there */
        (void)close(w->parent);
        w->has_parent = false;
    }
    return 0;
}

/* --- each kind --- */

static int set_time(struct work *w, int dir, const char *name, const struct record *record)
{
    struct timespec times[2] = {{record->seconds, record->nanoseconds},
                                {record->seconds, record->nanoseconds}};

    if (utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
        return fail(w, "`%.200s` cannot get its time: %s", w->name, strerror(errno));
    return 0;
}

static int get_contents(struct work *w, int file)
{
    for (;;) {
        struct extent extent;

        if (get(w, &extent, sizeof(extent)) < 0)
            return -1;
        if (extent.len == 0)
            return 0;
        if (extent.start > INT64_MAX || extent.len > INT64_MAX - extent.start)
            return fail(w, "the packed files are damaged");
        while (extent.len) {
            size_t part = extent.len < BUFFER ? (size_t)extent.len : BUFFER;

            if (get(w, w->buffer, part) < 0)
                return -1;
            if (pwrite(file, w->buffer, part, (off_t)extent.start) != (ssize_t)part)
                return fail(w, "`%.200s` cannot be unpacked: %s", w->name, strerror(errno));
            extent.start += part;
            extent.len -= part;
        }
    }
}

/* Of overlays: the file that is there gets another content, also where its directory is closed. */
static int open_present(const struct work *w, int dir, const char *name)
{
    struct stat st;

    if (!w->is_of_overlays || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        !S_ISREG(st.st_mode))
        return -1;
    if ((st.st_mode & 0600) != 0600)
        (void)!fchmodat(dir, name, 0600, 0);
    return openat(dir, name, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
}

static int open_file(struct work *w, int dir, const char *name)
{
    int file = open_present(w, dir, name);

    if (file < 0 && make_room(w, dir, name) == 0)
        file = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return file;
}

static int get_file(struct work *w, int dir, const char *name, const struct record *record)
{
    int file = open_file(w, dir, name);
    int r = 0;

    if (file < 0 || record->size > INT64_MAX || ftruncate(file, (off_t)record->size) < 0)
        r = fail(w, "`%.200s` cannot be unpacked: %s", w->name, strerror(errno));
    if (r == 0)
        r = get_contents(w, file);
    if (r == 0 && fchmod(file, record->mode & 01777) < 0)
        r = fail(w, "`%.200s` cannot get its mode: %s", w->name, strerror(errno));
    if (file >= 0)
        (void)close(file);
    return r < 0 ? -1 : set_time(w, dir, name, record);
}

static int get_symlink(struct work *w, int dir, const char *name, const struct record *record)
{
    char target[PATH_MAX];

    if (get_text(w, target, record->size) < 0)
        return -1;
    if (make_room(w, dir, name) < 0)
        return -1;
    if (symlinkat(target, dir, name) < 0)
        return fail(w, "`%.200s` cannot be unpacked: %s", w->name, strerror(errno));
    return set_time(w, dir, name, record);
}

static int get_link(struct work *w, int dir, const char *name, const struct record *record)
{
    char first[PATH_MAX], *slash;
    int r, from;

    if (get_text(w, first, record->size) < 0 || make_room(w, dir, name) < 0)
        return -1;
    slash = strrchr(first, '/');
    if (slash)
        *slash = '\0';
    from = slash ? walk(w->root, first) : fcntl(w->root, F_DUPFD_CLOEXEC, 3);
    if (from < 0 || strcmp(slash ? slash + 1 : first, "..") == 0)
        r = fail(w, "the packed files have a name that leads elsewhere");
    else
        r = linkat(from, slash ? slash + 1 : first, dir, name, 0);
    if (r < 0 && w->why[0] == '\0')
        (void)fail(w, "`%.200s` cannot be unpacked: %s", w->name, strerror(errno));
    if (from >= 0)
        (void)close(from);
    return r;
}

static int end_directory(struct work *w, const struct record *record)
{
    const char *last = ".";
    int parent = w->name[0] ? find_parent(w, w->name, &last) : w->root;
    int dir =
        parent < 0 ? -1 : openat(parent, last, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = 0;

    if (parent < 0)
        return -1;
    if (dir < 0 || fchmod(dir, record->mode & 01777) < 0)
        r = fail(w, "`%.200s` cannot get its mode: %s", w->name, strerror(errno));
    if (dir >= 0)
        (void)close(dir);
    return r < 0 ? -1 : set_time(w, parent, last, record);
}

/* Of overlays: a directory that is there may be closed until the end of what is in it. */
static void open_up(const struct work *w, int dir, const char *name)
{
    struct stat st;

    if (w->is_of_overlays && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(st.st_mode) && (st.st_mode & 0700) != 0700)
        (void)!fchmodat(dir, name, 0700, 0);
}

static int enter_tree(struct work *w, const struct record *record, const char *const *paths,
                      size_t n_paths)
{
    if (w->has_parent)
        (void)close(w->parent);
    w->has_parent = false;
    if (w->root >= 0)
        (void)close(w->root);
    w->root = -1;
    if (record->size >= n_paths)
        return fail(w, "the packed files are for another place");
    w->root = open(paths[record->size], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (w->root < 0)
        return fail(w, "`%.200s` cannot be opened", paths[record->size]);
    open_up(w, w->root, ".");
    return 0;
}

static bool is_directory(int dir, const char *name)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Directories that lead to a granted one exist before anything is unpacked, and most of those of an
 * overlay do. */
static int get_directory(struct work *w, int dir, const char *name)
{
    int r = mkdirat(dir, name, 0700);

    if (r < 0 && errno == EEXIST && !is_directory(dir, name)) {
        if (make_room(w, dir, name) < 0)
            return -1;
        r = mkdirat(dir, name, 0700);
    }
    if (r < 0 && (errno != EEXIST || !is_directory(dir, name)))
        return fail(w, "`%.200s` cannot be made: %s", w->name, strerror(errno));
    open_up(w, dir, name);
    return 0;
}

static int get_entry(struct work *w, const struct record *record)
{
    const char *last = w->name;
    int dir;

    if (w->root < 0)
        return fail(w, "the packed files are damaged");
    if (record->kind == RECORD_DIR_END)
        return end_directory(w, record);
    dir = find_parent(w, w->name, &last);
    if (dir < 0)
        return -1;
    switch (record->kind) {
    case RECORD_DIR:
        return get_directory(w, dir, last);
    case RECORD_GONE:
        return w->is_of_overlays ? make_room(w, dir, last)
                                 : fail(w, "the packed files are damaged");
    case RECORD_FILE:
        return get_file(w, dir, last, record);
    case RECORD_SYMLINK:
        return get_symlink(w, dir, last, record);
    default:
        return get_link(w, dir, last, record);
    }
}

static int get_all(struct work *w, const char *const *paths, size_t n_paths)
{
    char magic[8];

    if (get(w, magic, sizeof(magic)) < 0)
        return -1;
    if (memcmp(magic, MAGIC, sizeof(magic)) != 0)
        return fail(w, "no packed files were given");
    for (;;) {
        struct record record;
        int r;

        if (get(w, &record, sizeof(record)) < 0 || get_text(w, w->name, record.name_len) < 0)
            return -1;
        if (record.kind == RECORD_END)
            return 0;
        if (record.kind >= RECORD_KINDS || record.nanoseconds > 999999999)
            return fail(w, "the packed files are damaged");
        r = record.kind == RECORD_TREE ? enter_tree(w, &record, paths, n_paths)
                                       : get_entry(w, &record);
        if (r < 0)
            return -1;
    }
}

static int unpack(struct work *w, const char *const *paths, size_t n_paths)
{
    int r;

    w->why[0] = '\0';
    w->root = w->parent = -1;
    if (map_work(w, false) < 0)
        return -1;
    r = get_all(w, paths, n_paths);
    if (w->has_parent)
        (void)close(w->parent);
    if (w->root >= 0)
        (void)close(w->root);
    unmap_work(w, false);
    return r;
}

int archive_read(int fd, const char *const *paths, size_t n_paths, char *why, size_t why_size)
{
    struct work w = {.why = why, .why_size = why_size, .fd = fd};

    return unpack(&w, paths, n_paths);
}

int archive_read_overlays(int fd, const char *const *paths, size_t n_paths, char *why,
                          size_t why_size)
{
    struct work w = {.why = why, .why_size = why_size, .fd = fd, .is_of_overlays = true};

    return unpack(&w, paths, n_paths);
}
