/* Modules of the project whose files change while a session goes on.
 *
 * Python keeps a module that it has imported. An agent edits its file in one call and imports it
 * again in the next, and would be answered by the old code. So when the file of a project's module
 * has changed, all modules of the project leave sys.modules, and the next import reads them anew.
 * Names that are bound already stay what they are.
 */
#pragma once

/* Sets the directory of the project's modules; anything below /workspace counts, too. */
void fresh_modules_begin(const char *directory);

/* Before a cell. */
void fresh_modules_drop(void);

/* After a cell: looks at the files of those that it has imported. */
void fresh_modules_note(void);
