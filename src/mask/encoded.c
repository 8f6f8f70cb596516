/* Names and values in base64: cGFzc3dvcmQ9... is "password=...".
 *
 * The anchors are what base64 makes of words that name secrets, in each of the three ways in which
 * they can stand to its groups of four. Behind the anchor as much is decoded as name, sign and
 * value need, and the characters that hold the value are masked. */
#include "base/cleanup.h"
#include "mask/internal.h"

/* So much is decoded, and its characters with the ends of lines between them. */
#define DECODED_MAX ((size_t)128)
#define ENCODED_MAX ((size_t)200)

struct decoded {
    unsigned char text[DECODED_MAX];
    size_t at[DECODED_MAX]; /* the character that holds the end of this byte */
    size_t len;
    size_t end;
    bool is_more;
};

/* Decodes from `at` on, without the first bits. */
static void decode(const struct masker *s, size_t at, unsigned skip, struct decoded *d)
{
    unsigned bits = 0, n = 0;
    size_t i = at;

    d->len = 0;
    for (; i < s->view.len && i - at < ENCODED_MAX && d->len < DECODED_MAX; i++) {
        int value = masker_base64_value(masker_at(s, i));

        if (masker_is_in("\r\n", masker_at(s, i)) && i > at &&
            (masker_at(s, i) == '\n' || (i + 1 < s->view.len && masker_at(s, i + 1) == '\n')))
            continue;
        if (value < 0)
            break;
        bits = bits << 6 | (unsigned)value;
        n += 6;
        if (skip) {
            n -= skip;
            bits &= (1u << n) - 1;
            skip = 0;
        }
        if (n >= 8) {
            n -= 8;
            d->text[d->len] = (unsigned char)(bits >> n);
            d->at[d->len++] = i;
            bits &= (1u << n) - 1;
        }
    }
    d->end = i;
    d->is_more = i - at < ENCODED_MAX && d->len < DECODED_MAX && masker_is_open(s, i);
    masker_charge(s, i - at);
}

/* Is it one of the names, of which the first letter may be missing? */
static bool begins_name(const struct decoded *d, bool is_whole)
{
    static const char *const names[] = {"passw", "token", "secret", "api_key", "apikey", "bearer"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *name = names[i] + !is_whole;
        size_t n = strlen(name);

        if (d->len >= n && strncasecmp((const char *)d->text, name, n) == 0)
            return true;
    }
    return false;
}

/* The value behind name and sign. False: there is none. */
static bool find_value(const struct decoded *d, size_t *ret_start, size_t *ret_end)
{
    size_t i = 0, start;
    bool has_sign = false;

    while (i < d->len && (masker_is_alnum(d->text[i]) || masker_is_in("_-", d->text[i])))
        i++;
    for (start = i; i < d->len && i - start < 8 && masker_is_in("\"'\\ :=>\t", d->text[i]); i++)
        has_sign = has_sign || masker_is_in(":=>", d->text[i]) || i > start;
    if (!has_sign && !(i == start + 1 && d->text[start] == ' ')) /* Bearer X */
        return false;
    start = i;
    while (i < d->len && d->text[i] > ' ' && d->text[i] < 0x7f &&
           !masker_is_in("\"'\\&,;<>{}()", d->text[i]))
        i++;
    *ret_start = start;
    *ret_end = i;
    return i > start;
}

static bool looks_secret(const struct decoded *d, size_t start, size_t end)
{
    const char *text = (const char *)d->text + start;
    size_t digits = 0, letters = 0, marks = 0;

    for (size_t i = start; i < end; i++) {
        digits += masker_is_digit(d->text[i]);
        letters += !masker_is_digit(d->text[i]) && masker_is_alnum(d->text[i]);
        marks += masker_is_in("!@#$%^&*+=?~", d->text[i]);
    }
    return end - start >= 6 && ((digits && letters) || (marks && letters)) &&
           !masker_is_placeholder(text, end - start) && !masker_is_technical(text, end - start);
}

/* Masks the characters of [start, end), line by line. */
static void found_lines(struct masker *s, unsigned kind, size_t from, size_t start, size_t end)
{
    for (size_t at = start; at < end;) {
        size_t stop = at;

        while (stop < end && !masker_is_in("\r\n", masker_at(s, stop)))
            stop++;
        masker_found(s, kind, from, at, stop);
        at = stop + 1;
    }
}

void masker_match_encoded(struct masker *s, unsigned kind, size_t from)
{
    static const unsigned skips[] = {0, 4, 6};
    struct decoded d;

    for (size_t i = 0; i < ARRAY_SIZE(skips); i++) {
        size_t start, end;

        decode(s, from, skips[i], &d);
        if (!begins_name(&d, !skips[i]))
            continue;
        if (d.is_more) {
            masker_wait(s, kind, from, from);
            return;
        }
        if (find_value(&d, &start, &end) && looks_secret(&d, start, end))
            found_lines(s, kind, from, start ? d.at[start - 1] : from,
                        end == d.len ? d.end : d.at[end - 1] + 1);
        return;
    }
}
