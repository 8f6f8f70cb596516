/* Inside the reader of trees: rules, and the walk that follows them. */
#pragma once

#include <tree_sitter/api.h>

#include "library/code/outline_internal.h"
#include "library/code/tree.h"

struct walk;

enum tree_role {
    ROLE_FUNCTION = 1, /* `name` is the field of its name, `more` of its parameters */
    ROLE_CLASS,
    ROLE_SCOPE,     /* a namespace: in qualnames, but no entry of its own */
    ROLE_TYPE,      /* the same of a type: what it has are methods */
    ROLE_VALUE,     /* gives the `name` to its field `more`, if that is one of the next */
    ROLE_ANONYMOUS, /* a function, or with `what` a class, without a name */
    ROLE_IMPORT,
    ROLE_CALL, /* `name` is the field of the callee, `more` of the arguments */
    ROLE_BRANCH,
    ROLE_COMMENT,
    ROLE_TEXT, /* not all of it has nodes */
};

struct tree_rule {
    const char *type; /* of the node */
    enum tree_role role;
    const char *name, *more;
    const char *what;   /* the entry's `kind`; NULL: function, method or class */
    const char *needs;  /* a field without which it is none: a body */
    const char *object; /* of a call: the field of what it is a method of */
    void (*import)(struct walk *w, TSNode node);
};

/* The description of one language; the last rule has no type. */
struct tree_grammar {
    const TSLanguage *(*language)(void);
    const struct tree_rule *rules;
};

/* By the place of the language in its own table. */
extern const struct tree_grammar tree_grammars[];

/* Rules by the symbols of nodes, made once. NULL: out of memory. */
const struct tree_rule *const *tree_rules_of(const struct tree_language *language,
                                             uint32_t *ret_count);

/* A definition, or a namespace, that the walk is in. */
struct open {
    uint32_t def, depth; /* def: that of a namespace is the one around it */
    struct piece scope;  /* of a namespace, or of a type from elsewhere */
    bool is_scope, is_type;
};

/* Definitions deeper in one another than that are all of the same one. */
#define TREE_DEFS_DEEP 64

struct walk {
    const struct tree_language *language;
    const struct tree_rule *const *rules;
    uint32_t n_rules;
    struct outline *o;
    const char *text;
    uint32_t len;
    unsigned wishes;
    struct open open[TREE_DEFS_DEEP];
    size_t n_open;
    uint32_t depth;
    uint8_t *lines; /* what stands in each */
    uint32_t n_lines;
};

/* NULL: nothing of interest, as mistakes in the text. */
static inline const struct tree_rule *tree_rule_of(const struct walk *w, TSNode node)
{
    TSSymbol symbol = ts_node_symbol(node);

    return symbol < w->n_rules ? w->rules[symbol] : NULL;
}

/* ---- tree.c ---- */

/* Parses on a stack of its own, calls `use` there, and frees. Words that live for ever, or NULL. */
const char *tree_parse(const struct tree_language *language, const char *text, size_t len,
                       void (*use)(TSNode root, void *arg), void *arg);

/* ---- tree_text.c ---- */

TSNode tree_field(TSNode node, const char *name);
bool tree_is(TSNode node, const char *type);
struct piece tree_keep(struct walk *w, TSNode node);

/* Without its quotes. */
struct piece tree_keep_string(struct walk *w, TSNode node);

/* The innermost name of a declarator or a path. Parameters and an owner (A of A::f) on the way are
 * noted, if requested. */
TSNode tree_name_of(TSNode node, TSNode *ret_params, TSNode *ret_owner);

/* "a.b.c" of the callee, with <expr> for what has no name; `object` may be null. */
struct piece tree_keep_path(struct walk *w, TSNode node, TSNode object);

/* ---- tree_entries.c ---- */

uint32_t tree_within(const struct walk *w);
struct outline_import *tree_add_import(struct walk *w, TSNode node);
void tree_add_def(struct walk *w, TSNode node, const struct tree_rule *rule);
void tree_add_call(struct walk *w, TSNode node, const struct tree_rule *rule);

/* ---- tree_imports.c ---- */

void tree_import_script(struct walk *w, TSNode node); /* JavaScript and TypeScript */
void tree_import_include(struct walk *w, TSNode node);
void tree_import_go(struct walk *w, TSNode node);
void tree_import_rust(struct walk *w, TSNode node);
void tree_import_crate(struct walk *w, TSNode node);
void tree_import_java(struct walk *w, TSNode node);

/* require("x") and `source x` are calls that import. */
void tree_import_call(struct walk *w, TSNode node, const struct outline_call *call);
