#include "sandbox/fold.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "sandbox/fold_internal.h"

static bool is_ignored(uint32_t c)
{
    for (size_t i = 0; i < fold_n_ignored && fold_ignored[i].first <= c; i++)
        if (c <= fold_ignored[i].last)
            return true;
    return false;
}

static const char *find(uint32_t c)
{
    size_t low = 0, high = fold_n_rows;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (fold_rows[middle].code == c)
            return fold_rows[middle].text;
        if (fold_rows[middle].code < c)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* One character beyond ASCII. Returns its length in bytes; *ret_out grows by what it became. Bytes
 * that are not UTF-8 stay as they are. */
static size_t fold_wide(const char *text, size_t len, char *out, size_t *ret_out)
{
    uint32_t c;
    int n = utf8_decode(text, len, &c);
    const char *plain;
    size_t add;

    if (n > 0 && is_ignored(c))
        return (size_t)n;
    plain = n > 0 ? find(c) : NULL;
    if (n <= 0)
        n = 1;
    add = plain ? strlen(plain) : (size_t)n;
    if (*ret_out + add <= FOLD_MAX) {
        memcpy(out + *ret_out, plain ? plain : text, add);
        *ret_out += add;
    }
    return (size_t)n;
}

/* A colon begins the name of a stream on NTFS, and dots and spaces at the end do not count there.
 * The first character is never cut off. */
static size_t cut_end(const char *out, size_t len)
{
    const char *colon = len > 1 ? memchr(out + 1, ':', len - 1) : NULL;

    if (colon)
        len = (size_t)(colon - out);
    while (len > 1 && (out[len - 1] == '.' || out[len - 1] == ' '))
        len--;
    return len;
}

size_t fold_name(const char *name, size_t len, char *out)
{
    size_t at = 0, n = 0;

    while (at < len) {
        unsigned char c = (unsigned char)name[at];

        if (c >= 0x80) {
            at += fold_wide(name + at, len - at, out, &n);
            continue;
        }
        if (n < FOLD_MAX)
            out[n++] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
        at++;
    }
    return cut_end(out, n);
}
