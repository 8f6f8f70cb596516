/* A journal, read back. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "undo/entry.h"

struct reader {
    struct entry *entries; /* without those that were cancelled, and the cancelling ones */
    size_t count;
    bool is_sealed;
    int64_t began_ns, last_ns; /* times of the first and the last line */
    char *text;                /* what the entries point into */
    size_t len;
};

/* Reads `journal` in that directory. A last line without its newline was cut short by a crash, and
 * is left out: its change was not made. Anything else that is not as we write it is E_PROTOCOL. */
int reader_load(struct reader *ret_reader, int dir, struct error *err);

/* Reads a journal from a text; for tests. Takes over `text`, which is `len` bytes and one more. */
int reader_parse(struct reader *ret_reader, char *text, size_t len, struct error *err);

void reader_done(struct reader *reader);
