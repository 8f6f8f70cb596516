/* Hexadecimal digits. */
#pragma once

#include <stddef.h>

/* In either case; -1: it is none. */
static inline int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Lower case only, as in hashes and ids. */
static inline int hex_lower_value(char c)
{
    return c >= 'A' && c <= 'F' ? -1 : hex_value(c);
}

/* Writes 2 * len digits and a NUL. */
static inline void hex_write(const void *data, size_t len, char *text)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = data;

    for (size_t i = 0; i < len; i++) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    *text = '\0';
}
