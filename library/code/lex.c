#include "library/code/lex.h"

#include <string.h>

#include "library/code/lex_internal.h"

#define LETTER (CLASS_NAME | CLASS_STRING)

/* clang-format off */
const uint8_t lex_classes[256] = {
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
/* clang-format on */

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

static uint32_t measure(struct lex *lex)
{
    uint32_t column = 0;

    for (;; lex->at++) {
        unsigned char c = lex_at(lex, lex->at);

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

    lex_begin(lex, token, LEX_COMMENT);
    if (!end)
        end = lex->text + lex->len;
    cr = memchr(from, '\r', (size_t)(end - from));
    lex->at = (uint32_t)((cr ? cr : end) - lex->text);
    lex_finish(lex, token);
}

/* False: as before, or less, and then there are dedents pending. */
static bool indent_to(struct lex *lex, uint32_t column, struct lex_token *token)
{
    if (column > lex->indents[lex->n_indents - 1]) {
        if (lex->n_indents == LEX_INDENT_MAX) {
            lex_bad(lex, token, "too many levels of indentation");
            return true;
        }
        lex->indents[lex->n_indents++] = column;
        lex_mark(lex, token, LEX_INDENT);
        return true;
    }
    while (column < lex->indents[lex->n_indents - 1]) {
        lex->n_indents--;
        lex->pending++;
    }
    if (column != lex->indents[lex->n_indents - 1]) {
        lex_bad(lex, token, "the indentation matches no outer level");
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
        c = lex_at(lex, lex->at);
        if (c == '\\' &&
            lex_is_newline(lex_at(lex, lex->at + 1))) { /* the indentation goes on behind it */
            lex->at++;
            lex_next_line(lex);
            if (!column)
                continue;
            while (lex_classes[lex_at(lex, lex->at)] & CLASS_SPACE)
                lex->at++;
            break;
        }
        if (c == '#') {
            read_comment(lex, token);
            if (lex->at < lex->len)
                lex_next_line(lex);
            return true;
        }
        if (lex->at >= lex->len) {
            column = 0;
            break;
        }
        if (!lex_is_newline(c))
            break;
        lex_next_line(lex);
    }
    lex->is_line_start = false;
    lex->first = lex->at;
    return indent_to(lex, column, token);
}

/* ---- numbers and signs ---- */

static void skip_digits(struct lex *lex, bool is_hex)
{
    for (;; lex->at++) {
        unsigned char c = lex_at(lex, lex->at);

        if (!(lex_classes[c] & CLASS_DIGIT) && c != '_' &&
            !(is_hex && (c | 32) >= 'a' && (c | 32) <= 'f'))
            return;
    }
}

static void read_number(struct lex *lex)
{
    unsigned char base = lex_at(lex, lex->at + 1) | 32;
    uint32_t sign;

    if (lex_at(lex, lex->at) == '0' && (base == 'x' || base == 'o' || base == 'b')) {
        lex->at += 2;
        skip_digits(lex, base == 'x');
        return;
    }
    skip_digits(lex, false);
    if (lex_at(lex, lex->at) == '.') {
        lex->at++;
        skip_digits(lex, false);
    }
    sign = lex_at(lex, lex->at + 1) == '+' || lex_at(lex, lex->at + 1) == '-';
    if ((lex_at(lex, lex->at) | 32) == 'e' &&
        lex_classes[lex_at(lex, lex->at + 1 + sign)] & CLASS_DIGIT) {
        lex->at += 1 + sign;
        skip_digits(lex, false);
    }
    if ((lex_at(lex, lex->at) | 32) == 'j')
        lex->at++;
}

/* Most signs stand alone, and their second character says so at once. */
static const struct lex_sign *find_sign(const struct lex *lex)
{
    const char *text = lex->text + lex->at;
    size_t left = lex->at < lex->len ? lex->len - lex->at : 0;

    if (left < 2 || !(lex_classes[(unsigned char)text[1]] & CLASS_SECOND))
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
        return lex_close_bracket(lex, c) ? NULL : "brackets do not match";
    default:
        return lex_classes[(unsigned char)c] & CLASS_SIGN
                   ? NULL
                   : "a character that Python does not allow";
    }
}

static void read_op(struct lex *lex, struct lex_token *token)
{
    const struct lex_sign *sign = find_sign(lex);
    char c = (char)lex_at(lex, lex->at); /* behind a field's `!` there may be none */
    const char *why;

    lex_begin(lex, token, LEX_OP);
    token->op = sign ? sign->op : (unsigned char)c;
    lex->at += sign ? sign->len : 1;
    why = sign ? NULL : check_sign(lex, c);
    if (why)
        lex_bad(lex, token, why);
    else
        lex_finish(lex, token);
}

/* ---- the next token ---- */

static void end_line(struct lex *lex, struct lex_token *token)
{
    lex_mark(lex, token, LEX_NEWLINE);
    if (lex->at < lex->len)
        lex_next_line(lex);
    lex->is_line_start = true;
    lex->has_tokens = false;
}

/* Blanks, continued lines, and line ends inside brackets. True: `token` is a token. */
static bool skip_blanks(struct lex *lex, struct lex_token *token)
{
    for (;;) {
        unsigned char c = lex_at(lex, lex->at);

        if (lex_classes[c] & CLASS_SPACE) {
            lex->at++;
        } else if (c == '\\') {
            if (!lex_is_newline(lex_at(lex, lex->at + 1))) {
                lex_bad(lex, token, "a backslash in the middle of a line");
                return true;
            }
            lex->at++;
            lex_next_line(lex);
        } else if (lex_is_newline(c) && lex->depth) {
            lex_next_line(lex);
        } else {
            return false;
        }
    }
}

static void end_text(struct lex *lex, struct lex_token *token)
{
    if (lex->depth || lex->n_strings) {
        lex_bad(lex, token, "a bracket is not closed");
    } else if (lex->has_tokens) {
        end_line(lex, token);
    } else if (lex->n_indents > 1) {
        lex->n_indents--;
        lex_mark(lex, token, LEX_DEDENT);
    } else {
        lex_mark(lex, token, LEX_END);
    }
}

static void read_name(struct lex *lex, struct lex_token *token)
{
    uint32_t i = lex->at;

    lex_begin(lex, token, LEX_NAME);
    while (i < lex->len && lex_is_name_char((unsigned char)lex->text[i]))
        i++;
    lex->at = i;
    lex_finish(lex, token);
    if (token->end - token->start <= LEX_WORD_MAX)
        token->word = lex_word_of(lex->text + token->start, token->end - token->start);
}

/* Strings, names, numbers and signs, by the character that was seen first. */
static void read_token(struct lex *lex, unsigned char c, struct lex_token *token)
{
    struct lex_quote_prefix prefix;

    lex->has_tokens = true;
    if (lex_classes[c] & CLASS_STRING && lex_read_prefix(lex, &prefix)) {
        lex_begin_string(lex, token, &prefix);
    } else if (lex_classes[c] & CLASS_NAME) {
        read_name(lex, token);
    } else if ((lex_classes[c] & CLASS_DIGIT) ||
               (c == '.' && lex_classes[lex_at(lex, lex->at + 1)] & CLASS_DIGIT)) {
        lex_begin(lex, token, LEX_NUMBER);
        read_number(lex);
        lex_finish(lex, token);
    } else {
        read_op(lex, token);
    }
}

void lex_next(struct lex *lex, struct lex_token *token)
{
    unsigned char c;

    if (lex->why) {
        lex_bad(lex, token, lex->why);
        return;
    }
    if (lex_go_on_with_string(lex, token) ||
        (lex->is_line_start && !lex->depth && begin_line(lex, token)))
        return;
    if (lex->pending) {
        lex->pending--;
        lex_mark(lex, token, LEX_DEDENT);
        return;
    }
    if (skip_blanks(lex, token))
        return;
    c = lex_at(lex, lex->at);
    if (lex->at >= lex->len)
        end_text(lex, token);
    else if (lex_is_at_field_level(lex) && lex_in_field(lex, token))
        return;
    else if (c == '#')
        read_comment(lex, token);
    else if (lex_is_newline(c))
        end_line(lex, token);
    else
        read_token(lex, c, token);
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
