#include "machine/image.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Of one file. */
#define FILE_BYTES_MAX ((size_t)32 << 20)

static int pad(struct buf *image, struct error *err)
{
    static const char zeros[4];

    return buf_add(image, zeros, -image->len & 3, err);
}

static int add(struct buf *image, const char *path, unsigned mode, const unsigned device[2],
               const void *data, size_t len, struct error *err)
{
    while (*path == '/')
        path++;
    /* magic, inode, mode, uid, gid, links, time, size, device of the file, own device, name, sum */
    if (buf_printf(image, err, "070701%08X%08X%08X%08X%08X%08X%08zX%08X%08X%08X%08X%08zX%08X", 0,
                   mode, 0, 0, 1, 0, len, 0, 0, device ? device[0] : 0, device ? device[1] : 0,
                   strlen(path) + 1, 0) < 0 ||
        buf_add(image, path, strlen(path) + 1, err) < 0 || pad(image, err) < 0)
        return -1;
    return buf_add(image, data, len, err) < 0 ? -1 : pad(image, err);
}

int image_add_directory(struct buf *image, const char *path, unsigned mode, struct error *err)
{
    return add(image, path, S_IFDIR | mode, NULL, "", 0, err);
}

int image_add_file(struct buf *image, const char *path, unsigned mode, const void *data, size_t len,
                   struct error *err)
{
    return add(image, path, S_IFREG | mode, NULL, data, len, err);
}

int image_add_link(struct buf *image, const char *path, const char *target, struct error *err)
{
    return add(image, path, S_IFLNK | 0777, NULL, target, strlen(target), err);
}

int image_add_console(struct buf *image, struct error *err)
{
    static const unsigned console[2] = {5, 1};

    return add(image, "dev/console", S_IFCHR | 0600, console, "", 0, err);
}

int image_add_copy(struct buf *image, const char *path, unsigned mode, const char *source,
                   struct error *err)
{
    cleanup(buf_done) struct buf data = BUF_OF(FILE_BYTES_MAX);
    cleanup_close int fd = open(source, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return error_errno(err, "open %s", source);
    if (buf_read_fd(&data, fd, err) < 0)
        return error_wrap(err, "read %s", source);
    return image_add_file(image, path, mode, buf_str(&data), data.len, err);
}

int image_end(struct buf *image, struct error *err)
{
    return add(image, "TRAILER!!!", 0, NULL, "", 0, err);
}
