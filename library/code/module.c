/* _belljar_code: the core of api.code_analysis as a module of Python. */
#include "library/code/module.h"

#include <string.h>

#include <Python.h>

#include "library/code/module_internal.h"
#include "library/code/outline.h"
#include "library/code/tree.h"

static int add_defs(PyObject *result, struct code_maker *m, bool has_docstrings)
{
    PyObject *functions = PyList_New(0), *classes = PyList_New(0);
    int r = functions && classes ? 0 : -1;

    for (size_t i = 0; r == 0 && i < m->o->n_defs; i++)
        r = code_append(m->o->defs[i].kind == OUTLINE_CLASS ? classes : functions,
                        code_def(m, i, has_docstrings ? CODE_DOCSTRING : CODE_PLAIN, NULL));
    if (r == 0 && (PyDict_SetItem(result, code_keys.functions, functions) < 0 ||
                   PyDict_SetItem(result, code_keys.classes, classes) < 0))
        r = -1;
    Py_XDECREF(functions);
    Py_XDECREF(classes);
    return r;
}

static int add_imports(PyObject *result, struct code_maker *m)
{
    PyObject *list = PyList_New(0);
    int r = list ? 0 : -1;

    for (size_t i = 0; r == 0 && i < m->o->n_imports; i++)
        r = code_append(list, code_import(m, i));
    if (r == 0)
        r = PyDict_SetItem(result, code_keys.imports, list);
    Py_XDECREF(list);
    return r;
}

static PyObject *make_call(struct code_maker *m, const struct outline_call *call)
{
    PyObject *dict = PyDict_New();

    if (!dict ||
        code_put(dict, code_keys.callee,
                 call->callee.len ? code_name(m, call->callee) : PyUnicode_FromString("<expr>")) <
            0 ||
        code_put(dict, code_keys.line, code_number(call->line)) < 0 ||
        code_put(dict, code_keys.col, code_number(call->col)) < 0 ||
        code_put(dict, code_keys.in_function, code_scope(m, call->within)) < 0 ||
        code_put(dict, code_keys.nargs, code_number(call->n_args)) < 0 ||
        code_put(dict, code_keys.kwargs, code_number(call->n_keywords)) < 0)
        Py_CLEAR(dict);
    return dict;
}

static int add_calls(PyObject *result, struct code_maker *m)
{
    PyObject *list = PyList_New(0);
    int r = list ? 0 : -1;

    for (size_t i = 0; r == 0 && i < m->o->n_calls; i++)
        r = code_append(list, make_call(m, &m->o->calls[i]));
    if (r == 0)
        r = PyDict_SetItem(result, code_keys.calls, list);
    Py_XDECREF(list);
    return r;
}

static int add_figures(PyObject *result, const struct outline *o)
{
    return code_put(result, code_keys.lines, PyLong_FromUnsignedLong(o->lines)) < 0 ||
                   code_put(result, code_keys.code_lines, PyLong_FromUnsignedLong(o->code_lines)) <
                       0 ||
                   code_put(result, code_keys.comment_lines,
                            PyLong_FromUnsignedLong(o->comment_lines)) < 0 ||
                   code_put(result, code_keys.blank_lines,
                            PyLong_FromUnsignedLong(o->blank_lines)) < 0 ||
                   code_put(result, code_keys.branches, PyLong_FromUnsignedLong(o->branches)) < 0 ||
                   code_put(result, code_keys.error,
                            o->why ? PyUnicode_FromString(o->why) : Py_NewRef(Py_None)) < 0 ||
                   code_put(result, code_keys.error_line,
                            o->why ? PyLong_FromUnsignedLong(o->why_line) : Py_NewRef(Py_None)) < 0
               ? -1
               : 0;
}

static PyObject *result_of(const struct outline *o, unsigned wishes)
{
    struct code_cache cache = {0};
    struct code_maker m = {.o = o, .cache = &cache};
    PyObject *result = PyDict_New();

    if (o->language && !(result = code_with_language(o, result)))
        return NULL;
    if (!result || add_figures(result, o) < 0 ||
        (o->language &&
         code_put(result, code_keys.has_mistakes, code_boolean(o->has_mistakes)) < 0) ||
        add_defs(result, &m, wishes & OUTLINE_DOCSTRINGS) < 0 || add_imports(result, &m) < 0 ||
        ((wishes & OUTLINE_CALLS) && add_calls(result, &m) < 0))
        Py_CLEAR(result);
    code_maker_done(&m);
    code_cache_done(&cache);
    return result;
}

static PyObject *outline(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"source", "calls", "docstrings", "language", NULL};
    const struct tree_language *language = NULL;
    const char *name = NULL;
    struct outline o = {0};
    unsigned wishes;
    Py_buffer source;
    int calls = 0, docstrings = 0;
    PyObject *result;

    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, named, "y*|ppz", names, &source, &calls, &docstrings,
                                     &name))
        return NULL;
    wishes = (calls ? OUTLINE_CALLS : 0) | (docstrings ? OUTLINE_DOCSTRINGS : 0);
    language = name ? tree_language_called(name) : NULL;
    if (name && !language) {
        PyBuffer_Release(&source);
        return PyErr_Format(PyExc_ValueError, "unknown language %s", name);
    }
    if (source.len >= INT32_MAX) {
        PyBuffer_Release(&source);
        return PyErr_Format(PyExc_ValueError, "the source is too long");
    }
    Py_BEGIN_ALLOW_THREADS;
    if (language)
        tree_read(&o, language, source.buf, (size_t)source.len, wishes);
    else
        outline_read(&o, source.buf, (size_t)source.len, wishes);
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&source);
    result = o.is_out_of_memory ? PyErr_NoMemory() : result_of(&o, wishes);
    outline_done(&o);
    return result;
}

/* clang-format off */
static PyMethodDef methods[] = {
    {"outline", (PyCFunction)(void (*)(void))outline, METH_VARARGS | METH_KEYWORDS,
     "outline(source, calls=False, docstrings=False, language=None): what a source (UTF-8) defines and imports"},
    {"language", code_language, METH_VARARGS, "language(path, head=b''): the name of a file's language, or None"},
    {"languages", code_languages, METH_NOARGS, "languages(): {name: whether its grammar is in this build}"},
    {"occurrences", code_occurrences, METH_VARARGS,
     "occurrences(source, name, new_name, which=0): where a name occurs, and whether the new one is taken"},
    {"scan", (PyCFunction)(void (*)(void))code_scan, METH_VARARGS | METH_KEYWORDS,
     "scan(paths, what, pattern=None, ...): what many files define, import or call: (result, [(path, reason)], files seen)"},
    {"scopes", code_scopes, METH_VARARGS, "scopes(source): what each scope binds and uses"},
    {"tree_names", code_tree_names, METH_VARARGS,
     "tree_names(language, source, name, new_name): where a name and the new one occur"},
    {"unused_imports", code_unused_imports, METH_VARARGS, "unused_imports(source): imports that nothing uses"},
    {"walk", code_walk, METH_VARARGS, "walk(root, prefix, pattern): files below a directory, sorted"},
    {0},
};
/* clang-format on */

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_belljar_code", .m_size = -1,
                                 .m_methods = methods};

PyObject *code_module(void)
{
    return code_make_keys() < 0 ? NULL : PyModule_Create(&definition);
}
