/* Names as Python sees them: unused imports, what a rename would touch, scopes. */
#include <stdlib.h>

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "library/code/module_internal.h"
#include "library/code/names.h"

static const char *const kinds[NAMES_KIND_COUNT] = {
    [NAMES_USE] = "name",         [NAMES_STORE] = "name",    [NAMES_AUGMENT] = "name",
    [NAMES_ANNOTATE] = "name",    [NAMES_DEF] = "def",       [NAMES_CLASS] = "def",
    [NAMES_PARAM] = "param",      [NAMES_IMPORT] = "module", [NAMES_FROM] = "import",
    [NAMES_ALIAS] = "name",       [NAMES_DEL] = "name",      [NAMES_GLOBAL] = "name",
    [NAMES_NONLOCAL] = "name",    [NAMES_TYPE_USE] = "type", [NAMES_ORIGIN] = "import",
    [NAMES_MODULE] = "path",      [NAMES_KEYWORD] = "kwarg", [NAMES_ATTRIBUTE] = "attribute",
    [NAMES_EXPORT] = "all_entry",
};

static PyObject *slice(const struct names *n, uint32_t start, uint32_t len)
{
    return PyUnicode_DecodeUTF8(n->text + start, len, "replace");
}

static PyObject *word_of(const struct names *n, uint32_t event)
{
    if (event == NAMES_NOWHERE)
        return Py_NewRef(Py_None);
    return slice(n, n->events[event].start, n->events[event].len);
}

/* ---- reading ---- */

struct reading {
    struct names n;
    Py_buffer source;
};

static int begin(struct reading *reading)
{
    if (reading->source.len >= INT32_MAX) {
        PyBuffer_Release(&reading->source);
        PyErr_SetString(PyExc_ValueError, "the source is too long");
        return -1;
    }
    Py_BEGIN_ALLOW_THREADS;
    names_read(&reading->n, reading->source.buf, (size_t)reading->source.len);
    if (!reading->n.is_out_of_memory)
        names_resolve(&reading->n);
    Py_END_ALLOW_THREADS;
    return 0;
}

static PyObject *end(struct reading *reading, PyObject *result)
{
    if (reading->n.is_out_of_memory) {
        Py_CLEAR(result);
        PyErr_NoMemory();
    }
    names_done(&reading->n);
    PyBuffer_Release(&reading->source);
    return result;
}

/* ---- unused imports ---- */

static PyObject *import_of(const struct names *n, uint32_t index)
{
    const struct names_import *m = &n->imports[index];
    uint32_t scope = n->events[m->binding].scope;

    return Py_BuildValue("(NNNIIi)", slice(n, m->module, m->module_len), word_of(n, m->name),
                         word_of(n, m->binding), m->level, m->line, scope == 0);
}

PyObject *code_unused_imports(PyObject *self, PyObject *args)
{
    struct reading reading = {0};
    uint32_t *found;
    size_t count;
    PyObject *list;

    (void)self;
    if (!PyArg_ParseTuple(args, "y*", &reading.source) || begin(&reading) < 0)
        return NULL;
    if (reading.n.why)
        return end(&reading, Py_NewRef(Py_None));
    found = reading.n.is_out_of_memory ? NULL : calloc(reading.n.n_imports + 1, sizeof(*found));
    if (!found)
        return end(&reading, PyErr_NoMemory());
    count = names_unused(&reading.n, found);
    list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++)
        if (code_append(list, import_of(&reading.n, found[i])) < 0)
            Py_CLEAR(list);
    free(found);
    return end(&reading, list);
}

/* ---- renaming ---- */

static PyObject *path_of(const struct names *n, uint32_t scope)
{
    static const char *const inner[] = {"%U.<locals>.%U", "%U.%U"};
    PyObject *own, *outer, *result;
    uint32_t parent;

    while (scope && n->scopes[scope].event == NAMES_NOWHERE)
        scope = n->scopes[scope].parent;
    if (!scope || scope == NAMES_NOWHERE)
        return Py_NewRef(Py_None);
    parent = n->scopes[scope].parent;
    while (parent && n->scopes[parent].event == NAMES_NOWHERE)
        parent = n->scopes[parent].parent;
    own = word_of(n, n->scopes[scope].event);
    outer = path_of(n, parent);
    if (!own || !outer || outer == Py_None) {
        Py_XDECREF(outer);
        return outer ? own : (Py_XDECREF(own), NULL);
    }
    result = PyUnicode_FromFormat(inner[n->scopes[parent].kind == SCOPE_CLASS], outer, own);
    Py_DECREF(own);
    Py_DECREF(outer);
    return result;
}

/* Of an attribute, the dotted name before it; of a keyword, what is called; of an import, (level,
 * module). */
static PyObject *about_of(const struct names *n, const struct names_event *e)
{
    uint32_t first = e->about;

    if (e->kind == NAMES_FROM || e->kind == NAMES_ORIGIN || e->kind == NAMES_IMPORT ||
        (e->kind == NAMES_ALIAS && first != NAMES_NOWHERE)) {
        const struct names_import *m = &n->imports[e->about];

        return Py_BuildValue("(IN)", m->level, slice(n, m->module, m->module_len));
    }
    if (first == NAMES_NOWHERE || (e->kind != NAMES_KEYWORD && e->kind != NAMES_ATTRIBUTE))
        return Py_NewRef(Py_None);
    if (e->kind == NAMES_KEYWORD)
        return word_of(n, first);
    while (n->events[first].kind == NAMES_ATTRIBUTE && n->events[first].about != NAMES_NOWHERE)
        first = n->events[first].about;
    if (n->events[first].kind == NAMES_ATTRIBUTE)
        return Py_NewRef(Py_None);
    return slice(n, n->events[first].start,
                 n->events[e->about].start + n->events[e->about].len - n->events[first].start);
}

static PyObject *occurrence(const struct names *n, const struct names_event *e)
{
    uint32_t owner = names_is_name(e->kind) ? names_owner(n, e->scope, e->name) : NAMES_NOWHERE;
    bool is_of_class = owner != NAMES_NOWHERE && n->scopes[owner].kind == SCOPE_CLASS;
    const char *kind = kinds[e->kind];

    if (e->is_in_fields && e->kind == NAMES_USE)
        kind = "fstring";
    /* The owner of a parameter: the function it stands in. */
    return Py_BuildValue("(IIIsNNi)", e->start, e->len, e->line, kind,
                         e->kind == NAMES_PARAM || owner != NAMES_NOWHERE
                             ? path_of(n, e->kind == NAMES_PARAM ? e->scope : owner)
                             : Py_NewRef(names_is_name(e->kind) ? Py_None : Py_False),
                         about_of(n, e), (int)is_of_class);
}

PyObject *code_occurrences(PyObject *self, PyObject *args)
{
    struct reading reading = {0};
    const char *old, *fresh;
    Py_ssize_t old_len, fresh_len;
    int which = NAMES_RENAME_PLAIN;
    uint32_t word, line = 0;
    PyObject *list;

    (void)self;
    if (!PyArg_ParseTuple(args, "y*s#s#|i", &reading.source, &old, &old_len, &fresh, &fresh_len,
                          &which) ||
        begin(&reading) < 0)
        return NULL;
    if (reading.n.why)
        return end(&reading, Py_NewRef(Py_None));
    list = PyList_New(0);
    if (reading.n.is_out_of_memory)
        return end(&reading, list);
    word = names_find(&reading.n, old, (size_t)old_len);
    for (size_t i = 0; list && word != NAMES_NOWHERE && i < reading.n.n_events; i++)
        if (reading.n.events[i].name == word &&
            code_append(list, occurrence(&reading.n, &reading.n.events[i])) < 0)
            Py_CLEAR(list);
    if (word != NAMES_NOWHERE)
        line = names_conflict(&reading.n, word, names_find(&reading.n, fresh, (size_t)fresh_len),
                              (enum names_renamed)which);
    return end(&reading, list ? Py_BuildValue("(NI)", list, line) : NULL);
}

/* ---- scopes ---- */

static PyObject *scope_of(const struct names *n, uint32_t index)
{
    static const char *const scope_kinds[] = {"module", "function", "class", "lambda",
                                              "comprehension"};
    const struct names_scope *s = &n->scopes[index];

    return Py_BuildValue("(sNINN)", scope_kinds[s->kind], word_of(n, s->event), s->line,
                         PySet_New(NULL), PySet_New(NULL));
}

static int add_name(const struct names *n, PyObject *list, const struct names_entry *e)
{
    PyObject *scope = PyList_GET_ITEM(list, e->scope);
    PyObject *name = slice(n, n->words[e->name].start, n->words[e->name].len);
    int r = name ? PySet_Add(PyTuple_GET_ITEM(scope, 4), name) : -1;

    if (r == 0 && e->is_bound)
        r = PySet_Add(PyTuple_GET_ITEM(scope, 3), name);
    Py_XDECREF(name);
    return r;
}

PyObject *code_scopes(PyObject *self, PyObject *args)
{
    struct reading reading = {0};
    const struct names *n = &reading.n;
    PyObject *list;

    (void)self;
    if (!PyArg_ParseTuple(args, "y*", &reading.source) || begin(&reading) < 0)
        return NULL;
    if (n->why)
        return end(&reading, Py_NewRef(Py_None));
    list = PyList_New(0);
    if (n->is_out_of_memory)
        return end(&reading, list);
    for (uint32_t i = 0; list && i < n->n_scopes; i++)
        if (code_append(list, scope_of(n, i)) < 0)
            Py_CLEAR(list);
    for (size_t i = 0; list && i <= n->entry_mask; i++)
        if (n->entries[i].is_seen && add_name(n, list, &n->entries[i]) < 0)
            Py_CLEAR(list);
    return end(&reading, list);
}
