/* Rows of a table that are not lines: their begin and end.
 *
 *   ROWS_LINES     lines of the text
 *   ROWS_WRITTEN   "user,password\nann,X\n": what a string calls lines, also one in another string
 *   ROWS_HTML      <tr><td>ann</td><td>X</td></tr>
 *   ROWS_LISTS     [["user", "password"], ["ann", "X"]], ("ann", "X")
 */
#include "mask/cells.h"

/* Brackets, commas and a name between two lists. */
#define BETWEEN_MAX ((size_t)120)

/* The names of a list before the one that is secret. */
#define LIST_MAX ((size_t)240)

/* Backslashes before a name that are looked at. */
#define SLASHES_MAX 8

/* ---- in a string ---- */

/* The number of backslashes here. */
static size_t count_slashes(const struct masker *s, size_t at, size_t limit)
{
    size_t n = 0;

    while (at + n < limit && n < 16 && masker_at(s, at + n) == '\\')
        n++;
    return n;
}

/* \n or \r\n, with so many backslashes each: how long it is. 0: it is none; SIZE_MAX: it may be. */
static size_t written_newline(const struct masker *s, size_t at, size_t limit, unsigned depth)
{
    size_t n = count_slashes(s, at, limit), len = 0;

    if (at + n >= limit)
        return SIZE_MAX;
    if (n != depth)
        return 0;
    if (masker_at(s, at + n) == 'r') {
        len = n + 1;
        n = count_slashes(s, at + len, limit);
        if (at + len + n >= limit)
            return SIZE_MAX;
    }
    return n == depth && masker_at(s, at + len + n) == 'n' ? len + n + 1 : 0;
}

static enum masker_read read_written(const struct masker *s, const struct masker_table *table,
                                     size_t at, size_t limit, size_t max, struct cells_line *line)
{
    size_t i = at, n = 0;

    for (; i < limit && i - at < max; i += n ? n : 1) {
        unsigned char c = masker_at(s, i);

        n = 0;
        if (c == '\n')
            return READ_NONE;
        if (c == table->quote) {
            *line = (struct cells_line){at, i, i};
            return i > at ? READ_VALUE : READ_NONE;
        }
        if (c != '\\')
            continue;
        n = written_newline(s, i, limit, table->depth);
        if (n == SIZE_MAX)
            return s->is_final && limit == s->view.len ? READ_NONE : READ_MORE;
        if (n) {
            *line = (struct cells_line){at, i, i + n};
            return READ_VALUE;
        }
        n = count_slashes(s, i, limit);
        /* The quote of this string, which is itself in one. */
        if (n < table->depth && masker_at(s, i + n) == table->quote) {
            *line = (struct cells_line){at, i, i};
            return i > at ? READ_VALUE : READ_NONE;
        }
        n++;
    }
    return i < limit || (s->is_final && limit == s->view.len) ? READ_NONE : READ_MORE;
}

/* ---- in HTML ---- */

static bool is_tag(const struct masker *s, size_t at, size_t limit, const char *tag)
{
    size_t len = strlen(tag);

    return at + len <= limit && strncasecmp(masker_view(s, at), tag, len) == 0;
}

static enum masker_read read_html(const struct masker *s, size_t at, size_t limit, size_t max,
                                  struct cells_line *line)
{
    size_t i = at;

    for (; i < limit && i - at < max; i++) {
        if (masker_at(s, i) != '<')
            continue;
        if (is_tag(s, i, limit, "</table"))
            return READ_NONE;
        if (is_tag(s, i, limit, "</tr>")) {
            *line = (struct cells_line){at, i, i + 5};
            return READ_VALUE;
        }
    }
    return i < limit || (s->is_final && limit == s->view.len) ? READ_NONE : READ_MORE;
}

unsigned rows_split_html(const struct masker *s, const struct cells_line *line,
                         struct masker_cell *cells)
{
    unsigned n = 0;

    for (size_t at = line->start; at < line->end; at++) {
        size_t start, end;

        if (masker_at(s, at) != '<' ||
            (!is_tag(s, at, line->end, "<td") && !is_tag(s, at, line->end, "<th")) ||
            is_tag(s, at, line->end, "<thead"))
            continue;
        for (start = at; start < line->end && masker_at(s, start) != '>';)
            start++;
        start = start < line->end ? start + 1 : start;
        for (end = start; end < line->end && masker_at(s, end) != '<';)
            end++;
        at = end > at ? end - 1 : at;
        while (start < end && masker_is_space(masker_at(s, start)))
            start++;
        while (end > start && masker_is_space(masker_at(s, end - 1)))
            end--;
        if (n < MASKER_COLUMNS_MAX)
            cells[n] = (struct masker_cell){start, end};
        n++;
    }
    return n;
}

/* ---- in lists ---- */

/* Behind the string at `at`. SIZE_MAX: it has no end here. */
static size_t string_end(const struct masker *s, size_t at, size_t limit)
{
    unsigned char quote = masker_at(s, at);

    for (at++; at < limit && masker_at(s, at) != '\n'; at++) {
        if (masker_at(s, at) == quote)
            return at + 1;
        at += masker_at(s, at) == '\\';
    }
    return SIZE_MAX;
}

/* The bracket with which the next list begins. SIZE_MAX: there is none; `limit`: more must come. */
static size_t find_list(const struct masker *s, size_t at, size_t limit)
{
    size_t begin = at;
    bool has_name = false;

    for (; at < limit && at - begin < BETWEEN_MAX; at++) {
        unsigned char c = masker_at(s, at);

        if (masker_is_in("\"'", c) && !has_name) {
            size_t end = string_end(s, at, limit);

            if (end == SIZE_MAX)
                return limit - begin < BETWEEN_MAX ? limit : SIZE_MAX;
            has_name = true;
            at = end - 1;
        } else if (masker_is_in("[(", c)) {
            size_t next = at + 1;

            while (next < limit && masker_is_space(masker_at(s, next)))
                next++;
            if (next >= limit)
                return limit;
            if (!masker_is_in("[(", masker_at(s, next)))
                return at;
        } else if (!masker_is_space(c) && !masker_is_in(",:])", c)) {
            return SIZE_MAX;
        }
    }
    return at < limit ? SIZE_MAX : limit;
}

static enum masker_read read_list(const struct masker *s, size_t at, size_t limit, size_t max,
                                  struct cells_line *line)
{
    bool is_all = s->is_final && limit == s->view.len;
    size_t i = find_list(s, at, limit);

    if (i == SIZE_MAX || (i == limit && is_all))
        return READ_NONE;
    line->start = i + 1;
    for (i++; i < limit && i - at < max; i++) {
        unsigned char c = masker_at(s, i);

        if (masker_is_in("\"'", c)) {
            i = string_end(s, i, limit) - 1;
            if (i == SIZE_MAX - 1)
                break;
        } else if (masker_is_in("])", c)) {
            line->end = i;
            line->next = i + 1;
            return READ_VALUE;
        } else if (masker_is_in("[({}", c)) {
            return READ_NONE;
        }
    }
    return limit - at >= max || is_all ? READ_NONE : READ_MORE;
}

unsigned rows_split_list(const struct masker *s, const struct cells_line *line,
                         struct masker_cell *cells)
{
    unsigned n = 0;

    for (size_t at = line->start; at < line->end; at++) {
        size_t start, end;

        while (at < line->end && masker_is_space(masker_at(s, at)))
            at++;
        start = end = at;
        if (at < line->end && masker_is_in("\"'", masker_at(s, at))) {
            end = string_end(s, at, line->end);
            end = end == SIZE_MAX ? line->end : end;
            start = at + 1;
            at = end--;
        }
        while (at < line->end && masker_at(s, at) != ',')
            at++;
        if (n < MASKER_COLUMNS_MAX) /* only strings are secret */
            cells[n] = (struct masker_cell){start, end > start ? end : start};
        n++;
    }
    return n;
}

/* ---- the notation of a table ---- */

enum masker_read rows_read(const struct masker *s, const struct masker_table *table, size_t at,
                           size_t limit, size_t max, struct cells_line *line)
{
    enum masker_read r;

    if (table->rows == ROWS_LINES)
        return cells_read_line(s, at, limit, max, line);
    *line = (struct cells_line){at, at, at};
    limit = limit > at ? limit : at;
    r = table->rows == ROWS_WRITTEN ? read_written(s, table, at, limit, max, line)
        : table->rows == ROWS_HTML  ? read_html(s, at, limit, max, line)
                                    : read_list(s, at, limit, max, line);
    masker_charge(s, 2 * (r == READ_VALUE    ? line->next - at
                          : limit - at < max ? limit - at
                                             : max) +
                         2);
    return r;
}

/* The beginning of the written line in which `from` stands; SIZE_MAX: it is in none. */
static size_t begin_written(const struct masker *s, size_t from, size_t low,
                            struct masker_table *table)
{
    struct masker_line line = masker_line_at(s, from);
    const char *quote, *slash;
    size_t start = SIZE_MAX, end = from;

    if (!line.is_known || !line.quote || from == low)
        return SIZE_MAX;
    masker_charge(s, (from - low) / 8 + 1);
    table->quote = line.quote;
    quote = memrchr(masker_view(s, low), line.quote, from - low);
    if (quote)
        start = low = (size_t)(quote - s->view.data) + 1;
    for (unsigned n = 0; n < SLASHES_MAX && end > low; n++) {
        slash = memrchr(masker_view(s, low), '\\', end - low);
        if (!slash)
            break;
        end = (size_t)(slash - s->view.data);
        if (end + 1 < from && masker_is_in("nr", masker_at(s, end + 1))) {
            start = end + 2;
            break;
        }
    }
    return start < from && memchr(masker_view(s, start), '\n', from - start) ? SIZE_MAX : start;
}

/* The backslashes of the newline that ends the written line. READ_MORE: it may end so. */
static enum masker_read find_depth(const struct masker *s, size_t from, size_t limit, size_t max,
                                   struct masker_table *table)
{
    size_t end = masker_run_end(s, RUN_SEGMENT, from)->end, stop, n;

    stop = end < limit ? end : limit;
    stop = stop - from < max ? stop : from + max;
    masker_charge(s, (stop - from) / 8 + 1);
    if (memchr(masker_view(s, from), table->quote, stop - from))
        return READ_NONE;
    if (stop - from >= max)
        return READ_NONE;
    n = end < limit ? count_slashes(s, end, limit) : 0;
    if (end >= limit || end + n >= limit)
        return s->is_final && limit == s->view.len ? READ_NONE : READ_MORE;
    if (!n || n > 4)
        return READ_NONE;
    table->depth = (unsigned)n;
    return READ_VALUE;
}

static size_t begin_html(const struct masker *s, size_t from, size_t low)
{
    size_t name = from;

    /* Behind <th>, <td> or one with attributes. */
    while (name > low && masker_at(s, name - 1) != '>' && masker_at(s, name - 1) != '<')
        name--;
    masker_charge(s, from - name + 1);
    if (name < low + 2 || masker_at(s, name - 1) != '>' ||
        !masker_is_in("hHdD\"'", masker_at(s, name - 2)))
        return SIZE_MAX;
    for (size_t at = from; at > low; at--) {
        if (masker_at(s, at - 1) != '<')
            continue;
        if (is_tag(s, at - 1, from, "<tr"))
            return at - 1;
        if (is_tag(s, at - 1, from, "</tr"))
            break;
    }
    masker_charge(s, from - low);
    return SIZE_MAX;
}

static size_t begin_list(const struct masker *s, size_t from, size_t low)
{
    size_t at = from;

    low = from - low > LIST_MAX ? from - LIST_MAX : low;
    while (at > low && (masker_is_alnum(masker_at(s, at - 1)) || masker_at(s, at - 1) >= 0x80 ||
                        masker_is_in("\"', _-.\t\r\n", masker_at(s, at - 1))))
        at--;
    masker_charge(s, from - at);
    if (at <= low || !masker_is_in("[(", masker_at(s, at - 1)))
        return SIZE_MAX;
    /* Behind a comma it is one of the rows. */
    for (low = --at; low && at - low < 16 && masker_is_space(masker_at(s, low - 1));)
        low--;
    return low && masker_at(s, low - 1) == ',' ? SIZE_MAX : at;
}

enum masker_read rows_begin(const struct masker *s, size_t from, size_t limit, size_t max,
                            struct masker_table *table, size_t *ret_start)
{
    size_t low = from > max ? from - max : 0, end = from;
    unsigned char next;
    enum masker_read r;

    *ret_start = SIZE_MAX;
    while (end < limit &&
           (masker_is_alnum(masker_at(s, end)) || masker_at(s, end) >= 0x80 ||
            masker_is_in("_-. ", masker_at(s, end))) &&
           end - from < max)
        end++;
    masker_charge(s, end - from);
    if (end + 1 >= limit && !(s->is_final && limit == s->view.len))
        return end - from < max ? READ_MORE : READ_NONE;
    next = end < limit ? masker_at(s, end) : '\n';
    if (next == '<' && end + 1 < limit && masker_at(s, end + 1) == '/') {
        table->rows = ROWS_HTML;
        *ret_start = begin_html(s, from, low);
        return *ret_start == SIZE_MAX ? READ_NONE : READ_VALUE;
    }
    *ret_start = begin_written(s, from, low, table);
    if (*ret_start != SIZE_MAX) {
        r = find_depth(s, from, limit, max, table);
        table->rows = ROWS_WRITTEN;
        if (r != READ_NONE)
            return r;
    }
    if (!masker_is_in("\"'", next))
        return READ_NONE;
    table->rows = ROWS_LISTS;
    *ret_start = begin_list(s, from, low);
    return *ret_start == SIZE_MAX ? READ_NONE : READ_VALUE;
}
