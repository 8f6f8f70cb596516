/* Arrays that grow by doubling. */
#pragma once

#include <stdlib.h>

/* The array, with room for one more than `count`: moved where it was full, and then `*size` is what
 * fits now. NULL: no memory, and the old one stands. */
static inline void *array_grow(void *items, size_t count, size_t *size, size_t item_bytes)
{
    size_t wanted = *size ? 2 * *size : 64;
    void *grown;

    if (count < *size)
        return items;
    grown = reallocarray(items, wanted, item_bytes);
    if (grown)
        *size = wanted;
    return grown;
}
