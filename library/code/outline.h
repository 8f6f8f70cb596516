/* Definitions, imports and calls of a Python file, from its tokens: names and places, no source.
 *
 * The oracle is CPython's own `ast`: kind, name, lines, column, parameters and docstrings of every
 * definition, every import and every call are what it says. Lines count from 1, both ends
 * included; columns from 0 in bytes of UTF-8.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tree_language;

/* A piece of the outline's own text, see outline_text(). */
struct piece {
    uint32_t at, len;
};

enum outline_kind { OUTLINE_FUNCTION, OUTLINE_ASYNC, OUTLINE_CLASS };

#define OUTLINE_NOWHERE UINT32_MAX

struct outline_def {
    enum outline_kind kind;
    struct piece name;
    uint32_t line, col, end_line;
    uint32_t parent;         /* the definition around it, or OUTLINE_NOWHERE */
    uint32_t decorator_line; /* of the first; 0: there is none */
    uint32_t first_decorator, n_decorators;
    uint32_t first_param, n_params; /* of a function; of a class its bases */
    struct piece docstring;         /* as it stands in the source, quotes and all, if wished */
    uint32_t branches;              /* if, for, while, try and except in it and what it defines */
    bool has_returns;               /* -> */
    bool has_docstring;
    bool is_summary; /* the docstring is what it says first, cleaned; it may be empty */
    /* Of other languages (tree.h): */
    const char *what;   /* struct, method, ... in words that live for ever */
    struct piece owner; /* namespaces around it, and A of `void A::f() {}` */
};

enum outline_param_kind {
    PARAM_POSITIONAL, /* before a / */
    PARAM_USUAL,
    PARAM_VARIADIC, /* *args */
    PARAM_KEYWORD,  /* after a * */
    PARAM_KEYWORDS, /* **kwargs */
};

struct outline_param {
    struct piece name; /* of a base: its source */
    enum outline_param_kind kind;
    bool has_default, has_annotation;
};

struct outline_import {
    struct piece module; /* "" in `from . import x` */
    struct piece name;   /* "" in `import x`; "*" */
    struct piece alias;  /* or "" */
    uint32_t level;      /* dots */
    uint32_t line, col;  /* of the statement */
    uint32_t within;     /* the definition around it, or OUTLINE_NOWHERE */
    bool is_from, is_in_try, is_for_typing;
};

struct outline_call {
    struct piece callee; /* "a.b.c"; "": something else */
    uint32_t line, col;  /* of the callee's beginning */
    uint32_t within;
    uint32_t n_args, n_keywords;
};

struct outline {
    struct outline_def *defs;
    size_t n_defs, defs_size;
    struct outline_param *params;
    size_t n_params, params_size;
    struct piece *decorators;
    size_t n_decorators, decorators_size;
    struct outline_import *imports;
    size_t n_imports, imports_size;
    struct outline_call *calls;
    size_t n_calls, calls_size;
    char *names;
    size_t n_names, names_size;
    uint32_t lines, code_lines, comment_lines, blank_lines;
    uint32_t branches;
    const char *why; /* it does not tokenize, in words that live for ever; NULL: it does */
    uint32_t why_line;
    bool is_out_of_memory;
    const struct tree_language *language; /* NULL: Python */
    bool has_mistakes;                    /* of other languages: not all of it could be read */
};

enum outline_wish {
    OUTLINE_CALLS = 1,
    OUTLINE_DOCSTRINGS = 2,
    OUTLINE_SUMMARIES = 4, /* of docstrings, where that needs no Python; else as they stand */
};

/* Zeroed by the caller, or emptied. What was read before a mistake in the text is there. */
void outline_read(struct outline *o, const char *text, size_t len, unsigned wishes);
void outline_done(struct outline *o);

/* As if nothing had been read; the room stays. */
void outline_empty(struct outline *o);

/* A copy in one block, for free(); NULL: out of memory. */
struct outline *outline_pack(const struct outline *o);

static inline const char *outline_text(const struct outline *o, struct piece piece)
{
    return piece.len ? o->names + piece.at : "";
}
