#include "sandbox/root.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/span.h"
#include "sandbox/cover.h"
#include "sandbox/mount.h"
#include "sandbox/overlay_mount.h"
#include "sandbox/places.h"

/* The directory in which the new root is built: it exists everywhere, and nobody grants it. */
#define WORKBENCH "/sys"

#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

#define COPY_MAX ((size_t)1 << 20)

/* --- the template, once per zygote --- */

static const char *const directories[] = {
    "usr", "etc",       "etc/ssl", "dev",     "dev/pts", "dev/shm", "proc",
    "tmp", "workspace", "run",     "etc/bin", "var",     "home",
};

extern const char root_python_start[]; /* made of library/sitecustomize.py at build time */

static const struct {
    const char *path;
    const char *target;
} links[] = {
    {"dev/fd", "/proc/self/fd"},
    {"dev/stdin", "/proc/self/fd/0"},
    {"dev/stdout", "/proc/self/fd/1"},
    {"dev/stderr", "/proc/self/fd/2"},
    {"etc/os-release", "../usr/lib/os-release"},
    {"etc/mtab", "/proc/self/mounts"},
    {"var/tmp", "../tmp"},
    {"etc/bin/python", "/usr/bin/python3"}, /* last on PATH: for hosts without the short name */
};

static const char *const devices[] = {"null", "zero", "full", "random", "urandom"};

/* Directories of the host's root that are links into /usr on today's systems and trees of their own
 * on older ones. */
static const char *const system_dirs[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};

/* Parts of /etc that programs need; everything else of it stays outside. Debian finds its BLAS
 * through `alternatives`. */
static const char *const etc_binds[] = {"alternatives", "fonts", "ssl/certs"};
static const char *const etc_copies[] = {
    "ld.so.cache", "localtime",    "timezone",       "mime.types", "services",
    "protocols",   "matplotlibrc", "debian_version", "magic",      "inputrc",
};

static const struct {
    const char *path;
    const char *text;
} etc_made[] = {
    {"etc/passwd", "root:x:0:0:root:/root:/usr/sbin/nologin\n"
                   "user:x:1000:1000:user:/workspace:/bin/bash\n"
                   "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
    {"etc/group", "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n"},
    {"etc/hosts", "127.0.0.1 localhost belljar\n"},
    {"etc/hostname", "belljar\n"},
    {"etc/host.conf", "multi on\n"},
    {"etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\nservices: files\n"
                          "protocols: files\n"},
};

static int make_file(const char *path, const char *data, size_t len, struct error *err)
{
    cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, data, len) != (ssize_t)len)
        return error_errno(err, "create %s", path);
    return 0;
}

/* A copy costs no mount in every sandbox. What is large or cannot be read is passed over. */
static int copy_fd(int fd, const char *path, struct error *err)
{
    cleanup_free char *data = NULL;
    struct stat st;
    ssize_t n;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size > COPY_MAX)
        return 0;
    data = malloc((size_t)st.st_size + 1);
    if (!data)
        return error_memory(err);
    n = pread(fd, data, (size_t)st.st_size, 0);
    if (n < 0)
        return 0;
    return make_file(path + 1, data, (size_t)n, err);
}

/* None of them is vital. */
static int copy_file(const char *name, struct error *err)
{
    cleanup_close int fd = -1;
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "/etc/%s", name);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? 0 : copy_fd(fd, path, err);
}

static int bind_here(const char *source, uint64_t attrs, struct error *err)
{
    struct stat st;

    if (stat(source, &st) < 0)
        return 0;
    if (mount_make_point(source + 1, S_ISDIR(st.st_mode), err) < 0)
        return -1;
    return mount_bind(source, source + 1, attrs, err);
}

static int show_system(struct error *err)
{
    if (bind_here("/usr", READ_ONLY, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(system_dirs); i++) {
        char path[16], target[PATH_MAX];
        struct stat st;
        ssize_t n;

        (void)snprintf(path, sizeof(path), "/%s", system_dirs[i]);
        if (lstat(path, &st) < 0)
            continue;
        if (!S_ISLNK(st.st_mode)) {
            if (bind_here(path, READ_ONLY, err) < 0)
                return -1;
            continue;
        }
        n = readlink(path, target, sizeof(target) - 1);
        if (n < 0)
            return error_errno(err, "readlink %s", path);
        target[n] = '\0';
        if (symlink(target, path + 1) < 0)
            return error_errno(err, "symlink %s", path);
    }
    return 0;
}

static int show_etc(struct error *err)
{
    char path[PATH_MAX];

    for (size_t i = 0; i < ARRAY_SIZE(etc_binds); i++) {
        (void)snprintf(path, sizeof(path), "/etc/%s", etc_binds[i]);
        if (bind_here(path, READ_ONLY | MOUNT_ATTR_NOEXEC, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < ARRAY_SIZE(etc_copies); i++)
        if (copy_file(etc_copies[i], err) < 0)
            return -1;
    for (size_t i = 0; i < ARRAY_SIZE(etc_made); i++)
        if (make_file(etc_made[i].path, etc_made[i].text, strlen(etc_made[i].text), err) < 0)
            return -1;
    return 0;
}

/* Of whoever opens it: a program without a terminal gets ENXIO. Not every host has it. */
static const char controlling_terminal[] = "/dev/tty";

static int show_devices(struct error *err)
{
    char path[32];

    for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
        (void)snprintf(path, sizeof(path), "/dev/%s", devices[i]);
        if (mount_make_point(path + 1, false, err) < 0 ||
            mount_bind(path, path + 1, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err) < 0)
            return -1;
    }
    return bind_here(controlling_terminal, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
}

static int show_binds(const struct wire_strings *binds, struct error *err)
{
    for (uint32_t i = 0; i < binds->count; i++) {
        cleanup_free char *path = span_dup(binds->items[i]);

        if (!path || path[0] != '/')
            return error_set(err, E_PROTOCOL, "a path to show is not absolute");
        if (bind_here(path, READ_ONLY, err) < 0)
            return -1;
    }
    return 0;
}

/* A part of what the host's user has, for all sandboxes of this zygote together: objects of the
 * kernel count against whoever made the namespaces they are in, which is that user in the end. */
#define HOST_PART 4

static void limit_part(const char *host, const char *own)
{
    char text[32];

    if (file_read(AT_FDCWD, host, text, sizeof(text)) > 0)
        (void)file_printf(AT_FDCWD, own, "%lu", strtoul(text, NULL, 10) / HOST_PART);
}

static void limit_zygote(void)
{
    limit_part("/proc/sys/fs/inotify/max_user_instances", "/proc/sys/user/max_inotify_instances");
    limit_part("/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches");
}

static int show_library(const struct root_file *file, struct error *err)
{
    char path[PATH_MAX];

    for (; file && file->path; file++) {
        char *slash;

        (void)snprintf(path, sizeof(path), "%s/%s", &ROOT_LIBRARY[1], file->path);
        slash = strrchr(path, '/');
        *slash = '\0';
        if (mount_make_point(path, true, err) < 0)
            return -1;
        *slash = '/';
        if (make_file(path, (const char *)file->data, file->len, err) < 0)
            return -1;
    }
    return 0;
}

/* Debian's Python reads what is there when it starts. */
static int show_python_start(const char *version, struct error *err)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "etc/python%s", version);
    if (mkdir(path, 0755) < 0)
        return error_errno(err, "mkdir %s", path);
    (void)snprintf(path, sizeof(path), "etc/python%s/sitecustomize.py", version);
    return make_file(path, root_python_start, strlen(root_python_start), err);
}

/* Links lead from the interpreter of an environment to the one it was made with. If that is not
 * shown here (pyenv and uv have theirs in a home directory), the system's of the same version takes
 * its place. */
static int stand_in(const struct root_python *python, struct error *err)
{
    char path[PATH_MAX], target[PATH_MAX], system[64];
    size_t dir;
    ssize_t n;

    (void)snprintf(path, sizeof(path), "%s", python->interpreter);
    (void)snprintf(system, sizeof(system), "/usr/bin/python%s", python->version);
    for (int links_left = 8; links_left && strncmp(path, "/usr/", 5) != 0; links_left--) {
        n = readlink(path + 1, target, sizeof(target) - 1);
        if (n < 0 && errno == ENOENT && links_left < 8) {
            if (strstr(path, "/../"))
                break;
            dir = (size_t)(strrchr(path, '/') - path);
            path[dir] = '\0';
            if (mount_make_dirs(path + 1, err) < 0)
                return -1;
            path[dir] = '/';
            return symlink(system, path + 1) < 0 ? error_errno(err, "symlink %s", path) : 0;
        }
        if (n < 0)
            break;
        target[n] = '\0';
        dir = *target == '/' ? 0 : (size_t)(strrchr(path, '/') - path) + 1;
        if (dir + (size_t)n >= sizeof(path))
            break;
        memcpy(path + dir, target, (size_t)n + 1);
    }
    return 0; /* what is still missing is missed when Python starts */
}

/* A second name of the workspace, which programs written for other sandboxes expect. Not where an
 * environment of the host is shown below it. Relative: the template is still built elsewhere. */
static int show_home(struct error *err)
{
    if (symlink(PLACES_HOME_TARGET, &PLACES_HOME[1]) < 0 && errno != EEXIST)
        return error_errno(err, "symlink " PLACES_HOME);
    return 0;
}

int root_build(const struct wire_strings *binds, const struct root_file *files,
               const struct root_python *python, int steady_fd, struct error *err)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return error_errno(err, "make the mounts private");
    if (mount("belljar", WORKBENCH, "tmpfs", MS_NOSUID | MS_NODEV,
              "size=4m,nr_inodes=1k,mode=0755") < 0)
        return error_errno(err, "mount a tmpfs for the root");
    if (chdir(WORKBENCH) < 0)
        return error_errno(err, "chdir " WORKBENCH);

    for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
        if (mkdir(directories[i], 0755) < 0)
            return error_errno(err, "mkdir %s", directories[i]);
    for (size_t i = 0; i < ARRAY_SIZE(links); i++)
        if (symlink(links[i].target, links[i].path) < 0)
            return error_errno(err, "symlink %s", links[i].path);
    if (show_system(err) < 0 || show_etc(err) < 0 || show_python_start(python->version, err) < 0 ||
        show_devices(err) < 0 || show_library(files, err) < 0 || show_binds(binds, err) < 0 ||
        stand_in(python, err) < 0 || show_home(err) < 0 ||
        (steady_fd >= 0 && copy_fd(steady_fd, ROOT_STEADY, err) < 0))
        return -1;

    /* The zygote's own /proc. It has to be whole: Linux lets a sandbox mount one of its own
     * only where it can see that nothing is hidden from it. Each sandbox covers it with its own. */
    if (mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0) {
        error_errno(err, "mount /proc");
        return error_hint(err, "in a container /proc must not be masked (docker: "
                               "--security-opt systempaths=unconfined)");
    }
    if (mount_pivot(".", err) < 0)
        return -1;
    limit_zygote();
    /* Modules may want to write while they are imported (matplotlib keeps a list of fonts). Every
     * sandbox covers it. */
    if (mount("belljar", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=32m,mode=0755") < 0)
        return error_errno(err, "mount /tmp");
    return mount_set_attrs(AT_FDCWD, "/", MOUNT_ATTR_RDONLY, false, err);
}

/* --- what is a sandbox's own --- */

/* Top-level entries of /proc that stay. Everything else there is covered, so that what a newer
 * kernel adds is covered too. */
static const char *const proc_kept[] = {
    "cpuinfo", "filesystems", "loadavg",     "meminfo", "mounts",  "net",    "self",
    "stat",    "swaps",       "thread-self", "uptime",  "version", "vmstat",
};

static bool is_kept(const char *name)
{
    if (isdigit((unsigned char)name[0]) || name[0] == '.')
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(proc_kept); i++)
        if (strcmp(proc_kept[i], name) == 0)
            return true;
    return false;
}

/* Kernel objects that are counted against whoever made the namespace, the host's user in the end:
 * this namespace gets a share. Where a kernel has no such file there is nothing to share out. */
static void limit_user_namespace(void)
{
    (void)file_write(AT_FDCWD, "/proc/sys/user/max_inotify_instances", "4");
    (void)file_write(AT_FDCWD, "/proc/sys/user/max_inotify_watches", "4096");
    (void)file_write(AT_FDCWD, "/proc/sys/user/max_fanotify_groups", "0");
}

/* Files are covered by /dev/null, directories by an empty read-only one of the template. */
static int mount_proc(struct error *err)
{
    cleanup_closedir DIR *dir = NULL;
    struct dirent *entry;

    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        return error_errno(err, "mount /proc");
    limit_user_namespace();
    dir = opendir("/proc");
    if (!dir)
        return error_errno(err, "open /proc");
    while ((entry = readdir(dir))) {
        char path[PATH_MAX];

        if (is_kept(entry->d_name))
            continue;
        (void)snprintf(path, sizeof(path), "/proc/%s", entry->d_name);
        if (mount(entry->d_type == DT_DIR ? "/run" : "/dev/null", path, NULL, MS_BIND, NULL) < 0)
            return error_errno(err, "cover %s", path);
    }
    /* Nothing in it is for programs to change, least of all the order in which Linux
     * ends processes when memory runs out (`oom_score_adj`). */
    if (mount(NULL, "/proc", NULL,
              MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        return error_errno(err, "make /proc read-only");
    return 0;
}

/* Returns a mount that is attached nowhere. */
static int make_tmpfs(const struct wire_spawn *spec, struct error *err)
{
    char size[32], inodes[32], uid[16];
    cleanup_close int fs = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
    int disk;

    if (fs < 0)
        return error_errno(err, "fsopen tmpfs");
    (void)snprintf(size, sizeof(size), "%llu", (unsigned long long)spec->disk_bytes);
    (void)snprintf(inodes, sizeof(inodes), "%u", spec->inodes);
    (void)snprintf(uid, sizeof(uid), "%d", ROOT_UID);
    if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "size", size, 0) < 0 ||
        syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "nr_inodes", inodes, 0) < 0 ||
        syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "uid", uid, 0) < 0 ||
        syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "gid", uid, 0) < 0 ||
        syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "mode", "0755", 0) < 0 ||
        syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return error_errno(err, "make a tmpfs of %s bytes", size);
    disk = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    return disk < 0 ? error_errno(err, "fsmount") : disk;
}

/* One tmpfs for everything writable, so that one number is the disk limit. */
static int mount_disk(const struct wire_spawn *spec, int *grant_fds, int *overlay_fds,
                      struct error *err)
{
    static const struct {
        const char *name;
        const char *target;
        mode_t mode;
    } parts[] = {
        {"workspace", "/workspace", 0755},
        {"tmp", "/tmp", 01777},
        {"shm", "/dev/shm", 01777},
    };
    cleanup_close int disk = make_tmpfs(spec, err);

    if (disk < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        if (mkdirat(disk, parts[i].name, 0755) < 0 ||
            fchmodat(disk, parts[i].name, parts[i].mode, 0) < 0)
            return error_errno(err, "mkdir %s", parts[i].name);
    }
    /* A detached mount cannot be cloned in parts on most kernels, so it is put down once, under the
     * last of its own targets, and shown from there. */
    if (mount_attach(disk, "/workspace", err) < 0 ||
        overlay_grants(spec, "/workspace", grant_fds, overlay_fds, err) < 0)
        return -1;
    for (size_t i = ARRAY_SIZE(parts); i-- > 0;) {
        char source[64];

        (void)snprintf(source, sizeof(source), "/workspace/%s", parts[i].name);
        if (mount(source, parts[i].target, NULL, MS_BIND, NULL) < 0)
            return error_errno(err, "bind %s", parts[i].target);
    }
    return 0;
}

/* The directory in which a sandbox's own root is built: empty in the template, and without anything
 * of the host. */
#define BENCH "/workspace"

static bool is_above_grant(const struct wire_spawn *spec, const char *path)
{
    size_t len = strlen(path);

    for (uint32_t i = 0; i < spec->n_grants; i++) {
        struct span grant = spec->grants[i].path;

        if (grant.len > len && memcmp(grant.data, path, len) == 0 && grant.data[len] == '/')
            return true;
    }
    return false;
}

/* The host has such a directory, and the program gets it, or a part of it: it keeps its place. */
static bool is_granted_home(const struct wire_spawn *spec, const char *path)
{
    if (strcmp(path, PLACES_HOME) != 0)
        return false;
    for (uint32_t i = 0; i < spec->n_grants; i++)
        if (span_is(spec->grants[i].path, path))
            return true;
    return is_above_grant(spec, path);
}

static int carry_link(const char *from, const char *to, struct error *err)
{
    char target[PATH_MAX];
    ssize_t n = readlink(from, target, sizeof(target) - 1);

    if (n < 0)
        return error_errno(err, "readlink %s", from);
    target[n] = '\0';
    return symlink(target, to) < 0 ? error_errno(err, "symlink %s", to) : 0;
}

static int carry_dir(const struct wire_spawn *spec, const char *dir, dev_t own, struct error *err);

/* A directory of the template's own file system that leads to a grant is made anew, so that there
 * is room for it beside what the template shows there: a virtual environment, helpers. */
static int carry(const struct wire_spawn *spec, const char *path, dev_t own, struct error *err)
{
    char to[PATH_MAX + sizeof(BENCH)];
    struct stat st;

    (void)snprintf(to, sizeof(to), BENCH "%s", path);
    if (lstat(path, &st) < 0)
        return error_errno(err, "look at %s", path);
    if (S_ISLNK(st.st_mode))
        return is_granted_home(spec, path) ? 0 : carry_link(path, to, err);
    if (mount_make_point(to, S_ISDIR(st.st_mode), err) < 0)
        return -1;
    if (strcmp(path, BENCH) == 0)
        return 0;
    if (S_ISDIR(st.st_mode) && st.st_dev == own && is_above_grant(spec, path))
        return carry_dir(spec, path, own, err);
    return mount_bind(path, to, 0, err);
}

static int carry_dir(const struct wire_spawn *spec, const char *dir, dev_t own, struct error *err)
{
    cleanup_closedir DIR *entries = opendir(dir);
    struct dirent *entry;
    char path[PATH_MAX];

    if (!entries)
        return error_errno(err, "open %s", dir);
    while ((entry = readdir(entries))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (snprintf(path, sizeof(path), "%s/%s", strcmp(dir, "/") == 0 ? "" : dir,
                     entry->d_name) >= PATH_MAX)
            return error_set(err, E_INVALID, "path too long");
        if (carry(spec, path, own, err) < 0)
            return -1;
    }
    return 0;
}

/* Granted directories need places to be mounted on, and the template is shared by all sandboxes:
 * what one was granted must not leave even a name in another. So this one gets a root of its own,
 * with the template's entries in it. */
static int private_root(const struct wire_spawn *spec, struct error *err)
{
    struct stat st;

    if (stat("/", &st) < 0)
        return error_errno(err, "look at /");
    if (mount("belljar", BENCH, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,nr_inodes=1k,mode=0755") <
        0)
        return error_errno(err, "mount a tmpfs for the root");
    return carry_dir(spec, "/", st.st_dev, err) < 0 ? -1 : mount_pivot(BENCH, err);
}

static int mount_grants(const struct wire_spawn *spec, const int *grant_fds, int *overlay_fds,
                        struct error *err)
{
    size_t overlays = 0;

    for (uint32_t i = 0; i < spec->n_grants; i++) {
        cleanup_free char *path = span_dup(spec->grants[i].path);

        if (!path || path[0] != '/')
            return error_set(err, E_PROTOCOL, "a granted path is not absolute");
        if (mount_make_dirs(path, err) < 0 || mount_attach(grant_fds[i], path, err) < 0)
            return error_wrap(err, "grant %s", path);
        if (spec->grants[i].mode == WIRE_GRANT_COW &&
            overlay_open(path, &overlay_fds[2 * overlays++ + 1], err) < 0)
            return error_wrap(err, "grant %s", path);
    }
    return cover_places(spec, err) < 0 ? -1 : cover_fifos(spec, err);
}

int root_enter(const struct wire_spawn *spec, int *grant_fds, int *overlay_fds, struct error *err)
{
    if (spec->n_grants && private_root(spec, err) < 0)
        return -1;
    if (mount_proc(err) < 0 || mount_disk(spec, grant_fds, overlay_fds, err) < 0 ||
        mount_grants(spec, grant_fds, overlay_fds, err) < 0)
        return -1;
    if (spec->n_grants && mount_set_attrs(AT_FDCWD, "/", MOUNT_ATTR_RDONLY, false, err) < 0)
        return -1;
    return 0;
}
