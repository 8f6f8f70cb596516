/* Names and paths of nodes. */
#include <string.h>

#include "library/code/tree_internal.h"

/* Longer texts are no names: an object pattern as a parameter, a type of many lines as a base. */
#define NAME_MAX_BYTES 200
#define PARTS_MAX      16
#define STEPS_MAX      64

TSNode tree_field(TSNode node, const char *name)
{
    return ts_node_child_by_field_name(node, name, (uint32_t)strlen(name));
}

bool tree_is(TSNode node, const char *type)
{
    return strcmp(ts_node_type(node), type) == 0;
}

static struct piece keep_bytes(struct walk *w, uint32_t start, uint32_t end)
{
    end = end < w->len ? end : w->len;
    start = start < end ? start : end;
    end = end - start > NAME_MAX_BYTES ? start + NAME_MAX_BYTES : end;
    return outline_keep(w->o, w->text + start, end - start);
}

struct piece tree_keep(struct walk *w, TSNode node)
{
    return keep_bytes(w, ts_node_start_byte(node), ts_node_end_byte(node));
}

struct piece tree_keep_string(struct walk *w, TSNode node)
{
    uint32_t start = ts_node_start_byte(node), end = ts_node_end_byte(node);

    if (end <= w->len && end > start + 1 && strchr("\"'`<", w->text[start]) &&
        strchr("\"'`>", w->text[end - 1])) {
        start++;
        end--;
    }
    /* operator bool() const */
    if (tree_is(node, "operator_cast") && end <= w->len) {
        const char *bracket = memchr(w->text + start, '(', end - start);

        end = bracket ? (uint32_t)(bracket - w->text) : end;
    }
    return keep_bytes(w, start, end);
}

/* Of what has no field to follow: *x, (x), &x. */
static TSNode inner_declarator(TSNode node)
{
    static const char *const ends[] = {"declarator", "identifier"};

    for (uint32_t i = ts_node_named_child_count(node); i > 0 && i <= STEPS_MAX; i--) {
        TSNode child = ts_node_named_child(node, i - 1);
        const char *type = ts_node_type(child);
        size_t len = strlen(type);

        for (size_t k = 0; k < 2; k++) {
            size_t n = strlen(ends[k]);

            if (len >= n && strcmp(type + len - n, ends[k]) == 0)
                return child;
        }
    }
    return (TSNode){0};
}

/* Follows it to the next node; null: this is the name. */
static TSNode next_of(TSNode node, TSNode *ret_owner)
{
    static const char *const fields[] = {"declarator", "name", "property", "field"};
    static const char *const owners[] = {"scope", "path", "object", "argument", "operand"};
    const char *type = ts_node_type(node);
    TSNode next = {0}, owner = {0};

    if (ts_node_named_child_count(node) == 0 || strcmp(type, "operator_cast") == 0 ||
        strcmp(type, "computed_property_name") == 0)
        return next;
    for (size_t i = 0; i < 4 && ts_node_is_null(next); i++)
        next = tree_field(node, fields[i]);
    for (size_t i = 0; ret_owner && !ts_node_is_null(next) && i < 5; i++)
        if (!ts_node_is_null(owner = tree_field(node, owners[i])))
            *ret_owner = owner;
    if (ts_node_is_null(next) && strcmp(type, "generic_type") == 0)
        next = tree_field(node, "type");
    if (ts_node_is_null(next) && strlen(type) > 10 &&
        strcmp(type + strlen(type) - 10, "declarator") == 0)
        next = inner_declarator(node);
    return next;
}

TSNode tree_name_of(TSNode node, TSNode *ret_params, TSNode *ret_owner)
{
    for (unsigned i = 0; i < STEPS_MAX && !ts_node_is_null(node); i++) {
        TSNode params = ret_params ? tree_field(node, "parameters") : (TSNode){0};
        TSNode next = next_of(node, ret_owner);

        if (ret_params && !ts_node_is_null(params))
            *ret_params = params;
        if (ts_node_is_null(next))
            return node;
        node = next;
    }
    return node;
}

/* a.b: a, and b. Null: it is no path. */
static TSNode split_path(TSNode node, TSNode *ret_last, bool *ret_is_scope)
{
    static const char *const pairs[][2] = {
        {"object", "property"}, {"argument", "field"}, {"operand", "field"}, {"value", "field"},
        {"scope", "name"},      {"path", "name"},      {"object", "field"},
    };

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        TSNode first = tree_field(node, pairs[i][0]), last = tree_field(node, pairs[i][1]);

        if (ts_node_is_null(first) || ts_node_is_null(last))
            continue;
        *ret_last = last;
        *ret_is_scope = *pairs[i][1] == 'n';
        return first;
    }
    return (TSNode){0};
}

/* f of f<T>. */
static TSNode without_types(TSNode node)
{
    if (tree_is(node, "generic_function"))
        return tree_field(node, "function");
    if (tree_is(node, "template_function") || tree_is(node, "template_method") ||
        tree_is(node, "template_type"))
        return tree_field(node, "name");
    if (tree_is(node, "generic_type"))
        return ts_node_named_child(node, 0);
    return node;
}

struct part {
    TSNode node; /* null: something without a name */
    bool is_scope;
};

static void keep_parts(struct walk *w, struct piece *piece, const struct part *parts, size_t n)
{
    while (n-- > 0) {
        piece->len += ts_node_is_null(parts[n].node) ? outline_keep(w->o, "<expr>", 6).len
                                                     : tree_keep(w, parts[n].node).len;
        if (n > 0)
            piece->len += parts[n - 1].is_scope ? outline_keep(w->o, "::", 2).len
                                                : outline_keep(w->o, ".", 1).len;
    }
}

/* A::B::f of C++ leans to the other side: A, and B::f. */
static size_t split_qualified(TSNode node, struct part *parts, size_t max)
{
    size_t n = 0;

    while (n < max && !ts_node_is_null(node)) {
        TSNode scope = tree_field(node, "scope");

        if (n > 0)
            memmove(parts + 1, parts, n * sizeof(*parts));
        parts[0] = (struct part){.is_scope = true};
        n++;
        if (!tree_is(node, "qualified_identifier")) {
            parts[0].node = without_types(node);
            break;
        }
        if (ts_node_is_null(scope)) /* ::f */
            n--;
        else
            parts[0].node = without_types(scope);
        node = tree_field(node, "name");
    }
    return n;
}

struct piece tree_keep_path(struct walk *w, TSNode node, TSNode object)
{
    struct piece piece = outline_keep(w->o, "", 0);
    struct part parts[PARTS_MAX + 1];
    size_t n = 0;

    if (!ts_node_is_null(object)) {
        parts[n++] = (struct part){.node = node};
        node = object;
    }
    for (; n < PARTS_MAX && !ts_node_is_null(node); n++) {
        TSNode last = {0}, first;

        node = without_types(node);
        if (!ts_node_is_null(node) && tree_is(node, "qualified_identifier")) {
            n += split_qualified(node, parts + n, PARTS_MAX - n);
            break;
        }
        first = ts_node_is_null(node) ? node : split_path(node, &last, &parts[n].is_scope);
        if (ts_node_is_null(first)) {
            bool has_name = !ts_node_is_null(node) &&
                            (ts_node_child_count(node) == 0 || tree_is(node, "command_name"));

            parts[n] = (struct part){.is_scope = false};
            if (has_name)
                parts[n].node = node;
            n++;
            break;
        }
        parts[n].node = without_types(last);
        node = first;
    }
    if (n == 1 && ts_node_is_null(parts[0].node))
        return piece;
    keep_parts(w, &piece, parts, n);
    return piece;
}
