/* Granted directories whose git data are elsewhere: linked worktrees and submodules, whose `.git`
 * is a file that names a directory of the main repository. */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "base/run_terms.h"

/* Whether the data of the granted directory are in no granted one. `root` gets the repository that
 * has to be allowed as well. It is one only if it points back at the granted directory: a file that
 * came with a tree cannot make us name any other place. */
bool git_link_is_missing(const struct run_terms *terms, size_t grant, char root[PATH_MAX]);
