/* A word as a shell writes it. */
#pragma once

#include "base/buf.h"

/* Adds the word, in single quotes where the shell would read it as something else. */
int shell_word_add(const char *word, struct buf *out, struct error *err);
