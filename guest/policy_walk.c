/* The walk over the AST.
 *
 * The tree is the one CPython's parser made and that is compiled afterwards: there is no second
 * reading of the text that could see something else, and identifiers come out of the parser
 * normalised (NFKC), as the compiler uses them. The walk reads instance dictionaries with exact
 * string keys and never calls into Python. It visits every value of every node, so that a kind of
 * node this file has never heard of is still walked through.
 *
 * Two rounds: the first gathers the nodes with names and what the program binds, the second judges
 * them.
 */
#include "guest/policy_internal.h"

#include <stdlib.h>
#include <string.h>

/* CPython's own parser and compiler stop far below; deeper trees are not programs. */
#define DEPTH_MAX 6000

/* Members followed from a module in one expression ("a.b.c.d"), and pieces of one string that are
 * put together. */
#define CHAIN_MAX 16
#define FOLD_MAX  4096

/* clang-format off */
#define KINDS(X)                                                                                   \
    X(Import) X(ImportFrom) X(Name) X(Attribute) X(Call) X(Constant) X(Subscript) X(MatchClass)    \
    X(ExceptHandler) X(FunctionDef) X(AsyncFunctionDef) X(ClassDef) X(arg) X(alias) X(Load)        \
    X(Store) X(BinOp) X(Add) X(JoinedStr) X(FormattedValue) X(MatchAs) X(MatchStar)                \
    X(MatchMapping) X(Assign) X(AnnAssign) X(Tuple) X(List) X(Module)

#define FIELDS(X)                                                                                  \
    X(names) X(module) X(level) X(name) X(asname) X(id) X(ctx) X(attr) X(value) X(func) X(args)    \
    X(kwd_attrs) X(lineno) X(col_offset) X(end_lineno) X(end_col_offset) X(left) X(right) X(op)    \
    X(slice) X(arg) X(values) X(rest) X(targets) X(target) X(elts) X(patterns)
/* clang-format on */

static struct {
    PyTypeObject *AST;
#define X(kind) PyTypeObject *kind;
    KINDS(X)
#undef X
} types;

static struct {
#define X(field) PyObject *field;
    FIELDS(X)
#undef X
    PyObject *dunder_name, *dunder_all, *dunder_path;
} names;

static PyTypeObject *get_type(PyObject *module, const char *name)
{
    PyObject *type = PyObject_GetAttrString(module, name);

    if (type && PyType_Check(type))
        return (PyTypeObject *)type;
    Py_XDECREF(type);
    return NULL;
}

int policy_walk_prepare(void)
{
    PyObject *module = PyImport_ImportModule("_ast");
    bool ok;

    if (!module)
        return -1;
    ok = (types.AST = get_type(module, "AST")) != NULL;
#define X(kind) ok = ok && (types.kind = get_type(module, #kind)) != NULL;
    KINDS(X)
#undef X
#define X(field) ok = ok && (names.field = PyUnicode_InternFromString(#field)) != NULL;
    FIELDS(X)
#undef X
    ok = ok && (names.dunder_name = PyUnicode_InternFromString("__name__")) != NULL;
    ok = ok && (names.dunder_all = PyUnicode_InternFromString("__all__")) != NULL;
    ok = ok && (names.dunder_path = PyUnicode_InternFromString("__path__")) != NULL;
    Py_DECREF(module);
    return ok ? 0 : -1;
}

/* ------------------------------------------------------------------------------------------
 * reading nodes */

/* A name the program binds to a module: `import numpy as np`. */
struct binding {
    PyObject *name;   /* strong */
    PyObject *module; /* strong: full name */
    bool is_way;      /* the os of an allowed `import os.path`: a way to that part, nothing else */
};

struct walk {
    const struct policy *policy;
    struct policy_report *report;
    PyObject **nodes; /* the ones to judge, borrowed: the tree keeps them */
    size_t n_nodes, size_nodes;
    PyObject *bound;    /* set of names the program stores to */
    PyObject *handlers; /* set of names of `except ... as e` */
    struct binding *bindings;
    size_t n_bindings, size_bindings;
    PyObject **soft; /* the `x.__class__` of each `x.__class__.__name__`, borrowed */
    size_t n_soft, size_soft;
    PyObject *
        *bases; /* the `os` of each `os.path`, borrowed; sorted by address before it is searched */
    size_t n_bases, size_bases;
    bool has_way_modules; /* some name is bound to a module that is only a way to a part of it */
    bool is_annotation;
};

static bool is_node(PyObject *value)
{
    return PyObject_TypeCheck(value, types.AST);
}

/* The member's value, borrowed, or NULL. */
static PyObject *member(PyObject *node, PyObject *name)
{
    PyObject *dict = is_node(node) ? PyObject_GenericGetDict(node, NULL) : NULL;
    PyObject *value;

    if (!dict) {
        PyErr_Clear();
        return NULL;
    }
    value = PyDict_GetItemWithError(dict, name);
    Py_DECREF(dict); /* the node keeps it */
    return value;
}

static PyObject *member_of_type(PyObject *node, PyObject *name, PyTypeObject *type)
{
    PyObject *value = member(node, name);

    return value && Py_IS_TYPE(value, type) ? value : NULL;
}

static PyObject *text_member(PyObject *node, PyObject *name)
{
    return member_of_type(node, name, &PyUnicode_Type);
}

static Py_ssize_t list_size(PyObject *list)
{
    return list && PyList_CheckExact(list) ? PyList_GET_SIZE(list) : 0;
}

static int int_member(PyObject *node, PyObject *name)
{
    PyObject *value = member_of_type(node, name, &PyLong_Type);
    long number = value ? PyLong_AsLong(value) : -1;

    PyErr_Clear();
    return number > INT_MAX ? -1 : (int)number;
}

/* Text for messages and rules. A name that has no UTF-8 form cannot come out of the parser. */
static struct span text_of(PyObject *text)
{
    bool ok;

    return span_of_str(text, &ok);
}

/* ------------------------------------------------------------------------------------------- first
 * round */

static int append(PyObject ***list, size_t *count, size_t *size, PyObject *node)
{
    if (*count == *size) {
        size_t grown = *size ? 2 * *size : 128;
        PyObject **nodes = realloc(*list, grown * sizeof(*nodes));

        if (!nodes)
            return -1;
        *list = nodes;
        *size = grown;
    }
    (*list)[(*count)++] = node;
    return 0;
}

static int keep(struct walk *w, PyObject *node)
{
    return append(&w->nodes, &w->n_nodes, &w->size_nodes, node);
}

static bool has_attr(PyObject *node, const char *name)
{
    PyObject *attr = Py_IS_TYPE(node, types.Attribute) ? text_member(node, names.attr) : NULL;

    return attr && PyUnicode_CompareWithASCIIString(attr, name) == 0;
}

static int keep_attribute(struct walk *w, PyObject *node)
{
    PyObject *value = member(node, names.value);

    if (value && Py_IS_TYPE(value, types.Name) &&
        append(&w->bases, &w->n_bases, &w->size_bases, value) < 0)
        return -1;
    if (value && has_attr(value, "__class__") &&
        (has_attr(node, "__name__") || has_attr(node, "__qualname__")) &&
        append(&w->soft, &w->n_soft, &w->size_soft, value) < 0)
        return -1;
    return keep(w, node);
}

static int bind(struct walk *w, PyObject *name)
{
    return name && PyUnicode_CheckExact(name) ? PySet_Add(w->bound, name) : 0;
}

static int bind_module(struct walk *w, PyObject *name, PyObject *module, bool is_way)
{
    if (!name || !module)
        return -1;
    /* What is refused is reported where it is imported; its uses need no words of their own. */
    if (!is_way && !policy_module_allowed(w->policy, text_of(module)))
        return bind(w, name);
    if (w->n_bindings == w->size_bindings) {
        size_t size = w->size_bindings ? 2 * w->size_bindings : 16;
        struct binding *bindings = realloc(w->bindings, size * sizeof(*bindings));

        if (!bindings)
            return -1;
        w->bindings = bindings;
        w->size_bindings = size;
    }
    w->bindings[w->n_bindings++] = (struct binding){Py_NewRef(name), Py_NewRef(module), is_way};
    w->has_way_modules |= is_way;
    return bind(w, name);
}

/* "a.b.c" -> "a" */
static PyObject *first_part(PyObject *dotted)
{
    Py_ssize_t dot = PyUnicode_FindChar(dotted, '.', 0, PyUnicode_GET_LENGTH(dotted), 1);

    return dot < 0 ? Py_NewRef(dotted) : PyUnicode_Substring(dotted, 0, dot);
}

/* `import a.b` binds a; `import a.b as c` binds c to a.b. */
static int bind_import(struct walk *w, PyObject *node)
{
    PyObject *aliases = member(node, names.names);

    for (Py_ssize_t i = 0; i < list_size(aliases); i++) {
        PyObject *alias = PyList_GET_ITEM(aliases, i);
        PyObject *name = text_member(alias, names.name);
        PyObject *asname = text_member(alias, names.asname);
        PyObject *first = name ? first_part(name) : NULL;
        int r = -1;

        if (first && asname)
            r = bind_module(w, asname, name, false);
        else if (first)
            r = bind_module(w, first, first,
                            policy_module_allowed(w->policy, text_of(name)) &&
                                !policy_module_allowed(w->policy, text_of(first)));
        Py_XDECREF(first);
        if (r < 0)
            return -1;
    }
    return 0;
}

/* `from a import b as c` binds c to a.b, which may be a module. */
static int bind_import_from(struct walk *w, PyObject *node)
{
    PyObject *module = text_member(node, names.module);
    PyObject *aliases = member(node, names.names);

    for (Py_ssize_t i = 0; i < list_size(aliases); i++) {
        PyObject *alias = PyList_GET_ITEM(aliases, i);
        PyObject *name = text_member(alias, names.name);
        PyObject *asname = text_member(alias, names.asname);
        PyObject *full = module && name ? PyUnicode_FromFormat("%U.%U", module, name) : NULL;
        int r = full ? bind_module(w, asname ? asname : name, full, false)
                     : bind(w, asname ? asname : name);

        Py_XDECREF(full);
        if (r < 0)
            return -1;
    }
    return 0;
}

static int first_look(struct walk *w, PyObject *node)
{
    PyTypeObject *type = Py_TYPE(node);

    if (type == types.Name) {
        PyObject *ctx = member(node, names.ctx);

        if (!ctx || !Py_IS_TYPE(ctx, types.Load))
            return bind(w, member(node, names.id)) < 0 ? -1 : keep(w, node);
        return keep(w, node);
    }
    if (type == types.Attribute)
        return keep_attribute(w, node);
    if (type == types.Call || type == types.Subscript || type == types.MatchClass ||
        type == types.Assign || type == types.AnnAssign)
        return keep(w, node);
    if (type == types.Import)
        return bind_import(w, node) < 0 ? -1 : keep(w, node);
    if (type == types.ImportFrom)
        return bind_import_from(w, node) < 0 ? -1 : keep(w, node);
    if (type == types.FunctionDef || type == types.AsyncFunctionDef || type == types.ClassDef)
        return bind(w, member(node, names.name)) < 0 ? -1 : keep(w, node);
    if (type == types.MatchAs || type == types.MatchStar)
        return bind(w, member(node, names.name));
    if (type == types.arg)
        return bind(w, member(node, names.arg));
    if (type == types.MatchMapping)
        return bind(w, member(node, names.rest));
    if (type == types.ExceptHandler) {
        PyObject *name = text_member(node, names.name);

        return name ? (PySet_Add(w->handlers, name) < 0 ? -1 : bind(w, name)) : 0;
    }
    return 0;
}

struct pending {
    PyObject *node;
    unsigned depth;
};

struct stack {
    struct pending *items;
    size_t count, size;
};

static int push(struct stack *stack, PyObject *node, unsigned depth)
{
    if (stack->count == stack->size) {
        size_t size = stack->size ? 2 * stack->size : 256;
        struct pending *items = realloc(stack->items, size * sizeof(*items));

        if (!items)
            return -1;
        stack->items = items;
        stack->size = size;
    }
    stack->items[stack->count++] = (struct pending){node, depth};
    return 0;
}

/* Pushes the node's children so that the first comes off first. */
static int push_children(struct stack *stack, struct pending parent)
{
    PyObject *dict = PyObject_GenericGetDict(parent.node, NULL);
    size_t first = stack->count;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    int r = 0;

    if (!dict)
        return -1;
    while (r == 0 && PyDict_Next(dict, &at, &key, &value)) {
        if (is_node(value))
            r = push(stack, value, parent.depth + 1);
        for (Py_ssize_t i = 0; r == 0 && i < list_size(value); i++)
            if (is_node(PyList_GET_ITEM(value, i)))
                r = push(stack, PyList_GET_ITEM(value, i), parent.depth + 1);
    }
    Py_DECREF(dict);
    for (size_t a = first, b = stack->count; a + 1 < b; a++, b--) {
        struct pending swapped = stack->items[a];

        stack->items[a] = stack->items[b - 1];
        stack->items[b - 1] = swapped;
    }
    return r;
}

static int gather(struct walk *w, PyObject *tree)
{
    struct stack stack = {0};
    int r = push(&stack, tree, 0);

    while (r == 0 && stack.count > 0) {
        struct pending at = stack.items[--stack.count];

        if (at.depth > DEPTH_MAX) {
            r = -1;
            break;
        }
        r = first_look(w, at.node);
        if (r == 0)
            r = push_children(&stack, at);
    }
    free(stack.items);
    return r;
}

/* -----------------------------------------------------------------------------------------------
 * judging */

static int refuse_at(struct walk *w, int line, int column, const char *rule, struct span name,
                     struct span hint, const char *what)
{
    return policy_report_add(w->report, rule, name, line, column, hint,
                             "profile `%s` does not allow %s%s`%.*s`", w->policy->profile, what,
                             *what ? " " : "", SHOWN(name));
}

static int refuse_attribute(struct walk *w, PyObject *node, int line, int column, struct span name,
                            const char *what)
{
    if (line < 0) {
        line = int_member(node, names.lineno);
        column = int_member(node, names.col_offset);
    }
    return refuse_at(w, line, column, "attribute", name, policy_hint(w->policy, "attribute", name),
                     what);
}

/* ---- modules, as far as they are known now ---- */

/* The loaded module of that name, borrowed, or NULL. */
static PyObject *loaded_module(PyObject *name)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module =
        modules && PyDict_CheckExact(modules) ? PyDict_GetItemWithError(modules, name) : NULL;

    return module && PyModule_Check(module) ? module : NULL;
}

/* What a module holds under a name, read from its dictionary: no __getattr__ runs. Borrowed or
 * NULL. */
static PyObject *module_member(PyObject *module, PyObject *name)
{
    return PyDict_GetItemWithError(PyModule_GetDict(module), name);
}

static struct span module_name(PyObject *module)
{
    PyObject *name = module_member(module, names.dunder_name);

    return name && PyUnicode_CheckExact(name) ? text_of(name) : (struct span){"", 0};
}

/* The module an expression is known to stand for: a name bound by an import, or a member of such.
 * Borrowed. */
static PyObject *resolve_module(const struct walk *w, PyObject *node, int depth)
{
    PyObject *id, *base, *attr, *value;

    if (depth > CHAIN_MAX || !node)
        return NULL;
    if (Py_IS_TYPE(node, types.Name)) {
        id = text_member(node, names.id);
        for (size_t i = 0; id && i < w->n_bindings; i++)
            if (PyUnicode_Compare(w->bindings[i].name, id) == 0) {
                value = loaded_module(w->bindings[i].module);
                if (value)
                    return value;
            }
        return NULL;
    }
    if (!Py_IS_TYPE(node, types.Attribute))
        return NULL;
    attr = text_member(node, names.attr);
    base = resolve_module(w, member(node, names.value), depth + 1);
    value = base && attr ? module_member(base, attr) : NULL;
    return value && PyModule_Check(value) ? value : NULL;
}

/* ---- imports ---- */

static int refuse_import(struct walk *w, PyObject *node, struct span name, struct span hint,
                         const char *what)
{
    if (!hint.len)
        hint = policy_hint(w->policy, "import", name);
    return refuse_at(w, int_member(node, names.lineno), int_member(node, names.col_offset),
                     "import", name, hint, what);
}

static int judge_import(struct walk *w, PyObject *node)
{
    PyObject *aliases = member(node, names.names);

    for (Py_ssize_t i = 0; i < list_size(aliases); i++) {
        PyObject *alias = PyList_GET_ITEM(aliases, i);
        PyObject *name = text_member(alias, names.name);
        struct span module = name ? text_of(name) : (struct span){"", 0};
        int r = 0;

        if (policy_module_granular(w->policy, module))
            r = refuse_import(w, alias, module, (struct span){"", 0},
                              "importing the whole of module");
        else if (!name || !policy_module_allowed(w->policy, module))
            r = refuse_import(w, alias, module, (struct span){"", 0}, "importing module");
        if (r < 0)
            return -1;
    }
    return 0;
}

/* `from a import b` where b turns out to be a module: `from collections import _sys`. */
static bool from_module_allowed(const struct walk *w, PyObject *module, PyObject *name,
                                struct span dotted)
{
    PyObject *loaded = loaded_module(module);
    PyObject *value = loaded ? module_member(loaded, name) : NULL;

    return !value || !PyModule_Check(value) ||
           policy_module_object_allowed(w->policy, value, dotted);
}

/* A module without __all__ gives away everything it imported itself. */
static int judge_star(struct walk *w, PyObject *alias, PyObject *module)
{
    PyObject *loaded = loaded_module(module);
    PyObject *key, *value;
    Py_ssize_t at = 0;

    if (!loaded || module_member(loaded, names.dunder_all))
        return 0;
    while (PyDict_Next(PyModule_GetDict(loaded), &at, &key, &value)) {
        if (!PyUnicode_CheckExact(key) || PyUnicode_READ_CHAR(key, 0) == '_' ||
            !PyModule_Check(value) ||
            policy_module_object_allowed(w->policy, value, (struct span){"", 0}))
            continue;
        return policy_report_add(
            w->report, "import", text_of(module), int_member(alias, names.lineno),
            int_member(alias, names.col_offset), span_from("name what you need"),
            "profile `%s` does not allow `from %.*s import *`: it would bring "
            "in module `%.*s`",
            w->policy->profile, SHOWN(text_of(module)), SHOWN(text_of(key)));
    }
    return 0;
}

static int judge_from_name(struct walk *w, PyObject *alias, PyObject *module, PyObject *name)
{
    struct span from = text_of(module), what = text_of(name);
    bool is_star = span_is(what, "*");
    PyObject *full = PyUnicode_FromFormat("%U.%U", module, name);
    struct span dotted;
    int r = 0;

    if (!full)
        return -1;
    dotted = text_of(full);
    if (is_star && policy_module_granular(w->policy, from))
        r = refuse_import(w, alias, from, span_from("name what you need"),
                          "`import *` from module");
    else if (!policy_import_allowed(w->policy, from, what))
        r = refuse_import(w, alias, is_star ? from : dotted, (struct span){"", 0}, "importing");
    else if (is_star)
        r = judge_star(w, alias, module);
    else if (policy_attribute_refused(w->policy, what))
        r = refuse_attribute(w, alias, -1, -1, what, "importing attribute");
    else if (!from_module_allowed(w, module, name, dotted))
        r = refuse_import(w, alias, dotted, (struct span){"", 0}, "importing module");
    Py_DECREF(full);
    return r;
}

static int judge_import_from(struct walk *w, PyObject *node)
{
    PyObject *module = text_member(node, names.module);
    PyObject *aliases = member(node, names.names);

    if (int_member(node, names.level) > 0 || !module)
        return refuse_import(w, node, span_from("."), span_from("name the module in full"),
                             "the relative import");
    for (Py_ssize_t i = 0; i < list_size(aliases); i++) {
        PyObject *alias = PyList_GET_ITEM(aliases, i);
        PyObject *name = text_member(alias, names.name);

        if (!name || judge_from_name(w, alias, module, name) < 0)
            return -1;
    }
    return 0;
}

/* ---- names ---- */

/* Nobody calls a variable of his own like this. What is bound by the program is otherwise its own
 * affair: the builtins it runs with refuse the real thing. */
static bool is_evaluator(struct span name)
{
    return span_is(name, "eval") || span_is(name, "exec") || span_is(name, "compile") ||
           span_is(name, "__import__") || span_is(name, "breakpoint") ||
           span_is(name, "__builtins__");
}

/* Classes speak to the interpreter and to libraries through dunder names. Defining them is fine but
 * for those the profile names: `__array_interface__` is a pointer for numpy to follow. */
static int judge_definition(struct walk *w, PyObject *node, PyObject *id)
{
    struct span name = id ? text_of(id) : (struct span){"", 0};

    if (name.len < 5 || memcmp(name.data, "__", 2) != 0 ||
        !policy_on_list(w->policy, POLICY_ATTRIBUTE_DENY, name))
        return 0;
    return refuse_attribute(w, node, -1, -1, name, "a definition of");
}

static int compare_addresses(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (PyObject *const *)a, y = (uintptr_t) * (PyObject *const *)b;

    return x == y ? 0 : x < y ? -1 : 1;
}

/* A name bound by `import os.path`, or NULL. */
static const struct binding *way_of(const struct walk *w, PyObject *id)
{
    for (size_t i = 0; w->has_way_modules && i < w->n_bindings; i++)
        if (w->bindings[i].is_way && PyUnicode_Compare(w->bindings[i].name, id) == 0)
            return &w->bindings[i];
    return NULL;
}

/* `os` by itself, where only `os.path` is allowed. */
static int judge_way(struct walk *w, PyObject *node, PyObject *id, struct span name)
{
    if (!way_of(w, id) ||
        bsearch(&node, w->bases, w->n_bases, sizeof(*w->bases), compare_addresses))
        return 0;
    return refuse_import(w, node, name, (struct span){"", 0}, "module");
}

static int judge_name(struct walk *w, PyObject *node)
{
    PyObject *id = text_member(node, names.id);
    PyObject *ctx = member(node, names.ctx);
    struct span name = id ? text_of(id) : (struct span){"", 0};

    if (!id)
        return -1;
    if (!ctx || !Py_IS_TYPE(ctx, types.Load))
        return judge_definition(w, node, id);
    if (!policy_builtin_refused(w->policy, name))
        return judge_way(w, node, id, name);
    if (!is_evaluator(name)) {
        int bound = PySet_Contains(w->bound, id);

        if (bound != 0)
            return bound < 0 ? -1 : 0;
    }
    return refuse_at(w, int_member(node, names.lineno), int_member(node, names.col_offset),
                     "builtin", name, policy_hint(w->policy, "builtin", name), "the builtin");
}

/* ---- strings that can be known ---- */

static bool is_text_constant(PyObject *node)
{
    return node && Py_IS_TYPE(node, types.Constant) && text_member(node, names.value);
}

/* The text of an expression that is put together from constants only, as a new str; NULL: it is
 * not. */
static PyObject *fold(PyObject *node, int depth)
{
    PyObject *left, *right, *joined = NULL, *op;

    if (!node || depth > CHAIN_MAX)
        return NULL;
    if (is_text_constant(node)) {
        PyObject *value = text_member(node, names.value);

        return PyUnicode_GET_LENGTH(value) <= FOLD_MAX || depth == 0 ? Py_NewRef(value) : NULL;
    }
    if (Py_IS_TYPE(node, types.JoinedStr)) {
        PyObject *parts = member(node, names.values);

        joined = PyUnicode_FromString("");
        for (Py_ssize_t i = 0; joined && i < list_size(parts); i++) {
            PyObject *part = PyList_GET_ITEM(parts, i);

            if (Py_IS_TYPE(part, types.FormattedValue))
                part = member(part, names.value);
            right = fold(part, depth + 1);
            if (!right)
                Py_CLEAR(joined);
            else
                PyUnicode_Append(&joined, right);
            Py_XDECREF(right);
        }
        return joined;
    }
    op = Py_IS_TYPE(node, types.BinOp) ? member(node, names.op) : NULL;
    if (!op || !Py_IS_TYPE(op, types.Add))
        return NULL;
    left = fold(member(node, names.left), depth + 1);
    right = left ? fold(member(node, names.right), depth + 1) : NULL;
    if (right)
        joined = PyUnicode_Concat(left, right);
    Py_XDECREF(left);
    Py_XDECREF(right);
    return joined;
}

/* ---- attributes ---- */

static bool is_name(PyObject *node, const char *id)
{
    PyObject *text = node && Py_IS_TYPE(node, types.Name) ? text_member(node, names.id) : NULL;

    return text && PyUnicode_CompareWithASCIIString(text, id) == 0;
}

/* The place of the name behind the dot. */
static void attribute_place(PyObject *node, struct span name, int *ret_line, int *ret_column)
{
    int line = int_member(node, names.end_lineno);
    int column = int_member(node, names.end_col_offset);

    if (line > 0 && column >= (int)name.len) {
        *ret_line = line;
        *ret_column = column - (int)name.len;
    } else {
        *ret_line = int_member(node, names.lineno);
        *ret_column = int_member(node, names.col_offset);
    }
}

/* AttributeError and NameError carry the object somebody else tripped over. */
static bool is_error_object(const struct walk *w, PyObject *value, struct span name)
{
    PyObject *id = value && Py_IS_TYPE(value, types.Name) ? text_member(value, names.id) : NULL;

    return (w->policy->flags & POLICY_DUNDER_DENIED) && id && span_is(name, "obj") &&
           PySet_Contains(w->handlers, id) == 1;
}

/* How classes speak of themselves: `x.__class__.__name__`, `self.__class__(...)`, `self.__dict__`.
 * type(x) and vars(x) give the same, so nothing is lost; a profile that names them in its deny-list
 * refuses them all the same. */
static bool is_soft(const struct walk *w, PyObject *node, PyObject *value, struct span name)
{
    bool is_class = span_is(name, "__class__");

    if ((!is_class && !span_is(name, "__dict__")) ||
        policy_on_list(w->policy, POLICY_ATTRIBUTE_DENY, name))
        return false;
    if (is_name(value, "self") || is_name(value, "other"))
        return true;
    for (size_t i = 0; is_class && i < w->n_soft; i++)
        if (w->soft[i] == node)
            return true;
    return false;
}

/* `os.system` after `import os.path`. A package is a way to its parts and holds little itself. */
static bool leaves_the_way(const struct walk *w, PyObject *value, PyObject *base, PyObject *reached)
{
    PyObject *id = Py_IS_TYPE(value, types.Name) ? text_member(value, names.id) : NULL;

    return id && way_of(w, id) && !(reached && PyModule_Check(reached)) &&
           !module_member(base, names.dunder_path);
}

/* Modules are full of other modules: json.codecs.builtins. */
static int judge_reached_module(struct walk *w, PyObject *value, PyObject *attr, int line,
                                int column)
{
    PyObject *base = resolve_module(w, value, 0);
    PyObject *reached = base ? module_member(base, attr) : NULL;
    bool is_module = reached && PyModule_Check(reached);
    PyObject *full;
    struct span own;
    int r = 0;

    if (!base || (!is_module && !leaves_the_way(w, value, base, reached)))
        return 0;
    full = PyUnicode_FromFormat("%U.%U", module_member(base, names.dunder_name), attr);
    if (!full)
        return -1;
    own = is_module ? module_name(reached) : text_of(full);
    if (!is_module)
        r = refuse_at(w, line, column, "import", own, policy_hint(w->policy, "import", own), "");
    else if (!policy_module_object_allowed(w->policy, reached, text_of(full)))
        r = policy_report_add(w->report, "import", own, line, column,
                              policy_hint(w->policy, "import", own),
                              "profile `%s` does not allow module `%.*s`, which `%.*s` is",
                              w->policy->profile, SHOWN(own), SHOWN(text_of(full)));
    Py_DECREF(full);
    return r;
}

static int judge_template(struct walk *w, PyObject *node, PyObject *text, bool is_field)
{
    struct span name;

    if (!policy_template_refused(w->policy, text_of(text), is_field, &name))
        return 0;
    return refuse_at(w, int_member(node, names.lineno), int_member(node, names.col_offset),
                     "format", name, policy_hint(w->policy, "attribute", name),
                     "a format field that reads attribute");
}

static int judge_attribute(struct walk *w, PyObject *node)
{
    PyObject *attr = text_member(node, names.attr);
    PyObject *value = member(node, names.value);
    struct span name = attr ? text_of(attr) : (struct span){"", 0};
    PyObject *text;
    int line, column, r;

    if (!attr)
        return -1;
    attribute_place(node, name, &line, &column);
    if ((policy_attribute_refused(w->policy, name) && !is_soft(w, node, value, name)) ||
        is_error_object(w, value, name))
        return refuse_attribute(w, node, line, column, name, "attribute");
    if (span_is(name, "format") || span_is(name, "format_map")) {
        text = fold(value, 0);
        r = text ? judge_template(w, node, text, false) : 0;
        Py_XDECREF(text);
        if (r < 0)
            return -1;
    }
    return value ? judge_reached_module(w, value, attr, line, column) : -1;
}

static int judge_match_class(struct walk *w, PyObject *node)
{
    PyObject *attrs = member(node, names.kwd_attrs);

    for (Py_ssize_t i = 0; i < list_size(attrs); i++) {
        PyObject *attr = PyList_GET_ITEM(attrs, i);

        if (!PyUnicode_CheckExact(attr))
            return -1;
        if (policy_attribute_refused(w->policy, text_of(attr)) &&
            refuse_attribute(w, node, -1, -1, text_of(attr), "a pattern that reads attribute") < 0)
            return -1;
    }
    return 0;
}

/* `__match_args__ = ("__globals__",)` reads attributes by position; a dataclass makes it from its
 * fields. */
static int judge_match_args(struct walk *w, PyObject *value)
{
    PyObject *items = value && (Py_IS_TYPE(value, types.Tuple) || Py_IS_TYPE(value, types.List))
                          ? member(value, names.elts)
                          : NULL;

    for (Py_ssize_t i = 0; i < list_size(items); i++) {
        PyObject *text = fold(PyList_GET_ITEM(items, i), 0);
        bool refused = !text || policy_attribute_refused(w->policy, text_of(text));
        int r = refused ? refuse_attribute(w, value, -1, -1, span_from("__match_args__"),
                                           "such an assignment to")
                        : 0;

        Py_XDECREF(text);
        if (refused)
            return r;
    }
    if (items || !(w->policy->flags & POLICY_DUNDER_DENIED))
        return 0;
    return refuse_attribute(w, value, -1, -1, span_from("__match_args__"), "such an assignment to");
}

static int judge_assign(struct walk *w, PyObject *node)
{
    PyObject *targets = member(node, names.targets);

    for (Py_ssize_t i = 0; i < list_size(targets); i++)
        if (is_name(PyList_GET_ITEM(targets, i), "__match_args__"))
            return judge_match_args(w, member(node, names.value));
    return 0;
}

static int judge_annotation(struct walk *w, PyObject *node)
{
    PyObject *target = member(node, names.target);
    PyObject *id = target && Py_IS_TYPE(target, types.Name) ? text_member(target, names.id) : NULL;

    if (id && policy_attribute_refused(w->policy, text_of(id)))
        return refuse_attribute(w, target, -1, -1, text_of(id), "a field called");
    return 0;
}

/* ---- calls with a name in a string ---- */

static bool one_of(struct span name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (span_is(name, list[i]))
            return true;
    return false;
}

static PyObject *argument(PyObject *call, Py_ssize_t index)
{
    PyObject *args = member(call, names.args);

    return index < list_size(args) ? PyList_GET_ITEM(args, index) : NULL;
}

static int judge_path(struct walk *w, PyObject *node, bool is_template, bool is_field)
{
    PyObject *text = fold(node, 0);
    struct span name;
    int r = 0;

    if (!text)
        return 0; /* not known now: the guards look at it when it is used */
    if (is_template)
        r = judge_template(w, node, text, is_field);
    else if (policy_path_refused(w->policy, text_of(text), &name))
        r = refuse_attribute(w, node, -1, -1, name, "reading attribute");
    Py_DECREF(text);
    return r;
}

static int judge_call(struct walk *w, PyObject *node)
{
    static const char *const by_name[] = {"getattr", "setattr", "hasattr", "delattr"};
    static const char *const getters[] = {"attrgetter", "methodcaller"};
    static const char *const formats[] = {"format", "vformat", "get_field"};
    static const char *const setters[] = {"__setattr__", "__delattr__"};
    PyObject *func = member(node, names.func);
    bool is_attribute = func && Py_IS_TYPE(func, types.Attribute);
    PyObject *called = is_attribute                           ? text_member(func, names.attr)
                       : func && Py_IS_TYPE(func, types.Name) ? text_member(func, names.id)
                                                              : NULL;
    struct span name = called ? text_of(called) : (struct span){"", 0};

    if (w->is_annotation && !(name.len && name.data[0] >= 'A' && name.data[0] <= 'Z'))
        return refuse_at(w, int_member(node, names.lineno), int_member(node, names.col_offset),
                         "annotation", name, span_from("name types only"), "an annotation to call");
    if (!called)
        return 0;
    if (!is_attribute && one_of(name, by_name, COUNT_OF(by_name)))
        return judge_path(w, argument(node, 1), false, false);
    if (one_of(name, getters, COUNT_OF(getters)) ||
        (is_attribute && one_of(name, setters, COUNT_OF(setters)))) {
        PyObject *arg;

        for (Py_ssize_t i = 0; (arg = argument(node, i)); i++)
            if (judge_path(w, arg, false, false) < 0)
                return -1;
        return 0;
    }
    if (is_attribute && one_of(name, formats, COUNT_OF(formats)) && argument(node, 0))
        return judge_path(w, argument(node, 0), true, span_is(name, "get_field"));
    return 0;
}

/* globals()["__builtins__"], vars()["eval"] */
static int judge_subscript(struct walk *w, PyObject *node)
{
    static const char *const spaces[] = {"globals", "locals", "vars"};
    PyObject *value = member(node, names.value);
    PyObject *func = value && Py_IS_TYPE(value, types.Call) ? member(value, names.func) : NULL;
    PyObject *id = func && Py_IS_TYPE(func, types.Name) ? text_member(func, names.id) : NULL;
    PyObject *key;
    int r = 0;

    if (!id || !one_of(text_of(id), spaces, COUNT_OF(spaces)))
        return 0;
    key = fold(member(node, names.slice), 0);
    if (key && policy_builtin_refused(w->policy, text_of(key)))
        r = refuse_at(w, int_member(node, names.lineno), int_member(node, names.col_offset),
                      "builtin", text_of(key), policy_hint(w->policy, "builtin", text_of(key)),
                      "the builtin");
    Py_XDECREF(key);
    return r;
}

static int judge(struct walk *w, PyObject *node)
{
    PyTypeObject *type = Py_TYPE(node);

    if (type == types.Name)
        return judge_name(w, node);
    if (type == types.Attribute)
        return judge_attribute(w, node);
    if (type == types.Call)
        return judge_call(w, node);
    if (type == types.Subscript)
        return judge_subscript(w, node);
    if (type == types.Import)
        return judge_import(w, node);
    if (type == types.ImportFrom)
        return judge_import_from(w, node);
    if (type == types.MatchClass)
        return judge_match_class(w, node);
    if (type == types.Assign)
        return judge_assign(w, node);
    if (type == types.AnnAssign)
        return judge_annotation(w, node);
    return judge_definition(w, node, text_member(node, names.name));
}

static void walk_done(struct walk *w)
{
    for (size_t i = 0; i < w->n_bindings; i++) {
        Py_DECREF(w->bindings[i].name);
        Py_DECREF(w->bindings[i].module);
    }
    free(w->bindings);
    free(w->nodes);
    free(w->soft);
    free(w->bases);
    Py_XDECREF(w->bound);
    Py_XDECREF(w->handlers);
}

static int check(struct walk *w, PyObject *tree)
{
    size_t first = w->report->count;
    int r = -1;

    if (!tree || !is_node(tree))
        return -1;
    if (policy_restricts_nothing(w->policy))
        return 0;
    w->bound = PySet_New(NULL);
    w->handlers = PySet_New(NULL);
    if (w->bound && w->handlers)
        r = gather(w, tree);
    if (r == 0 && w->has_way_modules)
        qsort(w->bases, w->n_bases, sizeof(*w->bases), compare_addresses);
    for (size_t i = 0; r == 0 && i < w->n_nodes; i++)
        r = judge(w, w->nodes[i]);
    walk_done(w);
    /* Whatever went wrong on the way, nothing may run. */
    if (PyErr_Occurred()) {
        PyErr_Clear();
        r = -1;
    }
    policy_report_finish(w->report, first);
    return r;
}

int policy_check_tree(const struct policy *policy, PyObject *tree, struct policy_report *report)
{
    struct walk w = {.policy = policy, .report = report};

    return check(&w, tree);
}

int policy_check_annotation(const struct policy *policy, PyObject *tree,
                            struct policy_report *report)
{
    struct walk w = {.policy = policy, .report = report, .is_annotation = true};

    return check(&w, tree);
}
