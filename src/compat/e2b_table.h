/* Tables of a program as E2B's clients have them: an object of columns. */
#pragma once

#include <jansson.h>

#include "base/span.h"

/* `csv`: a table's exact values; `about`: its shape and columns, as the program told them
 * (docs/guide/output.md). Both are the program's words. NULL: they do not make a table. */
json_t *e2b_table_json(struct span csv, const json_t *about);
