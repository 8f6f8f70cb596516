/* Any text as a program with lines of notebooks: the translation is bounded and reads nothing
 * behind the text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "guest/notebook.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Under the address checker: no search for leaks. The interpreter is never taken down; what this
 * target itself allocates is freed below. */
int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void)
{
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    char *copy = malloc(len + 1), *text, *bare;
    PyObject *names;

    if (!Py_IsInitialized())
        Py_InitializeEx(0); /* it parses parts of lines */
    if (!copy)
        abort();
    memcpy(copy, data, len);
    text = notebook_translate((struct span){copy, len});
    if (text && strlen(text) > 64 * (len + 64))
        abort();
    names = PyDict_New();
    bare = names ? notebook_translate_bare((struct span){copy, len}, names) : NULL;
    if (bare && strlen(bare) > 64 * (len + 64))
        abort();
    Py_XDECREF(names);
    PyMem_RawFree(bare);
    PyMem_RawFree(text);
    free(copy);
    return 0;
}
