/* A Series as pandas prints it: its name stands below its values.
 *
 *   0     hunter2
 *   1    Willow12
 *   Name: password, dtype: object
 *
 * The name is the anchor. Rows whose value looks like a secret wait for it, as long as nothing but
 * rows follows and not more than SERIES_MAX bytes: other text is never held back for this. */
#include "mask/internal.h"

/* From the first row that is masked to the name. A Series prints sixty rows, or ten. */
#define SERIES_MAX ((size_t)2048)

#define INDEX_MAX ((size_t)40)
#define VALUE_MAX ((size_t)128)

/* Blanks between index and value, at least. */
#define GAP_MIN 4

/* One row: index, blanks, value, and nothing else. `end`: of its line. */
static bool read_row(const struct masker *s, size_t start, size_t end, struct masker_cell *ret)
{
    size_t at = start, gap;

    if (end > start && masker_at(s, end - 1) == '\r')
        end--;
    if (end - start > INDEX_MAX + 2 * VALUE_MAX)
        return false;
    masker_charge(s, end - start + 1);
    while (at < end && !masker_is_space(masker_at(s, at)))
        at++;
    if (at == start || at - start > INDEX_MAX)
        return false;
    for (gap = at; at < end && masker_at(s, at) == ' ';)
        at++;
    if (at - gap < GAP_MIN || at == end || end - at > VALUE_MAX)
        return false;
    ret->start = at;
    while (at < end && !masker_is_space(masker_at(s, at)))
        at++;
    ret->end = at;
    return at == end;
}

/* A row that is not whole: more may come. */
static bool may_be_row(const struct masker *s, size_t start, size_t end)
{
    size_t at = start, gap;

    while (at < end && !masker_is_space(masker_at(s, at)))
        at++;
    for (gap = at; at < end && masker_at(s, at) == ' ';)
        at++;
    return at == end || (at > gap + 1 && !memchr(masker_view(s, at), ' ', end - at));
}

/* "Name: password, dtype: object", of which the end may be missing. */
static bool may_be_name(const struct masker *s, size_t start, size_t end)
{
    static const char begin[] = "Name: ";
    size_t n = end - start < sizeof(begin) - 1 ? end - start : sizeof(begin) - 1;

    return end - start < VALUE_MAX && memcmp(masker_view(s, start), begin, n) == 0;
}

static bool is_candidate(const struct masker *s, struct masker_cell value)
{
    return masker_looks_said(s, NAME_SECRET, value.start, value.end) ||
           masker_is_strong(s, NAME_TOKEN, value.start, value.end);
}

/* The line before the one that begins at `at`. False: there is none, or it is no row. */
static bool row_before(const struct masker *s, size_t at, size_t low, size_t *ret_start,
                       struct masker_cell *ret)
{
    const char *newline;

    if (at <= low + 1)
        return false;
    newline = memrchr(masker_view(s, low), '\n', at - 1 - low);
    masker_charge(s, 4);
    if (!newline && low)
        return false;
    *ret_start = newline ? (size_t)(newline - s->view.data) + 1 : low;
    return read_row(s, *ret_start, at - 1, ret);
}

void masker_hold_series(struct masker *s)
{
    size_t len = s->view.len, low = len > SERIES_MAX ? len - SERIES_MAX : 0, at, start, hold = len;
    struct masker_cell value;
    const char *newline = len > low ? memrchr(masker_view(s, low), '\n', len - low) : NULL;

    if (masker_is_review(s))
        return;
    at = newline ? (size_t)(newline - s->view.data) + 1 : low;
    masker_charge(s, (len - at) / 4 + 1);
    if (!newline && low)
        return;
    if (at < len && !may_be_name(s, at, len)) {
        if (!may_be_row(s, at, len))
            return;
        /* The value of a row that is not whole may still become anything. */
        if (read_row(s, at, len, &value))
            hold = value.start;
    }
    for (; row_before(s, at, low, &start, &value); at = start)
        if (value.start >= s->emitted && is_candidate(s, value))
            hold = value.start;
    if (hold < len)
        masker_wait(s, masker_generic_kind(), hold, hold);
}

void masker_match_series(struct masker *s, unsigned kind, size_t from, size_t start, size_t end,
                         enum masker_name what)
{
    static const char *const behind[] = {", dtype: ", ", Length: "};
    size_t line, low, row;
    struct masker_cell value;
    bool is_series = false;

    if (start < 7 || memcmp(masker_view(s, start - 7), "\nName: ", 7) != 0)
        return;
    if (masker_is_open(s, end + 9)) {
        masker_wait(s, kind, from, s->view.len);
        return;
    }
    for (size_t i = 0; i < 2; i++)
        is_series = is_series || masker_is_at(s, end, behind[i]);
    line = start - 6;
    low = end > SERIES_MAX ? end - SERIES_MAX : 0;
    for (; is_series && row_before(s, line, low, &row, &value); line = row)
        if (what == NAME_SECRET || what == NAME_PHRASE
                ? masker_looks_said(s, NAME_SECRET, value.start, value.end)
                : masker_is_strong(s, what, value.start, value.end))
            masker_found(s, kind, from, value.start, value.end);
}
