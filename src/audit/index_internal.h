/* Shared by index.c (keeping it up to date) and index_find.c (asking it). */
#pragma once

#include <sqlite3.h>

#include "audit/index.h"

struct index {
    int dir;
    sqlite3 *db;
    uint64_t open_first; /* the file that is open, and its descriptor */
    int open_fd;
};

int index_fail(const struct index *index, const char *what, struct error *err);

/* A line of that file, with a NUL behind it. */
int index_read(struct index *index, uint64_t first, uint64_t offset, size_t len, struct buf *out,
               struct error *err);

/* Whether a text that the line refers to contains another one. */
bool index_text_has(struct index *index, const struct buf *line, const char *wanted);

/* The descriptor of the file that begins with this record; it stays the index's. */
int index_file(struct index *index, uint64_t first, struct error *err);
