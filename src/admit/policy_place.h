/* Rules are never read from where a program can write: the file of a profile or of settings in a
 * directory that is granted for writing would be the program's to change, for its next run. */
#pragma once

#include "base/run.h"

/* E_DENIED: the file `path` is in a directory that the run may write. `what` names the file's kind,
 * as in "the profile". NULL: no file. */
int policy_place_check(const struct run *run, const char *path, const char *what,
                       struct error *err);
