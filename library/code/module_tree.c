/* Languages besides Python, for the module. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "library/code/module_internal.h"
#include "library/code/tree.h"

PyObject *code_languages(PyObject *self, PyObject *args)
{
    PyObject *dict = PyDict_New();
    const struct tree_language *language;

    (void)self;
    (void)args;
    for (size_t i = 0; dict && (language = tree_language_at(i)); i++)
        if (PyDict_SetItemString(dict, language->name,
                                 tree_is_there(language) ? Py_True : Py_False) < 0)
            Py_CLEAR(dict);
    return dict;
}

PyObject *code_language(PyObject *self, PyObject *args)
{
    const struct tree_language *language;
    Py_buffer head = {0};
    PyObject *path = NULL;

    (void)self;
    if (!PyArg_ParseTuple(args, "O&|y*", PyUnicode_FSConverter, &path, &head)) {
        Py_XDECREF(path);
        return NULL;
    }
    language =
        tree_language_of(PyBytes_AS_STRING(path), head.buf ? head.buf : "", (size_t)head.len);
    Py_DECREF(path);
    PyBuffer_Release(&head);
    return language ? PyUnicode_FromString(language->name) : Py_NewRef(Py_None);
}

static PyObject *list_of(const struct tree_names *names, const struct tree_language *language)
{
    static const char *const kinds[] = {"name", "attribute", "shorthand", "macro"};
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < names->count; i++) {
        const struct tree_name *n = &names->items[i];
        /* In other languages they are the same tokens, and telling some apart would only split
         * them. */
        enum tree_name_kind kind =
            n->kind != TREE_MACRO && !language->has_fields_apart ? TREE_NAME : n->kind;

        if (code_append(list, Py_BuildValue("(IIs)", n->start, n->line, kinds[kind])) < 0)
            Py_CLEAR(list);
    }
    return list;
}

PyObject *code_tree_names(PyObject *self, PyObject *args)
{
    const struct tree_language *language;
    struct tree_names names = {0};
    const char *called, *name, *other;
    PyObject *list, *result = NULL;
    Py_buffer source;

    (void)self;
    if (!PyArg_ParseTuple(args, "sy*ss", &called, &source, &name, &other))
        return NULL;
    language = tree_language_called(called);
    if (!language) {
        PyErr_Format(PyExc_ValueError, "unknown language %s", called);
    } else {
        Py_BEGIN_ALLOW_THREADS;
        tree_names_read(&names, language, source.buf, (size_t)source.len, name, other);
        Py_END_ALLOW_THREADS;
        if (names.is_out_of_memory)
            PyErr_NoMemory();
        else if (names.why)
            PyErr_SetString(PyExc_ValueError, names.why);
        else if ((list = list_of(&names, language)))
            result = Py_BuildValue("(NIIO)", list, names.taken_line, names.taken_field_line,
                                   names.has_mistakes ? Py_True : Py_False);
    }
    tree_names_done(&names);
    PyBuffer_Release(&source);
    return result;
}
