/* Making an environment: a virtual one, what pip resolves to, checked by hash, and a manifest. */
#pragma once

#include <stdbool.h>

#include "base/config.h"
#include "base/error.h"

struct environment_wish {
    const char *name;
    struct config_list packages; /* "polars", "duckdb>=1" */
    struct config_list preload;  /* modules to import in advance; none: those of `packages` */
    const char *index;           /* URL of a package index, or NULL: what pip is set to */
    const char *wheels;          /* directory of wheels, and then nothing else, or NULL */
    const char *lock;            /* file of exact versions and hashes, or NULL */
    bool is_bare;                /* without the packages of the system */
};

/* It is there when this returns 0, and nothing of it is otherwise. Says on stderr what it does. */
int environment_make(const struct environment_wish *wish, struct error *err);

/* Removes it, whole or not. */
int environment_remove(const char *name, struct error *err);
