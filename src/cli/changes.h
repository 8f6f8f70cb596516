/* Prints changes in copy-on-write directories: `belljar run` and `belljar session` show the same
 * lines. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

/* An answer of CHANGES_SHOW (api/changes.h), a line per change and, where it has them, the diffs.
 * Returns how many there are. */
size_t changes_print(FILE *out, const json_t *answer, bool has_color);

/* An answer of the others. `what`: "applied". Returns how many were passed over. */
size_t changes_print_settled(FILE *out, const json_t *answer, const char *what);
