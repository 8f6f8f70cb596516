/* Inside the reader of names: where in an expression it is. */
#pragma once

#include "library/code/lex.h"
#include "library/code/names.h"

#define NAMES_FRAMES_MAX  (2 * LEX_DEPTH_MAX + 2)
#define NAMES_LAMBDAS_MAX 64
#define NAMES_TARGETS_MAX 1024

enum frame_kind {
    FRAME_STATEMENT,
    FRAME_GROUP,
    FRAME_LIST,
    FRAME_BRACE,
    FRAME_CALL,
    FRAME_SUBSCRIPT,
    FRAME_PARAMS,
    FRAME_TYPE_PARAMS,
    FRAME_STRING, /* with fields */
    FRAME_FIELD,
};

enum name_state { AT_NOTHING, AT_PRIMARY, AT_DOT };

struct names_frame {
    enum frame_kind kind;
    enum name_state state;
    uint32_t last;   /* event of the primary's last name, or NAMES_NOWHERE */
    uint32_t callee; /* of a call, likewise */
    uint32_t scope;  /* around it */
    uint32_t first_event, first_scope;
    uint32_t comprehension; /* its scope, or NAMES_NOWHERE */
    bool may_be_target;     /* names here may turn out to be assigned */
    bool is_annotation;
    bool ends_annotation; /* with the first comma: Annotated[x, "no type"] */
    bool is_for_target, is_first_iter;
    bool is_as_target;
    bool is_item_start; /* of an argument or a parameter */
    bool is_first_name; /* the token before was a name, and began one */
};

struct names_lambda {
    unsigned depth;
    uint32_t scope, outer;
    bool is_body, is_item_start;
};

struct names_block {
    uint32_t scope; /* to go back to */
    bool is_match;
};

struct names_reader {
    struct names *n;
    struct lex lex;
    struct lex_token t;
    uint32_t scope;

    struct names_frame frames[NAMES_FRAMES_MAX];
    unsigned depth;
    unsigned fields; /* around us */
    struct names_lambda lambdas[NAMES_LAMBDAS_MAX];
    unsigned n_lambdas;
    uint32_t targets[NAMES_TARGETS_MAX]; /* events that may turn out to be assigned */
    unsigned n_targets;

    bool is_start; /* of a statement */
    enum lex_word head;
    uint32_t first_event; /* of the statement */
    uint32_t annotated;
    bool is_for_target, is_pattern, is_export, has_late;
    bool starts_with_name;
    bool awaits_params; /* behind the name of a function or class */
    bool is_colon;      /* the present token is the statement's own colon */
    bool was_colon;     /* so was the one before */
    bool has_typing;    /* something of `typing` is imported */
    uint32_t opens;     /* scope of the body that the colon opens */
    bool opens_match;
    bool is_inline;        /* the body stands in the same line */
    uint32_t inline_scope; /* to go back to then */
    struct names_block blocks[LEX_INDENT_MAX + 1];
    unsigned n_blocks;
};

/* ---- names_list.c ---- */

/* Room for another one, zeroed; NULL: out of memory, which is noted. */
void *names_add(struct names *n, void **list, size_t *count, size_t *size, size_t item);
uint32_t names_word(struct names *n, uint32_t start, uint32_t len);
uint32_t names_add_scope(struct names *n, enum names_scope_kind kind, uint32_t parent,
                         uint32_t line);

/* ---- names_expr.c ---- */

/* The present token, as a part of an expression. */
void names_track(struct names_reader *r);
uint32_t names_note(struct names_reader *r, enum names_kind kind, uint32_t start, uint32_t len);
uint32_t names_note_token(struct names_reader *r, enum names_kind kind);
void names_push(struct names_reader *r, enum frame_kind kind);
void names_settle_targets(struct names_reader *r, enum names_kind kind, bool is_late);
void names_type_text(struct names_reader *r, uint32_t start, uint32_t len);

static inline struct names_frame *names_top(struct names_reader *r)
{
    return &r->frames[r->depth];
}
