/* Inside the lexer: lex.c (lines, names, numbers, signs), lex_string.c (strings and their fields),
 * lex_skip.c (statements of which nothing is wanted) and lex_words.c. */
#pragma once

#include "library/code/lex.h"

struct lex_sign {
    char text[4];
    uint8_t len;
    uint8_t op;
};

#define LEX_WORD_MAX 8

enum lex_word lex_word_of(const char *text, uint32_t len);

/* The sign of two or three characters that a text of at least two begins with; NULL: none. */
const struct lex_sign *lex_find_sign(const char *text, size_t left);

/* ---- characters ---- */

enum {
    CLASS_NAME = 1,
    CLASS_DIGIT = 2,
    CLASS_SPACE = 4,
    CLASS_STRING = 8, /* may begin a string: a quote, or a letter of its prefix */
    CLASS_SIGN = 16,  /* a sign of its own, no bracket */
    CLASS_SECOND = 32 /* may be the second character of a longer one */
};

extern const uint8_t lex_classes[256];

static inline unsigned char lex_at(const struct lex *lex, uint32_t i)
{
    return i < lex->len ? (unsigned char)lex->text[i] : '\0';
}

static inline bool lex_is_name_char(unsigned char c)
{
    return lex_classes[c] & (CLASS_NAME | CLASS_DIGIT);
}

static inline bool lex_is_newline(unsigned char c)
{
    return c == '\n' || c == '\r';
}

/* ---- places ---- */

/* Past the line's end at lex->at: LF, CR LF or CR. */
static inline void lex_next_line(struct lex *lex)
{
    if (lex_at(lex, lex->at) == '\r' && lex_at(lex, lex->at + 1) == '\n')
        lex->at++;
    lex->at++;
    lex->line++;
    lex->line_start = lex->at;
}

static inline void lex_begin(const struct lex *lex, struct lex_token *token, enum lex_kind kind)
{
    *token = (struct lex_token){
        .kind = kind, .start = lex->at, .line = lex->line, .col = lex->at - lex->line_start};
}

static inline void lex_finish(const struct lex *lex, struct lex_token *token)
{
    token->end = lex->at;
    token->end_line = lex->line;
}

/* A token without text. */
static inline void lex_mark(const struct lex *lex, struct lex_token *token, enum lex_kind kind)
{
    lex_begin(lex, token, kind);
    lex_finish(lex, token);
}

static inline void lex_bad(struct lex *lex, struct lex_token *token, const char *why)
{
    lex_mark(lex, token, LEX_BAD);
    if (!lex->why)
        lex->why = why;
}

/* ---- brackets ---- */

static inline bool lex_close_bracket(struct lex *lex, char c)
{
    char open = (char)(c == ')' ? '(' : c == ']' ? '[' : '{');

    if (!lex->depth || lex->brackets[lex->depth - 1] != open)
        return false;
    lex->depth--;
    return true;
}

/* ---- strings ---- */

/* The prefix before a quote. */
struct lex_quote_prefix {
    uint8_t flags;
    uint32_t len;
};

bool lex_read_prefix(const struct lex *lex, struct lex_quote_prefix *ret);

/* Behind the opening quote: past the closing one. False: there is none. */
bool lex_skip_string(struct lex *lex, char quote, bool is_triple);

/* At the prefix: the whole string, or its beginning where it has fields. */
void lex_begin_string(struct lex *lex, struct lex_token *token,
                      const struct lex_quote_prefix *prefix);

/* Inside a string with fields, between two of them. False: it is not there. */
bool lex_go_on_with_string(struct lex *lex, struct lex_token *token);

bool lex_is_at_field_level(const struct lex *lex);

/* At its own level a field ends its expression with !, : or }. True: `token` is what comes then. */
bool lex_in_field(struct lex *lex, struct lex_token *token);
