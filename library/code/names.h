/* Scopes and all names in them, from the tokens of a Python file.
 *
 * The oracles are CPython's own `symtable` for scopes and what they bind, and pyflakes for imports
 * that nothing uses. A text that is not Python gives names up to the first invalid token.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMES_NOWHERE UINT32_MAX

enum names_kind {
    NAMES_USE,
    NAMES_STORE,
    NAMES_AUGMENT,  /* x += 1: both */
    NAMES_ANNOTATE, /* x: int, and no value */
    NAMES_DEF,
    NAMES_CLASS,
    NAMES_PARAM,
    NAMES_IMPORT, /* a of `import a.b` */
    NAMES_FROM,   /* `from m import x` */
    NAMES_ALIAS,  /* y of `import x as y`, `from m import x as y` */
    NAMES_DEL,
    NAMES_GLOBAL,
    NAMES_NONLOCAL,
    NAMES_TYPE_USE, /* in an annotation that is a string */
    /* No names of a scope: */
    NAMES_ORIGIN,  /* x of `from m import x as y` */
    NAMES_MODULE,  /* every other part of a module's path */
    NAMES_KEYWORD, /* f(x=1) */
    NAMES_ATTRIBUTE,
    NAMES_EXPORT, /* in __all__ */
    NAMES_KIND_COUNT,
};

enum names_scope_kind {
    SCOPE_MODULE,
    SCOPE_FUNCTION,
    SCOPE_CLASS,
    SCOPE_LAMBDA,
    SCOPE_COMPREHENSION,
};

struct names_event {
    uint32_t start, len, line;
    uint32_t name;  /* number of the text; see names.words */
    uint32_t scope; /* that it stands in */
    uint32_t about; /* of an attribute, the name before it; of a keyword, what is called (events);
                     * of imports, the import; or NAMES_NOWHERE */
    uint32_t order; /* in which Python gets to it */
    uint8_t kind;   /* enum names_kind */
    bool is_in_fields, is_fixed, is_late;
};

struct names_scope {
    enum names_scope_kind kind;
    uint32_t parent;
    uint32_t event; /* of its definition, or NAMES_NOWHERE */
    uint32_t line;
    uint32_t unit_depth; /* functions around it, itself included; UINT32_MAX: not known yet */
};

struct names_import {
    uint32_t module, module_len; /* in the text */
    uint32_t name;               /* event of x in `from m import x`; NAMES_NOWHERE: `import m` */
    uint32_t binding;            /* event of the name it gives, or NAMES_NOWHERE for * */
    uint32_t level, line;
    bool is_same; /* import x as x: meant for others */
};

struct names_word {
    uint32_t start, len;
};

/* A scope's knowledge of a name. */
struct names_entry {
    uint32_t scope, name;
    bool is_bound, is_global, is_nonlocal, is_seen;
    /* For unused imports: */
    bool is_there, is_used, is_annotation;
    uint32_t import; /* or NAMES_NOWHERE */
};

struct names {
    const char *text;
    struct names_event *events;
    size_t n_events, events_size;
    struct names_scope *scopes;
    size_t n_scopes, scopes_size;
    struct names_import *imports;
    size_t n_imports, imports_size;
    struct names_word *words;
    size_t n_words, words_size;
    uint32_t *word_slots, word_mask;
    struct names_entry *entries; /* a hash table, made by names_resolve() */
    uint32_t entry_mask;
    uint32_t order; /* the next one */
    const char *why;
    uint32_t why_line;
    bool is_out_of_memory;
};

/* Zeroed by the caller; `text` must live as long. */
void names_read(struct names *n, const char *text, size_t len);

/* After names_read(), before the questions below. */
void names_resolve(struct names *n);

/* The scope whose name this is, seen from `scope`; NAMES_NOWHERE: a builtin, or nobody's. */
uint32_t names_owner(const struct names *n, uint32_t scope, uint32_t name);
const struct names_entry *names_entry(const struct names *n, uint32_t scope, uint32_t name);

/* The number of a text, or NAMES_NOWHERE when the file has no such name. */
uint32_t names_find(const struct names *n, const char *word, size_t len);

/* Numbers of the imports that nothing uses, in order; the caller has room for n_imports. */
size_t names_unused(struct names *n, uint32_t *ret_imports);

/* The names `old` that are to be renamed. */
enum names_renamed {
    NAMES_RENAME_PLAIN,  /* all but those of classes */
    NAMES_RENAME_ALL,    /* those of classes, too */
    NAMES_RENAME_MODULE, /* those of the module alone */
};

/* The line of a name that would mean something else if `old` were called `fresh`; 0: none. */
uint32_t names_conflict(const struct names *n, uint32_t old, uint32_t fresh,
                        enum names_renamed which);

void names_done(struct names *n);

static inline bool names_is_binding(uint8_t kind)
{
    return (kind >= NAMES_STORE && kind <= NAMES_ALIAS) || kind == NAMES_DEL;
}

static inline bool names_is_name(uint8_t kind)
{
    return kind <= NAMES_TYPE_USE;
}
