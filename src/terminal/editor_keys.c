/* The keys of the editor: as in readline, IPython and most shells. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "terminal/editor_internal.h"

static void must(struct editor *e, bool is_done)
{
    if (!is_done)
        editor_beep(e);
}

static void forget_recall(struct editor *e)
{
    recall_reset(&e->recall);
}

/* --- history --- */

static void older(struct editor *e)
{
    size_t fixed = e->line.cursor;
    const char *text = recall_older(&e->recall, buf_str(&e->line.text), fixed);

    must(e, text != NULL);
    if (text)
        line_set(&e->line, text);
}

static void newer(struct editor *e)
{
    const char *text = recall_newer(&e->recall);

    must(e, text != NULL);
    if (text)
        line_set(&e->line, text);
}

static void up(struct editor *e)
{
    if (!line_up(&e->line))
        older(e);
}

static void down(struct editor *e)
{
    if (!line_down(&e->line))
        newer(e);
}

/* --- search --- */

static void end_search(struct editor *e)
{
    e->is_searching = false;
    free(e->searched_from);
    e->searched_from = NULL;
    forget_recall(e);
}

static void begin_search(struct editor *e)
{
    e->is_searching = true;
    e->has_failed = false;
    e->pattern[0] = '\0';
    e->found = e->recall.count;
    e->searched_from = strdup(buf_str(&e->line.text));
}

static void show_found(struct editor *e, size_t found)
{
    e->has_failed = found == e->recall.count;
    if (e->has_failed) {
        editor_beep(e);
        return;
    }
    e->found = found;
    line_set(&e->line, e->recall.items[found]);
}

static void search_again(struct editor *e, bool is_newer)
{
    if (*e->pattern)
        show_found(e, recall_find(&e->recall, e->pattern, e->found, is_newer));
}

static void search_shorter(struct editor *e)
{
    size_t len = strlen(e->pattern);

    e->pattern[line_previous(e->pattern, len, len)] = '\0';
    e->found = e->recall.count;
    e->has_failed = false;
    if (*e->pattern)
        show_found(e, recall_find(&e->recall, e->pattern, e->found, false));
    else
        line_set(&e->line, e->searched_from ? e->searched_from : "");
}

/* The one that is shown may still match. */
static void search_longer(struct editor *e, const struct key *key)
{
    size_t len = strlen(e->pattern);

    if (len + key->len >= sizeof(e->pattern) || key->text[0] == '\n') {
        editor_beep(e);
        return;
    }
    memcpy(e->pattern + len, key->text, key->len + 1);
    show_found(e, recall_find(&e->recall, e->pattern,
                              e->found < e->recall.count ? e->found + 1 : e->found, false));
}

/* False: the key ends the search and does what it always does. */
static bool press_in_search(struct editor *e, const struct key *key)
{
    if (key->kind == KEY_TEXT) {
        search_longer(e, key);
    } else if (key->kind == KEY_BACKSPACE) {
        search_shorter(e);
    } else if (key->kind == KEY_CONTROL && (key->code == 'R' || key->code == 'S')) {
        search_again(e, key->code == 'S');
    } else if (key->kind == KEY_CONTROL && key->code == 'G') {
        line_set(&e->line, e->searched_from ? e->searched_from : "");
        end_search(e);
    } else if (key->kind == KEY_ESCAPE) {
        end_search(e);
    } else if (key->kind != KEY_UNKNOWN) {
        end_search(e);
        return false;
    }
    return true;
}

/* --- Enter and Tab --- */

static bool is_blank_before_cursor(const struct line *line)
{
    return strspn(buf_str(&line->text), " \t\n") >= line->cursor;
}

static void enter(struct editor *e)
{
    struct line *line = &e->line;
    bool has_lines = memchr(buf_str(&line->text), '\n', line->text.len) != NULL;
    bool is_end =
        strspn(buf_str(&line->text) + line->cursor, " \t\n") == line->text.len - line->cursor;

    if ((!has_lines || is_end) && e->events->is_complete(e->owner, buf_str(&line->text)))
        editor_give(e);
    else
        line_break(line, e->language == RUN_PYTHON, !e->is_burst);
}

static void tab(struct editor *e)
{
    if (line_is_indentation(&e->line) || is_blank_before_cursor(&e->line)) {
        line_indent(&e->line);
        return;
    }
    e->is_completing = true;
    e->events->complete(e->owner, buf_str(&e->line.text), e->line.cursor);
}

/* --- the tables --- */

static void press_control(struct editor *e, char code)
{
    struct line *line = &e->line;

    switch (code) {
    case 'A':
        line_home(line);
        break;
    case 'B':
        must(e, line_left(line));
        break;
    case 'D':
        if (!line->text.len)
            editor_end(e, NULL);
        else
            must(e, line_delete(line));
        break;
    case 'E':
        line_end(line);
        break;
    case 'F':
        must(e, line_right(line));
        break;
    case 'H':
        must(e, line_backspace(line));
        break;
    case 'I':
        tab(e);
        break;
    case 'J':
    case 'M':
        enter(e);
        break;
    case 'K':
        line_cut_to_end(line);
        break;
    case 'L':
        editor_clear_screen(e);
        break;
    case 'N':
        down(e);
        break;
    case 'P':
        up(e);
        break;
    case 'R':
    case 'S':
        begin_search(e);
        break;
    case 'T':
        line_transpose(line);
        break;
    case 'U':
        line_cut_to_home(line);
        break;
    case 'W':
        line_cut_space_word_left(line);
        break;
    case 'Y':
        line_paste(line);
        break;
    case '_':
        must(e, line_undo(line));
        break;
    default:
        break;
    }
}

static void press_alt(struct editor *e, char code)
{
    switch (code) {
    case 'b':
        must(e, line_word_left(&e->line));
        break;
    case 'f':
        must(e, line_word_right(&e->line));
        break;
    case 'd':
        line_cut_word_right(&e->line);
        break;
    case 'p':
        older(e);
        break;
    case 'n':
        newer(e);
        break;
    case '\b':
    case 0x7f:
        line_cut_word_left(&e->line);
        break;
    case '\r':
    case '\n':
        line_break(&e->line, e->language == RUN_PYTHON, true);
        break;
    default:
        break;
    }
}

static bool moves_in_history(const struct key *key)
{
    return key->kind == KEY_UP || key->kind == KEY_DOWN || key->kind == KEY_UNKNOWN ||
           (key->kind == KEY_CONTROL && (key->code == 'P' || key->code == 'N')) ||
           (key->kind == KEY_ALT && (key->code == 'p' || key->code == 'n'));
}

void editor_press(struct editor *e, const struct key *key)
{
    struct line *line = &e->line;

    if (e->is_searching && press_in_search(e, key))
        return;
    if (!moves_in_history(key))
        forget_recall(e);
    switch (key->kind) {
    case KEY_TEXT:
        must(e, line_type(line, key->text, key->len));
        break;
    case KEY_CONTROL:
        press_control(e, key->code);
        break;
    case KEY_ALT:
        press_alt(e, key->code);
        break;
    case KEY_BACKSPACE:
        must(e, line_backspace(line));
        break;
    case KEY_DELETE:
        must(e, line_delete(line));
        break;
    case KEY_DELETE_WORD:
        line_cut_word_right(line);
        break;
    case KEY_UP:
        up(e);
        break;
    case KEY_DOWN:
        down(e);
        break;
    case KEY_LEFT:
        must(e, line_left(line));
        break;
    case KEY_RIGHT:
        must(e, line_right(line));
        break;
    case KEY_WORD_LEFT:
        must(e, line_word_left(line));
        break;
    case KEY_WORD_RIGHT:
        must(e, line_word_right(line));
        break;
    case KEY_HOME:
        line_home(line);
        break;
    case KEY_END:
        line_end(line);
        break;
    case KEY_BACK_TAB:
        line_unindent(line);
        break;
    case KEY_NONE:
    case KEY_ESCAPE:
    case KEY_PASTE_BEGIN:
    case KEY_PASTE_END:
    case KEY_UNKNOWN:
        break;
    }
}
