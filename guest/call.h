/* Calls of a program to the outside: a name and JSON go out on the kernel's report pipe, JSON comes
 * back on a pipe that has no other use. The supervisor decides whether a call is granted; nothing
 * here is a check.
 *
 * Several threads may wait at once. One of them reads, and wakes the others; all of it is guarded
 * by the interpreter's lock, which no thread holds while it waits. A forked child has no channel:
 * its frames and its parent's would cut each other in pieces.
 */
#pragma once

#include <Python.h>

/* `_belljar_call`, for the table of built-in modules. */
PyObject *call_module(void);

/* In the kernel, before any program: where calls go and replies come. */
void call_open(int report, int replies);

/* Between these calls are possible. A thread that goes on after the end of a cell gets an error. */
void call_begin(void);
void call_end(void);

/* In a copy of a session: the pipe is a new one, and nothing that was asked on the old one is
 * answered. */
void call_reset(void);
