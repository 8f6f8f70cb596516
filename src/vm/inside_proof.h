/* Whether this process is where `--inside-machine` may be believed: in a virtual machine of
 * belljar-machine, started by its first process. What that option changes is only right there: a
 * profile that requires a machine has one.
 */
#pragma once

#include "base/error.h"

/* E_DENIED: it is not. The proof is used up. */
int inside_prove(struct error *err);
