/* Modules that left Python's standard library, and what to use instead. */
#pragma once

#include "base/span.h"

struct removed_module {
    const char *name;
    const char *since;   /* "3.13" */
    const char *instead; /* to be read after "use" */
};

/* The module that CPython's message says is missing ("No module named 'cgi'"), or NULL if it is
 * none of these. */
const struct removed_module *removed_module_in(struct span message);
