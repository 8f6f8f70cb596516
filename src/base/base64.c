#include "base/base64.h"

#include <stdint.h>

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
    }
    if (out->data)
        out->data[out->len] = '\0';
    return 0;
}
