#include "terminal/paint.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/utf8.h"
#include "terminal/highlight.h"

/* A character on the screen, or the end of a line. */
struct paint_unit {
    char bytes[4];
    uint8_t len; /* 0: a newline */
    uint8_t width;
    uint8_t kind;
};

#define TAB_WIDTH 4

void paint_done(struct paint *paint)
{
    free(paint->units);
    *paint = (struct paint){0};
}

/* --- what is to be there --- */

struct frame {
    struct paint_unit *units;
    size_t n, size;
    size_t cursor; /* the unit before which it stands */
};

static bool add(struct frame *f, const struct paint_unit *unit)
{
    if (f->n == f->size) {
        size_t size = f->size ? 2 * f->size : 256;
        struct paint_unit *grown = reallocarray(f->units, size, sizeof(*grown));

        if (!grown)
            return false;
        f->units = grown;
        f->size = size;
    }
    f->units[f->n++] = *unit;
    return true;
}

/* A character without a place on a screen becomes a question mark, a tab becomes spaces. */
static bool add_character(struct frame *f, uint32_t c, const char *bytes, size_t len, uint8_t kind)
{
    struct paint_unit unit = {.len = (uint8_t)len, .kind = kind};
    int width = c < 0x80 ? 1 : wcwidth((wchar_t)c);

    if (c == '\t') {
        for (size_t i = 0; i < TAB_WIDTH; i++)
            if (!add(f, &(struct paint_unit){" ", 1, 1, kind}))
                return false;
        return true;
    }
    if (!utf8_is_harmless(c) || width < 0)
        return add(f, &(struct paint_unit){"?", 1, 1, kind});
    memcpy(unit.bytes, bytes, len);
    unit.width = (uint8_t)width;
    return add(f, &unit);
}

static bool add_text(struct frame *f, const char *text, size_t len, const uint8_t *kinds,
                     const struct paint_text *whole)
{
    for (size_t at = 0; at < len;) {
        uint32_t c = '?';
        int n = utf8_decode(text + at, len - at, &c);
        bool is_good = true;

        if (whole && at == whole->cursor)
            f->cursor = f->n;
        if (text[at] == '\n')
            is_good = add(f, &(struct paint_unit){0}) &&
                      (!whole || add_text(f, whole->more, strlen(whole->more), NULL, NULL));
        else
            is_good = add_character(f, n > 0 ? c : 0, text + at, n > 0 ? (size_t)n : 1,
                                    kinds ? kinds[at] : HIGHLIGHT_NONE);
        if (!is_good)
            return false;
        at += n > 0 ? (size_t)n : 1;
    }
    if (whole && whole->cursor >= len)
        f->cursor = f->n;
    return true;
}

/* --- where it is --- */

struct place {
    size_t row, column;
};

/* The place of a unit behind the one that ended at *at: it may have to go to the next row. */
static void begin_unit(struct place *at, const struct paint_unit *unit, size_t columns)
{
    if (unit->len && at->column + unit->width > columns) {
        at->row++;
        at->column = 0;
    }
}

static void end_unit(struct place *at, const struct paint_unit *unit)
{
    at->row += unit->len == 0;
    at->column = unit->len ? at->column + unit->width : 0;
}

/* The place of the unit of that index, or of the end. A row that is full continues in the next. */
static struct place find(const struct paint_unit *units, size_t n, size_t index, size_t columns)
{
    struct place at = {0};

    for (size_t i = 0; i < index; i++) {
        begin_unit(&at, &units[i], columns);
        end_unit(&at, &units[i]);
    }
    if (index < n) {
        begin_unit(&at, &units[index], columns);
    } else if (at.column >= columns) {
        at.row++;
        at.column = 0;
    }
    return at;
}

/* A newline after a full row needs no row of its own for the cursor; everything else does. */
static struct place find_cursor(const struct frame *f, size_t columns)
{
    struct place at = find(f->units, f->n, f->cursor, columns);

    if (at.column >= columns)
        at.column = columns - 1;
    return at;
}

/* --- drawing --- */

static int go(struct paint *p, struct place to, struct buf *out)
{
    int r = 0;

    if (to.row < p->row)
        r = buf_printf(out, NULL, "\033[%zuA", p->row - to.row);
    else if (to.row > p->row)
        r = buf_printf(out, NULL, "\033[%zuB", to.row - p->row);
    if (r == 0 && (to.column != p->column || to.row != p->row)) {
        r = buf_add_str(out, "\r", NULL);
        if (r == 0 && to.column)
            r = buf_printf(out, NULL, "\033[%zuC", to.column);
    }
    p->row = to.row;
    p->column = to.column;
    return r;
}

static bool is_same(const struct paint_unit *a, const struct paint_unit *b)
{
    return a->len == b->len && a->kind == b->kind && memcmp(a->bytes, b->bytes, a->len) == 0;
}

static size_t first_change(const struct paint *p, const struct frame *f)
{
    size_t i = 0;

    if (!p->is_drawn)
        return 0;
    while (i < p->n_units && i < f->n && is_same(&p->units[i], &f->units[i]))
        i++;
    /* Marks belong to the character before them. */
    while (i > 0 && i < f->n && f->units[i].len && !f->units[i].width)
        i--;
    while (i > 0 && i < p->n_units && p->units[i].len && !p->units[i].width)
        i--;
    return i;
}

static int write_kind(uint8_t before, uint8_t kind, struct buf *out)
{
    if (before != HIGHLIGHT_NONE && buf_add_str(out, highlight_sequence(HIGHLIGHT_NONE), NULL) < 0)
        return -1;
    return kind == HIGHLIGHT_NONE
               ? 0
               : buf_add_str(out, highlight_sequence((enum highlight)kind), NULL);
}

/* After a full row the terminal goes to the next one with the next character. The cursor has to
 * have a place that is known. */
static int leave_full_row(struct paint *p, size_t bottom, struct buf *out)
{
    p->column = 0;
    if (p->row >= bottom)
        return buf_add_str(out, "\r", NULL);
    p->row++;
    return buf_add_str(out, " \r", NULL);
}

/* Writes the units from `from` on that lie in the rows up to `bottom`, beginning at the cursor. */
static int write_units(struct paint *p, const struct frame *f, size_t from, size_t bottom,
                       struct buf *out)
{
    struct place at = find(f->units, f->n, from, p->columns);
    uint8_t kind = HIGHLIGHT_NONE;
    bool is_full = false;
    int r = 0;

    for (size_t i = from; i < f->n && r == 0; i++) {
        const struct paint_unit *unit = &f->units[i];
        struct place next = at;

        begin_unit(&next, unit, p->columns);
        if (next.row + (unit->len == 0) > bottom)
            break;
        if (unit->len && unit->kind != kind) {
            r = write_kind(kind, unit->kind, out);
            kind = unit->kind;
        }
        if (r == 0)
            r = unit->len ? buf_add(out, unit->bytes, unit->len, NULL)
                          : buf_add_str(out, "\r\n", NULL);
        end_unit(&next, unit);
        at = next;
        is_full = unit->len && at.column >= p->columns;
    }
    if (r == 0)
        r = write_kind(kind, HIGHLIGHT_NONE, out);
    p->row = at.row;
    p->column = at.column;
    return r == 0 && is_full ? leave_full_row(p, bottom, out) : r;
}

/* The unit with which a row begins. */
static size_t unit_of_row(const struct frame *f, size_t row, size_t columns)
{
    struct place at = {0};
    size_t i = 0;

    for (; i < f->n; i++) {
        begin_unit(&at, &f->units[i], columns);
        if (at.row >= row)
            break;
        end_unit(&at, &f->units[i]);
    }
    return i;
}

/* Of a text with more rows than the screen, those around the cursor. */
static size_t choose_top(const struct paint *p, size_t row, size_t last)
{
    size_t top = p->is_drawn ? p->top : 0;

    if (last < p->rows)
        return 0;
    if (row < top)
        top = row;
    if (row >= top + p->rows)
        top = row - p->rows + 1;
    return top;
}

/* Writing may begin with the unit: not behind a full row, where erasing would take the last
 * character of the row along, and not at the beginning of a row to which a wide character was
 * moved, where it would leave what stood at the end of the row before. */
static bool may_begin(const struct paint *p, const struct frame *f, size_t from)
{
    size_t column = find(f->units, f->n, from, p->columns).column;

    return column < p->columns && (column > 0 || !f->units[from - 1].len);
}

static size_t choose_first(const struct paint *p, const struct frame *f)
{
    size_t from = p->is_drawn && !p->is_stale ? first_change(p, f) : 0;
    size_t visible = p->top ? unit_of_row(f, p->top, p->columns) : 0;

    while (from > visible && !may_begin(p, f, from))
        from--;
    return from < visible ? visible : from;
}

static int draw(struct paint *p, struct frame *f, struct buf *out)
{
    struct place cursor = find_cursor(f, p->columns), first;
    size_t last = find(f->units, f->n, f->n, p->columns).row;
    size_t top = choose_top(p, cursor.row, last), from;
    bool erases;

    if (p->is_drawn && top != p->top) { /* scrolled */
        if (go(p, (struct place){p->top, 0}, out) < 0)
            return -1;
        p->is_stale = true;
        p->row = top;
    } else if (!p->is_drawn) {
        p->row = top;
    }
    p->top = top;
    from = choose_first(p, f);
    first = find(f->units, f->n, from, p->columns);
    erases = p->is_stale || (p->is_drawn && from < p->n_units);
    if (first.row < top + p->rows && (erases || from < f->n)) {
        if (go(p, first, out) < 0 || (erases && buf_add_str(out, "\033[J", NULL) < 0) ||
            write_units(p, f, from, top + p->rows - 1, out) < 0)
            return -1;
    }
    p->cursor = f->cursor;
    return go(p, cursor, out);
}

void paint_resize(struct paint *paint, size_t columns, size_t rows)
{
    columns = columns > 1 ? columns : 80;
    rows = rows ? rows : 24;
    if (columns == paint->columns && rows == paint->rows)
        return;
    paint->columns = columns;
    paint->rows = rows;
    if (!paint->is_drawn)
        return;
    /* Terminals lay long lines out anew: the cursor is where it is in a drawing of this width. */
    if (!paint->top)
        paint->row = find(paint->units, paint->n_units, paint->cursor, columns).row;
    else
        paint->row -= paint->top;
    paint->top = 0;
    if (paint->row >= rows)
        paint->row = rows - 1;
    paint->column = columns + 1; /* wherever: a carriage return comes first */
    paint->is_stale = true;
}

void paint_forget(struct paint *paint)
{
    paint->is_drawn = paint->is_stale = false;
    paint->n_units = 0;
    paint->row = paint->column = paint->top = 0;
}

int paint_draw(struct paint *paint, const struct paint_text *text, struct buf *out)
{
    struct frame f = {.units = NULL};
    int r = -1;

    if (!paint->columns)
        paint_resize(paint, 0, 0);
    if (add_text(&f, text->prompt, strlen(text->prompt), NULL, NULL) &&
        add_text(&f, text->text, text->len, text->kinds, text))
        r = draw(paint, &f, out);
    if (r < 0) {
        free(f.units);
        return -1;
    }
    free(paint->units);
    paint->units = f.units;
    paint->n_units = f.n;
    paint->is_drawn = true;
    paint->is_stale = false;
    return 0;
}
