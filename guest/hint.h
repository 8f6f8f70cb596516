/* Collects names that help to explain an exception: the module that was probably meant, and the
 * installed ones.
 *
 * Only names leave from here; the supervisor makes the sentence (wire/message.h).
 */
#pragma once

#include <Python.h>

#include "wire/message.h"

struct hint {
    uint32_t advice; /* enum wire_advice */
    struct wire_strings names;
    char nearest[65], version[33];
};

/* Looks at the exception and at the directories of the library. Starts from nothing, and clears
 * whatever goes wrong on the way. The names stay valid while `ret_hint` does not move. */
void hint_find(PyObject *exception, struct hint *ret_hint);
