/* Gives a program with lines of notebooks, and its errors, the numbers of its own lines: its
 * translation may have more (NOTEBOOK_EXTRA_LINE). */
#include <string.h>

#include <Python.h>

#include "guest/notebook.h"
#include "guest/notebook_internal.h"

/* A tree that is nested more deeply is refused later (policy/walk.c). */
#define DEPTH_MAX 5000

/* Lines of the translation that end with a mark. */
struct extras {
    long *lines;
    size_t count;
};

/* -1: memory is short. */
static int find_extras(const char *text, struct extras *e)
{
    size_t size = 0;
    long line = 1;

    for (const char *c = text; (c = strstr(c, NOTEBOOK_EXTRA_LINE)); c++)
        size++;
    e->lines = size ? PyMem_RawMalloc(size * sizeof(*e->lines)) : NULL;
    if (!e->lines)
        return size ? -1 : 0;
    for (const char *c = text; *c && e->count < size; c++) {
        if (*c != '\n')
            continue;
        if (c > text && c[-1] == '\f')
            e->lines[e->count++] = line;
        line++;
    }
    return 0;
}

static long original_line(const struct extras *e, long line)
{
    size_t low = 0, high = e->count;

    while (low < high) { /* how many of them end before it */
        size_t middle = (low + high) / 2;

        if (e->lines[middle] < line)
            low = middle + 1;
        else
            high = middle;
    }
    return line - (long)low;
}

/* The new number of a line, or NULL: it is none. */
static PyObject *renumbered(const struct extras *e, PyObject *number)
{
    long line = PyLong_CheckExact(number) ? PyLong_AsLong(number) : -1;

    return line > 0 ? PyLong_FromLong(original_line(e, line)) : NULL;
}

static bool is_line_number(PyObject *name)
{
    return PyUnicode_CompareWithASCIIString(name, "lineno") == 0 ||
           PyUnicode_CompareWithASCIIString(name, "end_lineno") == 0;
}

/* Nodes are instances with a dictionary. What is none has no lines. */
static int renumber(const struct extras *e, PyObject *node, unsigned depth)
{
    PyObject *dict = PyLong_Check(node) || PyUnicode_Check(node) || depth > DEPTH_MAX
                         ? NULL
                         : PyObject_GenericGetDict(node, NULL);
    PyObject *name, *value;
    Py_ssize_t at = 0;
    int r = 0;

    for (Py_ssize_t i = 0; PyList_CheckExact(node) && r == 0 && i < PyList_GET_SIZE(node); i++)
        r = renumber(e, PyList_GET_ITEM(node, i), depth + 1);
    while (dict && r == 0 && PyDict_Next(dict, &at, &name, &value)) {
        PyObject *number = is_line_number(name) ? renumbered(e, value) : NULL;

        if (number)
            r = PyDict_SetItem(dict, name, number);
        else
            r = renumber(e, value, depth + 1);
        Py_XDECREF(number);
    }
    Py_XDECREF(dict);
    PyErr_Clear();
    return r;
}

/* The exception that is set has a line if it is a SyntaxError. */
static void renumber_error(const struct extras *e)
{
    PyObject *type, *value, *tb;

    PyErr_Fetch(&type, &value, &tb);
    PyErr_NormalizeException(&type, &value, &tb);
    if (value && PyErr_GivenExceptionMatches(value, PyExc_SyntaxError)) {
        PySyntaxErrorObject *error = (PySyntaxErrorObject *)value;
        PyObject *line = error->lineno ? renumbered(e, error->lineno) : NULL;
        PyObject *end = error->end_lineno ? renumbered(e, error->end_lineno) : NULL;

        if (line)
            Py_XSETREF(error->lineno, line);
        if (end)
            Py_XSETREF(error->end_lineno, end);
    }
    PyErr_Clear();
    PyErr_Restore(type, value, tb);
}

void notebook_renumber(PyObject *tree, const char *translation)
{
    struct extras e = {0};

    if (find_extras(translation, &e) == 0 && e.count) {
        if (tree)
            (void)renumber(&e, tree, 0);
        else
            renumber_error(&e);
    }
    PyMem_RawFree(e.lines);
}
