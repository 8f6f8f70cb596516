/* Private to editor*.c. */
#pragma once

#include <termios.h>

#include "base/buf.h"
#include "terminal/editor.h"
#include "terminal/keys.h"
#include "terminal/line.h"
#include "terminal/paint.h"
#include "terminal/recall.h"

#define EDITOR_PROMPT_MAX 96

struct editor {
    struct loop *loop;
    struct editor_options options;
    const struct editor_events *events;
    void *owner;
    char first[EDITOR_PROMPT_MAX], more[EDITOR_PROMPT_MAX];
    enum run_language language;
    bool is_asking;
    bool has_ended;
    struct loop_watch *watch;  /* of `in`, while something is asked for */
    struct loop_watch *soon;   /* for what is already here */
    struct loop_watch *escape; /* for what may be a lone Escape */
    struct buf input;          /* read and not yet taken */
    bool is_exhausted;

    /* with a terminal */
    bool is_capable;
    bool is_raw;
    struct termios before; /* the terminal as it was */
    struct keys keys;
    struct line line;
    struct recall recall;
    struct paint paint;
    bool is_burst;      /* more keys are here already, as in a paste */
    bool is_completing; /* complete() is not answered yet */

    bool is_searching;
    char pattern[64];
    size_t found; /* in recall */
    bool has_failed;
    char *searched_from; /* the text before the search */
};

/* --- editor_keys.c --- */

/* Does what the key says. The cell may be given out by it. */
void editor_press(struct editor *editor, const struct key *key);

/* --- editor_show.c --- */

void editor_paint(struct editor *editor);

/* Puts the cursor below the text, for other output. */
void editor_leave(struct editor *editor, const char *behind);
void editor_list_words(struct editor *editor, const struct editor_words *words);
void editor_clear_screen(struct editor *editor);
void editor_beep(struct editor *editor);

/* --- editor.c --- */

void editor_stop(struct editor *editor);
void editor_give(struct editor *editor);
void editor_end(struct editor *editor, struct error *err);
