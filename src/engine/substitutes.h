/* Packages that programs ask for and that are not installed, and what does the same work here. */
#pragma once

#include "base/span.h"

/* The substitute for the package that CPython's or pandas' message says is missing ("No
 * module named 'seaborn'", "Missing optional dependency 'tabulate'"), or NULL. `installed`: the
 * packages that may be recommended beside the standard library. */
const char *substitute_in(struct span message, const struct span *installed, size_t n_installed);
