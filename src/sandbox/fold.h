/* Names as the most forgiving file system reads them.
 *
 * Two names that any file system may take for the same one have the same folded form: upper and
 * lower case, compatibility forms of Unicode, characters that are dropped, dots and spaces at the
 * end, and the name of a stream behind a colon make no difference.
 */
#pragma once

#include <stddef.h>

/* A name has at most 255 bytes. Each character yields at most as many as it has, but for a few of
 * two bytes and more that become up to four. */
#define FOLD_MAX 512

/* Folds one name of `len` bytes into `out` (FOLD_MAX bytes, no NUL). Returns the length. What does
 * not fit is cut: no protected name is that long. */
size_t fold_name(const char *name, size_t len, char *out);
