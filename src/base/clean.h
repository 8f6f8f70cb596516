/* Text that may leave: it has passed the masker.
 *
 * Whatever keeps or writes a program's text takes this and nothing else, so forgetting the masker
 * is a mistake that the compiler finds. Only src/mask/clean.c can fill in the members: everywhere
 * else their names are poisoned, and initializers without names are refused. Words of our own are
 * clean_literal(), which takes string literals only.
 *
 * The bytes are lent. They hold until the masker is next called.
 */
#pragma once

#include <stddef.h>

/* gcc refuses `{text, len}`; clang, which does not know the attribute, builds the same files. */
#if defined(__has_attribute) && __has_attribute(designated_init)
#define CLEAN_TEXT_NAMED __attribute__((designated_init))
#else
#define CLEAN_TEXT_NAMED
#endif

struct clean_text {
    const char *masked_data;
    size_t masked_len;
} CLEAN_TEXT_NAMED;

static inline const char *clean_data(struct clean_text text)
{
    return text.masked_data;
}

static inline size_t clean_len(struct clean_text text)
{
    return text.masked_len;
}

/* The text without its first bytes; `skip` is at most its length. */
static inline struct clean_text clean_from(struct clean_text text, size_t skip)
{
    return (struct clean_text){.masked_data = text.masked_data + skip,
                               .masked_len = text.masked_len - skip};
}

/* Words of our own. Anything but a string literal does not compile. */
#define clean_literal(text)                                                                        \
    ((struct clean_text){.masked_data = "" text "", .masked_len = sizeof("" text "") - 1})

#ifndef CLEAN_TEXT_MAKER
#pragma GCC poison masked_data masked_len
#endif
