/* Finds a name in a text, by its tokens: no strings, no comments, and no scopes. */
#include <stdlib.h>
#include <string.h>

#include "library/code/tree_internal.h"

struct search {
    struct tree_names *names;
    const struct tree_language *language;
    const char *text, *name, *other;
    uint32_t len;
    size_t name_len, other_len;
};

static void add_name(struct search *s, uint32_t start, uint32_t line, enum tree_name_kind kind)
{
    struct tree_names *n = s->names;

    if (n->count == n->size) {
        size_t size = n->size ? 2 * n->size : 64;
        struct tree_name *grown = reallocarray(n->items, size, sizeof(*grown));

        if (!grown) {
            n->is_out_of_memory = true;
            return;
        }
        n->items = grown;
        n->size = size;
    }
    n->items[n->count++] = (struct tree_name){start, line, kind};
}

static void see_name(struct search *s, uint32_t start, uint32_t end, uint32_t line,
                     enum tree_name_kind kind)
{
    const char *text = s->text + start;
    size_t len = end - start;

    if (len == s->name_len && memcmp(text, s->name, len) == 0) {
        add_name(s, start, line, kind);
    } else if (len == s->other_len && memcmp(text, s->other, len) == 0) {
        uint32_t *where = kind == TREE_FIELD ? &s->names->taken_field_line : &s->names->taken_line;

        if (!*where)
            *where = line;
    }
}

static bool is_word(char c)
{
    return c == '_' || c == '$' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || (c & 0x80);
}

/* The text of a macro of C is no tree: its names are found as the preprocessor finds them. */
static void see_macro(struct search *s, uint32_t at, uint32_t end, uint32_t line)
{
    while (at < end) {
        char c = s->text[at];
        uint32_t start = at++;

        if (c == '\n') {
            line++;
        } else if (c == '"' || c == '\'') {
            while (at < end && s->text[at] != c && s->text[at] != '\n')
                at += s->text[at] == '\\' ? 2 : 1;
            at++;
        } else if (is_word(c)) {
            while (at < end && is_word(s->text[at]))
                at++;
            see_name(s, start, at, line, TREE_MACRO);
        }
    }
}

static bool ends_with(const char *type, const char *end)
{
    size_t n = strlen(type), m = strlen(end);

    return n >= m && strcmp(type + n - m, end) == 0;
}

static void see_leaf(struct search *s, TSNode node, bool is_command)
{
    const char *type = ts_node_type(node);
    uint32_t start = ts_node_start_byte(node), end = ts_node_end_byte(node);
    uint32_t line = ts_node_start_point(node).row + 1;

    if (end > s->len || start >= end)
        return;
    if (strcmp(type, "preproc_arg") == 0)
        see_macro(s, start, end, line);
    else if (strncmp(type, "shorthand_", 10) == 0)
        see_name(s, start, end, line, TREE_SHORTHAND);
    else if (ends_with(type, "property_identifier") || ends_with(type, "field_identifier"))
        see_name(s, start, end, line, TREE_FIELD);
    else if (ends_with(type, "identifier") || strcmp(type, "variable_name") == 0 ||
             (is_command && strcmp(type, "word") == 0))
        see_name(s, start, end, line, TREE_NAME);
}

/* Words of Bash are names where commands and functions have theirs. */
static bool names_command(TSNode node, const char *field)
{
    return tree_is(node, "command_name") || (field && strcmp(field, "name") == 0);
}

static void walk(TSNode root, void *arg)
{
    struct search *s = arg;
    TSTreeCursor cursor = ts_tree_cursor_new(root);
    bool is = true, is_command = false;

    s->names->has_mistakes = ts_node_has_error(root);
    while (is && !s->names->is_out_of_memory) {
        TSNode node = ts_tree_cursor_current_node(&cursor);
        const char *field = ts_tree_cursor_current_field_name(&cursor);
        bool is_text = strstr(ts_node_type(node), "comment");

        is_command = is_command || names_command(node, field);
        if (!is_text && ts_tree_cursor_goto_first_child(&cursor)) {
            is_command = tree_is(node, "command_name");
            continue;
        }
        if (ts_node_is_named(node))
            see_leaf(s, node, is_command);
        is_command = false;
        while (!(is = ts_tree_cursor_goto_next_sibling(&cursor)) &&
               ts_tree_cursor_goto_parent(&cursor))
            ;
    }
    ts_tree_cursor_delete(&cursor);
}

void tree_names_read(struct tree_names *names, const struct tree_language *language,
                     const char *text, size_t len, const char *name, const char *other)
{
    struct search s = {.names = names,
                       .language = language,
                       .text = text,
                       .name = name,
                       .other = other,
                       .len = (uint32_t)len,
                       .name_len = strlen(name),
                       .other_len = strlen(other)};

    names->why = tree_parse(language, text, len, walk, &s);
}

void tree_names_done(struct tree_names *names)
{
    free(names->items);
}
