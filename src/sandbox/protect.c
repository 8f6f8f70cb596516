#include "sandbox/protect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "sandbox/mount.h"
#include "sandbox/protected.h"
#include "sandbox/repository.h"

#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* How far repositories are looked for below a grant, and in how many directories: the walk is on
 * the way to every sandbox that has the grant. */
#define DEPTH_MAX       6
#define DIRECTORIES_MAX 16384

static int open_beneath(int dir, const char *path)
{
    struct open_how how = {
        .flags = O_PATH | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };

    return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

/* Binds what `path` is right now over itself, by descriptor: whoever swaps it meanwhile swaps
 * nothing that counts. A directory that is a mount of its own can be neither renamed nor removed. A
 * link is followed within the grant, so that its target is bound; one that leads out of it leads to
 * nothing inside. */
static int bind_over(int dir, const char *path, uint64_t attrs, struct error *err)
{
    cleanup_close int fd = open_beneath(dir, path);
    cleanup_close int copy = -1;

    if (fd < 0)
        return 0;
    if (mount_clone(fd, "", attrs, true, &copy, err) < 0)
        return -1;
    if (syscall(SYS_move_mount, copy, "", fd, "",
                MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
        return error_errno(err, "protect %s", path);
    return 0;
}

static bool is_mount_point(int dir, const char *path)
{
    struct statx stx;

    return statx(dir, path, AT_SYMLINK_NOFOLLOW, 0, &stx) == 0 &&
           (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* Every directory on the way: moving `.git` away and making a new one would get around a read-only
 * `.git/hooks`. */
static int pin_parents(int dir, const char *path, struct error *err)
{
    char part[PATH_MAX];

    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        (void)snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
        if (!is_mount_point(dir, part) && bind_over(dir, part, 0, err) < 0)
            return -1;
    }
    return 0;
}

/* Of a worktree or a submodule: a file that says where the repository is. */
static int protect_git_file(int dir, const char *below, struct error *err)
{
    char path[PATH_MAX];
    struct stat st;

    (void)snprintf(path, sizeof(path), "%s.git", below);
    if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
        return 0;
    return bind_over(dir, path, READ_ONLY, err);
}

/* Those that begin with `prefix`, of which `skip` bytes are left out. */
static int protect_paths(int dir, const char *below, const char *prefix, size_t skip,
                         struct error *err)
{
    size_t count;
    const struct protected_name *rows = protected_names(&count);

    for (size_t i = 0; i < count; i++) {
        const char *pattern = rows[i].pattern, *name = pattern + skip;
        char path[PATH_MAX];

        /* Git writes in `.git` itself, and only names as they stand can be bound. */
        if (strncmp(pattern, prefix, strlen(prefix)) != 0 || strcmp(pattern, ".git") == 0 ||
            pattern[0] == '/' || strchr(pattern, '*'))
            continue;
        if ((size_t)snprintf(path, sizeof(path), "%s%s", below, name) >= sizeof(path))
            return error_set(err, E_INVALID, "path too long");
        if (pin_parents(dir, path, err) < 0 || bind_over(dir, path, READ_ONLY, err) < 0)
            return -1;
    }
    return skip ? 0 : protect_git_file(dir, below, err);
}

/* A checkout, or a bare repository: git takes any directory with these three for one, whatever its
 * name, and its configuration names programs to run. `name` is of something in `below`. */
static int protect_repository(int dir, const char *below, int fd, const char *name,
                              struct error *err)
{
    if (strcmp(name, ".git") == 0)
        return protect_paths(dir, below, ".git/", 0, err);
    if (strcmp(name, "HEAD") == 0 && repository_is_bare(fd))
        return protect_paths(dir, below, ".git/", strlen(".git/"), err);
    return 0;
}

/* Looks for repositories in `below` (a path from the grant that ends with a slash) and further
 * down. Only real directories are entered: a link leads elsewhere, and elsewhere was not granted.
 */
static int protect_repositories(int dir, const char *below, int depth, unsigned *left,
                                struct error *err)
{
    cleanup_close int fd = open_beneath(dir, below);
    cleanup_closedir DIR *entries = fd < 0 ? NULL : file_open_dir(fd, ".");
    struct dirent *entry;

    while (entries && *left > 0 && (entry = readdir(entries))) {
        char path[PATH_MAX];

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (protect_repository(dir, below, fd, entry->d_name, err) < 0)
            return -1;
        if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".git") == 0)
            continue;
        (*left)--;
        if (depth < DEPTH_MAX &&
            (size_t)snprintf(path, sizeof(path), "%s%s/", below, entry->d_name) < sizeof(path) &&
            protect_repositories(dir, path, depth + 1, left, err) < 0)
            return -1;
    }
    return 0;
}

int protect_grant(const char *grant, struct error *err)
{
    cleanup_close int dir = open(grant, O_PATH | O_DIRECTORY | O_CLOEXEC);
    unsigned left = DIRECTORIES_MAX;

    if (dir < 0)
        return error_errno(err, "open the grant");
    if (protect_paths(dir, "", "", 0, err) < 0)
        return -1;
    return protect_repositories(dir, "./", 0, &left, err);
}
