/* Objects of Python from outlines. Whole trees go through here: each name is made once, and a
 * dictionary is a copy of one that has all its keys already. */
#include <stdlib.h>
#include <string.h>

#include <Python.h>

#include "library/code/module_internal.h"
#include "library/code/tree.h"

#define CACHE_NAME_MAX 64

struct code_keys code_keys;

int code_make_keys(void)
{
#define X(key)                                                                                     \
    if (!code_keys.key && !(code_keys.key = PyUnicode_InternFromString(#key)))                     \
        return -1;
    CODE_KEYS(X)
#undef X
#define X(kind)                                                                                    \
    if (!code_keys.kind_##kind && !(code_keys.kind_##kind = PyUnicode_InternFromString(#kind)))    \
        return -1;
    CODE_KINDS(X)
#undef X
    return 0;
}

int code_put(PyObject *dict, PyObject *key, PyObject *value)
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

PyObject *code_boolean(bool is_true)
{
    return Py_NewRef(is_true ? Py_True : Py_False);
}

PyObject *code_number(uint32_t number)
{
    return PyLong_FromUnsignedLong(number);
}

/* ---- names ---- */

static size_t hash_of(const char *text, size_t len)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return (size_t)(hash ^ (hash >> 32));
}

static struct code_cached *slot_of(const struct code_cache *cache, const char *text, size_t len)
{
    for (size_t i = hash_of(text, len) & cache->mask;; i = (i + 1) & cache->mask) {
        struct code_cached *slot = &cache->slots[i];

        if (!slot->text || ((size_t)PyUnicode_GET_LENGTH(slot->text) == len &&
                            memcmp(PyUnicode_1BYTE_DATA(slot->text), text, len) == 0))
            return slot;
    }
}

static int grow(struct code_cache *cache)
{
    struct code_cache grown = {.count = cache->count,
                               .mask = cache->mask ? 2 * cache->mask + 1 : 1023};

    if (cache->mask && cache->count * 2 < cache->mask)
        return 0;
    grown.slots = calloc(grown.mask + 1, sizeof(*grown.slots));
    if (!grown.slots) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; cache->slots && i <= cache->mask; i++)
        if (cache->slots[i].text)
            *slot_of(&grown, (const char *)PyUnicode_1BYTE_DATA(cache->slots[i].text),
                     (size_t)PyUnicode_GET_LENGTH(cache->slots[i].text)) = cache->slots[i];
    free(cache->slots);
    *cache = grown;
    return 0;
}

static bool is_ascii(const char *text, size_t len)
{
    unsigned char any = 0;

    for (size_t i = 0; i < len; i++)
        any |= (unsigned char)text[i];
    return any < 0x80;
}

struct code_cached *code_cached(struct code_cache *cache, const char *text, size_t len)
{
    struct code_cached *slot;

    if (len > CACHE_NAME_MAX || !is_ascii(text, len) || grow(cache) < 0)
        return NULL;
    slot = slot_of(cache, text, len);
    if (slot->text)
        return slot;
    slot->text = PyUnicode_DecodeASCII(text, (Py_ssize_t)len, NULL);
    if (!slot->text)
        return NULL;
    cache->count++;
    return slot;
}

void code_cache_done(struct code_cache *cache)
{
    for (size_t i = 0; cache->slots && i <= cache->mask; i++)
        Py_XDECREF(cache->slots[i].text);
    free(cache->slots);
    *cache = (struct code_cache){0};
}

/* Names that are not ASCII are the same when their NFKC forms are, says Python. */
static PyObject *normal(PyObject *text)
{
    PyObject *module, *result;

    if (!text || PyUnicode_IS_ASCII(text))
        return text;
    if (!code_keys.normalize) {
        module = PyImport_ImportModule("unicodedata");
        code_keys.normalize = module ? PyObject_GetAttrString(module, "normalize") : NULL;
        Py_XDECREF(module);
    }
    result =
        code_keys.normalize ? PyObject_CallFunction(code_keys.normalize, "sO", "NFKC", text) : NULL;
    Py_DECREF(text);
    return result;
}

PyObject *code_text(const struct outline *o, struct piece piece)
{
    return PyUnicode_DecodeUTF8(outline_text(o, piece), piece.len, "replace");
}

PyObject *code_name(struct code_maker *m, struct piece piece)
{
    struct code_cached *cached = NULL;

    if (m->cache)
        cached = code_cached(m->cache, outline_text(m->o, piece), piece.len);
    if (cached)
        return Py_NewRef(cached->text);
    if (PyErr_Occurred())
        return NULL;
    return m->o->language ? code_text(m->o, piece) : normal(code_text(m->o, piece));
}

PyObject *code_name_or_none(struct code_maker *m, struct piece piece)
{
    return piece.len ? code_name(m, piece) : Py_NewRef(Py_None);
}

void code_maker_done(struct code_maker *m)
{
    for (size_t i = 0; m->qualnames && i < m->o->n_defs; i++)
        Py_XDECREF(m->qualnames[i]);
    PyMem_Free(m->qualnames);
    m->qualnames = NULL;
}

PyObject *code_with_language(const struct outline *o, PyObject *entry)
{
    if (entry && o->language &&
        (code_put(entry, code_keys.language, PyUnicode_InternFromString(o->language->name)) < 0 ||
         PyDict_SetItem(entry, code_keys.precision, code_keys.kind_syntactic) < 0))
        Py_CLEAR(entry);
    return entry;
}

/* outer.name, where there is an outer. Takes the name. */
static PyObject *tree_join(struct code_maker *m, PyObject *outer, PyObject *name)
{
    PyObject *joined;

    if (!outer || !name)
        return name;
    joined = PyUnicode_FromFormat("%U%s%U", outer, m->o->language->separator, name);
    Py_DECREF(name);
    return joined;
}

static PyObject *tree_qualname(struct code_maker *m, const struct outline_def *def, PyObject *outer)
{
    PyObject *owner = NULL, *name = code_text(m->o, def->name);

    if (def->owner.len && !(owner = code_text(m->o, def->owner)))
        Py_CLEAR(name);
    name = tree_join(m, owner, name);
    Py_XDECREF(owner);
    return tree_join(m, outer, name);
}

/* From the outermost inwards: as deep as blocks are. */
PyObject *code_qualname(struct code_maker *m, size_t index)
{
    const struct outline_def *def = &m->o->defs[index];
    PyObject *name, *outer;

    if (!m->qualnames && !(m->qualnames = PyMem_Calloc(m->o->n_defs, sizeof(*m->qualnames)))) {
        PyErr_NoMemory();
        return NULL;
    }
    if (m->qualnames[index])
        return m->qualnames[index];
    outer = def->parent == OUTLINE_NOWHERE ? NULL : code_qualname(m, def->parent);
    if (!outer && def->parent != OUTLINE_NOWHERE)
        return NULL;
    if (m->o->language)
        return m->qualnames[index] = tree_qualname(m, def, outer);
    name = code_name(m, def->name);
    if (name && outer) {
        bool is_in_class = m->o->defs[def->parent].kind == OUTLINE_CLASS;

        m->qualnames[index] =
            PyUnicode_FromFormat(is_in_class ? "%U.%U" : "%U.<locals>.%U", outer, name);
        Py_DECREF(name);
    } else {
        m->qualnames[index] = name;
    }
    return m->qualnames[index];
}

PyObject *code_scope(struct code_maker *m, uint32_t within)
{
    return Py_XNewRef(within == OUTLINE_NOWHERE ? Py_None : code_qualname(m, within));
}

/* ---- definitions ---- */

static PyObject *param_kind(enum outline_param_kind kind)
{
    switch (kind) {
    case PARAM_POSITIONAL:
        return code_keys.kind_positional;
    case PARAM_VARIADIC:
        return code_keys.kind_variadic;
    case PARAM_KEYWORD:
        return code_keys.kind_keyword;
    case PARAM_KEYWORDS:
        return code_keys.kind_keywords;
    default:
        return code_keys.kind_usual;
    }
}

static PyObject *make_param(struct code_maker *m, const struct outline_param *param)
{
    PyObject *dict = PyDict_New();

    if (!dict || code_put(dict, code_keys.name, code_name(m, param->name)) < 0 ||
        PyDict_SetItem(dict, code_keys.kind, param_kind(param->kind)) < 0 ||
        code_put(dict, code_keys.has_default, code_boolean(param->has_default)) < 0 ||
        code_put(dict, code_keys.has_annotation, code_boolean(param->has_annotation)) < 0)
        Py_CLEAR(dict);
    return dict;
}

/* Makes one item of a list from its number. */
typedef PyObject *(*make_item)(struct code_maker *m, size_t index);

static PyObject *make_list(struct code_maker *m, size_t first, size_t count, make_item make)
{
    PyObject *list = PyList_New((Py_ssize_t)count);

    for (size_t i = 0; list && i < count; i++) {
        PyObject *item = make(m, first + i);

        if (item)
            PyList_SET_ITEM(list, (Py_ssize_t)i, item);
        else
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *param_at(struct code_maker *m, size_t i)
{
    return make_param(m, &m->o->params[i]);
}

static PyObject *argument_at(struct code_maker *m, size_t i)
{
    return code_name(m, m->o->params[i].name);
}

static PyObject *base_at(struct code_maker *m, size_t i)
{
    return code_text(m->o, m->o->params[i].name);
}

static PyObject *decorator_at(struct code_maker *m, size_t i)
{
    return code_name(m, m->o->decorators[i]);
}

static PyObject *methods_of(struct code_maker *m, size_t index)
{
    const struct outline_def *defs = m->o->defs;
    PyObject *list = PyList_New(0);

    for (size_t i = index + 1; list && i < m->o->n_defs && defs[i].line <= defs[index].end_line;
         i++)
        if (defs[i].parent == index && defs[i].kind != OUTLINE_CLASS &&
            code_append(list, code_name(m, defs[i].name)) < 0)
            Py_CLEAR(list);
    return list;
}

static PyObject *kind_of(const struct outline *o, const struct outline_def *def)
{
    if (def->kind == OUTLINE_CLASS)
        return code_keys.kind_class;
    if (def->kind == OUTLINE_ASYNC)
        return code_keys.kind_async;
    return def->parent != OUTLINE_NOWHERE && o->defs[def->parent].kind == OUTLINE_CLASS
               ? code_keys.kind_method
               : code_keys.kind_function;
}

/* A dictionary with all keys in their order, for copies. */
static PyObject *template_of(bool is_class, enum code_form form)
{
    static PyObject *templates[2][3];
    PyObject *const all[] = {
        code_keys.name,
        code_keys.qualname,
        code_keys.kind,
        code_keys.start_line,
        code_keys.end_line,
        code_keys.col,
        code_keys.decorators,
        code_keys.decorator_line,
        code_keys.has_docstring,
        form == CODE_PLAIN ? NULL : code_keys.docstring,
        is_class ? code_keys.bases : code_keys.params,
        is_class ? code_keys.methods : code_keys.returns,
        is_class ? NULL : code_keys.complexity,
        form == CODE_SUMMARY && !is_class ? code_keys.args : NULL,
        form == CODE_SUMMARY && !is_class ? code_keys.is_async : NULL,
    };
    PyObject *made = templates[is_class][form];

    if (made)
        return made;
    made = PyDict_New();
    for (size_t i = 0; made && i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i] && PyDict_SetItem(made, all[i], Py_None) < 0)
            Py_CLEAR(made);
    templates[is_class][form] = made;
    return made;
}

static PyObject *docstring_of(struct code_maker *m, const struct outline_def *def,
                              enum code_form form, PyObject *say)
{
    PyObject *literal, *said;

    if (!def->has_docstring)
        return Py_NewRef(Py_None);
    literal = code_text(m->o, def->docstring);
    if (form != CODE_SUMMARY || def->is_summary || !literal || !say)
        return literal;
    said = PyObject_CallOneArg(say, literal);
    Py_DECREF(literal);
    return said;
}

static int fill_common(PyObject *dict, struct code_maker *m, size_t index)
{
    const struct outline_def *def = &m->o->defs[index];
    PyObject *qualname = code_qualname(m, index);

    if (!qualname || code_put(dict, code_keys.name, code_name(m, def->name)) < 0 ||
        PyDict_SetItem(dict, code_keys.qualname, qualname) < 0 ||
        code_put(dict, code_keys.kind,
                 def->what ? PyUnicode_InternFromString(def->what)
                           : Py_NewRef(kind_of(m->o, def))) < 0 ||
        code_put(dict, code_keys.start_line, code_number(def->line)) < 0 ||
        code_put(dict, code_keys.end_line, code_number(def->end_line)) < 0 ||
        code_put(dict, code_keys.col, code_number(def->col)) < 0 ||
        code_put(dict, code_keys.decorators,
                 make_list(m, def->first_decorator, def->n_decorators, decorator_at)) < 0 ||
        code_put(dict, code_keys.decorator_line,
                 code_number(def->decorator_line ? def->decorator_line : def->line)) < 0)
        return -1;
    return code_put(dict, code_keys.has_docstring, code_boolean(def->has_docstring));
}

static int fill_class(PyObject *dict, struct code_maker *m, size_t index)
{
    const struct outline_def *def = &m->o->defs[index];

    if (code_put(dict, code_keys.bases, make_list(m, def->first_param, def->n_params, base_at)) < 0)
        return -1;
    return code_put(dict, code_keys.methods, methods_of(m, index));
}

static int fill_function(PyObject *dict, struct code_maker *m, size_t index, enum code_form form)
{
    const struct outline_def *def = &m->o->defs[index];

    if (code_put(dict, code_keys.params, make_list(m, def->first_param, def->n_params, param_at)) <
            0 ||
        code_put(dict, code_keys.returns, code_boolean(def->has_returns)) < 0 ||
        code_put(dict, code_keys.complexity, code_number(def->branches + 1)) < 0)
        return -1;
    if (form != CODE_SUMMARY)
        return 0;
    if (code_put(dict, code_keys.args, make_list(m, def->first_param, def->n_params, argument_at)) <
        0)
        return -1;
    return code_put(dict, code_keys.is_async, code_boolean(def->kind == OUTLINE_ASYNC));
}

PyObject *code_def(struct code_maker *m, size_t index, enum code_form form, PyObject *say)
{
    const struct outline_def *def = &m->o->defs[index];
    bool is_class = def->kind == OUTLINE_CLASS;
    PyObject *keys = template_of(is_class, form);
    PyObject *dict = keys ? PyDict_Copy(keys) : NULL;

    if (!dict || fill_common(dict, m, index) < 0 ||
        (form != CODE_PLAIN &&
         code_put(dict, code_keys.docstring, docstring_of(m, def, form, say)) < 0) ||
        (is_class ? fill_class(dict, m, index) : fill_function(dict, m, index, form)) < 0)
        Py_CLEAR(dict);
    return code_with_language(m->o, dict);
}

/* ---- imports ---- */

PyObject *code_import(struct code_maker *m, size_t index)
{
    const struct outline_import *i = &m->o->imports[index];
    bool is_star = i->name.len == 1 && *outline_text(m->o, i->name) == '*';
    PyObject *dict = PyDict_New();

    if (!dict || code_put(dict, code_keys.module, code_name(m, i->module)) < 0 ||
        code_put(dict, code_keys.name, i->is_from ? code_name(m, i->name) : Py_NewRef(Py_None)) <
            0 ||
        code_put(dict, code_keys.alias, code_name_or_none(m, i->alias)) < 0 ||
        code_put(dict, code_keys.level, code_number(i->level)) < 0 ||
        code_put(dict, code_keys.line, code_number(i->line)) < 0 ||
        code_put(dict, code_keys.col, code_number(i->col)) < 0 ||
        code_put(dict, code_keys.scope, code_scope(m, i->within)) < 0 ||
        code_put(dict, code_keys.in_try, code_boolean(i->is_in_try)) < 0 ||
        code_put(dict, code_keys.type_checking, code_boolean(i->is_for_typing)) < 0 ||
        code_put(dict, code_keys.star, code_boolean(is_star)) < 0)
        Py_CLEAR(dict);
    return dict;
}
