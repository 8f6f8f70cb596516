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

/* ---- help ---- */

static PyObject *real_help; /* of the module `site`, or NULL */

/* help(x): a module of ours says in a few lines what it has; pydoc says the rest. */
static PyObject *help(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *thing = PyTuple_GET_SIZE(args) == 1 ? PyTuple_GET_ITEM(args, 0) : NULL;
    PyObject *own = thing && PyModule_Check(thing) && !kwargs
                        ? PyDict_GetItemString(PyModule_GetDict(thing), "__help__")
                        : NULL;
    PyObject *text, *out;
    int r = -1;

    (void)self;
    if (!own || !real_help)
        return real_help ? PyObject_Call(real_help, args, kwargs) : Py_NewRef(Py_None);
    text = PyObject_CallNoArgs(own);
    out = PySys_GetObject("stdout");
    if (text && out)
        r = PyFile_WriteObject(text, out, Py_PRINT_RAW);
    if (r == 0)
        r = PyFile_WriteString("\n", out);
    Py_XDECREF(text);
    return r == 0 ? Py_NewRef(Py_None) : NULL;
}

static PyMethodDef help_definition =
    METHOD(help, "(*args)", "Help on a module, function or class.");

static int replace_help(void)
{
    PyObject *builtins = PyEval_GetBuiltins();
    PyObject *function;
    int r;

    real_help = PyDict_GetItemString(builtins, "help");
    if (!real_help)
        return 0; /* an interpreter without `site` */
    Py_INCREF(real_help);
    function = PyCFunction_New(&help_definition, NULL);
    r = function ? PyDict_SetItemString(builtins, "help", function) : -1;
    Py_XDECREF(function);
    return r;
}

int library_prepare(void)
{
    int r = replace_help();

    for (size_t i = 0; r == 0 && i < sizeof(functions) / sizeof(functions[0]); i++) {
        PyObject *function = PyCFunction_New(&functions[i], NULL);

        r = function ? PyDict_SetItemString(PyEval_GetBuiltins(), functions[i].ml_name, function)
                     : -1;
        Py_XDECREF(function);
    }
    return r;
}
