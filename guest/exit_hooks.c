#include "guest/exit_hooks.h"

#include <Python.h>
#include <stdbool.h>
#include <string.h>

#include "guest/versions.h"

#define STATES_MAX 16

/* Functions of which we know what they look at: where that is as it was, they do nothing that could
 * be seen. Without states: only frees memory. */
static const struct known {
    const char *module, *function;
    struct {
        const char *module, *object;
    } states[2];
    bool may_be_filled; /* in the zygote already */
} known[] = {
    {"logging", "shutdown", {{"logging", "_handlerList"}}, true},
    {"multiprocessing.util",
     "_exit_function",
     {{"multiprocessing.util", "_finalizer_registry"}, {"multiprocessing.process", "_children"}},
     false},
    {"matplotlib._pylab_helpers",
     "Gcf.destroy_all",
     {{"matplotlib._pylab_helpers", "Gcf.figs"}},
     false},
    {"PIL._imaging", "clear_cache", {{0}}, false},
};

/* Objects and how many things were in each; they are kept by reference, since looking them up by
 * name would touch more memory than a small program does. */
static struct {
    PyObject *object;
    Py_ssize_t size;
} states[STATES_MAX];
static size_t n_states;
static bool is_prepared;

/* Of threading: called before threads are waited for. Those of preloaded modules look after threads
 * of their own only. */
static PyObject *thread_functions;
static Py_ssize_t n_thread_functions;

static PyObject *count_function; /* atexit._ncallbacks */
static long n_functions;

/* --- in the zygote --- */

/* `object` may be dotted. A new reference, or NULL without an exception. */
static PyObject *look_up(const char *module, const char *object)
{
    PyObject *at = PyDict_GetItemString(PyImport_GetModuleDict(), module);
    char name[64];

    Py_XINCREF(at);
    while (at && *object) {
        size_t len = strcspn(object, ".");
        PyObject *next;

        (void)snprintf(name, sizeof(name), "%.*s", (int)len, object);
        next = PyObject_GetAttrString(at, name);
        Py_DECREF(at);
        at = next;
        object += len + (object[len] == '.');
    }
    PyErr_Clear();
    return at;
}

/* Handlers that hold nothing back. Others might have something of the program's to write. */
static bool are_plain_handlers(PyObject *list)
{
    static const char *const plain[] = {"NullHandler", "StreamHandler", "_StderrHandler"};

    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *handler = PyObject_CallNoArgs(PyList_GET_ITEM(list, i)); /* weak references */
        bool is_plain = handler == Py_None;

        for (size_t j = 0; handler && j < sizeof(plain) / sizeof(plain[0]); j++)
            is_plain |= strcmp(Py_TYPE(handler)->tp_name, plain[j]) == 0;
        Py_XDECREF(handler);
        PyErr_Clear();
        if (!is_plain)
            return false;
    }
    return true;
}

static bool add_state(PyObject *object, bool may_be_filled)
{
    Py_ssize_t size = object ? PyObject_Size(object) : -1;

    PyErr_Clear();
    if (size < 0 || n_states == STATES_MAX || (size > 0 && !may_be_filled) ||
        (size > 0 && (!PyList_Check(object) || !are_plain_handlers(object))))
        return false;
    states[n_states].object = Py_NewRef(object);
    states[n_states++].size = size;
    return true;
}

static bool know(PyObject *function)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        PyObject *ours = look_up(known[i].module, known[i].function);
        bool is_it = ours && PyObject_RichCompareBool(ours, function, Py_EQ) == 1;

        Py_XDECREF(ours);
        PyErr_Clear();
        if (!is_it)
            continue;
        for (size_t j = 0; j < 2 && known[i].states[j].module; j++) {
            PyObject *state = look_up(known[i].states[j].module, known[i].states[j].object);

            is_it &= add_state(state, known[i].may_be_filled);
            Py_XDECREF(state);
        }
        return is_it;
    }
    return false;
}

static long count(void)
{
    PyObject *number = PyObject_CallNoArgs(count_function);
    long n = number ? PyLong_AsLong(number) : -1;

    Py_XDECREF(number);
    PyErr_Clear();
    return n;
}

/* Nobody can ask the module what it was given, so we listen while modules are imported. One that
 * keeps this function for later has one that does what it should. */
static PyObject *real_register, *heard;

static PyObject *listen(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)self;
    if (heard &&
        (PyTuple_GET_SIZE(args) == 0 || PyList_Append(heard, PyTuple_GET_ITEM(args, 0)) < 0))
        PyErr_Clear(); /* the number will not be right */
    return PyObject_Call(real_register, args, kwargs);
}

static PyMethodDef listen_def = {"register", (PyCFunction)(void (*)(void))listen,
                                 METH_VARARGS | METH_KEYWORDS, NULL};

int exit_hooks_listen(void)
{
    PyObject *module = PyImport_ImportModule("atexit");
    PyObject *ours = PyCFunction_New(&listen_def, NULL);
    int r = -1;

    if (module && ours) {
        real_register = PyObject_GetAttrString(module, "register");
        heard = PyList_New(0);
        if (real_register && heard)
            r = PyObject_SetAttrString(module, "register", ours);
    }
    Py_XDECREF(module);
    Py_XDECREF(ours);
    return r;
}

static bool know_all(void)
{
    if (n_functions != PyList_GET_SIZE(heard))
        return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(heard); i++)
        if (!know(PyList_GET_ITEM(heard, i)))
            return false;
    return true;
}

void exit_hooks_prepare(void)
{
    PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), "atexit");

    if (!module || !heard || PyObject_SetAttrString(module, "register", real_register) < 0) {
        PyErr_Clear();
        return;
    }
    thread_functions = look_up("threading", "_threading_atexits");
    if (thread_functions && !PyList_Check(thread_functions))
        Py_CLEAR(thread_functions);
    n_thread_functions = thread_functions ? PyList_GET_SIZE(thread_functions) : 0;
    count_function = look_up("atexit", "_ncallbacks");
    n_functions = count_function ? count() : -1;
    is_prepared = know_all();
    Py_CLEAR(heard);
}

/* --- at the end --- */

static void call_if_loaded(const char *module_name, const char *function)
{
    PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), module_name);
    PyObject *result;

    if (!module)
        return;
    result = PyObject_CallMethod(module, function, NULL);
    if (!result)
        PyErr_WriteUnraisable(module);
    Py_XDECREF(result);
}

/* Somebody to wait for, or something of the program's own to call before waiting? Python's way to
 * find that out touches some fifty pages. */
static bool has_threads(void)
{
    PyThreadState *first = PyInterpreterState_ThreadHead(PyInterpreterState_Get());

    return PyThreadState_Next(first) || !thread_functions ||
           PyList_GET_SIZE(thread_functions) != n_thread_functions;
}

static bool has_functions(void)
{
    if (!is_prepared || count() != n_functions)
        return true;
    for (size_t i = 0; i < n_states; i++)
        if (PyObject_Size(states[i].object) != states[i].size)
            return true;
    return false;
}

void exit_hooks_run(void)
{
    if (has_threads())
        call_if_loaded("threading", "_shutdown");
    if (has_functions())
        call_if_loaded("atexit", "_run_exitfuncs");
    PyErr_Clear();
}

/* --- the program's own objects --- */

/* Output from here on goes where that of the program goes, and no traceback keeps a frame alive. */
static void reset_sys(void)
{
    static const char *const streams[][2] = {{"stdout", "__stdout__"}, {"stderr", "__stderr__"}};
    static const char *const kept[] = {"last_type", "last_value", "last_traceback", "last_exc"};

    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        PyObject *real = PySys_GetObject(streams[i][1]);

        if (real)
            (void)PySys_SetObject(streams[i][0], real);
    }
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        if (PySys_GetObject(kept[i]))
            (void)PySys_SetObject(kept[i], Py_None);
    PyErr_Clear();
}

/* As CPython does: names with one underscore before the others, in the order of their making. */
static void clear_names(PyObject *dict, bool is_private)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (PyDict_Next(dict, &at, &key, &value)) {
        Py_UCS4 first, second;

        if (value == Py_None || !PyUnicode_Check(key) || PyUnicode_GET_LENGTH(key) == 0)
            continue;
        first = PyUnicode_READ_CHAR(key, 0);
        second = PyUnicode_GET_LENGTH(key) > 1 ? PyUnicode_READ_CHAR(key, 1) : 0;
        if ((first == '_' && second != '_') != is_private ||
            PyUnicode_CompareWithASCIIString(key, "__builtins__") == 0)
            continue;
        if (PyDict_SetItem(dict, key, Py_None) < 0)
            PyErr_Clear();
    }
}

/* Somebody else keeps the module. A thread that goes on needs its names. */
static void clear_module(PyObject *module)
{
    PyObject *dict = PyModule_Check(module) && !has_threads() ? PyModule_GetDict(module) : NULL;

    Py_XINCREF(dict);
    for (int is_private = 1; dict && is_private >= 0; is_private--)
        clear_names(dict, is_private);
    Py_XDECREF(dict);
}

/* The zygote has frozen its objects: the collector neither looks at them nor frees them. The names
 * of the program are in one of those, which is an ordinary object again from here on. */
static void thaw(PyObject *dict)
{
    if (!PyObject_GC_IsTracked(dict))
        return;
    PyObject_GC_UnTrack(dict);
    PyObject_GC_Track(dict);
}

void exit_hooks_release(void)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = PyDict_GetItemString(modules, "__main__");
    PyObject *weak = module ? PyWeakref_NewRef(module, NULL) : NULL;
    PyObject *left;

    if (!weak) {
        PyErr_Clear();
        return;
    }
    reset_sys();
    if (PyModule_Check(module))
        thaw(PyModule_GetDict(module));
    (void)PyGC_Enable();
    /* As CPython does, and for more than tidiness: a collection leaves the objects in the order in
     * which they are reached. Files are finalized before the buffers they write to only then; in
     * the order of their making, a file in a cycle would lose what it has not written. */
    (void)PyGC_Collect();
    if (PyDict_SetItemString(modules, "__main__", Py_None) < 0)
        PyErr_Clear();
    (void)PyGC_Collect();
    left = weak_target(weak);
    if (left) {
        clear_module(left);
        (void)PyGC_Collect();
    }
    Py_DECREF(weak);
    PyErr_Clear();
}
