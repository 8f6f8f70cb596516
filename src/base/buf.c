#include "base/buf.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUF_FIRST_SIZE ((size_t)256)
#define BUF_READ_SIZE  ((size_t)65536)

void buf_init(struct buf *b, size_t limit)
{
    *b = (struct buf){.limit = limit};
}

void buf_done(struct buf *b)
{
    if (!b)
        return;
    free(b->data);
    *b = (struct buf){.limit = b->limit};
}

void buf_wipe(struct buf *b)
{
    if (b->data)
        explicit_bzero(b->data, b->size);
    buf_done(b);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    if (b->data)
        b->data[0] = '\0';
}

int buf_reserve(struct buf *b, size_t len, struct error *err)
{
    size_t need, size;
    char *grown;

    if (len > b->limit - b->len)
        return error_set(err, E_TOO_LARGE, "more than %zu bytes", b->limit);
    need = b->len + len + 1;
    if (need <= b->size)
        return 0;

    size = b->size ? b->size : BUF_FIRST_SIZE;
    while (size < need)
        size = size > SIZE_MAX / 2 ? need : size * 2;
    if (size > b->limit + 1)
        size = b->limit + 1;
    grown = realloc(b->data, size);
    if (!grown)
        return error_memory(err);
    b->data = grown;
    b->size = size;
    b->data[b->len] = '\0';
    return 0;
}

int buf_add(struct buf *b, const void *data, size_t len, struct error *err)
{
    int r = buf_reserve(b, len, err);

    if (r < 0)
        return r;
    if (len)
        memcpy(b->data + b->len, data, len);
    b->len += len;
    b->data[b->len] = '\0';
    return 0;
}

int buf_add_str(struct buf *b, const char *text, struct error *err)
{
    return buf_add(b, text, strlen(text), err);
}

int buf_printf(struct buf *b, struct error *err, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    int len, r;

    va_start(args, fmt);
    len = vasprintf(&text, fmt, args);
    va_end(args);
    if (len < 0)
        return error_memory(err);
    r = buf_add(b, text, (size_t)len, err);
    free(text);
    return r;
}

void buf_consume(struct buf *b, size_t len)
{
    if (len >= b->len) {
        buf_clear(b);
        return;
    }
    memmove(b->data, b->data + len, b->len - len);
    b->len -= len;
    b->data[b->len] = '\0';
}

const char *buf_str(const struct buf *b)
{
    return b->data ? b->data : "";
}

int buf_read_fd(struct buf *b, int fd, struct error *err)
{
    for (;;) {
        size_t room = b->limit - b->len;
        char probe;
        ssize_t n;
        int r;

        /* At the ceiling one more byte tells "exactly full" from "too large". */
        if (room == 0) {
            n = read(fd, &probe, 1);
            if (n > 0)
                return error_set(err, E_TOO_LARGE, "more than %zu bytes", b->limit);
        } else {
            room = room < BUF_READ_SIZE ? room : BUF_READ_SIZE;
            r = buf_reserve(b, room, err);
            if (r < 0)
                return r;
            n = read(fd, b->data + b->len, room);
        }
        if (n == 0)
            return buf_reserve(b, 0, err);
        if (n < 0) {
            if (errno == EINTR)
                continue;
            return error_errno(err, "read");
        }
        b->len += (size_t)n;
        b->data[b->len] = '\0';
    }
}
