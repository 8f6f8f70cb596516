#include "terminal/line.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "base/cleanup.h"
#include "base/utf8.h"

void line_init(struct line *line, size_t limit)
{
    *line = (struct line){0};
    buf_init(&line->text, limit);
    buf_init(&line->cut, limit);
}

static void forget_undo(struct line *line)
{
    for (size_t i = 0; i < line->n_undo; i++)
        free(line->undo[i].text);
    line->n_undo = 0;
    line->is_typing = false;
}

void line_done(struct line *line)
{
    forget_undo(line);
    buf_done(&line->text);
    buf_done(&line->cut);
}

static const char *text_of(const struct line *line)
{
    return buf_str(&line->text);
}

/* --- characters --- */

static uint32_t character_at(const char *text, size_t len, size_t at, size_t *ret_len)
{
    uint32_t c = 0;
    int n = at < len ? utf8_decode(text + at, len - at, &c) : 0;

    *ret_len = n > 0 ? (size_t)n : 1;
    return n > 0 ? c : (unsigned char)text[at];
}

/* It stands on the character before it. */
static bool is_attached(uint32_t c)
{
    return c >= 0x300 && wcwidth((wchar_t)c) == 0;
}

size_t line_next(const char *text, size_t len, size_t at)
{
    size_t n;

    if (at >= len)
        return len;
    (void)character_at(text, len, at, &n);
    for (at += n; at < len; at += n)
        if (!is_attached(character_at(text, len, at, &n)))
            break;
    return at < len ? at : len;
}

size_t line_previous(const char *text, size_t len, size_t at)
{
    size_t n;

    while (at > 0) {
        do
            at--;
        while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80);
        if (!is_attached(character_at(text, len, at, &n)))
            break;
    }
    return at;
}

static bool is_word(const struct line *line, size_t at)
{
    size_t n;
    uint32_t c = character_at(text_of(line), line->text.len, at, &n);

    return c == '_' || (c < 0x80 ? (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z')
                                 : iswalnum((wint_t)c) || is_attached(c));
}

/* --- changing --- */

static void remember(struct line *line)
{
    char *copy = strdup(text_of(line));

    line->unclaimed = 0;
    if (!copy)
        return;
    if (line->n_undo == LINE_UNDO_MAX) {
        free(line->undo[0].text);
        memmove(line->undo, line->undo + 1, (LINE_UNDO_MAX - 1) * sizeof(line->undo[0]));
        line->n_undo--;
    }
    line->undo[line->n_undo++] = (struct line_state){copy, line->cursor};
    line->is_typing = false;
}

bool line_undo(struct line *line)
{
    struct line_state state;

    if (!line->n_undo)
        return false;
    state = line->undo[--line->n_undo];
    buf_clear(&line->text);
    (void)buf_add_str(&line->text, state.text, NULL);
    line->cursor = state.cursor < line->text.len ? state.cursor : line->text.len;
    line->unclaimed = 0;
    line->is_typing = false;
    free(state.text);
    return true;
}

void line_set(struct line *line, const char *text)
{
    remember(line);
    buf_clear(&line->text);
    (void)buf_add_str(&line->text, text, NULL);
    line->cursor = line->text.len;
}

void line_clear(struct line *line)
{
    forget_undo(line);
    buf_clear(&line->text);
    line->cursor = line->unclaimed = 0;
}

static bool put(struct line *line, const char *text, size_t len)
{
    size_t tail = line->text.len - line->cursor;

    if (buf_add(&line->text, text, len, NULL) < 0)
        return false;
    memmove(line->text.data + line->cursor + len, line->text.data + line->cursor, tail);
    memcpy(line->text.data + line->cursor, text, len);
    line->cursor += len;
    return true;
}

bool line_insert(struct line *line, const char *text, size_t len)
{
    remember(line);
    return put(line, text, len);
}

bool line_type(struct line *line, const char *text, size_t len)
{
    if (line->unclaimed && len == 1 && *text == ' ') {
        line->unclaimed--;
        return true;
    }
    if (!line->is_typing)
        remember(line);
    line->unclaimed = 0;
    line->is_typing = true;
    return put(line, text, len);
}

static void take(struct line *line, size_t from, size_t to)
{
    if (!line->text.data || to <= from)
        return;
    memmove(line->text.data + from, line->text.data + to, line->text.len - to);
    line->text.len -= to - from;
    line->text.data[line->text.len] = '\0';
    line->cursor = from;
}

static void take_out(struct line *line, size_t from, size_t to)
{
    if (to <= from)
        return;
    remember(line);
    take(line, from, to);
}

static void cut(struct line *line, size_t from, size_t to)
{
    if (to <= from)
        return;
    buf_clear(&line->cut);
    (void)buf_add(&line->cut, text_of(line) + from, to - from, NULL);
    take_out(line, from, to);
}

void line_replace(struct line *line, size_t from, const char *text)
{
    remember(line);
    take(line, from, line->cursor);
    (void)put(line, text, strlen(text));
}

void line_paste(struct line *line)
{
    if (line->cut.len)
        (void)line_insert(line, buf_str(&line->cut), line->cut.len);
}

/* --- moving --- */

static bool move(struct line *line, size_t to)
{
    bool is_there = line->cursor == to;

    line->cursor = to;
    line->unclaimed = 0;
    line->is_typing = false;
    return !is_there;
}

bool line_left(struct line *line)
{
    return move(line, line_previous(text_of(line), line->text.len, line->cursor));
}

bool line_right(struct line *line)
{
    return move(line, line_next(text_of(line), line->text.len, line->cursor));
}

static size_t word_left(const struct line *line)
{
    size_t at = line->cursor, before;
    bool was_word = false;

    while (at > 0) {
        before = line_previous(text_of(line), line->text.len, at);
        if (!is_word(line, before) && was_word)
            break;
        was_word |= is_word(line, before);
        at = before;
    }
    return at;
}

static size_t word_right(const struct line *line)
{
    size_t at = line->cursor;
    bool was_word = false;

    for (; at < line->text.len; at = line_next(text_of(line), line->text.len, at)) {
        if (!is_word(line, at) && was_word)
            break;
        was_word |= is_word(line, at);
    }
    return at;
}

bool line_word_left(struct line *line)
{
    return move(line, word_left(line));
}

bool line_word_right(struct line *line)
{
    return move(line, word_right(line));
}

static size_t home_of(const struct line *line, size_t at)
{
    while (at > 0 && text_of(line)[at - 1] != '\n')
        at--;
    return at;
}

static size_t end_of(const struct line *line, size_t at)
{
    return at + strcspn(text_of(line) + at, "\n");
}

void line_home(struct line *line)
{
    (void)move(line, home_of(line, line->cursor));
}

void line_end(struct line *line)
{
    (void)move(line, end_of(line, line->cursor));
}

/* The place in another line as many characters from its beginning as the cursor is in this one. */
static size_t below(const struct line *line, size_t home)
{
    size_t at = home_of(line, line->cursor), end = end_of(line, home);

    while (at < line->cursor && home < end) {
        at = line_next(text_of(line), line->text.len, at);
        home = line_next(text_of(line), line->text.len, home);
    }
    return home < end ? home : end;
}

bool line_up(struct line *line)
{
    size_t home = home_of(line, line->cursor);

    return home > 0 && move(line, below(line, home_of(line, home - 1)));
}

bool line_down(struct line *line)
{
    size_t end = end_of(line, line->cursor);

    return end < line->text.len && move(line, below(line, end + 1));
}

/* --- deleting --- */

bool line_is_indentation(const struct line *line)
{
    size_t home = home_of(line, line->cursor);

    return home + strspn(text_of(line) + home, " \t") >= line->cursor;
}

bool line_backspace(struct line *line)
{
    size_t home = home_of(line, line->cursor), column = line->cursor - home, step = 0;

    if (!line->cursor)
        return false;
    if (column && line_is_indentation(line)) {
        step = column % LINE_INDENT ? column % LINE_INDENT : LINE_INDENT;
        for (size_t i = 1; i <= step; i++)
            if (text_of(line)[line->cursor - i] != ' ')
                step = 0;
    }
    take_out(line,
             step ? line->cursor - step
                  : line_previous(text_of(line), line->text.len, line->cursor),
             line->cursor);
    return true;
}

bool line_delete(struct line *line)
{
    size_t to = line_next(text_of(line), line->text.len, line->cursor);

    take_out(line, line->cursor, to);
    return to > line->cursor;
}

void line_cut_word_left(struct line *line)
{
    cut(line, word_left(line), line->cursor);
}

void line_cut_word_right(struct line *line)
{
    cut(line, line->cursor, word_right(line));
}

void line_cut_space_word_left(struct line *line)
{
    size_t at = line->cursor;

    while (at > 0 && strchr(" \t\n", text_of(line)[at - 1]))
        at--;
    while (at > 0 && !strchr(" \t\n", text_of(line)[at - 1]))
        at--;
    cut(line, at, line->cursor);
}

/* At the end of a line the newline is cut. */
void line_cut_to_end(struct line *line)
{
    size_t end = end_of(line, line->cursor);

    cut(line, line->cursor, end == line->cursor && end < line->text.len ? end + 1 : end);
}

void line_cut_to_home(struct line *line)
{
    cut(line, home_of(line, line->cursor), line->cursor);
}

void line_transpose(struct line *line)
{
    const char *text = text_of(line);
    size_t len = line->text.len, second, first;
    char swapped[64];

    if (line->cursor == len)
        second = line_previous(text, len, len);
    else
        second = line->cursor;
    first = line_previous(text, len, second);
    line->cursor = line_next(text, len, second);
    if (first == second || line->cursor - first >= sizeof(swapped) ||
        memchr(text + first, '\n', line->cursor - first))
        return;
    memcpy(swapped, text + second, line->cursor - second);
    memcpy(swapped + (line->cursor - second), text + first, second - first);
    remember(line);
    memcpy(line->text.data + first, swapped, line->cursor - first);
}

/* --- indentation --- */

/* Statements after which a block cannot go on. */
static bool ends_block(const char *statement)
{
    static const char *const words[] = {"return", "pass", "break", "continue", "raise"};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        size_t len = strlen(words[i]);

        if (strncmp(statement, words[i], len) == 0 && strchr(" \n;(", statement[len]))
            return true;
    }
    return false;
}

/* The last character of the line before the cursor that is not a space. Comments are not looked
 * for: a colon at the end of one indents, which Backspace takes back. */
static char last_character(const struct line *line, size_t home)
{
    size_t at = line->cursor;

    while (at > home && strchr(" \t", text_of(line)[at - 1]))
        at--;
    return (char)(at > home ? text_of(line)[at - 1] : '\0');
}

void line_break(struct line *line, bool is_python, bool indents)
{
    size_t home = home_of(line, line->cursor);
    size_t indent = strspn(text_of(line) + home, " ");
    char last = last_character(line, home);

    if (home + indent > line->cursor)
        indent = line->cursor - home;
    if (is_python && last && strchr(":([{", last))
        indent += LINE_INDENT;
    else if (is_python && ends_block(text_of(line) + home + indent))
        indent -= indent < LINE_INDENT ? indent : LINE_INDENT;
    remember(line);
    (void)put(line, "\n", 1);
    if (!indents)
        return;
    for (size_t i = 0; i < indent; i++)
        (void)put(line, " ", 1);
    line->unclaimed = indent;
}

void line_indent(struct line *line)
{
    size_t column = line->cursor - home_of(line, line->cursor);

    (void)line_insert(line, "    ", LINE_INDENT - column % LINE_INDENT);
}

void line_unindent(struct line *line)
{
    size_t home = home_of(line, line->cursor), before = line->cursor;
    size_t spaces = strspn(text_of(line) + home, " ");

    spaces = spaces < LINE_INDENT ? spaces : LINE_INDENT;
    take_out(line, home, home + spaces);
    line->cursor = before > home + spaces ? before - spaces : home;
}
