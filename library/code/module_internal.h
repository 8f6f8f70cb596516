/* Inside the module: what its parts share. */
#pragma once

#include <stdbool.h>

#include <Python.h>

#include "library/code/outline.h"

/* Takes the item, also when it fails. */
int code_append(PyObject *list, PyObject *item);

/* ---- module_make.c: objects from outlines ---- */

/* Keys of the dictionaries, made once. */
#define CODE_KEYS(X)                                                                               \
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
    X(language)                                                                                    \
    X(precision)                                                                                   \
    X(has_mistakes)                                                                                \
    X(error)                                                                                       \
    X(error_line)                                                                                  \
    X(args)                                                                                        \
    X(is_async)                                                                                    \
    X(file)                                                                                        \
    X(from_imports)                                                                                \
    X(details)                                                                                     \
    X(context)                                                                                     \
    X(binding)                                                                                     \
    X(removable)                                                                                   \
    X(reason)                                                                                      \
    X(value)                                                                                       \
    X(worst)                                                                                       \
    X(modules)

/* Values of `kind`, likewise. */
#define CODE_KINDS(X)                                                                              \
    X(function)                                                                                    \
    X(async)                                                                                       \
    X(class)                                                                                       \
    X(method)                                                                                      \
    X(syntactic)                                                                                   \
    X(positional)                                                                                  \
    X(usual)                                                                                       \
    X(variadic)                                                                                    \
    X(keyword)                                                                                     \
    X(keywords)

struct code_keys {
#define X(key) PyObject *key;
    CODE_KEYS(X)
#undef X
#define X(kind) PyObject *kind_##kind;
    CODE_KINDS(X)
#undef X
    PyObject *normalize; /* unicodedata.normalize, when a name needs it */
};

extern struct code_keys code_keys;

int code_make_keys(void);

/* Takes the value, also when it fails. */
int code_put(PyObject *dict, PyObject *key, PyObject *value);

/* Names are few and come often: each is made once. */
struct code_cache {
    struct code_cached {
        PyObject *text;
        int8_t verdict; /* for the caller; 0 at first */
    } * slots;
    size_t count, mask;
};

void code_cache_done(struct code_cache *cache);

/* The text of a name, borrowed, with what the caller noted of it; NULL: not one of those that are
 * kept, or an error. */
struct code_cached *code_cached(struct code_cache *cache, const char *text, size_t len);

/* Makes objects of one outline. Zeroed but for the first two; the cache may be NULL. */
struct code_maker {
    const struct outline *o;
    struct code_cache *cache;
    PyObject **qualnames; /* those that were needed so far */
};

void code_maker_done(struct code_maker *m);

PyObject *code_text(const struct outline *o, struct piece piece);
PyObject *code_name(struct code_maker *m, struct piece piece);
PyObject *code_name_or_none(struct code_maker *m, struct piece piece);
PyObject *code_boolean(bool is_true);
PyObject *code_number(uint32_t number);

/* The dotted path of a definition, as Python's __qualname__ has it; borrowed. */
PyObject *code_qualname(struct code_maker *m, size_t index);

/* Of what stands inside of a definition, or None. */
PyObject *code_scope(struct code_maker *m, uint32_t within);

enum code_form {
    CODE_PLAIN,
    CODE_DOCSTRING, /* with the docstring as it stands */
    CODE_SUMMARY,   /* with what it says first, `args` and `is_async` */
};

/* `say` makes a summary of a literal that needs Python; for CODE_SUMMARY. */
PyObject *code_def(struct code_maker *m, size_t index, enum code_form form, PyObject *say);
PyObject *code_import(struct code_maker *m, size_t index);

/* Says of an entry which language it is of, unless that is Python. Takes the entry when it fails.
 */
PyObject *code_with_language(const struct outline *o, PyObject *entry);

/* ---- module_names.c ---- */

/* unused_imports(source): [(module, name, binding, level, line, is_global)]; None: no Python. */
PyObject *code_unused_imports(PyObject *self, PyObject *args);

/* occurrences(source, name, new_name, which=0): ([(start, len, line, kind, owner, about,
 * is_of_class)], line of a conflict or 0); None: no Python. */
PyObject *code_occurrences(PyObject *self, PyObject *args);

/* scopes(source): [(kind, name, line, bound, seen)]; None: no Python. */
PyObject *code_scopes(PyObject *self, PyObject *args);

/* ---- module_tree.c ---- */

/* languages(): {name: whether its grammar is there}. */
PyObject *code_languages(PyObject *self, PyObject *args);

/* language(path, head): the name of a file's language; None: Python, or none of ours. */
PyObject *code_language(PyObject *self, PyObject *args);

/* tree_names(language, source, name, new_name): ([(start, line, kind)], line where the new name
 * stands, line where it is a field, has mistakes); ValueError: it cannot be read. */
PyObject *code_tree_names(PyObject *self, PyObject *args);

/* ---- module_scan.c ---- */

/* walk(root, prefix, pattern): paths, sorted. */
PyObject *code_walk(PyObject *self, PyObject *args);

/* scan(paths, what, ...): (result, [(path, reason)], files seen). */
PyObject *code_scan(PyObject *self, PyObject *args, PyObject *named);
