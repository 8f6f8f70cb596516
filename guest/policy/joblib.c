/* joblib, and so `n_jobs` of sklearn, works in one process where processes are refused. It looks at
 * a variable of the environment when it is imported, and may have been. */
#include <stdlib.h>

#include "guest/policy/internal.h"

/* The dictionary behind os.environ, and the variable below as bytes: setting it by the way that
 * programs take runs functions of the library, which write to forty pages. */
static struct {
    PyObject *dict, *name, *value;
} variables;

#define JOBLIB_NAME  "JOBLIB_MULTIPROCESSING"
#define JOBLIB_VALUE "0"

void policy_joblib_prepare(void)
{
    PyObject *os = PyDict_GetItemString(PyImport_GetModuleDict(), "os");
    PyObject *mapping = os ? PyDict_GetItemString(PyModule_GetDict(os), "environ") : NULL;

    variables.dict = mapping ? PyObject_GetAttrString(mapping, "_data") : NULL;
    variables.name = PyBytes_FromString(JOBLIB_NAME);
    variables.value = PyBytes_FromString(JOBLIB_VALUE);
    if (variables.dict && !PyDict_CheckExact(variables.dict))
        Py_CLEAR(variables.dict);
    PyErr_Clear();
}

static int set_joblib_variable(PyObject *loaded)
{
    PyObject *os, *mapping, *zero;
    int r;

    if (variables.dict && variables.name && variables.value)
        return PyDict_SetItem(variables.dict, variables.name, variables.value) < 0
                   ? -1
                   : setenv(JOBLIB_NAME, JOBLIB_VALUE, 1);
    os = PyDict_GetItemString(loaded, "os");
    mapping = os ? PyDict_GetItemString(PyModule_GetDict(os), "environ") : NULL;
    zero = PyUnicode_FromString(JOBLIB_VALUE);
    r = mapping && zero ? PyMapping_SetItemString(mapping, JOBLIB_NAME, zero) : -1;
    Py_XDECREF(zero);
    return r;
}

int policy_joblib_stay_in_process(void)
{
    static const char *const modules[] = {"joblib._multiprocessing_helpers", "joblib.parallel",
                                          "joblib._parallel_backends"};
    PyObject *loaded = PyImport_GetModuleDict();
    int r = set_joblib_variable(loaded);

    for (size_t i = 0; r == 0 && i < COUNT_OF(modules); i++) {
        PyObject *module = PyDict_GetItemString(loaded, modules[i]);

        if (module && PyModule_Check(module))
            r = PyDict_SetItemString(PyModule_GetDict(module), "mp", Py_None);
    }
    return r;
}
