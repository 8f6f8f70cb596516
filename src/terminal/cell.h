/* Finds the end of a cell that is typed line by line. */
#pragma once

#include <stdbool.h>

#include "base/run.h"

/* Is this all of it, as far as can be told without an interpreter? `text` holds the lines so far,
 * each but the last with its newline.
 *
 * Python: brackets, triple quotes and a backslash want more; a block ends with an empty line. Bash:
 * quotes, brackets, `if`, loops, `case`, here-documents, and a line that ends in an operator want
 * more. Others: brackets, templates and comments want more. Lines of a notebook (`!ls`, `%time x`)
 * go on after a backslash alone, a cell that begins with `%%name` ends with an empty line. What is
 * wrong in itself counts as complete, so that the language says what it thinks of it.
 */
bool cell_is_complete(enum run_language language, const char *text);
