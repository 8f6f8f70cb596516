/* Which places below granted directories are Belljar's own, and are hidden from programs: those
 * that protected_add_own() was told of, and the usual ones in every home directory. */
#pragma once

#include "base/error.h"
#include "base/run.h"

struct hidden {
    char **paths; /* absolute and resolved; ends with NULL; NULL before hidden_find() */
};

/* Where the directory of our own configuration or state is not there yet, it is made: what is
 * written to it while a program runs must not be seen either. */
int hidden_find(const struct run_grant *grants, size_t count, struct hidden *ret_hidden,
                struct error *err);
void hidden_done(struct hidden *hidden);
