/* Questions about a piece of text that does not end in a NUL. */
#pragma once

#include <stdbool.h>

#include "wire/pack.h"

bool span_is(struct span s, const char *text);        /* the same bytes */
bool span_is_nocase(struct span s, const char *text); /* equal but for the case of letters */
bool span_equal_nocase(struct span a, struct span b); /* equal but for the case of letters */
size_t span_until(struct span s, const char *ends);   /* bytes before the first of these */
struct span span_trim(struct span s);                 /* without blanks and tabs at both ends */
