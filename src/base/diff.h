/* Unified diffs of two texts, line by line, in bounded time and memory: where they have too little
 * in common for that, everything between their common ends is shown as replaced.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "wire/pack.h"

struct diff_count {
    size_t added, removed; /* lines */
    bool has_invisible;    /* an added line has characters that are not to be seen (utf8.h) */
    bool is_cut;           /* `out` was full: the last hunks are missing */
};

/* Whether people can read it: UTF-8 without NUL. */
bool diff_is_text(struct span text);

/* Adds the hunks of a diff to `out`, without the two lines of names. NULL: counts only. Hunks that
 * do not fit are left out as a whole. */
int diff_unified(struct span old, struct span new, struct buf *out, struct diff_count *ret_count,
                 struct error *err);
