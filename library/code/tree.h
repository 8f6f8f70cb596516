/* Languages besides Python, by their grammars for tree-sitter.
 *
 * What is defined, imported and called is found by the shape of the text: there are no scopes and
 * no types, and a text with mistakes is read as far as it makes sense. Nothing here needs the GIL,
 * and any number of threads may read at once. A grammar is other people's code: it gets a text of
 * bounded size, a bounded time, and a stack of its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "library/code/outline.h"

/* A tree takes up to 300 times the room of its text when that is made for it. */
#define TREE_SIZE_MAX (2u << 20)

enum tree_id {
    TREE_JAVASCRIPT,
    TREE_TYPESCRIPT,
    TREE_TSX,
    TREE_C,
    TREE_CPP,
    TREE_GO,
    TREE_RUST,
    TREE_JAVA,
    TREE_BASH,
    TREE_JSON,
    TREE_LANGUAGES,
};

struct tree_language {
    enum tree_id id;
    const char *name;         /* "javascript" */
    const char *title;        /* "JavaScript" */
    const char *endings;      /* of file names: ".js .mjs" */
    const char *interpreters; /* "node deno", or NULL */
    const char *separator;    /* between the parts of a qualname */
    bool has_fields_apart;    /* names of fields are other tokens than those of variables */
};

/* By the name of the file, or by its first line. NULL: none of ours. */
const struct tree_language *tree_language_of(const char *path, const char *text, size_t len);
const struct tree_language *tree_language_called(const char *name);

/* The n-th, or NULL. */
const struct tree_language *tree_language_at(size_t n);

/* Is its grammar in this build? */
bool tree_is_there(const struct tree_language *language);

/* As outline_read(). Where it cannot be read at all, o->why says so. */
void tree_read(struct outline *o, const struct tree_language *language, const char *text,
               size_t len, unsigned wishes);

enum tree_name_kind {
    TREE_NAME,
    TREE_FIELD,     /* of an object, where the language tells them apart */
    TREE_SHORTHAND, /* {x}, which is {x: x} */
    TREE_MACRO,     /* in the text of one */
};

struct tree_name {
    uint32_t start, line;
    enum tree_name_kind kind;
};

struct tree_names {
    struct tree_name *items;
    size_t count, size;
    uint32_t taken_line, taken_field_line; /* where the other name stands already, or 0 */
    bool has_mistakes;                     /* it is not all of this language */
    bool is_out_of_memory;
    const char *why; /* or NULL */
};

/* Finds a name, except in strings and comments, and whether the other one occurs; zeroed by the
 * caller. */
void tree_names_read(struct tree_names *names, const struct tree_language *language,
                     const char *text, size_t len, const char *name, const char *other);
void tree_names_done(struct tree_names *names);
