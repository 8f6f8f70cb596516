/* What an environment is: an interpreter, what to import before the first fork, and which trees of
 * the host have to be seen for that. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/config.h"
#include "base/error.h"

struct environment {
    char *python;   /* path of the interpreter */
    char **preload; /* borrowed from the settings */
    size_t n_preload;
    struct config_list made_preload; /* where those are more than the settings' */
    struct config_list modules;      /* that profiles allow here beyond their own lists */
    char **binds;                    /* trees to show inside, read-only */
    size_t n_binds;
    char **paths; /* of those, where modules are found beside the environment's own */
    size_t n_paths;
    struct config_list variables; /* "NAME=value" for every program */
    bool warm;                    /* many forks will follow */
    bool steady; /* for runs with a seed (guest/steady/). Nothing is imported in advance: the order
                    in which random numbers are drawn is to be the program's alone. */
};

/* The environment of that name, or of the settings' (NULL). The settings must outlive it.
 * `imports`: where it is warm, the modules of the settings are imported in advance. `environment`
 * is zeroed by the caller; also after a failure it is his to end with environment_done(). */
int environment_open(struct environment *environment, const struct config *config, const char *name,
                     bool warm, bool imports, struct error *err);
/* Whether there is one of that name. A path is no name. */
int environment_check_name(const struct config *config, const char *name, struct error *err);

/* The same interpreter and trees for runs with a seed. Shares everything with `from`; is not to be
 * ended. */
struct environment environment_steady(const struct environment *from);

void environment_done(struct environment *environment);
