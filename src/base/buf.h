/* A growable byte buffer with a ceiling. There is no way to make one without saying how large it
 * may get.
 *
 * The bytes are always followed by a NUL that does not count, so that text can be passed on as a
 * string. A write that would pass the ceiling writes nothing and fails with E_TOO_LARGE.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"

struct buf {
    char *data; /* NULL while empty */
    size_t len;
    size_t size;
    size_t limit;
};

/* An empty one, for the line of its declaration. */
#define BUF_OF(ceiling)                                                                            \
    {                                                                                              \
        .limit = (ceiling)                                                                         \
    }

void buf_init(struct buf *b, size_t limit);
void buf_done(struct buf *b);
void buf_clear(struct buf *b); /* forgets the bytes, keeps the memory */

int buf_add(struct buf *b, const void *data, size_t len, struct error *err);
int buf_add_str(struct buf *b, const char *text, struct error *err);
int buf_printf(struct buf *b, struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes room for `len` more bytes behind the last one; the caller writes there and then adds to
 * b->len. */
int buf_reserve(struct buf *b, size_t len, struct error *err);

/* Drops the first `len` bytes. */
void buf_consume(struct buf *b, size_t len);

/* The text, never NULL. */
const char *buf_str(const struct buf *b);

/* Reads the whole of `fd` from where it stands; more than the ceiling is E_TOO_LARGE. */
int buf_read_fd(struct buf *b, int fd, struct error *err);

/* Overwrites the bytes first: they may have held a secret. */
void buf_wipe(struct buf *b);
