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

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
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
    size_t before = out->len, padding = 0;

    if (len % 4)
        return error_set(err, E_INVALID, "base64 of %zu characters, expected a multiple of four",
                         len);
    if (buf_reserve(out, len / 4 * 3 + 1, err) < 0)
        return -1;
    if (len)
        padding = text[len - 1] != '=' ? 0 : text[len - 2] != '=' ? 1 : 2;
    for (size_t i = 0; i < len; i += 4)
        if (add_group(out, text + i, i + 4 == len ? padding : 0) < 0) {
            out->len = before;
            out->data[before] = '\0';
            return error_set(err, E_INVALID, "character %zu or a later one is not base64", i + 1);
        }
    out->data[out->len] = '\0';
    return 0;
}
