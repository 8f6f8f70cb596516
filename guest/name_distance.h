/* The distance of one name from another, for suggestions. */
#pragma once

#include <stddef.h>

#define NAME_DISTANCE_NAME_MAX ((size_t)64)

/* Letters to insert, delete or replace; case does not count. Names longer than
 * NAME_DISTANCE_NAME_MAX are far from everything. */
size_t name_distance(const char *a, size_t a_len, const char *b, size_t b_len);

/* The distance up to which one may be a slip for the other: a third of the letters. */
static inline size_t name_distance_tolerance(size_t len)
{
    return len / 3;
}
