/* Parts of the translation of lines of notebooks (guest/notebook.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <Python.h>

#include "wire/message.h"

/* A line may become several times as long; a program has a limit before it comes here. */
struct text {
    char *data;
    size_t len, size;
    bool failed;
};

void text_add(struct text *t, const char *data, size_t len);
void text_add_str(struct text *t, const char *s);

/* The end of a line that the program does not have. White space is no part of Python there, and a
 * text in a literal has no such character. */
#define NOTEBOOK_EXTRA_LINE "\f\n"

/* As a literal of Python. */
void text_add_literal(struct text *t, struct span s);

struct span notebook_trim(struct span s);
struct span notebook_after(struct span s, size_t n);
bool notebook_is_word(char c);

/* The length of a name at the beginning. */
size_t notebook_name_length(struct span s);

/* Takes a line, without its end. */
struct span notebook_take_line(struct span *rest);

/* The line up to a comment that is not in a string. */
struct span notebook_before_comment(struct span line);

/* The strings and brackets that are open. */
struct notebook_state {
    char quote;     /* of a string over several lines */
    unsigned depth; /* of brackets */
    bool continues; /* a backslash at the end of the line */
    char last;      /* the last character that is code, not a space */
};

void notebook_scan_line(struct notebook_state *s, struct span line);

/* The text that each of these adds stands in for the line that it was given. `indent` is what stood
 * before it. -1: there is no such magic, or what follows it is not Python. */

/* "kind(command)" with its variables put in. */
void notebook_add_call(struct text *t, const char *kind, struct span command);

/* The command as an expression: its variables are put in. */
void notebook_add_command(struct text *t, struct span command);

/* A cell that is the standard input of a program: `program` and what stands behind it on the line.
 * -1: an option's value is no name. */
int notebook_add_script(struct text *t, struct span program, struct span rest, struct span body);

/* A magic whose value can be used, and any magic: "name rest", behind the percent sign. */
int notebook_add_value(struct text *t, struct span indent, struct span name, struct span rest);
bool notebook_is_bare_magic(struct span name); /* one that notebooks take without a sign in front */
int notebook_add_magic(struct text *t, struct span indent, struct span line);

/* `name?`, and with the source `name??`. */
void notebook_add_question(struct text *t, struct span name, bool is_long);

/* The line before each cell of a file of cells. */
bool notebook_begins_cell(struct span text);

/* "%%name rest", at the beginning of a cell. What follows it in its cell is taken from `code`. */
int notebook_add_cell(struct text *t, struct span line, struct span *code);

/* ---- what the lines do ---- */

/* A function of library/_belljar_notebook.py. */
PyObject *notebook_call_library(const char *kind, PyObject *what);

void notebook_flush(const char *name);

/* -1, with an exception: the profile runs no commands. */
int notebook_check_shell(void);

/* `must_work`: a cell that fails ends the program, a line does not. */
PyObject *notebook_run_shell(const char *command, bool must_work);

/* The lines of its output. */
PyObject *notebook_run_for_lines(const char *command);

/* `%%bash --out a --err b`: (text or None, text or None) of (command, wants out, wants err, must
 * work). */
PyObject *notebook_run_for_streams(PyObject *what);
