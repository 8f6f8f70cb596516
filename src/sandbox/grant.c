#include "sandbox/grant.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/paths.h"
#include "sandbox/mount.h"
#include "sandbox/ns.h"
#include "sandbox/protected.h"
#include "wire/fds.h"

/* Never granted, nor anything below: Linux's own file systems and the sockets of services. */
static const char *const refused_trees[] = {"/proc", "/sys", "/dev", "/run", "/var/run", "/boot"};

/* Never granted themselves: the sandbox has its own there. What lies below may be. */
static const char *const refused_places[] = {"/", "/workspace", "/tmp", "/usr", "/etc"};

static int check_place(const char *path, struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(refused_trees); i++)
        if (paths_below(path, refused_trees[i])) {
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
        return error_hint(
            err,
            "it belongs to Belljar: programs cannot access its settings, keys, state or skills");
    }
    return 0;
}

static int open_no_links(int base, const char *path)
{
    struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };

    return (int)syscall(SYS_openat2, base, path, &how, sizeof(how));
}

/* A link in `/` is the administrator's (`/home` may lead to another disk). Any other may be a
 * program's, which an earlier grant let write there. */
static int open_place(const char *path)
{
    const char *name = path + strspn(path, "/");
    size_t len = strcspn(name, "/");
    cleanup_free char *first = NULL;
    cleanup_close int base = -1;

    if (path[0] != '/')
        return open_no_links(AT_FDCWD, path);
    if (asprintf(&first, "/%.*s", (int)len, name) < 0) {
        errno = ENOMEM;
        return -1;
    }
    base = open(first, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (base < 0)
        return -1;
    name += len;
    name += strspn(name, "/");
    return open_no_links(base, *name ? name : ".");
}

static char *path_of(int fd)
{
    char link[64];

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    return realpath(link, NULL);
}

char *grant_real_path(const char *path)
{
    cleanup_close int fd = open_place(path);

    return fd < 0 ? NULL : path_of(fd);
}

/* "DIR:wr", "DIR:/data": the part behind the colon of a directory that is there. Else NULL. */
static const char *unknown_access(const char *path)
{
    const char *colon = strrchr(path, ':');
    cleanup_free char *dir = colon ? strndup(path, (size_t)(colon - path)) : NULL;

    return dir && *dir && access(dir, F_OK) == 0 ? colon + 1 : NULL;
}

static int refuse_place(const char *path, int errnum, struct error *err)
{
    const char *word = errnum == ENOENT ? unknown_access(path) : NULL;
    cleanup_free char *real = NULL;

    if (word) {
        error_set(err, E_INVALID, "--allow `%s`: unknown access `%s`", path, word);
        return error_hint(err, "write DIR:ro, DIR:rw or DIR:cow; a directory is seen under its "
                               "own path");
    }

    if (errnum == ELOOP && !(real = realpath(path, NULL)))
        errnum = errno;
    if (real) {
        error_set(err, E_DENIED, "--allow `%s`: a symbolic link in it leads to `%s`", path, real);
        return error_hint(err, "a program may have made the link; if you want that directory, "
                               "grant it by its own path");
    }
    if (errnum == ENOTDIR) {
        error_set(err, E_INVALID, "--allow `%s`: not a directory", path);
        return error_hint(err, "grant the directory that holds the file");
    }
    error_set(err, errnum == ENOENT ? E_NOT_FOUND : E_INVALID, "--allow `%s`: %s", path,
              strerror(errnum));
    return error_hint(err, "name an existing directory, optionally followed by :ro, :rw or :cow");
}

int grant_open(const char *path, enum run_grant_mode mode, struct run_grant *ret_grant,
               struct error *err)
{
    cleanup_close int fd = open_place(path);
    cleanup_free char *real = NULL;

    if (fd < 0)
        return refuse_place(path, errno, err);
    real = path_of(fd);
    if (!real)
        return refuse_place(path, errno, err);
    if (check_place(real, err) < 0)
        return -1;
    *ret_grant = (struct run_grant){take_ptr(real), take_fd(fd), mode};
    return 0;
}

void grant_done(struct run_grant *grant)
{
    free(grant->path);
    grant->path = NULL;
    close_fd(&grant->fd);
}

/* A mount that is to be made. Sandboxes get read-only ones, whatever is granted: a layer takes what
 * is written to a copy-on-write grant, the broker writes to the others. */
struct wish {
    const struct run_grant *grant;
    bool is_writable;
};

static uint64_t attributes(const struct wish *wish)
{
    return MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (wish->is_writable ? 0 : MOUNT_ATTR_RDONLY);
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

static int mount_as_root(const struct wish *wish, struct owner_map *map, int *ret_mount,
                         struct error *err)
{
    const struct run_grant *grant = wish->grant;
    cleanup_close int mount_fd = -1;
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP};
    struct stat st;

    if (fstat(grant->fd, &st) < 0)
        return error_errno(err, "stat");
    /* Not recursive: what is mounted below was not granted. */
    if (mount_clone(grant->fd, "", attributes(wish), false, &mount_fd, err) < 0 ||
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
    const struct wish *wishes;
    size_t count;
    int sock;
    struct ns_map map;
};

/* In the helper, which shares our memory (child_vfork): nothing is allocated or kept. The
 * descriptor's mount is not of this namespace, so the path is opened again here and must lead to
 * the same directory. All mounts fit into the socket, which nobody reads yet. */
static int clone_grants(void *arg)
{
    const struct helper *h = arg;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (ns_write_map(0, &h->map, NULL) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return 1;
    for (size_t i = 0; i < h->count; i++) {
        const struct run_grant *grant = h->wishes[i].grant;
        cleanup_close int fd = open_no_links(AT_FDCWD, grant->path);
        cleanup_close int mount_fd = -1;
        struct stat was, is;

        if (fd < 0 || fstat(fd, &is) < 0 || fstat(grant->fd, &was) < 0 || is.st_dev != was.st_dev ||
            is.st_ino != was.st_ino ||
            mount_clone(fd, "", attributes(&h->wishes[i]), false, &mount_fd, NULL) < 0 ||
            send_fd(h->sock, mount_fd) < 0)
            return 1;
    }
    return 0;
}

static int mount_as_user(const struct wish *wishes, size_t count, int *mounts, struct error *err)
{
    struct helper h = {
        .wishes = wishes,
        .count = count,
        .map = {geteuid(), geteuid(), getegid(), getegid(), 1, .denies_setgroups = true},
    };
    int pair[2], r = 0;
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return error_errno(err, "socketpair");
    h.sock = pair[1];
    pid = child_vfork(CLONE_NEWUSER | CLONE_NEWNS, clone_grants, &h);
    if (pid < 0)
        r = error_errno(err, "create namespaces");
    (void)close(pair[1]);
    for (size_t i = 0; i < count && r == 0; i++) {
        mounts[i] = receive_fd(pair[0]);
        if (mounts[i] < 0)
            r = error_set(err, E_SYSTEM, "`%s` cannot be mounted", wishes[i].grant->path);
    }
    (void)close(pair[0]);
    if (pid > 0)
        (void)waitpid(pid, NULL, 0);
    return r;
}

static int mount_all(const struct wish *wishes, size_t count, uint32_t host_uid, uint32_t host_gid,
                     int *mounts, struct error *err)
{
    struct owner_map map = {.host_uid = host_uid, .host_gid = host_gid, .userns = -1};
    int r = 0;

    for (size_t i = 0; i < count; i++)
        mounts[i] = -1;
    if (count && geteuid() != 0)
        r = mount_as_user(wishes, count, mounts, err);
    for (size_t i = 0; i < count && r == 0 && geteuid() == 0; i++)
        r = mount_as_root(&wishes[i], &map, &mounts[i], err);
    close_fd(&map.userns);
    for (size_t i = 0; i < count && r < 0; i++)
        close_fd(&mounts[i]);
    return r;
}

int grant_mount(const struct run_grant *grants, size_t count, uint32_t host_uid, uint32_t host_gid,
                int *mounts, int *writable, struct error *err)
{
    struct wish wishes[2 * LIMIT_GRANTS];
    int made[2 * LIMIT_GRANTS];
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        wishes[n++] = (struct wish){&grants[i], false};
    for (size_t i = 0; i < count; i++)
        if (grants[i].mode == RUN_GRANT_RW)
            wishes[n++] = (struct wish){&grants[i], true};
    if (mount_all(wishes, n, host_uid, host_gid, made, err) < 0)
        return -1;
    memcpy(mounts, made, count * sizeof(*mounts));
    n = count;
    for (size_t i = 0; i < count; i++)
        writable[i] = grants[i].mode == RUN_GRANT_RW ? made[n++] : -1;
    return 0;
}
