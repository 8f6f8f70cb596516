/* Whether what a program wrote is what was expected of it. */
#pragma once

#include <stdbool.h>

#include "wire/pack.h"

enum verdict_rule {
    VERDICT_LINES,  /* white space at the end of lines, and empty lines at the end, do not count */
    VERDICT_EXACT,  /* byte for byte */
    VERDICT_TOKENS, /* the words count, however they are apart */
};

/* Comma-separated, in that order; the first is the default. */
#define VERDICT_RULES "lines,exact,tokens"

/* `name` is one of them, or NULL. */
enum verdict_rule verdict_rule(const char *name);

bool verdict_matches(enum verdict_rule rule, struct span got, struct span expected);
