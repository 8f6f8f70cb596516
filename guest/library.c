#include "guest/library.h"

void library_register(void)
{
    PyImport_FrozenModules = library_modules;
}

/* ---- functions without an import ---- */

/* Calls the function of that name in execution_runtime. The import is the program's own, so that
 * its profile decides. */
static PyObject *forward(const char *name, PyObject *args, PyObject *kwargs)
{
    PyObject *module = PyImport_ImportModule("execution_runtime");
    PyObject *function = module ? PyObject_GetAttrString(module, name) : NULL;
    PyObject *result = function ? PyObject_Call(function, args, kwargs) : NULL;

    Py_XDECREF(function);
    Py_XDECREF(module);
    return result;
}

#define FORWARD(name)                                                                              \
    static PyObject *name(PyObject *self, PyObject *args, PyObject *kwargs)                        \
    {                                                                                              \
        (void)self;                                                                                \
        return forward(#name, args, kwargs);                                                       \
    }

FORWARD(create_refactoring_session)
FORWARD(save_session_state)
FORWARD(load_session_state)
FORWARD(save_reusable_skill)
FORWARD(list_available_apis)

#define METHOD(name, parameters, text)                                                             \
    {                                                                                              \
#name, (PyCFunction)(void (*)(void))(name), METH_VARARGS | METH_KEYWORDS,                  \
            #name parameters "\n--\n\n" text                                                       \
    }

static PyMethodDef functions[] = {
    METHOD(create_refactoring_session, "(session_name, description='')",
           "Creates a session that keeps state between runs: {id, session_id, status}."),
    METHOD(save_session_state, "(session_id, state)", "Saves a dictionary of plain data."),
    METHOD(load_session_state, "(session_id, version=None)",
           "{state, history} as they were saved last."),
    METHOD(save_reusable_skill, "(name, code, description=None)",
           "Saves Python code that later programs import: from skills.NAME import f."),
    METHOD(list_available_apis, "(detail='signatures', name=None)",
           "What programs can import: names, signatures, or full help on a name."),
};

int library_prepare(void)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(functions) / sizeof(functions[0]); i++) {
        PyObject *function = PyCFunction_New(&functions[i], NULL);

        r = function ? PyDict_SetItemString(PyEval_GetBuiltins(), functions[i].ml_name, function)
                     : -1;
        Py_XDECREF(function);
    }
    return r;
}
