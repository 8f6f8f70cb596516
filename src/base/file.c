#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

int file_read(int dirfd, const char *path, char *text, size_t size)
{
    cleanup_close int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* of a pipe */
    size_t len = 0;

    if (fd < 0)
        return -errno;
    while (len < size - 1) {
        ssize_t n = read(fd, text + len, size - 1 - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    while (len && text[len - 1] == '\n')
        len--;
    text[len] = '\0';
    return (int)len;
}

int file_write(int dirfd, const char *path, const char *text)
{
    cleanup_close int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC);
    size_t len = strlen(text);
    ssize_t n;

    if (fd < 0)
        return -errno;
    do
        n = write(fd, text, len);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    return (size_t)n == len ? 0 : -EIO;
}

int file_printf(int dirfd, const char *path, const char *fmt, ...)
{
    cleanup_free char *text = NULL;
    va_list args;
    int len;

    va_start(args, fmt);
    len = vasprintf(&text, fmt, args);
    va_end(args);
    return len < 0 ? -ENOMEM : file_write(dirfd, path, text);
}

int file_replace(const char *path, const void *data, size_t len, struct error *err)
{
    cleanup_free char *beside = NULL;
    cleanup_close int fd = -1;
    int r = 0;

    if (asprintf(&beside, "%s.new", path) < 0) {
        beside = NULL; /* undefined after a failure */
        return error_memory(err);
    }
    (void)unlink(beside); /* of one who died here */
    fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0 || file_write_all(fd, data, len) < 0 || fsync(fd) < 0 || rename(beside, path) < 0)
        r = error_errno(err, "write `%s`", path);
    if (fd >= 0 && r < 0)
        (void)unlink(beside);
    return r;
}

FILE *file_open_stream(int dirfd, const char *path)
{
    cleanup_close int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "re");

    if (stream)
        (void)take_fd(fd);
    return stream;
}

DIR *file_open_dir(int dirfd, const char *path)
{
    cleanup_close int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir)
        (void)take_fd(fd);
    return dir;
}

int file_write_all(int fd, const void *data, size_t len)
{
    const char *at = data;

    while (len) {
        ssize_t n = write(fd, at, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

bool file_descriptors_are_scarce(void)
{
    cleanup_close int lowest = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    struct rlimit limit;

    if (lowest < 0)
        return errno == EMFILE;
    /* Linux gives the lowest number that is free: all below it are in use. */
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)lowest >= limit.rlim_cur / 4 * 3;
}
