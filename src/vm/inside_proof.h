/* Whether this process is where `--inside-machine` may be believed: in a virtual machine of
 * belljar-machine, started by its first process. What that option changes is only right there: a
 * profile that requires a machine has one.
 */
#pragma once

#include "base/config.h"

/* E_DENIED: it is not. The proof is used up. Sandboxes are the owner's of granted directories from
 * here on, if there are any: the virtiofs of Linux 6.1 has no idmapped mounts. */
int inside_begin(const struct config *config, struct error *err);
