/* TOML files as jansson trees: tables become objects, arrays arrays, and strings, integers, floats
 * and booleans themselves. Dates, infinite numbers and strings with a NUL inside are refused,
 * because no file of ours holds any.
 *
 * A mistake is E_INVALID and reads "FILE:LINE: what was read, what was expected". A missing file is
 * E_NOT_FOUND, one that may not be read E_DENIED, one above LIMIT_CONFIG_BYTES E_TOO_LARGE; only
 * regular files are read.
 */
#pragma once

#include <stddef.h>

#include <jansson.h>

/* Tables and arrays inside one another. */
#define TOML_DEPTH_MAX 32

#ifdef __cplusplus
extern "C" {
#endif

#include "base/error.h"

/* The caller owns *ret_tree, always an object. */
int toml_load(const char *path, json_t **ret_tree, struct error *err);

/* Also returns line numbers, for messages about values that are well-formed but wrong
 * (toml_line()). The caller owns *ret_lines. This costs a little: a caller in a hurry loads
 * without, and loads again with lines after it has found an error. */
int toml_load_lines(const char *path, json_t **ret_tree, json_t **ret_lines, struct error *err);

/* Like toml_load_lines() from memory; `name` stands for the file in messages, ret_lines may be
 * NULL. */
int toml_parse(const char *name, const char *text, size_t len, json_t **ret_tree,
               json_t **ret_lines, struct error *err);

/* The line of a value by its path: "limits.timeout_s", "imports.allow[3]" (the first is 0); 0 when
 * unknown. */
int toml_line(const json_t *lines, const char *path);

#ifdef __cplusplus
}
#endif
