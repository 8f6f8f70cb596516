/* Draws a prompt and the text behind it on a terminal, over as many rows as they need, and draws
 * only what has changed. The rest of the screen is left alone.
 *
 * Nothing is assumed of the terminal but what all of them have: carriage return, cursor movement,
 * erasing to the end of the screen, and lines that wrap.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct paint_unit;

struct paint {
    struct paint_unit *units; /* what stands there, in reading order */
    size_t n_units, size;
    size_t row, column; /* of the cursor, from the row where the drawing begins */
    size_t top;         /* the first row that is shown, of a text that is longer than the screen */
    size_t columns, rows;
    size_t cursor; /* the unit before which it stands */
    bool is_drawn;
    bool is_stale; /* it stands there in another form, and is drawn again */
};

struct paint_text {
    const char *prompt, *more; /* before the first line, and before the others */
    const char *text;
    size_t len, cursor;
    const uint8_t *kinds; /* an enum highlight for each byte, or NULL */
};

void paint_done(struct paint *paint);

/* The size of the terminal; the next paint_draw() draws all of it again. */
void paint_resize(struct paint *paint, size_t columns, size_t rows);

/* Nothing of it stands there any more: the cursor is at the beginning of an empty row. */
void paint_forget(struct paint *paint);

/* Adds what makes the terminal show this. */
int paint_draw(struct paint *paint, const struct paint_text *text, struct buf *out);
