/* Modules as the program sees them.
 *
 * Modules are full of other modules: `random._os`, `json.codecs`, `logging.sys`. A module that the
 * profile allows in part has, for the program, the names that the profile lists and no others; one
 * that it does not allow has none. It is the same object that libraries use: what differs is who
 * looks at it. So it does not matter how the program came by the module, from an import, an
 * attribute, a list or sys.modules.
 *
 * Every read of an attribute of a module comes through get_attribute(), but for those that the
 * interpreter has specialised for one module. It does not do so for modules with a `__getattr__`,
 * and mark() gives them one: those that are not the program's in full, or hold such a module.
 */
#include "guest/policy/internal.h"
#include "guest/versions.h"

#include <string.h>

static getattrofunc real_getattro;
static setattrofunc real_setattro;
static initproc real_init;

/* C code of ours reads attributes by a name that somebody gave. */
static __thread bool is_by_name;

/* The module that a function of the program reads from next, whoever has called that function. */
static __thread const PyObject *read_for_program;

void policy_modules_read_for_program(PyObject *object)
{
    read_for_program = object && PyModule_Check(object) ? object : NULL;
}

bool policy_modules_read_by_name(bool on)
{
    bool before = is_by_name;

    is_by_name = on;
    return before;
}

/* ---- what the profile says ---- */

static struct span name_of(PyObject *module)
{
    PyObject *dict = PyModule_GetDict(module);
    PyObject *name = dict ? PyDict_GetItemString(dict, "__name__") : NULL;
    struct span text = {"", 0};
    bool ok;

    if (name && PyUnicode_CheckExact(name))
        text = span_of_str(name, &ok);
    return span_is(text, "posixpath") ? span_of("os.path") : text;
}

/* Made by types.ModuleType(), not by an import: it holds what its maker put into it. */
static bool is_homemade(PyObject *module)
{
    PyObject *dict = PyModule_GetDict(module);
    PyObject *spec = dict ? PyDict_GetItemString(dict, "__spec__") : NULL;

    return !spec || spec == Py_None;
}

enum policy_view policy_module_view(const struct policy *policy, PyObject *module)
{
    struct span name = name_of(module);

    if (policy_module_granular(policy, name))
        return policy->flags & POLICY_PARTS_SHOWN ? VIEW_PARTS : VIEW_NONE;
    if (name.len > 0 && policy_module_allowed(policy, name))
        return VIEW_WHOLE;
    return is_homemade(module) ? VIEW_WHOLE : VIEW_NONE;
}

/* Views are asked for at every access and never change, but for what is_homemade() looks at, which
 * programs cannot set. */
#define CACHE_SIZE 256

static struct {
    PyObject *module;
    enum policy_view view;
} cache[CACHE_SIZE];

static enum policy_view view_of(const struct policy *policy, PyObject *module)
{
    size_t at = ((uintptr_t)module >> 4) % CACHE_SIZE;

    if (cache[at].module != module) {
        enum policy_view view = policy_module_view(policy, module);

        /* A module that is kept can be freed, and another one take its place. */
        if (view == VIEW_WHOLE && is_homemade(module))
            return view;
        Py_XSETREF(cache[at].module, Py_NewRef(module));
        cache[at].view = view;
    }
    return cache[at].view;
}

/* Labels of a module are not secret: every profile shows them. The interpreter itself reads
 * `_module_repr` of importlib, to show a module as text. */
static bool is_label(struct span name)
{
    return span_is(name, "__name__") || span_is(name, "__doc__") || span_is(name, "__version__") ||
           span_is(name, "__file__") || span_is(name, "_module_repr");
}

bool policy_member_allowed(const struct policy *policy, PyObject *module, struct span name,
                           PyObject *value)
{
    enum policy_view view = view_of(policy, module);
    struct span own = name_of(module);
    bool is_module = value && PyModule_Check(value);
    char reached[2 * POLICY_KEY_MAX];
    int len;

    if (span_is(name, "__dict__"))
        return is_homemade(module);
    if (view == VIEW_WHOLE && !is_module)
        return true;
    if (is_module && own.len + name.len + 2 < sizeof(reached)) {
        len = snprintf(reached, sizeof(reached), "%.*s.%.*s", (int)own.len, own.data, (int)name.len,
                       name.data);
        if (len > 0 && policy_module_named(policy, (struct span){reached, (size_t)len}))
            return true;
    }
    if (is_module)
        return view_of(policy, value) != VIEW_NONE;
    return is_label(name) || policy_from_allowed(policy, own, name);
}

/* ---- marks ---- */

static PyObject *no_attribute(PyObject *module, PyObject *name)
{
    PyErr_Format(PyExc_AttributeError, "module '%s' has no attribute '%U'",
                 PyModule_GetName(module), name);
    return NULL;
}

static PyMethodDef mark_def = {"__getattr__", no_attribute, METH_O, NULL};

static int mark(PyObject *module)
{
    PyObject *dict = PyModule_GetDict(module);
    PyObject *function;
    int r;

    if (!PyModule_CheckExact(module) || PyDict_GetItemString(dict, "__getattr__"))
        return 0;
    function = PyCFunction_New(&mark_def, module);
    r = function ? PyDict_SetItemString(dict, "__getattr__", function) : -1;
    Py_XDECREF(function);
    return r;
}

static bool holds_refused(const struct policy *policy, PyObject *module)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (PyDict_Next(PyModule_GetDict(module), &at, &key, &value))
        if (PyModule_Check(value) && policy_module_view(policy, value) == VIEW_NONE)
            return true;
    return false;
}

int policy_module_hand_out(const struct policy *policy, PyObject *module)
{
    if (view_of(policy, module) == VIEW_WHOLE && !holds_refused(policy, module))
        return 0;
    return mark(module);
}

/* ---- reading ---- */

/* The nearest frame reads, sets or deletes an attribute just now. Otherwise C code does that it has
 * called: compiled libraries have no frames. */
static bool is_read_by_frame(void)
{
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    PyCodeObject *code;
    PyObject *bytes;
    int at, op = 0;

    if (!frame)
        return false;
    code = PyFrame_GetCode(frame);
    bytes = PyCode_GetCode(code);
    at = PyFrame_GetLasti(frame);
    if (bytes && at >= 0 && at < PyBytes_GET_SIZE(bytes))
        op = (unsigned char)PyBytes_AS_STRING(bytes)[at];
    Py_XDECREF(bytes);
    Py_DECREF(code);
    Py_DECREF(frame);
    return op == LOAD_ATTR || op == LOAD_METHOD || op == IMPORT_FROM || op == MATCH_CLASS ||
           op == STORE_ATTR || op == DELETE_ATTR;
}

/* The program's own code does, or has the standard library read by a name. */
static bool is_read_by_program(void)
{
    return is_by_name ? policy_caller_is_guest(true)
                      : policy_caller_is_guest(false) && is_read_by_frame();
}

/* A bound slot such as `(1).__add__`. Its type has no public name in C since Python 3.13. No
 * program makes a type that is not on the heap, so the type's own name can be believed. */
static bool is_bound_slot(PyTypeObject *type)
{
    return !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) &&
           strcmp(type->tp_name, "method-wrapper") == 0;
}

/* Its signature is text in compiled code. That of a class in Python is in its docstring, where a
 * program writes what it likes. */
static bool is_compiled(PyObject *callable)
{
    if (PyType_Check(callable))
        return !PyType_HasFeature((PyTypeObject *)callable, Py_TPFLAGS_HEAPTYPE);
    return PyCFunction_Check(callable) || Py_IS_TYPE(callable, &PyMethodDescr_Type) ||
           Py_IS_TYPE(callable, &PyClassMethodDescr_Type) ||
           Py_IS_TYPE(callable, &PyWrapperDescr_Type) || is_bound_slot(Py_TYPE(callable));
}

/* inspect.signature(len) looks up the names of default values in the module of the function. */
static bool is_for_signature(void)
{
    static const char *const files[] = {"/inspect.py"};
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    PyCodeObject *code = frame ? PyFrame_GetCode(frame) : NULL;
    PyObject *locals = NULL, *callable = NULL;
    bool is_one = false;

    if (code && policy_caller_file_is(files, COUNT_OF(files)) &&
        PyUnicode_CompareWithASCIIString(code->co_name, "_signature_fromstr") == 0)
        locals = PyFrame_GetLocals(frame);
    if (locals)
        callable = PyMapping_GetItemString(locals, "obj");
    if (callable)
        is_one = is_compiled(callable);
    else
        PyErr_Clear();
    Py_XDECREF(callable);
    Py_XDECREF(locals);
    Py_XDECREF(code);
    Py_XDECREF(frame);
    return is_one;
}

/* gettext.install() makes `_` a builtin: of the program, which has builtins of its own. */
static bool is_for_gettext(PyObject *module, struct span name)
{
    static const char *const files[] = {"/gettext.py"};

    return span_is(name, "__dict__") && span_is(name_of(module), "builtins") &&
           policy_program_builtins() && policy_caller_file_is(files, COUNT_OF(files));
}

/* doctest and the like take all names of a module at once, for whoever asks. Modules that are being
 * imported do so for themselves. */
static bool is_taken_whole(const struct policy *policy, PyObject *module, struct span name)
{
    return span_is(name, "__dict__") && view_of(policy, module) != VIEW_WHOLE &&
           is_read_by_frame() && policy_caller_is_guest(true) && !policy_caller_is_importing() &&
           !is_for_signature();
}

static void refuse(const struct policy *policy, PyObject *module, struct span name)
{
    struct span own = name_of(module);
    char dotted[2 * POLICY_KEY_MAX];

    (void)snprintf(dotted, sizeof(dotted), "%.*s.%.*s", SHOWN(own), SHOWN(name));
    if (span_is(name, "__dict__"))
        policy_refuse(policy, PyExc_AttributeError, "attribute", name, "`%s`", dotted);
    else
        policy_refuse(policy, PyExc_AttributeError, "import", span_of(dotted), "`%s`", dotted);
}

static PyObject *get_attribute(PyObject *module, PyObject *name)
{
    const struct policy *policy = policy_sealed();
    bool is_for_program = read_for_program == module, ok;
    struct span text;
    PyObject *value;

    read_for_program = NULL; /* what the module itself reads is not */
    value = real_getattro(module, name);
    if (!policy || !value)
        return value;
    text = span_of_str(name, &ok);
    if (!ok || policy_member_allowed(policy, module, text, value)) {
        if (PyModule_Check(value) && policy_module_hand_out(policy, value) < 0)
            Py_CLEAR(value);
        return value;
    }
    if (is_for_gettext(module, text))
        Py_SETREF(value, Py_NewRef(policy_program_builtins()));
    else if (is_for_program || is_read_by_program() || is_taken_whole(policy, module, text)) {
        Py_CLEAR(value);
        (void)mark(module);
        refuse(policy, module, text);
    }
    return value;
}

/* A module keeps its name, by which it is judged; and of what the program sees in part, it changes
 * what it sees. */
static int set_attribute(PyObject *module, PyObject *name, PyObject *value)
{
    const struct policy *policy = policy_sealed();
    struct span text;
    bool ok, is_identity;

    if (policy && PyUnicode_Check(name)) {
        text = span_of_str(name, &ok);
        is_identity = span_is(text, "__name__") || span_is(text, "__spec__");
        if ((is_identity || !policy_member_allowed(policy, module, text, NULL)) &&
            !is_homemade(module) && is_read_by_program()) {
            refuse(policy, module, text);
            return -1;
        }
    }
    return real_setattro(module, name, value);
}

/* ModuleType.__init__() gives a module another name, and takes its origin away. */
static int init(PyObject *module, PyObject *args, PyObject *kwargs)
{
    const struct policy *policy = policy_sealed();

    if (policy && name_of(module).len && !is_homemade(module) && policy_caller_is_guest(true)) {
        refuse(policy, module, span_of("__init__"));
        return -1;
    }
    return real_init(module, args, kwargs);
}

/* ---- installation ---- */

void policy_replace_slot(PyTypeObject *type, const char *name, void *real, void *guard)
{
    PyObject *wrapper = PyDict_GetItemString(type_methods(type), name);

    if (wrapper && Py_IS_TYPE(wrapper, &PyWrapperDescr_Type) &&
        ((PyWrapperDescrObject *)wrapper)->d_wrapped == real)
        ((PyWrapperDescrObject *)wrapper)->d_wrapped = guard;
}

/* Classes derived from the type of modules before this have copies of its slots. */
static int replace_in(PyTypeObject *type)
{
    PyObject *children = PyObject_CallMethod((PyObject *)&PyType_Type, "__subclasses__", "O", type);
    int r = children && PyList_CheckExact(children) ? 0 : -1;

    if (type->tp_getattro == real_getattro)
        type->tp_getattro = get_attribute;
    if (type->tp_setattro == real_setattro)
        type->tp_setattro = set_attribute;
    if (type->tp_init == real_init)
        type->tp_init = init;
    for (Py_ssize_t i = 0; r == 0 && i < PyList_GET_SIZE(children); i++)
        r = replace_in((PyTypeObject *)PyList_GET_ITEM(children, i));
    Py_XDECREF(children);
    PyType_Modified(type);
    return r;
}

/* Those through which everything else is reached: marked once, for all children. */
static int mark_roots(void)
{
    static const char *const names[] = {"os",
                                        "posix",
                                        "posixpath",
                                        "sys",
                                        "io",
                                        "_io",
                                        "importlib",
                                        "importlib._bootstrap",
                                        "importlib._bootstrap_external",
                                        "_imp",
                                        "marshal",
                                        "gc",
                                        "inspect",
                                        "ctypes",
                                        "subprocess",
                                        "signal",
                                        "shutil",
                                        "pathlib",
                                        "tempfile",
                                        "socket",
                                        "pickle",
                                        "codecs",
                                        "linecache",
                                        "threading",
                                        "_thread",
                                        "types"};
    PyObject *modules = PyImport_GetModuleDict();

    for (size_t i = 0; modules && i < COUNT_OF(names); i++) {
        PyObject *module = PyDict_GetItemString(modules, names[i]);

        if (module && PyModule_Check(module) && mark(module) < 0)
            return -1;
    }
    return modules ? 0 : -1;
}

int policy_modules_prepare(void)
{
    if (real_getattro)
        return 0;
    real_getattro = PyModule_Type.tp_getattro;
    real_setattro = PyModule_Type.tp_setattro;
    real_init = PyModule_Type.tp_init;
    policy_replace_slot(&PyModule_Type, "__getattribute__", (void *)real_getattro,
                        (void *)get_attribute);
    policy_replace_slot(&PyModule_Type, "__init__", (void *)real_init, (void *)init);
    return replace_in(&PyModule_Type) < 0 ? -1 : mark_roots();
}
