/* Colours for code while it is typed. A few rules without a grammar: what is wrong is coloured,
 * too, and changes nothing but its looks. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/run.h"

enum highlight {
    HIGHLIGHT_NONE,
    HIGHLIGHT_KEYWORD,
    HIGHLIGHT_STRING,
    HIGHLIGHT_NUMBER,
    HIGHLIGHT_COMMENT,
    HIGHLIGHT_NAME,    /* that is being defined */
    HIGHLIGHT_COMMAND, /* of the prompt, of a notebook, of the shell */
    HIGHLIGHT_KINDS
};

/* Fills `kinds`, an enum highlight for each byte of the text. */
void highlight(enum run_language language, const char *text, size_t len, uint8_t *kinds);

/* The escape sequence that switches it on; that of HIGHLIGHT_NONE switches all of them off. */
const char *highlight_sequence(enum highlight kind);
