/* Nodes of the AST as C sees them: instances with a dictionary. Nothing here runs Python code: the
 * keys are interned strings, the dictionaries are exact, and values of unexpected types count as
 * absent.
 */
#pragma once

#include "guest/policy/internal.h"

/* clang-format off */
#define KINDS(X)                                                                                   \
    X(Import) X(ImportFrom) X(Name) X(Attribute) X(Call) X(Constant) X(Subscript) X(MatchClass)    \
    X(ExceptHandler) X(FunctionDef) X(AsyncFunctionDef) X(ClassDef) X(arg) X(alias) X(Load)        \
    X(Store) X(BinOp) X(Add) X(JoinedStr) X(FormattedValue) X(MatchAs) X(MatchStar)                \
    X(MatchMapping) X(Assign) X(AnnAssign) X(Tuple) X(List) X(Module) X(Try)     \
    X(If) X(IfExp) X(Compare) X(Eq) X(In)

#define FIELDS(X)                                                                                  \
    X(names) X(module) X(level) X(name) X(asname) X(id) X(ctx) X(attr) X(value) X(func) X(args)    \
    X(kwd_attrs) X(lineno) X(col_offset) X(end_lineno) X(end_col_offset) X(left) X(right) X(op)    \
    X(slice) X(arg) X(values) X(rest) X(targets) X(target) X(elts) X(patterns)          \
    X(handlers) X(type) X(body) X(test) X(ops) X(comparators)
/* clang-format on */

struct node_types {
    PyTypeObject *AST;
#define X(kind) PyTypeObject *kind;
    KINDS(X)
#undef X
    PyTypeObject *type_param; /* `T` of `def f[T]()`; NULL before Python 3.12 */
};

struct node_names {
#define X(field) PyObject *field;
    FIELDS(X)
#undef X
    PyObject *dunder_name, *dunder_all, *dunder_path;
};

extern struct node_types node_types;
extern struct node_names node_names;

bool node_check(PyObject *value);

/* A member's value, borrowed; NULL when it is absent or, with a type, of another one. */
PyObject *node_get(PyObject *node, PyObject *name);
PyObject *node_typed(PyObject *node, PyObject *name, PyTypeObject *type);
PyObject *node_text(PyObject *node, PyObject *name);
int node_int(PyObject *node, PyObject *name); /* -1: absent */

/* The length of a list, 0 for anything else. */
Py_ssize_t node_count(PyObject *list);

/* Text for messages and rules. A name that has no UTF-8 form cannot come out of the parser. */
struct span node_span(PyObject *text);

/* `x.name` */
bool node_has_attr(PyObject *node, const char *name);
