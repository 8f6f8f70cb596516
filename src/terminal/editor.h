/* Cells a person types, read by the event loop: an editor for several lines with history, search,
 * completion and colours where there is a terminal, plain lines where there is none.
 *
 * The terminal is in the editor's mode only while a cell is asked for; in between it is as it was,
 * so that Ctrl-C is a signal and what a program prints looks as it should.
 *
 *     keys.c       bytes to keys
 *     line.c       the text, its cursor, and what keys do with it
 *     recall.c     cells typed before; history.c keeps them in a file
 *     paint.c      the text on the screen; highlight.c has its colours
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/loop.h"
#include "base/run.h"

struct editor;

/* Candidates to replace the word before the cursor. All zero before its first use. */
struct editor_words {
    char **items;
    size_t count;
    size_t start; /* where that word begins in the text */
};

struct editor_events {
    /* The answer to editor_ask(). With a terminal: a whole cell, as is_complete() has it. Without
     * one: a line without its newline. Only lent. */
    void (*on_line)(void *owner, const char *text);
    /* There will be no more: the end of the input, or Ctrl-D on an empty line. `err`: it cannot be
     * read, else NULL. Called once, unless it is asked for more after Ctrl-D. */
    void (*on_end)(void *owner, struct error *err);
    /* Does Enter end the cell? */
    bool (*is_complete)(void *owner, const char *text);
    /* The Tab key. editor_offer() answers, at once or later; keys wait for it. */
    void (*complete)(void *owner, const char *text, size_t cursor);
};

struct editor_options {
    int in, out;              /* descriptors; the editor needs terminals */
    size_t line_max;          /* bytes of one cell */
    const char *history_path; /* NULL: nothing is remembered for next time */
    bool has_color;
};

struct editor_prompt {
    const char *first, *more; /* before the first line, and before the others */
    enum run_language language;
};

/* The history is read here; one that cannot be read or kept is not used. */
int editor_new(struct loop *loop, const struct editor_options *options,
               const struct editor_events *events, void *owner, struct editor **ret_editor,
               struct error *err);
void editor_free(struct editor *editor);

/* Is there a person? */
bool editor_is_interactive(const struct editor *editor);

/* Does it edit, rather than give out plain lines, and can it ask for more? */
bool editor_is_capable(const struct editor *editor);

/* Asks for a cell; on_line or on_end follows, from the loop. Not while one is asked for. */
void editor_ask(struct editor *editor, const struct editor_prompt *prompt);

/* Forgets what has been typed, and asks for it with a new prompt. */
void editor_discard(struct editor *editor, const struct editor_prompt *prompt);

/* The answer to complete(). Words that a terminal should not get are left out. */
void editor_offer(struct editor *editor, struct editor_words *words);

/* Shows a line above what is edited. */
void editor_note(struct editor *editor, const char *line);

/* The terminal changed its size. */
void editor_resize(struct editor *editor);

/* The terminal is ours again after a stop. */
void editor_resume(struct editor *editor);

/* Keeps the cell for this and later prompts. Empty ones and repetitions are not kept. */
void editor_remember(struct editor *editor, const char *text);

/* For complete(): adds a word, whose copy is the list's, if it begins with `prefix`. */
void editor_words_add(struct editor_words *words, const char *word, const char *prefix);
void editor_words_done(struct editor_words *words);
