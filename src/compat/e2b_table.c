/* The CSV form of a table as lists of values, one for each column. The types of the columns say
 * which values are numbers. */
#include "compat/e2b_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* As many as a program's display has (library/display.py), and the names of an index. */
#define COLUMNS_MAX 256
#define ROWS_MAX    1000
#define NUMBER_MAX  64

enum kind { KIND_TEXT, KIND_INTEGER, KIND_NUMBER, KIND_BOOLEAN, KIND_DATE };

struct column {
    enum kind kind;
    json_t *values; /* one of two references: two columns may have one name */
};

/* Reads the next field of a line. *ret_text: without its quotes, a doubled one inside is one; the
 * text is changed in place. *ret_is_last: the line ends behind it. */
static bool next_field(char **at, const char *end, struct span *ret_text, bool *ret_is_last)
{
    char *from = *at, *to = from, *p = from;
    bool is_quoted = p < end && *p == '"';

    for (p += is_quoted; p < end; p++) {
        if (is_quoted && *p == '"') {
            if (p + 1 < end && p[1] == '"') {
                p++;
            } else {
                p++;
                is_quoted = false;
                break;
            }
        } else if (!is_quoted && (*p == ',' || *p == '\n')) {
            break;
        }
        *to++ = *p;
    }
    if (is_quoted || (p < end && *p != ',' && *p != '\n'))
        return false;
    *ret_text = (struct span){from, (size_t)(to - from)};
    *ret_is_last = p >= end || *p == '\n';
    *at = p < end ? p + 1 : p;
    return true;
}

static enum kind kind_of(const char *dtype)
{
    static const struct {
        const char *beginning;
        enum kind kind;
    } kinds[] = {
        {"int", KIND_INTEGER},  {"uint", KIND_INTEGER},  {"Int", KIND_INTEGER},
        {"UInt", KIND_INTEGER}, {"float", KIND_NUMBER},  {"Float", KIND_NUMBER},
        {"bool", KIND_BOOLEAN}, {"datetime", KIND_DATE},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strncmp(dtype, kinds[i].beginning, strlen(kinds[i].beginning)) == 0)
            return kinds[i].kind;
    return KIND_TEXT;
}

/* A field that is not a number, because it was masked, is text. */
static json_t *number_json(struct span text, bool is_integer)
{
    char copy[NUMBER_MAX], *end = copy;
    double number;
    long long whole;

    if (text.len >= sizeof(copy))
        return json_text_string(text.data, text.len);
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    if (is_integer) {
        whole = strtoll(copy, &end, 10);
        if (!*end && whole > INT64_MIN && whole < INT64_MAX)
            return json_integer(whole);
    }
    number = strtod(copy, &end);
    if (*end)
        return json_text_string(text.data, text.len);
    return number - number == 0 ? json_real(number) : json_null(); /* no number, or infinity */
}

/* "2026-01-02 03:04:05" and "2026-01-02", as clients read times. */
static json_t *date_json(struct span text)
{
    static const char midnight[] = "T00:00:00";
    char copy[NUMBER_MAX];

    if (text.len < 10 || text.len + sizeof(midnight) > sizeof(copy) ||
        (text.len > 10 && text.data[10] != ' '))
        return json_text_string(text.data, text.len);
    memcpy(copy, text.data, text.len);
    if (text.len > 10) {
        copy[10] = 'T';
        return json_text_string(copy, text.len);
    }
    memcpy(copy + text.len, midnight, sizeof(midnight) - 1);
    return json_text_string(copy, text.len + sizeof(midnight) - 1);
}

static json_t *value_json(struct span text, enum kind kind)
{
    if (kind != KIND_TEXT && !text.len)
        return json_null();
    switch (kind) {
    case KIND_INTEGER:
    case KIND_NUMBER:
        return number_json(text, kind == KIND_INTEGER);
    case KIND_BOOLEAN:
        return span_is(text, "True")    ? json_true()
               : span_is(text, "False") ? json_false()
                                        : json_text_string(text.data, text.len);
    case KIND_DATE:
        return date_json(text);
    default:
        return json_text_string(text.data, text.len);
    }
}

/* The first line: names. In front of those of the columns may be the index's, which are left out.
 * *ret_skipped: how many. False: they are not the table's. */
static bool read_names(char **at, const char *end, const json_t *columns, struct column *list,
                       json_t *table, size_t *ret_skipped)
{
    struct span names[COLUMNS_MAX];
    size_t n = 0, count = json_array_size(columns);
    bool is_last = false;

    while (!is_last) {
        if (n == COLUMNS_MAX || !next_field(at, end, &names[n++], &is_last))
            return false;
    }
    if (!count || n < count)
        return false;
    *ret_skipped = n - count;
    for (size_t i = 0; i < count; i++) {
        const json_t *column = json_array_get(columns, i), *name = json_object_get(column, "name");
        struct span text = names[*ret_skipped + i];
        json_t *key = json_text_string(text.data, text.len);

        /* Names in several lines are made of parts, of which a line has one. */
        if (!key || (json_is_string(name) &&
                     strcmp(json_string_value(name), json_string_value(key)) != 0)) {
            json_decref(key);
            return false;
        }
        list[i] = (struct column){kind_of(json_get_text(column, "dtype")), json_array()};
        json_set(table, json_string_value(key), json_incref(list[i].values));
        json_decref(key);
    }
    return true;
}

static bool read_row(char **at, const char *end, const struct column *list, size_t count,
                     size_t skipped)
{
    struct span text;
    bool is_last = false;

    for (size_t i = 0; i < skipped + count; i++) {
        if (is_last || !next_field(at, end, &text, &is_last))
            return false;
        if (i >= skipped)
            (void)json_array_append_new(list[i - skipped].values,
                                        value_json(text, list[i - skipped].kind));
    }
    return is_last;
}

json_t *e2b_table_json(struct span csv, const json_t *about)
{
    const json_t *columns = json_object_get(about, "columns");
    size_t count = json_array_size(columns), skipped = 0;
    struct column list[COLUMNS_MAX] = {{0}};
    json_t *table;
    char *copy, *at, *end;
    bool is_good;

    if (json_array_size(json_object_get(about, "shape")) != 2 || count > COLUMNS_MAX)
        return NULL;
    table = json_object();
    copy = at = malloc(csv.len + 1);
    if (copy)
        memcpy(copy, csv.data, csv.len);
    end = copy ? copy + csv.len : NULL;
    is_good = table && copy && read_names(&at, end, columns, list, table, &skipped);
    for (size_t rows = 0; is_good && at < end; rows++)
        is_good = rows < ROWS_MAX && read_row(&at, end, list, count, skipped);
    for (size_t i = 0; i < count; i++)
        json_decref(list[i].values);
    free(copy);
    if (is_good)
        return table;
    json_decref(table);
    return NULL;
}
