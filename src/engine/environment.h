/* An environment: an interpreter, the modules to import before the first fork, and the trees of the
 * host that it needs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/config.h"
#include "base/error.h"
#include "engine/pythons.h"
#include "wire/message.h"

struct environment {
    char *program; /* path of the zygote of this version */
    char version[PYTHON_VERSION_TEXT];
    char *python;   /* path of the interpreter */
    char **preload; /* borrowed from the settings */
    size_t n_preload;
    struct config_list made_preload; /* where those are more than the settings' */
    struct config_list modules;      /* that profiles allow here beyond their own lists */
    char **binds;                    /* trees to show inside, read-only */
    size_t n_binds;
    char **paths; /* of those, where modules are found beside the environment's own */
    size_t n_paths;
    struct config_list variables;  /* "NAME=value" for every program */
    struct wire_policies policies; /* that its zygote reads in advance; borrowed */
    bool is_on_host;               /* its sandboxes have no namespaces: the level `process` */
    bool warm;                     /* many forks will follow */
    bool steady; /* for runs with a seed (guest/steady/). Nothing is imported in advance: the order
                    in which random numbers are drawn is to be the program's alone. */
};

/* The environment of that name, or of the settings' (NULL). The settings must outlive it.
 * `imports`: for a warm one, the modules of the settings are imported in advance. The caller zeroes
 * `environment` and ends it with environment_done(), also after a failure. */
int environment_open(struct environment *environment, const struct config *config, const char *name,
                     bool warm, bool imports, struct error *err);
/* Whether there is one of that name. A path is no name. */
int environment_check_name(const struct config *config, const char *name, struct error *err);

/* Makes the environment for runs with a seed, with the interpreter and trees of `from`. It shares
 * everything with `from`; do not end it. */
struct environment environment_steady(const struct environment *from);

/* Makes the one of `from` in which nothing is imported in advance. It shares everything with it, as
 * above. */
struct environment environment_bare(const struct environment *from);

void environment_done(struct environment *environment);
