#include "wire/put.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE   4096u
#define WINDOW ((size_t)2 << 20)
#define CHUNK  ((size_t)1 << 30)

/* Past the limit on file sizes, which counts for write(2) but not for memory. */
static int put_mapped(int fd, const char *data, size_t len, uint64_t at)
{
    while (len) {
        size_t skip = at % PAGE;
        size_t part = len < WINDOW - skip ? len : WINDOW - skip;
        char *window =
            mmap(NULL, skip + part, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(at - skip));

        if (window == MAP_FAILED)
            return -errno;
        memcpy(window + skip, data, part);
        (void)munmap(window, skip + part);
        data += part;
        len -= part;
        at += part;
    }
    return 0;
}

static bool is_in_file(int fd, uint64_t end)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (uint64_t)st.st_size >= end;
}

int put_bytes(int fd, const void *data, size_t len, uint64_t at)
{
    const char *from = data;

    while (len) {
        ssize_t n = pwrite(fd, from, len < CHUNK ? len : CHUNK, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EFBIG && is_in_file(fd, at + len))
            return put_mapped(fd, from, len, at);
        if (n < 0 && errno == EFAULT) { /* behind the end of a mapped file */
            n = PAGE - (ssize_t)((uintptr_t)from % PAGE);
            n = (size_t)n < len ? n : (ssize_t)len;
        }
        if (n < 0)
            return -errno;
        from += n;
        len -= (size_t)n;
        at += (uint64_t)n;
    }
    return 0;
}
