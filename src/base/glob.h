/* Patterns of file names, as clients write them.
 *
 *     *        any characters of one name, also none
 *     ?        one character
 *     [a-z]    one of these characters; [!a-z] one of the others
 *     \c       the character c itself
 *     ** /     (without the space) any number of directories, also none
 *
 * No part but the last one matches a slash. fnmatch(3) takes time that grows with the power of the
 * number of stars; here it grows with the length of the pattern times that of the path at most, and
 * every step is counted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether the whole path matches. Takes one from `*budget` for each step; when the budget is spent
 * the answer is false and `*budget` is 0. */
bool glob_match(const char *pattern, const char *path, uint64_t *budget);
