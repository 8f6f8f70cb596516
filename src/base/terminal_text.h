/* Strangers' bytes on a terminal. A program's output may carry sequences that move the cursor,
 * rename the window or type into the shell; on a terminal everything but text, newlines, tabs and
 * plain colours is made visible instead
 * ("\x1b]0;"). Output of a program that runs may also draw its own line again (is_live). Where
 * output goes to a file or a pipe nothing of this applies and bytes pass unchanged.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* The longest colour sequence passed on; what may still become one waits here for its next byte. */
#define TERMINAL_HELD_MAX 32

/* Colours as 1 + RGB; 0: the terminal's own. */
struct terminal_style {
    uint32_t fore, back;
    bool is_concealed;
};

struct terminal {
    char held[TERMINAL_HELD_MAX];
    size_t n_held;
    bool has_color;   /* false: colours are made visible, too */
    bool is_exact;    /* what cannot be seen is made visible, too */
    bool is_distinct; /* a backslash that would look like one of ours is doubled */
    bool is_colored;  /* a colour was passed on and not yet reset */
    bool is_live;     /* a program draws its own line again, as progress bars do: \r, \b and
                         erase-line are passed on; sequences that hide text, with conceal or in the
                         colour of its background, are left out */
    struct terminal_style style; /* that was passed on */
};

/* Not terminal_init(): the line editor, which is linked statically, has one of that name. */
void terminal_begin(struct terminal *terminal, bool has_color);

/* Adds the visible form of the bytes to `out`; a sequence may be cut anywhere between calls. */
int terminal_feed(struct terminal *terminal, const char *data, size_t len, struct buf *out,
                  struct error *err);

/* The end of the stream: adds what was held, and switches a colour off that was left on. */
int terminal_finish(struct terminal *terminal, struct buf *out, struct error *err);

/* One line of text for a message: newlines and tabs are made visible as well. */
int terminal_line(const char *text, size_t len, struct buf *out, struct error *err);

/* For text that a person approves, such as file names and changed lines: nothing stays invisible,
 * not even joiners and zero-width characters. The second function is for several lines and keeps
 * tabs. */
int terminal_exact_line(const char *text, size_t len, struct buf *out, struct error *err);
int terminal_exact(const char *text, size_t len, struct buf *out, struct error *err);

/* Like terminal_exact(), but applied to the text itself, once: a backslash before `r`, `x` or
 * another backslash is doubled, so that a carriage return (`\r`) cannot be taken for these two
 * characters.
 */
int terminal_distinct(const char *text, size_t len, struct buf *out, struct error *err);

/* Does `fd` get colours? `when` is the option `color`: "always", "never", or "auto" for a terminal
 * that has them while NO_COLOR is not set. */
bool terminal_has_color(int fd, const char *when);
