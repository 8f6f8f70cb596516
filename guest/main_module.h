/* The module in which programs run, without the work that PyImport_AddModule() does for a module
 * that is there: it makes and frees two objects, each on a page that a fresh process has to copy.
 */
#pragma once

#include <Python.h>

/* Once, in the zygote. 0 or -1. */
int main_module_prepare(void);

/* Made anew if a program has taken it away. Borrowed; NULL: an exception is set. */
PyObject *main_module(void);

/* Its names, borrowed. */
PyObject *main_module_names(void);
