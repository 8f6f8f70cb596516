/* Put before the sources of grammars, some of which ask for the class of any character there is:
 * the C library's tables end at 255. Every other character is of no class. */
#pragma once

#include <ctype.h>
#include <wctype.h>

static inline int tree_is_digit(unsigned c)
{
    return c - '0' < 10;
}

static inline int tree_is_alpha(unsigned c)
{
    return (c | 0x20) - 'a' < 26;
}

static inline int tree_is_space(unsigned c)
{
    return c == ' ' || c - '\t' < 5;
}

static inline int tree_is_xdigit(unsigned c)
{
    return tree_is_digit(c) || (c | 0x20) - 'a' < 6;
}

#undef isdigit
#undef isalpha
#undef isalnum
#undef isspace
#undef isxdigit
#define isdigit(c)  tree_is_digit((unsigned)(c))
#define isalpha(c)  tree_is_alpha((unsigned)(c))
#define isalnum(c)  (tree_is_digit((unsigned)(c)) || tree_is_alpha((unsigned)(c)))
#define isspace(c)  tree_is_space((unsigned)(c))
#define isxdigit(c) tree_is_xdigit((unsigned)(c))
