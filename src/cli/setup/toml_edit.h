/* TOML files of other programs, edited as text: one table [OUTER.NAME] is put in, changed or taken
 * out, and every other byte stays. What the change means is compared with what it should mean
 * before it is given back, by the parser that reads our own files (base/toml.h).
 *
 * The table has to stand under a header of its own, or not at all: one that is written in another
 * way is left to its author (E_UNSUPPORTED).
 */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "base/buf.h"

struct toml_table_name {
    const char *outer, *name;
};

/* The table, which the caller owns; NULL: there is none. */
int toml_edit_get(const char *text, size_t len, const struct toml_table_name *table,
                  json_t **ret_value, struct error *err);

/* `values` is a flat object of strings, integers and arrays of strings. Other keys of the table
 * stay. */
int toml_edit_put(const char *text, size_t len, const struct toml_table_name *table,
                  const json_t *values, struct buf *out, struct error *err);

/* The text without the table and those below it; the same text where there is none. */
int toml_edit_remove(const char *text, size_t len, const struct toml_table_name *table,
                     struct buf *out, struct error *err);
