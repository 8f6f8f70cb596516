/* Definitions and calls, from nodes that a rule says are some. */
#include <string.h>

#include "library/code/tree_internal.h"

uint32_t tree_within(const struct walk *w)
{
    return w->n_open ? w->open[w->n_open - 1].def : OUTLINE_NOWHERE;
}

static uint32_t end_line(TSNode node)
{
    TSPoint end = ts_node_end_point(node);

    /* A node may own the line end that closes it. */
    return end.column == 0 && end.row > ts_node_start_point(node).row ? end.row : end.row + 1;
}

static bool has_field(TSNode node, const char *name)
{
    return !ts_node_is_null(tree_field(node, name));
}

/* ---- parameters ---- */

static void add_param(struct walk *w, TSNode owner, TSNode name)
{
    const char *type = ts_node_type(owner), *own = ts_node_type(name);
    bool is_rest =
        strstr(type, "variadic") || strstr(type, "spread") || strstr(own, "rest_pattern");
    struct outline_param *param;
    struct piece text;

    if (strstr(own, "rest_pattern") && ts_node_named_child_count(name))
        name = ts_node_named_child(name, 0);
    text = tree_keep(w, name);
    param = ADD(w->o, params, n_params);
    if (!param)
        return;
    param->name = text;
    param->kind = is_rest ? PARAM_VARIADIC : PARAM_USUAL;
    param->has_default =
        has_field(owner, "value") || has_field(owner, "right") || has_field(owner, "default_value");
    param->has_annotation = has_field(owner, "type");
}

/* The name a parameter gives; null: it gives none. */
static TSNode param_name(TSNode param)
{
    static const char *const fields[] = {"pattern", "left", "declarator", "name"};
    const char *type = ts_node_type(param);
    TSNode name = {0};

    if (strcmp(type, "self_parameter") == 0)
        return ts_node_named_child(param, ts_node_named_child_count(param) - 1);
    if (strcmp(type, "variadic_parameter") == 0 || ts_node_named_child_count(param) == 0)
        return param;
    for (size_t i = 0; i < 4 && ts_node_is_null(name); i++)
        name = tree_field(param, fields[i]);
    if (strcmp(type, "spread_parameter") == 0)
        name = ts_node_named_child(param, ts_node_named_child_count(param) - 1);
    else if (ts_node_is_null(name) && strstr(type, "pattern"))
        return param;
    if (ts_node_is_null(name) || strstr(ts_node_type(name), "abstract_"))
        return (TSNode){0};
    return strstr(ts_node_type(name), "pattern") ? name : tree_name_of(name, NULL, NULL);
}

static void add_params_of(struct walk *w, TSNode child)
{
    const char *type = ts_node_type(child);
    TSTreeCursor cursor;
    TSNode name;

    if (strstr(type, "comment") || strstr(type, "attribute") || strcmp(type, "primitive_type") == 0)
        return;
    if (!strstr(type, "parameter_declaration") || w->language->id != TREE_GO) {
        name = param_name(child);
        if (!ts_node_is_null(name))
            add_param(w, child, name);
        return;
    }
    /* a, b int */
    cursor = ts_tree_cursor_new(child);
    for (bool is = ts_tree_cursor_goto_first_child(&cursor); is;
         is = ts_tree_cursor_goto_next_sibling(&cursor)) {
        const char *field = ts_tree_cursor_current_field_name(&cursor);

        if (field && strcmp(field, "name") == 0)
            add_param(w, child, ts_tree_cursor_current_node(&cursor));
    }
    ts_tree_cursor_delete(&cursor);
}

static void add_params(struct walk *w, TSNode list, uint32_t def)
{
    TSTreeCursor cursor;
    uint32_t first = (uint32_t)w->o->n_params;

    if (ts_node_is_null(list))
        return;
    cursor = ts_tree_cursor_new(list);
    if (ts_node_named_child_count(list) == 0 && tree_is(list, "identifier"))
        add_param(w, list, list); /* x => x */
    for (bool is = ts_tree_cursor_goto_first_child(&cursor); is;
         is = ts_tree_cursor_goto_next_sibling(&cursor))
        if (ts_node_is_named(ts_tree_cursor_current_node(&cursor)))
            add_params_of(w, ts_tree_cursor_current_node(&cursor));
    ts_tree_cursor_delete(&cursor);
    w->o->defs[def].first_param = first;
    w->o->defs[def].n_params = (uint32_t)w->o->n_params - first;
}

/* ---- bases ---- */

static bool is_among(const char *type, const char *const *types, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

static const char *const heritage[] = {
    "class_heritage",    "extends_clause", "extends_type_clause", "implements_clause",
    "superclass",        "type_list",      "super_interfaces",    "extends_interfaces",
    "base_class_clause", "trait_bounds",
};
static const char *const not_bases[] = {"type_arguments", "access_specifier", "comment", "virtual"};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void add_base(struct walk *w, TSNode node)
{
    struct piece text;
    struct outline_param *base;

    if (!ts_node_is_named(node) || is_among(ts_node_type(node), not_bases, COUNT(not_bases)))
        return;
    text = tree_keep(w, node);
    base = ADD(w->o, params, n_params);
    if (base)
        base->name = text;
}

/* Lists of bases stand in one another; nothing else is entered. */
static void add_bases(struct walk *w, TSNode node, uint32_t def)
{
    TSTreeCursor cursor = ts_tree_cursor_new(node);
    uint32_t first = (uint32_t)w->o->n_params, depth = 1;
    bool is = ts_tree_cursor_goto_first_child(&cursor);

    while (is) {
        TSNode child = ts_tree_cursor_current_node(&cursor);

        if (is_among(ts_node_type(child), heritage, COUNT(heritage))) {
            if (ts_tree_cursor_goto_first_child(&cursor)) {
                depth++;
                continue;
            }
        } else if (depth > 1) {
            add_base(w, child);
        }
        while (!(is = ts_tree_cursor_goto_next_sibling(&cursor)) && depth > 1) {
            (void)ts_tree_cursor_goto_parent(&cursor);
            depth--;
        }
    }
    ts_tree_cursor_delete(&cursor);
    w->o->defs[def].first_param = first;
    w->o->defs[def].n_params = (uint32_t)w->o->n_params - first;
}

/* ---- definitions ---- */

static bool is_async(const struct walk *w, TSNode node)
{
    uint32_t count = ts_node_child_count(node);

    for (uint32_t i = 0; i < count && i < 6; i++) {
        TSNode child = ts_node_child(node, i);
        const char *type = ts_node_type(child);

        if (strcmp(type, "async") == 0)
            return true;
        if (strcmp(type, "function_modifiers") == 0)
            return memmem(w->text + ts_node_start_byte(child),
                          ts_node_end_byte(child) - ts_node_start_byte(child), "async", 5);
    }
    return false;
}

static bool has_returns(TSNode node)
{
    TSNode type = tree_field(node, "type");

    return has_field(node, "return_type") || has_field(node, "result") ||
           (!ts_node_is_null(type) && !tree_is(type, "void_type"));
}

/* The type that func (b *Basket) Total() is a method of. */
static TSNode receiver_of(TSNode node)
{
    TSNode type = tree_field(node, "receiver");

    type = ts_node_is_null(type) ? type : ts_node_named_child(type, 0);
    type = ts_node_is_null(type) ? type : tree_field(type, "type");
    while (!ts_node_is_null(type) &&
           (tree_is(type, "pointer_type") || tree_is(type, "generic_type")))
        type = ts_node_named_child(type, 0);
    return type;
}

static const char *what_of(const struct walk *w, const struct tree_rule *rule, bool has_owner)
{
    const struct open *around = w->n_open ? &w->open[w->n_open - 1] : NULL;

    if (rule->what)
        return rule->what;
    if (rule->role == ROLE_CLASS)
        return "class";
    return has_owner || (around && around->is_type) ? "method" : "function";
}

static void enter(struct walk *w, struct open open)
{
    open.depth = w->depth;
    if (w->n_open < TREE_DEFS_DEEP)
        w->open[w->n_open++] = open;
}

static struct piece append(struct walk *w, struct piece path, struct piece part)
{
    if (!part.len)
        return path;
    /* Copies of what is kept: the text moves when it grows. */
    for (size_t i = 0; path.len && i < strlen(w->language->separator); i++)
        path.len += outline_keep(w->o, w->language->separator + i, 1).len;
    for (uint32_t i = 0; i < part.len; i++) {
        char c = outline_text(w->o, part)[i];

        path.len += outline_keep(w->o, &c, 1).len;
    }
    return path;
}

/* Namespaces between a definition and the one around it, and then what it says it is of. */
static struct piece owner_of(struct walk *w, TSNode owner)
{
    struct piece of = {0}, path;
    TSNode none = {0};
    size_t first = w->n_open;

    if (!ts_node_is_null(owner))
        of = tree_keep_path(w, owner, none);
    while (first > 0 && w->open[first - 1].is_scope)
        first--;
    if (first == w->n_open)
        return of;
    path = outline_keep(w->o, "", 0);
    for (size_t i = first; i < w->n_open; i++)
        path = append(w, path, w->open[i].scope);
    return append(w, path, of);
}

/* `body` is the node of the function or class itself, which may be the value of `node`. */
static void add(struct walk *w, TSNode node, TSNode body, const struct tree_rule *rule, TSNode name,
                TSNode owner)
{
    TSPoint start = ts_node_start_point(node);
    uint32_t def = (uint32_t)w->o->n_defs;
    bool is_class = rule->role == ROLE_CLASS || (rule->role == ROLE_ANONYMOUS && rule->what);
    struct piece text = tree_keep_string(w, name), of = owner_of(w, owner);
    struct outline_def *d = ADD(w->o, defs, n_defs);

    if (!d)
        return;
    *d = (struct outline_def){
        .kind = is_class            ? OUTLINE_CLASS
                : is_async(w, body) ? OUTLINE_ASYNC
                                    : OUTLINE_FUNCTION,
        .name = text,
        .owner = of,
        .line = start.row + 1,
        .col = start.column,
        .end_line = end_line(node),
        .parent = tree_within(w),
        .has_returns = !is_class && has_returns(body),
    };
    d->what = d->kind == OUTLINE_ASYNC ? "async" : what_of(w, rule, !ts_node_is_null(owner));
    enter(w, (struct open){.def = def, .is_type = is_class});
}

/* x = function () {}, and the like. */
static void add_value(struct walk *w, TSNode node, const struct tree_rule *rule)
{
    TSNode value = tree_field(node, rule->more), name = tree_field(node, rule->name);
    const struct tree_rule *of = ts_node_is_null(value) ? NULL : tree_rule_of(w, value);
    uint32_t def = (uint32_t)w->o->n_defs;

    if (!of || ts_node_is_null(name) ||
        !(of->role == ROLE_ANONYMOUS ||
          (of->role == ROLE_CLASS && has_field(value, "body") && !has_field(value, "name"))))
        return;
    add(w, node, value, of, tree_name_of(name, NULL, NULL), (TSNode){0});
    if (w->o->n_defs == def)
        return;
    if (w->o->defs[def].kind == OUTLINE_CLASS)
        add_bases(w, value, def);
    else
        add_params(w,
                   has_field(value, "parameters") ? tree_field(value, "parameters")
                                                  : tree_field(value, "parameter"),
                   def);
}

void tree_add_def(struct walk *w, TSNode node, const struct tree_rule *rule)
{
    TSNode name = tree_field(node, rule->name), params = {0}, owner = {0};
    uint32_t def = (uint32_t)w->o->n_defs;

    if (rule->role == ROLE_VALUE) {
        add_value(w, node, rule);
        return;
    }
    if (ts_node_is_null(name) || (rule->needs && !has_field(node, rule->needs)))
        return;
    if (rule->role != ROLE_SCOPE)
        name = tree_name_of(name, &params, rule->role == ROLE_TYPE ? NULL : &owner);
    /* Macros of C may look like a function, except for the parameters. */
    if (rule->role == ROLE_FUNCTION && !rule->more && w->language->id != TREE_BASH &&
        ts_node_is_null(params) && !tree_is(name, "operator_cast"))
        return;
    if (rule->role == ROLE_SCOPE || rule->role == ROLE_TYPE) {
        enter(w, (struct open){.def = tree_within(w),
                               .scope = tree_keep(w, name),
                               .is_scope = true,
                               .is_type = rule->role == ROLE_TYPE});
        return;
    }
    if (has_field(node, "receiver"))
        owner = receiver_of(node);
    add(w, node, node, rule, name, owner);
    if (w->o->n_defs == def)
        return;
    if (rule->role == ROLE_CLASS)
        add_bases(w, node, def);
    else if (rule->role == ROLE_FUNCTION)
        add_params(w, rule->more ? tree_field(node, rule->more) : params, def);
}

/* ---- calls ---- */

static uint32_t count_args(TSNode node, const struct tree_rule *rule)
{
    TSNode list = rule->more ? tree_field(node, rule->more) : node;
    uint32_t count = 0;
    TSTreeCursor cursor;

    if (ts_node_is_null(list))
        return 0;
    cursor = ts_tree_cursor_new(list);
    for (bool is = ts_tree_cursor_goto_first_child(&cursor); is;
         is = ts_tree_cursor_goto_next_sibling(&cursor)) {
        const char *field = ts_tree_cursor_current_field_name(&cursor);
        TSNode child = ts_tree_cursor_current_node(&cursor);

        count += rule->more ? ts_node_is_named(child) && !strstr(ts_node_type(child), "comment")
                            : field && strcmp(field, "argument") == 0;
    }
    ts_tree_cursor_delete(&cursor);
    return count;
}

void tree_add_call(struct walk *w, TSNode node, const struct tree_rule *rule)
{
    TSNode callee = tree_field(node, rule->name), object = {0};
    struct outline_call *call;
    struct piece path;
    TSPoint start;

    if (ts_node_is_null(callee))
        return;
    if (rule->object)
        object = tree_field(node, rule->object);
    start = ts_node_start_point(ts_node_is_null(object) ? callee : object);
    path = tree_keep_path(w, callee, object);
    call = ADD(w->o, calls, n_calls);
    if (!call)
        return;
    *call = (struct outline_call){
        .callee = path,
        .line = start.row + 1,
        .col = start.column,
        .within = tree_within(w),
        .n_args = count_args(node, rule),
    };
}
