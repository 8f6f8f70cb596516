#include "unit.h"

#include <locale.h>
#include <stdlib.h>
#include <wchar.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "terminal/highlight.h"
#include "terminal/paint.h"

#define ROWS_MAX    12
#define COLUMNS_MAX 24

/* A terminal, as far as the painter uses one. */
struct model {
    size_t columns, rows;
    uint32_t cells[ROWS_MAX][COLUMNS_MAX];
    size_t row, column;
    bool wraps;
    size_t scrolled;
};

static void feed_line(struct model *m)
{
    m->wraps = false;
    if (m->row + 1 < m->rows) {
        m->row++;
        return;
    }
    memmove(m->cells[0], m->cells[1], sizeof(m->cells[0]) * (m->rows - 1));
    memset(m->cells[m->rows - 1], 0, sizeof(m->cells[0]));
    m->scrolled++;
}

static void put(struct model *m, uint32_t c)
{
    size_t width = (size_t)(c < 0x80 ? 1 : wcwidth((wchar_t)c));

    if (!width) /* it stands on the one before */
        return;
    if (m->wraps || m->column + width > m->columns) {
        m->column = 0;
        feed_line(m);
    }
    m->cells[m->row][m->column] = c;
    for (size_t i = 1; i < width; i++)
        m->cells[m->row][m->column + i] = ' ';
    m->column += width;
    m->wraps = m->column >= m->columns;
    if (m->wraps)
        m->column = m->columns - 1;
}

static const char *sequence(struct model *m, const char *at)
{
    char *end;
    size_t n = strtoul(at, &end, 10);

    n = n ? n : 1;
    if (*end != 'm')
        m->wraps = false;
    if (*end == 'A')
        m->row -= n < m->row ? n : m->row;
    else if (*end == 'B')
        m->row = m->row + n < m->rows ? m->row + n : m->rows - 1;
    else if (*end == 'C')
        m->column = m->column + n < m->columns ? m->column + n : m->columns - 1;
    else if (*end == 'J')
        for (size_t r = m->row; r < m->rows; r++)
            for (size_t c = r == m->row ? m->column : 0; c < m->columns; c++)
                m->cells[r][c] = 0;
    else
        assert_int_equal(*end, 'm');
    return end + 1;
}

static void feed(struct model *m, const char *text, size_t len)
{
    const char *end = text + len;

    while (text < end) {
        uint32_t c;
        int n = utf8_decode(text, (size_t)(end - text), &c);

        assert_true(n > 0);
        if (c == '\033') {
            assert_int_equal(text[1], '[');
            text = sequence(m, text + 2);
            continue;
        }
        if (c == '\r') {
            m->column = 0;
            m->wraps = false;
        } else if (c == '\n') {
            feed_line(m);
        } else {
            put(m, c);
        }
        text += n;
    }
}

static void draw(struct paint *p, struct model *m, const char *text, size_t cursor)
{
    static uint8_t kinds[4096];
    struct buf out = BUF_OF(16 * MIB);
    struct paint_text shown = {.prompt = ">>> ",
                               .more = "... ",
                               .text = text,
                               .len = strlen(text),
                               .cursor = cursor,
                               .kinds = kinds};

    highlight(RUN_PYTHON, text, shown.len, kinds);
    assert_int_equal(paint_draw(p, &shown, &out), 0);
    feed(m, buf_str(&out), out.len);
    buf_done(&out);
}

static void begin(struct paint *p, struct model *m, size_t columns, size_t rows)
{
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    *p = (struct paint){0};
    *m = (struct model){.columns = columns, .rows = rows};
    paint_resize(p, columns, rows);
}

static bool is_blank(uint32_t c)
{
    return !c || c == ' ';
}

static void assert_same(const struct model *a, const struct model *b)
{
    assert_int_equal(a->row, b->row);
    assert_int_equal(a->column, b->column);
    for (size_t r = 0; r < a->rows; r++)
        for (size_t c = 0; c < a->columns; c++)
            if (a->cells[r][c] != b->cells[r][c] &&
                !(is_blank(a->cells[r][c]) && is_blank(b->cells[r][c])))
                fail_msg("row %zu, column %zu: %x and %x", r, c, a->cells[r][c], b->cells[r][c]);
}

static const char *const pieces[] = {"a", "for ",      "'x", "漢", "\n",
                                     "9", "e\xcc\x81", "#",  "\t", "xyz"};

/* A random change of the text; returns the cursor, between characters. */
static size_t change(char *text)
{
    const char *piece = pieces[(size_t)rand() % (sizeof(pieces) / sizeof(pieces[0]))];
    size_t len = strlen(text), at = len ? (size_t)rand() % (len + 1) : 0;

    while (at < len && ((unsigned char)text[at] & 0xc0) == 0x80)
        at++;
    if (rand() % 3 && len < 150) {
        memmove(text + at + strlen(piece), text + at, len - at + 1);
        memcpy(text + at, piece, strlen(piece));
        return rand() % 2 ? at + strlen(piece) : at;
    }
    if (rand() % 2)
        text[at] = '\0';
    return at;
}

/* Whatever stood there before, the screen is the same as if it were drawn for the first time. */
TEST(a_changed_text_looks_as_if_it_were_new)
{
    for (unsigned seed = 0; seed < 60; seed++) {
        struct paint p, q;
        struct model m, n;
        char text[256] = "";

        srand(seed);
        begin(&p, &m, 6 + seed % 17, ROWS_MAX);
        for (size_t step = 0; step < 60; step++) {
            size_t cursor = change(text);

            draw(&p, &m, text, cursor);
            if (p.top) /* of a text longer than the screen, what is shown depends on the past */
                continue;
            begin(&q, &n, m.columns, m.rows);
            draw(&q, &n, text, cursor);
            if (!q.top)
                assert_same(&m, &n);
            paint_done(&q);
        }
        paint_done(&p);
    }
}

/* Typing sends no more than what is new. */
TEST(a_character_at_the_end_is_written_alone)
{
    struct buf out = BUF_OF(4096);
    struct paint p = {0};
    struct paint_text text = {">>> ", "... ", "ab", 2, 2, NULL};

    paint_resize(&p, 80, 24);
    assert_int_equal(paint_draw(&p, &text, &out), 0);
    assert_string_equal(buf_str(&out), ">>> ab");
    buf_clear(&out);
    text.text = "abc";
    text.len = text.cursor = 3;
    assert_int_equal(paint_draw(&p, &text, &out), 0);
    assert_string_equal(buf_str(&out), "c");
    buf_done(&out);
    paint_done(&p);
}

TEST(the_rows_around_the_cursor_are_shown)
{
    static const char text[] = "1\n2\n3\n4\n5\n6\n7\n8";
    struct paint p;
    struct model m;

    begin(&p, &m, 10, 4);
    draw(&p, &m, text, strlen(text));
    assert_int_equal(m.cells[3][4], '8');
    assert_int_equal(m.cells[0][4], '5');
    draw(&p, &m, text, 0);
    assert_int_equal(m.cells[0][0], '>');
    assert_int_equal(m.cells[0][4], '1');
    assert_int_equal(m.cells[3][4], '4');
    assert_int_equal(m.row, 0);
    draw(&p, &m, "x", 1);
    assert_int_equal(m.cells[0][4], 'x');
    assert_int_equal(m.cells[1][0], 0);
    paint_done(&p);
}

UNIT_MAIN()
