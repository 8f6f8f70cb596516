#include "cli/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/terminal_text.h"

/* Bytes of a cell, in visible form. */
#define CELL_BYTES (4 * KIB)

void table_init(struct table *table, const struct table_column *columns)
{
    *table = (struct table){.columns = columns};
    while (table->n_columns < TABLE_COLUMNS_MAX && columns[table->n_columns].name)
        table->n_columns++;
}

void table_done(struct table *table)
{
    for (size_t i = 0; i < table->n_cells; i++)
        free(table->cells[i]);
    free(table->cells);
    *table = (struct table){0};
}

/* Bytes of the first `max` characters; *ret_count is how many there are of them. */
static size_t prefix(const char *text, size_t max, size_t *ret_count)
{
    size_t at = 0, count = 0;

    while (text[at] && count < max) {
        at++;
        while (((unsigned char)text[at] & 0xc0) == 0x80)
            at++;
        count++;
    }
    *ret_count = count;
    return at;
}

static char *visible(const char *text, size_t max)
{
    cleanup(buf_done) struct buf line = BUF_OF(CELL_BYTES);
    size_t len = strnlen(text, CELL_BYTES / 8), count;
    char *cell;

    /* A byte is at most four characters long in visible form. */
    if (terminal_line(text, len, &line, NULL) < 0)
        return NULL;
    cell = strdup(buf_str(&line));
    if (cell && max)
        cell[prefix(cell, max, &count)] = '\0';
    return cell;
}

void table_add(struct table *table, const char *text)
{
    size_t max = table->columns[table->n_cells % table->n_columns].max;

    if (table->n_cells == table->capacity) {
        size_t capacity = table->capacity ? 2 * table->capacity : 64;
        char **cells = reallocarray(table->cells, capacity, sizeof(*cells));

        if (!cells)
            return;
        table->cells = cells;
        table->capacity = capacity;
    }
    table->cells[table->n_cells++] = visible(text ? text : "-", max);
}

void table_addf(struct table *table, const char *fmt, ...)
{
    char text[256];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    table_add(table, text);
}

static size_t length(const char *text)
{
    size_t count;

    (void)prefix(text, SIZE_MAX, &count);
    return count;
}

static const char *cell_at(const struct table *table, size_t row, size_t column)
{
    size_t at = row * table->n_columns + column;

    return at < table->n_cells && table->cells[at] ? table->cells[at] : "";
}

static void print_cell(const struct table *table, FILE *out, size_t column, size_t width,
                       const char *text)
{
    bool is_last = column + 1 == table->n_columns, is_number = table->columns[column].is_number;
    size_t count, bytes = prefix(text, width ? width : SIZE_MAX, &count);
    int pad = (int)(width > count ? width - count : 0);

    if (column && !(is_last && !count)) /* no space at the end of a line */
        (void)fputs("  ", out);
    (void)fprintf(out, "%*s%.*s%*s%s", is_number ? pad : 0, "", (int)bytes, text,
                  is_number || is_last ? 0 : pad, "", is_last ? "\n" : "");
}

void table_print(const struct table *table, FILE *out, size_t width)
{
    size_t widths[TABLE_COLUMNS_MAX] = {0}, rows = table->n_cells / table->n_columns, used = 0;

    for (size_t c = 0; c < table->n_columns; c++) {
        widths[c] = length(table->columns[c].name);
        for (size_t r = 0; r < rows; r++)
            if (length(cell_at(table, r, c)) > widths[c])
                widths[c] = length(cell_at(table, r, c));
        used += c + 1 < table->n_columns ? widths[c] + 2 : 0;
    }
    if (width > used + 8 && !table->columns[table->n_columns - 1].is_number &&
        widths[table->n_columns - 1] > width - used)
        widths[table->n_columns - 1] = width - used;
    for (size_t c = 0; c < table->n_columns; c++)
        print_cell(table, out, c, widths[c], table->columns[c].name);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < table->n_columns; c++)
            print_cell(table, out, c, widths[c], cell_at(table, r, c));
}

const char *table_age(double seconds, char text[TABLE_AGE_SIZE])
{
    static const struct {
        double from, unit;
        const char *name;
    } units[] = {{48 * 3600, 86400, "d"}, {7200, 3600, "h"}, {120, 60, "min"}, {0, 1, "s"}};
    size_t i = 0;

    if (!isfinite(seconds) || seconds < 0 || seconds > 1e12)
        return "-"; /* from a hostile server */
    while (seconds < units[i].from)
        i++;
    (void)snprintf(text, TABLE_AGE_SIZE, "%.0f %s", floor(seconds / units[i].unit), units[i].name);
    return text;
}

const char *table_size(double bytes, char text[TABLE_AGE_SIZE])
{
    static const char *const names[] = {"B", "KB", "MB", "GB", "TB"};
    size_t i = 0;

    if (!isfinite(bytes) || bytes < 0 || bytes > 1e15)
        return "-";
    for (; bytes >= 1000 && i + 1 < sizeof(names) / sizeof(*names); i++)
        bytes /= 1000;
    (void)snprintf(text, TABLE_AGE_SIZE, i ? "%.1f %s" : "%.0f %s", bytes, names[i]);
    return text;
}

size_t table_width(int fd)
{
    struct winsize size = {0};

    return isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
