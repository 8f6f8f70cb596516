/* About how many tokens a model reads in a text, without any vocabulary.
 *
 * Tokenizers cut text into words, numbers of three digits, marks and white space, and long or rare
 * words into several pieces. The figures below were chosen so that the count is rather too high
 * than too low for source code, prose, tables, JSON and noise (o200k_base).
 */
#include <string.h>

#include "base/utf8.h"
#include "mcp/internal.h"

/* Fractions of a token: all counts are in these. */
#define UNIT ((size_t)12)

enum kind { KIND_LOWER, KIND_UPPER, KIND_DIGIT, KIND_SPACE, KIND_MARK, KIND_BREAK, KIND_OTHER };

static enum kind kind_of(unsigned char c)
{
    if (c >= 'a' && c <= 'z')
        return KIND_LOWER;
    if (c >= 'A' && c <= 'Z')
        return KIND_UPPER;
    if (c >= '0' && c <= '9')
        return KIND_DIGIT;
    if (c == ' ' || c == '\t')
        return KIND_SPACE;
    if (c == '\n' || c == '\r')
        return KIND_BREAK;
    return c < 0x20 || c >= 0x7f ? KIND_OTHER : KIND_MARK;
}

/* A character beyond ASCII, or a control character, which JSON writes as six. */
static size_t cost_of_other(unsigned char c)
{
    if (c < 0x80)
        return 4 * UNIT;
    if ((c & 0xc0) == 0x80) /* inside of a character */
        return 0;
    return c < 0xe0 ? UNIT : c < 0xf0 ? UNIT * 3 / 2 : 3 * UNIT;
}

/* A run of one kind. A space in front of a word belongs to the word. */
static size_t cost_of_run(enum kind kind, size_t n, bool is_before_word)
{
    switch (kind) {
    case KIND_LOWER:
        return n <= 7 ? UNIT : n <= 13 ? UNIT * 3 / 2 : n * UNIT / 2;
    case KIND_UPPER:
        return n <= 2 ? UNIT * 3 / 4 : n <= 8 ? (n + 2) * UNIT / 3 : n * UNIT * 3 / 5;
    case KIND_DIGIT:
        return (n + 2) / 3 * UNIT;
    case KIND_SPACE:
        return (n == 1 && is_before_word ? 0 : UNIT) + n / 16 * UNIT;
    case KIND_MARK:
        return n <= 4 ? UNIT + (n - 1) * UNIT / 2 : n * UNIT * 3 / 4;
    case KIND_BREAK:
        return n * UNIT;
    default:
        return 0;
    }
}

size_t mcp_tokens_fit(const char *text, size_t len, size_t budget, size_t *ret_tokens)
{
    size_t at = 0, spent = 0, room = budget < SIZE_MAX / UNIT ? budget * UNIT : SIZE_MAX;

    while (at < len) {
        enum kind kind = kind_of((unsigned char)text[at]);
        size_t n = 1, cost;

        if (kind == KIND_OTHER) {
            cost = cost_of_other((unsigned char)text[at]);
        } else {
            /* A run is looked at in pieces, so that one long one can be cut. */
            while (n < 60 && at + n < len && kind_of((unsigned char)text[at + n]) == kind)
                n++;
            cost = cost_of_run(kind, n,
                               at + n < len && kind_of((unsigned char)text[at + n]) <= KIND_UPPER);
        }
        if (spent + cost > room)
            break;
        spent += cost;
        at += n;
    }
    while (at < len && at && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--;
    if (ret_tokens)
        *ret_tokens = (spent + UNIT - 1) / UNIT;
    return at;
}

size_t mcp_tokens(const char *text, size_t len, size_t most)
{
    size_t tokens;

    return mcp_tokens_fit(text, len, most, &tokens) < len ? most + 1 : tokens;
}
