/* The guarded __import__(), of everybody: it asks who is calling, because a module that is loaded
 * already raises no audit event. */
#include "guest/policy/internal.h"

#include <stdio.h>

static PyObject *real_import; /* kept in the zygote before any program could touch it */
static __thread bool import_passed;

bool policy_guard_is_importing(void)
{
    return import_passed;
}

/* Argument `index` of a vectorcall, also by keyword. Borrowed or NULL. */
static PyObject *call_arg(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                          Py_ssize_t index, const char *name)
{
    if (index < nargs)
        return args[index];
    for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), name) == 0)
            return args[nargs + i];
    return NULL;
}

static int refuse_import(const struct policy *policy, struct span module, struct span name)
{
    char dotted[2 * POLICY_KEY_MAX];

    if (!name.len)
        return policy_refuse(policy, PyExc_ModuleNotFoundError, "import", module,
                             "importing module `%.*s`", SHOWN(module));
    (void)snprintf(dotted, sizeof(dotted), "%.*s.%.*s", SHOWN(module), SHOWN(name));
    return policy_refuse(policy,
                         policy_may_import(module) ? PyExc_ImportError : PyExc_ModuleNotFoundError,
                         "import", span_of(dotted), "importing `%s`", dotted);
}

/* The number of names, or 0 for a plain import; -1 when the list is not one. */
static Py_ssize_t from_count(PyObject *fromlist)
{
    if (!fromlist || fromlist == Py_None)
        return 0;
    if (PyTuple_CheckExact(fromlist) || PyList_CheckExact(fromlist))
        return PySequence_Fast_GET_SIZE(fromlist);
    return -1;
}

/* `from . import x` in a package that only the program has: what it leads to lies in there. */
static bool is_own_package(PyObject *globals)
{
    PyObject *package =
        globals && PyDict_Check(globals) ? PyDict_GetItemString(globals, "__package__") : NULL;
    bool ok;
    struct span name = policy_exact_text(package, &ok);

    return ok && name.len > 0 && !policy_module_exists(name);
}

static int check_import(const struct policy *policy, PyObject *name, PyObject *globals,
                        PyObject *fromlist, PyObject *level)
{
    Py_ssize_t count = from_count(fromlist);
    bool ok;
    struct span module = policy_exact_text(name, &ok);

    if (ok && count >= 0 && level && PyLong_CheckExact(level) && PyLong_AsLong(level) > 0 &&
        is_own_package(globals))
        return 0;
    if (!ok || count < 0 || (level && !(PyLong_CheckExact(level) && PyLong_AsLong(level) == 0)))
        return refuse_import(policy, ok ? module : span_of("?"), (struct span){"", 0});
    if (count == 0 && !policy_import_allowed(policy, module, (struct span){"", 0}))
        return refuse_import(policy, module, (struct span){"", 0});
    for (Py_ssize_t i = 0; i < count; i++) {
        struct span what = policy_exact_text(PySequence_Fast_GET_ITEM(fromlist, i), &ok);

        if (!ok || !policy_import_allowed(policy, module, what) ||
            policy_attribute_refused(policy, what))
            return refuse_import(policy, module, what);
    }
    return 0;
}

/* `from collections import _sys`: seen only when the module is there. */
static int check_imported(const struct policy *policy, PyObject *module, PyObject *fromlist)
{
    PyObject *brought;
    bool ok;

    for (Py_ssize_t i = 0; PyModule_Check(module) && i < from_count(fromlist); i++) {
        PyObject *name = PySequence_Fast_GET_ITEM(fromlist, i);
        PyObject *value = PyDict_GetItemWithError(PyModule_GetDict(module), name);
        PyObject *full;
        bool allowed;

        if (PyUnicode_CompareWithASCIIString(name, "*") == 0 &&
            (brought = policy_star_brings(policy, module)))
            return refuse_import(policy, span_of_str(brought, &ok), (struct span){"", 0});
        if (!value || !PyModule_Check(value))
            continue;
        full = PyUnicode_FromFormat("%s.%U", PyModule_GetName(module), name);
        if (!full)
            return -1;
        allowed = policy_module_object_allowed(policy, value, span_of_str(full, &ok));
        if (!allowed)
            refuse_import(policy, span_of_str(full, &ok), (struct span){"", 0});
        Py_DECREF(full);
        if (!allowed || policy_module_hand_out(policy, value) < 0)
            return -1;
    }
    return PyModule_Check(module) ? policy_module_hand_out(policy, module) : 0;
}

/* C code in the program's name (datetime.strptime() wants `_strptime`): PyImport_Import() passes an
 * empty list, which no import statement does. */
static bool is_from_c(PyObject *fromlist)
{
    return fromlist && PyList_CheckExact(fromlist) && PyList_GET_SIZE(fromlist) == 0;
}

/* A library imports: its code names the module, or calls __import__() itself. Otherwise it calls
 * what it was given. */
static bool is_library_import(PyObject *name)
{
    bool ok;
    struct span module = policy_exact_text(name, &ok);

    if (policy_caller_is_guest(false) || !ok)
        return false;
    return policy_caller_says((const char *const[]){module.data, "__import__", NULL}, SAID_AT_ALL);
}

static PyObject *guarded_import(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    const struct policy *policy = policy_sealed();
    PyObject *fromlist = call_arg(args, nargs, kwnames, 3, "fromlist");
    bool passed = import_passed;
    PyObject *module;

    (void)self;
    if (!policy || is_library_import(call_arg(args, nargs, kwnames, 0, "name")))
        return PyObject_Vectorcall(real_import, args, (size_t)nargs, kwnames);
    if (!is_from_c(fromlist) &&
        (check_import(policy, call_arg(args, nargs, kwnames, 0, "name"),
                      call_arg(args, nargs, kwnames, 1, "globals"), fromlist,
                      call_arg(args, nargs, kwnames, 4, "level")) < 0 ||
         policy_workspace_watch() < 0))
        return NULL;
    import_passed = true;
    module = PyObject_Vectorcall(real_import, args, (size_t)nargs, kwnames);
    import_passed = passed;
    if (module && check_imported(policy, module, fromlist) < 0)
        Py_CLEAR(module);
    /* C code takes the module from sys.modules; whoever looks at this value is not C code. */
    if (module && is_from_c(fromlist))
        Py_SETREF(module, Py_NewRef(Py_None));
    return module;
}

int policy_guard_import_prepare(PyObject *builtins)
{
    real_import = Py_XNewRef(PyDict_GetItemString(builtins, "__import__"));
    return real_import ? 0 : -1;
}

PyObject *policy_guard_import_new(void)
{
    static PyMethodDef def = {"__import__", (PyCFunction)(void (*)(void))guarded_import,
                              METH_FASTCALL | METH_KEYWORDS, NULL};

    return PyCFunction_New(&def, NULL);
}
