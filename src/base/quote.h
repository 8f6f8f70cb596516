/* Words of programs, kernels and servers inside a message of Belljar's own.
 *
 * The result is one line. Characters that a reader cannot see, or that change how a line reads, are
 * written as escapes (`\n`, `\x9b`, `\u{202e}`). Text that has to be masked is masked first.
 */
#pragma once

#include <stddef.h>

#include "wire/pack.h"

/* The text between quotation marks, at most `max` bytes of it; `…` stands for the rest. Whatever
 * looks like a quotation mark is an escape, too: the text cannot end the quotation. The caller's;
 * NULL: out of memory. */
char *quote_words(struct span text, size_t max);

/* Like quote_words(), but without quotation marks; those in the text stay. */
char *quote_line(struct span text, size_t max);
