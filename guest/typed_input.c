#include "guest/typed_input.h"

#include <Python.h>

static PyObject *begin; /* of the module */

int typed_input_load(void)
{
    PyObject *module = PyImport_ImportModule("_belljar_typed");

    begin = module ? PyObject_GetAttrString(module, "begin") : NULL;
    Py_XDECREF(module);
    return begin ? 0 : -1;
}

/* A failure leaves standard input as it is: empty. */
void typed_input_begin(struct span code)
{
    bool has_getpass =
        PyDict_GetItemString(PyImport_GetModuleDict(), "getpass") || span_contains(code, "getpass");
    PyObject *done = begin ? PyObject_CallOneArg(begin, has_getpass ? Py_True : Py_False) : NULL;

    if (!done)
        PyErr_Clear();
    Py_XDECREF(done);
}
