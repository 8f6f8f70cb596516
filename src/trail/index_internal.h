/* Shared by index.c (keeping it up to date) and index_find.c (asking it). */
#pragma once

#include <sqlite3.h>

#include "trail/index.h"

struct index {
    int dir;
    sqlite3 *db;
    uint64_t open_first; /* the file that is open, and its descriptor */
    int open_fd;
};

int index_fail(const struct index *index, const char *what, struct error *err);

/* The descriptor of the file that begins with this record; it stays the index's. */
int index_file(struct index *index, uint64_t first, struct error *err);
