/* Pictures a program made, for a person at a terminal: kept as files, and drawn where the terminal
 * can.
 *
 * The bytes are the program's. They are only ever written to a file that did not exist, or handed
 * to the terminal as base64, and there only what says of itself that it is a PNG of a reasonable
 * size.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/run.h"

enum picture_protocol {
    PICTURE_NONE,
    PICTURE_KITTY, /* also Ghostty and Konsole */
    PICTURE_ITERM, /* also WezTerm */
};

/* The picture protocol of the terminal behind `fd`, according to its environment. Not within tmux
 * or screen, which would show the bytes instead. */
enum picture_protocol picture_protocol(int fd);

/* Keeps it as DIR/NAME-NUMBER.SUFFIX, for the owner alone; the number is the first that is free.
 * The caller frees *ret_path. */
int picture_save(const char *dir, const char *name, const struct run_form *form, char **ret_path,
                 struct error *err);

/* Width and height of a PNG. False: it is none, or too large for a terminal. */
bool picture_png_size(const void *data, size_t len, uint32_t *ret_width, uint32_t *ret_height);

/* Adds what makes the terminal draw the PNG. False: it is not to be drawn. */
bool picture_draw(enum picture_protocol protocol, const struct run_form *form, struct buf *out);
