/* Bars that programs draw on standard error, as tqdm does, read as progress.
 *
 * A bar is redrawn in place: a carriage return, "name:  45%|####5     | 45/100 [00:01<00:02, …]".
 * The text is the program's and may be anything; at worst a wrong number is reported, as its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress_bar {
    uint64_t done, total;
    const char *name; /* in the bytes that were read */
    size_t name_len;
};

/* The last bar in these bytes. False: there is none. */
bool progress_bar_find(const char *data, size_t len, struct progress_bar *ret_bar);
