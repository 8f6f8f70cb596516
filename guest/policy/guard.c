/* Guards in the interpreter itself, for what has no audit event.
 *
 * The program's globals get a builtins dictionary of their own (a copy, so that libraries keep
 * theirs): blocked names are functions that say so, getattr() and its kin look at the name they
 * get. The getattr() of libraries looks at names that were given to them. str.format(),
 * string.Formatter, operator.attrgetter and methodcaller read attributes by text; they are guarded
 * where they live. __import__() is in guard_import.c.
 *
 * All of this changes one process that serves one program and then ends.
 */
#include "guest/policy/internal.h"

#include "guest/main_module.h"
#include "guest/versions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The real things, kept in the zygote before any program could touch them. */
static PyObject *real_getattr, *real_hasattr, *real_setattr, *real_delattr, *real_vars;
static PyObject *real_split; /* _string.formatter_field_name_split */
static PyObject *real_fork_exec;
static PyCFunctionWithKeywords real_format;
static PyCFunction real_format_map, real_subclasses;
static PyTypeObject *attrgetter, *methodcaller;
static newfunc real_attrgetter_new, real_methodcaller_new;
static ternaryfunc real_attrgetter_call, real_methodcaller_call;

/* ---- getattr and its kin ---- */

struct span policy_exact_text(PyObject *value, bool *ok)
{
    if (value && PyUnicode_CheckExact(value))
        return span_of_str(value, ok);
    *ok = false;
    return (struct span){"", 0};
}

static int refuse_attribute(const struct policy *policy, PyObject *type, struct span name)
{
    return policy_refuse(policy, type, "attribute", name, "attribute `%.*s`", SHOWN(name));
}

/* An exact str of the name, checked: a subclass could show one name now and another one later. New
 * reference, or NULL with `refused` set or an exception. */
static PyObject *checked_name(const struct policy *policy, PyObject *name, bool *refused)
{
    PyObject *exact = PyUnicode_FromObject(name);
    bool ok;

    *refused = false;
    if (exact && (policy_attribute_refused(policy, span_of_str(exact, &ok)) || !ok)) {
        *refused = true;
        Py_CLEAR(exact);
    }
    return exact;
}

static PyObject *call_by_name(PyObject *real, PyObject *const *args, Py_ssize_t nargs,
                              bool *refused)
{
    const struct policy *policy = policy_sealed();
    PyObject *copy[3] = {NULL};
    PyObject *result;
    bool before;

    *refused = false;
    if (!policy || nargs < 2 || nargs > 3 || !PyUnicode_Check(args[1]))
        return PyObject_Vectorcall(real, args, (size_t)nargs, NULL);
    memcpy(copy, args, (size_t)nargs * sizeof(*args));
    copy[1] = checked_name(policy, args[1], refused);
    if (!copy[1])
        return NULL;
    before = policy_modules_read_by_name(true);
    policy_modules_read_for_program(args[0]);
    result = PyObject_Vectorcall(real, copy, (size_t)nargs, NULL);
    policy_modules_read_for_program(NULL);
    (void)policy_modules_read_by_name(before);
    Py_DECREF(copy[1]);
    return result;
}

static struct span shown_name(PyObject *name)
{
    bool ok;

    return span_of_str(name, &ok);
}

static PyObject *guarded_getattr(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    bool refused;
    PyObject *result = call_by_name(real_getattr, args, nargs, &refused);

    (void)self;
    if (refused && nargs == 3)
        return Py_NewRef(args[2]);
    if (refused)
        refuse_attribute(policy_sealed(), PyExc_AttributeError, shown_name(args[1]));
    return result;
}

static PyObject *guarded_hasattr(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    bool refused;
    PyObject *result = call_by_name(real_hasattr, args, nargs, &refused);

    (void)self;
    return refused ? Py_NewRef(Py_False) : result;
}

static PyObject *guarded_setattr(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    bool refused;
    PyObject *result = call_by_name(real_setattr, args, nargs, &refused);

    (void)self;
    if (refused)
        refuse_attribute(policy_sealed(), PyExc_AttributeError, shown_name(args[1]));
    return result;
}

static PyObject *guarded_delattr(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    bool refused;
    PyObject *result = call_by_name(real_delattr, args, nargs, &refused);

    (void)self;
    if (refused)
        refuse_attribute(policy_sealed(), PyExc_AttributeError, shown_name(args[1]));
    return result;
}

/* ---- the same for libraries ---- */

/* The attributes that functools.update_wrapper() copies by default. */
bool policy_attribute_is_copied(struct span name)
{
    static const char *const names[] = {"__module__", "__name__",        "__qualname__",
                                        "__doc__",    "__annotations__", "__dict__"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (span_is(name, names[i]))
            return true;
    return false;
}

/* unittest looks at every name of the program. Its builtins are those that it has anyway. */
static bool is_program_module(PyObject *object)
{
    return PyModule_Check(object) && object == main_module();
}

bool policy_name_is_given(const struct policy *policy, struct span name)
{
    return policy_attribute_dangerous(policy, name) &&
           !policy_caller_says((const char *const[]){name.data, NULL}, SAID_AT_ALL) &&
           !policy_attribute_is_copied(name) && !policy_caller_is_module();
}

static int check_given_name(PyObject *const *args, Py_ssize_t nargs)
{
    const struct policy *policy = policy_sealed();
    PyObject *exact;
    struct span name;
    bool ok, refused;

    if (!policy || nargs < 2 || !PyUnicode_Check(args[1]) || is_program_module(args[0]))
        return 0;
    exact = PyUnicode_FromObject(args[1]);
    if (!exact)
        return -1;
    name = span_of_str(exact, &ok);
    refused = ok && policy_name_is_given(policy, name);
    if (refused)
        refuse_attribute(policy, PyExc_AttributeError, name);
    Py_DECREF(exact);
    return refused ? -1 : 0;
}

/* The library reads from a module by a name that is not in its own code. All names that shutil
 * looks up are its own, and an import looks for `sys.path` and `__path__`. */
static bool is_name_given(PyObject *const *args, Py_ssize_t nargs)
{
    static const char *const own_names[] = {"/shutil.py"};
    bool ok = false;
    struct span name = nargs >= 2 && PyModule_Check(args[0]) ? policy_exact_text(args[1], &ok)
                                                             : (struct span){"", 0};

    return ok && policy_sealed() &&
           !policy_caller_says((const char *const[]){name.data, NULL}, SAID_AT_ALL) &&
           !policy_caller_file_is(own_names, COUNT_OF(own_names)) && !policy_caller_is_importing();
}

/* unittest asks a module with tests for all of its names, and looks for classes. */
static bool is_search_for_tests(PyObject *const *args, Py_ssize_t nargs)
{
    static const char *const loaders[] = {"/unittest/loader.py"};

    return nargs == 2 && PyModule_Check(args[0]) && PyErr_ExceptionMatches(PyExc_AttributeError) &&
           policy_caller_file_is(loaders, COUNT_OF(loaders));
}

static PyObject *library_getattr(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    /* C code that the program has called: an unpickler finds this function. */
    if (policy_sealed() && policy_caller_is_guest(false))
        return guarded_getattr(self, args, nargs);
    if (check_given_name(args, nargs) == 0) {
        bool before = policy_modules_read_by_name(is_name_given(args, nargs));
        PyObject *value = PyObject_Vectorcall(real_getattr, args, (size_t)nargs, NULL);

        (void)policy_modules_read_by_name(before);
        return value;
    }
    if (is_search_for_tests(args, nargs)) {
        PyErr_Clear();
        return Py_NewRef(Py_None); /* which is no class */
    }
    if (nargs != 3 || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return NULL;
    PyErr_Clear();
    return Py_NewRef(args[2]);
}

/* The builtins that the program has: a copy of those of libraries. */
static PyObject *program_builtins;

/* Names of the libraries' builtins that a library has set, with what they were. */
static PyObject *replaced_builtins;

static bool is_common_builtins(PyObject *module, PyObject *name)
{
    return policy_sealed() && program_builtins && PyModule_Check(module) &&
           PyUnicode_CheckExact(name) && PyModule_GetDict(module) == PyEval_GetBuiltins();
}

PyObject *policy_program_builtins(void)
{
    return program_builtins;
}

/* `patch("builtins.input")` sets a name of the libraries' builtins; the program's get it as well.
 * What a profile guards or blocks stays as it is. */
static int follow_builtins(PyObject *module, PyObject *name, PyObject *value)
{
    PyObject *own, *common;

    if (!is_common_builtins(module, name))
        return 0;
    if (!replaced_builtins)
        replaced_builtins = PyDict_New();
    own = PyDict_GetItem(program_builtins, name);
    common = PyDict_GetItem(PyModule_GetDict(module), name);
    if (!replaced_builtins || (common && !PyDict_SetDefault(replaced_builtins, name, common)))
        return -1;
    if (own != common)
        return 0;
    return PyDict_SetItem(program_builtins, name, value);
}

static PyObject *library_setattr(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)self;
    if (nargs == 3 && follow_builtins(args[0], args[1], args[2]) < 0)
        return NULL;
    return PyObject_Vectorcall(real_setattr, args, (size_t)nargs, NULL);
}

/* The end of such a patch: unittest.mock may not look at what was there, so it deletes what it has
 * put there, which would leave the libraries without the name. */
static PyObject *library_delattr(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    PyObject *before = NULL;
    int r;

    (void)self;
    if (nargs == 2 && replaced_builtins && is_common_builtins(args[0], args[1]))
        before = PyDict_GetItem(replaced_builtins, args[1]);
    if (!before)
        return PyObject_Vectorcall(real_delattr, args, (size_t)nargs, NULL);
    Py_INCREF(before);
    r = follow_builtins(args[0], args[1], before);
    if (r == 0)
        r = PyDict_SetItem(PyModule_GetDict(args[0]), args[1], before);
    if (r == 0)
        r = PyDict_DelItem(replaced_builtins, args[1]);
    Py_DECREF(before);
    return r == 0 ? Py_NewRef(Py_None) : NULL;
}

/* A copy with what the program could read by name, but no modules. */
static PyObject *names_of(const struct policy *policy, PyObject *module)
{
    PyObject *copy = PyDict_New(), *key, *value;
    Py_ssize_t at = 0;
    bool ok;

    while (copy && PyDict_Next(PyModule_GetDict(module), &at, &key, &value)) {
        struct span name = policy_exact_text(key, &ok);

        if (ok && !PyModule_Check(value) && !policy_attribute_refused(policy, name) &&
            policy_member_allowed(policy, module, name, value) &&
            PyDict_SetItem(copy, key, value) < 0)
            Py_CLEAR(copy);
    }
    return copy;
}

/* vars(x) is x.__dict__; of a module it would hand out every module that one has imported. */
static PyObject *guarded_vars(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    const struct policy *policy = policy_sealed();

    (void)self;
    if (policy && nargs == 1 && PyModule_Check(args[0]))
        return names_of(policy, args[0]);
    return PyObject_Vectorcall(real_vars, args, (size_t)nargs, NULL);
}

/* Stands in for a blocked builtin; `self` is its name. */
static PyObject *blocked(PyObject *self, PyObject *args, PyObject *kwargs)
{
    const struct policy *policy = policy_sealed();

    (void)args;
    (void)kwargs;
    if (policy)
        policy_refuse(policy, PyExc_PermissionError, "builtin", shown_name(self),
                      "the builtin `%.*s`", SHOWN(shown_name(self)));
    else
        PyErr_SetString(PyExc_PermissionError, "blocked");
    return NULL;
}

/* ---- templates ---- */

static int check_template(PyObject *text, bool is_field)
{
    const struct policy *policy = policy_sealed();
    struct span template, name;
    bool ok, bad;

    if (!policy || !PyUnicode_Check(text) || !(policy->flags & POLICY_DUNDER_DENIED))
        return 0;
    template = span_of_str(text, &ok);
    if (!ok) /* lone surrogates: it cannot be read, so it may have no fields */
        return PyUnicode_FindChar(text, '{', 0, PyUnicode_GET_LENGTH(text), 1) < 0
                   ? 0
                   : refuse_attribute(policy, PyExc_PermissionError, span_of("?"));
    /* Fields without a dot read no attribute: the usual case ends here. */
    if (!memchr(template.data, '.', template.len) ||
        (!is_field && !memchr(template.data, '{', template.len)))
        return 0;
    bad = policy_template_dangerous(policy, template, is_field, &name) ||
          (policy_template_refused(policy, template, is_field, &name) &&
           policy_caller_is_guest(true));
    if (!bad)
        return 0;
    return policy_refuse(policy, PyExc_PermissionError, "attribute", name,
                         "a format field that reads attribute `%.*s`", SHOWN(name));
}

static PyObject *guarded_format(PyObject *self, PyObject *args, PyObject *kwargs)
{
    bool before;
    PyObject *result;

    if (check_template(self, false) < 0)
        return NULL;
    before = policy_modules_read_by_name(true);
    result = real_format(self, args, kwargs);
    (void)policy_modules_read_by_name(before);
    return result;
}

static PyObject *guarded_format_map(PyObject *self, PyObject *mapping)
{
    bool before;
    PyObject *result;

    if (check_template(self, false) < 0)
        return NULL;
    before = policy_modules_read_by_name(true);
    result = real_format_map(self, mapping);
    (void)policy_modules_read_by_name(before);
    return result;
}

static PyObject *guarded_split(PyObject *self, PyObject *field)
{
    (void)self;
    return check_template(field, true) < 0 ? NULL : PyObject_CallOneArg(real_split, field);
}

/* ---- attrgetter and the like ---- */

static int check_paths(PyObject *args, bool all)
{
    const struct policy *policy = policy_sealed();
    Py_ssize_t count = all ? PyTuple_GET_SIZE(args) : PyTuple_GET_SIZE(args) > 0;

    if (!policy)
        return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *path = PyTuple_GET_ITEM(args, i);
        struct span name = span_of("?");

        if (!PyUnicode_Check(path))
            continue;
        if (PyUnicode_CheckExact(path) && !policy_path_refused(policy, shown_name(path), &name))
            continue;
        if (!policy_caller_is_guest(true))
            continue;
        return refuse_attribute(policy, PyExc_AttributeError, name);
    }
    return 0;
}

/* The way to an object's call that does not pass its type is closed. */
static PyObject *without_vectorcall(PyObject *object)
{
    Py_ssize_t offset = object ? Py_TYPE(object)->tp_vectorcall_offset : 0;

    if (offset > 0 && policy_sealed())
        memset((char *)object + offset, 0, sizeof(vectorcallfunc));
    return object;
}

static PyObject *guarded_attrgetter_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    return check_paths(args, true) < 0
               ? NULL
               : without_vectorcall(real_attrgetter_new(type, args, kwargs));
}

static PyObject *guarded_methodcaller_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    return check_paths(args, false) < 0
               ? NULL
               : without_vectorcall(real_methodcaller_new(type, args, kwargs));
}

static PyObject *call_reading(ternaryfunc real, PyObject *self, PyObject *args, PyObject *kwargs)
{
    bool before = policy_modules_read_by_name(true);
    PyObject *result = real(self, args, kwargs);

    (void)policy_modules_read_by_name(before);
    return result;
}

static PyObject *guarded_attrgetter_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return call_reading(real_attrgetter_call, self, args, kwargs);
}

static PyObject *guarded_methodcaller_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return call_reading(real_methodcaller_call, self, args, kwargs);
}

static PyObject *guarded_subclasses(PyObject *self, PyObject *unused)
{
    const struct policy *policy = policy_sealed();

    /* isinstance() of an abstract class comes here too, by way of abc. */
    if (policy && policy_attribute_refused(policy, span_of("__subclasses__")) &&
        policy_caller_is_guest(false)) {
        refuse_attribute(policy, PyExc_AttributeError, span_of("__subclasses__"));
        return NULL;
    }
    return real_subclasses(self, unused);
}

/* ---- processes ---- */

/* The only way to a process that does not announce itself. subprocess does that before it comes
 * here. */
static PyObject *guarded_fork_exec(PyObject *self, PyObject *args)
{
    static const char *const announced[] = {"/subprocess.py"};

    (void)self;
    if (!policy_caller_file_is(announced, COUNT_OF(announced)) && PySys_Audit("os.fork", NULL) < 0)
        return NULL;
    return PyObject_Call(real_fork_exec, args, NULL);
}

/* ---- installation ---- */

#define FAST (PyCFunction)(void (*)(void))

static PyMethodDef getattr_def = {"getattr", FAST library_getattr, METH_FASTCALL, NULL};
static PyMethodDef setattr_def = {"setattr", FAST library_setattr, METH_FASTCALL, NULL};
static PyMethodDef delattr_def = {"delattr", FAST library_delattr, METH_FASTCALL, NULL};
static PyMethodDef split_def = {"formatter_field_name_split", guarded_split, METH_O, NULL};
static PyMethodDef blocked_def = {"blocked", FAST blocked, METH_VARARGS | METH_KEYWORDS,
                                  "Not available in this profile."};
static PyMethodDef fork_exec_def = {"fork_exec", guarded_fork_exec, METH_VARARGS, NULL};
static PyMethodDef format_def = {"format", FAST guarded_format, METH_VARARGS | METH_KEYWORDS, NULL};
static PyMethodDef format_map_def = {"format_map", guarded_format_map, METH_O, NULL};
static PyMethodDef subclasses_def = {"__subclasses__", guarded_subclasses, METH_NOARGS, NULL};

static struct by_name {
    PyMethodDef def;
    PyObject **real;
} by_name[] = {
    {{"getattr", FAST guarded_getattr, METH_FASTCALL, NULL}, &real_getattr},
    {{"hasattr", FAST guarded_hasattr, METH_FASTCALL, NULL}, &real_hasattr},
    {{"setattr", FAST guarded_setattr, METH_FASTCALL, NULL}, &real_setattr},
    {{"delattr", FAST guarded_delattr, METH_FASTCALL, NULL}, &real_delattr},
    {{"vars", FAST guarded_vars, METH_FASTCALL, NULL}, &real_vars},
};

/* The C function behind a method of a built-in type; its documentation goes to the guard. */
static PyCFunction method_of(PyTypeObject *type, PyMethodDef *guard, int flags)
{
    PyObject *method = PyDict_GetItemString(type_methods(type), guard->ml_name);
    PyMethodDef *def;

    if (!method || !Py_IS_TYPE(method, &PyMethodDescr_Type))
        return NULL;
    def = ((PyMethodDescrObject *)method)->d_method;
    guard->ml_doc = def->ml_doc;
    return (def->ml_flags &
            (METH_VARARGS | METH_KEYWORDS | METH_O | METH_NOARGS | METH_FASTCALL)) == flags
               ? def->ml_meth
               : NULL;
}

static PyTypeObject *type_in(PyObject *module, const char *name)
{
    PyObject *type = module ? PyObject_GetAttrString(module, name) : NULL;

    return type && PyType_Check(type) ? (PyTypeObject *)type : NULL;
}

static int put(PyObject *dict, const char *name, PyObject *value)
{
    int r = value ? PyDict_SetItemString(dict, name, value) : -1;

    Py_XDECREF(value);
    return r;
}

static int replace_method(PyTypeObject *type, PyMethodDef *def)
{
    int r = put(type_methods(type), def->ml_name, PyDescr_NewMethod(type, def));

    PyType_Modified(type);
    return r;
}

/* A copy made in advance: making one counts a reference to every built-in type, and each lies on a
 * page that a child would then have to copy. */
static PyObject *spare_builtins;

/* The guarded functions of libraries, made in advance as well. */
static struct {
    PyObject *name, *function;
} of_libraries[4];

static int make_for_libraries(void)
{
    static PyMethodDef *const defs[] = {&getattr_def, &setattr_def, &delattr_def};

    of_libraries[0].name = PyUnicode_InternFromString("__import__");
    of_libraries[0].function = policy_guard_import_new();
    for (size_t i = 0; i < COUNT_OF(defs); i++) {
        of_libraries[i + 1].name = PyUnicode_InternFromString(defs[i]->ml_name);
        of_libraries[i + 1].function = PyCFunction_New(defs[i], NULL);
    }
    for (size_t i = 0; i < COUNT_OF(of_libraries); i++)
        if (!of_libraries[i].name || !of_libraries[i].function)
            return -1;
    return 0;
}

/* The guards of methods stand from the beginning and let everything pass until a policy is sealed:
 * changing a type later would touch every type derived from it, in every child. */
static int guard_methods(PyObject *strings)
{
    if (put(PyModule_GetDict(strings), "formatter_field_name_split",
            PyCFunction_New(&split_def, NULL)) < 0 ||
        replace_method(&PyUnicode_Type, &format_def) < 0 ||
        replace_method(&PyUnicode_Type, &format_map_def) < 0 ||
        replace_method(&PyType_Type, &subclasses_def) < 0)
        return -1;
    attrgetter->tp_new = guarded_attrgetter_new;
    attrgetter->tp_call = guarded_attrgetter_call;
    methodcaller->tp_new = guarded_methodcaller_new;
    methodcaller->tp_call = guarded_methodcaller_call;
    return 0;
}

/* subprocess has a name of its own for it. */
static int guard_fork_exec(void)
{
    PyObject *module = PyImport_ImportModule("_posixsubprocess");
    PyObject *user = PyDict_GetItemString(PyImport_GetModuleDict(), "subprocess");
    PyObject *guard = PyCFunction_New(&fork_exec_def, NULL);
    int r = -1;

    real_fork_exec = module ? PyObject_GetAttrString(module, "fork_exec") : NULL;
    if (real_fork_exec && guard)
        r = PyDict_SetItemString(PyModule_GetDict(module), "fork_exec", guard);
    if (r == 0 && user && PyModule_Check(user))
        r = PyDict_SetItemString(PyModule_GetDict(user), "_fork_exec", guard);
    Py_XDECREF(guard);
    Py_XDECREF(module);
    return r;
}

int policy_guard_prepare(void)
{
    PyObject *builtins = PyEval_GetBuiltins();
    PyObject *operators = PyImport_ImportModule("_operator");
    PyObject *strings = PyImport_ImportModule("_string");

    if (!builtins || !operators || !strings)
        return -1;
    if (real_split)
        return 0;
    if (policy_guard_import_prepare(builtins) < 0)
        return -1;
    for (size_t i = 0; i < COUNT_OF(by_name); i++) {
        PyObject *real = PyDict_GetItemString(builtins, by_name[i].def.ml_name);

        if (!real || !PyCFunction_Check(real))
            return -1;
        by_name[i].def.ml_doc = ((PyCFunctionObject *)real)->m_ml->ml_doc;
        *by_name[i].real = Py_NewRef(real);
    }
    getattr_def.ml_doc = by_name[0].def.ml_doc;
    setattr_def.ml_doc = by_name[2].def.ml_doc;
    delattr_def.ml_doc = by_name[3].def.ml_doc;
    real_split = PyObject_GetAttrString(strings, "formatter_field_name_split");
    attrgetter = type_in(operators, "attrgetter");
    methodcaller = type_in(operators, "methodcaller");
    Py_DECREF(operators);
    real_format = (PyCFunctionWithKeywords)(void (*)(void))method_of(&PyUnicode_Type, &format_def,
                                                                     METH_VARARGS | METH_KEYWORDS);
    real_format_map = method_of(&PyUnicode_Type, &format_map_def, METH_O);
    real_subclasses = method_of(&PyType_Type, &subclasses_def, METH_NOARGS);
    if (!real_split || !attrgetter || !methodcaller || !real_format || !real_format_map ||
        !real_subclasses)
        return -1;
    real_attrgetter_new = attrgetter->tp_new;
    real_methodcaller_new = methodcaller->tp_new;
    real_attrgetter_call = attrgetter->tp_call;
    real_methodcaller_call = methodcaller->tp_call;
    spare_builtins = PyDict_Copy(builtins);
    policy_joblib_prepare();
    if (!spare_builtins || make_for_libraries() < 0 || guard_methods(strings) < 0 ||
        guard_fork_exec() < 0)
        return -1;
    Py_DECREF(strings);
    return 0;
}

static int block_builtins(const struct policy *policy, PyObject *builtins)
{
    for (size_t i = 1; i < policy->n_rules; i++) {
        const struct rule *rule = &policy->rules[i];
        PyObject *name;
        int r;

        if (!(rule->lists & (1u << POLICY_BUILTIN_DENY)))
            continue;
        name = PyUnicode_DecodeUTF8(rule->key, rule->key_len, "replace");
        if (!name)
            return -1;
        r = PyDict_Contains(builtins, name);
        /* Statements need these two: `import` and `class`. They are guarded, or harmless. */
        if (r == 1 && PyUnicode_CompareWithASCIIString(name, "__import__") != 0 &&
            PyUnicode_CompareWithASCIIString(name, "__build_class__") != 0) {
            PyObject *function = PyCFunction_New(&blocked_def, name);

            r = function ? PyDict_SetItem(builtins, name, function) : -1;
            Py_XDECREF(function);
        }
        Py_DECREF(name);
        if (r < 0)
            return -1;
    }
    return 0;
}

/* Takes over `own`, which may be NULL. */
static PyObject *guard_builtins(const struct policy *policy, PyObject *own)
{
    int r = own ? put(own, "__import__", policy_guard_import_new()) : -1;

    for (size_t i = 0; r == 0 && i < COUNT_OF(by_name); i++)
        r = put(own, by_name[i].def.ml_name, PyCFunction_New(&by_name[i].def, NULL));
    if (r == 0)
        r = block_builtins(policy, own);
    if (r < 0)
        Py_CLEAR(own);
    return own;
}

PyObject *policy_guard_builtins(const struct policy *policy)
{
    return guard_builtins(policy, PyDict_Copy(spare_builtins));
}

/* Those made in advance are for the one program, or session, of this process. */
static PyObject *take_builtins(const struct policy *policy, PyObject *builtins)
{
    PyObject *spare = spare_builtins;

    if (policy->builtins)
        return Py_NewRef(policy->builtins);
    spare_builtins = NULL;
    return guard_builtins(policy, spare ? spare : PyDict_Copy(builtins));
}

static int dress(const struct policy *policy, PyObject *globals, PyObject *builtins)
{
    PyObject *own = take_builtins(policy, builtins);
    int r = own ? PyDict_SetItemString(globals, "__builtins__", own) : -1;

    if (r == 0) {
        policy_workspace_set_builtins(own);
        Py_XSETREF(program_builtins, Py_NewRef(own));
    }
    Py_XDECREF(own);
    return r;
}

int policy_guard_install(const struct policy *policy)
{
    static bool is_installed;
    PyObject *names = main_module_names();
    PyObject *builtins = PyEval_GetBuiltins();

    if (!names || !builtins)
        return -1;
    for (size_t i = 0; !is_installed && i < COUNT_OF(of_libraries); i++)
        if (PyDict_SetItem(builtins, of_libraries[i].name, of_libraries[i].function) < 0)
            return -1;
    is_installed = true;
    if (!(policy->powers & POWER_PROCESSES) && policy_joblib_stay_in_process() < 0)
        return -1;
    return dress(policy, names, builtins);
}
