#include "base/base64.h"

#include <stdint.h>
#include <string.h>

#include "base/fiber.h"

/* Written between two looks at the clock, in a fiber. */
#define PAUSE_BYTES ((size_t)256 << 10)

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int base64_add(struct buf *out, const void *data, size_t len, struct error *err)
{
    const uint8_t *in = data;

    if (buf_reserve(out, (len + 2) / 3 * 4, err) < 0)
        return -1;
    for (; len; in += 3) {
        size_t n = len < 3 ? len : 3;
        uint32_t bits =
            (uint32_t)in[0] << 16 | (n > 1 ? (uint32_t)in[1] << 8 : 0) | (n > 2 ? in[2] : 0);
        char *to = out->data + out->len;

        to[0] = alphabet[bits >> 18];
        to[1] = alphabet[bits >> 12 & 63];
        to[2] = (char)(n > 1 ? alphabet[bits >> 6 & 63] : '=');
        to[3] = (char)(n > 2 ? alphabet[bits & 63] : '=');
        out->len += 4;
        len -= n;
        if (out->len % PAUSE_BYTES == 0)
            fiber_pause();
    }
    if (out->data)
        out->data[out->len] = '\0';
    return 0;
}

#define BAD 0xff /* more than any value: both upper bits are set */

/* The value of each character. A table, since uploads of megabytes are decoded. */
static const uint8_t *values(void)
{
    static uint8_t table[256];

    if (!table[0]) {
        memset(table, BAD, sizeof(table));
        for (uint8_t i = 0; i < 64; i++)
            table[(uint8_t)alphabet[i]] = i;
    }
    return table;
}

static int value_of(char c)
{
    uint8_t value = values()[(uint8_t)c];

    return value == BAD ? -1 : value;
}

/* Whole groups, up to the first that is not one. Returns how many characters were read. */
static size_t add_groups(struct buf *out, const char *text, size_t len)
{
    const uint8_t *table = values(), *in = (const uint8_t *)text;
    uint8_t *to = (uint8_t *)out->data + out->len;
    size_t at = 0;

    for (; at < len; at += 4, to += 3) {
        uint8_t a = table[in[at]], b = table[in[at + 1]], c = table[in[at + 2]],
                d = table[in[at + 3]];

        if ((a | b | c | d) & 0xc0)
            break;
        to[0] = (uint8_t)(a << 2 | b >> 4);
        to[1] = (uint8_t)(b << 4 | c >> 2);
        to[2] = (uint8_t)(c << 6 | d);
    }
    out->len += at / 4 * 3;
    return at;
}

/* Four characters, of which the last `padding` are no more than that. */
static int add_group(struct buf *out, const char *text, size_t padding)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < 4; i++) {
        int value = i < 4 - padding ? value_of(text[i]) : 0;

        if (value < 0)
            return -1;
        bits = bits << 6 | (uint32_t)value;
    }
    /* Bits that no byte has must be zero: else two texts would be the same bytes. */
    if (bits & (padding == 2 ? 0xffffu : padding == 1 ? 0xffu : 0))
        return -1;
    for (size_t i = 0; i < 3 - padding; i++)
        out->data[out->len++] = (char)(bits >> (16 - 8 * i) & 0xff);
    return 0;
}

int base64_decode(struct buf *out, const char *text, size_t len, struct error *err)
{
    size_t before = out->len, padding = 0, at = 0;

    if (len % 4)
        return error_set(err, E_INVALID, "base64 of %zu characters, expected a multiple of four",
                         len);
    if (buf_reserve(out, len / 4 * 3 + 1, err) < 0)
        return -1;
    if (len)
        padding = text[len - 1] != '=' ? 0 : text[len - 2] != '=' ? 1 : 2;
    while (at + 4 < len) {
        size_t want = len - 4 - at < PAUSE_BYTES ? len - 4 - at : PAUSE_BYTES;
        size_t n = add_groups(out, text + at, want);

        at += n;
        fiber_pause();
        if (n < want)
            break;
    }
    if (len && (at + 4 < len || add_group(out, text + at, padding) < 0)) {
        out->len = before;
        out->data[before] = '\0';
        return error_set(err, E_INVALID, "character %zu or a later one is not base64", at + 1);
    }
    out->data[out->len] = '\0';
    return 0;
}
