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
    size_t hidden;         /* bytes of changed lines that marks stand for (hidden.h) */
    bool has_invisible;    /* an added line has characters that are not to be seen (utf8.h) */
    bool is_cut;           /* `out` was full: the last hunks are missing */
};

/* Whether its lines are shown: it has no NUL byte, or nine bytes of ten at least are text. Bytes
 * that are no text are shown as \xNN. */
bool diff_is_text(struct span text);

/* Both texts as they are shown, line by line the same but for marks (hidden.h). */
struct diff_shown {
    struct span old, new;
};

/* Adds the hunks of a diff to `out`, without the two lines of names. NULL: counts only. Hunks that
 * do not fit are left out as a whole. */
int diff_unified(struct span old, struct span new, struct buf *out, struct diff_count *ret_count,
                 struct error *err);

/* Like diff_unified(), but the hunks have the lines of `shown`. The real lines are compared and
 * counted: two lines that differ only in hidden bytes both appear, with their marks. E_INTERNAL:
 * `shown` is not the same text. */
int diff_unified_shown(struct span old, struct span new, const struct diff_shown *shown,
                       struct buf *out, struct diff_count *ret_count, struct error *err);
