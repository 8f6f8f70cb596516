/* Displays and progress of a program: from the kernel's channel into the run.
 *
 * Hostile bytes. Their length was checked by the frame, their number is bounded here; their content
 * is passed on as the program's text and decides nothing.
 */
#pragma once

#include <stdbool.h>

#include "base/run.h"
#include "wire/pack.h"

/* WIRE_DISPLAY. False: it is none, and whoever sent it is not our code any more. */
bool display_take(struct run *run, struct unpack *u);

/* WIRE_PROGRESS. */
bool display_take_progress(struct run *run, struct unpack *u);

/* A chunk of standard error: a bar drawn in it is progress, too. */
void display_take_bar(struct run *run, const char *data, size_t len);

/* "type/subtype", in lower case, of the characters RFC 6838 allows and not longer than it allows.
 */
bool display_is_mime(struct span mime);
