#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/internal.h"

/* As many as Linux follows. */
#define LINKS_FOLLOWED_MAX 40

/* If a path contains "..", Linux gives up (EAGAIN) when something is mounted or renamed meanwhile,
 * anywhere on the machine. */
#define ATTEMPTS_MAX 1000

static int open_resolved(int dir, const char *path, int flags, uint64_t resolve)
{
    struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC), .resolve = resolve};
    int fd = -1;

    for (int i = 0; i < ATTEMPTS_MAX; i++) {
        fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    return fd;
}

static int open_directory(int dir, const char *path, uint64_t resolve)
{
    return open_resolved(dir, path, O_PATH | O_DIRECTORY, resolve);
}

/* The rest of the path after a directory's path, or NULL: the path is not in it. */
static const char *below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    if (strncmp(path, dir, len) != 0 || (path[len] != '/' && path[len] != '\0'))
        return NULL;
    return path[len] == '/' ? path + len + 1 : path + len;
}

/* The grant that a path is in: of several that fit, the innermost. *ret_below is the rest of the
 * path. A grant may have two paths in the sandbox, where a directory of the sandbox's own root is a
 * link (/var/tmp). */
static struct granted_dir *find_grant(struct broker *b, const char *path, const char **ret_below)
{
    struct granted_dir *found = NULL;

    for (uint32_t i = 0; i < b->n_grants; i++) {
        struct granted_dir *g = &b->grants[i];
        const char *rest = below(path, g->path);

        if (!rest && g->inside)
            rest = below(path, g->inside);
        if (rest && (!found || rest > *ret_below)) {
            found = g;
            *ret_below = rest;
        }
    }
    return found;
}

/* Whether a path is the way it will be when it is resolved, links apart. */
static bool is_plain(const char *path)
{
    for (const char *at = path; *at;) {
        size_t len = strcspn(at, "/");

        if (len == 0 || (len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
            return false;
        at += len;
        if (*at == '/')
            at++;
    }
    return true;
}

static int parent_of(struct broker *b, struct granted_dir *grant, const char *rest,
                     struct place *place)
{
    place->grant = grant;
    place->index = (unsigned)(grant - b->grants);
    place->owns_parent = *rest != '\0';
    place->parent = grant->mount;
    if (*rest)
        place->parent = open_directory(grant->mount, rest,
                                       RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV |
                                           RESOLVE_NO_MAGICLINKS);
    if (place->parent < 0) {
        place->owns_parent = false;
        return -errno;
    }
    if ((size_t)snprintf(place->path, sizeof(place->path), "%s%s%s", rest, *rest ? "/" : "",
                         place->name) >= sizeof(place->path)) {
        place_done(place);
        return -ENAMETOOLONG;
    }
    place->name = place->path + strlen(rest) + (*rest ? 1 : 0);
    return 0;
}

/* Without a look at the sandbox: a path that begins with the grant's, has no link in it, and below
 * which nothing else can be mounted, means the same here as there. */
static bool resolve_directly(struct broker *b, const char *directory, struct place *place)
{
    const char *rest = NULL;
    struct granted_dir *grant = find_grant(b, directory, &rest);

    if (!grant || grant->mount < 0 || b->has_nested)
        return false;
    return is_plain(rest) && parent_of(b, grant, rest, place) == 0;
}

int resolve_inside(const struct broker *b, const char *path, char ret_path[PATH_MAX])
{
    cleanup_close int fd =
        open_directory(b->root, *path ? path : "/", RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
    char link[64];
    ssize_t n;

    if (fd < 0)
        return -1;
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, ret_path, PATH_MAX - 1);
    if (n <= 0)
        return -1;
    ret_path[n] = '\0';
    return take_fd(fd);
}

uint64_t resolve_mount_id(int fd)
{
    struct statx stx;

    if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) < 0 || !(stx.stx_mask & STATX_MNT_ID))
        return 0;
    return stx.stx_mnt_id;
}

void resolve_grants(struct broker *b)
{
    bool is_complete = true;

    for (uint32_t i = 0; i < b->n_grants; i++) {
        char path[PATH_MAX];
        cleanup_close int fd = -1;

        if (b->grants[i].mount_id)
            continue;
        fd = resolve_inside(b, b->grants[i].path, path);
        is_complete &= fd >= 0;
        if (fd < 0)
            continue;
        free(b->grants[i].inside);
        b->grants[i].inside = strdup(path);
        b->grants[i].mount_id = resolve_mount_id(fd);
    }
    b->looks_left = is_complete ? 0 : b->looks_left - 1;
}

/* Linux resolves the directory as it does for the sandbox; where that leads is opened on our
 * own mount, and must be the same. */
static long resolve_there(struct broker *b, const char *directory, struct place *place)
{
    char path[PATH_MAX];
    cleanup_close int fd = resolve_inside(b, directory, path);
    struct granted_dir *grant;
    struct stat there, here;
    const char *rest = NULL;

    if (fd < 0)
        return ANSWER_CONTINUE;
    grant = find_grant(b, path, &rest);
    if (!grant || grant->mount < 0 || parent_of(b, grant, rest, place) < 0)
        return ANSWER_CONTINUE;
    if (resolve_mount_id(fd) != grant->mount_id || fstat(fd, &there) < 0 ||
        fstat(place->parent, &here) < 0 || there.st_dev != here.st_dev ||
        there.st_ino != here.st_ino) {
        place_done(place);
        return ANSWER_CONTINUE;
    }
    return 0;
}

/* `path` is absolute; it is cut into directory and name. */
static long resolve_parent(struct broker *b, char *path, struct place *place)
{
    size_t len = strlen(path);
    char *slash;
    long r;

    while (len > 1 && path[len - 1] == '/') {
        path[--len] = '\0';
        place->has_slash = true;
    }
    slash = strrchr(path, '/');
    if (!slash || slash[1] == '\0' || strcmp(slash, "/.") == 0 || strcmp(slash, "/..") == 0)
        return ANSWER_CONTINUE;
    if (strlen(slash + 1) > NAME_MAX)
        return -ENAMETOOLONG;
    place->name = slash + 1;
    *slash = '\0';
    r = resolve_directly(b, path, place) ? 0 : resolve_there(b, path, place);
    return r;
}

/* A call with two paths asks for the working directory twice; it is read once. */
static const char *find_base(struct broker *b, pid_t pid, int dirfd)
{
    if (dirfd == AT_FDCWD && b->base_call == b->call)
        return b->base;
    b->base_call = 0;
    if (target_directory(pid, dirfd, b->base) < 0)
        return NULL;
    if (dirfd == AT_FDCWD)
        b->base_call = b->call;
    return b->base;
}

/* The directory where a relative path begins. */
static long make_absolute(struct broker *b, pid_t pid, int dirfd, const char *path,
                          char ret_path[PATH_MAX])
{
    const char *base = "";

    if (*path == '\0')
        return ANSWER_CONTINUE;
    if (*path != '/')
        base = find_base(b, pid, dirfd);
    if (!base)
        return ANSWER_CONTINUE;
    if ((size_t)snprintf(ret_path, PATH_MAX, "%s%s%s", base, *path == '/' ? "" : "/", path) >=
        PATH_MAX)
        return ANSWER_CONTINUE;
    return 0;
}

void place_look(struct place *place)
{
    place->exists = fstatat(place->parent, place->name, &place->st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The path that a link in the last part stands for. */
static long follow_link(const struct place *place, char path[PATH_MAX])
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(place->parent, place->name, target, sizeof(target) - 1);
    int below = (int)(place->name - place->path);

    if (n < 0)
        return -errno;
    target[n] = '\0';
    if (target[0] == '/')
        memcpy(path, target, (size_t)n + 1);
    else if ((size_t)snprintf(path, PATH_MAX, "%s/%.*s%s", place->grant->path, below, place->path,
                              target) >= PATH_MAX)
        return -ENAMETOOLONG;
    return 0;
}

/* `path` is absolute, and used up. */
static long resolve_path(struct broker *b, char path[PATH_MAX], bool follows,
                         struct place *ret_place)
{
    long r = 0;

    for (int i = 0; r == 0; i++) {
        if (i == LINKS_FOLLOWED_MAX)
            return -ELOOP;
        ret_place->has_slash = false;
        r = resolve_parent(b, path, ret_place);
        if (r != 0)
            return r;
        place_look(ret_place);
        if (!ret_place->exists || !S_ISLNK(ret_place->st.st_mode) ||
            (!follows && !ret_place->has_slash))
            return 0;
        r = follow_link(ret_place, path);
        place_done(ret_place);
    }
    return r;
}

static long read_path(pid_t pid, uint64_t address, char path[PATH_MAX])
{
    int r = target_path(pid, address, path);

    return r == 0 || r == -ENAMETOOLONG ? r : -EFAULT;
}

long resolve_place(struct broker *b, pid_t pid, int dirfd, uint64_t address, bool follows,
                   struct place *ret_place)
{
    char asked[PATH_MAX], path[PATH_MAX];
    long r = read_path(pid, address, asked);

    if (r < 0)
        return r;
    r = make_absolute(b, pid, dirfd, asked, path);
    if (!target_waits(b))
        return -EINTR;
    return r == 0 ? resolve_path(b, path, follows, ret_place) : r;
}

long resolve_known(struct broker *b, unsigned grant, const char *path, struct place *ret_place)
{
    char copy[PATH_MAX];
    char *slash;
    long r;

    if ((size_t)snprintf(copy, sizeof(copy), "%s", path) >= sizeof(copy))
        return -ENAMETOOLONG;
    slash = strrchr(copy, '/');
    ret_place->name = slash ? slash + 1 : copy;
    if (slash)
        *slash = '\0';
    r = parent_of(b, &b->grants[grant], slash ? copy : "", ret_place);
    if (r == 0)
        place_look(ret_place);
    return r;
}

/* --- what is there --- */

static struct granted_dir *grant_of_mount(struct broker *b, uint64_t mount_id)
{
    for (uint32_t i = 0; mount_id && i < b->n_grants; i++)
        if (b->grants[i].mount >= 0 && b->grants[i].mount_id == mount_id)
            return &b->grants[i];
    return NULL;
}

/* The place of an open file or directory of the sandbox. Whoever is on another mount than that of a
 * grant is left to Linux: also files that we opened ourselves, which may be changed. */
static long place_of_descriptor(struct broker *b, int fd, struct place *place)
{
    struct granted_dir *grant = grant_of_mount(b, resolve_mount_id(fd));
    char link[64], path[PATH_MAX];
    const char *rest = NULL;
    struct stat st;
    char *slash;
    ssize_t n;

    if (!grant || fstat(fd, &st) < 0 || st.st_nlink == 0)
        return ANSWER_CONTINUE;
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path) - 1);
    if (n <= 0 || n == sizeof(path) - 1)
        return ANSWER_CONTINUE;
    path[n] = '\0';
    if (find_grant(b, path, &rest) != grant)
        return ANSWER_CONTINUE;
    if (*rest == '\0') {
        *place = (struct place){.grant = grant,
                                .index = (unsigned)(grant - b->grants),
                                .parent = grant->mount,
                                .name = "."};
    } else {
        slash = strrchr(path, '/');
        place->name = slash + 1;
        *slash = '\0';
        if (parent_of(b, grant, slash < rest ? "" : rest, place) < 0)
            return ANSWER_CONTINUE;
    }
    place_look(place);
    /* It may have been moved since its path was read. */
    if (!place->exists || place->st.st_dev != st.st_dev || place->st.st_ino != st.st_ino) {
        place_done(place);
        return ANSWER_CONTINUE;
    }
    return 0;
}

/* `is_path`: also of one that was opened with O_PATH. */
static long resolve_descriptor(struct broker *b, pid_t pid, int number, bool is_path,
                               struct place *place)
{
    cleanup_close int fd = target_descriptor(pid, number);
    int flags;

    if (!target_waits(b))
        return -EINTR;
    if (fd < 0)
        return ANSWER_CONTINUE;
    flags = fcntl(fd, F_GETFL);
    if (flags < 0 || (!is_path && (flags & O_PATH)))
        return ANSWER_CONTINUE;
    return place_of_descriptor(b, fd, place);
}

/* ".", "..", and the granted directory itself have no name in a directory below the grant. */
static long resolve_directory(struct broker *b, const char *path, bool follows, struct place *place)
{
    cleanup_close int fd =
        open_resolved(b->root, path, O_PATH | O_DIRECTORY | (follows ? 0 : O_NOFOLLOW),
                      RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);

    return fd < 0 ? ANSWER_CONTINUE : place_of_descriptor(b, fd, place);
}

/* The number of a descriptor that is named by a path, or -1. The C library does that where it has
 * no call for what it wants, for example fchmodat() without following a link. */
static int descriptor_named(const char *path)
{
    static const char *const folders[] = {"/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/"};

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        size_t len = strlen(folders[i]);
        const char *digits = path + len;

        if (strncmp(path, folders[i], len) == 0 && *digits && strlen(digits) < 8 &&
            strspn(digits, "0123456789") == strlen(digits))
            return (int)strtol(digits, NULL, 10);
    }
    return -1;
}

static long resolve_named(struct broker *b, pid_t pid, const char *path, bool follows,
                          struct place *place)
{
    int number = follows ? descriptor_named(path) : -1;
    char copy[PATH_MAX];
    long r;

    if (number >= 0)
        return resolve_descriptor(b, pid, number, true, place);
    (void)snprintf(copy, sizeof(copy), "%s", path);
    r = resolve_path(b, copy, follows, place);
    return r == ANSWER_CONTINUE ? resolve_directory(b, path, follows, place) : r;
}

long resolve_object(struct broker *b, pid_t pid, int dirfd, uint64_t address, int flags,
                    struct place *ret_place)
{
    bool follows = !(flags & AT_SYMLINK_NOFOLLOW);
    char asked[PATH_MAX], path[PATH_MAX];
    long r;

    if (!address)
        return resolve_descriptor(b, pid, dirfd, false, ret_place);
    r = read_path(pid, address, asked);
    if (r < 0)
        return r;
    if (*asked == '\0' && (flags & AT_EMPTY_PATH)) {
        if (dirfd != AT_FDCWD)
            return resolve_descriptor(b, pid, dirfd, true, ret_place);
        (void)snprintf(asked, sizeof(asked), ".");
    }
    r = make_absolute(b, pid, dirfd, asked, path);
    if (!target_waits(b))
        return -EINTR;
    if (r == 0)
        r = resolve_named(b, pid, path, follows, ret_place);
    if (r == 0 && !ret_place->exists)
        r = -ENOENT;
    if (r == 0 && ret_place->has_slash && !S_ISDIR(ret_place->st.st_mode))
        r = -ENOTDIR;
    return r;
}

void place_done(struct place *place)
{
    if (place->owns_parent)
        (void)close(place->parent);
    place->owns_parent = false;
    place->parent = -1;
}
