/* Parts of the reader of tables: table.c finds headers and walks over the rows, table_rows.c judges
 * a row. */
#pragma once

#include "base/cleanup.h"
#include "mask/cells.h"

/* Takes the names of the columns. False: there are no secret ones, or it is no header. */
bool table_take_names(const struct masker *s, const struct masker_cell *names, unsigned count,
                      struct masker_table *table);

/* Reports the cell of a row if it can be what its column says. */
void table_judge_cell(struct masker *s, const struct masker_table *table, enum masker_name what,
                      size_t line, struct masker_cell cell);

/* How many cells, from `from` on, stand where the columns are. */
unsigned table_count_aligned(const struct masker_table *table, const struct masker_cell *columns,
                             unsigned count, unsigned from);

/* Rows whose values are wider than their columns: their cells are told by their number. The number
 * of the cell that stands first; 0: of the first column; 1: there is one of an index before it; -1:
 * the row has another number of cells. */
int table_count_gaps(const struct masker *s, const struct masker_table *table,
                     const struct cells_line *line, struct masker_cell *cells);

unsigned table_split_marked(const struct masker *s, const struct masker_table *table,
                            const struct cells_line *line, struct masker_cell *cells);

/* False: the line is no row of the table. */
bool table_read_row(struct masker *s, const struct masker_table *table,
                    const struct cells_line *line, bool reports);

/* The place at which the cell with this number begins in a line that is not whole yet. */
size_t table_cell_start(const struct masker *s, const struct masker_table *table, size_t at,
                        unsigned index);

/* Holds what may be secret in a row that is not whole yet. */
void table_wait_for_row(struct masker *s, const struct masker_table *table, size_t at);
