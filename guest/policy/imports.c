#include <string.h>

#include "guest/policy/internal.h"

extern const char imports_source[]; /* made of guest/policy/imports.py at build time */

/* A module that the profile refuses need not be installed. */
static bool is_reported(const struct policy_report *report, size_t count, const char *name,
                        unsigned line)
{
    for (size_t i = 0; i < count; i++) {
        const struct policy_violation *v = &report->items[i];

        if (v->line == line && strncmp(v->name, name, strlen(name)) == 0)
            return true;
    }
    return false;
}

static int add(struct policy_report *report, size_t before, PyObject *item)
{
    const char *name;
    int line, column;

    if (!PyArg_ParseTuple(item, "sii", &name, &line, &column))
        return -1;
    if (is_reported(report, before, name, (unsigned)line))
        return 0;
    return policy_report_add(report, "missing", span_of(name), line, column, (struct span){0},
                             "no module named `%s` is installed", name);
}

static PyObject *find_missing(PyObject *tree)
{
    PyObject *globals = Py_BuildValue("{sO}", "__builtins__", PyEval_GetBuiltins());
    PyObject *code = globals ? policy_compile_own(imports_source, "<imports>") : NULL;
    PyObject *done = code ? PyEval_EvalCode(code, globals, globals) : NULL;
    PyObject *list = NULL;

    if (done)
        list = PyObject_CallFunctionObjArgs(PyDict_GetItemString(globals, "missing_imports"), tree,
                                            NULL);
    Py_XDECREF(done);
    Py_XDECREF(code);
    Py_XDECREF(globals);
    return list;
}

int policy_check_imports(PyObject *tree, struct policy_report *report)
{
    size_t before = report->count;
    PyObject *list = find_missing(tree);
    int r = list && PyList_CheckExact(list) ? 0 : -1;

    for (Py_ssize_t i = 0; r == 0 && i < PyList_GET_SIZE(list); i++)
        r = add(report, before, PyList_GET_ITEM(list, i));
    Py_XDECREF(list);
    if (r < 0)
        PyErr_Clear();
    else
        policy_report_finish(report, before);
    return r;
}
