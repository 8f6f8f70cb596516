/* Trees: listing, comparing, collecting.
 *
 * The list is its own queue: each directory in it is opened by its path, from the top, and its
 * entries go to the end. So one descriptor is open at a time, however deep a tree is, and a
 * directory that is swapped for a link meanwhile is simply not entered.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fiber.h"
#include "base/glob.h"
#include "base/limits.h"
#include "sandbox/files_internal.h"

/* The format of getdents64(2). */
struct dirent64_head {
    uint64_t inode;
    int64_t offset;
    uint16_t len;
    uint8_t type;
    char name[];
};

const char *files_next_name(struct files_names *names)
{
    for (;;) {
        const struct dirent64_head *entry;

        if (names->at >= names->len) {
            long n = syscall(SYS_getdents64, names->fd, names->data, names->size);

            if (n <= 0)
                return NULL;
            names->len = (size_t)n;
            names->at = 0;
        }
        entry = (const struct dirent64_head *)(names->data + names->at);
        names->at += entry->len;
        if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0)
            return entry->name;
    }
}

/* --- the walk --- */

void files_list_done(struct files_list *list)
{
    free(list->entries);
    buf_done(&list->paths);
    *list = (struct files_list){0};
}

struct walk {
    const struct files *files;
    struct files_guard guard;
    unsigned depth; /* how far down */
    size_t seen;
    struct files_list list;
};

static int grow(struct files_list *list, struct error *err)
{
    struct files_entry *grown = array_grow(list->entries, list->count, &list->size, sizeof(*grown));

    if (!grown)
        return error_memory(err);
    list->entries = grown;
    return 0;
}

/* Adds `dir`/`name`; where that does not fit, the list is partial. `dir_at` is where the path of
 * the directory stands, which moves when the buffer grows. */
static int add(struct walk *walk, size_t dir_at, size_t dir_len, unsigned depth, const char *name,
               const struct stat *st, struct error *err)
{
    struct files_list *list = &walk->list;
    size_t len = dir_len + (dir_len > 0) + strlen(name);
    struct files_entry *entry;
    char *path;

    if (len >= PATH_MAX || len + 1 > list->paths.limit - list->paths.len) {
        list->is_partial = true;
        return 0;
    }
    if (grow(list, err) < 0 || buf_reserve(&list->paths, len + 1, err) < 0)
        return -1;
    entry = &list->entries[list->count++];
    *entry = (struct files_entry){.path_at = list->paths.len, .depth = depth};
    files_fill(entry, st);
    path = list->paths.data + list->paths.len;
    memcpy(path, list->paths.data + dir_at, dir_len);
    if (dir_len)
        path[dir_len] = '/';
    memcpy(path + len - strlen(name), name, strlen(name) + 1);
    list->paths.len += len + 1;
    return 0;
}

/* Looked at between two looks at the clock. */
#define PAUSE_NAMES 32

/* Returns -1 only when memory is out, or when nobody waits for the list any more. */
static int read_directory(struct walk *walk, int fd, size_t path_at, unsigned depth,
                          struct error *err)
{
    _Alignas(struct dirent64_head) char data[32768];
    struct files_names names = {.fd = fd, .data = data, .size = sizeof(data)};
    size_t len = strlen(walk->list.paths.data + path_at);
    const char *name;
    struct stat st;

    while ((name = files_next_name(&names))) {
        /* Names, not files: a program that renames while we read can show one file for ever. */
        if (++walk->seen > LIMIT_FILES_WALK) {
            walk->list.is_partial = true;
            return 0;
        }
        if (walk->seen % PAUSE_NAMES == 0 && files_pause(&walk->guard, walk->files, err) < 0)
            return -1;
        if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0) {
            walk->list.is_partial |= errno != ENOENT; /* else it is gone already */
            continue;
        }
        if (add(walk, path_at, len, depth, name, &st, err) < 0)
            return -1;
    }
    return 0;
}

static int descend(struct walk *walk, size_t index, struct error *err)
{
    const struct files_entry *entry = &walk->list.entries[index];
    size_t path_at = entry->path_at;
    unsigned depth = entry->depth;
    cleanup_close int fd = -1;

    if (entry->kind != FILES_DIRECTORY || depth >= walk->depth)
        return 0;
    if (depth >= LIMIT_FILES_DEPTH) {
        walk->list.is_partial = true;
        return 0;
    }
    fd = files_open_path(walk->files, walk->list.paths.data + path_at, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0) {
        /* Gone, or no directory any more: then there is nothing to see. Closed to us: there is. */
        if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
            walk->list.is_partial = true;
        return 0;
    }
    return read_directory(walk, fd, path_at, depth + 1, err);
}

static int64_t clock_of_files(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int walk_from(struct walk *walk, int top, const char *path, struct error *err)
{
    struct buf *paths = &walk->list.paths;

    buf_init(paths, LIMIT_FILES_PATHS);
    walk->list.taken_ns = clock_of_files();
    /* The top stands first among the paths and is no entry. */
    if (buf_add(paths, path, strlen(path) + 1, err) < 0 || read_directory(walk, top, 0, 1, err) < 0)
        return -1;
    for (size_t i = 0; i < walk->list.count && walk->seen <= LIMIT_FILES_WALK; i++)
        if (descend(walk, i, err) < 0)
            return -1;
    return 0;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct files_entry *)a)->path, ((const struct files_entry *)b)->path);
}

/* Compares paths; long sorting pauses here. `arg` counts the comparisons. */
static int compare_slowly(const void *a, const void *b, void *arg)
{
    unsigned *count = arg;

    if (++*count % 512 == 0)
        fiber_pause();
    return compare_paths(a, b);
}

/* By path, and one entry for each: a file that was renamed while its directory was read may have
 * been seen twice. */
static void sort(struct files_list *list)
{
    unsigned comparisons = 0;
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++)
        list->entries[i].path = list->paths.data + list->entries[i].path_at;
    if (list->count == 0)
        return;
    qsort_r(list->entries, list->count, sizeof(*list->entries), compare_slowly, &comparisons);
    for (size_t i = 1; i < list->count; i++)
        if (compare_paths(&list->entries[kept], &list->entries[i]) != 0)
            list->entries[++kept] = list->entries[i];
    list->count = kept + 1;
}

static void cut_page(struct files_list *list, const struct files_page *page)
{
    size_t first = 0, kept = 0, bytes = 0;

    while (page->after && first < list->count &&
           strcmp(list->entries[first].path, page->after) <= 0)
        first++;
    list->count -= first;
    if (first)
        memmove(list->entries, list->entries + first, list->count * sizeof(*list->entries));
    if (!page->limit)
        return;
    while (kept < list->count && kept < page->limit) {
        bytes += strlen(list->entries[kept].path);
        if (kept && bytes > LIMIT_FILES_PAGE)
            break;
        kept++;
    }
    list->has_more = kept < list->count;
    list->count = kept;
}

int files_list(const struct files *files, const char *path, const struct files_page *page,
               struct files_list *ret_list, struct error *err)
{
    struct walk walk = {.files = files, .depth = page->depth ? page->depth : UINT_MAX};
    cleanup_close int top = -1;
    int r;

    if (files_enter(&walk.guard, files, err) < 0)
        return -1;
    top = files_open_path(files, path, O_RDONLY | O_DIRECTORY, 0);
    r = top < 0 ? files_fail(err, "list", path) : walk_from(&walk, top, path, err);
    files_leave(&walk.guard);
    if (r < 0) {
        files_list_done(&walk.list);
        return -1;
    }
    sort(&walk.list);
    cut_page(&walk.list, page);
    *ret_list = walk.list;
    return 0;
}

/* --- before and after --- */

/* A tmpfs counts a directory's entries in its size, `.` and `..` among them. Most programs write no
 * file, and this is one call instead of a dozen. */
#define TMPFS_ENTRY_SIZE ((off_t)20)

static bool is_empty(const struct files *files)
{
    struct stat st;

    return fstat(files->fd, &st) == 0 && st.st_size == 2 * TMPFS_ENTRY_SIZE && st.st_nlink == 2;
}

int files_snapshot(const struct files *files, struct files_list *ret_list, struct error *err)
{
    if (is_empty(files)) {
        *ret_list = (struct files_list){.taken_ns = clock_of_files()};
        return 0;
    }
    return files_list(files, "", &(struct files_page){0}, ret_list, err);
}

static bool is_same(const struct files_entry *a, const struct files_entry *b)
{
    return a->inode == b->inode && a->size == b->size && a->mtime_ns == b->mtime_ns;
}

/* The next regular file at or behind *at, or NULL. */
static const struct files_entry *next_file(const struct files_list *list, size_t *at)
{
    while (list && *at < list->count && list->entries[*at].kind != FILES_REGULAR)
        (*at)++;
    return list && *at < list->count ? &list->entries[*at] : NULL;
}

void files_diff(const struct files_list *before, const struct files_list *after,
                void (*on_change)(void *arg, enum files_change change,
                                  const struct files_entry *entry),
                void *arg)
{
    size_t i = 0, k = 0;

    for (;;) {
        const struct files_entry *old = next_file(before, &i), *new = next_file(after, &k);
        int order = !old ? 1 : !new ? -1 : compare_paths(old, new);

        if (!old && !new)
            return;
        if (order == 0 && !is_same(old, new))
            on_change(arg, FILES_CHANGED, new);
        if (order < 0 && !after->is_partial)
            on_change(arg, FILES_GONE, old);
        /* The time of the last change to an inode is the one thing the program cannot set. */
        if (order > 0 && (!before || !before->is_partial || new->ctime_ns >= before->taken_ns))
            on_change(arg, FILES_NEW, new);
        i += order <= 0;
        k += order >= 0;
    }
}

/* --- collecting --- */

/* Steps of matching for one request: some ten milliseconds. Twenty thousand names of ordinary
 * length and as many patterns as there may be need a third of it. */
#define MATCH_BUDGET ((uint64_t)4 << 20)

static bool matches_any(const char *const *patterns, size_t n_patterns, const char *path,
                        uint64_t *budget)
{
    for (size_t i = 0; i < n_patterns; i++)
        if (glob_match(patterns[i], path, budget))
            return true;
    return false;
}

static int check_patterns(const char *const *patterns, size_t n_patterns, struct error *err)
{
    if (n_patterns > LIMIT_FILES_PATTERNS)
        return error_set(err, E_INVALID, "more than %d patterns", LIMIT_FILES_PATTERNS);
    for (size_t i = 0; i < n_patterns; i++)
        if (strlen(patterns[i]) > NAME_MAX)
            return error_set(err, E_INVALID, "a pattern is longer than 255 bytes");
    return 0;
}

int files_collect(const struct files *files, const struct files_list *list,
                  const char *const *patterns, size_t n_patterns,
                  int (*on_file)(void *arg, const struct files_entry *entry, int fd,
                                 struct error *err),
                  void *arg, bool *ret_partial, struct error *err)
{
    uint64_t budget = MATCH_BUDGET;
    bool is_partial;

    if (check_patterns(patterns, n_patterns, err) < 0)
        return -1;
    is_partial = list->is_partial;
    for (size_t i = 0; i < list->count && budget; i++) {
        struct files_entry entry;
        int fd, r;

        if (list->entries[i].kind != FILES_REGULAR ||
            !matches_any(patterns, n_patterns, list->entries[i].path, &budget))
            continue;
        if (files_open(files, list->entries[i].path, &fd, &entry, NULL) < 0) {
            is_partial = true;
            continue;
        }
        r = on_file(arg, &entry, fd, err);
        if (r < 0)
            return r;
    }
    *ret_partial = is_partial || !budget;
    return 0;
}
