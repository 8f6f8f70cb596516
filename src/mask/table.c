/* Tables: values that are secret because of the column they stand in.
 *
 *   style           header                          proof that it is one
 *   TABLE_FIELDS    user,password  (, ; or tab)     names only, and as many fields in the next line
 *   TABLE_CELLS     | user | password |             a line of dashes before or behind it
 *   TABLE_LEFT      user   password                 columns of the first row begin where its words
 * do TABLE_RIGHT     (as a DataFrame is printed)     or end where they end
 *   TABLE_MARKED    <th>user</th><th>password</th>  cells of HTML, strings in lists
 *
 * Words that name secrets are anchors. A line that has one is a candidate; candidates and rows are
 * read line by line when everything else was looked at, and once more when it is known how much
 * came out, so that what is remembered (struct masker_table, of fixed size) is always true for the
 * first line that did not. Only whole lines are judged: where the stream is cut does not matter.
 * Of a line that is not whole yet, what stands before the first secret column comes out. */
#include "mask/table.h"

/* A header may be as long as this, and the line before it is read so far: both together are looked
 * back at. */
#define HEADER_MAX ((size_t)500)

/* A longer line ends the table. */
#define ROW_MAX ((size_t)2048)

/* So far behind a candidate is read to know whether it is a header: the line, and three more. */
#define REACH (HEADER_MAX + 3 * ROW_MAX)

/* Seldom more of the view waits. */
#define HELD_MAX ((size_t)2048)

/* ---- headers ---- */

/* The line before the one that begins at `at`, as far as it is looked at. A string has none. */
static struct cells_line line_before(const struct masker *s, const struct masker_table *table,
                                     size_t at)
{
    size_t end = at ? at - 1 : 0, low = end > HEADER_MAX ? end - HEADER_MAX : 0;
    const char *newline = end > low ? memrchr(masker_view(s, low), '\n', end - low) : NULL;
    struct cells_line line = {newline ? (size_t)(newline - s->view.data) + 1 : low, end, at};

    masker_charge(s, end - line.start);
    if (table->rows != ROWS_LINES)
        line.start = line.end;
    if (line.end > line.start && masker_at(s, line.end - 1) == '\r')
        line.end--;
    return line;
}

/* The next line, which a proof is looked for in. */
static enum masker_read next_line(struct masker *s, const struct masker_table *table,
                                  const struct cells_line *line, size_t limit, bool reports,
                                  struct cells_line *ret)
{
    enum masker_read r = cells_read_row(s, table, line->next, limit, ROW_MAX, ret);

    if (r == READ_MORE && reports && limit == s->view.len)
        table_wait_for_row(s, table, line->next);
    return r;
}

static enum masker_read read_field_header(struct masker *s, const struct cells_line *line,
                                          size_t limit, bool reports, struct masker_table *table)
{
    struct masker_cell cells[MASKER_COLUMNS_MAX];
    struct cells_line other = line_before(s, table, line->start);
    enum masker_read r;
    unsigned count;

    table->style = TABLE_FIELDS;
    count = cells_split_fields(s, line, table->delimiter, cells);
    if (count < 2)
        return READ_NONE;
    cells_skip_opening(s, &cells[0]);
    if (!table_take_names(s, cells, count, table))
        return READ_NONE;
    /* In the midst of a table whose header names no secrets. */
    if (other.end > other.start && cells_split_fields(s, &other, table->delimiter, cells) == count)
        return READ_NONE;
    r = next_line(s, table, line, limit, reports, &other);
    if (r == READ_VALUE && cells_split_fields(s, &other, table->delimiter, cells) != count)
        return READ_NONE;
    /* "a, b" may be a sentence, or code. */
    if (memmem(masker_view(s, line->start), line->end - line->start, ", ", 2) && !table->is_sure)
        return READ_NONE;
    return r;
}

static enum masker_name name_in(const struct masker *s, struct masker_cell cell)
{
    if (!cells_is_name(s, cell))
        return NAME_NONE;
    masker_charge(s, 2 * (cell.end - cell.start));
    return masker_name_of(masker_view(s, cell.start), cell.end - cell.start);
}

/* Does the word that is looked at stand in the first cell? For one in the second, nobody has
 * waited: it may have come out. */
static bool names_pair(const struct masker *s, const struct masker_cell *cells)
{
    return s->header >= cells[0].start && s->header < cells[0].end;
}

/* | password | value |: the row of a table that stands on its side. */
static void read_pair(struct masker *s, const struct cells_line *line,
                      const struct masker_cell *cells)
{
    struct masker_table none = {0};
    enum masker_name what = names_pair(s, cells) ? name_in(s, cells[0]) : NAME_NONE;

    /* Without a border, FLAG | OTHER_FLAG of a program stands so as well. */
    if (what != NAME_NONE && (!masker_is_alnum(masker_at(s, line->start)) ||
                              masker_is_unlike_words(s, cells[1].start, cells[1].end)))
        table_judge_cell(s, &none, what, line->start, cells[1]);
}

/* Waits for a pair whose line is not whole yet. */
static void wait_for_pair(struct masker *s, size_t at)
{
    static const struct masker_table cells_only = {.style = TABLE_CELLS};
    struct masker_cell cells[MASKER_COLUMNS_MAX];
    struct cells_line part = {at, s->view.len, s->view.len};
    struct masker_table prefix = {0};

    masker_charge(s, 2 * (part.end - at));
    cells_find_prefix(s, &part, &prefix);
    if (cells_split(s, &part, cells) == 2 && names_pair(s, cells) &&
        name_in(s, cells[0]) != NAME_NONE)
        masker_wait(s, masker_generic_kind(), at, table_cell_start(s, &cells_only, part.start, 1));
}

/* |_. user |_. password |, ||user||password||: signs of a header in Textile and Jira. */
static bool is_marked_header(const struct masker *s, const struct cells_line *line)
{
    size_t len = line->end - line->start;

    return len > 6 && (memcmp(masker_view(s, line->start), "|_. ", 4) == 0 ||
                       memcmp(masker_view(s, line->start), "||", 2) == 0);
}

static enum masker_read read_cell_header(struct masker *s, const struct cells_line *line,
                                         size_t limit, bool reports, struct masker_table *table)
{
    struct masker_cell cells[MASKER_COLUMNS_MAX];
    struct cells_line other = line_before(s, table, line->start);
    /* With | between them and no blanks, as shells of databases write them to a file. */
    bool may_be_fields = masker_at(s, line->start) != '|' &&
                         !memmem(masker_view(s, line->start), line->end - line->start, " |", 2);
    unsigned count;
    enum masker_read r;

    table->style = TABLE_CELLS;
    count = cells_split(s, line, cells);
    if (reports && count == 2)
        read_pair(s, line, cells);
    if (!table_take_names(s, cells, count, table))
        return READ_NONE;
    if (cells_is_rule(s, &other) && cells_begins_box(s, &other))
        return READ_VALUE;
    if (is_marked_header(s, line))
        return READ_VALUE;
    r = next_line(s, table, line, limit, reports, &other);
    /* Cells begin elsewhere than fields: no part of the row comes out before it is known which. */
    if (r == READ_MORE && may_be_fields && reports && limit == s->view.len &&
        line->next < s->view.len)
        masker_wait(s, masker_generic_kind(), line->next, line->next);
    if (r != READ_VALUE || cells_is_rule(s, &other))
        return r;
    /* No rule, but another column of accounts, and a row like it */
    if (table->is_sure && memmem(masker_view(s, line->start), line->end - line->start, " | ", 3) &&
        masker_at(s, line->start) != '|' && cells_split(s, &other, cells) == count) {
        table->is_sure = false;
        return READ_VALUE;
    }
    if (!may_be_fields)
        return READ_NONE;
    table->delimiter = '|';
    return read_field_header(s, line, limit, reports, table);
}

/* The dashes of a rule tell how wide the columns are: numbers stand at the right of theirs, text at
 * the left. */
static void take_places(const struct masker *s, const struct cells_line *rule,
                        struct masker_table *table)
{
    struct masker_cell columns[MASKER_COLUMNS_MAX], cells[MASKER_COLUMNS_MAX];
    unsigned count = cells_split_words(s, rule, false, columns, cells);

    if (count != table->columns)
        return;
    for (unsigned k = 0; k < count; k++)
        if (columns[k].start != table->places[k].start && columns[k].end != table->places[k].end)
            return;
    memcpy(table->places, columns, count * sizeof(columns[0]));
    table->is_ruled = true;
}

/* Do words of the row stand where those of the header do? */
static bool fits(const struct masker *s, const struct cells_line *header,
                 const struct cells_line *row, bool is_wide, bool has_rule,
                 struct masker_table *table)
{
    struct masker_cell columns[MASKER_COLUMNS_MAX], cells[MASKER_COLUMNS_MAX];
    unsigned count = cells_split_words(s, row, false, columns, cells);
    bool is_indented = masker_at(s, header->start) == ' ' ||
                       (row->end > row->start && masker_at(s, row->start) == ' ');

    masker_charge(s, row->end - row->start + (size_t)count * table->columns);
    table->style = TABLE_RIGHT;
    if ((is_indented || is_wide || (table->columns >= 3 && cells_has_wide_gap(s, header))) &&
        count >= table->columns && count <= table->columns + 1 &&
        table_count_aligned(table, columns, count, 0) == table->columns) {
        table->style = TABLE_LEFT;
        table->is_either =
            table->is_sure && table_count_aligned(table, columns, count, 0) == table->columns;
        table->style = TABLE_RIGHT;
        return true;
    }
    table->style = TABLE_LEFT;
    return ((is_wide || has_rule) && table->columns >= 2 &&
            table_count_aligned(table, columns, count, 0) == table->columns) ||
           table_count_gaps(s, table, row, cells) >= 0;
}

/* Can the line at `at`, of which the end is missing, still be a row of a DataFrame? A prompt behind
 * a line with the word "password" must not wait. */
static bool may_fit(const struct masker *s, const struct cells_line *header, size_t at,
                    const struct masker_table *table)
{
    struct masker_cell columns[MASKER_COLUMNS_MAX], cells[MASKER_COLUMNS_MAX];
    struct cells_line part = {at, s->view.len, s->view.len};
    unsigned count, aligned = 0;

    if (at >= s->view.len || cells_is_rule(s, &part) || masker_at(s, at) == '-')
        return true;
    if (masker_at(s, header->start) != ' ' && masker_at(s, at) != ' ' &&
        (table->columns < 3 || !cells_has_wide_gap(s, header)))
        return false;
    while (part.end > at && masker_at(s, part.end - 1) != ' ')
        part.end--;
    count = cells_split_words(s, &part, false, columns, cells);
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < table->columns; k++)
            if (columns[i].end == table->places[k].end) {
                aligned++;
                break;
            }
    masker_charge(s, (size_t)count * table->columns + s->view.len - at);
    return aligned + 1 >= count;
}

/* Does the line before stand as the rows do? Then the table began there, and names no secrets. */
static bool is_midst(const struct masker *s, const struct cells_line *header,
                     const struct masker_table *table)
{
    struct masker_cell columns[MASKER_COLUMNS_MAX], cells[MASKER_COLUMNS_MAX];
    struct cells_line before = line_before(s, table, header->start);
    unsigned count = cells_split_words(s, &before, false, columns, cells);

    masker_charge(s, before.end - before.start + (size_t)count * table->columns);
    return count && !cells_is_rule(s, &before) &&
           table_count_aligned(table, columns, count, table->columns > 1) > 0;
}

/* Columns as words, or as what two blanks separate. */
static enum masker_read read_columns(struct masker *s, const struct cells_line *line, size_t limit,
                                     bool reports, bool is_wide, struct masker_table *table)
{
    struct masker_cell cells[MASKER_COLUMNS_MAX];
    unsigned count = cells_split_words(s, line, is_wide, table->places, cells);
    bool has_rule = false, has_gaps = is_wide;
    struct cells_line row;
    enum masker_read r;

    for (unsigned i = 1; i < count && !is_wide; i++)
        has_gaps = (i == 1 || has_gaps) && cells[i].start - cells[i - 1].end > 1;
    table->style = TABLE_RIGHT;
    table->has_index = masker_at(s, line->start) == ' ';
    table->has_gaps = count >= 2 ? has_gaps : table->has_index;
    if (!table_take_names(s, cells, count, table))
        return READ_NONE;
    if (!has_gaps && limit == s->view.len &&
        cells_read_row(s, table, line->next, limit, ROW_MAX, &row) == READ_MORE &&
        !may_fit(s, line, line->next, table))
        return READ_NONE;
    r = next_line(s, table, line, limit, reports, &row);
    if (r == READ_VALUE && cells_is_types(s, &row)) {
        struct cells_line types = row;

        has_rule = table->is_either = true;
        r = next_line(s, table, &types, limit, reports, &row);
    } else if (r == READ_VALUE && row.end > row.start &&
               (cells_is_rule(s, &row) || cells_is_index_name(s, &row))) {
        struct cells_line rule = row;

        has_rule = masker_at(s, row.start) != ' ' && cells_is_rule(s, &row);
        if (has_rule)
            take_places(s, &rule, table);
        r = next_line(s, table, &rule, limit, reports, &row);
    }
    if (r == READ_VALUE &&
        (!fits(s, line, &row, has_gaps, has_rule, table) || is_midst(s, line, table)))
        return READ_NONE;
    return r;
}

static enum masker_read read_aligned_header(struct masker *s, struct cells_line *line, size_t limit,
                                            bool reports, struct masker_table *table)
{
    enum masker_read narrow, wide;
    struct masker_table other;

    /* A wide frame is continued below: its lines end with a backslash. */
    if (line->end - line->start > 3 && memcmp(masker_view(s, line->end - 3), "  \\", 3) == 0)
        line->end -= 3;
    if (!cells_may_be_names(s, line))
        return READ_NONE;
    /* One word: its rows stand below its end, or below a rule. */
    if (!memchr(masker_view(s, line->start), ' ', line->end - line->start) && line->next < limit &&
        !strchr(" -=", masker_at(s, line->next)))
        return READ_NONE;
    narrow = read_columns(s, line, limit, reports, false, table);
    other = *table;

    if (narrow == READ_VALUE ||
        !memmem(masker_view(s, line->start), line->end - line->start, "  ", 2))
        return narrow;
    wide = read_columns(s, line, limit, reports, true, &other);
    if (narrow == READ_MORE)
        return narrow;
    *table = other;
    return wide;
}

/* COPY users (id, password) FROM stdin;, and rows with tabs between their fields. */
static enum masker_read read_copy(struct masker *s, const struct cells_line *line, size_t limit,
                                  bool reports, struct masker_table *table)
{
    struct masker_cell cells[MASKER_COLUMNS_MAX];
    const char *text = masker_view(s, line->start);
    size_t len = line->end - line->start;
    const char *open = memchr(text, '(', len), *close = memchr(text, ')', len);
    struct cells_line names, row;
    unsigned count;
    enum masker_read r;

    if (!open || !close || close < open || !memmem(text, len, ") FROM stdin", 12))
        return READ_NONE;
    names = (struct cells_line){(size_t)(open - s->view.data) + 1, (size_t)(close - s->view.data),
                                line->next};
    table->style = TABLE_FIELDS;
    count = cells_split_fields(s, &names, ',', cells);
    if (!table_take_names(s, cells, count, table))
        return READ_NONE;
    table->delimiter = table->rows == ROWS_WRITTEN ? CELLS_WRITTEN_TAB : '\t';
    r = next_line(s, table, line, limit, reports, &row);
    if (r == READ_VALUE && cells_split_fields(s, &row, table->delimiter, cells) != count)
        return READ_NONE;
    return r;
}

static enum masker_read read_marked_header(struct masker *s, const struct cells_line *line,
                                           size_t limit, bool reports, struct masker_table *table)
{
    struct masker_cell cells[MASKER_COLUMNS_MAX];
    struct cells_line row;
    unsigned count = table_split_marked(s, table, line, cells);

    table->style = TABLE_MARKED;
    if (count < 2 || !table_take_names(s, cells, count, table))
        return READ_NONE;
    return next_line(s, table, line, limit, reports, &row);
}

static bool has_border(const struct masker *s, const struct cells_line *line)
{
    size_t len = line->end - line->start;
    const char *wide = memchr(masker_view(s, line->start), 0xe2, len);

    for (size_t i = wide ? (size_t)(wide - s->view.data) : line->end; i < line->end; i++)
        if (cells_border(s, i, line->end))
            return true;
    return memchr(masker_view(s, line->start), '|', len) != NULL;
}

/* The line at `at`: READ_VALUE, a header. */
static enum masker_read read_header(struct masker *s, size_t at, size_t limit, bool reports,
                                    struct masker_table *table)
{
    struct cells_line line;
    enum masker_read r = rows_read(s, table, at, limit, HEADER_MAX, &line);
    bool has_cells = false;
    struct masker_cell cells[MASKER_COLUMNS_MAX];
    unsigned count;

    if (r == READ_MORE && reports && limit == s->view.len && table->rows == ROWS_LINES)
        wait_for_pair(s, at);
    if (r != READ_VALUE)
        return r;
    masker_charge(s, 4 * (line.end - line.start));
    cells_find_prefix(s, &line, table);
    has_cells = has_border(s, &line);
    table->delimiter = has_cells ? 0 : cells_find_delimiter(s, table, &line);
    if (table->rows == ROWS_HTML || table->rows == ROWS_LISTS)
        r = read_marked_header(s, &line, limit, reports, table);
    else if (line.end - line.start > 5 && memcmp(masker_view(s, line.start), "COPY ", 5) == 0)
        r = read_copy(s, &line, limit, reports, table);
    else if (table->rows == ROWS_LINES && (count = cells_split_border(s, &line, cells)) >= 2) {
        table->style = TABLE_CELLS;
        r = table_take_names(s, cells, count, table) ? READ_VALUE : READ_NONE;
    } else if (has_cells)
        r = read_cell_header(s, &line, limit, reports, table);
    else if (table->delimiter)
        r = read_field_header(s, &line, limit, reports, table);
    else
        r = read_aligned_header(s, &line, limit, reports, table);
    table->next = s->view_offset + line.next;
    return r;
}

/* ---- candidates ---- */

void masker_table_candidate(struct masker *s, size_t from)
{
    size_t low = s->headers_to < from ? s->headers_to : from;

    if (masker_is_review(s))
        return;
    masker_charge(s, (from - low) / 8 + 1);
    s->headers_to = from;
    /* One for each line is enough, if it has no others in strings, elements or lists. */
    if (s->n_headers && !memchr(masker_view(s, low), '\n', from - low) &&
        !memchr(masker_view(s, low), '\\', from - low) &&
        !memchr(masker_view(s, low), '<', from - low) &&
        !memchr(masker_view(s, low), '[', from - low) &&
        !memchr(masker_view(s, low), '(', from - low))
        return;
    if (s->n_headers == s->headers_size) {
        size_t size = s->headers_size ? 2 * s->headers_size : 16;
        size_t *grown = reallocarray(s->headers, size, sizeof(*grown));

        if (!grown) {
            s->is_broken = true;
            return;
        }
        s->headers = grown;
        s->headers_size = size;
    }
    s->headers[s->n_headers++] = from;
}

/* The beginning of the line in which a candidate stands; SIZE_MAX: it is too far back. */
static size_t line_start(const struct masker *s, size_t from)
{
    size_t low = from > HEADER_MAX ? from - HEADER_MAX : 0;
    const char *newline = from > low ? memrchr(masker_view(s, low), '\n', from - low) : NULL;

    masker_charge(s, from - low < 64 ? from - low : 64);
    if (newline)
        return (size_t)(newline - s->view.data) + 1;
    return low ? SIZE_MAX : 0;
}

/* Rows, as far as there are whole ones. Returns false when more must come. */
static bool read_rows(struct masker *s, struct masker_table *table, size_t limit, bool reports)
{
    while (table->style != TABLE_NONE) {
        size_t at = (size_t)(table->next - s->view_offset);
        struct cells_line line;
        enum masker_read r = cells_read_row(s, table, at, limit, ROW_MAX, &line);

        if (r == READ_MORE) {
            if (reports)
                table_wait_for_row(s, table, at);
            return false;
        }
        if (r == READ_NONE || !table_read_row(s, table, &line, reports)) {
            table->style = TABLE_NONE;
            break;
        }
        table->next = s->view_offset + line.next;
    }
    return true;
}

/* The header of which a name stands at `from`. False: more must come. */
static bool find_header(struct masker *s, size_t from, size_t limit, bool reports,
                        struct masker_table *table, size_t *ret_start)
{
    size_t line = line_start(s, from);
    enum masker_read r;

    s->header = from;
    r = rows_begin(s, from, limit, HEADER_MAX, table, ret_start);

    if (r == READ_VALUE)
        return true;
    if (r == READ_NONE) {
        *table = (struct masker_table){0};
        *ret_start = line;
        return true;
    }
    /* In both cases it must wait. */
    if (reports && limit == s->view.len && line != SIZE_MAX && s->view.len - line < HEADER_MAX)
        wait_for_pair(s, line);
    if (reports && limit == s->view.len && *ret_start != SIZE_MAX &&
        s->view.len - *ret_start < HEADER_MAX)
        wait_for_pair(s, *ret_start);
    return false;
}

/* Candidates from the i-th on that stand in rows which were read are done with. */
static size_t skip_read(const struct masker *s, const struct masker_table *table, size_t i)
{
    while (i < s->n_headers && s->view_offset + s->headers[i] < table->next)
        i++;
    return i;
}

/* Candidates before the i-th need not be read again when it is known how much came out, unless that
 * is much less than the view. */
static void remember(struct masker *s, const struct masker_table *table, size_t i)
{
    size_t last = i ? s->headers[i - 1] : 0,
           next = table->next > s->view_offset ? (size_t)(table->next - s->view_offset) : 0;

    if (table->style == TABLE_NONE &&
        (last > next ? last : next) + REACH + HELD_MAX < s->view.len) {
        s->headers_sure = i;
        s->headers_next = table->next;
    }
}

/* From the table on that is being read, or the i-th candidate. Returns the number of candidates
 * that are done with. */
static size_t read_all(struct masker *s, struct masker_table *table, size_t i, size_t limit,
                       bool reports)
{
    if (table->style != TABLE_NONE && table->next < s->view_offset)
        table->style = TABLE_NONE;
    if (!read_rows(s, table, limit, reports))
        return skip_read(s, table, 0);
    for (; i < s->n_headers; i++) {
        size_t start = SIZE_MAX;
        struct masker_table found = {0};

        if (reports)
            remember(s, table, i);
        if (s->view_offset + s->headers[i] < table->next)
            continue;
        if (!find_header(s, s->headers[i], limit, reports, &found, &start))
            return i;
        if (start == SIZE_MAX || s->view_offset + start < table->next)
            continue;
        switch (read_header(s, start, limit, reports, &found)) {
        case READ_NONE:
            continue;
        case READ_MORE:
            return i;
        case READ_VALUE:
            break;
        }
        *table = found;
        if (!read_rows(s, table, limit, reports))
            return skip_read(s, table, i + 1);
    }
    return i;
}

void masker_table_scan(struct masker *s)
{
    struct masker_table table = s->table;

    s->headers_sure = SIZE_MAX;
    if (s->table.style != TABLE_NONE || s->n_headers)
        (void)read_all(s, &table, 0, s->view.len, true);
}

void masker_table_settle(struct masker *s)
{
    size_t first = 0, done;

    if (s->table.style == TABLE_NONE && !s->n_headers)
        return;
    if (s->headers_sure != SIZE_MAX && s->emitted + HELD_MAX >= s->view.len) {
        first = s->headers_sure;
        s->table.style = TABLE_NONE;
        s->table.next = s->headers_next;
    }
    done = read_all(s, &s->table, first, s->emitted, false);
    if (done < s->n_headers && s->headers[done] < s->redo)
        s->redo = s->headers[done];
}
