/* Our parts that are written in Python: rich output, which reads tables and figures
 * (library/display.py), and tidying up before a copy (library/tidy.py).
 *
 * It is loaded when it is first needed, or in the zygote. It has no rights of its own: to the
 * policy its frames are the program's, and its globals hold nothing a program could not have
 * itself.
 */
#pragma once

#include <Python.h>

/* The file name of its code, which tracebacks leave out. */
#define HELPER_FILENAME "<belljar>"

/* In the zygote: keeps the builtins it needs as they are now. 0 or -1. */
int helper_prepare(void);

/* Loads it. 0, or -1 with an exception. */
int helper_load(void);

/* Calls one of its functions; `format` as for PyObject_CallFunction(), a tuple in parentheses. */
PyObject *helper_call(const char *function, const char *format, ...);
