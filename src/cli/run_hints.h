/* Hints that only `belljar run` can give: it knows its flags and what lies next to the program. */
#pragma once

#include <jansson.h>

#include "base/run.h"

/* `file` is the program's, or NULL. `result` is the answer of a server, or NULL for a run of our
 * own. */
void run_hints_add(struct run *run, const char *file, json_t *result);

/* The place of a command on this machine, by $PATH as a shell finds it; NULL: there is none. The
 * caller frees it. */
char *run_hints_place_of(const char *name);

/* For a run at a terminal that did not get it: says how, if the program wanted to read what is
 * typed. */
void run_hints_add_typing(struct run *run);
