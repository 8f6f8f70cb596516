/* Shows the planned change as a unified diff. Our changes are close together, so one hunk is
 * enough. */
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/terminal_text.h"
#include "cli/setup/setup.h"

#define CONTEXT_LINES 3

/* Of a line that is shown: a file without line ends is one line of megabytes. */
#define SHOWN_MAX 400

struct lines {
    const char *text;
    size_t len;
    size_t count;
};

static size_t count_lines(const char *text, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += text[i] == '\n';
    return n + (len && text[len - 1] != '\n');
}

static struct lines lines_of(const struct buf *text)
{
    return (struct lines){buf_str(text), text->len, count_lines(buf_str(text), text->len)};
}

/* The beginning of line `n`. */
static size_t start_of(const struct lines *lines, size_t n)
{
    size_t at = 0;

    for (; n; n--) {
        const char *end = memchr(lines->text + at, '\n', lines->len - at);

        at = end ? (size_t)(end - lines->text) + 1 : lines->len;
    }
    return at;
}

static size_t same_at_front(const struct lines *a, const struct lines *b)
{
    size_t n = 0, line = 0;

    while (n < a->len && n < b->len && a->text[n] == b->text[n])
        line += a->text[n++] == '\n';
    /* Both end here: the last line, which has no end, is the same. */
    return n == a->len && n == b->len ? a->count : line;
}

static size_t same_at_back(const struct lines *a, const struct lines *b, size_t front)
{
    size_t n = 0, line = 0, most = (a->count < b->count ? a->count : b->count) - front;
    bool has_end = a->len && a->text[a->len - 1] == '\n';

    if (!a->len || !b->len || has_end != (b->text[b->len - 1] == '\n'))
        return 0;
    while (n < a->len && n < b->len && a->text[a->len - 1 - n] == b->text[b->len - 1 - n]) {
        n++;
        line += n < a->len && n < b->len && a->text[a->len - 1 - n] == '\n' &&
                b->text[b->len - 1 - n] == '\n';
    }
    return line < most ? line : most;
}

static int add_lines(const struct lines *lines, size_t from, size_t to, const char *mark,
                     struct buf *out, struct error *err)
{
    size_t at = start_of(lines, from);

    for (size_t i = from; i < to; i++) {
        const char *end = memchr(lines->text + at, '\n', lines->len - at);
        size_t len = end ? (size_t)(end - lines->text) - at : lines->len - at;
        size_t shown = len - (len && lines->text[at + len - 1] == '\r');
        bool is_cut = shown > SHOWN_MAX;

        if (buf_add_str(out, mark, err) < 0 ||
            terminal_line(lines->text + at, is_cut ? SHOWN_MAX : shown, out, err) < 0 ||
            buf_add_str(out, is_cut ? "…\n" : "\n", err) < 0)
            return -1;
        at += len + 1;
    }
    return 0;
}

int setup_diff(const char *path, const struct buf *before, const struct buf *after, struct buf *out,
               struct error *err)
{
    const struct lines a = lines_of(before), b = lines_of(after);
    size_t front = same_at_front(&a, &b), back;
    size_t from, rest;

    if (front == a.count && front == b.count)
        return 0;
    back = same_at_back(&a, &b, front);
    from = front > CONTEXT_LINES ? front - CONTEXT_LINES : 0;
    rest = back < CONTEXT_LINES ? back : CONTEXT_LINES;
    if (buf_printf(out, err, "--- %s\n+++ %s\n@@ -%zu,%zu +%zu,%zu @@\n", path, path,
                   from + (a.count > 0), a.count - back + rest - from, from + (b.count > 0),
                   b.count - back + rest - from) < 0)
        return -1;
    if (add_lines(&a, from, front, " ", out, err) < 0 ||
        add_lines(&a, front, a.count - back, "-", out, err) < 0 ||
        add_lines(&b, front, b.count - back, "+", out, err) < 0)
        return -1;
    return add_lines(&a, a.count - back, a.count - back + rest, " ", out, err);
}
