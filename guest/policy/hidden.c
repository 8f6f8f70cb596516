/* Ways to what is hidden from programs, beside its name.
 *
 * Attributes that lead to the globals of others announce themselves, but a few. A name that the
 * interpreter reads by itself, as that in `__match_args__`, and that nobody has seen before, is
 * judged by this announcement.
 *
 * `vars(type)` is a proxy that cannot be written to. But `vars(type) == x` and `vars(type) | x` ask
 * `x` about what is behind the proxy, and whoever has that gives a descriptor another name:
 * `d["g"] = d["__globals__"]` makes `f.g` of `f.__globals__`. What the program gets is a copy.
 * `object.__getstate__(x)` is the dictionary of `x`, whatever `x` is.
 */
#include "guest/policy/internal.h"
#include "guest/versions.h"

#include <structmember.h>

/* ---- attributes without an audit event ---- */

static struct silent {
    PyTypeObject *type;
    const char *name;
    PyMemberDef member;
    PyGetSetDef own, real; /* where it is no member */
} silent[] = {
    {.type = &PyFunction_Type, .name = "__globals__"},
    {.type = &PyFunction_Type, .name = "__closure__"},
    {.type = &PyFunction_Type, .name = "__builtins__"},
    {.type = &PyFrame_Type, .name = "f_back"},
    {.type = &PyFrame_Type, .name = "f_builtins"},
    {.type = &PyFrame_Type, .name = "f_code"},
    {.type = &PyFrame_Type, .name = "f_globals"},
    {.type = &PyFrame_Type, .name = "f_locals"},
};

static PyObject *announced_get(PyObject *self, void *closure)
{
    const struct silent *s = closure;

    if (PySys_Audit("object.__getattr__", "Os", self, s->name) < 0)
        return NULL;
    return s->real.get(self, s->real.closure);
}

static int announced_set(PyObject *self, PyObject *value, void *closure)
{
    const struct silent *s = closure;

    return s->real.set(self, value, s->real.closure);
}

static int announce(struct silent *s)
{
    PyObject *descriptor = PyDict_GetItemString(type_methods(s->type), s->name);
    PyMemberDescrObject *member = (PyMemberDescrObject *)descriptor;
    PyGetSetDescrObject *getset = (PyGetSetDescrObject *)descriptor;

    if (descriptor && Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) {
        s->member = *member->d_member;
        s->member.flags |= PY_AUDIT_READ;
        member->d_member = &s->member;
        return 0;
    }
    if (!descriptor || !Py_IS_TYPE(descriptor, &PyGetSetDescr_Type) || !getset->d_getset->get)
        return -1;
    s->own = s->real = *getset->d_getset;
    s->own.get = announced_get;
    s->own.set = s->real.set ? announced_set : NULL;
    s->own.closure = s;
    getset->d_getset = &s->own;
    return 0;
}

/* ---- proxies ---- */

static richcmpfunc real_compare;
static binaryfunc real_or;

/* New reference. Proxies of other mappings are programs' and libraries' own. */
static PyObject *without_proxy(PyObject *object)
{
    PyObject *mapping = Py_IS_TYPE(object, &PyDictProxy_Type) ? proxied_mapping(object) : NULL;

    return mapping && PyDict_CheckExact(mapping) ? PyDict_Copy(mapping) : Py_NewRef(object);
}

static PyObject *guarded_compare(PyObject *self, PyObject *other, int op)
{
    PyObject *plain, *result;

    if (!policy_sealed())
        return real_compare(self, other, op);
    plain = without_proxy(self);
    if (!plain)
        return NULL;
    result = plain == self ? real_compare(self, other, op) : PyObject_RichCompare(plain, other, op);
    Py_DECREF(plain);
    return result;
}

static PyObject *guarded_or(PyObject *left, PyObject *right)
{
    PyObject *plain_left, *plain_right, *result = NULL;

    if (!policy_sealed())
        return real_or(left, right);
    plain_left = without_proxy(left);
    plain_right = without_proxy(right);
    if (plain_left && plain_right)
        result = plain_left == left && plain_right == right ? real_or(left, right)
                                                            : PyNumber_Or(plain_left, plain_right);
    Py_XDECREF(plain_left);
    Py_XDECREF(plain_right);
    return result;
}

static int guard_proxies(void)
{
    static const char *const comparisons[] = {"__lt__", "__le__", "__eq__",
                                              "__ne__", "__gt__", "__ge__"};
    PyTypeObject *type = &PyDictProxy_Type;

    if (!type->tp_richcompare || !type->tp_as_number || !type->tp_as_number->nb_or)
        return -1;
    real_compare = type->tp_richcompare;
    real_or = type->tp_as_number->nb_or;
    type->tp_richcompare = guarded_compare;
    type->tp_as_number->nb_or = guarded_or;
    for (size_t i = 0; i < COUNT_OF(comparisons); i++)
        policy_replace_slot(type, comparisons[i], (void *)real_compare, (void *)guarded_compare);
    policy_replace_slot(type, "__or__", (void *)real_or, (void *)guarded_or);
    policy_replace_slot(type, "__ror__", (void *)real_or, (void *)guarded_or);
    return 0;
}

/* ---- the state of an object ---- */

/* As in the interpreter, but a form of call for which it specialises no instruction: that would
 * pass by the guard. The function stays the same: copying and pickling recognise it. */
static PyMethodDef state_def;

static PyObject *guarded_state(PyObject *self, PyObject *const *args, size_t nargsf,
                               PyObject *names)
{
    const struct policy *policy = policy_sealed();

    if (PyVectorcall_NARGS(nargsf) != 1 || (names && PyTuple_GET_SIZE(names) > 0))
        return PyErr_Format(PyExc_TypeError, "object.__getstate__() takes one object");
    if (policy && policy_attribute_refused(policy, span_of(state_def.ml_name)) &&
        (PyType_Check(args[0]) || PyModule_Check(args[0]))) {
        policy_refuse(policy, PyExc_AttributeError, "attribute", span_of(state_def.ml_name),
                      "attribute `%s`", state_def.ml_name);
        return NULL;
    }
    (void)self;
    return state_def.ml_meth(args[0], NULL);
}

static int guard_state(void)
{
    PyObject *method = PyDict_GetItemString(type_methods(&PyBaseObject_Type), "__getstate__");
    PyMethodDescrObject *descriptor = (PyMethodDescrObject *)method;

    if (!method || !Py_IS_TYPE(method, &PyMethodDescr_Type) ||
        descriptor->d_method->ml_flags != METH_NOARGS)
        return -1;
    state_def = *descriptor->d_method;
    state_def.ml_flags = METH_VARARGS;
    descriptor->d_method = &state_def;
    descriptor->vectorcall = guarded_state;
    return 0;
}

int policy_hidden_prepare(void)
{
    if (real_compare)
        return 0;
    for (size_t i = 0; i < COUNT_OF(silent); i++)
        if (announce(&silent[i]) < 0)
            return -1;
    return guard_proxies() < 0 ? -1 : guard_state();
}
