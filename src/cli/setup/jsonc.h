/* JSON with comments and trailing commas, edited as text: settings of other programs, which people
 * write by hand. One member is put in or taken out; every other byte stays as it is, with its
 * comments, its order, its indentation and its kind of line ends.
 *
 * A path is a list of keys from the root, NULL at the end, at least one. What cannot be read is
 * E_INVALID with its line, and `out` is then not to be used.
 */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "base/buf.h"

/* Objects and arrays inside one another. */
#define JSONC_DEPTH_MAX 128

/* Nothing but space and comments is good, too: a file that was just made. */
int jsonc_check(const char *text, size_t len, struct error *err);

/* The value at that path, which the caller owns; NULL: there is none. */
int jsonc_get(const char *text, size_t len, const char *const *path, json_t **ret_value,
              struct error *err);

/* The text with that value at that path, objects on the way made where they are missing. A value
 * that is there already, and equal, keeps its own form. */
int jsonc_put(const char *text, size_t len, const char *const *path, const json_t *value,
              struct buf *out, struct error *err);

/* The text without that member; the same text where there is none. */
int jsonc_remove(const char *text, size_t len, const char *const *path, struct buf *out,
                 struct error *err);
