/* Inside the module: what its parts share. */
#pragma once

#include <Python.h>

/* Takes the item, also when it fails. */
int code_append(PyObject *list, PyObject *item);

/* unused_imports(source): [(module, name, binding, level, line, is_global)]; None: no Python. */
PyObject *code_unused_imports(PyObject *self, PyObject *args);

/* occurrences(source, name, new_name, attributes=False): ([(start, len, line, kind, owner, about,
 * is_of_class)], line of a conflict or 0); None: no Python. */
PyObject *code_occurrences(PyObject *self, PyObject *args);

/* scopes(source): [(kind, name, line, bound, seen)]; None: no Python. */
PyObject *code_scopes(PyObject *self, PyObject *args);
