/* "Did you mean …": the nearest of a list of known names. */
#pragma once

#include <stddef.h>

/* The name nearest to `word` by Damerau-Levenshtein distance (case does not count), or NULL when
 * none is near enough to be what was meant. The first of equally near names wins. Entries of
 * `known` may be NULL. */
const char *suggest_nearest(const char *word, const char *const *known, size_t count);

/* The first name that has one of the words (of four letters or more) of `text` in it, or NULL:
 * "apply changes" finds `review_changes`. */
const char *suggest_by_words(const char *text, const char *const *known, size_t count);
