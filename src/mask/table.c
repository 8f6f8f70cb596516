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
#include "base/cleanup.h"
#include "mask/cells.h"

/* A header may be as long as this, and the line before it is read so far: both together are looked
 * back at. */
#define HEADER_MAX ((size_t)500)

/* A longer line ends the table. */
#define ROW_MAX ((size_t)2048)

/* ---- names of columns ---- */

/* Takes the names of the columns. False: there are no secret ones, or it is no header. */
static bool take_names(const struct masker *s, const struct masker_cell *names, unsigned count,
                       struct masker_table *table)
{
    if (count > MASKER_COLUMNS_MAX)
        return false;
    table->columns = count;
    table->n_secret = 0;
    table->is_sure = table->is_login = false;
    for (unsigned i = 0; i < count; i++) {
        size_t len = names[i].end - names[i].start;
        enum masker_name what;
        unsigned lists;

        masker_charge(s, 2 * len + 2);
        /* The column of an index has no name, and those left out of a frame have dots. */
        if (names[i].end == names[i].start ? table->style == TABLE_CELLS || !i
                                           : cells_is_dots(s, names[i]))
            continue;
        if (!cells_is_name(s, names[i])) {
            if (table->rows == ROWS_HTML)
                continue;
            return false;
        }
        /* Beside a column of accounts, a column of passwords holds passwords. */
        lists = masker_lists_of(masker_view(s, names[i].start), len);
        table->is_sure = table->is_sure || (lists >> LIST_ACCOUNTS & 1);
        table->is_login = table->is_login || (lists >> LIST_LOGINS & 1);
        what = masker_name_of(masker_view(s, names[i].start), len);
        if (what != NAME_NONE && table->n_secret < MASKER_SECRET_COLUMNS)
            table->secret[table->n_secret++] =
                (struct masker_secret_column){.index = i, .what = what};
    }
    return table->n_secret > 0;
}

/* ---- values ---- */

/* A token in a table, where words are tokens, too. Beside people who log in, there are no words. */
static bool is_token(const struct masker *s, const struct masker_table *table,
                     enum masker_name what, size_t start, size_t end)
{
    size_t len = end - start < MASKER_JUDGE_MAX ? end - start : MASKER_JUDGE_MAX;
    bool has_digit = false, has_letter = false;

    for (size_t i = start; i < start + len; i++) {
        has_digit = has_digit || masker_is_digit(masker_at(s, i));
        has_letter = has_letter || (masker_at(s, i) | 32) >= 'a';
    }
    return len >= 8 && (has_digit || what == NAME_TOKEN) &&
           (masker_is_mixed(masker_view(s, start), len) ||
            (table->is_login && has_digit && has_letter)) &&
           !masker_is_technical(masker_view(s, start), len);
}

static void judge_cell(struct masker *s, const struct masker_table *table, enum masker_name what,
                       size_t line, struct masker_cell cell)
{
    struct masker_value value = {.start = cell.start,
                                 .end = cell.end,
                                 .is_quoted = table->is_sure && table->rows != ROWS_LISTS,
                                 .is_constant = true,
                                 .is_text = true,
                                 .is_data = true};

    masker_charge(s, 4);
    if (what == NAME_TOKEN || what == NAME_WEAK) {
        size_t len = cell.end - cell.start < MASKER_WORD_MAX ? cell.end - cell.start : 0;

        /* In code, names stand below names. */
        if (len && masker_name_of(masker_view(s, cell.start), len) != NAME_NONE)
            return;
        if (is_token(s, table, what, cell.start, cell.end))
            what = NAME_TOKEN;
        else if (what == NAME_TOKEN)
            return;
    }
    if (masker_is_secret_value(s, what, &value))
        masker_found(s, masker_generic_kind(), line, cell.start, cell.end);
}

/* ---- rows ---- */

/* Does a word stand in the column? */
static bool is_aligned(const struct masker_table *table, struct masker_cell word,
                       struct masker_cell place)
{
    if (table->is_ruled || table->is_either)
        return word.start == place.start || word.end == place.end;
    return table->style == TABLE_LEFT ? word.start == place.start : word.end == place.end;
}

static unsigned count_aligned(const struct masker_table *table, const struct masker_cell *columns,
                              unsigned count, unsigned from)
{
    unsigned aligned = 0;

    for (unsigned k = from; k < table->columns; k++)
        for (unsigned i = 0; i < count; i++)
            if (is_aligned(table, columns[i], table->places[k])) {
                aligned++;
                break;
            }
    return aligned;
}

/* Does the row belong to the table? */
static bool read_aligned(struct masker *s, const struct masker_table *table,
                         const struct cells_line *line, bool reports)
{
    struct masker_cell columns[MASKER_COLUMNS_MAX], cells[MASKER_COLUMNS_MAX];
    unsigned count = cells_split_words(s, line, false, columns, cells);

    masker_charge(s, line->end - line->start + (size_t)count * table->columns);
    if (!count_aligned(table, columns, count, table->columns > 1))
        return false;
    for (unsigned k = 0; reports && k < table->n_secret; k++) {
        struct masker_cell place = table->places[table->secret[k].index];

        for (unsigned i = 0; i < count; i++)
            if (is_aligned(table, columns[i], place))
                judge_cell(s, table, table->secret[k].what, line->start, cells[i]);
    }
    return true;
}

static unsigned split_marked(const struct masker *s, const struct masker_table *table,
                             const struct cells_line *line, struct masker_cell *cells)
{
    masker_charge(s, 2 * (line->end - line->start));
    return table->rows == ROWS_HTML ? rows_split_html(s, line, cells)
                                    : rows_split_list(s, line, cells);
}

/* A line with another number of cells stands between the rows. */
static void read_marked(struct masker *s, const struct masker_table *table,
                        const struct cells_line *line, bool reports)
{
    struct masker_cell cells[MASKER_COLUMNS_MAX];

    if (!reports || split_marked(s, table, line, cells) != table->columns)
        return;
    for (unsigned k = 0; k < table->n_secret; k++)
        judge_cell(s, table, table->secret[k].what, line->start, cells[table->secret[k].index]);
}

static bool read_row(struct masker *s, const struct masker_table *table,
                     const struct cells_line *line, bool reports)
{
    struct masker_cell cells[MASKER_COLUMNS_MAX];
    unsigned count;

    if (memmem(masker_view(s, line->start), line->end - line->start, "-----BEGIN ", 11))
        return false;
    if (table->style == TABLE_MARKED) {
        read_marked(s, table, line, reports);
        return true;
    }
    if (table->style == TABLE_LEFT || table->style == TABLE_RIGHT)
        return cells_is_rule(s, line) || read_aligned(s, table, line, reports) ||
               (line->end > line->start && cells_is_index_name(s, line));
    masker_charge(s, 2 * (line->end - line->start));
    if (table->style == TABLE_CELLS) {
        if (cells_is_rule(s, line))
            return true;
        count = cells_split(s, line, cells);
    } else {
        count = cells_split_fields(s, line, table->delimiter, cells);
    }
    if (count != table->columns)
        return false;
    for (unsigned k = 0; reports && k < table->n_secret; k++)
        judge_cell(s, table, table->secret[k].what, line->start, cells[table->secret[k].index]);
    return true;
}

/* The place at which the cell with this number begins in a line that is not whole yet. */
static size_t cell_start(const struct masker *s, const struct masker_table *table, size_t at,
                         unsigned index)
{
    size_t end = s->view.len;

    if (table->style == TABLE_FIELDS) {
        for (; index && at < end; index--)
            at = cells_field_end(s, at, end, table->delimiter) + 1;
        return at < end ? at : end;
    }
    while (at < end && cells_is_blank(masker_at(s, at)))
        at++;
    at += cells_border(s, at, end);
    for (; index && at < end; at++) {
        size_t border = cells_border(s, at, end);

        index -= border > 0;
        at += border > 1 ? border - 1 : 0;
    }
    return at < end ? at : end;
}

/* The place at which the first secret column may begin in a line that is not whole yet. */
static size_t secret_part(const struct masker *s, const struct masker_table *table, size_t at)
{
    unsigned index = table->secret[0].index;
    size_t column = 0;

    if (table->style != TABLE_LEFT && table->style != TABLE_RIGHT)
        return cell_start(s, table, at, index);
    for (; at < s->view.len && index && column < table->places[index - 1].end; at++)
        column += (masker_at(s, at) & 0xc0) != 0x80;
    return at;
}

static void wait_for_row(struct masker *s, const struct masker_table *table, size_t at)
{
    size_t hold = at >= s->view.len ? s->view.len
                  : table->rows == ROWS_LINES && !table->prefix_len && !table->is_numbered
                      ? secret_part(s, table, at)
                      : at;

    masker_charge(s, s->view.len - at);
    masker_wait(s, masker_generic_kind(), at, hold);
}

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
        wait_for_row(s, table, line->next);
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
    if (!take_names(s, cells, count, table))
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

/* | password | value |: the row of a table that stands on its side. */
static void read_pair(struct masker *s, const struct cells_line *line,
                      const struct masker_cell *cells)
{
    struct masker_table none = {0};
    enum masker_name what = name_in(s, cells[0]);

    if (what != NAME_NONE)
        judge_cell(s, &none, what, line->start, cells[1]);
}

/* Waits for a pair whose line is not whole yet. */
static void wait_for_pair(struct masker *s, size_t at)
{
    static const struct masker_table cells_only = {.style = TABLE_CELLS};
    struct masker_cell cells[MASKER_COLUMNS_MAX];
    struct cells_line part = {at, s->view.len, s->view.len};

    masker_charge(s, 2 * (part.end - at));
    if (cells_split(s, &part, cells) == 2 && name_in(s, cells[0]) != NAME_NONE)
        masker_wait(s, masker_generic_kind(), at, cell_start(s, &cells_only, at, 1));
}

static enum masker_read read_cell_header(struct masker *s, const struct cells_line *line,
                                         size_t limit, bool reports, struct masker_table *table)
{
    struct masker_cell cells[MASKER_COLUMNS_MAX];
    struct cells_line other = line_before(s, table, line->start);
    unsigned count;
    enum masker_read r;

    table->style = TABLE_CELLS;
    count = cells_split(s, line, cells);
    if (reports && count == 2)
        read_pair(s, line, cells);
    if (!take_names(s, cells, count, table))
        return READ_NONE;
    if (cells_is_rule(s, &other) && cells_begins_box(s, &other))
        return READ_VALUE;
    r = next_line(s, table, line, limit, reports, &other);
    if (r != READ_VALUE || cells_is_rule(s, &other))
        return r;
    /* No rule: fields with | between them, as shells of databases write them to a file. */
    if (memmem(masker_view(s, line->start), line->end - line->start, " |", 2) ||
        masker_at(s, line->start) == '|')
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
        count_aligned(table, columns, count, 0) == table->columns) {
        table->style = TABLE_LEFT;
        table->is_either =
            table->is_sure && count_aligned(table, columns, count, 0) == table->columns;
        table->style = TABLE_RIGHT;
        return true;
    }
    table->style = TABLE_LEFT;
    return (is_wide || has_rule) && table->columns >= 2 &&
           count_aligned(table, columns, count, 0) == table->columns;
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
           count_aligned(table, columns, count, table->columns > 1) > 0;
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
    if (!take_names(s, cells, count, table))
        return READ_NONE;
    if (!has_gaps && limit == s->view.len &&
        cells_read_row(s, table, line->next, limit, ROW_MAX, &row) == READ_MORE &&
        !may_fit(s, line, line->next, table))
        return READ_NONE;
    r = next_line(s, table, line, limit, reports, &row);
    if (r == READ_VALUE && row.end > row.start &&
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
    if (!take_names(s, cells, count, table))
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
    unsigned count = split_marked(s, table, line, cells);

    table->style = TABLE_MARKED;
    if (count < 2 || !take_names(s, cells, count, table))
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
    else if (has_cells)
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
                wait_for_row(s, table, at);
            return false;
        }
        if (r == READ_NONE || !read_row(s, table, &line, reports)) {
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
    enum masker_read r = rows_begin(s, from, limit, HEADER_MAX, table, ret_start);

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

/* From the table on that is being read, or the first candidate. Returns the number of candidates
 * that are done with. */
static size_t read_all(struct masker *s, struct masker_table *table, size_t limit, bool reports)
{
    size_t i = 0;

    if (table->style != TABLE_NONE && table->next < s->view_offset)
        table->style = TABLE_NONE;
    if (!read_rows(s, table, limit, reports))
        return 0;
    for (; i < s->n_headers; i++) {
        size_t start = SIZE_MAX;
        struct masker_table found = {0};

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
            return i + 1;
    }
    return i;
}

void masker_table_scan(struct masker *s)
{
    struct masker_table table = s->table;

    if (s->table.style != TABLE_NONE || s->n_headers)
        (void)read_all(s, &table, s->view.len, true);
}

void masker_table_settle(struct masker *s)
{
    size_t done;

    if (s->table.style == TABLE_NONE && !s->n_headers)
        return;
    done = read_all(s, &s->table, s->emitted, false);
    if (done < s->n_headers && s->headers[done] < s->redo)
        s->redo = s->headers[done];
}
