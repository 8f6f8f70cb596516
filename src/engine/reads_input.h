/* Guesses by its text whether a program reads its standard input, for hints where that was empty.
 */
#pragma once

#include <stdbool.h>

#include "wire/language.h"

/* `text` ends with a NUL. Python and commands: false, since they are known by how they end. */
bool reads_input(enum run_language language, const char *text);
