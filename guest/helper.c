#include "guest/helper.h"

#include "guest/policy/policy.h"

/* Made of library/display.py and library/tidy.py at build time. */
extern const char helper_source[], tidy_source[];

static PyObject *globals;
static PyObject *everybodys; /* the builtins of libraries, where a policy puts its guards */

/* Nothing here opens, imports, compiles or looks into frames. */
static const char *const builtin_names[] = {
    "Exception", "all",   "any",        "bool",  "dict", "enumerate", "float",
    "getattr",   "int",   "isinstance", "len",   "list", "max",       "min",
    "range",     "round", "str",        "tuple", "type", "zip",
};

/* C code that imports asks the builtins of the nearest frame, and that may be ours. It gets what
 * everybody gets, with the guard that a policy has put there since. */
static PyObject *import_as_everybody(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *function = PyDict_GetItemString(everybodys, "__import__");

    (void)self;
    if (!function) {
        PyErr_SetString(PyExc_ImportError, "__import__ not found");
        return NULL;
    }
    return PyObject_Call(function, args, kwargs);
}

static PyMethodDef import_def = {"__import__", (PyCFunction)(void (*)(void))import_as_everybody,
                                 METH_VARARGS | METH_KEYWORDS, NULL};

int helper_prepare(void)
{
    PyObject *builtins = PyEval_GetBuiltins(), *import = PyCFunction_New(&import_def, NULL);
    PyObject *few = PyDict_New(), *infinity = PyFloat_FromDouble(Py_HUGE_VAL);
    PyObject *name = PyUnicode_FromString(HELPER_FILENAME);
    int r =
        few && infinity && name && import ? PyDict_SetItemString(few, "__import__", import) : -1;

    for (size_t i = 0; r == 0 && i < sizeof(builtin_names) / sizeof(builtin_names[0]); i++) {
        PyObject *value = PyDict_GetItemString(builtins, builtin_names[i]);

        r = value ? PyDict_SetItemString(few, builtin_names[i], value) : -1;
    }
    everybodys = Py_NewRef(builtins);
    if (r == 0)
        globals =
            Py_BuildValue("{sOsOsO}", "__builtins__", few, "__name__", name, "INFINITY", infinity);
    Py_XDECREF(few);
    Py_XDECREF(infinity);
    Py_XDECREF(name);
    Py_XDECREF(import);
    return globals ? 0 : -1;
}

static int load(const char *source)
{
    PyObject *code = policy_compile_own(source, HELPER_FILENAME), *done = NULL;

    if (code)
        done = PyEval_EvalCode(code, globals, globals);
    Py_XDECREF(code);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

int helper_load(void)
{
    static bool is_loaded;

    if (!is_loaded)
        is_loaded = load(helper_source) == 0 && load(tidy_source) == 0;
    return is_loaded ? 0 : -1;
}

PyObject *helper_call(const char *function, const char *format, ...)
{
    PyObject *callable, *args, *result = NULL;
    va_list list;

    if (helper_load() < 0)
        return NULL;
    callable = PyDict_GetItemString(globals, function);
    va_start(list, format);
    args = Py_VaBuildValue(format, list);
    va_end(list);
    if (callable && args)
        result = PyObject_CallObject(callable, args);
    Py_XDECREF(args);
    return result;
}
