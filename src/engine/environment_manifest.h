/* Environments made by `belljar environment create`: a directory each, a virtual environment with a
 * manifest in it, which is written last. Without one there is no environment, only what an
 * interrupted command has left. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/config.h"
#include "base/error.h"

#define MANIFEST_FILE "belljar.json"

/* A name that can be given: small letters, digits, `-` and `_`, beginning with a letter. */
int manifest_check_name(const char *name, struct error *err);

/* The path of an environment, which need not exist. The caller frees it. */
char *manifest_dir(const char *name, struct error *err);

bool manifest_exists(const char *name);

/* Its manifest: name, python, requested, modules (that the requested packages are), preload and
 * packages. NULL: *err says why. */
json_t *manifest_load(const char *name, struct error *err);

/* Writes it, and with that there is the environment. */
int manifest_store(const char *name, const json_t *manifest, struct error *err);

/* All manifests, by name. */
json_t *manifest_list(struct error *err);

/* Adds the names of one of its lists to `list`. */
int manifest_take_names(struct config_list *list, const json_t *names, struct error *err);
