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
#include "guest/policy/walk.h"

#include <stdlib.h>
#include <string.h>

/* The depth at which Python 3.11 itself stops, whatever the version: deeper trees are not programs.
 */
#define DEPTH_MAX 3000

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

static int keep_attribute(struct walk *w, PyObject *node)
{
    PyObject *value = node_get(node, node_names.value);

    if (value && Py_IS_TYPE(value, node_types.Name) &&
        append(&w->bases, &w->n_bases, &w->size_bases, value) < 0)
        return -1;
    if (value && node_has_attr(value, "__class__") &&
        (node_has_attr(node, "__name__") || node_has_attr(node, "__qualname__")) &&
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
    /* A refused name is reported where it is imported; its uses are not reported again. */
    if (!is_way && !policy_module_allowed(w->policy, node_span(module)) &&
        !policy_module_granular(w->policy, node_span(module)))
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
    PyObject *aliases = node_get(node, node_names.names);

    for (Py_ssize_t i = 0; i < node_count(aliases); i++) {
        PyObject *alias = PyList_GET_ITEM(aliases, i);
        PyObject *name = node_text(alias, node_names.name);
        PyObject *asname = node_text(alias, node_names.asname);
        PyObject *first = name ? first_part(name) : NULL;
        int r = -1;

        if (first && asname)
            r = bind_module(w, asname, name, false);
        else if (first)
            r = bind_module(
                w, first, first,
                policy_module_allowed(w->policy, node_span(name)) &&
                    !policy_import_allowed(w->policy, node_span(first), (struct span){"", 0}));
        Py_XDECREF(first);
        if (r < 0)
            return -1;
    }
    return 0;
}

/* `from a import b as c` binds c to a.b, which may be a module. */
static int bind_import_from(struct walk *w, PyObject *node)
{
    PyObject *module = node_text(node, node_names.module);
    PyObject *aliases = node_get(node, node_names.names);

    for (Py_ssize_t i = 0; i < node_count(aliases); i++) {
        PyObject *alias = PyList_GET_ITEM(aliases, i);
        PyObject *name = node_text(alias, node_names.name);
        PyObject *asname = node_text(alias, node_names.asname);
        PyObject *full = module && name ? PyUnicode_FromFormat("%U.%U", module, name) : NULL;
        int r = full ? bind_module(w, asname ? asname : name, full, false)
                     : bind(w, asname ? asname : name);

        Py_XDECREF(full);
        if (r < 0)
            return -1;
    }
    return 0;
}

struct pending {
    PyObject *node;
    unsigned depth;
    bool is_tried;   /* an import that fails here is caught */
    bool is_named;   /* and so is a name that does not exist */
    PyObject *asked; /* the name of an attribute that hasattr() has found, borrowed; or NULL */
};

/* `raw_input`: on the list of refused builtins for its hint alone. Reading it is a NameError. */
static bool is_gone(PyObject *name)
{
    PyObject *builtins = PyEval_GetBuiltins();

    return name && PyUnicode_GET_LENGTH(name) > 0 && PyUnicode_READ_CHAR(name, 0) != '_' &&
           builtins && PyDict_Contains(builtins, name) == 0;
}

/* An import that the program can do without is judged when it is run: the program then goes on with
 * what it has for that case. So is a name of Python 2. */
static int first_look(struct walk *w, struct pending at)
{
    PyObject *node = at.node;
    PyTypeObject *type = Py_TYPE(node);
    bool is_tried = at.is_tried;

    if (type == node_types.Name) {
        PyObject *ctx = node_get(node, node_names.ctx);

        if (!ctx || !Py_IS_TYPE(ctx, node_types.Load))
            return bind(w, node_get(node, node_names.id)) < 0 ? -1 : keep(w, node);
        return at.is_named && is_gone(node_text(node, node_names.id)) ? 0 : keep(w, node);
    }
    if (type == node_types.Attribute) {
        PyObject *attr = node_text(node, node_names.attr);

        if (at.asked && attr && PyUnicode_Compare(attr, at.asked) == 0 &&
            w->n_later < COUNT_OF(w->later))
            w->later[w->n_later++] = node_get(node, node_names.value);
        return keep_attribute(w, node);
    }
    if (type == node_types.Call || type == node_types.Subscript || type == node_types.MatchClass ||
        type == node_types.Assign || type == node_types.AnnAssign)
        return keep(w, node);
    if (type == node_types.Import)
        return bind_import(w, node) < 0 ? -1 : is_tried ? 0 : keep(w, node);
    if (type == node_types.ImportFrom)
        return bind_import_from(w, node) < 0 ? -1 : is_tried ? 0 : keep(w, node);
    if (type == node_types.FunctionDef || type == node_types.AsyncFunctionDef ||
        type == node_types.ClassDef)
        return bind(w, node_get(node, node_names.name)) < 0 ? -1 : keep(w, node);
    if (node_types.type_param && PyType_IsSubtype(type, node_types.type_param))
        return bind(w, node_get(node, node_names.name));
    if (type == node_types.MatchAs || type == node_types.MatchStar)
        return bind(w, node_get(node, node_names.name));
    if (type == node_types.arg)
        return bind(w, node_get(node, node_names.arg));
    if (type == node_types.MatchMapping)
        return bind(w, node_get(node, node_names.rest));
    if (type == node_types.ExceptHandler) {
        PyObject *name = node_text(node, node_names.name);

        return name ? (PySet_Add(w->handlers, name) < 0 ? -1 : bind(w, name)) : 0;
    }
    return 0;
}

struct stack {
    struct pending *items;
    size_t count, size;
};

static int push(struct stack *stack, struct pending item)
{
    if (stack->count == stack->size) {
        size_t size = stack->size ? 2 * stack->size : 256;
        struct pending *items = realloc(stack->items, size * sizeof(*items));

        if (!items)
            return -1;
        stack->items = items;
        stack->size = size;
    }
    stack->items[stack->count++] = item;
    return 0;
}

static bool is_one_of(PyObject *type, const char *const *names)
{
    PyObject *id =
        type && Py_IS_TYPE(type, node_types.Name) ? node_text(type, node_names.id) : NULL;

    for (; id && *names; names++)
        if (PyUnicode_CompareWithASCIIString(id, *names) == 0)
            return true;
    return false;
}

/* The `body` of a `try` that catches one of these exceptions, borrowed; or NULL. */
static PyObject *tried_body(PyObject *node, const char *const *names)
{
    PyObject *handlers = node_get(node, node_names.handlers);

    for (Py_ssize_t i = 0; i < node_count(handlers); i++) {
        PyObject *type = node_get(PyList_GET_ITEM(handlers, i), node_names.type);
        PyObject *kinds =
            type && Py_IS_TYPE(type, node_types.Tuple) ? node_get(type, node_names.elts) : NULL;
        bool catches = !type || type == Py_None || is_one_of(type, names);

        for (Py_ssize_t k = 0; k < node_count(kinds) && !catches; k++)
            catches = is_one_of(PyList_GET_ITEM(kinds, k), names);
        if (catches)
            return node_get(node, node_names.body);
    }
    return NULL;
}

/* A `try` that does without a module that cannot be imported, or without a name of Python 2. */
static const char *const import_errors[] = {"ImportError", "ModuleNotFoundError", "Exception",
                                            "BaseException", NULL};
static const char *const name_errors[] = {"NameError", "Exception", "BaseException", NULL};

/* `os.name`, `sys.platform`, `platform.system()` */
static bool names_system(PyObject *node)
{
    if (node && Py_IS_TYPE(node, node_types.Call) &&
        node_count(node_get(node, node_names.args)) == 0)
        return node_get(node, node_names.func) &&
               node_has_attr(node_get(node, node_names.func), "system");
    return node && (node_has_attr(node, "name") || node_has_attr(node, "platform"));
}

static bool is_other_system(PyObject *node)
{
    static const char *const names[] = {"nt",     "win32",  "win", "windows", "Windows",
                                        "cygwin", "darwin", "mac", "Darwin",  "java"};
    PyObject *text =
        node && Py_IS_TYPE(node, node_types.Constant) ? node_text(node, node_names.value) : NULL;

    for (size_t i = 0; text && i < COUNT_OF(names); i++)
        if (PyUnicode_CompareWithASCIIString(text, names[i]) == 0)
            return true;
    return false;
}

static bool are_other_systems(PyObject *node)
{
    PyObject *items =
        node && (Py_IS_TYPE(node, node_types.Tuple) || Py_IS_TYPE(node, node_types.List))
            ? node_get(node, node_names.elts)
            : NULL;
    bool all = node_count(items) > 0;

    for (Py_ssize_t i = 0; i < node_count(items) && all; i++)
        all = is_other_system(PyList_GET_ITEM(items, i));
    return all;
}

/* `if sys.platform == "win32":`, `.startswith("win")`, `in ("nt", "java")`: the body is for another
 * system, and runs nowhere here. */
static bool is_for_other_system(PyObject *test)
{
    PyObject *func, *args, *ops, *right;

    if (test && Py_IS_TYPE(test, node_types.Call)) {
        func = node_get(test, node_names.func);
        args = node_get(test, node_names.args);
        return func && node_has_attr(func, "startswith") && node_count(args) == 1 &&
               names_system(node_get(func, node_names.value)) &&
               is_other_system(PyList_GET_ITEM(args, 0));
    }
    if (!test || !Py_IS_TYPE(test, node_types.Compare) ||
        !names_system(node_get(test, node_names.left)))
        return false;
    ops = node_get(test, node_names.ops);
    args = node_get(test, node_names.comparators);
    if (node_count(ops) != 1 || node_count(args) != 1)
        return false;
    right = PyList_GET_ITEM(args, 0);
    return Py_IS_TYPE(PyList_GET_ITEM(ops, 0), node_types.Eq)   ? is_other_system(right)
           : Py_IS_TYPE(PyList_GET_ITEM(ops, 0), node_types.In) ? are_other_systems(right)
                                                                : false;
}

/* Imports in it are judged when they are run: the body of such a `try`, or of such an `if`.
 * Borrowed; or NULL. */
static PyObject *body_judged_later(PyObject *node)
{
    if (Py_IS_TYPE(node, node_types.Try))
        return tried_body(node, import_errors);
    return Py_IS_TYPE(node, node_types.If) && is_for_other_system(node_get(node, node_names.test))
               ? node_get(node, node_names.body)
               : NULL;
}

/* `if hasattr(os, "fork"):`, or `os.fork() if hasattr(os, "fork") else None`: the name, borrowed;
 * or NULL. A module says at run time whether the program sees the name. */
static PyObject *asked_name(PyObject *node)
{
    PyObject *test = Py_IS_TYPE(node, node_types.If) || Py_IS_TYPE(node, node_types.IfExp)
                         ? node_get(node, node_names.test)
                         : NULL;
    PyObject *func =
        test && Py_IS_TYPE(test, node_types.Call) ? node_get(test, node_names.func) : NULL;
    PyObject *args = func ? node_get(test, node_names.args) : NULL;
    PyObject *name = node_count(args) == 2 ? PyList_GET_ITEM(args, 1) : NULL;
    PyObject *id =
        func && Py_IS_TYPE(func, node_types.Name) ? node_text(func, node_names.id) : NULL;

    if (!name || !id || !Py_IS_TYPE(name, node_types.Constant) ||
        PyUnicode_CompareWithASCIIString(id, "hasattr") != 0)
        return NULL;
    return node_text(name, node_names.value);
}

/* Pushes the node's children so that the first comes off first. */
static int push_children(struct stack *stack, struct pending parent)
{
    PyObject *dict = PyObject_GenericGetDict(parent.node, NULL);
    bool tries = Py_IS_TYPE(parent.node, node_types.Try);
    PyObject *tried = body_judged_later(parent.node);
    PyObject *named = tries ? tried_body(parent.node, name_errors) : NULL;
    PyObject *asked = asked_name(parent.node);
    PyObject *answered = asked ? node_get(parent.node, node_names.body) : NULL;
    size_t first = stack->count;
    PyObject *key, *value;
    Py_ssize_t at = 0;
    int r = 0;

    if (!dict)
        return -1;
    while (r == 0 && PyDict_Next(dict, &at, &key, &value)) {
        struct pending child = {value, parent.depth + 1, parent.is_tried || value == tried,
                                parent.is_named || value == named,
                                asked && value == answered ? asked : parent.asked};

        if (node_check(value))
            r = push(stack, child);
        for (Py_ssize_t i = 0; r == 0 && i < node_count(value); i++) {
            child.node = PyList_GET_ITEM(value, i);
            if (node_check(child.node))
                r = push(stack, child);
        }
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
    int r = push(&stack, (struct pending){.node = tree});

    while (r == 0 && stack.count > 0) {
        struct pending at = stack.items[--stack.count];

        if (at.depth > DEPTH_MAX) {
            w->n_nodes = 0; /* what stands above tells nothing without what hangs below */
            r = policy_report_add(
                w->report, "source", span_of("depth"), node_int(at.node, node_names.lineno), -1,
                span_of("split the expression"), "the program is nested too deeply");
            break;
        }
        r = first_look(w, at);
        if (r == 0)
            r = push_children(&stack, at);
    }
    free(stack.items);
    return r;
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

    if (!tree || !node_check(tree))
        return -1;
    if (policy_restricts_nothing(w->policy))
        return 0;
    w->bound = PySet_New(NULL);
    w->handlers = PySet_New(NULL);
    if (w->bound && w->handlers)
        r = gather(w, tree);
    policy_judge_prepare(w);
    for (size_t i = 0; r == 0 && i < w->n_nodes; i++)
        r = policy_judge(w, w->nodes[i]);
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

int policy_check_text(const struct policy *policy, PyObject *tree, enum policy_text kind,
                      struct policy_report *report)
{
    struct walk w = {.policy = policy,
                     .report = report,
                     .is_text = true,
                     .is_annotation = kind == TEXT_ANNOTATION,
                     .is_generated = kind == TEXT_GENERATED};

    return check(&w, tree);
}

int policy_check_module(const struct policy *policy, PyObject *tree, struct policy_report *report)
{
    struct walk w = {.policy = policy, .report = report, .is_module = true};

    return check(&w, tree);
}
