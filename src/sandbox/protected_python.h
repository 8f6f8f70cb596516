/* The names of modules that Python finds beside a script before it finds its own. The table is made
 * by tools/gen-python-names.py. */
#pragma once

#include <stddef.h>

extern const char *const protected_python_names[]; /* folded, sorted */
extern const size_t protected_python_n_names;
