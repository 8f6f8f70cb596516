/* For `belljar skills` alone. */
#pragma once

#include "cli/stored.h"
#include "wire/pack.h"

/* Has the code run once in a sandbox, under the profile of the settings; `only_checks`: files,
 * which are looked at (WIRE_RUN_CHECK). What comes of it is told on stderr. E_DENIED: it did not
 * run, or would not. */
int skills_try(const struct stored_command *command, struct span code, bool only_checks,
               struct error *err);
