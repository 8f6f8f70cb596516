#include "base/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Names are short; a longer word is not a slip of the finger. */
#define SUGGEST_MAX ((size_t)64)

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t min2(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Distance with insertion, deletion, replacement and swap of neighbours, each one step. Three rows
 * are enough: a swap looks two rows back. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[3][SUGGEST_MAX + 1];

    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *above2 = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t best = above[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1);

            best = min2(best, min2(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                best = min2(best, above2[j - 2] + 1);
            row[j] = best;
        }
    }
    return rows[a_len % 3][b_len];
}

/* A third of the letters may be wrong: `tiemout` finds `timeout`, `ls` does not find `id`. */
static size_t tolerance(size_t word_len, size_t known_len)
{
    size_t longer = word_len > known_len ? word_len : known_len;

    return longer <= 2 ? 1 : longer / 3;
}

#define LETTERS  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define WORD_MIN 4

const char *suggest_by_words(const char *text, const char *const *known, size_t count)
{
    const char *at = text;

    while (*(at += strcspn(at, LETTERS))) {
        size_t len = strspn(at, LETTERS);
        char word[32];

        if (len >= WORD_MIN && len < sizeof(word)) {
            (void)snprintf(word, sizeof(word), "%.*s", (int)len, at);
            for (size_t i = 0; i < count; i++)
                if (known[i] && strcasestr(known[i], word))
                    return known[i];
        }
        at += len;
    }
    return NULL;
}

const char *suggest_nearest(const char *word, const char *const *known, size_t count)
{
    size_t word_len = word ? strnlen(word, SUGGEST_MAX + 1) : 0;
    size_t best = SIZE_MAX;
    const char *nearest = NULL;

    if (word_len == 0 || word_len > SUGGEST_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t len = known[i] ? strnlen(known[i], SUGGEST_MAX + 1) : 0;
        size_t d;

        if (len == 0 || len > SUGGEST_MAX)
            continue;
        d = distance(word, word_len, known[i], len);
        /* Everything differs: `a` is not a slip for `b`. */
        if (d >= word_len || d > tolerance(word_len, len) || d >= best)
            continue;
        best = d;
        nearest = known[i];
    }
    return nearest;
}
