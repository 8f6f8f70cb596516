/* Bytes that may leave: they have passed the masker.
 *
 * Only src/scrub makes one. Whatever keeps or writes a program's text takes this and nothing else,
 * so that forgetting the masker is a mistake the compiler finds. The bytes are lent, and hold until
 * the masker is next called.
 */
#pragma once

#include <stddef.h>

struct clean_text {
    const char *data;
    size_t len;
};
