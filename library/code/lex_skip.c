/* Past statements of which nothing is wanted, without looking at each of their tokens. */
#include "library/code/lex_internal.h"

/* Bytes at which a run of tokens stops, or which have to be examined. */
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

    while (before > from && lex_is_name_char((unsigned char)lex->text[before - 1]))
        before--;
    if (before < start) {
        struct lex_quote_prefix prefix;

        lex->at = before;
        if (lex_classes[(unsigned char)lex->text[before]] & CLASS_DIGIT ||
            (lex_read_prefix(lex, &prefix) && prefix.flags & LEX_PREFIX_FIELDS))
            return false;
    }
    lex->at = start;
    is_triple = lex_at(lex, start + 1) == (unsigned char)quote &&
                lex_at(lex, start + 2) == (unsigned char)quote;
    lex->at += is_triple ? 3 : 1;
    if (lex_skip_string(lex, quote, is_triple))
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
        if (!lex_close_bracket(lex, c))
            return false;
        break;
    case '!':
        if (lex_at(lex, lex->at + 1) != '=')
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
        unsigned char c = lex_at(lex, lex->at);

        if (lex_classes[c] & CLASS_SPACE)
            lex->at++;
        else if (lex_is_newline(c) && lex->depth)
            lex_next_line(lex);
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
