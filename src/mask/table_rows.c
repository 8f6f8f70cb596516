/* Rows of a table: which of their cells stand in a secret column, and what of an unfinished row
 * waits. */
#include "mask/table.h"

/* ---- names of columns ---- */

bool table_take_names(const struct masker *s, const struct masker_cell *names, unsigned count,
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

void table_judge_cell(struct masker *s, const struct masker_table *table, enum masker_name what,
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

unsigned table_count_aligned(const struct masker_table *table, const struct masker_cell *columns,
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

static bool is_number(const struct masker *s, struct masker_cell cell)
{
    for (size_t i = cell.start; i < cell.end; i++)
        if (!masker_is_digit(masker_at(s, i)) && !masker_is_in("+-.eE:,", masker_at(s, i)))
            return false;
    return true;
}

int table_count_gaps(const struct masker *s, const struct masker_table *table,
                     const struct cells_line *line, struct masker_cell *cells)
{
    struct masker_cell columns[MASKER_COLUMNS_MAX];
    unsigned count;

    if (!table->has_gaps)
        return -1;
    masker_charge(s, line->end - line->start);
    count = cells_split_words(s, line, true, columns, cells);
    if (table->columns == 1) /* the only one beside an index of numbers */
        return count == 2 && is_number(s, cells[0]) ? 1 : -1;
    return count == table->columns ? 0 : count == table->columns + 1 && table->has_index ? 1 : -1;
}

static void judge_loose(struct masker *s, const struct masker_table *table,
                        struct masker_secret_column secret, size_t line, struct masker_cell cell)
{
    struct masker_table loose = *table;

    /* Only a value with a digit and a letter that is no number: 1.4e-09 */
    if (!masker_is_unlike_words(s, cell.start, cell.end) || is_number(s, cell))
        return;
    loose.is_sure = false;
    table_judge_cell(s, &loose, secret.what, line, cell);
}

/* Does the row belong to the table? */
static bool read_aligned(struct masker *s, const struct masker_table *table,
                         const struct cells_line *line, bool reports)
{
    struct masker_cell columns[MASKER_COLUMNS_MAX], cells[MASKER_COLUMNS_MAX],
        wide[MASKER_COLUMNS_MAX];
    unsigned count = cells_split_words(s, line, false, columns, cells);
    int first;

    masker_charge(s, line->end - line->start + (size_t)count * table->columns);
    first = table_count_gaps(s, table, line, wide);
    if (first < 0 && !table_count_aligned(table, columns, count, table->columns > 1))
        return false;
    for (unsigned k = 0; reports && k < table->n_secret; k++) {
        struct masker_cell place = table->places[table->secret[k].index];

        for (unsigned i = 0; i < count; i++)
            if (is_aligned(table, columns[i], place))
                table_judge_cell(s, table, table->secret[k].what, line->start, cells[i]);
        if (first >= 0)
            judge_loose(s, table, table->secret[k], line->start,
                        wide[table->secret[k].index + (unsigned)first]);
    }
    return true;
}

unsigned table_split_marked(const struct masker *s, const struct masker_table *table,
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

    if (!reports || table_split_marked(s, table, line, cells) != table->columns)
        return;
    for (unsigned k = 0; k < table->n_secret; k++)
        table_judge_cell(s, table, table->secret[k].what, line->start,
                         cells[table->secret[k].index]);
}

bool table_read_row(struct masker *s, const struct masker_table *table,
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
        /* Behind the last row ends what the table stands in. */
        if (count == table->columns + 1 && count <= MASKER_COLUMNS_MAX &&
            masker_at(s, line->start) == '|' && cells[count - 1].start &&
            masker_at(s, cells[count - 1].start - 1) == '|')
            count--;
    } else {
        count = cells_split_fields(s, line, table->delimiter, cells);
    }
    if (count != table->columns)
        return false;
    for (unsigned k = 0; reports && k < table->n_secret; k++)
        table_judge_cell(s, table, table->secret[k].what, line->start,
                         cells[table->secret[k].index]);
    return true;
}

size_t table_cell_start(const struct masker *s, const struct masker_table *table, size_t at,
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
        return table_cell_start(s, table, at, index);
    if (table->has_gaps)
        return at;
    for (; at < s->view.len && index && column < table->places[index - 1].end; at++)
        column += (masker_at(s, at) & 0xc0) != 0x80;
    return at;
}

void table_wait_for_row(struct masker *s, const struct masker_table *table, size_t at)
{
    size_t hold = at >= s->view.len ? s->view.len
                  : table->rows == ROWS_LINES && !table->prefix_len && !table->is_numbered
                      ? secret_part(s, table, at)
                      : at;

    masker_charge(s, s->view.len - at);
    masker_wait(s, masker_generic_kind(), at, hold);
}
