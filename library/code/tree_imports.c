/* Imports, which every language writes in its own way. */
#include <string.h>

#include "library/code/tree_internal.h"

#define USE_DEPTH_MAX 32

struct outline_import *tree_add_import(struct walk *w, TSNode node)
{
    TSPoint start = ts_node_start_point(node);
    struct outline_import *import = ADD(w->o, imports, n_imports);

    if (import)
        *import = (struct outline_import){
            .line = start.row + 1, .col = start.column, .within = tree_within(w)};
    return import;
}

static bool begins_with(const char *text, size_t len, const char *start)
{
    return len >= strlen(start) && memcmp(text, start, strlen(start)) == 0;
}

/* Is it a part of the same project, by what its name says? */
static bool is_local(const struct walk *w, struct piece module)
{
    const char *text = module.len ? outline_text(w->o, module) : "";

    if (w->language->id == TREE_RUST)
        return begins_with(text, module.len, "crate") || begins_with(text, module.len, "self") ||
               begins_with(text, module.len, "super");
    return w->language->id == TREE_BASH || (w->language->id != TREE_JAVA && *text == '.') ||
           *text == '/';
}

/* Pieces first: keeping one may move nothing but the text. */
static void add(struct walk *w, TSNode node, struct piece module, struct piece name,
                struct piece alias)
{
    struct outline_import *import = tree_add_import(w, node);

    if (!import)
        return;
    import->module = module;
    import->name = name;
    import->alias = alias;
    import->is_from = name.len > 0;
    import->level = is_local(w, module);
}

static struct piece keep_if(struct walk *w, TSNode node)
{
    struct piece nothing = {0};

    return ts_node_is_null(node) ? nothing : tree_keep(w, node);
}

/* ---- JavaScript: import a, {b as c} from "m"; import * as d from "m"; export {e} from "m" ---- */

static bool script_name(struct walk *w, TSNode statement, TSNode node, struct piece module)
{
    const char *type = ts_node_type(node);

    if (strcmp(type, "import_specifier") == 0 || strcmp(type, "export_specifier") == 0) {
        struct piece name = keep_if(w, tree_field(node, "name"));

        add(w, statement, module, name, keep_if(w, tree_field(node, "alias")));
    } else if (strcmp(type, "namespace_import") == 0 || strcmp(type, "namespace_export") == 0) {
        struct piece star = outline_keep(w->o, "*", 1);

        add(w, statement, module, star, keep_if(w, ts_node_named_child(node, 0)));
    } else if (strcmp(type, "identifier") == 0) {
        struct piece name = outline_keep(w->o, "default", 7);

        add(w, statement, module, name, tree_keep(w, node));
    } else {
        return false;
    }
    return true;
}

/* The clause, and lists in it. */
static size_t script_names(struct walk *w, TSNode statement, TSNode clause, struct piece module)
{
    TSTreeCursor cursor = ts_tree_cursor_new(clause);
    size_t count = 0;
    uint32_t depth = 1;
    bool is = ts_tree_cursor_goto_first_child(&cursor);

    while (is) {
        TSNode child = ts_tree_cursor_current_node(&cursor);

        if (script_name(w, statement, child, module)) {
            count++;
        } else if (tree_is(child, "named_imports") && ts_tree_cursor_goto_first_child(&cursor)) {
            depth++;
            continue;
        }
        while (!(is = ts_tree_cursor_goto_next_sibling(&cursor)) && depth > 1) {
            (void)ts_tree_cursor_goto_parent(&cursor);
            depth--;
        }
    }
    ts_tree_cursor_delete(&cursor);
    return count;
}

void tree_import_script(struct walk *w, TSNode node)
{
    static const char *const clauses[] = {"import_clause", "export_clause", "namespace_export"};
    TSNode source = tree_field(node, "source");
    struct piece module;
    size_t count = 0;

    for (uint32_t i = 0; i < ts_node_named_child_count(node) && i < 8; i++) {
        TSNode child = ts_node_named_child(node, i);

        if (tree_is(child, "import_require_clause")) { /* import x = require("m") */
            module = tree_keep_string(w, tree_field(child, "source"));
            add(w, node, module, (struct piece){0}, tree_keep(w, ts_node_named_child(child, 0)));
            return;
        }
    }
    if (ts_node_is_null(source)) /* an export of its own */
        return;
    module = tree_keep_string(w, source);
    for (uint32_t i = 0; i < ts_node_named_child_count(node) && i < 8; i++) {
        TSNode child = ts_node_named_child(node, i);

        if (tree_is(child, clauses[2]))
            count += script_name(w, node, child, module);
        else if (tree_is(child, clauses[0]) || tree_is(child, clauses[1]))
            count += script_names(w, node, child, module);
    }
    if (count == 0)
        add(w, node, module,
            tree_is(node, "export_statement") ? outline_keep(w->o, "*", 1) : (struct piece){0},
            (struct piece){0});
}

/* ---- others ---- */

void tree_import_include(struct walk *w, TSNode node)
{
    TSNode path = tree_field(node, "path");
    size_t before = w->o->n_imports;

    if (ts_node_is_null(path))
        return;
    add(w, node, tree_keep_string(w, path), (struct piece){0}, (struct piece){0});
    if (w->o->n_imports > before && tree_is(path, "string_literal"))
        w->o->imports[before].level = 1;
}

void tree_import_go(struct walk *w, TSNode node)
{
    TSNode path = tree_field(node, "path"), name = tree_field(node, "name");
    struct piece module;

    if (ts_node_is_null(path))
        return;
    module = tree_keep_string(w, path);
    if (!ts_node_is_null(name) && tree_is(name, "dot"))
        add(w, node, module, outline_keep(w->o, "*", 1), (struct piece){0});
    else
        add(w, node, module, (struct piece){0}, keep_if(w, name));
}

void tree_import_java(struct walk *w, TSNode node)
{
    TSNode path = ts_node_named_child(node, 0), scope, name;
    uint32_t count = ts_node_named_child_count(node);
    struct piece module;

    if (ts_node_is_null(path))
        return;
    scope = tree_field(path, "scope");
    name = tree_field(path, "name");
    if (tree_is(ts_node_named_child(node, count - 1), "asterisk")) {
        module = tree_keep(w, path);
        add(w, node, module, outline_keep(w->o, "*", 1), (struct piece){0});
    } else if (ts_node_is_null(scope)) {
        add(w, node, tree_keep(w, path), (struct piece){0}, (struct piece){0});
    } else {
        module = tree_keep(w, scope);
        add(w, node, module, keep_if(w, name), (struct piece){0});
    }
}

void tree_import_crate(struct walk *w, TSNode node)
{
    TSNode name = tree_field(node, "name");
    struct piece module;

    if (ts_node_is_null(name))
        return;
    module = tree_keep(w, name);
    add(w, node, module, (struct piece){0}, keep_if(w, tree_field(node, "alias")));
}

/* ---- Rust: use a::b::{c, d as e, f::*} ---- */

/* `prefix`::`path`, or one of them. */
static struct piece join(struct walk *w, struct piece prefix, TSNode path)
{
    struct piece joined;
    char copy[1024];

    if (ts_node_is_null(path))
        return prefix;
    if (prefix.len == 0 || prefix.len > sizeof(copy))
        return tree_keep(w, path);
    /* The text moves when it grows. */
    memcpy(copy, outline_text(w->o, prefix), prefix.len);
    joined = outline_keep(w->o, copy, prefix.len);
    joined.len += outline_keep(w->o, "::", 2).len;
    joined.len += tree_keep(w, path).len;
    return joined;
}

static void rust_leaf(struct walk *w, TSNode statement, TSNode node, struct piece prefix)
{
    TSNode path = node, alias = {0};
    struct piece module, name;

    if (tree_is(node, "use_as_clause")) {
        path = tree_field(node, "path");
        alias = tree_field(node, "alias");
    } else if (tree_is(node, "use_wildcard")) {
        module = join(w, prefix, ts_node_named_child(node, 0));
        add(w, statement, module, outline_keep(w->o, "*", 1), (struct piece){0});
        return;
    }
    if (ts_node_is_null(path))
        return;
    if (tree_is(path, "scoped_identifier")) {
        module = join(w, prefix, tree_field(path, "path"));
        name = keep_if(w, tree_field(path, "name"));
    } else if (prefix.len == 0) {
        module = tree_keep(w, path);
        name = (struct piece){0};
    } else {
        module = prefix;
        name = tree_keep(w, path);
    }
    add(w, statement, module, name, keep_if(w, alias));
}

void tree_import_rust(struct walk *w, TSNode node)
{
    struct piece prefixes[USE_DEPTH_MAX] = {{0}};
    TSTreeCursor cursor = ts_tree_cursor_new(node);
    uint32_t depth = 1, lists = 0;
    uint32_t at[USE_DEPTH_MAX] = {0}; /* the depth at which each prefix begins */
    bool is = ts_tree_cursor_goto_first_child(&cursor);

    while (is) {
        TSNode child = ts_tree_cursor_current_node(&cursor);
        const char *field = ts_tree_cursor_current_field_name(&cursor);
        bool is_path = field && strcmp(field, "path") == 0;
        bool is_scoped = tree_is(child, "scoped_use_list");

        if ((is_scoped || tree_is(child, "use_list")) && lists + 1 < USE_DEPTH_MAX &&
            ts_tree_cursor_goto_first_child(&cursor)) {
            if (is_scoped) {
                struct piece longer = join(w, prefixes[lists], tree_field(child, "path"));

                at[++lists] = depth;
                prefixes[lists] = longer;
            }
            depth++;
            continue;
        }
        if (ts_node_is_named(child) && !is_path && !tree_is(child, "visibility_modifier") &&
            !strstr(ts_node_type(child), "comment"))
            rust_leaf(w, node, child, prefixes[lists]);
        while (!(is = ts_tree_cursor_goto_next_sibling(&cursor)) && depth > 1) {
            (void)ts_tree_cursor_goto_parent(&cursor);
            depth--;
            if (lists > 0 && at[lists] == depth)
                lists--;
        }
    }
    ts_tree_cursor_delete(&cursor);
}

/* ---- calls that import ---- */

static bool is_called(const struct walk *w, const struct outline_call *call, const char *name)
{
    return call->callee.len == strlen(name) &&
           memcmp(outline_text(w->o, call->callee), name, call->callee.len) == 0;
}

void tree_import_call(struct walk *w, TSNode node, const struct outline_call *call)
{
    bool is_script = w->language->id <= TREE_TSX;
    TSNode first;

    if (w->language->id == TREE_BASH && (is_called(w, call, "source") || is_called(w, call, "."))) {
        first = tree_field(node, "argument");
    } else if (is_script && (is_called(w, call, "require") || is_called(w, call, "import"))) {
        first = tree_field(node, "arguments");
        first = ts_node_is_null(first) ? first : ts_node_named_child(first, 0);
        if (ts_node_is_null(first) || !tree_is(first, "string"))
            return;
    } else {
        return;
    }
    if (!ts_node_is_null(first))
        add(w, node, tree_keep_string(w, first), (struct piece){0}, (struct piece){0});
}
