/* Displays of a program: display(), figures of matplotlib, progress, and rich forms of its value.
 *
 * display() is a builtin of every program; `from belljar import progress` is the rest. A program
 * that shows nothing pays for none of it. Everything leaves by the kernel's report channel, before
 * the call returns: what is printed afterwards comes after it.
 */
#pragma once

#include <Python.h>

/* Before the interpreter starts: makes `belljar` importable. 0 or -1. */
int display_register(void);

/* In the zygote, when the interpreter is up. 0 or -1. */
int display_prepare(void);

/* In a warm zygote, after the imports: loads what is needed for tables and figures in advance. */
void display_preload(void);

/* From now on what this process shows goes to that channel, until display_end(). Without one it is
 * printed as text. */
void display_begin(int control);
void display_end(void);

/* The value of a cell that has `_ipython_display_`: 1, and it is not shown in any other way. 0: it
 * has none. -1: it failed. */
int display_itself(PyObject *value);

/* The value of a cell with %%capture, which keeps it. -1: an interrupt is set. */
int display_captured(PyObject *value);

/* Shows the value of a program if it has ways of its own to be shown, and gives the text that is
 * one of them, or leaves it. -1: an interrupt is set. */
int display_value(PyObject *value, PyObject **ret_text);

/* Before a cell: the text of a table of pandas has as many columns as in a notebook. */
void display_widen_tables(void);

/* Shows and closes the figures that are still open. An exception that is set stays; -1: there was
 * none, and now an interrupt is set. */
int display_figures(void);
