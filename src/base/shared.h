/* A text with several owners, which is not copied: an answer that is kept, and that connections
 * still send. */
#pragma once

#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"

struct shared {
    struct buf text; /* does not change once it has a second owner */
    unsigned references;
};

/* NULL: out of memory. */
static inline struct shared *shared_new(void)
{
    struct shared *shared = calloc(1, sizeof(*shared));

    if (!shared)
        return NULL;
    buf_init(&shared->text, SIZE_MAX / 2);
    shared->references = 1;
    return shared;
}

static inline struct shared *shared_ref(struct shared *shared)
{
    shared->references++;
    return shared;
}

/* Accepts NULL. */
static inline void shared_unref(struct shared *shared)
{
    if (!shared || --shared->references)
        return;
    buf_done(&shared->text);
    free(shared);
}
