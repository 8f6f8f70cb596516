#include <math.h>
#include <stdbool.h>

#include "guest/report.h"

#define DEPTH_MAX 64

/* A growing text; `failed` sticks. */
struct text {
    char *data;
    size_t len;
    size_t size;
    bool failed;
};

static void put(struct text *t, const char *data, size_t len)
{
    if (t->failed || len > REPORT_TEXT_MAX - t->len) {
        t->failed = true;
        return;
    }
    if (t->len + len > t->size) {
        size_t size = t->size ? t->size : 256;
        char *grown;

        while (size < t->len + len)
            size *= 2;
        grown = realloc(t->data, size);
        if (!grown) {
            t->failed = true;
            return;
        }
        t->data = grown;
        t->size = size;
    }
    if (len)
        memcpy(t->data + t->len, data, len);
    t->len += len;
}

static void put_str(struct text *t, const char *s)
{
    put(t, s, strlen(s));
}

static void put_unicode(struct text *t, PyObject *str)
{
    Py_ssize_t len;
    const char *s = PyUnicode_AsUTF8AndSize(str, &len);

    if (!s) { /* lone surrogates have no JSON form that all readers take */
        PyErr_Clear();
        t->failed = true;
        return;
    }
    put(t, "\"", 1);
    for (Py_ssize_t i = 0, from = 0; i <= len; i++) {
        unsigned char c = i < len ? (unsigned char)s[i] : 0;
        char escape[8];

        if (i < len && c >= 0x20 && c != '"' && c != '\\')
            continue;
        put(t, s + from, (size_t)(i - from));
        from = i + 1;
        if (i == len)
            break;
        if (c == '"' || c == '\\')
            (void)snprintf(escape, sizeof(escape), "\\%c", c);
        else
            (void)snprintf(escape, sizeof(escape), "\\u%04x", c);
        put_str(t, escape);
    }
    put(t, "\"", 1);
}

static void put_number(struct text *t, PyObject *value)
{
    PyObject *repr;

    if (PyFloat_CheckExact(value) && !isfinite(PyFloat_AS_DOUBLE(value))) {
        t->failed = true; /* JSON has no infinity */
        return;
    }
    repr = PyObject_Repr(value);
    if (!repr) { /* an integer of more digits than the interpreter prints */
        PyErr_Clear();
        t->failed = true;
        return;
    }
    put_str(t, PyUnicode_AsUTF8(repr));
    Py_DECREF(repr);
}

static void put_value(struct text *t, PyObject *value, int depth);

static void put_sequence(struct text *t, PyObject *seq, int depth)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(seq);

    put(t, "[", 1);
    for (Py_ssize_t i = 0; i < n && !t->failed; i++) {
        if (i)
            put(t, ",", 1);
        put_value(t, PySequence_Fast_GET_ITEM(seq, i), depth + 1);
    }
    put(t, "]", 1);
}

static void put_dict(struct text *t, PyObject *dict, int depth)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    bool first = true;

    put(t, "{", 1);
    while (!t->failed && PyDict_Next(dict, &at, &key, &value)) {
        if (!PyUnicode_CheckExact(key)) {
            t->failed = true;
            return;
        }
        if (!first)
            put(t, ",", 1);
        first = false;
        put_unicode(t, key);
        put(t, ":", 1);
        put_value(t, value, depth + 1);
    }
    put(t, "}", 1);
}

static void put_value(struct text *t, PyObject *value, int depth)
{
    if (depth > DEPTH_MAX) {
        t->failed = true;
        return;
    }
    if (value == Py_None)
        put_str(t, "null");
    else if (value == Py_True)
        put_str(t, "true");
    else if (value == Py_False)
        put_str(t, "false");
    else if (PyLong_CheckExact(value) || PyFloat_CheckExact(value))
        put_number(t, value);
    else if (PyUnicode_CheckExact(value))
        put_unicode(t, value);
    else if (PyList_CheckExact(value) || PyTuple_CheckExact(value))
        put_sequence(t, value, depth);
    else if (PyDict_CheckExact(value))
        put_dict(t, value, depth);
    else
        t->failed = true;
}

PyObject *report_json(PyObject *value)
{
    struct text t = {0};
    PyObject *result = NULL;

    put_value(&t, value, 0);
    if (!t.failed)
        result = PyUnicode_FromStringAndSize(t.data, (Py_ssize_t)t.len);
    free(t.data);
    if (!result)
        PyErr_Clear();
    return result;
}
