/* Lines of tables and their cells. For table.c and rows.c. */
#pragma once

#include "mask/internal.h"

/* A delimiter: a tab as a string writes it. */
#define CELLS_WRITTEN_TAB 1

struct cells_line {
    size_t start, end; /* without the end of the line */
    size_t next;       /* where the next one begins */
};

/* READ_NONE: it is too long, or there is none. */
enum masker_read cells_read_line(const struct masker *s, size_t at, size_t limit, size_t max,
                                 struct cells_line *line);

bool cells_is_blank(unsigned char c);

/* The bytes of a sign between cells: | and the lines of boxes. */
size_t cells_border(const struct masker *s, size_t at, size_t end);

/* A line of dashes and corners; the upper border of a box. */
bool cells_is_rule(const struct masker *s, const struct cells_line *line);
/* A line of types below the header: <int> <chr>. */
bool cells_is_types(const struct masker *s, const struct cells_line *line);

/* The names of columns in the upper border of a box: +-user-+-password-+, drawn. 0: it is none. */
unsigned cells_split_border(const struct masker *s, const struct cells_line *line,
                            struct masker_cell *cells);

bool cells_begins_box(const struct masker *s, const struct cells_line *line);

/* Behind the field at `at`: a quoted one may hold the delimiter. */
size_t cells_field_end(const struct masker *s, size_t at, size_t end, unsigned char delimiter);

/* Each returns the number of cells; those that there is no room for are counted. */
unsigned cells_split_fields(const struct masker *s, const struct cells_line *line,
                            unsigned char delimiter, struct masker_cell *cells);
unsigned cells_split(const struct masker *s, const struct cells_line *line,
                     struct masker_cell *cells);

/* Words, or what two blanks separate. `columns` are places in characters from the line's start. */
unsigned cells_split_words(const struct masker *s, const struct cells_line *line, bool is_wide,
                           struct masker_cell *columns, struct masker_cell *cells);

/* May this be the name of a column? Is it what stands for columns that were left out? */
bool cells_is_name(const struct masker *s, struct masker_cell cell);
bool cells_is_dots(const struct masker *s, struct masker_cell cell);

/* The name of a frame's index, which stands in a line of its own below the others. */
bool cells_is_index_name(const struct masker *s, const struct cells_line *line);

/* False: it has bytes that no name of a column has. */
bool cells_may_be_names(const struct masker *s, const struct cells_line *line);

/* Does it begin with a blank, or has it two in a row? */
bool cells_has_wide_gap(const struct masker *s, const struct cells_line *line);

/* ---- headers, and what all lines begin with ---- */

unsigned char cells_find_delimiter(const struct masker *s, const struct masker_table *table,
                                   const struct cells_line *line);

/* Skips the beginning of every line of a comment, a quotation, a change or a listing with numbers,
 * and text around the table that stands in the line of its header. */
void cells_find_prefix(const struct masker *s, struct cells_line *line, struct masker_table *table);

/* The next row, behind its prefix. READ_NONE: it has another one, too. */
enum masker_read cells_read_row(const struct masker *s, const struct masker_table *table, size_t at,
                                size_t limit, size_t max, struct cells_line *line);

/* Skips text around a table of fields: echo 'user,password, <pre>user,password. */
void cells_skip_opening(const struct masker *s, struct masker_cell *cell);

/* ---- rows that are no lines (rows.c) ---- */

/* The notation of the rows around the name at `from`, and where the header begins. READ_NONE: the
 * rows are lines. */
enum masker_read rows_begin(const struct masker *s, size_t from, size_t limit, size_t max,
                            struct masker_table *table, size_t *ret_start);

/* As cells_read_line(), in the notation of the table. */
enum masker_read rows_read(const struct masker *s, const struct masker_table *table, size_t at,
                           size_t limit, size_t max, struct cells_line *line);

unsigned rows_split_html(const struct masker *s, const struct cells_line *line,
                         struct masker_cell *cells);
unsigned rows_split_list(const struct masker *s, const struct cells_line *line,
                         struct masker_cell *cells);
