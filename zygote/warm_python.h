/* The warm interpreter: started once, modules imported, made ready to be forked many times. */
#pragma once

#include "base/error.h"
#include "wire/message.h"

/* Starts Python for the environment of `setup` and imports its modules. Ones that cannot be
 * imported are listed in *ret_missing as "name: why" (malloc'd strings, at most WIRE_STRINGS_MAX).
 */
int warm_python_start(const struct wire_setup *setup, char **ret_missing, size_t *ret_n_missing,
                      struct error *err);

/* Last act before the first fork: garbage becomes permanent. No Python runs in this process again.
 */
int warm_python_freeze(bool warm, struct error *err);

/* "3.13.5 (main, Jun 25 2025, 18:55:22) [GCC 14.2.0]": known before Python is started. */
const char *warm_python_build(void);

/* "3.13.5" of the interpreter that runs, and "3.13" of the headers. */
const char *warm_python_version(void);
const char *warm_python_minor(void);
