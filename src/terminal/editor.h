/* Lines a person types, read by the event loop: a line editor with history and completion where
 * there is a terminal, plain lines where there is none.
 *
 * The terminal is in the editor's mode only while a line is asked for; in between it is as it was,
 * so that Ctrl-C is a signal and what a program prints looks as it should.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/loop.h"

struct editor;

/* Candidates to replace the word before the cursor. */
struct editor_words {
    char **items;
    size_t count;
    size_t start; /* where that word begins in the line */
};

struct editor_events {
    /* The line that was asked for, without its newline. Only lent. */
    void (*on_line)(void *owner, const char *line);
    /* Several lines that came at once, by a terminal that says so, with what stood in the line
     * already. Like on_line(), an answer to editor_ask(). Optional. */
    void (*on_paste)(void *owner, const char *text);
    /* There will be no more: the end of the input, or Ctrl-D on an empty line. `err`: it cannot be
     * read, else NULL. Called once. */
    void (*on_end)(void *owner, struct error *err);
    /* Optional. `line` ends at the cursor. */
    void (*complete)(void *owner, const char *line, struct editor_words *words);
};

struct editor_options {
    int in, out;              /* descriptors; the editor needs terminals */
    size_t line_max;          /* bytes of one line */
    const char *history_path; /* NULL: nothing is remembered for next time */
};

/* The history is read here; one that cannot be read or kept is none, without a word. */
int editor_new(struct loop *loop, const struct editor_options *options,
               const struct editor_events *events, void *owner, struct editor **ret_editor,
               struct error *err);
void editor_free(struct editor *editor);

/* Is there a person? */
bool editor_is_interactive(const struct editor *editor);

/* Asks for one line; on_line or on_end follows, from the loop. Not while one is asked for. */
void editor_ask(struct editor *editor, const char *prompt);

/* Forgets what has been typed, and asks for the line with a new prompt. */
void editor_discard(struct editor *editor, const char *prompt);

/* The terminal changed its size, or is ours again after a stop. */
void editor_refresh(struct editor *editor);

/* Keeps the line for this and later prompts. Empty ones and repetitions are not kept. */
void editor_remember(struct editor *editor, const char *line);

/* For complete(): adds a word, whose copy is the editor's, if it begins with `prefix`. */
void editor_words_add(struct editor_words *words, const char *word, const char *prefix);
