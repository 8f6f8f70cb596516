/* The output of a program that has a terminal of its own, for the terminal of its user.
 *
 * A full-screen program moves the cursor, so terminal_text.h would leave nothing of it. This filter
 * knows the sequences that draw: it passes those on, and removes everything else. What is removed:
 *
 * - questions, which the terminal answers by typing (device attributes, reports, ENQ);
 * - strings for the terminal (OSC, DCS, APC, PM, SOS): titles, the clipboard, links, palettes;
 * - window operations, printing, key reports, tab stops, erasing what has scrolled out of sight;
 * - sequences that are not known, characters of control, and those that change the order of text.
 *
 * It remembers what the program has changed about the terminal, and undoes it at the end. Memory is
 * constant, and a sequence may be cut anywhere between calls.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* The longest sequence that is passed on. */
#define TERMINAL_SEQUENCE_MAX 64

enum terminal_screen_state {
    SCREEN_TEXT,
    SCREEN_ESCAPE,   /* after ESC and bytes between */
    SCREEN_CONTROL,  /* after ESC [ */
    SCREEN_OVERLONG, /* in one that is too long */
    SCREEN_STRING,   /* after ESC ] and the like */
    SCREEN_STRING_ESCAPE,
    SCREEN_PALETTE, /* of the console of Linux: so many bytes more, without an end */
};

struct terminal_screen {
    enum terminal_screen_state state;
    char held[TERMINAL_SEQUENCE_MAX];
    size_t n_held;
    size_t n_string;  /* bytes of the string so far */
    uint32_t modes;   /* bits of a table: those that are not as they were */
    uint32_t changed; /* other things that are not */
    bool is_in_line;  /* text was written since the line began, as far as can be told */
};

/* Starts with all zero. Adds what is passed on to `out`. */
int terminal_screen_feed(struct terminal_screen *screen, const char *data, size_t len,
                         struct buf *out, struct error *err);

/* The end of the program: undoes what it has changed, and begins a new line. Returns 1 where the
 * terminal may have sent reports that nobody has read, 0 where not, -1 on failure. */
int terminal_screen_finish(struct terminal_screen *screen, struct buf *out, struct error *err);
