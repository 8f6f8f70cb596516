#include "guest/history.h"

#include <stdio.h>

/* Values that `Out` keeps; more of them would take memory that nobody expects to be taken. */
#define OUT_MAX 32

/* Texts that `In` keeps; older ones become empty, so that the others keep their place. */
#define IN_MAX 1000

/* `_` as it was set last, only to be compared: a program's own `_` is left alone. */
static const PyObject *last_value;

/* Each name gets the value of the next one, the last one gets `value`. */
static int shift(PyObject *globals, const char *const names[3], PyObject *value)
{
    for (size_t i = 0; i < 2; i++) {
        PyObject *next = PyDict_GetItemString(globals, names[i + 1]);

        if (next)
            (void)PyDict_SetItemString(globals, names[i], next);
    }
    return PyDict_SetItemString(globals, names[2], value);
}

/* `Out` or `In`, made if there is none. NULL: it is something else by now. `other`: its second
 * name. */
static PyObject *get(PyObject *globals, const char *name, const char *other, PyTypeObject *type)
{
    PyObject *found = PyDict_GetItemString(globals, name);

    if (found)
        return Py_IS_TYPE(found, type) ? Py_NewRef(found) : NULL;
    found = PyObject_CallNoArgs((PyObject *)type);
    if (found && (PyDict_SetItemString(globals, name, found) < 0 ||
                  PyDict_SetItemString(globals, other, found) < 0))
        Py_CLEAR(found);
    return found;
}

/* ---- values ---- */

static void forget_oldest(PyObject *globals, PyObject *out)
{
    PyObject *key, *value, *name;
    Py_ssize_t at = 0;

    if (PyDict_GET_SIZE(out) <= OUT_MAX || !PyDict_Next(out, &at, &key, &value))
        return;
    Py_INCREF(key);
    name = PyLong_CheckExact(key) ? PyUnicode_FromFormat("_%S", key) : NULL;
    if (name && PyDict_GetItem(globals, name) == value)
        (void)PyDict_DelItem(globals, name);
    (void)PyDict_DelItem(out, key);
    Py_XDECREF(name);
    Py_DECREF(key);
}

void history_add_value(PyObject *globals, uint32_t number, PyObject *value)
{
    static const char *const names[] = {"___", "__", "_"};
    PyObject *out = get(globals, "Out", "_oh", &PyDict_Type);
    PyObject *key = PyLong_FromUnsignedLong(number), *mine = PyDict_GetItemString(globals, "_");
    char name[16];

    (void)snprintf(name, sizeof(name), "_%u", number);
    /* Not the dict in itself. */
    if (out && key && value != out && PyDict_SetItem(out, key, value) == 0) {
        (void)PyDict_SetItemString(globals, name, value);
        forget_oldest(globals, out);
        if ((!mine || mine == last_value) && shift(globals, names, value) == 0)
            last_value = value;
    }
    Py_XDECREF(out);
    Py_XDECREF(key);
    PyErr_Clear();
}

/* ---- texts ---- */

static void fill_up(PyObject *in, uint32_t number)
{
    PyObject *empty = PyUnicode_FromString("");

    while (empty && PyList_GET_SIZE(in) < (Py_ssize_t)number && PyList_Append(in, empty) == 0)
        continue;
    if (empty && number > IN_MAX && PyList_GET_SIZE(in) > (Py_ssize_t)(number - IN_MAX))
        (void)PyList_SetItem(in, (Py_ssize_t)(number - IN_MAX), Py_NewRef(empty));
    Py_XDECREF(empty);
}

void history_add_input(PyObject *globals, uint32_t number, struct span text)
{
    static const char *const names[] = {"_iii", "_ii", "_i"};
    PyObject *in = get(globals, "In", "_ih", &PyList_Type), *before;
    PyObject *now = PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.len, "replace");
    char name[16];

    if (in && now) {
        before = PyList_GET_SIZE(in) ? PyList_GET_ITEM(in, PyList_GET_SIZE(in) - 1) : NULL;
        if (before)
            (void)shift(globals, names, before);
        fill_up(in, number);
        (void)PyList_Append(in, now);
        (void)snprintf(name, sizeof(name), "_i%u", number);
        (void)PyDict_SetItemString(globals, name, now);
        if (number > IN_MAX) {
            (void)snprintf(name, sizeof(name), "_i%u", number - IN_MAX);
            (void)PyDict_DelItemString(globals, name);
        }
    }
    Py_XDECREF(in);
    Py_XDECREF(now);
    PyErr_Clear();
}
