/* A table for people: rows of text in aligned columns, under a line of headings. Texts come from
 * anywhere, so nothing in them moves the cursor, and each is cut to its column's width. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS_MAX 8

struct table_column {
    const char *name; /* NULL ends the columns */
    size_t max;       /* characters; 0: any. The last column of a table is never padded */
    bool is_number;   /* aligned at the right */
};

struct table {
    const struct table_column *columns;
    size_t n_columns;
    char **cells; /* row by row */
    size_t n_cells, capacity;
};

void table_init(struct table *table, const struct table_column *columns);
void table_done(struct table *table);

/* The next cell, left to right and row by row; NULL is shown as "-". Out of memory leaves an empty
 * cell. */
void table_add(struct table *table, const char *text);
void table_addf(struct table *table, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The last column is cut where the line would be longer than `width`; 0: nowhere. */
void table_print(const struct table *table, FILE *out, size_t width);

/* "12 s", "5 min", "3 h", "2 d": a time for people. `text` has 16 bytes. */
#define TABLE_AGE_SIZE 16
const char *table_age(double seconds, char text[TABLE_AGE_SIZE]);

/* "812 B", "1.5 KB", "3.0 MB": a size for people. */
const char *table_size(double bytes, char text[TABLE_AGE_SIZE]);

/* Columns of the terminal behind `fd`; 0: it is none. */
size_t table_width(int fd);
