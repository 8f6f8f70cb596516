/* Modules of the project whose files change while a session goes on.
 *
 * Python keeps a module that it has imported. An agent edits its file in one call and imports it
 * again in the next, and would be answered by the old code. So when the file of a project's module
 * has changed, all modules of the project leave sys.modules, and the next import reads them anew.
 * Names that are bound already stay what they are.
 */
#pragma once

#include <stdbool.h>

/* Sets the directory of the project's modules; anything below /workspace counts, too. */
void fresh_modules_begin(const char *directory);

/* Before a cell. */
void fresh_modules_drop(void);

/* `%autoreload 2`: they are read again in place from now on, and no longer dropped. */
void fresh_modules_set_renewing(bool renews);

/* Reads those that have changed in place; `is_asked`: also without `%autoreload 2`. Runs code of
 * the program. -1: an interrupt is set as exception. */
int fresh_modules_renew(bool is_asked);

/* After a cell: looks at the files of those that it has imported. */
void fresh_modules_note(void);
