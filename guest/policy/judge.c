/* The second round: each node with a name against the rules. */
#include "guest/policy/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Members followed from a module in one expression ("a.b.c.d"), and pieces of one string that are
 * put together. */
#define CHAIN_MAX 16
#define FOLD_MAX  4096

/* ---- judging ---- */

static int refuse_at(struct walk *w, int line, int column, const char *rule, struct span name,
                     struct span hint, const char *what)
{
    if (!hint.len)
        hint = span_of(policy_last_hint(w->policy));
    return policy_report_add(w->report, rule, name, line, column, hint,
                             "profile `%s` does not allow %s%s`%.*s`", w->policy->profile, what,
                             *what ? " " : "", SHOWN(name));
}

static struct span attribute_hint(const struct policy *policy, struct span name)
{
    struct span hint = policy_hint(policy, "attribute", name);

    if (hint.len || name.len < 2 || memcmp(name.data, "__", 2) != 0)
        return hint;
    return span_of("a name of your own goes without the underscores at its ends");
}

static int refuse_attribute(struct walk *w, PyObject *node, int line, int column, struct span name,
                            const char *what)
{
    if (line < 0) {
        line = node_int(node, node_names.lineno);
        column = node_int(node, node_names.col_offset);
    }
    return refuse_at(w, line, column, "attribute", name, attribute_hint(w->policy, name), what);
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

/* Looks up a name in a module's dictionary: no __getattr__ runs. Borrowed or NULL. */
static PyObject *module_member(PyObject *module, PyObject *name)
{
    return PyDict_GetItemWithError(PyModule_GetDict(module), name);
}

static struct span module_name(PyObject *module)
{
    PyObject *name = module_member(module, node_names.dunder_name);

    return name && PyUnicode_CheckExact(name) ? node_span(name) : (struct span){"", 0};
}

/* The module an expression is known to stand for: a name bound by an import, or a member of such.
 * Borrowed. */
static PyObject *resolve_module(const struct walk *w, PyObject *node, int depth)
{
    PyObject *id, *base, *attr, *value;

    if (depth > CHAIN_MAX || !node)
        return NULL;
    if (Py_IS_TYPE(node, node_types.Name)) {
        id = node_text(node, node_names.id);
        for (size_t i = 0; id && i < w->n_bindings; i++)
            if (PyUnicode_Compare(w->bindings[i].name, id) == 0) {
                value = loaded_module(w->bindings[i].module);
                if (value)
                    return value;
            }
        return NULL;
    }
    if (!Py_IS_TYPE(node, node_types.Attribute))
        return NULL;
    attr = node_text(node, node_names.attr);
    base = resolve_module(w, node_get(node, node_names.value), depth + 1);
    value = base && attr ? module_member(base, attr) : NULL;
    return value && PyModule_Check(value) ? value : NULL;
}

/* ---- imports ---- */

static int refuse_import(struct walk *w, PyObject *node, struct span name, struct span hint,
                         const char *what)
{
    char slip[512];

    if (!hint.len)
        hint = policy_hint(w->policy, "import", name);
    if (!hint.len && !memchr(name.data, '.', name.len) && !policy_module_exists(name)) {
        struct span meant = policy_nearest_module(w->policy, name);

        if (meant.len) {
            (void)snprintf(slip, sizeof(slip), "did you mean `%.*s`?", SHOWN(meant));
            hint = span_of(slip);
        }
    }
    if (!hint.len && policy_list_modules(w->policy, slip, sizeof(slip)))
        hint = span_of(slip);
    if (!hint.len)
        hint = span_of(policy_unlisted_hint(w->policy, name));
    return refuse_at(w, node_int(node, node_names.lineno), node_int(node, node_names.col_offset),
                     "import", name, hint, what);
}

static int judge_import(struct walk *w, PyObject *node)
{
    PyObject *aliases = node_get(node, node_names.names);

    for (Py_ssize_t i = 0; i < node_count(aliases); i++) {
        PyObject *alias = PyList_GET_ITEM(aliases, i);
        PyObject *name = node_text(alias, node_names.name);
        struct span module = name ? node_span(name) : (struct span){"", 0};
        int r = 0;

        if (policy_module_granular(w->policy, module) && !(w->policy->flags & POLICY_PARTS_SHOWN))
            r = refuse_import(w, alias, module, (struct span){"", 0},
                              "importing the whole of module");
        else if (!name || !policy_import_allowed(w->policy, module, (struct span){"", 0}))
            r = refuse_import(w, alias, module, (struct span){"", 0}, "importing module");
        if (r < 0)
            return -1;
    }
    return 0;
}

static bool one_of(struct span name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (span_is(name, list[i]))
            return true;
    return false;
}

/* A module that is not loaded yet cannot be looked into. The members that give the most away have
 * well-known names, with or without underscores before them; whatever else it holds meets the rules
 * at run time. Takes the underscores off *name. */
static bool gives_away(const struct walk *w, struct span *name)
{
    static const char *const known[] = {
        "builtins", "codecs", "ctypes",  "gc",         "importlib", "inspect",
        "marshal",  "os",     "pathlib", "pickle",     "posix",     "posixpath",
        "shutil",   "socket", "ssl",     "subprocess", "sys",       "tempfile",
    };

    while (name->len > 0 && name->data[0] == '_')
        *name = (struct span){name->data + 1, name->len - 1};
    return one_of(*name, known, COUNT_OF(known)) && !policy_module_allowed(w->policy, *name);
}

/* `from a import b` where b turns out to be a module: `from collections import _sys`. */
static bool from_module_allowed(const struct walk *w, PyObject *module, PyObject *name,
                                struct span dotted)
{
    PyObject *loaded = loaded_module(module);
    PyObject *value = loaded ? module_member(loaded, name) : NULL;
    struct span plain = node_span(name);

    if (!loaded)
        return !gives_away(w, &plain);
    return !value || !PyModule_Check(value) ||
           policy_module_object_allowed(w->policy, value, dotted);
}

static int judge_star(struct walk *w, PyObject *alias, PyObject *module)
{
    PyObject *loaded = loaded_module(module);
    PyObject *brought = loaded ? policy_star_brings(w->policy, loaded) : NULL;

    if (!brought)
        return 0;
    return policy_report_add(
        w->report, "import", node_span(module), node_int(alias, node_names.lineno),
        node_int(alias, node_names.col_offset), span_of("name what you need"),
        "profile `%s` does not allow `from %.*s import *`: it would bring in "
        "module `%.*s`",
        w->policy->profile, SHOWN(node_span(module)), SHOWN(node_span(brought)));
}

static int judge_from_name(struct walk *w, PyObject *alias, PyObject *module, PyObject *name)
{
    struct span from = node_span(module), what = node_span(name);
    bool is_star = span_is(what, "*");
    PyObject *full = PyUnicode_FromFormat("%U.%U", module, name);
    struct span dotted;
    int r = 0;

    if (!full)
        return -1;
    dotted = node_span(full);
    if (is_star && policy_module_granular(w->policy, from))
        r = refuse_import(w, alias, from, span_of("name what you need"), "`import *` from module");
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
    PyObject *module = node_text(node, node_names.module);
    PyObject *aliases = node_get(node, node_names.names);

    if (node_int(node, node_names.level) > 0 && w->is_module)
        return 0; /* where it leads is seen when it is imported */
    if (node_int(node, node_names.level) > 0 || !module)
        return refuse_import(w, node, span_of("."), span_of("name the module in full"),
                             "the relative import");
    for (Py_ssize_t i = 0; i < node_count(aliases); i++) {
        PyObject *alias = PyList_GET_ITEM(aliases, i);
        PyObject *name = node_text(alias, node_names.name);

        if (!name || judge_from_name(w, alias, module, name) < 0)
            return -1;
    }
    return 0;
}

/* ---- names ---- */

/* Nobody gives such a name to a variable. Other names that the program binds are its own affair:
 * the builtins it runs with refuse the real thing. */
static bool is_evaluator(struct span name)
{
    return span_is(name, "eval") || span_is(name, "exec") || span_is(name, "compile") ||
           span_is(name, "__import__") || span_is(name, "breakpoint") ||
           span_is(name, "__builtins__");
}

/* Classes speak to the interpreter and to libraries through dunder node_names. Defining them is
 * fine but for those the profile names: `__array_interface__` is a pointer for numpy to follow. */
static int judge_definition(struct walk *w, PyObject *node, PyObject *id)
{
    struct span name = id ? node_span(id) : (struct span){"", 0};

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
    if (!way_of(w, id))
        return 0;
    if (w->n_bases > 0 &&
        bsearch(&node, w->bases, w->n_bases, sizeof(*w->bases), compare_addresses))
        return 0;
    return refuse_import(w, node, name, (struct span){"", 0}, "module");
}

static int judge_name(struct walk *w, PyObject *node)
{
    PyObject *id = node_text(node, node_names.id);
    PyObject *ctx = node_get(node, node_names.ctx);
    struct span name = id ? node_span(id) : (struct span){"", 0};

    if (!id)
        return -1;
    if (!ctx || !Py_IS_TYPE(ctx, node_types.Load))
        return judge_definition(w, node, id);
    if (!policy_builtin_refused(w->policy, name))
        return judge_way(w, node, id, name);
    if (!is_evaluator(name)) {
        int bound = PySet_Contains(w->bound, id);

        if (bound != 0)
            return bound < 0 ? -1 : 0;
    }
    return refuse_at(w, node_int(node, node_names.lineno), node_int(node, node_names.col_offset),
                     "builtin", name, policy_hint(w->policy, "builtin", name), "the builtin");
}

/* ---- strings that can be known ---- */

static bool is_text_constant(PyObject *node)
{
    return node && Py_IS_TYPE(node, node_types.Constant) && node_text(node, node_names.value);
}

/* The text of an expression that is put together from constants only, as a new str; NULL: it is
 * not. */
static PyObject *fold(PyObject *node, int depth)
{
    PyObject *left, *right, *joined = NULL, *op;

    if (!node || depth > CHAIN_MAX)
        return NULL;
    if (is_text_constant(node)) {
        PyObject *value = node_text(node, node_names.value);

        return PyUnicode_GET_LENGTH(value) <= FOLD_MAX || depth == 0 ? Py_NewRef(value) : NULL;
    }
    if (Py_IS_TYPE(node, node_types.JoinedStr)) {
        PyObject *parts = node_get(node, node_names.values);

        joined = PyUnicode_FromString("");
        for (Py_ssize_t i = 0; joined && i < node_count(parts); i++) {
            PyObject *part = PyList_GET_ITEM(parts, i);

            if (Py_IS_TYPE(part, node_types.FormattedValue))
                part = node_get(part, node_names.value);
            right = fold(part, depth + 1);
            if (!right)
                Py_CLEAR(joined);
            else
                PyUnicode_Append(&joined, right);
            Py_XDECREF(right);
        }
        return joined;
    }
    op = Py_IS_TYPE(node, node_types.BinOp) ? node_get(node, node_names.op) : NULL;
    if (!op || !Py_IS_TYPE(op, node_types.Add))
        return NULL;
    left = fold(node_get(node, node_names.left), depth + 1);
    right = left ? fold(node_get(node, node_names.right), depth + 1) : NULL;
    if (right)
        joined = PyUnicode_Concat(left, right);
    Py_XDECREF(left);
    Py_XDECREF(right);
    return joined;
}

/* ---- attributes ---- */

static bool is_name(PyObject *node, const char *id)
{
    PyObject *text =
        node && Py_IS_TYPE(node, node_types.Name) ? node_text(node, node_names.id) : NULL;

    return text && PyUnicode_CompareWithASCIIString(text, id) == 0;
}

/* The place of the name behind the dot. */
static void attribute_place(PyObject *node, struct span name, int *ret_line, int *ret_column)
{
    int line = node_int(node, node_names.end_lineno);
    int column = node_int(node, node_names.end_col_offset);

    if (line > 0 && column >= (int)name.len) {
        *ret_line = line;
        *ret_column = column - (int)name.len;
    } else {
        *ret_line = node_int(node, node_names.lineno);
        *ret_column = node_int(node, node_names.col_offset);
    }
}

/* AttributeError and NameError carry the object somebody else tripped over. */
static bool is_error_object(const struct walk *w, PyObject *value, struct span name)
{
    PyObject *id =
        value && Py_IS_TYPE(value, node_types.Name) ? node_text(value, node_names.id) : NULL;

    return (w->policy->flags & POLICY_DUNDER_DENIED) && id && span_is(name, "obj") &&
           PySet_Contains(w->handlers, id) == 1;
}

static bool is_read(PyObject *node)
{
    PyObject *ctx = node_get(node, node_names.ctx);

    return ctx && Py_IS_TYPE(ctx, node_types.Load);
}

/* May be read, not set: `f.__defaults__`, where libraries keep functions and modules of their own;
 * the traceback of an exception, which sys.exc_info() has as well, while names that lead on to
 * frames are refused; and the names by which a class is matched. */
static bool is_read_only(struct span name)
{
    static const char *const names[] = {"__defaults__", "__kwdefaults__", "__traceback__",
                                        "__match_args__"};

    return one_of(name, names, COUNT_OF(names));
}

/* Ordinary uses of class attributes: `x.__class__.__name__`, `self.__class__(...)`,
 * `a.__class__ is f().__class__`, `self.__dict__`. type(x) and vars(x) give the same, so allowing
 * them is safe; a profile with these names in its deny-list still refuses them. */
static bool is_soft(const struct walk *w, PyObject *node, PyObject *value, struct span name)
{
    bool is_class = span_is(name, "__class__");
    bool is_plain =
        value && (Py_IS_TYPE(value, node_types.Name) || Py_IS_TYPE(value, node_types.Attribute) ||
                  ((is_class || is_read_only(name)) && (Py_IS_TYPE(value, node_types.Call) ||
                                                        Py_IS_TYPE(value, node_types.Subscript))));

    if ((!is_class && !is_read_only(name) && !span_is(name, "__dict__")) ||
        policy_on_list(w->policy, POLICY_ATTRIBUTE_DENY, name))
        return false;
    if ((is_class || is_read_only(name)) && !w->is_text && is_plain && is_read(node))
        return true;
    if (is_read_only(name))
        return false;
    if (is_name(value, "self") || is_name(value, "other"))
        return true;
    for (size_t i = 0; is_class && i < w->n_soft; i++)
        if (w->soft[i] == node)
            return true;
    return false;
}

/* Expressions in code that dataclasses and the like generate: `other.__class__ is
 * self.__class__`. */
static bool is_written_by_generator(const struct walk *w, PyObject *value, struct span name)
{
    static const char *const names[] = {"__class__", "__qualname__", "__setattr__", "__delattr__"};

    if (!w->is_generated)
        return false;
    if (span_is(name, "__class__") && !is_name(value, "self") && !is_name(value, "other"))
        return false;
    return one_of(name, names, COUNT_OF(names));
}

/* `os.system` after `import os.path`. A package is a way to its parts and holds little itself. */
static bool leaves_the_way(const struct walk *w, PyObject *value, PyObject *base, PyObject *reached)
{
    PyObject *id = Py_IS_TYPE(value, node_types.Name) ? node_text(value, node_names.id) : NULL;

    return id && way_of(w, id) && !(reached && PyModule_Check(reached)) &&
           !module_member(base, node_names.dunder_path);
}

static int judge_unloaded(struct walk *w, PyObject *value, PyObject *attr, int line, int column)
{
    PyObject *id = Py_IS_TYPE(value, node_types.Name) ? node_text(value, node_names.id) : NULL;
    struct span name = node_span(attr);

    if (!id || !gives_away(w, &name))
        return 0;
    for (size_t i = 0; i < w->n_bindings; i++)
        if (!w->bindings[i].is_way && PyUnicode_Compare(w->bindings[i].name, id) == 0)
            return refuse_at(w, line, column, "import", name,
                             policy_hint(w->policy, "import", name), "module");
    return 0;
}

/* `os.fork`, where some names of `os` are allowed. */
static bool is_unlisted(const struct walk *w, PyObject *base, PyObject *attr, PyObject *reached)
{
    return policy_module_view(w->policy, base) == VIEW_PARTS &&
           !policy_member_allowed(w->policy, base, node_span(attr), reached);
}

/* The program has asked for it with hasattr(), and the module will answer as it shows itself. */
static bool is_asked_for(const struct walk *w, PyObject *value)
{
    for (size_t i = 0; i < w->n_later; i++)
        if (w->later[i] == value)
            return true;
    return false;
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

    if (!base)
        return judge_unloaded(w, value, attr, line, column);
    if (!is_module && !leaves_the_way(w, value, base, reached) &&
        (!is_unlisted(w, base, attr, reached) || is_asked_for(w, value)))
        return 0;
    full = PyUnicode_FromFormat("%U.%U", module_member(base, node_names.dunder_name), attr);
    if (!full)
        return -1;
    own = is_module ? module_name(reached) : node_span(full);
    if (!is_module)
        r = refuse_at(w, line, column, "import", own, policy_hint(w->policy, "import", own), "");
    else if (!policy_module_object_allowed(w->policy, reached, node_span(full)))
        r = policy_report_add(w->report, "import", own, line, column,
                              policy_hint(w->policy, "import", own),
                              "profile `%s` does not allow module `%.*s`, which `%.*s` is",
                              w->policy->profile, SHOWN(own), SHOWN(node_span(full)));
    Py_DECREF(full);
    return r;
}

static int judge_template(struct walk *w, PyObject *node, PyObject *text, bool is_field)
{
    struct span name;

    if (!policy_template_refused(w->policy, node_span(text), is_field, &name))
        return 0;
    return refuse_at(w, node_int(node, node_names.lineno), node_int(node, node_names.col_offset),
                     "format", name, policy_hint(w->policy, "attribute", name),
                     "a format field that reads attribute");
}

static int judge_attribute(struct walk *w, PyObject *node)
{
    PyObject *attr = node_text(node, node_names.attr);
    PyObject *value = node_get(node, node_names.value);
    struct span name = attr ? node_span(attr) : (struct span){"", 0};
    PyObject *text;
    int line, column, r;

    if (!attr)
        return -1;
    attribute_place(node, name, &line, &column);
    if ((policy_attribute_refused(w->policy, name) && !is_soft(w, node, value, name) &&
         !is_written_by_generator(w, value, name)) ||
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
    PyObject *attrs = node_get(node, node_names.kwd_attrs);

    for (Py_ssize_t i = 0; i < node_count(attrs); i++) {
        PyObject *attr = PyList_GET_ITEM(attrs, i);

        if (!PyUnicode_CheckExact(attr))
            return -1;
        if (policy_attribute_refused(w->policy, node_span(attr)) &&
            refuse_attribute(w, node, -1, -1, node_span(attr), "a pattern that reads attribute") <
                0)
            return -1;
    }
    return 0;
}

static int refuse_match_args(struct walk *w, PyObject *value)
{
    return refuse_attribute(w, value, -1, -1, span_of("__match_args__"), "such an assignment to");
}

/* `__match_args__ = ("__globals__",)` reads attributes by position; a dataclass makes it from its
 * fields. */
static int judge_match_args(struct walk *w, PyObject *value)
{
    bool is_list =
        value && (Py_IS_TYPE(value, node_types.Tuple) || Py_IS_TYPE(value, node_types.List));
    PyObject *items = is_list ? node_get(value, node_names.elts) : NULL;

    if (!items)
        return w->policy->flags & POLICY_DUNDER_DENIED ? refuse_match_args(w, value) : 0;
    for (Py_ssize_t i = 0; i < node_count(items); i++) {
        PyObject *text = fold(PyList_GET_ITEM(items, i), 0);
        bool refused = !text || policy_attribute_refused(w->policy, node_span(text));

        Py_XDECREF(text);
        if (refused)
            return refuse_match_args(w, value);
    }
    return 0;
}

static int judge_assign(struct walk *w, PyObject *node)
{
    PyObject *targets = node_get(node, node_names.targets);

    for (Py_ssize_t i = 0; i < node_count(targets); i++)
        if (is_name(PyList_GET_ITEM(targets, i), "__match_args__"))
            return judge_match_args(w, node_get(node, node_names.value));
    return 0;
}

static int judge_annotation(struct walk *w, PyObject *node)
{
    PyObject *target = node_get(node, node_names.target);
    PyObject *id =
        target && Py_IS_TYPE(target, node_types.Name) ? node_text(target, node_names.id) : NULL;

    if (id && policy_attribute_refused(w->policy, node_span(id)))
        return refuse_attribute(w, target, -1, -1, node_span(id), "a field called");
    return 0;
}

/* ---- calls with a name in a string ---- */

static PyObject *argument(PyObject *call, Py_ssize_t index)
{
    PyObject *args = node_get(call, node_names.args);

    return index < node_count(args) ? PyList_GET_ITEM(args, index) : NULL;
}

static int judge_path(struct walk *w, PyObject *node, bool is_template, bool is_field)
{
    PyObject *text = fold(node, 0);
    struct span name;
    int r = 0;

    if (!text && w->is_text && !w->is_generated && node && !is_template)
        return refuse_attribute(w, node, -1, -1, span_of("?"), "reading by a computed name");
    if (!text)
        return 0; /* not known now: the guards look at it when it is used */
    if (is_template)
        r = judge_template(w, node, text, is_field);
    else if (policy_path_refused(w->policy, node_span(text), &name))
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
    PyObject *func = node_get(node, node_names.func);
    bool is_attribute = func && Py_IS_TYPE(func, node_types.Attribute);
    PyObject *called = is_attribute ? node_text(func, node_names.attr)
                       : func && Py_IS_TYPE(func, node_types.Name) ? node_text(func, node_names.id)
                                                                   : NULL;
    struct span name = called ? node_span(called) : (struct span){"", 0};

    if (w->is_annotation && !(name.len && name.data[0] >= 'A' && name.data[0] <= 'Z'))
        return refuse_at(w, node_int(node, node_names.lineno),
                         node_int(node, node_names.col_offset), "annotation", name,
                         span_of("name types only"), "an annotation to call");
    if (!called)
        return 0;
    if (!is_attribute && one_of(name, by_name, COUNT_OF(by_name)) && w->is_generated)
        return refuse_attribute(w, node, -1, -1, name, "generated code that calls");
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
    PyObject *value = node_get(node, node_names.value);
    PyObject *func =
        value && Py_IS_TYPE(value, node_types.Call) ? node_get(value, node_names.func) : NULL;
    PyObject *id =
        func && Py_IS_TYPE(func, node_types.Name) ? node_text(func, node_names.id) : NULL;
    PyObject *key;
    int r = 0;

    if (!id || !one_of(node_span(id), spaces, COUNT_OF(spaces)))
        return 0;
    key = fold(node_get(node, node_names.slice), 0);
    if (key && policy_builtin_refused(w->policy, node_span(key)))
        r = refuse_at(w, node_int(node, node_names.lineno), node_int(node, node_names.col_offset),
                      "builtin", node_span(key), policy_hint(w->policy, "builtin", node_span(key)),
                      "the builtin");
    Py_XDECREF(key);
    return r;
}

void policy_judge_prepare(struct walk *w)
{
    if (w->n_bases > 0)
        qsort(w->bases, w->n_bases, sizeof(*w->bases), compare_addresses);
}

int policy_judge(struct walk *w, PyObject *node)
{
    PyTypeObject *type = Py_TYPE(node);

    if (type == node_types.Name)
        return judge_name(w, node);
    if (type == node_types.Attribute)
        return judge_attribute(w, node);
    if (type == node_types.Call)
        return judge_call(w, node);
    if (type == node_types.Subscript)
        return judge_subscript(w, node);
    if (type == node_types.Import)
        return judge_import(w, node);
    if (type == node_types.ImportFrom)
        return judge_import_from(w, node);
    if (type == node_types.MatchClass)
        return judge_match_class(w, node);
    if (type == node_types.Assign)
        return judge_assign(w, node);
    if (type == node_types.AnnAssign)
        return judge_annotation(w, node);
    return judge_definition(w, node, node_text(node, node_names.name));
}
