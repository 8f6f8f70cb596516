/* A body in the format of gzip, unpacked as it comes. What a piece may unpack to is bounded: it is
 * done in one go. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <zlib.h>

#include "base/error.h"

struct gunzip {
    z_stream zip;
    bool is_at_end; /* of a member: more may follow */
};

/* Takes bytes of the file. -1: no more are wanted. */
typedef int (*gunzip_sink_fn)(void *user, const void *data, size_t len, struct error *err);

int gunzip_init(struct gunzip *g, struct error *err);
void gunzip_done(struct gunzip *g);

/* The next piece. E_INVALID: it is not in that format. E_TOO_LARGE: it is packed too tightly. */
int gunzip_feed(struct gunzip *g, const void *data, size_t len, gunzip_sink_fn sink, void *user,
                struct error *err);

/* At the end of the body. -1: it ends too soon. */
int gunzip_end(const struct gunzip *g, struct error *err);
