/* _belljar_code: the core of api.code_analysis as a module of Python. */
#include "guest/code/module.h"

#include <string.h>

#include <Python.h>

#include "guest/code/module_internal.h"
#include "guest/code/outline.h"

/* Keys of the dictionaries, made once. */
#define KEYS(X)                                                                                    \
    X(name)                                                                                        \
    X(qualname)                                                                                    \
    X(kind)                                                                                        \
    X(start_line)                                                                                  \
    X(end_line)                                                                                    \
    X(col)                                                                                         \
    X(decorators)                                                                                  \
    X(decorator_line)                                                                              \
    X(params)                                                                                      \
    X(bases)                                                                                       \
    X(methods)                                                                                     \
    X(returns)                                                                                     \
    X(has_docstring)                                                                               \
    X(docstring)                                                                                   \
    X(complexity)                                                                                  \
    X(has_default)                                                                                 \
    X(has_annotation)                                                                              \
    X(module)                                                                                      \
    X(alias)                                                                                       \
    X(level)                                                                                       \
    X(line)                                                                                        \
    X(scope)                                                                                       \
    X(in_try)                                                                                      \
    X(type_checking)                                                                               \
    X(star)                                                                                        \
    X(callee)                                                                                      \
    X(in_function)                                                                                 \
    X(nargs)                                                                                       \
    X(kwargs)                                                                                      \
    X(functions)                                                                                   \
    X(classes)                                                                                     \
    X(imports)                                                                                     \
    X(calls)                                                                                       \
    X(lines)                                                                                       \
    X(code_lines)                                                                                  \
    X(comment_lines)                                                                               \
    X(blank_lines)                                                                                 \
    X(branches)                                                                                    \
    X(error)                                                                                       \
    X(error_line)

static struct {
#define X(key) PyObject *key;
    KEYS(X)
#undef X
    PyObject *normalize; /* unicodedata.normalize, when a name needs it */
} keys;

static int make_keys(void)
{
#define X(key)                                                                                     \
    if (!keys.key && !(keys.key = PyUnicode_InternFromString(#key)))                               \
        return -1;
    KEYS(X)
#undef X
    return 0;
}

/* Takes the value, also when it fails. */
static int put(PyObject *dict, PyObject *key, PyObject *value)
{
    int r = value ? PyDict_SetItem(dict, key, value) : -1;

    Py_XDECREF(value);
    return r;
}

int code_append(PyObject *list, PyObject *item)
{
    int r = item ? PyList_Append(list, item) : -1;

    Py_XDECREF(item);
    return r;
}

/* Names that are not ASCII are the same when their NFKC forms are, says Python. */
static PyObject *normal(PyObject *text)
{
    PyObject *module, *result;

    if (!text || PyUnicode_IS_ASCII(text))
        return text;
    if (!keys.normalize) {
        module = PyImport_ImportModule("unicodedata");
        keys.normalize = module ? PyObject_GetAttrString(module, "normalize") : NULL;
        Py_XDECREF(module);
    }
    result = keys.normalize ? PyObject_CallFunction(keys.normalize, "sO", "NFKC", text) : NULL;
    Py_DECREF(text);
    return result;
}

static PyObject *text_of(const struct outline *o, struct piece piece)
{
    return PyUnicode_DecodeUTF8(piece.len ? outline_text(o, piece) : "", piece.len, "replace");
}

static PyObject *name_of(const struct outline *o, struct piece piece)
{
    return normal(text_of(o, piece));
}

static PyObject *name_or_none(const struct outline *o, struct piece piece)
{
    return piece.len ? name_of(o, piece) : Py_NewRef(Py_None);
}

static PyObject *boolean(bool is_true)
{
    return Py_NewRef(is_true ? Py_True : Py_False);
}

/* The dotted path of a definition, as Python's __qualname__ has it. */
static PyObject *qualname_of(const struct outline *o, PyObject *const *qualnames, size_t index)
{
    const struct outline_def *def = &o->defs[index];
    PyObject *name = name_of(o, def->name), *result;

    if (!name || def->parent == OUTLINE_NOWHERE)
        return name;
    result = PyUnicode_FromFormat(o->defs[def->parent].kind == OUTLINE_CLASS ? "%U.%U"
                                                                             : "%U.<locals>.%U",
                                  qualnames[def->parent], name);
    Py_DECREF(name);
    return result;
}

static PyObject *param_of(const struct outline *o, const struct outline_param *param)
{
    static const char *const kinds[] = {"positional", "usual", "variadic", "keyword", "keywords"};
    PyObject *dict = PyDict_New();

    if (!dict || put(dict, keys.name, name_of(o, param->name)) < 0 ||
        put(dict, keys.kind, PyUnicode_InternFromString(kinds[param->kind])) < 0 ||
        put(dict, keys.has_default, boolean(param->has_default)) < 0 ||
        put(dict, keys.has_annotation, boolean(param->has_annotation)) < 0)
        Py_CLEAR(dict);
    return dict;
}

static PyObject *params_of(const struct outline *o, const struct outline_def *def)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list && i < def->n_params; i++) {
        const struct outline_param *param = &o->params[def->first_param + i];

        if (code_append(list, def->kind == OUTLINE_CLASS ? text_of(o, param->name)
                                                         : param_of(o, param)) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *decorators_of(const struct outline *o, const struct outline_def *def)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list && i < def->n_decorators; i++)
        if (code_append(list, name_of(o, o->decorators[def->first_decorator + i])) < 0)
            Py_CLEAR(list);
    return list;
}

static PyObject *methods_of(const struct outline *o, size_t index)
{
    PyObject *list = PyList_New(0);

    for (size_t i = index + 1; list && i < o->n_defs && o->defs[i].line <= o->defs[index].end_line;
         i++)
        if (o->defs[i].parent == index && o->defs[i].kind != OUTLINE_CLASS &&
            code_append(list, name_of(o, o->defs[i].name)) < 0)
            Py_CLEAR(list);
    return list;
}

static int fill_def(PyObject *dict, const struct outline *o, size_t index, bool has_docstrings)
{
    static const char *const kinds[] = {"function", "async", "class"};
    const struct outline_def *def = &o->defs[index];
    bool is_method = def->parent != OUTLINE_NOWHERE && o->defs[def->parent].kind == OUTLINE_CLASS;

    if (put(dict, keys.kind,
            PyUnicode_InternFromString(
                def->kind == OUTLINE_FUNCTION && is_method ? "method" : kinds[def->kind])) < 0 ||
        put(dict, keys.start_line, PyLong_FromUnsignedLong(def->line)) < 0 ||
        put(dict, keys.end_line, PyLong_FromUnsignedLong(def->end_line)) < 0 ||
        put(dict, keys.col, PyLong_FromUnsignedLong(def->col)) < 0 ||
        put(dict, keys.decorators, decorators_of(o, def)) < 0 ||
        put(dict, keys.decorator_line,
            PyLong_FromUnsignedLong(def->decorator_line ? def->decorator_line : def->line)) < 0 ||
        put(dict, keys.has_docstring, boolean(def->docstring.len > 0)) < 0)
        return -1;
    if (has_docstrings &&
        put(dict, keys.docstring,
            def->docstring.len ? text_of(o, def->docstring) : Py_NewRef(Py_None)) < 0)
        return -1;
    if (def->kind == OUTLINE_CLASS)
        return put(dict, keys.bases, params_of(o, def)) < 0 ||
                       put(dict, keys.methods, methods_of(o, index)) < 0
                   ? -1
                   : 0;
    return put(dict, keys.params, params_of(o, def)) < 0 ||
                   put(dict, keys.returns, boolean(def->has_returns)) < 0 ||
                   put(dict, keys.complexity, PyLong_FromUnsignedLong(def->branches + 1)) < 0
               ? -1
               : 0;
}

static int add_defs(PyObject *result, const struct outline *o, PyObject **qualnames,
                    bool has_docstrings)
{
    PyObject *functions = PyList_New(0), *classes = PyList_New(0);
    int r = functions && classes ? 0 : -1;

    for (size_t i = 0; r == 0 && i < o->n_defs; i++) {
        PyObject *dict = PyDict_New();

        qualnames[i] = qualname_of(o, qualnames, i);
        if (!dict || !qualnames[i] || put(dict, keys.name, name_of(o, o->defs[i].name)) < 0 ||
            PyDict_SetItem(dict, keys.qualname, qualnames[i]) < 0 ||
            fill_def(dict, o, i, has_docstrings) < 0)
            r = -1;
        else
            r = PyList_Append(o->defs[i].kind == OUTLINE_CLASS ? classes : functions, dict);
        Py_XDECREF(dict);
    }
    if (r == 0 && (PyDict_SetItem(result, keys.functions, functions) < 0 ||
                   PyDict_SetItem(result, keys.classes, classes) < 0))
        r = -1;
    Py_XDECREF(functions);
    Py_XDECREF(classes);
    return r;
}

static PyObject *scope_of(PyObject *const *qualnames, uint32_t within)
{
    return Py_NewRef(within == OUTLINE_NOWHERE ? Py_None : qualnames[within]);
}

static int add_imports(PyObject *result, const struct outline *o, PyObject *const *qualnames)
{
    PyObject *list = PyList_New(0);
    int r = list ? 0 : -1;

    for (size_t i = 0; r == 0 && i < o->n_imports; i++) {
        const struct outline_import *m = &o->imports[i];
        bool is_star = m->name.len == 1 && *outline_text(o, m->name) == '*';
        PyObject *dict = PyDict_New();

        if (!dict || put(dict, keys.module, name_of(o, m->module)) < 0 ||
            put(dict, keys.name, m->is_from ? name_of(o, m->name) : Py_NewRef(Py_None)) < 0 ||
            put(dict, keys.alias, name_or_none(o, m->alias)) < 0 ||
            put(dict, keys.level, PyLong_FromUnsignedLong(m->level)) < 0 ||
            put(dict, keys.line, PyLong_FromUnsignedLong(m->line)) < 0 ||
            put(dict, keys.col, PyLong_FromUnsignedLong(m->col)) < 0 ||
            put(dict, keys.scope, scope_of(qualnames, m->within)) < 0 ||
            put(dict, keys.in_try, boolean(m->is_in_try)) < 0 ||
            put(dict, keys.type_checking, boolean(m->is_for_typing)) < 0 ||
            put(dict, keys.star, boolean(is_star)) < 0)
            r = -1;
        else
            r = PyList_Append(list, dict);
        Py_XDECREF(dict);
    }
    if (r == 0)
        r = PyDict_SetItem(result, keys.imports, list);
    Py_XDECREF(list);
    return r;
}

static int add_calls(PyObject *result, const struct outline *o, PyObject *const *qualnames)
{
    PyObject *list = PyList_New(0);
    int r = list ? 0 : -1;

    for (size_t i = 0; r == 0 && i < o->n_calls; i++) {
        const struct outline_call *call = &o->calls[i];
        PyObject *dict = PyDict_New();

        if (!dict ||
            put(dict, keys.callee,
                call->callee.len ? name_of(o, call->callee) : PyUnicode_FromString("<expr>")) < 0 ||
            put(dict, keys.line, PyLong_FromUnsignedLong(call->line)) < 0 ||
            put(dict, keys.col, PyLong_FromUnsignedLong(call->col)) < 0 ||
            put(dict, keys.in_function, scope_of(qualnames, call->within)) < 0 ||
            put(dict, keys.nargs, PyLong_FromUnsignedLong(call->n_args)) < 0 ||
            put(dict, keys.kwargs, PyLong_FromUnsignedLong(call->n_keywords)) < 0)
            r = -1;
        else
            r = PyList_Append(list, dict);
        Py_XDECREF(dict);
    }
    if (r == 0)
        r = PyDict_SetItem(result, keys.calls, list);
    Py_XDECREF(list);
    return r;
}

static int add_figures(PyObject *result, const struct outline *o)
{
    return put(result, keys.lines, PyLong_FromUnsignedLong(o->lines)) < 0 ||
                   put(result, keys.code_lines, PyLong_FromUnsignedLong(o->code_lines)) < 0 ||
                   put(result, keys.comment_lines, PyLong_FromUnsignedLong(o->comment_lines)) < 0 ||
                   put(result, keys.blank_lines, PyLong_FromUnsignedLong(o->blank_lines)) < 0 ||
                   put(result, keys.branches, PyLong_FromUnsignedLong(o->branches)) < 0 ||
                   put(result, keys.error,
                       o->why ? PyUnicode_FromString(o->why) : Py_NewRef(Py_None)) < 0 ||
                   put(result, keys.error_line,
                       o->why ? PyLong_FromUnsignedLong(o->why_line) : Py_NewRef(Py_None)) < 0
               ? -1
               : 0;
}

static PyObject *result_of(const struct outline *o, unsigned wishes)
{
    PyObject **qualnames = PyMem_Calloc(o->n_defs + 1, sizeof(PyObject *));
    PyObject *result = qualnames ? PyDict_New() : NULL;

    if (!qualnames)
        return PyErr_NoMemory();
    if (!result || add_figures(result, o) < 0 ||
        add_defs(result, o, qualnames, wishes & OUTLINE_DOCSTRINGS) < 0 ||
        add_imports(result, o, qualnames) < 0 ||
        ((wishes & OUTLINE_CALLS) && add_calls(result, o, qualnames) < 0))
        Py_CLEAR(result);
    for (size_t i = 0; i < o->n_defs; i++)
        Py_XDECREF(qualnames[i]);
    PyMem_Free(qualnames);
    return result;
}

static PyObject *outline(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"source", "calls", "docstrings", NULL};
    struct outline o = {0};
    unsigned wishes;
    Py_buffer source;
    int calls = 0, docstrings = 0;
    PyObject *result;

    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, named, "y*|pp", names, &source, &calls, &docstrings))
        return NULL;
    wishes = (calls ? OUTLINE_CALLS : 0) | (docstrings ? OUTLINE_DOCSTRINGS : 0);
    if (source.len >= INT32_MAX) {
        PyBuffer_Release(&source);
        return PyErr_Format(PyExc_ValueError, "the source is too long");
    }
    Py_BEGIN_ALLOW_THREADS;
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
     "outline(source, calls=False, docstrings=False): what a Python source (UTF-8) defines and imports"},
    {"occurrences", code_occurrences, METH_VARARGS,
     "occurrences(source, name, new_name, attributes=False): where a name stands, and whether the new one is taken"},
    {"scopes", code_scopes, METH_VARARGS, "scopes(source): what each scope binds and uses"},
    {"unused_imports", code_unused_imports, METH_VARARGS, "unused_imports(source): imports that nothing uses"},
    {0},
};
/* clang-format on */

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_belljar_code", .m_size = -1,
                                 .m_methods = methods};

PyObject *code_module(void)
{
    return make_keys() < 0 ? NULL : PyModule_Create(&definition);
}
