/* Whether what a program wrote is what was expected of it. */
#pragma once

#include <stdbool.h>

#include "wire/pack.h"

enum batch_judge_rule {
    BATCH_JUDGE_LINES,  /* white space at the end of lines, and empty lines at the end, do not count
                         */
    BATCH_JUDGE_EXACT,  /* byte for byte */
    BATCH_JUDGE_TOKENS, /* the words count, however they are apart */
};

/* Comma-separated, in that order; the first is the default. */
#define BATCH_JUDGE_RULES "lines,exact,tokens"

/* `name` is one of them, or NULL. */
enum batch_judge_rule batch_judge_rule(const char *name);

bool batch_judge_matches(enum batch_judge_rule rule, struct span got, struct span expected);
