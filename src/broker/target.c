#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/internal.h"
#include "sandbox/notify.h"

#define PAGE 4096u

int target_read(pid_t pid, uint64_t address, void *data, size_t len)
{
    struct iovec here = {data, len};
    struct iovec there = {(void *)(uintptr_t)address, len};
    ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);

    if (n < 0)
        return -errno;
    return (size_t)n == len ? 0 : -EFAULT;
}

/* Never reads across the end of a page that may be the last one of its mapping, unless the path
 * goes on there. */
int target_path(pid_t pid, uint64_t address, char path[PATH_MAX])
{
    size_t len = 0;

    while (len < PATH_MAX) {
        size_t chunk = PAGE - (size_t)((address + len) % PAGE);
        int r;

        if (len == 0 && chunk > 256)
            chunk = 256; /* most paths are short */
        if (chunk > PATH_MAX - len)
            chunk = PATH_MAX - len;
        r = target_read(pid, address + len, path + len, chunk);
        if (r < 0)
            return r;
        if (memchr(path + len, '\0', chunk))
            return 0;
        len += chunk;
    }
    return -ENAMETOOLONG;
}

static int read_link(const char *name, char path[PATH_MAX])
{
    ssize_t n = readlink(name, path, PATH_MAX - 1);

    if (n < 0)
        return -errno;
    path[n] = '\0';
    /* Something without a name in a directory: removed, or not a file at all. */
    return path[0] == '/' ? 0 : -ENOENT;
}

/* One line of /proc/PID/status, read as a number in that base. */
static int read_status(pid_t pid, const char *name, int base, unsigned long *ret_value)
{
    char path[64], text[4096];
    const char *line;
    int n;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    n = (int)read(fd, text, sizeof(text) - 1);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    line = strstr(text, name);
    if (!line)
        return -ESRCH;
    *ret_value = strtoul(line + strlen(name), NULL, base);
    return 0;
}

int target_umask(pid_t pid, mode_t *ret_umask)
{
    unsigned long value;
    int r = read_status(pid, "\nUmask:", 8, &value);

    if (r == 0)
        *ret_umask = (mode_t)value & 0777;
    return r;
}

/* A pidfd is of a process, and the caller may be another thread of it, with descriptors of its own.
 * Linux 6.9 has pidfds of threads. */
#define PIDFD_OF_THREAD O_EXCL

static int open_pidfd(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    unsigned long leader;

    if (fd < 0)
        fd = (int)syscall(SYS_pidfd_open, pid, PIDFD_OF_THREAD);
    if (fd < 0 && read_status(pid, "\nTgid:", 10, &leader) == 0 && (pid_t)leader != pid)
        fd = (int)syscall(SYS_pidfd_open, (pid_t)leader, 0);
    return fd;
}

int target_descriptor(pid_t pid, int fd)
{
    cleanup_close int pidfd = open_pidfd(pid);
    /* Not /proc/PID/fd, which belongs to root when the process is not dumpable. Linux 5.6. */
    int copy = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);

    return copy < 0 ? -errno : copy;
}

/* A directory that was removed has " (deleted)" behind its name. So may another one, which is
 * there. */
static bool is_gone(const char *name, const char *path)
{
    static const char mark[] = " (deleted)";
    size_t len = strlen(path);
    struct stat st;

    if (len < sizeof(mark) || strcmp(path + len - (sizeof(mark) - 1), mark) != 0)
        return false;
    return stat(name, &st) < 0 || st.st_nlink == 0;
}

int target_directory(pid_t pid, int dirfd, char path[PATH_MAX])
{
    cleanup_close int fd = -1;
    char name[64];
    int r;

    if (dirfd == AT_FDCWD) {
        (void)snprintf(name, sizeof(name), "/proc/%d/cwd", (int)pid);
    } else {
        fd = target_descriptor(pid, dirfd);
        if (fd < 0)
            return fd;
        (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    }
    r = read_link(name, path);
    return r == 0 && is_gone(name, path) ? -ENOENT : r;
}

bool target_waits(const struct broker *b)
{
    return notify_request(b->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, (void *)&b->call) == 0;
}
