/* The memory of a session for its cells, as in notebooks: `_`, `__`, `___`, `Out` and `_7` of
 * values, `In`, `_i`, `_ii` and `_iii` of texts. All of it is in the program's own names, and the
 * program may do with it what it likes. */
#pragma once

#include <stdint.h>

#include <Python.h>

#include "wire/message.h"

/* Before cell `number` is run. */
void history_add_input(PyObject *globals, uint32_t number, struct span text);

/* The value of its last expression. A variable `_` of the program is left alone. */
void history_add_value(PyObject *globals, uint32_t number, PyObject *value);
