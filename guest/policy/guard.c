/* Guards in the interpreter itself, for what has no audit event.
 *
 * The program's globals get a builtins dictionary of their own (a copy, so that libraries keep
 * theirs): blocked names are functions that say so, getattr() and its kin look at the name they
 * get. __import__() is guarded for everybody and asks who is calling, because a module that is
 * loaded already raises no event. The getattr() of libraries looks at names that were given to
 * them. str.format(), string.Formatter, operator.attrgetter and
 * methodcaller read attributes by text; they are guarded where they live.
 *
 * All of this changes one process that serves one program and then ends.
 */
#include "guest/policy/internal.h"

#include <string.h>

static __thread bool import_passed;

bool policy_guard_is_importing(void)
{
    return import_passed;
}

/* The real things, kept in the zygote before any program could touch them. */
static PyObject *real_import, *real_getattr, *real_hasattr, *real_setattr, *real_delattr,
    *real_vars;
static PyObject *real_split; /* _string.formatter_field_name_split */
static PyCFunctionWithKeywords real_format;
static PyCFunction real_format_map, real_subclasses;
static PyTypeObject *attrgetter, *methodcaller;
static newfunc real_attrgetter_new, real_methodcaller_new;

/* ---- imports ---- */

static struct span exact_text(PyObject *value, bool *ok)
{
    if (value && PyUnicode_CheckExact(value))
        return span_of_str(value, ok);
    *ok = false;
    return (struct span){"", 0};
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
    if (!name.len)
        return policy_refuse(policy, PyExc_ImportError, "import", module, "importing module `%.*s`",
                             SHOWN(module));
    return policy_refuse(policy, PyExc_ImportError, "import", module, "importing `%.*s.%.*s`",
                         SHOWN(module), SHOWN(name));
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

static int check_import(const struct policy *policy, PyObject *name, PyObject *fromlist,
                        PyObject *level)
{
    Py_ssize_t count = from_count(fromlist);
    bool ok;
    struct span module = exact_text(name, &ok);

    if (!ok || count < 0 || (level && !(PyLong_CheckExact(level) && PyLong_AsLong(level) == 0)))
        return refuse_import(policy, ok ? module : span_of("?"), (struct span){"", 0});
    if (count == 0 && !policy_import_allowed(policy, module, (struct span){"", 0}))
        return refuse_import(policy, module, (struct span){"", 0});
    for (Py_ssize_t i = 0; i < count; i++) {
        struct span what = exact_text(PySequence_Fast_GET_ITEM(fromlist, i), &ok);

        if (!ok || !policy_import_allowed(policy, module, what))
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
        if (!allowed)
            return -1;
    }
    return 0;
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
    struct span module = exact_text(name, &ok);

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
        check_import(policy, call_arg(args, nargs, kwnames, 0, "name"), fromlist,
                     call_arg(args, nargs, kwnames, 4, "level")) < 0)
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

/* ---- getattr and its kin ---- */

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

    *refused = false;
    if (!policy || nargs < 2 || nargs > 3 || !PyUnicode_Check(args[1]))
        return PyObject_Vectorcall(real, args, (size_t)nargs, NULL);
    memcpy(copy, args, (size_t)nargs * sizeof(*args));
    copy[1] = checked_name(policy, args[1], refused);
    if (!copy[1])
        return NULL;
    result = PyObject_Vectorcall(real, copy, (size_t)nargs, NULL);
    Py_DECREF(copy[1]);
    return result;
}

static struct span shown_name(PyObject *name)
{
    bool ok;

    return span_of_str(name, &ok);
}

/* getattr(json, "codecs") hands out a module like an import does. */
static int check_module_result(PyObject *object, PyObject *name, PyObject *result)
{
    const struct policy *policy = policy_sealed();
    PyObject *full;
    bool ok, allowed;

    if (!policy || !PyModule_Check(result) || !PyModule_Check(object))
        return 0;
    full = PyUnicode_FromFormat("%s.%U", PyModule_GetName(object), name);
    if (!full)
        return -1;
    allowed = policy_module_object_allowed(policy, result, span_of_str(full, &ok));
    if (!allowed)
        refuse_import(policy, span_of_str(full, &ok), (struct span){"", 0});
    Py_DECREF(full);
    return allowed ? 0 : -1;
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
    if (result && check_module_result(args[0], args[1], result) < 0)
        Py_CLEAR(result);
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

/* Libraries read attributes by text, and where the text comes from the program they do
 * it in its name: update_wrapper(assigned=), DataFrame.agg("name"), set_params(), argparse. A name
 * that leads to globals must stand in the code of the library itself. */
static int check_given_name(PyObject *const *args, Py_ssize_t nargs)
{
    const struct policy *policy = policy_sealed();
    PyObject *exact;
    struct span name;
    bool ok, refused;

    if (!policy || nargs < 2 || !PyUnicode_Check(args[1]))
        return 0;
    exact = PyUnicode_FromObject(args[1]);
    if (!exact)
        return -1;
    name = span_of_str(exact, &ok);
    refused = ok && policy_attribute_dangerous(policy, name) &&
              !policy_caller_says((const char *const[]){name.data, NULL}, SAID_AT_ALL) &&
              !policy_attribute_is_copied(name) && !policy_caller_is_module();
    if (refused)
        refuse_attribute(policy, PyExc_AttributeError, name);
    Py_DECREF(exact);
    return refused ? -1 : 0;
}

static PyObject *library_getattr(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    (void)self;
    if (check_given_name(args, nargs) == 0)
        return PyObject_Vectorcall(real_getattr, args, (size_t)nargs, NULL);
    if (nargs != 3 || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return NULL;
    PyErr_Clear();
    return Py_NewRef(args[2]);
}

/* vars(x) is x.__dict__; of a module it would hand out every module that one has imported. */
static PyObject *guarded_vars(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    const struct policy *policy = policy_sealed();

    (void)self;
    if (policy && nargs == 1 && PyModule_Check(args[0])) {
        policy_refuse(policy, PyExc_PermissionError, "builtin", span_of("vars"),
                      "vars() of a module");
        return NULL;
    }
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
    return check_template(self, false) < 0 ? NULL : real_format(self, args, kwargs);
}

static PyObject *guarded_format_map(PyObject *self, PyObject *mapping)
{
    return check_template(self, false) < 0 ? NULL : real_format_map(self, mapping);
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

static PyObject *guarded_attrgetter_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    return check_paths(args, true) < 0 ? NULL : real_attrgetter_new(type, args, kwargs);
}

static PyObject *guarded_methodcaller_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    return check_paths(args, false) < 0 ? NULL : real_methodcaller_new(type, args, kwargs);
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

/* ---- installation ---- */

#define FAST (PyCFunction)(void (*)(void))

static PyMethodDef import_def = {"__import__", FAST guarded_import, METH_FASTCALL | METH_KEYWORDS,
                                 NULL};
static PyMethodDef getattr_def = {"getattr", FAST library_getattr, METH_FASTCALL, NULL};
static PyMethodDef split_def = {"formatter_field_name_split", guarded_split, METH_O, NULL};
static PyMethodDef blocked_def = {"blocked", FAST blocked, METH_VARARGS | METH_KEYWORDS,
                                  "Not available in this profile."};
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
    PyObject *method = PyDict_GetItemString(type->tp_dict, guard->ml_name);
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
    int r = put(type->tp_dict, def->ml_name, PyDescr_NewMethod(type, def));

    PyType_Modified(type);
    return r;
}

/* A copy made in advance: making one counts a reference to every built-in type, and each lies on a
 * page that a child would then have to copy. */
static PyObject *spare_builtins;

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
    methodcaller->tp_new = guarded_methodcaller_new;
    return 0;
}

int policy_guard_prepare(void)
{
    PyObject *builtins = PyEval_GetBuiltins();
    PyObject *operators = PyImport_ImportModule("_operator");
    PyObject *strings = PyImport_ImportModule("_string");

    if (!builtins || !operators || !strings)
        return -1;
    if (real_import)
        return 0;
    real_import = Py_XNewRef(PyDict_GetItemString(builtins, "__import__"));
    for (size_t i = 0; i < COUNT_OF(by_name); i++) {
        PyObject *real = PyDict_GetItemString(builtins, by_name[i].def.ml_name);

        if (!real || !PyCFunction_Check(real))
            return -1;
        by_name[i].def.ml_doc = ((PyCFunctionObject *)real)->m_ml->ml_doc;
        *by_name[i].real = Py_NewRef(real);
    }
    getattr_def.ml_doc = by_name[0].def.ml_doc;
    real_split = PyObject_GetAttrString(strings, "formatter_field_name_split");
    attrgetter = type_in(operators, "attrgetter");
    methodcaller = type_in(operators, "methodcaller");
    Py_DECREF(operators);
    real_format = (PyCFunctionWithKeywords)(void (*)(void))method_of(&PyUnicode_Type, &format_def,
                                                                     METH_VARARGS | METH_KEYWORDS);
    real_format_map = method_of(&PyUnicode_Type, &format_map_def, METH_O);
    real_subclasses = method_of(&PyType_Type, &subclasses_def, METH_NOARGS);
    if (!real_import || !real_split || !attrgetter || !methodcaller || !real_format ||
        !real_format_map || !real_subclasses)
        return -1;
    real_attrgetter_new = attrgetter->tp_new;
    real_methodcaller_new = methodcaller->tp_new;
    spare_builtins = PyDict_Copy(builtins);
    if (!spare_builtins || guard_methods(strings) < 0)
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

static int dress(const struct policy *policy, PyObject *globals, PyObject *builtins)
{
    PyObject *own = spare_builtins ? spare_builtins : PyDict_Copy(builtins);
    int r = own ? put(own, "__import__", PyCFunction_New(&import_def, NULL)) : -1;

    spare_builtins = NULL;

    for (size_t i = 0; r == 0 && i < COUNT_OF(by_name); i++)
        r = put(own, by_name[i].def.ml_name, PyCFunction_New(&by_name[i].def, NULL));
    if (r == 0)
        r = block_builtins(policy, own);
    if (r == 0)
        r = PyDict_SetItemString(globals, "__builtins__", own);
    Py_XDECREF(own);
    return r;
}

int policy_guard_install(const struct policy *policy)
{
    static bool is_installed;
    PyObject *main_module = PyImport_AddModule("__main__");
    PyObject *builtins = PyEval_GetBuiltins();

    if (!main_module || !builtins)
        return -1;
    if (!is_installed && (put(builtins, "__import__", PyCFunction_New(&import_def, NULL)) < 0 ||
                          put(builtins, "getattr", PyCFunction_New(&getattr_def, NULL)) < 0))
        return -1;
    is_installed = true;
    return dress(policy, PyModule_GetDict(main_module), builtins);
}
