/* Inside the outline: the reader of tokens, and what it knows of the expression it is in. */
#pragma once

#include <string.h>

#include "library/code/lex.h"
#include "library/code/outline.h"

/* Strings with fields count twice: the string, and its field. */
#define FRAMES_MAX (2 * LEX_DEPTH_MAX + 2)

enum state { STATE_NONE, STATE_PRIMARY, STATE_DOT };

/* An expression at one level of brackets. */
struct frame {
    enum state state;
    bool is_dotted;      /* the primary is a.b.c, from start to end */
    uint32_t start, end; /* of its names */
    uint32_t line, col;  /* of the primary's beginning */
    unsigned pieces;     /* what else stands at this level */
    unsigned lambdas;    /* whose colon has not come */
    bool is_target;      /* between `for` and `in`: commas are its own */
    bool is_call;        /* of its arguments: */
    bool has_begun;      /* the present one */
    bool is_keyword;     /* NAME= or ** */
    unsigned names;      /* tokens of it so far */
    uint32_t call;       /* in the outline, or OUTLINE_NOWHERE */
    uint32_t args, keywords;
};

enum block_kind { BLOCK_OTHER, BLOCK_DEF, BLOCK_TRY, BLOCK_TYPING, BLOCK_MATCH };

struct block {
    enum block_kind kind;
    uint32_t def; /* of BLOCK_DEF */
};

struct reader {
    struct outline *o;
    struct lex lex;
    struct lex_token t;
    unsigned wishes;
    bool was_string; /* the token before, at the same level */

    struct frame frames[FRAMES_MAX];
    unsigned depth;
    bool is_pattern; /* of `case`: what looks like a call is none */

    bool is_start;      /* of a statement */
    enum lex_word head; /* the statement's first word, when it opens a block */
    struct block opens; /* the block that its colon opens */
    bool is_inline;     /* its body stands in the same line */
    struct block blocks[LEX_INDENT_MAX + 1];
    unsigned n_blocks;
    uint32_t within;

    uint32_t last_line; /* of the last token that counts */
    uint32_t code_to;   /* lines up to this one are counted as code */
    uint32_t first_decorator, decorator_line;
};

/* ---- outline_list.c ---- */

/* Room for another item; NULL: out of memory, which is noted. */
void *outline_grow(struct outline *o, void *list, size_t count, size_t *size, size_t item);

/* The place for another one, zeroed; NULL: there is none. */
#define ADD(o, list, count)                                                                        \
    ({                                                                                             \
        __typeof__((o)->list) grown_ =                                                             \
            outline_grow(o, (o)->list, (o)->count, &(o)->list##_size, sizeof(*(o)->list));         \
        __typeof__((o)->list) place_ = NULL;                                                       \
        if (grown_) {                                                                              \
            (o)->list = grown_;                                                                    \
            place_ = &grown_[(o)->count++];                                                        \
            memset(place_, 0, sizeof(*place_));                                                    \
        }                                                                                          \
        place_;                                                                                    \
    })

struct piece outline_keep(struct outline *o, const char *text, size_t len);

/* A dotted name may have blanks, comments and line ends between its parts, and (a).b is a.b. */
struct piece outline_keep_dotted(struct outline *o, const char *text, size_t len);

/* ---- outline_calls.c ---- */

/* The present token is a part of the expression. */
void outline_track(struct reader *r);

static inline struct frame *outline_top(struct reader *r)
{
    return &r->frames[r->depth];
}
