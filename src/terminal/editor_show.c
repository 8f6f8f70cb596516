/* The output of the editor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <wchar.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/terminal_text.h"
#include "base/utf8.h"
#include "terminal/editor_internal.h"
#include "terminal/highlight.h"

/* Shown below the text at most; more are counted. */
#define WORDS_SHOWN 200

#define DRAWN_MAX (64 * MIB)

/* Colours of longer texts would have to be found anew with each key. */
#define COLORED_MAX (64 * KIB)

static void send(const struct editor *e, const struct buf *out)
{
    if (out->len)
        (void)file_write_all(e->options.out, out->data, out->len);
}

static void take_size(struct editor *e)
{
    struct winsize size = {0};

    (void)ioctl(e->options.out, TIOCGWINSZ, &size);
    paint_resize(&e->paint, size.ws_col, size.ws_row);
}

static void draw(struct editor *e, size_t cursor, struct buf *out)
{
    char search[EDITOR_PROMPT_MAX + sizeof(e->pattern)];
    cleanup_free uint8_t *kinds = NULL;
    struct paint_text text = {.prompt = e->first,
                              .more = e->more,
                              .text = buf_str(&e->line.text),
                              .len = e->line.text.len,
                              .cursor = cursor};

    take_size(e);
    if (e->options.has_color && text.len && text.len <= COLORED_MAX)
        kinds = malloc(text.len);
    if (kinds)
        highlight(e->language, text.text, text.len, kinds);
    text.kinds = kinds;
    if (e->is_searching) {
        (void)snprintf(search, sizeof(search), "(%s `%s`) ",
                       e->has_failed ? "not found:" : "search:", e->pattern);
        text.prompt = search;
        text.more = "    ";
    }
    (void)paint_draw(&e->paint, &text, out);
}

void editor_paint(struct editor *e)
{
    cleanup(buf_done) struct buf out = BUF_OF(DRAWN_MAX);

    draw(e, e->line.cursor, &out);
    send(e, &out);
}

void editor_leave(struct editor *e, const char *behind)
{
    cleanup(buf_done) struct buf out = BUF_OF(DRAWN_MAX);

    draw(e, e->line.text.len, &out);
    (void)buf_add_str(&out, behind, NULL);
    (void)buf_add_str(&out, "\r\n", NULL);
    send(e, &out);
    paint_forget(&e->paint);
}

void editor_clear_screen(struct editor *e)
{
    (void)file_write_all(e->options.out, "\033[H\033[2J", 7);
    paint_forget(&e->paint);
}

void editor_beep(struct editor *e)
{
    (void)file_write_all(e->options.out, "\a", 1);
}

static size_t width_of(const char *text)
{
    size_t len = strlen(text), width = 0;
    uint32_t c;
    int n;

    for (size_t at = 0; at < len; at += (size_t)n) {
        n = utf8_decode(text + at, len - at, &c);
        if (n <= 0)
            n = 1;
        else
            width += wcwidth((wchar_t)c) > 0 ? (size_t)wcwidth((wchar_t)c) : 0;
    }
    return width;
}

/* In columns, read from left to right. A word that is too wide for the terminal has a row. */
void editor_list_words(struct editor *e, const struct editor_words *words)
{
    cleanup(buf_done) struct buf out = BUF_OF(DRAWN_MAX);
    size_t shown = words->count < WORDS_SHOWN ? words->count : WORDS_SHOWN;
    size_t width = 1, columns;

    editor_leave(e, "");
    for (size_t i = 0; i < shown; i++)
        if (width_of(words->items[i]) + 2 > width)
            width = width_of(words->items[i]) + 2;
    columns = e->paint.columns > width ? (e->paint.columns - 1) / width : 1;
    for (size_t i = 0; i < shown; i++) {
        bool is_last = (i + 1) % columns == 0 || i + 1 == shown;

        (void)buf_printf(&out, NULL, "%s%*s%s", words->items[i],
                         is_last ? 0 : (int)(width - width_of(words->items[i])), "",
                         is_last ? "\r\n" : "");
    }
    if (shown < words->count)
        (void)buf_printf(&out, NULL, "and %zu more\r\n", words->count - shown);
    send(e, &out);
    editor_paint(e);
}
