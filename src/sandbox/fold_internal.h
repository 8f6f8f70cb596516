/* The tables of fold.c, which tools/gen-fold.py makes at build time. Both are sorted. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct fold_row {
    uint32_t code;
    char text[5]; /* ASCII */
};

struct fold_range {
    uint32_t first, last;
};

extern const struct fold_row fold_rows[];
extern const size_t fold_n_rows;
extern const struct fold_range fold_ignored[];
extern const size_t fold_n_ignored;
