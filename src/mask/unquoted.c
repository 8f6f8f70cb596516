/* Finds the end of an unquoted value. It depends on its place:
 *
 *   kind            where                            ends before
 *   RUN_SCALAR      name: value, a line of its own   a blank
 *   RUN_SETTING     name=value, a line of its own    a blank, `;name=`
 *   RUN_TEXT        in the middle of a line          a blank, `;name=`
 *   RUN_ESCAPED     the same, behind an escape       and \n \r \t \" \'
 *   RUN_LIST        in brackets                      and a bracket or comma that may close it
 *   RUN_IN_STRING   in a string of its line          and the string's quote
 *   RUN_PARAMETER   ?name=value in a URL             a blank, & # " ' ` < >
 *   RUN_ELEMENT     <name>value</name>               a blank, <
 *   RUN_BARE        the line is too long to tell     any of them
 *
 * The end of the line ends all of them. Operators of a shell end none: see shell.c.
 */
#include "mask/internal.h"

/* A pair that follows in the same line begins with a name of so many bytes at most. */
#define PAIR_MAX 40

/* So many signs behind a value are not of it. */
#define TRIM_MAX 3

/* Brackets behind one another are read so far. */
#define BRACKETS_MAX 8

#define ENDS_PAIR   1u
#define ENDS_LIST   2u
#define ENDS_ESCAPE 4u
#define ENDS_QUOTE  8u /* any */

struct bare {
    unsigned ends;
    unsigned char quote; /* of the string around it */
};

static const struct bare kinds[] = {
    [RUN_BARE] = {ENDS_PAIR | ENDS_LIST | ENDS_ESCAPE | ENDS_QUOTE, 0},
    [RUN_SCALAR] = {0, 0},
    [RUN_SETTING] = {ENDS_PAIR, 0},
    [RUN_TEXT] = {ENDS_PAIR, 0},
    [RUN_ESCAPED] = {ENDS_PAIR | ENDS_ESCAPE, 0},
    [RUN_LIST] = {ENDS_PAIR | ENDS_LIST | ENDS_ESCAPE, 0},
    [RUN_IN_STRING] = {ENDS_PAIR | ENDS_ESCAPE, '"'},
    [RUN_IN_STRING + 1] = {ENDS_PAIR | ENDS_ESCAPE, '\''},
    [RUN_IN_STRING + 2] = {ENDS_PAIR | ENDS_ESCAPE, '`'},
    [RUN_IN_STRING + 3] = {ENDS_PAIR | ENDS_ESCAPE | ENDS_LIST, '"'},
    [RUN_IN_STRING + 4] = {ENDS_PAIR | ENDS_ESCAPE | ENDS_LIST, '\''},
    [RUN_IN_STRING + 5] = {ENDS_PAIR | ENDS_ESCAPE | ENDS_LIST, '`'},
    [RUN_PARAMETER] = {ENDS_PAIR | ENDS_ESCAPE | ENDS_QUOTE, 0},
};

static bool is_letter(unsigned char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static bool is_capital(unsigned char c)
{
    return c >= 'A' && c <= 'Z';
}

/* `;name=` or `,name:` begins another pair. A name has two letters at least; the name of two words
 * that a connection string has (`;User Id=`) is written in capitals. READ_MORE: it may be one. */
static enum masker_read begins_pair(const struct masker *s, const struct bare *bare, size_t at)
{
    unsigned char sign = masker_at(s, at++);
    size_t n = 0;
    unsigned char c = 0;

    for (; at + n < s->view.len && n < PAIR_MAX; n++) {
        c = masker_at(s, at + n);
        if (n < 2 ? is_letter(c) : masker_is_alnum(c) || (c && strchr("_-.", c)))
            continue;
        if (n < 2 || c != ' ' || sign != ';' || !is_capital(masker_at(s, at)))
            break;
        if (masker_is_open(s, at + n + 1))
            return READ_MORE;
        if (at + n + 1 >= s->view.len || !is_capital(masker_at(s, at + n + 1)))
            break;
    }
    masker_charge(s, n);
    if (masker_is_open(s, at + n))
        return READ_MORE;
    return n >= 2 && at + n < s->view.len &&
                   (c == '=' || (c == ':' && sign == ',' && bare->ends & ENDS_LIST))
               ? READ_VALUE
               : READ_NONE;
}

/* A comma or bracket that may end what is around the value, by what stands behind it. */
static enum masker_read closes_list(const struct masker *s, size_t at)
{
    bool is_comma = masker_at(s, at) == ',';
    size_t i = at + 1;
    unsigned char next;

    while (i < s->view.len && i - at < BRACKETS_MAX && masker_at(s, i) &&
           strchr(")]}", masker_at(s, i)))
        i++;
    masker_charge(s, i - at);
    if (masker_is_open(s, i))
        return READ_MORE;
    next = i < s->view.len ? masker_at(s, i) : '\n';
    return masker_is_space(next) || (next && strchr(is_comma ? "\"'`" : "\"'`<>,;&|:.[(", next))
               ? READ_VALUE
               : READ_NONE;
}

/* `bare` says which of them count. */
static enum masker_read ends_at_sign(const struct masker *s, const struct bare *bare, size_t at)
{
    unsigned char c = masker_at(s, at), next;

    if (masker_is_open(s, at + 1))
        return READ_MORE;
    if (c == '&' || c == '\\') {
        enum masker_read r = masker_ends_escaped(s, at);

        if (r != READ_NONE)
            return r;
    }
    next = at + 1 < s->view.len ? masker_at(s, at + 1) : '\n';
    if (c == '\\')
        return bare->ends & ENDS_ESCAPE && next && strchr("nrt\"'", next) ? READ_VALUE : READ_NONE;
    if (c == '<')
        return next == '/' ? READ_VALUE : READ_NONE;
    if (bare->ends & ENDS_LIST && strchr(",)]}", c)) {
        enum masker_read r = closes_list(s, at);

        if (r != READ_NONE)
            return r;
    }
    return bare->ends & ENDS_PAIR && strchr(",;&", c) ? begins_pair(s, bare, at) : READ_NONE;
}

/* Classes of bytes. Most have none, and a run is read byte by byte. */
enum { BLANK = 1, QUOTE = 2, PARAMETER = 4, SIGN = 8 };

static const unsigned char classes[256] = {
    [0] = BLANK,    [' '] = BLANK,        ['\t'] = BLANK,    ['\n'] = BLANK,
    ['\r'] = BLANK, ['"'] = QUOTE,        ['\''] = QUOTE,    ['`'] = QUOTE,
    ['>'] = QUOTE,  ['<'] = QUOTE | SIGN, ['#'] = PARAMETER, ['&'] = PARAMETER | SIGN,
    [','] = SIGN,   [';'] = SIGN,         [')'] = SIGN,      [']'] = SIGN,
    ['}'] = SIGN,   ['\\'] = SIGN,
};

enum masker_read masker_ends_bare(const struct masker *s, enum masker_run_kind kind, size_t at)
{
    const struct bare *bare = &kinds[kind];
    unsigned char c = masker_at(s, at), class = classes[c];

    if (!class)
        return READ_NONE;
    if (class & BLANK || (class & QUOTE && (bare->ends & ENDS_QUOTE || c == bare->quote)) ||
        (class & PARAMETER && kind == RUN_PARAMETER))
        return READ_VALUE;
    return class & SIGN ? ends_at_sign(s, bare, at) : READ_NONE;
}

bool masker_is_quote_of(enum masker_run_kind kind, unsigned char quote)
{
    return kind <= RUN_PARAMETER && quote && kinds[kind].quote == quote;
}

size_t masker_trim_bare(const struct masker *s, size_t start, size_t end)
{
    for (size_t n = 0; n < TRIM_MAX && end > start; n++, end--)
        if (!strchr(",;.:)]}>\"'`|&", masker_at(s, end - 1)))
            break;
    return end;
}

enum masker_run_kind masker_bare_kind(const struct masker *s, size_t at, bool begins_line,
                                      bool is_colon)
{
    struct masker_line line = masker_line_at(s, at);

    if (!line.is_known)
        return RUN_BARE;
    if (line.quote) {
        unsigned quote = line.quote == '"' ? 0 : line.quote == '\'' ? 1 : 2;

        return RUN_IN_STRING + quote + (line.inner ? 3 : 0);
    }
    if (line.outer)
        return RUN_LIST;
    if (begins_line)
        return is_colon ? RUN_SCALAR : RUN_SETTING;
    return line.has_escapes ? RUN_ESCAPED : RUN_TEXT;
}
