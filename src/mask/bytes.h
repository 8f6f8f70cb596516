/* Kinds of bytes, by ASCII: the locale has no part in it. */
#pragma once

#include <stdbool.h>
#include <string.h>

static inline bool masker_is_alnum(unsigned char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static inline bool masker_is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

static inline bool masker_is_space(unsigned char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static inline bool masker_is_hex(unsigned char c)
{
    return masker_is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

/* Is it a byte of the set? */
static inline bool masker_is_in(const char *set, unsigned char c)
{
    return c && strchr(set, c);
}
