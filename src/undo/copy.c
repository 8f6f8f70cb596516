#include "undo/copy.h"

#include <errno.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* One step of a copy. */
#define CHUNK ((size_t)1 << 20)

struct copy {
    int from, to;
    uint64_t limit, stored;
    char *data; /* NULL: Linux copies */
};

int copy_clone(int from, int to)
{
    return ioctl(to, FICLONE, from) == 0;
}

static int write_at(int fd, const char *data, size_t len, off_t at, struct error *err)
{
    while (len > 0) {
        ssize_t n = pwrite(fd, data, len, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, "save a file");
        data += n;
        len -= (size_t)n;
        at += n;
    }
    return 0;
}

/* Bytes copied, 0 at the end of the file. */
static ssize_t copy_step(struct copy *c, off_t at, size_t len, struct error *err)
{
    ssize_t n;

    if (!c->data) {
        off_t in = at, out = at;

        n = copy_file_range(c->from, &in, c->to, &out, len, 0);
        /* Some file systems say 0 for what they cannot do: pread(2) knows where the end is. */
        if (n > 0)
            return n;
        c->data = malloc(CHUNK);
        if (!c->data)
            return error_memory(err);
    }
    do
        n = pread(c->from, c->data, len, at);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return error_errno(err, "read the file");
    return n > 0 && write_at(c->to, c->data, (size_t)n, at, err) < 0 ? -1 : n;
}

static int copy_range(struct copy *c, off_t at, off_t end, struct error *err)
{
    while (at < end) {
        size_t len = (uint64_t)(end - at) < CHUNK ? (size_t)(end - at) : CHUNK;
        ssize_t n;

        if (len > c->limit - c->stored)
            return error_set(err, E_TOO_LARGE, "the file is too large to be saved for undo");
        n = copy_step(c, at, len, err);
        if (n <= 0)
            return (int)n;
        c->stored += (uint64_t)n;
        at += n;
    }
    return 0;
}

static int copy_all(struct copy *c, struct error *err)
{
    struct stat st;
    off_t at = 0;

    if (fstat(c->from, &st) < 0)
        return error_errno(err, "look at the file");
    while (at < st.st_size) {
        off_t data = lseek(c->from, at, SEEK_DATA), hole;

        if (data < 0 && errno == ENXIO)
            break; /* nothing but a hole is left */
        if (data < 0)
            data = at; /* a file system without holes */
        hole = lseek(c->from, data, SEEK_HOLE);
        if (hole < 0 || hole > st.st_size)
            hole = st.st_size;
        if (copy_range(c, data, hole, err) < 0)
            return -1;
        at = hole > at ? hole : st.st_size;
    }
    return ftruncate(c->to, st.st_size) < 0 ? error_errno(err, "save a file") : 0;
}

int copy_data(int from, int to, uint64_t limit, uint64_t *stored, struct error *err)
{
    struct copy c = {.from = from, .to = to, .limit = limit};
    int r = copy_all(&c, err);

    free(c.data);
    if (r < 0)
        return -1;
    *stored += c.stored;
    return 0;
}
