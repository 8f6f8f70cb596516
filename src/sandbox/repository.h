/* What git takes for a repository without being told: `.git`, and any directory that looks like the
 * inside of one. Its configuration and hooks name programs that the next git command runs. */
#pragma once

#include <stdbool.h>

/* Whether this directory is a bare repository. */
bool repository_is_bare(int dir);
