/* Displays for clients: entries of the result object, and lines for a person. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/run.h"

/* One entry for each form of each display: {"bundle", "mime", "data"}, and "encoding", "width" and
 * "height" where they say something. NULL: out of memory. */
json_t *display_json(const struct run *run);

/* The forms of one display, as they stand in the list; `bundle` counts from 0. */
int display_json_add(json_t *list, const struct run_display *display, size_t bundle);

/* Suffix of a file for a picture of that type ("png"), or NULL: it is no picture. */
const char *display_picture_suffix(const char *mime);

/* Its picture, the first of them, or NULL; and its size, 0 where nobody said. */
const struct run_form *display_picture(const struct run_display *display, uint32_t *ret_width,
                                       uint32_t *ret_height);
