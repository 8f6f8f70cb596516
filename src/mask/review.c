/* Decides what may be hidden from a person who decides: self-proving tokens, and nothing that could
 * be code. Doubtful bytes are shown. */
#include "mask/internal.h"

/* A prefix of this many fixed bytes identifies a token. */
#define PREFIX_MIN 4

/* Of a private key so much is looked at, with so many other lines before its first. A line has so
 * many characters at least, except for the last. */
#define KEY_MAX    ((size_t)16384)
#define BEFORE_MAX 6
#define LINE_MIN   40
#define LINE_MAX   4096

static size_t prefix_length(const char *pattern)
{
    size_t n = 0;

    for (; *pattern && !strchr("[({?", *pattern); pattern++) {
        if (*pattern == '\\' && pattern[1])
            pattern++;
        n++;
    }
    return n;
}

bool masker_is_certain(unsigned kind)
{
    const struct masker_kind *k = &masker_kinds[kind];

    switch (k->matcher) {
    case MASKER_PEM:
    case MASKER_AWS:
        return true;
    case MASKER_TOKEN:
        break;
    default:
        return false;
    }
    if (k->context)
        return false;
    if (k->check == MASKER_CRC32 || k->check == MASKER_BECH32 || k->check == MASKER_JWT ||
        k->check == MASKER_SNOWFLAKE)
        return true;
    return k->flags & (MASKER_INSIDE | MASKER_EXACT) || prefix_length(k->pattern) >= PREFIX_MIN;
}

/* A plain word behind a known prefix is not a token: `glpat-run-everything-at-once`. */
bool masker_is_proven(unsigned kind, const char *text, size_t len)
{
    enum masker_check check = masker_kinds[kind].check;

    switch (check) {
    case MASKER_CRC32:
    case MASKER_BECH32:
        return masker_has_checksum(check, text, len);
    case MASKER_JWT:
    case MASKER_SNOWFLAKE:
        return true; /* masker_check() asks for its structure */
    default:
        return (masker_is_mixed(text, len) || masker_kinds[kind].matcher == MASKER_AWS) &&
               masker_entropy(text, len) > 3.0;
    }
}

bool masker_may_hide(unsigned char c)
{
    return masker_is_alnum(c) || (c && strchr("_+/=.-", c));
}

static bool is_base64(const char *text, size_t len)
{
    size_t n = len;

    while (n && len - n < 2 && text[n - 1] == '=')
        n--;
    for (size_t i = 0; i < n; i++)
        if (!masker_is_alnum((unsigned char)text[i]) && text[i] != '+' && text[i] != '/')
            return false;
    return n > 0;
}

/* The last line of a key: short, but no word and no path. */
static bool is_last_line(const char *text, size_t len)
{
    size_t upper = 0, other = 0;

    if (len % 4 || !is_base64(text, len))
        return false;
    for (size_t i = 0; i < len; i++) {
        upper += text[i] >= 'A' && text[i] <= 'Z';
        other += masker_is_digit((unsigned char)text[i]) || text[i] == '=';
    }
    return upper && (other || len < 12);
}

static bool is_full_line(const struct masker *s, size_t start, size_t len, size_t width)
{
    const char *text = masker_view(s, start);

    if (len < LINE_MIN || len > LINE_MAX || (width && len > width) || !is_base64(text, len))
        return false;
    masker_charge(s, 3 * len);
    return masker_looks_random(text, len);
}

void masker_review_pem(struct masker *s, unsigned kind, size_t from, size_t at)
{
    size_t width = 0, before = 0;

    if (from < s->tried[kind])
        return; /* in lines that were read for another */
    while (at - from < KEY_MAX) {
        size_t next, start = at, end = masker_segment_end(s, at, &next), len;

        if (masker_is_open(s, end)) {
            masker_wait(s, kind, from, start);
            return;
        }
        while (start < end && strchr(" \t\"'+,-", masker_at(s, start)))
            start++;
        while (end > start && strchr(" \t\r\"'+,", masker_at(s, end - 1)))
            end--;
        len = end - start;
        s->tried[kind] = at;
        if (is_full_line(s, start, len, width)) {
            masker_found(s, kind, from, start, end);
            width = len;
        } else if (width) {
            if (len && len < width && is_last_line(masker_view(s, start), len))
                masker_found(s, kind, from, start, end);
            return;
        } else if (++before > BEFORE_MAX) {
            return;
        }
        if (masker_is_open(s, next))
            masker_wait(s, kind, from, next);
        if (next >= s->view.len)
            return;
        at = next;
    }
}
