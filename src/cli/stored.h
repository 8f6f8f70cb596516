/* Shared by `belljar state` and `belljar skills`: both read stored data from the file itself, as
 * the user whose file it is. Their output comes from programs or models, and is masked like all
 * output. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/config.h"
#include "base/error.h"
#include "mask/operator_rules.h"
#include "store/store.h"

struct stored_command {
    struct store *store;
    struct config *config;
    struct operator_rules own;
    struct masks *masks; /* engine/masking.h */
    bool is_json;
    bool has_profile; /* --profile was given */
};

struct stored_action {
    const char *name;
    int (*run)(struct stored_command *command, char **names, struct error *err);
    bool takes_names;   /* one or more; else none */
    bool takes_profile; /* --profile */
};

/* Reads the options, finds the action and runs it. Returns the exit code. */
int stored_run(int argc, char **argv, int (*print_help)(void), const struct stored_action *actions,
               size_t count);

/* JSON on stdout. */
int stored_print(const struct stored_command *command, const json_t *value, struct error *err);

/* Under a line of headings one line each, name, version, bytes, time and description; or, for
 * machines, JSON. */
int stored_print_list(const struct stored_command *command, const json_t *list, struct error *err);

/* One line each, name, version, bytes and time; or JSON. */
int stored_print_versions(const struct stored_command *command, const char *name,
                          const json_t *versions, struct error *err);

/* Bytes as they are, for files and pipes; on a terminal nothing of it moves the cursor. */
int stored_print_text(const struct stored_command *command, const char *data, size_t len,
                      struct error *err);
