/* Advice on an exception, in our words.
 *
 * The name of the exception and the names that came with it are the program's and may be anything.
 * A sentence is made of them only where they look like names of modules: a program's words never
 * appear as Belljar's.
 */
#pragma once

#include "base/run.h"
#include "wire/message.h"

/* A malloc'd sentence, or NULL: we know nothing, or there is no memory for it. */
char *advice_on(const struct wire_exception *exception, const struct run_terms *terms);

/* A hint for a command of a shell that was run as Python, by the first word of the program. */
char *advice_on_language(struct span code, struct span exception, const struct run_terms *terms);

/* A hint for commands that failed, by the last lines that they printed on standard error. One in a
 * pipe fails, and the whole goes well: then few messages are believed. */
char *advice_on_output(const char *text, size_t len, const struct run_terms *terms,
                       bool has_failed);

/* A hint for commands that printed nothing: `curl -s` and `wget -q` do not say that there is no
 * network. */
char *advice_on_silence(struct span code, const struct run_terms *terms);
