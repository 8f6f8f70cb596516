/* The module as a file that any interpreter can load: those that programs start, and tests, which
 * compare it with `ast` over whole trees. */
#include <Python.h>

#include "library/code/module.h"

PyMODINIT_FUNC PyInit__belljar_code(void);

PyMODINIT_FUNC PyInit__belljar_code(void)
{
    return code_module();
}
