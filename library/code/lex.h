/* Python's tokens, straight from the bytes.
 *
 * The text is UTF-8; other bytes above ASCII count as letters. Nothing is copied and nothing
 * allocated: a token is a place in the text. Indentation, brackets and continued lines are followed
 * as CPython's own tokenizer does; strings with fields (f"{x}") are opened up, so that the names in
 * their fields are tokens like all others, in files of every version of Python up to PEP 701.
 *
 * It is a tokenizer: a text that does not tokenize ends with LEX_BAD, one that does is not
 * necessarily Python.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lex_kind {
    LEX_END,
    LEX_BAD,
    LEX_NAME, /* keywords, too: see `word` */
    LEX_NUMBER,
    LEX_STRING,    /* without fields; prefix and quotes included */
    LEX_FIELDS,    /* the beginning of a string with fields, up to the first of them */
    LEX_FIELD,     /* { of a field */
    LEX_FIELD_END, /* } of a field */
    LEX_FIELDS_END,
    LEX_OP, /* see `op` */
    LEX_NEWLINE,
    LEX_INDENT,
    LEX_DEDENT,
    LEX_COMMENT,
};

/* Keywords that mean something to us; `match` and `case` are words that may be names, too. */
enum lex_word {
    WORD_NONE,
    WORD_AND,
    WORD_AS,
    WORD_ASSERT,
    WORD_ASYNC,
    WORD_AWAIT,
    WORD_BREAK,
    WORD_CASE,
    WORD_CLASS,
    WORD_CONTINUE,
    WORD_DEF,
    WORD_DEL,
    WORD_ELIF,
    WORD_ELSE,
    WORD_EXCEPT,
    WORD_FALSE,
    WORD_FINALLY,
    WORD_FOR,
    WORD_FROM,
    WORD_GLOBAL,
    WORD_IF,
    WORD_IMPORT,
    WORD_IN,
    WORD_IS,
    WORD_LAMBDA,
    WORD_MATCH,
    WORD_NONE_VALUE,
    WORD_NONLOCAL,
    WORD_NOT,
    WORD_OR,
    WORD_PASS,
    WORD_RAISE,
    WORD_RETURN,
    WORD_TRUE,
    WORD_TRY,
    WORD_WHILE,
    WORD_WITH,
    WORD_YIELD,
    WORD_COUNT,
};

/* Flags of a string's prefix. */
enum lex_prefix { LEX_PREFIX_BYTES = 1, LEX_PREFIX_RAW = 2, LEX_PREFIX_FIELDS = 4 };

/* `op` is the character of a sign of one; the others: */
enum lex_op {
    OP_ARROW = 128, /* -> */
    OP_ASSIGN,      /* := */
    OP_COMPARE,     /* == != <= >= <> */
    OP_AUGMENT,     /* += and its like */
    OP_ELLIPSIS,
    OP_POWER, /* ** */
    OP_OTHER, /* // << >> */
};

struct lex_token {
    enum lex_kind kind;
    uint8_t op;     /* of LEX_OP */
    uint8_t prefix; /* of strings */
    enum lex_word word;
    uint32_t start, end; /* in the text */
    uint32_t line, col;  /* of the start: from 1, and from 0 in bytes */
    uint32_t end_line;
};

#define LEX_DEPTH_MAX  200
#define LEX_INDENT_MAX 100

struct lex {
    const char *text;
    uint32_t len, at;
    uint32_t line, line_start;
    uint32_t first; /* where the present line's first token begins */
    bool is_line_start;
    int pending; /* dedents still to be told */
    uint32_t indents[LEX_INDENT_MAX];
    unsigned n_indents;
    char brackets[LEX_DEPTH_MAX]; /* ( [ { and f for a field */
    unsigned depth;
    struct {
        char quote;
        bool is_triple, is_raw;
        unsigned depth; /* of brackets around it */
        bool is_in_spec;
    } strings[16];
    unsigned n_strings;
    bool has_tokens; /* of the present line */
    const char *why; /* of LEX_BAD */
};

/* `len` below 4 GB. */
void lex_init(struct lex *lex, const char *text, size_t len);

/* The next token. After LEX_END and LEX_BAD only the same comes. */
void lex_next(struct lex *lex, struct lex_token *token);

/* In the middle of a statement of which nothing more is wanted: past what stands in the present
 * line, and past what spans lines from there. True: there were tokens, on these lines. False: what
 * comes is for lex_next(), as is every comment, string with fields, mistake, and the statement's
 * end. */
bool lex_skip(struct lex *lex, uint32_t *ret_line, uint32_t *ret_end_line);

/* Words that cannot be names. */
bool lex_is_reserved(enum lex_word word);

/* Behind a `match` that begins a line: is it the statement? Its line ends with a colon, and the
 * next one says `case`. */
bool lex_is_match(const struct lex *behind);
