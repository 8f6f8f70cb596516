/* One walk over a tree, from which all entries come. */
#include <stdlib.h>
#include <string.h>

#include "library/code/tree_internal.h"

enum { LINE_CODE = 1, LINE_COMMENT = 2 };

static void mark_lines(struct walk *w, TSNode node, uint8_t mark)
{
    uint32_t start = ts_node_start_point(node).row;
    TSPoint end = ts_node_end_point(node);
    uint32_t last = end.column == 0 && end.row > start ? end.row - 1 : end.row;

    if (ts_node_end_byte(node) == ts_node_start_byte(node))
        return;
    for (uint32_t i = start; i <= last && i < w->n_lines; i++)
        w->lines[i] |= mark;
}

/* False: inside of it there is nothing for us. */
static bool see(struct walk *w, TSNode node)
{
    const struct tree_rule *rule = tree_rule_of(w, node);
    enum tree_role role = rule ? rule->role : 0;

    if (role == ROLE_COMMENT)
        mark_lines(w, node, LINE_COMMENT);
    else if (role == ROLE_TEXT || ts_node_child_count(node) == 0)
        mark_lines(w, node, LINE_CODE);
    if (role == ROLE_BRANCH && tree_within(w) != OUTLINE_NOWHERE)
        w->o->defs[tree_within(w)].branches++;
    else if (role == ROLE_IMPORT)
        rule->import(w, node);
    else if (role == ROLE_CALL)
        tree_add_call(w, node, rule);
    else if (role && role <= ROLE_VALUE)
        tree_add_def(w, node, rule);
    w->o->branches += role == ROLE_BRANCH;
    if (role == ROLE_CALL && w->o->n_calls)
        tree_import_call(w, node, &w->o->calls[w->o->n_calls - 1]);
    /* Entries that were not requested are dropped; they were needed to find imports. */
    if (!(w->wishes & OUTLINE_CALLS))
        w->o->n_calls = 0;
    return role != ROLE_COMMENT;
}

/* The walk has left, or leaves, everything at this depth. */
static void close_to(struct walk *w, uint32_t depth)
{
    while (w->n_open && w->open[w->n_open - 1].depth >= depth) {
        const struct open *left = &w->open[--w->n_open];
        uint32_t around = tree_within(w);

        if (!left->is_scope && around != OUTLINE_NOWHERE)
            w->o->defs[around].branches += w->o->defs[left->def].branches;
    }
}

static void walk(TSNode root, void *arg)
{
    struct walk *w = arg;
    TSTreeCursor cursor = ts_tree_cursor_new(root);
    bool is = true;

    w->o->has_mistakes = ts_node_has_error(root);
    while (is && !w->o->is_out_of_memory) {
        TSNode node = ts_tree_cursor_current_node(&cursor);

        close_to(w, w->depth);
        if (see(w, node) && ts_tree_cursor_goto_first_child(&cursor)) {
            w->depth++;
            continue;
        }
        while (!(is = ts_tree_cursor_goto_next_sibling(&cursor)) &&
               ts_tree_cursor_goto_parent(&cursor))
            w->depth--;
    }
    close_to(w, 0);
    ts_tree_cursor_delete(&cursor);
}

/* Lines end as editors say: LF, CR LF, CR. */
static uint32_t count_lines(const char *text, size_t len)
{
    uint32_t count = 0;

    for (size_t i = 0; i < len; i++)
        count += text[i] == '\n' || (text[i] == '\r' && (i + 1 == len || text[i + 1] != '\n'));
    return count + (len > 0 && text[len - 1] != '\n' && text[len - 1] != '\r');
}

static void count_kinds(struct walk *w)
{
    for (uint32_t i = 0; i < w->o->lines; i++) {
        uint8_t marks = i < w->n_lines ? w->lines[i] : 0;

        w->o->code_lines += marks & LINE_CODE;
        w->o->comment_lines += marks == LINE_COMMENT;
        w->o->blank_lines += marks == 0;
    }
}

void tree_read(struct outline *o, const struct tree_language *language, const char *text,
               size_t len, unsigned wishes)
{
    struct walk w = {
        .language = language, .o = o, .text = text, .len = (uint32_t)len, .wishes = wishes};

    w.rules = tree_rules_of(language, &w.n_rules);
    o->language = language;
    o->lines = len <= TREE_SIZE_MAX ? count_lines(text, len) : 0;
    w.n_lines = o->lines + 1;
    w.lines = calloc(w.n_lines, 1);
    if (!w.lines || !w.rules) {
        o->is_out_of_memory = true;
    } else {
        o->why = tree_parse(language, text, len, walk, &w);
        count_kinds(&w);
    }
    free(w.lines);
}
