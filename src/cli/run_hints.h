/* Hints that only `belljar run` can give: it knows its flags and what lies next to the program. */
#pragma once

#include <jansson.h>

#include "base/run.h"

/* `file` is the program's, or NULL. `result` is the answer of a server, or NULL for a run of our
 * own. */
void run_hints_add(struct run *run, const char *file, json_t *result);

/* For a run at a terminal that did not get it: says how, if the program wanted to read what is
 * typed. */
void run_hints_add_typing(struct run *run);
