/* Lines that a person types for a program that wants to read one (calls/call.h, `input.line`).
 *
 * The terminal is only read while a program waits. What is typed at other times stays there for the
 * next reader: the prompt, or the shell that started us.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/loop.h"
#include "calls/call.h"

struct typed_line {
    struct loop *loop;
    struct loop_watch *watch;
    struct call *call;           /* that waits, or NULL */
    bool is_paused;              /* the terminal is needed for a question */
    bool is_old;                 /* Ctrl-C came since: perhaps nobody waits any more */
    struct buf text;             /* of a line so far */
    void (*on_line)(void *user); /* one is whole: the cursor is at the left; NULL: nobody cares */
    void *user;
};

/* Makes the terminal show what is typed, or not: a password. */
void typed_line_hide(bool hides);

/* Is there somebody who types? */
bool typed_line_is_possible(void);

void typed_line_want(struct typed_line *line, struct loop *loop, struct call *call);
void typed_line_pause(struct typed_line *line, bool is_paused);
void typed_line_interrupt(struct typed_line *line);
void typed_line_done(struct typed_line *line); /* before its loop; nobody waits */
