#include "sandbox/grant.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "sandbox/mount.h"
#include "sandbox/ns.h"
#include "sandbox/protected.h"
#include "sandbox/repository.h"
#include "wire/fds.h"

/* Never granted, nor anything below: the kernel's own file systems and the sockets of services. */
static const char *const refused_trees[] = {"/proc", "/sys", "/dev", "/run", "/var/run", "/boot"};

/* Never granted themselves: the sandbox has its own there. What lies below may be. */
static const char *const refused_places[] = {"/", "/workspace", "/tmp", "/usr", "/etc"};

static bool is_below(const char *path, const char *tree)
{
    size_t len = strlen(tree);

    return strncmp(path, tree, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static int check_place(const char *path, struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(refused_trees); i++)
        if (is_below(path, refused_trees[i])) {
            error_set(err, E_DENIED, "`%s` cannot be granted", path);
            return error_hint(err, "it belongs to the system; grant a directory of your own");
        }
    for (size_t i = 0; i < ARRAY_SIZE(refused_places); i++)
        if (strcmp(path, refused_places[i]) == 0) {
            error_set(err, E_DENIED, "`%s` as a whole cannot be granted", path);
            return error_hint(err, "grant the directory below it that the program needs");
        }
    if (protected_judge_own(path)) {
        error_set(err, E_DENIED, "`%s` cannot be granted", path);
        return error_hint(err,
                          "it belongs to Belljar: no program gets to its settings, keys, state "
                          "or skills");
    }
    return 0;
}

static int open_no_symlinks(const char *path)
{
    struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };

    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

int grant_open(const char *path, enum run_grant_mode mode, struct run_grant *ret_grant,
               struct error *err)
{
    cleanup_free char *real = realpath(path, NULL);
    cleanup_close int fd = -1;

    if (!real) {
        enum error_code code = errno == ENOENT ? E_NOT_FOUND : E_INVALID;

        error_set(err, code, "--allow `%s`: %s", path, strerror(errno));
        return error_hint(err,
                          "name an existing directory; behind it stands :ro, :rw, :cow or nothing");
    }
    if (check_place(real, err) < 0)
        return -1;
    fd = open_no_symlinks(real);
    if (fd < 0) {
        if (errno == ENOTDIR) {
            error_set(err, E_INVALID, "--allow `%s`: not a directory", path);
            return error_hint(err, "grant the directory that holds the file");
        }
        return error_errno(err, "--allow `%s`", path);
    }
    *ret_grant = (struct run_grant){take_ptr(real), take_fd(fd), mode};
    return 0;
}

void grant_done(struct run_grant *grant)
{
    free(grant->path);
    grant->path = NULL;
    close_fd(&grant->fd);
}

static uint64_t attributes(const struct run_grant *grant)
{
    return MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
           (grant->mode == RUN_GRANT_RW ? 0 : MOUNT_ATTR_RDONLY);
}

/* The namespace that makes an owner of the sandbox's ids; directories next to one another mostly
 * have the same owner, so the last one is kept. */
struct owner_map {
    uint32_t host_uid, host_gid;
    uid_t uid;
    gid_t gid;
    int userns; /* -1: none yet */
};

static int map_owner(struct owner_map *map, const struct stat *st, struct error *err)
{
    if (map->userns >= 0 && map->uid == st->st_uid && map->gid == st->st_gid)
        return 0;
    close_fd(&map->userns);
    map->uid = st->st_uid;
    map->gid = st->st_gid;
    return ns_idmap_fd(map->uid, map->host_uid, map->gid, map->host_gid, &map->userns, err);
}

static int mount_as_root(const struct run_grant *grant, struct owner_map *map, int *ret_mount,
                         struct error *err)
{
    cleanup_close int mount_fd = -1;
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP};
    struct stat st;

    if (fstat(grant->fd, &st) < 0)
        return error_errno(err, "stat");
    /* Not recursive: what is mounted below was not granted. */
    if (mount_clone(grant->fd, "", attributes(grant), false, &mount_fd, err) < 0 ||
        map_owner(map, &st, err) < 0)
        return -1;
    attr.userns_fd = (uint64_t)map->userns;
    /* Overlay file systems, on which containers stand, have no idmapped mounts. A program then
     * reads with the rights of a stranger, which are fewer; but what it wrote would belong to
     * nobody. */
    if (syscall(SYS_mount_setattr, mount_fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 &&
        (errno != EINVAL || grant->mode != RUN_GRANT_RO)) {
        error_errno(err, "map the owner of `%s`", grant->path);
        err->code = E_UNSUPPORTED;
        return error_hint(
            err, "its file system has no idmapped mounts; run belljar as its owner instead");
    }
    *ret_mount = take_fd(mount_fd);
    return 0;
}

/* --- an ordinary user: a helper with its own user and mount namespace does it --- */

static int send_fd(int sock, int fd)
{
    char control[FDS_SPACE(1)];
    char byte = 0;
    struct iovec iov = {&byte, 1};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

    fds_put(&msg, control, &fd, 1);
    return sendmsg(sock, &msg, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

static int receive_fd(int sock)
{
    char control[FDS_SPACE(1)];
    char byte;
    struct iovec iov = {&byte, 1};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control,
                         .msg_controllen = sizeof(control)};
    int fd;

    if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1 || fds_take(&msg, &fd, 1) != 1)
        return -1;
    return fd;
}

struct helper {
    const struct run_grant *grants;
    size_t count;
    int sock;
    struct ns_map map;
};

/* In the helper, which shares our memory (ns_vfork): nothing is allocated or kept. The descriptor's
 * mount is not of this namespace, so the path is opened again here and must lead to the same
 * directory. All mounts fit into the socket, which nobody reads yet. */
static int clone_grants(void *arg)
{
    const struct helper *h = arg;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (ns_write_map(0, &h->map, NULL) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return 1;
    for (size_t i = 0; i < h->count; i++) {
        const struct run_grant *grant = &h->grants[i];
        cleanup_close int fd = open_no_symlinks(grant->path);
        cleanup_close int mount_fd = -1;
        struct stat was, is;

        if (fd < 0 || fstat(fd, &is) < 0 || fstat(grant->fd, &was) < 0 || is.st_dev != was.st_dev ||
            is.st_ino != was.st_ino ||
            mount_clone(fd, "", attributes(grant), false, &mount_fd, NULL) < 0 ||
            send_fd(h->sock, mount_fd) < 0)
            return 1;
    }
    return 0;
}
static int mount_as_user(const struct run_grant *grants, size_t count, int *mounts,
                         struct error *err)
{
    struct helper h = {
        .grants = grants,
        .count = count,
        .map = {geteuid(), geteuid(), getegid(), getegid(), 1, .denies_setgroups = true},
    };
    int pair[2], r = 0;
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return error_errno(err, "socketpair");
    h.sock = pair[1];
    pid = ns_vfork(CLONE_NEWUSER | CLONE_NEWNS, clone_grants, &h);
    if (pid < 0)
        r = error_errno(err, "create namespaces");
    (void)close(pair[1]);
    for (size_t i = 0; i < count && r == 0; i++) {
        mounts[i] = receive_fd(pair[0]);
        if (mounts[i] < 0)
            r = error_set(err, E_SYSTEM, "`%s` cannot be mounted", grants[i].path);
    }
    (void)close(pair[0]);
    if (pid > 0)
        (void)waitpid(pid, NULL, 0);
    return r;
}

int grant_mount(const struct run_grant *grants, size_t count, uint32_t host_uid, uint32_t host_gid,
                int *mounts, struct error *err)
{
    struct owner_map map = {.host_uid = host_uid, .host_gid = host_gid, .userns = -1};
    int r = 0;

    for (size_t i = 0; i < count; i++)
        mounts[i] = -1;
    if (count && geteuid() != 0)
        r = mount_as_user(grants, count, mounts, err);
    for (size_t i = 0; i < count && r == 0 && geteuid() == 0; i++)
        r = mount_as_root(&grants[i], &map, &mounts[i], err);
    close_fd(&map.userns);
    for (size_t i = 0; i < count && r < 0; i++)
        close_fd(&mounts[i]);
    return r;
}

/* --- protected names that cannot be mounted over --- */

struct grant_watch {
    bool is_bare; /* the directory was a bare repository itself */
    struct {
        mode_t type; /* 0: it did not exist */
        ino_t inode;
        struct timespec changed; /* an inode number may be used again at once */
    } was[];
};

/* NULL: not one that is looked for by its name. */
static const char *protected_path(size_t i)
{
    size_t count;
    const struct protected_name *rows = protected_names(&count);

    return i >= count || rows[i].pattern[0] == '/' || strchr(rows[i].pattern, '*') ||
                   strcmp(rows[i].pattern, ".git") == 0
               ? NULL
               : rows[i].pattern;
}

static int open_dir_beneath(int dir, const char *path)
{
    struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };

    return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

/* What there is of a protected path: itself, or the first thing on the way to it that is not a
 * directory (a link that leads to one is as good as the path itself). *ret_name is the part of the
 * path that was found, *ret_dir the directory it is in. False: nothing. */
static bool find_protected(const struct run_grant *grant, const char *path, int *ret_dir,
                           char *ret_name, size_t size, struct stat *ret_st)
{
    cleanup_close int dir = open_dir_beneath(grant->fd, ".");

    for (;;) {
        const char *slash = strchr(path, '/');
        int next;

        (void)snprintf(ret_name, size, "%.*s", (int)(slash ? slash - path : (int)strlen(path)),
                       path);
        if (dir < 0 || fstatat(dir, ret_name, ret_st, AT_SYMLINK_NOFOLLOW) < 0)
            return false;
        if (!slash || !S_ISDIR(ret_st->st_mode)) {
            *ret_dir = take_fd(dir);
            return true;
        }
        next = open_dir_beneath(dir, ret_name);
        (void)close(dir);
        dir = next;
        path = slash + 1;
    }
}

struct grant_watch *grant_watch_new(const struct run_grant *grant)
{
    size_t count;
    struct grant_watch *watch;

    (void)protected_names(&count);
    watch = calloc(1, sizeof(*watch) + count * sizeof(watch->was[0]));

    if (watch)
        watch->is_bare = repository_is_bare(grant->fd);
    for (size_t i = 0; watch && i < count; i++) {
        const char *path = protected_path(i);
        char name[NAME_MAX + 1];
        cleanup_close int dir = -1;
        struct stat st;

        if (path && find_protected(grant, path, &dir, name, sizeof(name), &st)) {
            watch->was[i].type = st.st_mode & S_IFMT;
            watch->was[i].inode = st.st_ino;
            watch->was[i].changed = st.st_ctim;
        }
    }
    return watch;
}

void grant_watch_free(struct grant_watch *watch)
{
    free(watch);
}

/* Under a name nobody can have made in advance, and never over something. */
static int move_aside(int dir, const char *name)
{
    char aside[NAME_MAX + 1];
    uint64_t chance;

    if (getrandom(&chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
        return -1;
    (void)snprintf(aside, sizeof(aside), "%.200s.belljar-refused-%016llx", name,
                   (unsigned long long)chance);
    return (int)syscall(SYS_renameat2, dir, name, dir, aside, RENAME_NOREPLACE);
}

/* Of what was mounted over nothing can have changed; a directory in which something else did is
 * still the same. */
static bool is_unchanged(const struct grant_watch *watch, size_t i, const struct stat *st)
{
    if (watch->was[i].inode != st->st_ino || watch->was[i].type != (st->st_mode & S_IFMT))
        return false;
    return !S_ISLNK(st->st_mode) || (watch->was[i].changed.tv_sec == st->st_ctim.tv_sec &&
                                     watch->was[i].changed.tv_nsec == st->st_ctim.tv_nsec);
}

size_t grant_quarantine(const struct run_grant *grant, const struct grant_watch *watch,
                        size_t *ret_failed)
{
    size_t count = 0, rows;

    *ret_failed = 0;
    (void)protected_names(&rows);
    for (size_t i = 0; i < rows; i++) {
        const char *path = protected_path(i);
        char name[NAME_MAX + 1];
        cleanup_close int dir = -1;
        struct stat st;

        if (!path || !find_protected(grant, path, &dir, name, sizeof(name), &st) ||
            is_unchanged(watch, i, &st))
            continue;
        if (move_aside(dir, name) == 0)
            count++;
        else
            (*ret_failed)++;
    }
    if (!watch->is_bare && repository_is_bare(grant->fd)) {
        if (move_aside(grant->fd, "HEAD") == 0)
            count++;
        else
            (*ret_failed)++;
    }
    return count;
}
