/* Lines of tables and their cells: where they begin and end, and which of them may be names. */
#include "mask/cells.h"

#include "base/cleanup.h"

#define NAME_MAX_LEN ((size_t)40)

/* ---- lines ---- */

/* READ_NONE: it is too long, or there is none. */
enum masker_read cells_read_line(const struct masker *s, size_t at, size_t limit, size_t max,
                                 struct cells_line *line)
{
    size_t most = limit > at ? limit - at : 0;
    const char *newline;

    *line = (struct cells_line){at, limit > at ? limit : at, limit > at ? limit : at};
    most = most < max ? most : max;
    newline = most ? memchr(masker_view(s, at), '\n', most) : NULL;
    masker_charge(s, newline ? (size_t)(newline - s->view.data) - at + 1 : most + 1);
    if (!newline) {
        if (most == max || (s->is_final && limit == s->view.len && !most))
            return READ_NONE;
        if (!s->is_final || limit < s->view.len)
            return READ_MORE;
    } else {
        line->end = (size_t)(newline - s->view.data);
        line->next = line->end + 1;
    }
    if (line->end > at && masker_at(s, line->end - 1) == '\r')
        line->end--;
    return READ_VALUE;
}

bool cells_is_blank(unsigned char c)
{
    return c == ' ' || c == '\t';
}

/* ---- cells ---- */

/* The bytes of a sign between cells: | and the lines of boxes, │ ┃ ┆ ┊ ║. */
size_t cells_border(const struct masker *s, size_t at, size_t end)
{
    const unsigned char *p = (const unsigned char *)masker_view(s, at);

    if (at >= end)
        return 0;
    if (*p == '|')
        return 1;
    if (*p != 0xe2 || end - at < 3)
        return 0;
    return (p[1] == 0x94 && (p[2] == 0x82 || p[2] == 0x83 || p[2] == 0x86 || p[2] == 0x8a)) ||
                   (p[1] == 0x95 && p[2] == 0x91)
               ? 3
               : 0;
}

/* A line of dashes and corners, with three dashes at least. */
bool cells_is_rule(const struct masker *s, const struct cells_line *line)
{
    size_t dashes = 0;

    masker_charge(s, line->end - line->start);
    for (size_t at = line->start; at < line->end; at++) {
        unsigned char c = masker_at(s, at);

        if (c == 0xe2 && line->end - at >= 3 && masker_at(s, at + 1) >= 0x94 &&
            masker_at(s, at + 1) <= 0x95) {
            dashes++;
            at += 2;
        } else if (c == '-' || c == '=') {
            dashes++;
        } else if (!c || !strchr("+|: \t", c)) {
            return false;
        }
    }
    return dashes >= 3;
}

/* Is it the upper border of a box? A rule of dashes may stand between any two rows. */
bool cells_begins_box(const struct masker *s, const struct cells_line *line)
{
    static const char *const corners[] = {"\u250c", "\u250f", "\u2554", "\u256d", "\u2552"};
    size_t at = line->start;

    while (at < line->end && cells_is_blank(masker_at(s, at)))
        at++;
    for (size_t i = 0; i < ARRAY_SIZE(corners); i++)
        if (line->end - at >= 3 && memcmp(masker_view(s, at), corners[i], 3) == 0)
            return true;
    return false;
}

bool cells_is_types(const struct masker *s, const struct cells_line *line)
{
    struct masker_cell columns[MASKER_COLUMNS_MAX], cells[MASKER_COLUMNS_MAX];
    unsigned count = cells_split_words(s, line, false, columns, cells);

    for (unsigned i = 0; i < count; i++)
        if (cells[i].end - cells[i].start < 3 || masker_at(s, cells[i].start) != '<' ||
            masker_at(s, cells[i].end - 1) != '>')
            return false;
    masker_charge(s, line->end - line->start);
    return count > 0;
}

/* A line of a box that is drawn: ─ ━ ┬ ┳ ┌ ┐ and the like. */
static bool is_drawn(const struct masker *s, size_t at, size_t end)
{
    return end - at >= 3 && masker_at(s, at) == 0xe2 && masker_at(s, at + 1) >= 0x94 &&
           masker_at(s, at + 1) <= 0x95;
}

unsigned cells_split_border(const struct masker *s, const struct cells_line *line,
                            struct masker_cell *cells)
{
    unsigned n = 0;

    if (!cells_begins_box(s, line))
        return 0;
    for (size_t at = line->start; at < line->end;) {
        size_t start;

        while (at < line->end && (is_drawn(s, at, line->end) || cells_is_blank(masker_at(s, at))))
            at += is_drawn(s, at, line->end) ? 3 : 1;
        for (start = at; at < line->end && !is_drawn(s, at, line->end);)
            at++;
        if (at > start && n < MASKER_COLUMNS_MAX)
            cells[n] = (struct masker_cell){start, at};
        n += at > start;
    }
    masker_charge(s, line->end - line->start);
    return n;
}

static struct masker_cell trim(const struct masker *s, size_t start, size_t end)
{
    while (start < end && cells_is_blank(masker_at(s, start)))
        start++;
    while (end > start && cells_is_blank(masker_at(s, end - 1)))
        end--;
    if (end - start > 3 && memcmp(masker_view(s, start), "_. ", 3) == 0)
        start += 3;
    if (end - start >= 2 && masker_at(s, start) && strchr("\"'`", masker_at(s, start)) &&
        masker_at(s, end - 1) == masker_at(s, start))
        return (struct masker_cell){start + 1, end - 1};
    return (struct masker_cell){start, end};
}

/* The bytes of the delimiter here: 0, where it is not. */
static size_t delimiter_at(const struct masker *s, size_t at, size_t end, unsigned char delimiter)
{
    size_t n = 0;

    if (delimiter != CELLS_WRITTEN_TAB)
        return masker_at(s, at) == delimiter;
    while (at + n < end && n < 8 && masker_at(s, at + n) == '\\')
        n++;
    return n && at + n < end && masker_at(s, at + n) == 't' ? n + 1 : 0;
}

/* Behind the field at `at`: a quoted one may hold the delimiter. */
size_t cells_field_end(const struct masker *s, size_t at, size_t end, unsigned char delimiter)
{
    size_t i = at;

    while (i < end && masker_at(s, i) == ' ' && delimiter != ' ')
        i++;
    if (i < end && masker_at(s, i) == '"')
        for (i++; i < end; i++) {
            if (masker_at(s, i) != '"')
                continue;
            if (i + 1 < end && masker_at(s, i + 1) == '"')
                i++;
            else
                break;
        }
    else
        i = at;
    while (i < end && !delimiter_at(s, i, end, delimiter))
        i++;
    return i;
}

/* The number of cells; those that there is no room for are counted. */
unsigned cells_split_fields(const struct masker *s, const struct cells_line *line,
                            unsigned char delimiter, struct masker_cell *cells)
{
    unsigned n = 0;

    for (size_t at = line->start;; at++) {
        size_t end = cells_field_end(s, at, line->end, delimiter);

        if (n < MASKER_COLUMNS_MAX)
            cells[n] = trim(s, at, end);
        n++;
        if (end >= line->end)
            return n;
        at = end + delimiter_at(s, end, line->end, delimiter) - 1;
    }
}

unsigned cells_split(const struct masker *s, const struct cells_line *line,
                     struct masker_cell *cells)
{
    size_t at = line->start, end = line->end, border;
    bool is_double;
    unsigned n = 0;

    while (at < end && cells_is_blank(masker_at(s, at)))
        at++;
    is_double = end - at > 4 && memcmp(masker_view(s, at), "||", 2) == 0 &&
                memcmp(masker_view(s, end - 2), "||", 2) == 0;
    at += is_double ? 2 : cells_border(s, at, end);
    while (end > at && cells_is_blank(masker_at(s, end - 1)))
        end--;
    for (size_t i = at;; i++) {
        border = cells_border(s, i, end);
        if (i < end && !border)
            continue;
        if (n < MASKER_COLUMNS_MAX)
            cells[n] = trim(s, at, i);
        n++;
        at = i + border;
        if (at >= end)
            return n;
        if (is_double && masker_at(s, at) == '|' && ++at >= end)
            return n;
        i = at - 1;
    }
}

/* Words, or what two blanks separate. `cells` are places in characters from the line's start, and
 * `at` is where they begin. */
unsigned cells_split_words(const struct masker *s, const struct cells_line *line, bool is_wide,
                           struct masker_cell *columns, struct masker_cell *cells)
{
    size_t column = 0;
    unsigned n = 0;
    bool is_in = false;

    for (size_t at = line->start; at < line->end && n < MASKER_COLUMNS_MAX; at++) {
        unsigned char c = masker_at(s, at);
        bool ends = c == ' ' && (!is_wide || at + 1 >= line->end || masker_at(s, at + 1) == ' ');

        if (is_in && ends) {
            columns[n].end = column;
            cells[n++].end = at;
            is_in = false;
        } else if (!is_in && c != ' ') {
            columns[n].start = column;
            cells[n].start = at;
            is_in = true;
        }
        column += (c & 0xc0) != 0x80;
    }
    if (is_in) {
        columns[n].end = column;
        cells[n++].end = line->end;
    }
    return n;
}

/* ---- names ---- */

bool cells_is_name(const struct masker *s, struct masker_cell cell)
{
    unsigned words = 1;

    if (cell.end <= cell.start || cell.end - cell.start > NAME_MAX_LEN ||
        masker_is_digit(masker_at(s, cell.start)) || masker_at(s, cell.end - 1) == '.')
        return false;
    for (size_t i = cell.start; i < cell.end; i++) {
        unsigned char c = masker_at(s, i);

        if (masker_is_alnum(c) || c >= 0x80)
            continue;
        words += c == ' ';
        if (!c || !strchr("_-. #*/", c))
            return false;
    }
    return words <= 3;
}

bool cells_is_dots(const struct masker *s, struct masker_cell cell)
{
    return cell.end - cell.start == 3 && memcmp(masker_view(s, cell.start), "...", 3) == 0;
}

/* The name of a frame's index, which stands in a line of its own below the others. */
bool cells_is_index_name(const struct masker *s, const struct cells_line *line)
{
    struct masker_cell columns[MASKER_COLUMNS_MAX], cells[MASKER_COLUMNS_MAX];
    unsigned count = cells_split_words(s, line, false, columns, cells);

    masker_charge(s, line->end - line->start);
    return (count == 1 || (count == 2 && cells_is_dots(s, cells[1]))) && !columns[0].start &&
           cells_is_blank(masker_at(s, line->end - 1)) && cells_is_name(s, cells[0]);
}

/* A blank line of bytes that no name of a column has is none of names. */
bool cells_may_be_names(const struct masker *s, const struct cells_line *line)
{
    for (size_t i = line->start; i < line->end; i++) {
        unsigned char c = masker_at(s, i);

        if (!masker_is_alnum(c) && c < 0x80 && !(c && strchr("_-. #*/", c)))
            return false;
    }
    return true;
}

bool cells_has_wide_gap(const struct masker *s, const struct cells_line *line)
{
    return line->end > line->start &&
           (masker_at(s, line->start) == ' ' ||
            memmem(masker_view(s, line->start), line->end - line->start, "  ", 2));
}

/* ---- headers, and what all lines begin with ---- */

/* The sign that stands there most often. Colons are between words in every text: there must be two
 * of them and no blank. */
unsigned char cells_find_delimiter(const struct masker *s, const struct masker_table *table,
                                   const struct cells_line *line)
{
    enum { OTHER, TAB, COMMA, SEMICOLON, COLON, BLANK, WRITTEN, KINDS };
    static const unsigned char kinds[256] = {['\t'] = TAB,  [','] = COMMA, [';'] = SEMICOLON,
                                             [':'] = COLON, [' '] = BLANK, ['\\'] = WRITTEN};
    static const unsigned char delimiters[] = {
        [TAB] = '\t', [COMMA] = ',', [SEMICOLON] = ';', [WRITTEN] = CELLS_WRITTEN_TAB};
    size_t count[KINDS] = {0}, most = TAB;

    for (size_t i = line->start; i < line->end; i++)
        count[kinds[masker_at(s, i)]]++;
    for (size_t k = COMMA; k <= SEMICOLON; k++)
        most = count[k] > count[most] ? k : most;
    if (table->rows == ROWS_WRITTEN && count[WRITTEN] > count[most])
        most = WRITTEN;
    if (count[most])
        return delimiters[most];
    return count[COLON] >= 2 && !count[BLANK] ? ':' : 0;
}

/* Digits here: where they end. */
static size_t skip_digits(const struct masker *s, size_t at, size_t end, size_t max)
{
    size_t i = at;

    while (i < end && i - at < max && masker_is_digit(masker_at(s, i)))
        i++;
    return i;
}

/* Behind 2024-05-01T10:00:00.123Z and the name of a program with its number; `start`: neither. */
static size_t skip_time(const struct masker *s, size_t start, size_t end)
{
    size_t at = start, word;

    if (end - start < 21 || skip_digits(s, start, end, 5) != start + 4 ||
        masker_at(s, start + 4) != '-' || masker_at(s, start + 13) != ':')
        return start;
    while (at < end && at - start < 36 &&
           (masker_is_digit(masker_at(s, at)) || masker_is_in("-:.,+TZ", masker_at(s, at)) ||
            (masker_at(s, at) == ' ' && at == start + 10)))
        at++;
    if (at >= end || masker_at(s, at) != ' ')
        return start;
    for (word = ++at;
         at < end && at - word < 24 &&
         (masker_is_alnum(masker_at(s, at)) || masker_is_in("_-./", masker_at(s, at)));)
        at++;
    if (at > word && at < end && masker_at(s, at) == '[')
        at = skip_digits(s, at + 1, end, 8) + 1;
    else
        return word;
    return at + 1 < end && masker_at(s, at) == ':' && masker_at(s, at + 1) == ' ' ? at + 2 : word;
}

/* Behind web-1  | of a service, and file.cfg:7: of a search; `start`: neither. */
static size_t skip_source(const struct masker *s, size_t start, size_t end)
{
    size_t at = start, digits;

    while (at < end && at - start < 80 &&
           (masker_is_alnum(masker_at(s, at)) || masker_is_in("_-./", masker_at(s, at))))
        at++;
    if (at == start || at >= end)
        return start;
    if (masker_at(s, at) == ':' && memchr(masker_view(s, start), '.', at - start)) {
        digits = skip_digits(s, at + 1, end, 7);
        return digits > at + 1 && digits < end && masker_at(s, digits) == ':' ? digits + 1 : start;
    }
    if (at < start + 3 || !masker_is_digit(masker_at(s, at - 1)) || masker_at(s, at - 2) != '-')
        return start;
    while (at < end && masker_at(s, at) == ' ')
        at++;
    return end - at > 2 && memcmp(masker_view(s, at), "| ", 2) == 0 ? at + 2 : start;
}

/* Behind the number of the line, as cat -n and grep -n write it, and what logs write before each
 * line; `start`: there is none. */
static size_t skip_number(const struct masker *s, const struct cells_line *line)
{
    size_t at = line->start, digits;

    while (at < line->end && masker_at(s, at) == ' ')
        at++;
    digits = at;
    at = skip_digits(s, at, line->end, 8);
    if (at > digits && at < line->end && masker_is_in("\t:", masker_at(s, at)))
        return at + 1;
    masker_charge(s, 4);
    at = skip_time(s, line->start, line->end);
    return at > line->start ? at : skip_source(s, line->start, line->end);
}

/* Behind <pre> or another element, and in an escaped text behind body= and {"body": ". */
static size_t skip_around(const struct masker *s, const struct cells_line *line)
{
    const char *text = masker_view(s, line->start);
    size_t len = line->end - line->start, at = line->start, quotes = 0;
    const char *pre = memmem(text, len, "<pre>", 5);

    if (pre)
        return (size_t)(pre - s->view.data) + 5;
    if (len && *text == '<') {
        while (at + 1 < line->end && masker_is_alnum(masker_at(s, at + 1)))
            at++;
        if (at > line->start && at + 2 < line->end && masker_at(s, at + 1) == '>')
            return at + 2;
        at = line->start;
    }
    /* echo '| user | password | */
    for (size_t i = line->start; i + 1 < line->end; i++) {
        if (masker_at(s, i + 1) != '|')
            continue;
        if (masker_is_in("='\">", masker_at(s, i)))
            return i + 1;
        break;
    }
    if (!s->is_decoded)
        return at;
    for (size_t i = line->start; i < line->end; i++)
        if (masker_at(s, i) == '"') {
            quotes++;
            at = i + 1;
        }
    if (quotes % 2)
        return at;
    at = line->start;
    /* body=user, GET /?body=user */
    for (size_t i = at, is_query = 1; i < line->end; i++) {
        is_query = cells_is_blank(masker_at(s, i))       ? 0
                   : masker_is_in("?&", masker_at(s, i)) ? 1
                                                         : is_query;
        if (masker_at(s, i) == '=' && is_query)
            at = i + 1;
    }
    return at;
}

void cells_find_prefix(const struct masker *s, struct cells_line *line, struct masker_table *table)
{
    static const char *const prefixes[] = {"> ", "# ", "// ", "-- ", "+"};
    size_t number;

    if (table->rows != ROWS_LINES)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
        size_t n = strlen(prefixes[i]);

        if (line->end - line->start <= n ||
            memcmp(masker_view(s, line->start), prefixes[i], n) != 0 ||
            masker_is_in("-=", masker_at(s, line->start + n)))
            continue;
        table->prefix_len = (unsigned char)n;
        memcpy(table->prefix, prefixes[i], n);
        line->start += n;
        return;
    }
    number = skip_number(s, line);
    table->is_numbered = number > line->start;
    line->start = number;
    line->start = skip_around(s, line);
}

enum masker_read cells_read_row(const struct masker *s, const struct masker_table *table, size_t at,
                                size_t limit, size_t max, struct cells_line *line)
{
    enum masker_read r = rows_read(s, table, at, limit, max, line);

    if (r == READ_VALUE && table->is_numbered) {
        size_t number = skip_number(s, line);

        if (number == line->start)
            return READ_NONE;
        line->start = number;
    }
    if (r != READ_VALUE || !table->prefix_len)
        return r;
    if (line->end - line->start < table->prefix_len ||
        memcmp(masker_view(s, line->start), table->prefix, table->prefix_len) != 0)
        return READ_NONE;
    line->start += table->prefix_len;
    return r;
}

void cells_skip_opening(const struct masker *s, struct masker_cell *cell)
{
    for (size_t i = cell->end; i-- > cell->start;)
        if (masker_at(s, i) && strchr("\"'`>\t", masker_at(s, i))) {
            cell->start = i + 1;
            return;
        }
}
