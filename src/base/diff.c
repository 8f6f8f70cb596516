#include "base/diff.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hidden_mark.h"
#include "base/limits.h"
#include "base/utf8.h"

#define CONTEXT 3

/* Lines that differ before it is given up to find what they have in common: the steps on the way
 * there are kept, and their memory grows with the square. */
#define EDITS_MAX 1000

struct line {
    const char *at;
    size_t len; /* with its newline */
    bool is_changed;
    struct span shown; /* with it, too */
};

struct text_side {
    struct line *lines;
    size_t count;
};

/* One odd byte must not be enough to keep a script from being shown. */
bool diff_is_text(struct span text)
{
    size_t odd = 0;

    for (size_t i = 0; i < text.len;) {
        unsigned char c = (unsigned char)text.data[i];
        int n = utf8_decode(text.data + i, text.len - i, NULL);

        odd += n <= 0 || (c < 0x20 && !strchr("\t\n\r\f\033", c)) || c == 0;
        i += n > 0 ? (size_t)n : 1;
    }
    /* Interpreters and shells run a text however many odd bytes are in its comments. */
    return text.len == 0 || !memchr(text.data, 0, text.len) || odd * 10 <= text.len;
}

static int split(struct span text, struct text_side *ret_side)
{
    const char *at = text.data, *end = text.data + text.len;
    size_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += text.data[i] == '\n';
    ret_side->lines = calloc(count + 1, sizeof(struct line));
    if (!ret_side->lines)
        return -1;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = newline ? (size_t)(newline - at) + 1 : (size_t)(end - at);

        ret_side->lines[ret_side->count++] = (struct line){at, len, false, {at, len}};
        at += len;
    }
    return 0;
}

/* The lines of `shown` beside those of the text. */
static int pair(struct text_side *side, struct span shown)
{
    struct text_side other = {0};
    int r = split(shown, &other) < 0 ? -1 : other.count == side->count ? 0 : -1;

    for (size_t i = 0; r == 0 && i < side->count; i++) {
        side->lines[i].shown = (struct span){other.lines[i].at, other.lines[i].len};
        if (hidden_count((struct span){side->lines[i].at, side->lines[i].len},
                         side->lines[i].shown) < 0)
            r = -1;
    }
    free(other.lines);
    return r;
}

static size_t count_hidden(const struct text_side *side)
{
    size_t count = 0;

    for (size_t i = 0; i < side->count; i++) {
        const struct line *line = &side->lines[i];

        if (line->is_changed && line->shown.data != line->at)
            count += (size_t)hidden_count((struct span){line->at, line->len}, line->shown);
    }
    return count;
}

static bool is_equal(const struct line *a, const struct line *b)
{
    return a->len == b->len && memcmp(a->at, b->at, a->len) == 0;
}

/* --- the shortest way from one to the other (Myers 1986), all steps of which are kept --- */

struct search {
    const struct line *old, *new;
    int n, m;   /* lines of each */
    int *steps; /* of edit d: how far each of its d + 1 diagonals got, behind those before it */
};

/* Of edit `d` on diagonal `k` (-d, -d + 2, … d). */
static int *step(const struct search *s, int d, int k)
{
    return &s->steps[(size_t)d * (size_t)(d + 1) / 2 + (size_t)(k + d) / 2];
}

/* Whether diagonal `k` of edit `d` is reached by an added line, from the one above it. */
static bool comes_by_add(const struct search *s, int d, int k)
{
    return k == -d || (k != d && *step(s, d - 1, k - 1) < *step(s, d - 1, k + 1));
}

/* Returns how many edits it takes, or -1: too many. */
static int find_way(struct search *s)
{
    for (int d = 0; d <= EDITS_MAX; d++)
        for (int k = -d; k <= d; k += 2) {
            int x = d == 0                  ? 0
                    : comes_by_add(s, d, k) ? *step(s, d - 1, k + 1)
                                            : *step(s, d - 1, k - 1) + 1;

            while (x < s->n && x - k < s->m && x - k >= 0 && is_equal(&s->old[x], &s->new[x - k]))
                x++;
            *step(s, d, k) = x;
            if (k == s->n - s->m && x >= s->n)
                return d;
        }
    return -1;
}

static void mark_all(struct line *lines, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        lines[i].is_changed = true;
}

/* Back along the way: each edit is one line of one side. */
static void mark_way(const struct search *s, int edits, struct line *old, struct line *new)
{
    int k = s->n - s->m;

    for (int d = edits; d > 0; d--) {
        bool is_added = comes_by_add(s, d, k);
        int x;

        k += is_added ? 1 : -1;
        x = *step(s, d - 1, k);
        if (is_added && x - k >= 0 && x - k < s->m)
            new[x - k].is_changed = true;
        else if (!is_added && x >= 0 && x < s->n)
            old[x].is_changed = true;
    }
}

/* The common beginning and end are skipped; in the rest the changed lines are marked. */
static int mark(struct text_side *old, struct text_side *new)
{
    size_t head = 0, n = old->count, m = new->count;
    struct search s;
    int edits;

    while (head < n && head < m && is_equal(&old->lines[head], &new->lines[head]))
        head++;
    while (n > head && m > head && is_equal(&old->lines[n - 1], &new->lines[m - 1])) {
        n--;
        m--;
    }
    if (n - head > INT32_MAX / 4 || m - head > INT32_MAX / 4)
        return -1;
    s = (struct search){old->lines + head, new->lines + head, (int)(n - head), (int)(m - head),
                        malloc((EDITS_MAX + 1) * (EDITS_MAX + 2) / 2 * sizeof(int))};
    if (!s.steps)
        return -1;
    edits = find_way(&s);
    if (edits >= 0) {
        mark_way(&s, edits, old->lines + head, new->lines + head);
    } else {
        mark_all(old->lines, head, n);
        mark_all(new->lines, head, m);
    }
    free(s.steps);
    return 0;
}

/* --- hunks --- */

static int add_line(struct buf *out, char sign, const struct line *line, struct error *err)
{
    bool is_whole = line->len && line->at[line->len - 1] == '\n';

    if (buf_add(out, &sign, 1, err) < 0 || buf_add(out, line->shown.data, line->shown.len, err) < 0)
        return -1;
    return is_whole ? 0 : buf_add_str(out, "\n\\ No newline at end of file\n", err);
}

/* Lines [i, i_end) of the old and [j, j_end) of the new text. */
static int add_hunk(const struct text_side *old, const struct text_side *new, size_t i,
                    size_t i_end, size_t j, size_t j_end, struct buf *out, struct error *err)
{
    if (buf_printf(out, err, "@@ -%zu,%zu +%zu,%zu @@\n", i_end > i ? i + 1 : i, i_end - i,
                   j_end > j ? j + 1 : j, j_end - j) < 0)
        return -1;
    while (i < i_end || j < j_end) {
        int r;

        if (i < i_end && old->lines[i].is_changed)
            r = add_line(out, '-', &old->lines[i++], err);
        else if (j < j_end && new->lines[j].is_changed)
            r = add_line(out, '+', &new->lines[j++], err);
        else if (i < i_end && j < j_end) {
            r = add_line(out, ' ', &old->lines[i++], err);
            j++;
        } else
            return 0;
        if (r < 0)
            return -1;
    }
    return 0;
}

/* From the next change at or behind *i, *j to where CONTEXT * 2 lines in a row are equal. The lines
 * between changes are the same number on both sides. False: no more. */
static bool next_hunk(const struct text_side *old, const struct text_side *new, size_t *i,
                      size_t *j, size_t *ret_i_end, size_t *ret_j_end)
{
    size_t a = *i, b = *j, equal = 0;

    while (a < old->count && b < new->count && !old->lines[a].is_changed &&
           !new->lines[b].is_changed) {
        a++;
        b++;
    }
    if (a == old->count && b == new->count)
        return false;
    equal = a - *i < CONTEXT ? a - *i : CONTEXT;
    *i = a - equal;
    *j = b - equal;
    for (equal = 0; (a < old->count || b < new->count) && equal < (size_t)2 * CONTEXT;) {
        if (a < old->count && old->lines[a].is_changed) {
            a++;
            equal = 0;
        } else if (b < new->count &&new->lines[b].is_changed) {
            b++;
            equal = 0;
        } else {
            a++;
            b++;
            equal++;
        }
    }
    equal = equal > CONTEXT ? equal - CONTEXT : 0;
    *ret_i_end = a - equal;
    *ret_j_end = b - equal;
    return true;
}

static void write_hunks(const struct text_side *old, const struct text_side *new, struct buf *out,
                        struct diff_count *count)
{
    size_t i = 0, j = 0, i_end, j_end;

    while (!count->is_cut && next_hunk(old, new, &i, &j, &i_end, &j_end)) {
        size_t len = out->len;

        if (add_hunk(old, new, i, i_end, j, j_end, out, NULL) < 0) {
            out->len = len;
            if (out->data)
                out->data[len] = '\0';
            count->is_cut = true;
        }
        i = i_end;
        j = j_end;
    }
}

static size_t count_changed(const struct text_side *side)
{
    size_t count = 0;

    for (size_t i = 0; i < side->count; i++)
        count += side->lines[i].is_changed;
    return count;
}

/* A carriage return before a newline does not count as invisible; the line shows it anyway. */
static bool has_invisible(const struct text_side *side)
{
    for (size_t i = 0; i < side->count; i++) {
        const struct line *line = &side->lines[i];
        size_t len = line->len;

        if (len > 1 && line->at[len - 1] == '\n' && line->at[len - 2] == '\r')
            len -= 2;
        if (line->is_changed && utf8_has_invisible(line->at, len))
            return true;
    }
    return false;
}

int diff_unified(struct span old, struct span new, struct buf *out, struct diff_count *ret_count,
                 struct error *err)
{
    return diff_unified_shown(old, new, NULL, out, ret_count, err);
}

int diff_unified_shown(struct span old, struct span new, const struct diff_shown *shown,
                       struct buf *out, struct diff_count *ret_count, struct error *err)
{
    struct text_side a = {0}, b = {0};
    struct diff_count count = {0};
    int r = split(old, &a) < 0 || split(new, &b) < 0 || mark(&a, &b) < 0 ? error_memory(err) : 0;

    if (r == 0 && shown && (pair(&a, shown->old) < 0 || pair(&b, shown->new) < 0))
        r = error_set(err, E_INTERNAL, "the text cannot be shown line by line");
    if (r == 0) {
        count.hidden = count_hidden(&a) + count_hidden(&b);
        count.removed = count_changed(&a);
        count.added = count_changed(&b);
        count.has_invisible = has_invisible(&b);
        if (out)
            write_hunks(&a, &b, out, &count);
        *ret_count = count;
    }
    free(a.lines);
    free(b.lines);
    return r;
}
