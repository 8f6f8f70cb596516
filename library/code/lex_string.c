/* Strings, and the fields of those that have some: names in f"{x}" are tokens like all others. */
#include "library/code/lex_internal.h"

/* clang-format off */
/* Bytes that end a run of ordinary characters inside a string. */
static const bool ends_run[256] = {
    ['\\'] = true, ['"'] = true, ['\''] = true, ['\n'] = true, ['\r'] = true, ['{'] = true, ['}'] = true,
};
/* clang-format on */

/* Letters that stand before a quote. */
bool lex_read_prefix(const struct lex *lex, struct lex_quote_prefix *ret)
{
    *ret = (struct lex_quote_prefix){0};
    for (uint32_t i = 0; i < 3; i++) {
        switch (lex_at(lex, lex->at + i) | 32) {
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
            return lex_at(lex, lex->at + i) == '"' || lex_at(lex, lex->at + i) == '\'';
        }
    }
    return false;
}

/* Skips the character after a backslash. */
static void skip_escape(struct lex *lex)
{
    lex->at++;
    if (lex_is_newline(lex_at(lex, lex->at)))
        lex_next_line(lex);
    else if (lex->at < lex->len)
        lex->at++;
}

static bool ends_string(const struct lex *lex, char quote, bool is_triple)
{
    unsigned char q = (unsigned char)quote;

    if (lex_at(lex, lex->at) != q)
        return false;
    return !is_triple || (lex_at(lex, lex->at + 1) == q && lex_at(lex, lex->at + 2) == q);
}

static void skip_run(struct lex *lex)
{
    uint32_t i = lex->at;

    while (i < lex->len && !ends_run[(unsigned char)lex->text[i]])
        i++;
    lex->at = i;
}

bool lex_skip_string(struct lex *lex, char quote, bool is_triple)
{
    for (skip_run(lex); lex->at < lex->len; skip_run(lex)) {
        unsigned char c = (unsigned char)lex->text[lex->at];

        if (c == '\\') {
            skip_escape(lex);
        } else if (ends_string(lex, quote, is_triple)) {
            lex->at += is_triple ? 3 : 1;
            return true;
        } else if (lex_is_newline(c)) {
            if (!is_triple)
                return false;
            lex_next_line(lex);
        } else {
            lex->at++;
        }
    }
    return false;
}

static void skip_text_escape(struct lex *lex, bool is_raw)
{
    if (!is_raw && lex_at(lex, lex->at + 1) == 'N' && lex_at(lex, lex->at + 2) == '{') {
        while (lex->at < lex->len && lex->text[lex->at] != '}' &&
               !lex_is_newline((unsigned char)lex->text[lex->at]))
            lex->at++;
    } else if (lex_at(lex, lex->at + 1) == '{' || lex_at(lex, lex->at + 1) == '}') {
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
            if (!is_spec && lex_at(lex, lex->at + 1) == '{') {
                lex->at += 2;
                continue;
            }
            return TEXT_FIELD;
        } else if (c == '}') {
            if (is_spec)
                return TEXT_SPEC_END;
            lex->at++; /* }} */
        } else if (lex_is_newline(c)) {
            if (!is_triple)
                return TEXT_BAD;
            lex_next_line(lex);
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

    lex_begin(lex, token, LEX_FIELD);
    switch (skip_text(lex, is_spec)) {
    case TEXT_FIELD:
        lex_begin(lex, token, LEX_FIELD);
        if (lex->depth == LEX_DEPTH_MAX) {
            lex_bad(lex, token, "brackets too deep");
            return;
        }
        lex->brackets[lex->depth++] = 'f';
        lex->at++;
        break;
    case TEXT_SPEC_END:
        lex_begin(lex, token, LEX_FIELD_END);
        lex->at++;
        lex->depth--;
        lex->strings[n].is_in_spec = lex->depth > lex->strings[n].depth;
        break;
    case TEXT_END:
        token->kind = LEX_FIELDS_END;
        lex->n_strings--;
        break;
    default:
        lex_bad(lex, token, "a string has no end");
        return;
    }
    lex_finish(lex, token);
}

void lex_begin_string(struct lex *lex, struct lex_token *token,
                      const struct lex_quote_prefix *prefix)
{
    char quote;
    bool is_triple;
    uint32_t first;

    lex_begin(lex, token, LEX_STRING);
    token->prefix = prefix->flags;
    lex->at += prefix->len;
    first = lex->at;
    quote = lex->text[first];
    is_triple = lex_at(lex, first + 1) == (unsigned char)quote &&
                lex_at(lex, first + 2) == (unsigned char)quote;
    lex->at += is_triple ? 3 : 1;
    if (prefix->flags & LEX_PREFIX_FIELDS) {
        if (lex->n_strings == sizeof(lex->strings) / sizeof(lex->strings[0])) {
            lex_bad(lex, token, "strings too deep");
            return;
        }
        token->kind = LEX_FIELDS;
        lex->strings[lex->n_strings].quote = quote;
        lex->strings[lex->n_strings].is_triple = is_triple;
        lex->strings[lex->n_strings].is_raw = prefix->flags & LEX_PREFIX_RAW;
        lex->strings[lex->n_strings].depth = lex->depth;
        lex->strings[lex->n_strings].is_in_spec = false;
        lex->n_strings++;
    } else if (!lex_skip_string(lex, quote, is_triple)) {
        lex_bad(lex, token, "a string has no end");
        return;
    }
    lex_finish(lex, token);
}

/* ---- fields ---- */

bool lex_in_field(struct lex *lex, struct lex_token *token)
{
    unsigned n = lex->n_strings - 1;
    unsigned char c = lex_at(lex, lex->at), d = lex_at(lex, lex->at + 1);

    if (c == '}') {
        lex_begin(lex, token, LEX_FIELD_END);
        lex->at++;
        lex->depth--;
        lex_finish(lex, token);
        lex->strings[n].is_in_spec = lex->depth > lex->strings[n].depth;
        return true;
    }
    if (c == '!' && d != '=') {
        lex->at++;
        while (lex_is_name_char(lex_at(lex, lex->at)) ||
               lex_classes[lex_at(lex, lex->at)] & CLASS_SPACE)
            lex->at++;
        c = lex_at(lex, lex->at);
        if (c == '}')
            return lex_in_field(lex, token);
        if (c != ':') {
            lex_bad(lex, token, "a conversion that does not end");
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

bool lex_is_at_field_level(const struct lex *lex)
{
    return lex->n_strings && lex->depth && lex->brackets[lex->depth - 1] == 'f' &&
           lex->depth > lex->strings[lex->n_strings - 1].depth;
}

bool lex_go_on_with_string(struct lex *lex, struct lex_token *token)
{
    unsigned n = lex->n_strings;

    if (n && lex->depth == lex->strings[n - 1].depth)
        go_on_with_text(lex, token, false);
    else if (n && lex->strings[n - 1].is_in_spec && lex->brackets[lex->depth - 1] == 'f' &&
             lex_at(lex, lex->at - 1) == '}')
        go_on_with_text(lex, token, true); /* behind a field in the form of another */
    else
        return false;
    return true;
}
