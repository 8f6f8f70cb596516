#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "library/code/scan.h"

/* Deeper trees are somebody's joke; each level holds a descriptor. */
#define DEPTH_MAX 128

struct walk {
    struct scan_list *list;
    const char *pattern;
    const char *suffix; /* of a pattern that is *SUFFIX, or NULL */
    size_t suffix_len;
    char *path; /* of the directory, with its slash */
    size_t len, size;
};

static int reserve(struct walk *w, size_t more)
{
    size_t size = w->size;
    char *grown;

    if (w->len + more <= w->size)
        return 0;
    while (size < w->len + more)
        size *= 2;
    grown = realloc(w->path, size);
    if (!grown)
        return -1;
    w->path = grown;
    w->size = size;
    return 0;
}

static bool is_ours(const char *name)
{
    return strncmp(name, ".belljar-", strlen(".belljar-")) == 0 || strstr(name, ".backup_");
}

static bool matches(const struct walk *w, const char *name)
{
    size_t len = strlen(name);

    if (is_ours(name))
        return false;
    if (w->suffix)
        return name[0] != '.' && len >= w->suffix_len &&
               memcmp(name + len - w->suffix_len, w->suffix, w->suffix_len) == 0;
    return fnmatch(w->pattern, name, FNM_PERIOD) == 0;
}

static int add(struct walk *w, const char *name)
{
    struct scan_list *list = w->list;
    size_t len = strlen(name);
    char *path;

    if (list->count == list->size) {
        size_t size = list->size ? 2 * list->size : 256;
        char **grown = reallocarray(list->paths, size, sizeof(*grown));

        if (!grown)
            return -1;
        list->paths = grown;
        list->size = size;
    }
    path = malloc(w->len + len + 1);
    if (!path)
        return -1;
    memcpy(path, w->path, w->len);
    memcpy(path + w->len, name, len + 1);
    list->paths[list->count++] = path;
    return 0;
}

static unsigned char type_of(int fd, const struct dirent *entry)
{
    struct stat st;

    if (entry->d_type == DT_REG || entry->d_type == DT_DIR)
        return entry->d_type;
    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
        return DT_UNKNOWN;
    if (entry->d_type == DT_UNKNOWN && fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(st.st_mode))
        return DT_DIR;
    return fstatat(fd, entry->d_name, &st, 0) == 0 && S_ISREG(st.st_mode) ? DT_REG : DT_UNKNOWN;
}

static int walk_dir(struct walk *w, int fd, unsigned depth);

static int enter(struct walk *w, int fd, const char *name, unsigned depth)
{
    size_t len = strlen(name), before = w->len;
    int inner, r;

    if (name[0] == '.' || depth == DEPTH_MAX)
        return 0;
    inner = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0)
        return 0;
    if (reserve(w, len + 1) < 0) {
        close(inner);
        return -1;
    }
    memcpy(w->path + w->len, name, len);
    w->path[w->len + len] = '/';
    w->len += len + 1;
    r = walk_dir(w, inner, depth + 1);
    w->len = before;
    return r;
}

/* Takes the descriptor. */
static int walk_dir(struct walk *w, int fd, unsigned depth)
{
    DIR *dir = fdopendir(fd);
    const struct dirent *entry;
    int r = 0;

    if (!dir) {
        close(fd);
        return -1;
    }
    while (r == 0 && (entry = readdir(dir))) {
        unsigned char type;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            (entry->d_type == DT_REG && !matches(w, entry->d_name)))
            continue;
        type = type_of(dirfd(dir), entry);
        if (type == DT_DIR)
            r = enter(w, dirfd(dir), entry->d_name, depth);
        else if (type == DT_REG && matches(w, entry->d_name))
            r = add(w, entry->d_name);
    }
    closedir(dir);
    return r;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int scan_walk(struct scan_list *list, const char *root, const char *prefix, const char *pattern)
{
    struct walk w = {.list = list, .pattern = pattern, .len = strlen(prefix)};
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r;

    if (fd < 0)
        return -1;
    if (pattern[0] == '*' && !strpbrk(pattern + 1, "*?[\\")) {
        w.suffix = pattern + 1;
        w.suffix_len = strlen(w.suffix);
    }
    w.size = w.len + 256;
    w.path = malloc(w.size);
    if (!w.path) {
        close(fd);
        return -1;
    }
    memcpy(w.path, prefix, w.len);
    r = walk_dir(&w, fd, 0);
    free(w.path);
    if (r == 0 && list->count)
        qsort(list->paths, list->count, sizeof(*list->paths), by_path);
    if (r < 0)
        errno = ENOMEM;
    return r;
}

void scan_list_done(struct scan_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->paths[i]);
    free(list->paths);
    *list = (struct scan_list){0};
}
