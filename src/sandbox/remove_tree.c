#include "sandbox/remove_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* A program may have made a directory that not even its owner can enter. */
static DIR *open_dir(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    DIR *dir;

    if (fd < 0 && errno == EACCES && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(st.st_mode) && fchmodat(parent, name, 0700, 0) == 0)
        fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    (void)fchmod(fd, 0700);
    dir = fdopendir(fd);
    if (!dir)
        (void)close(fd);
    return dir;
}

/* A directory in a directory becomes one next to it, so that depth costs neither stack nor
 * descriptors. */
static int move_up(int from, const char *name, int top, unsigned long *counter)
{
    char other[32];

    if (fchmodat(from, name, 0700, 0) < 0) /* its `..` changes, which needs the right to write */
        return -1;
    do
        (void)snprintf(other, sizeof(other), "removed-%lu", (*counter)++);
    while (renameat(from, name, top, other) < 0 &&
           (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR));
    return faccessat(from, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT ? 0 : -1;
}

/* Empties one directory of `top` and removes it. */
static int remove_level(int top, const char *name, unsigned long *counter)
{
    cleanup_closedir DIR *dir = open_dir(top, name);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        if (is_dots(entry->d_name) || unlinkat(dirfd(dir), entry->d_name, 0) == 0)
            continue;
        if (unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR) < 0 &&
            move_up(dirfd(dir), entry->d_name, top, counter) < 0)
            return -1;
    }
    /* Removing may hide names from readdir(): whoever asks comes again. */
    return unlinkat(top, name, AT_REMOVEDIR) < 0 && errno != ENOTEMPTY ? -1 : 0;
}

/* True: there was something. */
static bool remove_levels(DIR *top, unsigned long *counter, bool *ret_failed)
{
    struct dirent *entry;
    bool found = false;

    rewinddir(top);
    while (!*ret_failed && (entry = readdir(top))) {
        if (is_dots(entry->d_name))
            continue;
        found = true;
        if (unlinkat(dirfd(top), entry->d_name, 0) < 0 &&
            remove_level(dirfd(top), entry->d_name, counter) < 0)
            *ret_failed = true;
    }
    return found;
}

int remove_tree(int parent, const char *name)
{
    cleanup_closedir DIR *top = NULL;
    unsigned long counter = 0;
    bool has_failed = false;

    if (unlinkat(parent, name, 0) == 0 || unlinkat(parent, name, AT_REMOVEDIR) == 0 ||
        errno == ENOENT)
        return 0;
    top = open_dir(parent, name);
    if (!top)
        return -1;
    while (remove_levels(top, &counter, &has_failed))
        if (has_failed)
            return -1;
    return unlinkat(parent, name, AT_REMOVEDIR);
}
