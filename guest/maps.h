/* This process's own mappings, read without the allocator: what is looked at must not change by
 * being looked at. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define MAPS_PAGE 4096u

struct mapping {
    uintptr_t start, end;
    int prot;
    bool is_private;
    bool is_anonymous;
    const char *name; /* "" when it has none */
};

/* Reads them all into a buffer of this file's, which the next call fills anew. */
int maps_read(char **ret_text, struct error *err);

/* Lets go of that buffer. Children would share it: call this before the next fork. */
void maps_done(void);

/* Takes one off the text; false at its end. */
bool maps_next(char **text, struct mapping *m);

/* Bits of a word of /proc/self/pagemap. */
#define PAGE_PRESENT   (UINT64_C(1) << 63)
#define PAGE_SWAPPED   (UINT64_C(1) << 62)
#define PAGE_OF_FILE   (UINT64_C(1) << 61)
#define PAGE_EXCLUSIVE (UINT64_C(1) << 56)
