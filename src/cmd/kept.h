/* What `belljar state` and `belljar skills` share: both look at what outlives runs, in the file
 * itself, as the user whose file it is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/error.h"
#include "state/store.h"

struct kept_action {
    const char *name;
    int (*run)(struct store *store, char **names, bool is_json, struct error *err);
    bool takes_names; /* one or more; else none */
};

/* Reads the options, finds the action and runs it. Returns the exit code. */
int kept_run(int argc, char **argv, int (*print_help)(void), const struct kept_action *actions,
             size_t count);

int kept_print(const json_t *value, struct error *err);
void kept_print_list(const json_t *list); /* name, version, bytes, time, description */
