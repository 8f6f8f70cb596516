#include "guest/policy/node.h"

struct node_types node_types;
struct node_names node_names;

static PyTypeObject *get_type(PyObject *module, const char *name)
{
    PyObject *type = PyObject_GetAttrString(module, name);

    if (type && PyType_Check(type))
        return (PyTypeObject *)type;
    Py_XDECREF(type);
    return NULL;
}

int policy_walk_prepare(void)
{
    PyObject *module = PyImport_ImportModule("_ast");
    bool ok;

    if (!module)
        return -1;
    ok = (node_types.AST = get_type(module, "AST")) != NULL;
#define X(kind) ok = ok && (node_types.kind = get_type(module, #kind)) != NULL;
    KINDS(X)
#undef X
    node_types.type_param = get_type(module, "type_param");
    PyErr_Clear();
#define X(field) ok = ok && (node_names.field = PyUnicode_InternFromString(#field)) != NULL;
    FIELDS(X)
#undef X
    ok = ok && (node_names.dunder_name = PyUnicode_InternFromString("__name__")) != NULL;
    ok = ok && (node_names.dunder_all = PyUnicode_InternFromString("__all__")) != NULL;
    ok = ok && (node_names.dunder_path = PyUnicode_InternFromString("__path__")) != NULL;
    Py_DECREF(module);
    return ok ? 0 : -1;
}

/* The module `ast` has properties to add to a class, and has to be done with that. */
int policy_seal_nodes(void)
{
    PyObject *wrapper = PyImport_ImportModule("ast");
    PyObject *module = wrapper ? PyImport_ImportModule("_ast") : NULL;
    PyObject *dict = module ? PyModule_GetDict(module) : NULL;
    PyObject *name, *value;
    Py_ssize_t at = 0;

    while (dict && PyDict_Next(dict, &at, &name, &value))
        if (PyType_Check(value) && PyType_IsSubtype((PyTypeObject *)value, node_types.AST))
            ((PyTypeObject *)value)->tp_flags |= Py_TPFLAGS_IMMUTABLETYPE;
    Py_XDECREF(wrapper);
    Py_XDECREF(module);
    return dict ? 0 : -1;
}

bool node_check(PyObject *value)
{
    return PyObject_TypeCheck(value, node_types.AST);
}

PyObject *node_get(PyObject *node, PyObject *name)
{
    PyObject *dict = node_check(node) ? PyObject_GenericGetDict(node, NULL) : NULL;
    PyObject *value;

    if (!dict) {
        PyErr_Clear();
        return NULL;
    }
    value = PyDict_GetItemWithError(dict, name);
    Py_DECREF(dict); /* the node keeps it */
    return value;
}

PyObject *node_typed(PyObject *node, PyObject *name, PyTypeObject *type)
{
    PyObject *value = node_get(node, name);

    return value && Py_IS_TYPE(value, type) ? value : NULL;
}

PyObject *node_text(PyObject *node, PyObject *name)
{
    return node_typed(node, name, &PyUnicode_Type);
}

Py_ssize_t node_count(PyObject *list)
{
    return list && PyList_CheckExact(list) ? PyList_GET_SIZE(list) : 0;
}

int node_int(PyObject *node, PyObject *name)
{
    PyObject *value = node_typed(node, name, &PyLong_Type);
    long number = value ? PyLong_AsLong(value) : -1;

    PyErr_Clear();
    return number > INT_MAX ? -1 : (int)number;
}

struct span node_span(PyObject *text)
{
    bool ok;

    return span_of_str(text, &ok);
}

bool node_has_attr(PyObject *node, const char *name)
{
    PyObject *attr =
        Py_IS_TYPE(node, node_types.Attribute) ? node_text(node, node_names.attr) : NULL;

    return attr && PyUnicode_CompareWithASCIIString(attr, name) == 0;
}
