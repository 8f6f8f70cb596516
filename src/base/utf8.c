#include "base/utf8.h"

#include <string.h>

#include "base/cleanup.h"

/* Length by first byte, and the range of the second byte, which is where overlong forms, surrogates
 * and characters that do not exist show themselves (Unicode, table 3-7). */
static int shape(uint8_t first, uint8_t *ret_low, uint8_t *ret_high)
{
    *ret_low = 0x80;
    *ret_high = 0xbf;
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf)
        return 2;
    if (first >= 0xe0 && first <= 0xef) {
        if (first == 0xe0)
            *ret_low = 0xa0;
        if (first == 0xed)
            *ret_high = 0x9f;
        return 3;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        if (first == 0xf0)
            *ret_low = 0x90;
        if (first == 0xf4)
            *ret_high = 0x8f;
        return 4;
    }
    return 0;
}

int utf8_decode(const char *text, size_t len, uint32_t *ret_char)
{
    const uint8_t *bytes = (const uint8_t *)text;
    uint8_t low, high;
    int need = shape(bytes[0], &low, &high);
    uint32_t c;

    if (need == 0)
        return UTF8_INVALID;
    c = need == 1 ? bytes[0] : bytes[0] & (0x7fu >> need);
    for (int i = 1; i < need; i++) {
        if ((size_t)i >= len)
            return UTF8_PARTIAL;
        if (bytes[i] < low || bytes[i] > high)
            return UTF8_INVALID;
        low = 0x80;
        high = 0xbf;
        c = c << 6 | (bytes[i] & 0x3fu);
    }
    if (ret_char)
        *ret_char = c;
    return need;
}

/* Eight bytes of ASCII at once, which most texts are made of. */
static size_t ascii_length(const char *text, size_t len)
{
    size_t at = 0;
    uint64_t word;

    while (len - at >= sizeof(word)) {
        memcpy(&word, text + at, sizeof(word));
        if (word & UINT64_C(0x8080808080808080))
            break;
        at += sizeof(word);
    }
    return at;
}

size_t utf8_valid(const char *text, size_t len)
{
    size_t at = 0;

    while (at < len) {
        int n;

        at += ascii_length(text + at, len - at);
        if (at == len)
            break;
        n = utf8_decode(text + at, len - at, NULL);

        if (n <= 0)
            break;
        at += (size_t)n;
    }
    return at;
}

/* C1 controls work like ESC sequences on some terminals. */
bool utf8_is_harmless(uint32_t c)
{
    return c >= 0x20 && c != 0x7f && !(c >= 0x80 && c < 0xa0) && c != 0x061c && c != 0x200e &&
           c != 0x200f && c != 0x2028 && c != 0x2029 && !(c >= 0x202a && c <= 0x202e) &&
           !(c >= 0x2066 && c <= 0x2069);
}

bool utf8_is_visible(uint32_t c)
{
    /* Default_Ignorable_Code_Point of Unicode 15, and what is drawn as nothing or as a space: other
     * spaces, the blank of Braille, marks of annotations and of music. */
    static const struct {
        uint32_t first, last;
    } invisible[] = {
        {0x00a0, 0x00a0},   {0x00ad, 0x00ad}, {0x034f, 0x034f},   {0x061c, 0x061c},
        {0x115f, 0x1160},   {0x1680, 0x1680}, {0x17b4, 0x17b5},   {0x180b, 0x180f},
        {0x2000, 0x200f},   {0x2028, 0x202f}, {0x205f, 0x206f},   {0x2800, 0x2800},
        {0x3000, 0x3000},   {0x3164, 0x3164}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
        {0xffa0, 0xffa0},   {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
        {0xe0000, 0xe0fff},
    };

    for (size_t i = 0; i < ARRAY_SIZE(invisible); i++)
        if (c >= invisible[i].first && c <= invisible[i].last)
            return false;
    return utf8_is_harmless(c);
}

bool utf8_has_invisible(const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        uint32_t c = 0;
        int n = utf8_decode(text + at, len - at, &c);

        if (n <= 0 || (!utf8_is_visible(c) && c != '\t' && c != '\n'))
            return true;
        at += (size_t)n;
    }
    return false;
}

size_t utf8_cut_at_end(const char *text, size_t len)
{
    for (size_t back = 1; back <= 3 && back <= len; back++)
        if (utf8_decode(text + len - back, back, NULL) == UTF8_PARTIAL)
            return back;
    return 0;
}
