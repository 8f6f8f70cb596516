/* The cells typed before, in a file: private, appended to at once, so that several prompts can
 * share it, and cut to its newest part when it has grown. An entry is a line of the file; the ends
 * of its own lines are HISTORY_BREAK there. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* Entries that are kept. The file is cut when it has twice as many. */
#define HISTORY_ENTRIES ((size_t)1000)

/* Longer ones are not kept in the file. */
#define HISTORY_ENTRY_MAX ((size_t)4000)

#define HISTORY_BREAK '\036' /* the record separator of ASCII */

/* Calls `fn` for each of the newest entries, oldest first. A file that is missing is an empty one.
 * One that is not a file of ours (a link, somebody else's) is E_DENIED. */
int history_file_load(const char *path, void (*fn)(void *user, const char *text), void *user,
                      struct error *err);

int history_file_add(const char *path, const char *text, struct error *err);
