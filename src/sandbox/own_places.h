/* Finds Belljar's own files and directories below granted directories, which are hidden from
 * programs: those given to protected_add_own(), and the usual ones in every home directory. */
#pragma once

#include "base/error.h"
#include "base/run.h"

struct hidden {
    char **paths; /* absolute and resolved; ends with NULL; NULL before hidden_find() */
};

/* If the directory of our own configuration or state does not exist yet, it is created: what is
 * written to it while a program runs must not be visible either. */
int hidden_find(const struct run_grant *grants, size_t count, struct hidden *ret_hidden,
                struct error *err);
void hidden_done(struct hidden *hidden);
