/* The Python kernel's one job: check, compile and run a program in the warm interpreter it woke up
 * in. */
#pragma once

#include <Python.h>

#include "wire/message.h"

/* In the zygote, after the interpreter is up: keeps what must not be taken from the program's hands
 * later. 0 or -1. */
int python_prepare(void);

/* Checks, compiles and runs a few lines of ours the way a program is, any number of times: what
 * CPython sets up at the first use of a thing is set up then. Leaves no name behind and seals
 * nothing. */
void python_rehearse(void);

/* Runs the program to its end and returns the exit code. Everything about it is told over
 * `control`. */
int python_run(const struct wire_run *run, int control);

/* A session: the rules of `run` are loaded and in force from here on, before any cell. 0 or -1,
 * which report_failed() has been told. */
int python_open(const struct wire_run *run, int control);

/* Runs one cell in the globals of __main__, which keep what the cells before left there, and
 * returns the exit code it would have as a program. */
int python_cell(const struct wire_cell *cell, int control);

/* Prepares the end of the process: waits for threads, runs exit functions, flushes. */
void python_finish(void);

/* Ends the process as Python would: waits for threads, runs exit functions, lets go of the
 * program's objects, flushes; then _exit(). */
void __attribute__((noreturn)) python_exit(int code);
