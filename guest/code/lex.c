#include "guest/code/lex.h"

#include <string.h>

#include "guest/code/lex_internal.h"

enum {
    CLASS_NAME = 1,
    CLASS_DIGIT = 2,
    CLASS_SPACE = 4,
    CLASS_STRING = 8, /* may begin a string: a quote, or a letter of its prefix */
    CLASS_SIGN = 16,  /* a sign of its own, no bracket */
    CLASS_SECOND = 32 /* may be the second character of a longer one */
};

#define LETTER (CLASS_NAME | CLASS_STRING)

/* clang-format off */
static const uint8_t classes[256] = {
    [' '] = CLASS_SPACE, ['\t'] = CLASS_SPACE, ['\f'] = CLASS_SPACE,
    ['0' ... '9'] = CLASS_DIGIT, ['_'] = CLASS_NAME, [0x80 ... 0xff] = CLASS_NAME,
    ['a'] = CLASS_NAME, ['c' ... 'e'] = CLASS_NAME, ['g' ... 'q'] = CLASS_NAME, ['s'] = CLASS_NAME, ['v' ... 'z'] = CLASS_NAME,
    ['A'] = CLASS_NAME, ['C' ... 'E'] = CLASS_NAME, ['G' ... 'Q'] = CLASS_NAME, ['S'] = CLASS_NAME, ['V' ... 'Z'] = CLASS_NAME,
    ['b'] = LETTER, ['f'] = LETTER, ['r'] = LETTER, ['t'] = LETTER, ['u'] = LETTER,
    ['B'] = LETTER, ['F'] = LETTER, ['R'] = LETTER, ['T'] = LETTER, ['U'] = LETTER,
    ['"'] = CLASS_STRING, ['\''] = CLASS_STRING,
    ['-'] = CLASS_SIGN, [':'] = CLASS_SIGN, ['+'] = CLASS_SIGN, ['%'] = CLASS_SIGN, ['&'] = CLASS_SIGN, ['|'] = CLASS_SIGN,
    ['^'] = CLASS_SIGN, ['@'] = CLASS_SIGN, [','] = CLASS_SIGN, [';'] = CLASS_SIGN, ['~'] = CLASS_SIGN, ['`'] = CLASS_SIGN,
    ['='] = CLASS_SIGN | CLASS_SECOND, ['<'] = CLASS_SIGN | CLASS_SECOND, ['>'] = CLASS_SIGN | CLASS_SECOND,
    ['*'] = CLASS_SIGN | CLASS_SECOND, ['/'] = CLASS_SIGN | CLASS_SECOND, ['.'] = CLASS_SIGN | CLASS_SECOND,
};

/* What ends a run of characters that mean nothing inside a string. */
static const bool ends_run[256] = {
    ['\\'] = true, ['"'] = true, ['\''] = true, ['\n'] = true, ['\r'] = true, ['{'] = true, ['}'] = true,
};
/* clang-format on */

static inline unsigned char at(const struct lex *lex, uint32_t i)
{
    return i < lex->len ? (unsigned char)lex->text[i] : '\0';
}

static inline bool is_name(unsigned char c)
{
    return classes[c] & (CLASS_NAME | CLASS_DIGIT);
}

static inline bool is_newline(unsigned char c)
{
    return c == '\n' || c == '\r';
}

void lex_init(struct lex *lex, const char *text, size_t len)
{
    memset(lex, 0, sizeof(*lex));
    lex->text = text;
    lex->len = (uint32_t)len;
    lex->line = 1;
    lex->is_line_start = true;
    lex->n_indents = 1; /* the first is 0 */
}

/* ---- lines ---- */

/* Past the line's end at lex->at: LF, CR LF or CR. */
static void next_line(struct lex *lex)
{
    if (at(lex, lex->at) == '\r' && at(lex, lex->at + 1) == '\n')
        lex->at++;
    lex->at++;
    lex->line++;
    lex->line_start = lex->at;
}

static void begin(const struct lex *lex, struct lex_token *token, enum lex_kind kind)
{
    *token = (struct lex_token){
        .kind = kind, .start = lex->at, .line = lex->line, .col = lex->at - lex->line_start};
}

static void finish(const struct lex *lex, struct lex_token *token)
{
    token->end = lex->at;
    token->end_line = lex->line;
}

/* A token without text. */
static void mark(const struct lex *lex, struct lex_token *token, enum lex_kind kind)
{
    begin(lex, token, kind);
    finish(lex, token);
}

static void bad(struct lex *lex, struct lex_token *token, const char *why)
{
    mark(lex, token, LEX_BAD);
    if (!lex->why)
        lex->why = why;
}

static uint32_t measure(struct lex *lex)
{
    uint32_t column = 0;

    for (;; lex->at++) {
        unsigned char c = at(lex, lex->at);

        if (c == ' ')
            column++;
        else if (c == '\t')
            column = (column / 8 + 1) * 8;
        else if (c == '\f')
            column = 0;
        else
            return column;
    }
}

static void read_comment(struct lex *lex, struct lex_token *token)
{
    const char *from = lex->text + lex->at;
    const char *end = memchr(from, '\n', lex->len - lex->at);
    const char *cr;

    begin(lex, token, LEX_COMMENT);
    if (!end)
        end = lex->text + lex->len;
    cr = memchr(from, '\r', (size_t)(end - from));
    lex->at = (uint32_t)((cr ? cr : end) - lex->text);
    finish(lex, token);
}

/* False: as before, or less, and then there are dedents pending. */
static bool indent_to(struct lex *lex, uint32_t column, struct lex_token *token)
{
    if (column > lex->indents[lex->n_indents - 1]) {
        if (lex->n_indents == LEX_INDENT_MAX) {
            bad(lex, token, "too many levels of indentation");
            return true;
        }
        lex->indents[lex->n_indents++] = column;
        mark(lex, token, LEX_INDENT);
        return true;
    }
    while (column < lex->indents[lex->n_indents - 1]) {
        lex->n_indents--;
        lex->pending++;
    }
    if (column != lex->indents[lex->n_indents - 1]) {
        bad(lex, token, "the indentation fits no line above");
        return true;
    }
    return false;
}

/* At the beginning of a line that is not inside brackets. Blank lines are nothing; a comment alone
 * in its line is a token, and changes no indentation. False: there is no token here. */
static bool begin_line(struct lex *lex, struct lex_token *token)
{
    uint32_t column = 0;

    for (;;) {
        unsigned char c;

        column = measure(lex);
        c = at(lex, lex->at);
        if (c == '\\' && is_newline(at(lex, lex->at + 1))) { /* the indentation goes on behind it */
            lex->at++;
            next_line(lex);
            if (!column)
                continue;
            while (classes[at(lex, lex->at)] & CLASS_SPACE)
                lex->at++;
            break;
        }
        if (c == '#') {
            read_comment(lex, token);
            if (lex->at < lex->len)
                next_line(lex);
            return true;
        }
        if (lex->at >= lex->len) {
            column = 0;
            break;
        }
        if (!is_newline(c))
            break;
        next_line(lex);
    }
    lex->is_line_start = false;
    lex->first = lex->at;
    return indent_to(lex, column, token);
}

/* ---- strings ---- */

struct prefix {
    uint8_t flags;
    uint32_t len;
};

/* Letters that stand before a quote. */
static bool read_prefix(const struct lex *lex, struct prefix *ret)
{
    *ret = (struct prefix){0};
    for (uint32_t i = 0; i < 3; i++) {
        switch (at(lex, lex->at + i) | 32) {
        case 'b':
            ret->flags |= LEX_PREFIX_BYTES;
            break;
        case 'r':
            ret->flags |= LEX_PREFIX_RAW;
            break;
        case 'f':
        case 't': /* templates, PEP 750 */
            ret->flags |= LEX_PREFIX_FIELDS;
            break;
        case 'u':
            break;
        default:
            ret->len = i;
            return at(lex, lex->at + i) == '"' || at(lex, lex->at + i) == '\'';
        }
    }
    return false;
}

/* What a backslash hides. */
static void skip_escape(struct lex *lex)
{
    lex->at++;
    if (is_newline(at(lex, lex->at)))
        next_line(lex);
    else if (lex->at < lex->len)
        lex->at++;
}

static bool ends_string(const struct lex *lex, char quote, bool is_triple)
{
    unsigned char q = (unsigned char)quote;

    if (at(lex, lex->at) != q)
        return false;
    return !is_triple || (at(lex, lex->at + 1) == q && at(lex, lex->at + 2) == q);
}

static void skip_run(struct lex *lex)
{
    uint32_t i = lex->at;

    while (i < lex->len && !ends_run[(unsigned char)lex->text[i]])
        i++;
    lex->at = i;
}

static bool skip_string(struct lex *lex, char quote, bool is_triple)
{
    for (skip_run(lex); lex->at < lex->len; skip_run(lex)) {
        unsigned char c = (unsigned char)lex->text[lex->at];

        if (c == '\\') {
            skip_escape(lex);
        } else if (ends_string(lex, quote, is_triple)) {
            lex->at += is_triple ? 3 : 1;
            return true;
        } else if (is_newline(c)) {
            if (!is_triple)
                return false;
            next_line(lex);
        } else {
            lex->at++;
        }
    }
    return false;
}

static void skip_text_escape(struct lex *lex, bool is_raw)
{
    if (!is_raw && at(lex, lex->at + 1) == 'N' && at(lex, lex->at + 2) == '{') {
        while (lex->at < lex->len && lex->text[lex->at] != '}' &&
               !is_newline((unsigned char)lex->text[lex->at]))
            lex->at++;
    } else if (at(lex, lex->at + 1) == '{' || at(lex, lex->at + 1) == '}') {
        lex->at++; /* a backslash does not hide a brace */
    } else {
        skip_escape(lex);
    }
}

/* The text between fields: stops before a field, or behind the end of the string. */
enum text_end { TEXT_FIELD, TEXT_END, TEXT_SPEC_END, TEXT_BAD };

static enum text_end skip_text(struct lex *lex, bool is_spec)
{
    unsigned n = lex->n_strings - 1;
    char quote = lex->strings[n].quote;
    bool is_triple = lex->strings[n].is_triple, is_raw = lex->strings[n].is_raw;

    for (skip_run(lex); lex->at < lex->len; skip_run(lex)) {
        unsigned char c = (unsigned char)lex->text[lex->at];

        if (c == '\\') {
            skip_text_escape(lex, is_raw);
        } else if (ends_string(lex, quote, is_triple)) {
            if (is_spec)
                return TEXT_BAD;
            lex->at += is_triple ? 3 : 1;
            return TEXT_END;
        } else if (c == '{') {
            if (!is_spec && at(lex, lex->at + 1) == '{') {
                lex->at += 2;
                continue;
            }
            return TEXT_FIELD;
        } else if (c == '}') {
            if (is_spec)
                return TEXT_SPEC_END;
            lex->at++; /* }} */
        } else if (is_newline(c)) {
            if (!is_triple)
                return TEXT_BAD;
            next_line(lex);
        } else {
            lex->at++;
        }
    }
    return TEXT_BAD;
}

/* After the text of a string with fields: what comes is its token. */
static void go_on_with_text(struct lex *lex, struct lex_token *token, bool is_spec)
{
    unsigned n = lex->n_strings - 1;

    begin(lex, token, LEX_FIELD);
    switch (skip_text(lex, is_spec)) {
    case TEXT_FIELD:
        begin(lex, token, LEX_FIELD);
        if (lex->depth == LEX_DEPTH_MAX) {
            bad(lex, token, "brackets too deep");
            return;
        }
        lex->brackets[lex->depth++] = 'f';
        lex->at++;
        break;
    case TEXT_SPEC_END:
        begin(lex, token, LEX_FIELD_END);
        lex->at++;
        lex->depth--;
        lex->strings[n].is_in_spec = lex->depth > lex->strings[n].depth;
        break;
    case TEXT_END:
        token->kind = LEX_FIELDS_END;
        lex->n_strings--;
        break;
    default:
        bad(lex, token, "a string has no end");
        return;
    }
    finish(lex, token);
}

static void begin_string(struct lex *lex, struct lex_token *token, const struct prefix *prefix)
{
    char quote;
    bool is_triple;
    uint32_t first;

    begin(lex, token, LEX_STRING);
    token->prefix = prefix->flags;
    lex->at += prefix->len;
    first = lex->at;
    quote = lex->text[first];
    is_triple =
        at(lex, first + 1) == (unsigned char)quote && at(lex, first + 2) == (unsigned char)quote;
    lex->at += is_triple ? 3 : 1;
    if (prefix->flags & LEX_PREFIX_FIELDS) {
        if (lex->n_strings == sizeof(lex->strings) / sizeof(lex->strings[0])) {
            bad(lex, token, "strings too deep");
            return;
        }
        token->kind = LEX_FIELDS;
        lex->strings[lex->n_strings].quote = quote;
        lex->strings[lex->n_strings].is_triple = is_triple;
        lex->strings[lex->n_strings].is_raw = prefix->flags & LEX_PREFIX_RAW;
        lex->strings[lex->n_strings].depth = lex->depth;
        lex->strings[lex->n_strings].is_in_spec = false;
        lex->n_strings++;
    } else if (!skip_string(lex, quote, is_triple)) {
        bad(lex, token, "a string has no end");
        return;
    }
    finish(lex, token);
}

/* ---- numbers and signs ---- */

static void skip_digits(struct lex *lex, bool is_hex)
{
    for (;; lex->at++) {
        unsigned char c = at(lex, lex->at);

        if (!(classes[c] & CLASS_DIGIT) && c != '_' &&
            !(is_hex && (c | 32) >= 'a' && (c | 32) <= 'f'))
            return;
    }
}

static void read_number(struct lex *lex)
{
    unsigned char base = at(lex, lex->at + 1) | 32;
    uint32_t sign;

    if (at(lex, lex->at) == '0' && (base == 'x' || base == 'o' || base == 'b')) {
        lex->at += 2;
        skip_digits(lex, base == 'x');
        return;
    }
    skip_digits(lex, false);
    if (at(lex, lex->at) == '.') {
        lex->at++;
        skip_digits(lex, false);
    }
    sign = at(lex, lex->at + 1) == '+' || at(lex, lex->at + 1) == '-';
    if ((at(lex, lex->at) | 32) == 'e' && classes[at(lex, lex->at + 1 + sign)] & CLASS_DIGIT) {
        lex->at += 1 + sign;
        skip_digits(lex, false);
    }
    if ((at(lex, lex->at) | 32) == 'j')
        lex->at++;
}

static bool close_bracket(struct lex *lex, char c)
{
    char open = (char)(c == ')' ? '(' : c == ']' ? '[' : '{');

    if (!lex->depth || lex->brackets[lex->depth - 1] != open)
        return false;
    lex->depth--;
    return true;
}

/* Most signs stand alone, and their second character says so at once. */
static const struct lex_sign *find_sign(const struct lex *lex)
{
    const char *text = lex->text + lex->at;
    size_t left = lex->at < lex->len ? lex->len - lex->at : 0;

    if (left < 2 || !(classes[(unsigned char)text[1]] & CLASS_SECOND))
        return NULL;
    return lex_find_sign(text, left);
}

/* Brackets are counted as they come. NULL, or why this is none of Python's. */
static const char *check_sign(struct lex *lex, char c)
{
    switch (c) {
    case '(':
    case '[':
    case '{':
        if (lex->depth == LEX_DEPTH_MAX)
            return "brackets too deep";
        lex->brackets[lex->depth++] = c;
        return NULL;
    case ')':
    case ']':
    case '}':
        return close_bracket(lex, c) ? NULL : "brackets do not match";
    default:
        return classes[(unsigned char)c] & CLASS_SIGN ? NULL : "a sign that is none of Python's";
    }
}

static void read_op(struct lex *lex, struct lex_token *token)
{
    const struct lex_sign *sign = find_sign(lex);
    char c = (char)at(lex, lex->at); /* behind a field's `!` there may be none */
    const char *why;

    begin(lex, token, LEX_OP);
    token->op = sign ? sign->op : (unsigned char)c;
    lex->at += sign ? sign->len : 1;
    why = sign ? NULL : check_sign(lex, c);
    if (why)
        bad(lex, token, why);
    else
        finish(lex, token);
}

/* ---- inside a field ---- */

/* At its own level a field ends its expression with !, : or }. True: `token` is what comes then. */
static bool in_field(struct lex *lex, struct lex_token *token)
{
    unsigned n = lex->n_strings - 1;
    unsigned char c = at(lex, lex->at), d = at(lex, lex->at + 1);

    if (c == '}') {
        begin(lex, token, LEX_FIELD_END);
        lex->at++;
        lex->depth--;
        finish(lex, token);
        lex->strings[n].is_in_spec = lex->depth > lex->strings[n].depth;
        return true;
    }
    if (c == '!' && d != '=') {
        lex->at++;
        while (is_name(at(lex, lex->at)) || classes[at(lex, lex->at)] & CLASS_SPACE)
            lex->at++;
        c = at(lex, lex->at);
        if (c == '}')
            return in_field(lex, token);
        if (c != ':') {
            bad(lex, token, "a conversion that does not end");
            return true;
        }
    }
    if (c != ':')
        return false;
    lex->at++;
    lex->strings[n].is_in_spec = true;
    go_on_with_text(lex, token, true);
    return true;
}

static bool is_at_field_level(const struct lex *lex)
{
    return lex->n_strings && lex->depth && lex->brackets[lex->depth - 1] == 'f' &&
           lex->depth > lex->strings[lex->n_strings - 1].depth;
}

/* ---- the next token ---- */

static void end_line(struct lex *lex, struct lex_token *token)
{
    mark(lex, token, LEX_NEWLINE);
    if (lex->at < lex->len)
        next_line(lex);
    lex->is_line_start = true;
    lex->has_tokens = false;
}

/* Blanks, continued lines, and line ends inside brackets. True: `token` is a token. */
static bool skip_blanks(struct lex *lex, struct lex_token *token)
{
    for (;;) {
        unsigned char c = at(lex, lex->at);

        if (classes[c] & CLASS_SPACE) {
            lex->at++;
        } else if (c == '\\') {
            if (!is_newline(at(lex, lex->at + 1))) {
                bad(lex, token, "a backslash in the middle of a line");
                return true;
            }
            lex->at++;
            next_line(lex);
        } else if (is_newline(c) && lex->depth) {
            next_line(lex);
        } else {
            return false;
        }
    }
}

static void end_text(struct lex *lex, struct lex_token *token)
{
    if (lex->depth || lex->n_strings) {
        bad(lex, token, "a bracket is not closed");
    } else if (lex->has_tokens) {
        end_line(lex, token);
    } else if (lex->n_indents > 1) {
        lex->n_indents--;
        mark(lex, token, LEX_DEDENT);
    } else {
        mark(lex, token, LEX_END);
    }
}

static void read_name(struct lex *lex, struct lex_token *token)
{
    uint32_t i = lex->at;

    begin(lex, token, LEX_NAME);
    while (i < lex->len && is_name((unsigned char)lex->text[i]))
        i++;
    lex->at = i;
    finish(lex, token);
    if (token->end - token->start <= LEX_WORD_MAX)
        token->word = lex_word_of(lex->text + token->start, token->end - token->start);
}

/* Strings, names, numbers and signs, by the character that was seen first. */
static void read_token(struct lex *lex, unsigned char c, struct lex_token *token)
{
    struct prefix prefix;

    lex->has_tokens = true;
    if (classes[c] & CLASS_STRING && read_prefix(lex, &prefix)) {
        begin_string(lex, token, &prefix);
    } else if (classes[c] & CLASS_NAME) {
        read_name(lex, token);
    } else if ((classes[c] & CLASS_DIGIT) ||
               (c == '.' && classes[at(lex, lex->at + 1)] & CLASS_DIGIT)) {
        begin(lex, token, LEX_NUMBER);
        read_number(lex);
        finish(lex, token);
    } else {
        read_op(lex, token);
    }
}

/* Inside a string with fields, between two of them. */
static bool go_on_with_string(struct lex *lex, struct lex_token *token)
{
    unsigned n = lex->n_strings;

    if (n && lex->depth == lex->strings[n - 1].depth)
        go_on_with_text(lex, token, false);
    else if (n && lex->strings[n - 1].is_in_spec && lex->brackets[lex->depth - 1] == 'f' &&
             at(lex, lex->at - 1) == '}')
        go_on_with_text(lex, token, true); /* behind a field in the form of another */
    else
        return false;
    return true;
}

void lex_next(struct lex *lex, struct lex_token *token)
{
    unsigned char c;

    if (lex->why) {
        bad(lex, token, lex->why);
        return;
    }
    if (go_on_with_string(lex, token) ||
        (lex->is_line_start && !lex->depth && begin_line(lex, token)))
        return;
    if (lex->pending) {
        lex->pending--;
        mark(lex, token, LEX_DEDENT);
        return;
    }
    if (skip_blanks(lex, token))
        return;
    c = at(lex, lex->at);
    if (lex->at >= lex->len)
        end_text(lex, token);
    else if (is_at_field_level(lex) && in_field(lex, token))
        return;
    else if (c == '#')
        read_comment(lex, token);
    else if (is_newline(c))
        end_line(lex, token);
    else
        read_token(lex, c, token);
}

/* ---- statements of which nothing is wanted ---- */

/* What a run of tokens stops at, or has to be looked at. */
/* clang-format off */
static const bool stops_run[256] = {
    [0 ... 8] = true, ['\n'] = true, [11] = true, ['\r'] = true, [14 ... 31] = true, [127] = true,
    ['"'] = true, ['\''] = true, ['#'] = true, ['\\'] = true, [';'] = true, ['$'] = true, ['?'] = true, ['!'] = true,
    ['('] = true, [')'] = true, ['['] = true, [']'] = true, ['{'] = true, ['}'] = true,
};
/* clang-format on */

/* At a quote: past the string, unless it has fields or it is not plain where its prefix begins;
 * then it is back at that place. */
static bool skip_plain_string(struct lex *lex, uint32_t from)
{
    uint32_t start = lex->at, before = start;
    uint32_t line = lex->line, line_start = lex->line_start;
    char quote = lex->text[start];
    bool is_triple;

    while (before > from && is_name((unsigned char)lex->text[before - 1]))
        before--;
    if (before < start) {
        struct prefix prefix;

        lex->at = before;
        if (classes[(unsigned char)lex->text[before]] & CLASS_DIGIT ||
            (read_prefix(lex, &prefix) && prefix.flags & LEX_PREFIX_FIELDS))
            return false;
    }
    lex->at = start;
    is_triple =
        at(lex, start + 1) == (unsigned char)quote && at(lex, start + 2) == (unsigned char)quote;
    lex->at += is_triple ? 3 : 1;
    if (skip_string(lex, quote, is_triple))
        return true;
    lex->at = before;
    lex->line = line;
    lex->line_start = line_start;
    return false;
}

/* At what stops a run. False: it ends here. */
static bool skip_stop(struct lex *lex, uint32_t from)
{
    char c = lex->text[lex->at];

    switch (c) {
    case '"':
    case '\'':
        return skip_plain_string(lex, from);
    case '(':
    case '[':
    case '{':
        if (lex->depth == LEX_DEPTH_MAX)
            return false;
        lex->brackets[lex->depth++] = c;
        break;
    case ')':
    case ']':
    case '}':
        if (!close_bracket(lex, c))
            return false;
        break;
    case '!':
        if (at(lex, lex->at + 1) != '=')
            return false;
        break;
    case ';':
        if (!lex->depth)
            return false;
        break;
    default:
        return false;
    }
    lex->at++;
    return true;
}

static void skip_to_text(struct lex *lex)
{
    for (;;) {
        unsigned char c = at(lex, lex->at);

        if (classes[c] & CLASS_SPACE)
            lex->at++;
        else if (is_newline(c) && lex->depth)
            next_line(lex);
        else
            return;
    }
}

bool lex_skip(struct lex *lex, uint32_t *ret_line, uint32_t *ret_end_line)
{
    uint32_t from, i;

    skip_to_text(lex);
    from = i = lex->at;
    *ret_line = *ret_end_line = lex->line;
    for (;;) {
        while (i < lex->len && !stops_run[(unsigned char)lex->text[i]])
            i++;
        lex->at = i;
        if (i == lex->len || !skip_stop(lex, from))
            break;
        i = lex->at;
        *ret_end_line = lex->line;
    }
    return lex->at > from;
}

bool lex_is_match(const struct lex *behind)
{
    struct lex lex;
    struct lex_token t = {0}, last = {0};

    /* Behind a `;` it is none; looking further from each of a long line would take for ever. */
    if (behind->at != behind->first + strlen("match"))
        return false;
    lex = *behind;
    do {
        if (t.kind != LEX_COMMENT)
            last = t;
        lex_next(&lex, &t);
    } while (t.kind != LEX_NEWLINE && t.kind != LEX_END && t.kind != LEX_BAD);
    if (last.kind != LEX_OP || last.op != ':')
        return false;
    do
        lex_next(&lex, &t);
    while (t.kind == LEX_COMMENT || t.kind == LEX_INDENT);
    return t.kind == LEX_NAME && t.word == WORD_CASE;
}
