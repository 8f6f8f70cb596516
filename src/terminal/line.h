/* The text of a cell while it is edited: one or several lines of UTF-8, a cursor, and what was cut
 * last. It knows nothing of the terminal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define LINE_INDENT 4

/* Changes that can be undone. */
#define LINE_UNDO_MAX 64

struct line_state {
    char *text;
    size_t cursor;
};

struct line {
    struct buf text;
    size_t cursor;  /* in bytes; always between characters */
    struct buf cut; /* by Ctrl-K and its like; Ctrl-Y brings it back */
    /* Spaces before the cursor that nobody has typed yet: typing them moves over them, so that
     * people who indent by themselves, and pastes, are not indented twice. */
    size_t unclaimed;
    struct line_state undo[LINE_UNDO_MAX];
    size_t n_undo;
    bool is_typing; /* the last change was a typed character: the next one is part of it */
};

void line_init(struct line *line, size_t limit);
void line_done(struct line *line);

/* Replaces everything; the cursor is at the end. */
void line_set(struct line *line, const char *text);
void line_clear(struct line *line); /* and forgets what could be undone */

/* False: there is no room. */
bool line_insert(struct line *line, const char *text, size_t len);
bool line_type(struct line *line, const char *text, size_t len); /* a character that was typed */
void line_replace(struct line *line, size_t from, const char *text);

/* Moving: false if the cursor is there already. */
bool line_left(struct line *line);
bool line_right(struct line *line);
bool line_word_left(struct line *line);
bool line_word_right(struct line *line);
bool line_up(struct line *line);
bool line_down(struct line *line);
void line_home(struct line *line);
void line_end(struct line *line);

/* Deleting. The ones that cut keep what they take for line_paste(). */
bool line_backspace(struct line *line); /* in an indentation: one step of it */
bool line_delete(struct line *line);
void line_cut_word_left(struct line *line);
void line_cut_word_right(struct line *line);
void line_cut_space_word_left(struct line *line); /* words end at spaces alone */
void line_cut_to_end(struct line *line);
void line_cut_to_home(struct line *line);
void line_paste(struct line *line);
void line_transpose(struct line *line);
bool line_undo(struct line *line);

/* A new line, indented as Python wants it (`is_python`), or as the line before it. */
void line_break(struct line *line, bool is_python, bool indents);
void line_indent(struct line *line);
void line_unindent(struct line *line);

/* Only spaces stand before the cursor in its line. */
bool line_is_indentation(const struct line *line);

/* The next character and what belongs to it, and the one before; both stop at the ends. */
size_t line_next(const char *text, size_t len, size_t at);
size_t line_previous(const char *text, size_t len, size_t at);
