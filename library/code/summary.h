/* The first line of a docstring: its literal as Python reads it, cleaned as inspect.cleandoc()
 * does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SUMMARY_CHARS 100
#define SUMMARY_BYTES ((size_t)4 * SUMMARY_CHARS)

/* From a literal, prefix and quotes included. False: it is one of the few that need Python itself
 * (escapes, several literals in a row, tabs, blanks beyond ASCII). */
bool summary_make(const char *literal, size_t len, char ret_text[SUMMARY_BYTES], size_t *ret_len);
