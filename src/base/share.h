/* Shares: how much of something that all use one of them may hold.
 *
 * Everybody may hold as much as is still free. One alone gets half, of two that want all they can
 * get each has a third, and so on: whoever comes next always finds room. Nobody has to know how
 * many there are, and what is given back is at everybody's disposal at once. Where there is nobody
 * else, all of it is one's own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct share {
    uint64_t total;  /* that there is */
    uint64_t used;   /* by all, `own` included */
    uint64_t own;    /* by the one who asks */
    bool has_others; /* somebody else may come */
};

/* The memory for requests that one caller holds (http/server.c). */
struct share_account {
    uint64_t bodies;  /* bytes of bodies that are read or worked on */
    uint64_t answers; /* bytes of answers that wait for their reader, when they were last counted */
};

static inline bool share_allows(const struct share *share, uint64_t more)
{
    uint64_t left = share->total - share->used;

    if (share->used > share->total || more > left)
        return false;
    return !share->has_others || (share->own <= left && more <= left - share->own);
}
