/* Reads git's configuration format: sections in any case, subsections, quotes, escapes, lines that
 * go on, comments, CRLF. What git would refuse is passed over: the file may be mended later. */
#pragma once

#include <stddef.h>

/* `section` and `name` are in lower case; `subsection` is NULL without one. A variable without a
 * value has "". All end with the call. */
typedef void git_config_fn(void *arg, const char *section, const char *subsection, const char *name,
                           const char *value);

/* -1: out of memory. */
int git_config_parse(const char *text, size_t len, git_config_fn *fn, void *arg);
