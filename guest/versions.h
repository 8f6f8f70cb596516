/* Differences in C between the Pythons that belljar-zygote can be built with (3.11 and newer).
 * Nothing else in the guest asks for the version, or uses names that begin with `_Py`: those are
 * private, and come and go. The ones here are the same from 3.11 to 3.14. */
#pragma once

#include <Python.h>
#include <opcode.h>

/* Methods are looked up by LOAD_ATTR since 3.12; 3.14 has no number for the other any more. */
#ifndef LOAD_METHOD
#define LOAD_METHOD LOAD_ATTR
#endif

/* The methods of a type. Since 3.12 built-in types keep them with the interpreter. Borrowed. */
static inline PyObject *type_methods(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030c0000
    PyObject *dict = PyType_GetDict(type);

    Py_XDECREF(dict); /* the type, which lives for ever, has it */
    return dict;
#else
    return type->tp_dict;
#endif
}

/* A number from bytes, the lowest first. */
static inline PyObject *number_from_bytes(const uint8_t *bytes, size_t len)
{
    return _PyLong_FromByteArray(bytes, len, 1, 0);
}

/* The attribute of a type or of a class that it inherits from; runs no code. Borrowed. */
static inline PyObject *type_attribute(PyTypeObject *type, PyObject *name)
{
    return _PyType_Lookup(type, name);
}

/* The attributes of a plain object; runs no code. Borrowed. NULL: it has none. */
static inline PyObject *object_attributes(PyObject *object)
{
    PyObject **fields = _PyObject_GetDictPtr(object);

    return fields ? *fields : NULL;
}

/* The mapping behind a mapping proxy. Borrowed. */
static inline PyObject *proxied_mapping(PyObject *proxy)
{
    return ((struct {
               PyObject base;
               PyObject *mapping;
           } *)proxy)
        ->mapping;
}

/* The object of a weak reference. Borrowed: the caller has to know that somebody else holds it.
 * NULL: it is gone. */
static inline PyObject *weak_target(PyObject *weak)
{
    PyObject *object;

#if PY_VERSION_HEX >= 0x030d0000
    if (PyWeakref_GetRef(weak, &object) > 0)
        Py_DECREF(object);
#else
    object = PyWeakref_GetObject(weak);
#endif
    return object == Py_None ? NULL : object;
}
