/* Habits of notebooks: `!ls`, `files = !ls`, `%cd`, `%%bash`, `df?`, and programs that were copied
 * with their indentation or with `>>> `.
 *
 * A program that is not Python is looked through for such lines. They become calls of the builtin
 * `_notebook`, or ordinary Python, in the same line, and the result is parsed and judged like any
 * program. A program that is Python is never touched, unless it begins with a prompt of IPython:
 * Python takes `In [3]: x = 4` for an annotation.
 */
#pragma once

#include <stdbool.h>

#include <Python.h>

#include "guest/display_bundle.h"
#include "wire/message.h"

/* The beginning of the line before each cell of a file of cells. */
#define NOTEBOOK_CELL "# %% In ["

/* Returns the program without such lines, which PyMem_RawFree() frees, or NULL: there are none, or
 * none is known. */
char *notebook_translate(struct span source);

/* The lines of its tree, or of the SyntaxError that is set if that is NULL, get the numbers that
 * they have in the program. */
void notebook_renumber(PyObject *tree, const char *translation);

/* The program begins with `In [3]: `. */
bool notebook_has_prompt(struct span source);

/* Like notebook_translate(), but of a cell that is one line and begins with the name of a magic,
 * `ls -l`, if none of `names` is called so: it would only be an error. */
char *notebook_translate_bare(struct span source, PyObject *names);

/* The program ends with a semicolon: its value is not shown. */
bool notebook_is_quiet(struct span source);

/* Adds the builtins `_notebook` and `get_ipython`. 0 or -1. */
int notebook_prepare(void);

/* At the end of a cell: prints how long it took, unless an exception is set, and gives back what
 * %%capture took. */
void notebook_end(void);

/* Displays are kept, and not shown: %%capture. */
bool notebook_is_captured(void);
int notebook_keep_display(const struct display_bundle *b);

/* Runs a text as a cell would be, with its lines of notebooks, in the session's names. Only where
 * the policy looks at nothing. The value, if it is an expression. */
PyObject *notebook_run_text(const char *text);

/* `%run WORDS`, with the function of library/_belljar_notebook.py. `ret_is_apart`: it has to be a
 * program of its own, and nothing was run. */
PyObject *notebook_run_file(PyObject *library, const char *words, bool *ret_is_apart);
