/* Attributes that a class pattern reads by position.
 *
 * `case A(x)` reads the attribute that `A.__match_args__` names first. The tree shows these names
 * where a class writes them down. A class that is made at run time gets them from anywhere: from
 * type(), from setattr(), from its metaclass. So the interpreter's question for `__match_args__` is
 * watched: all names in the answer must be names that getattr() would read.
 *
 * Two kinds of metaclass answer behind our back. One with `__getattr__` is asked where there is
 * nothing else: it is told that there is an empty tuple. One with `__getattribute__` is asked
 * first, and cannot be made.
 */
#include "guest/policy/internal.h"
#include "guest/versions.h"

static getattrofunc real_getattro;
static setattrofunc real_setattro;
static newfunc real_new;
static PyCFunction real_subclasses;                 /* programs get another one */
static PyObject *match_args, *getattribute, *bases; /* names */

/* Most names are interned: then another object is another name. */
static bool is_name(PyObject *name, PyObject *known)
{
    return name == known || (PyUnicode_Check(name) && !PyUnicode_CHECK_INTERNED(name) &&
                             PyUnicode_Compare(name, known) == 0);
}

/* ---- reading ---- */

static int judge(const struct policy *policy, PyObject *names)
{
    if (!PyTuple_CheckExact(names))
        return 0; /* the interpreter refuses it */
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *item = PyTuple_GET_ITEM(names, i);
        struct span name;
        bool ok;

        if (!PyUnicode_CheckExact(item))
            continue; /* as above */
        name = span_of_str(item, &ok);
        if (!ok || policy_attribute_refused(policy, name))
            return policy_refuse(policy, PyExc_PermissionError, "attribute", name,
                                 "a pattern that reads attribute `%.*s`", SHOWN(name));
    }
    return 0;
}

static PyObject *get_attribute(PyObject *type, PyObject *name)
{
    PyObject *value = real_getattro(type, name);
    const struct policy *policy;

    if (!is_name(name, match_args) || !(policy = policy_sealed()) || !policy_caller_is_guest(true))
        return value;
    if (!value && Py_TYPE(type)->tp_getattro != get_attribute &&
        PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        return PyTuple_New(0);
    }
    if (value && judge(policy, value) < 0)
        Py_CLEAR(value);
    return value;
}

/* ---- metaclasses ---- */

static bool is_metaclass(PyObject *object)
{
    return PyType_Check(object) && PyType_IsSubtype((PyTypeObject *)object, &PyType_Type);
}

/* Attributes of its classes are asked for here: by the interpreter, or by a function of the
 * standard library, as a metaclass in typing.py has it. */
static bool asks_us(PyTypeObject *metaclass)
{
    PyObject *method = type_attribute(metaclass, getattribute);
    struct span file;
    bool ok;

    if (method && PyFunction_Check(method)) {
        file = span_of_str(((PyCodeObject *)PyFunction_GET_CODE(method))->co_filename, &ok);
        return ok && policy_is_stdlib_path(file);
    }
    return method && Py_IS_TYPE(method, &PyWrapperDescr_Type) &&
           ((PyWrapperDescrObject *)method)->d_wrapped == (void *)get_attribute;
}

/* New reference. */
static PyObject *children_of(PyTypeObject *type)
{
    return real_subclasses((PyObject *)type, NULL);
}

/* It, or a class that inherits from it. */
static bool leads_to_metaclass(PyTypeObject *type)
{
    PyObject *children;
    bool found = is_metaclass((PyObject *)type);

    if (found)
        return true;
    children = children_of(type);
    if (!children) {
        PyErr_Clear();
        return true;
    }
    for (Py_ssize_t i = 0; !found && i < PyList_GET_SIZE(children); i++)
        found = leads_to_metaclass((PyTypeObject *)PyList_GET_ITEM(children, i));
    Py_DECREF(children);
    return found;
}

static int refuse_metaclass(const struct policy *policy, struct span name)
{
    return policy_refuse(policy, PyExc_PermissionError, "attribute", name,
                         "a metaclass with its own `%.*s`", SHOWN(name));
}

static PyObject *make(PyTypeObject *metatype, PyObject *args, PyObject *kwargs)
{
    PyObject *made = real_new(metatype, args, kwargs);
    const struct policy *policy = policy_sealed();

    if (made && policy && (policy->flags & POLICY_DUNDER_DENIED) && is_metaclass(made) &&
        !asks_us((PyTypeObject *)made) && policy_caller_is_guest(true)) {
        Py_CLEAR(made);
        (void)refuse_metaclass(policy, span_of("__getattribute__"));
    }
    return made;
}

static int set_attribute(PyObject *type, PyObject *name, PyObject *value)
{
    const struct policy *policy = policy_sealed();
    struct span text;
    bool ok;

    if (policy && (policy->flags & POLICY_DUNDER_DENIED) &&
        (is_name(name, getattribute) || is_name(name, bases)) && policy_caller_is_guest(true) &&
        leads_to_metaclass((PyTypeObject *)type)) {
        text = span_of_str(name, &ok);
        return refuse_metaclass(policy, text);
    }
    return real_setattro(type, name, value);
}

/* ---- installation ---- */

/* Metaclasses that were made before this have copies of the slots. */
static int replace_in(PyTypeObject *type)
{
    PyObject *children = children_of(type);
    int r = children && PyList_CheckExact(children) ? 0 : -1;

    if (type->tp_getattro == real_getattro)
        type->tp_getattro = get_attribute;
    if (type->tp_setattro == real_setattro)
        type->tp_setattro = set_attribute;
    if (type->tp_new == real_new)
        type->tp_new = make;
    for (Py_ssize_t i = 0; r == 0 && i < PyList_GET_SIZE(children); i++)
        r = replace_in((PyTypeObject *)PyList_GET_ITEM(children, i));
    Py_XDECREF(children);
    PyType_Modified(type);
    return r;
}

int policy_match_prepare(void)
{
    PyObject *method = PyDict_GetItemString(type_methods(&PyType_Type), "__subclasses__");

    if (real_getattro)
        return 0;
    match_args = PyUnicode_InternFromString("__match_args__");
    getattribute = PyUnicode_InternFromString("__getattribute__");
    bases = PyUnicode_InternFromString("__bases__");
    if (!match_args || !getattribute || !bases || !method ||
        !Py_IS_TYPE(method, &PyMethodDescr_Type))
        return -1;
    real_subclasses = ((PyMethodDescrObject *)method)->d_method->ml_meth;
    real_getattro = PyType_Type.tp_getattro;
    real_setattro = PyType_Type.tp_setattro;
    real_new = PyType_Type.tp_new;
    policy_replace_slot(&PyType_Type, "__getattribute__", (void *)real_getattro,
                        (void *)get_attribute);
    policy_replace_slot(&PyType_Type, "__setattr__", (void *)real_setattro, (void *)set_attribute);
    policy_replace_slot(&PyType_Type, "__delattr__", (void *)real_setattro, (void *)set_attribute);
    return replace_in(&PyType_Type);
}
