/* The module _belljar_mask: the masker for programs that want to use it themselves. What leaves a
 * sandbox is masked outside, whatever they do. */
#pragma once

#include <Python.h>

/* For PyImport_AppendInittab(). */
PyObject *masking_module(void);
