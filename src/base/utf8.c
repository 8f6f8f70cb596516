#include "base/utf8.h"

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

size_t utf8_valid(const char *text, size_t len)
{
    size_t at = 0;

    while (at < len) {
        int n = utf8_decode(text + at, len - at, NULL);

        if (n <= 0)
            break;
        at += (size_t)n;
    }
    return at;
}
