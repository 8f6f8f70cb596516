/* Methods of built-in types that read an attribute whose name is theirs to choose.
 *
 * `vars(object)["__getattribute__"](x, name)` is getattr(x, name), and
 * `vars(type(f))["__globals__"].__get__(f)` is `f.__globals__`. A program that calls them meets the
 * rules of getattr. They stand in the dictionaries of many types, so what is replaced is the C
 * function behind all of them: each such method refers to one entry of the interpreter's table.
 */
#include "guest/policy/internal.h"
#include "guest/versions.h"

static wrapperfunc real_getattribute, real_get, real_set, real_delete;
static PyObject *wrapped_by_classmethod; /* the descriptor `classmethod.__func__` */

static int refuse(const struct policy *policy, struct span name)
{
    return policy_refuse(policy, PyExc_AttributeError, "attribute", name, "attribute `%.*s`",
                         SHOWN(name));
}

/* 0, or -1 with an exception. */
static int check_name(const struct policy *policy, struct span name)
{
    bool is_refused = policy_caller_is_guest(false) ? policy_attribute_refused(policy, name)
                                                    : policy_name_is_given(policy, name);

    return is_refused ? refuse(policy, name) : 0;
}

/* inspect.getattr_static() asks for `__dict__`, and for nothing that it was given. */
static bool is_said_by_library(struct span name)
{
    return !policy_caller_is_guest(false) &&
           policy_caller_says((const char *const[]){name.data, NULL}, SAID_AT_ALL);
}

/* A library's kind of module that asks its parent. */
static bool is_own_method(void)
{
    return policy_caller_says((const char *const[]){"__getattribute__", NULL}, SAID_AT_ALL);
}

/* isinstance() and dir() ask a class with its own `__getattribute__` for it, which passes that on.
 * type(x) is the same. */
static bool is_class_of_object(const struct policy *policy, struct span name)
{
    return span_is(name, "__class__") && policy_class_is_soft(policy);
}

/* A pattern asks a class with a metaclass of the program's own; match.c judges the answer. */
static bool is_asked_by_pattern(PyObject *self, struct span name)
{
    return PyType_Check(self) && span_is(name, "__match_args__");
}

static PyObject *guarded_getattribute(PyObject *self, PyObject *args, void *wrapped)
{
    const struct policy *policy = policy_sealed();
    PyObject *name = PyTuple_GET_SIZE(args) == 1 ? PyTuple_GET_ITEM(args, 0) : NULL;
    PyObject *exact, *result = NULL;
    struct span text;
    bool ok, before;

    if (!policy || !name || !PyUnicode_Check(name))
        return real_getattribute(self, args, wrapped);
    exact = PyUnicode_FromObject(name); /* a subclass could show another name later */
    if (!exact)
        return NULL;
    text = span_of_str(exact, &ok);
    if (!ok)
        (void)refuse(policy, text);
    else if (is_asked_by_pattern(self, text) || is_class_of_object(policy, text) ||
             check_name(policy, text) == 0) {
        before = policy_modules_read_by_name(true);
        if (!is_own_method())
            policy_modules_read_for_program(self);
        result = PyModule_Check(self) && !is_said_by_library(text)
                     ? PyModule_Type.tp_getattro(self, exact)
                     : ((binaryfunc)(uintptr_t)wrapped)(self, exact);
        policy_modules_read_for_program(NULL);
        (void)policy_modules_read_by_name(before);
    }
    Py_DECREF(exact);
    return result;
}

/* ---- descriptors ---- */

static PyObject *name_of(PyObject *descriptor)
{
    return Py_IS_TYPE(descriptor, &PyGetSetDescr_Type) ||
                   Py_IS_TYPE(descriptor, &PyMemberDescr_Type) ||
                   Py_IS_TYPE(descriptor, &PyMethodDescr_Type) ||
                   Py_IS_TYPE(descriptor, &PyClassMethodDescr_Type) ||
                   Py_IS_TYPE(descriptor, &PyWrapperDescr_Type)
               ? PyDescr_NAME(descriptor)
               : NULL;
}

/* The dictionary of a module has everything in it. No library takes it from a descriptor: one that
 * does so is a tool of the program. */
static bool is_dict_of_module(const struct policy *policy, PyObject *object, struct span name)
{
    return (span_is(name, "__dict__") || span_is(name, "__getstate__")) && PyModule_Check(object) &&
           !policy_member_allowed(policy, object, span_of("__dict__"), NULL);
}

/* `classmethod(d).__get__(None, x)` is `d.__get__(x)` until Python 3.13, however many of them there
 * are. New reference; NULL: there is no end of it. */
static PyObject *without_classmethods(PyObject *self)
{
    PyObject *inner = Py_NewRef(self);

    for (unsigned depth = 0; inner && PyObject_TypeCheck(inner, &PyClassMethod_Type); depth++)
        Py_SETREF(
            inner,
            depth < 100
                ? Py_TYPE(wrapped_by_classmethod)->tp_descr_get(wrapped_by_classmethod, inner, NULL)
                : NULL);
    return inner;
}

static int check_descriptor(PyObject *self, PyObject *args)
{
    const struct policy *policy = policy_sealed();
    PyObject *inner, *name;
    struct span text;
    bool ok = true, is_hidden = false;
    int r = 0;

    if (!policy)
        return 0;
    inner = without_classmethods(self);
    if (!inner) {
        PyErr_Clear();
        return refuse(policy, span_of("__func__"));
    }
    name = name_of(inner);
    if (name) {
        text = span_of_str(name, &ok);
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
            is_hidden |= is_dict_of_module(policy, PyTuple_GET_ITEM(args, i), text);
        r = !ok || is_hidden ? refuse(policy, text) : check_name(policy, text);
    }
    Py_DECREF(inner);
    return r;
}

static PyObject *guarded_get(PyObject *self, PyObject *args, void *wrapped)
{
    return check_descriptor(self, args) == 0 ? real_get(self, args, wrapped) : NULL;
}

static PyObject *guarded_set(PyObject *self, PyObject *args, void *wrapped)
{
    return check_descriptor(self, args) == 0 ? real_set(self, args, wrapped) : NULL;
}

static PyObject *guarded_delete(PyObject *self, PyObject *args, void *wrapped)
{
    return check_descriptor(self, args) == 0 ? real_delete(self, args, wrapped) : NULL;
}

/* ---- installation ---- */

static int replace_wrapper(PyTypeObject *type, const char *name, wrapperfunc guard,
                           wrapperfunc *ret_real)
{
    PyObject *method = PyDict_GetItemString(type_methods(type), name);
    struct wrapperbase *base;

    if (!method || !Py_IS_TYPE(method, &PyWrapperDescr_Type))
        return -1;
    base = ((PyWrapperDescrObject *)method)->d_base;
    *ret_real = base->wrapper;
    base->wrapper = guard;
    return 0;
}

int policy_slots_prepare(void)
{
    if (real_getattribute)
        return 0;
    wrapped_by_classmethod =
        Py_XNewRef(PyDict_GetItemString(type_methods(&PyClassMethod_Type), "__func__"));
    if (!wrapped_by_classmethod || !Py_TYPE(wrapped_by_classmethod)->tp_descr_get)
        return -1;
    if (replace_wrapper(&PyBaseObject_Type, "__getattribute__", guarded_getattribute,
                        &real_getattribute) < 0 ||
        replace_wrapper(&PyGetSetDescr_Type, "__get__", guarded_get, &real_get) < 0 ||
        replace_wrapper(&PyGetSetDescr_Type, "__set__", guarded_set, &real_set) < 0 ||
        replace_wrapper(&PyGetSetDescr_Type, "__delete__", guarded_delete, &real_delete) < 0)
        return -1;
    return 0;
}
