/* Making an environment: a virtual one, what pip resolves to, checked by hash, and a manifest. */
#pragma once

#include <stdbool.h>

#include "base/config.h"
#include "base/error.h"

struct environment_wish {
    const char *name;
    const char *python;          /* "3.13", or NULL: the Python that Belljar was built with */
    struct config_list packages; /* "polars", "duckdb>=1" */
    struct config_list preload;  /* modules to import in advance; none: those of `packages` */
    const char *index;           /* URL of a package index, or NULL: what pip is set to */
    const char *wheels;          /* directory of wheels, and then nothing else, or NULL */
    const char *lock;            /* file of exact versions and hashes, or NULL */
    bool is_bare;                /* without the packages of the system */
};

/* Adds the packages of a requirements.txt to the wish: one package a line, as --with takes them.
 * Options, paths and URLs are refused. */
int environment_read_requirements(struct environment_wish *wish, const char *path,
                                  struct error *err);

/* It is there when this returns 0, and nothing of it is otherwise. Says on stderr what it does. */
int environment_make(const struct environment_wish *wish, struct error *err);

/* Makes an environment that exists anew: with the packages that it was made for, those of the wish,
 * and the newest versions that fit. If it fails, the environment is as it was. */
int environment_remake(struct environment_wish *wish, struct error *err);

/* Removes a directory that may be one, with all that is in it. */
int environment_remove_tree(const char *dir);

/* Removes it, whole or not. */
int environment_remove(const char *name, struct error *err);
