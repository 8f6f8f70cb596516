/* Standard output and error of a session's cells, which a cell may close, replace or redirect. A
 * later cell never prints into nothing without a word about it. */
#pragma once

#include <stdbool.h>

#include <Python.h>

#include "wire/message.h"

/* Before a cell: what was closed or is of no use is there again; descriptors that were redirected
 * lead to the kept ones. */
void streams_begin_cell(int kept_out, int kept_err);

/* After it: a replacement that the cell's own text asks for stays, and is told of; one that
 * something has left behind is taken away. */
void streams_end_cell(const struct wire_cell *cell);

/* A new file object on the descriptor, as the interpreter made it; NULL without an exception. */
PyObject *streams_new(int fd, const char *mode);

bool streams_is_usable(PyObject *file, const char *method);
