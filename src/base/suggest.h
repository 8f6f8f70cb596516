/* "Did you mean …": the nearest of a list of known names. */
#pragma once

#include <stddef.h>

/* The name nearest to `word` by Damerau-Levenshtein distance (case does not count), or NULL when
 * none is near enough to be what was meant. The first of equally near names wins. Entries of
 * `known` may be NULL. */
const char *suggest_nearest(const char *word, const char *const *known, size_t count);
