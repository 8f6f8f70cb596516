/* The kernel's report to the supervisor about the program: refusals, the value, the exception. Its
 * size is bounded here.
 *
 * Everything sent after report_started() is untrusted, and the supervisor treats it so.
 */
#pragma once

#include <Python.h>

#include "guest/policy/policy.h"

/* Most bytes of one text (value, message, traceback); what is longer is cut. */
#define REPORT_TEXT_MAX ((size_t)1 << 20)

int report_refused(int control, const struct policy_report *report);
int report_started(int control);

/* Belljar's own failure before the program began. */
int report_failed(int control, const char *message);

/* The directory that a command was to start in cannot be entered. */
int report_no_directory(int control, int errnum);

/* repr(), or what the object's `_repr_pretty_` says; of a float in the form that was set: such as
 * "%.3f", or NULL, which is not taken over. */
PyObject *report_repr(PyObject *value);
void report_set_float_form(PyObject *form);

/* The traceback of the last exception that was reported, as text; NULL: there was none. Borrowed.
 */
PyObject *report_last_traceback(void);

/* The exception with which the last cell failed that did, its frames included; NULL: there was
 * none, or it is forgotten. Borrowed. */
PyObject *report_last_exception(void);
void report_forget_exception(void);

/* `text` of the value, NULL: report_repr(), and where it is plain data, JSON. May run code of the
 * program (a __repr__). */
int report_value(int control, PyObject *value, PyObject *text);

/* The exception that is set, which is also printed to stderr and cleared. A program's own
 * sys.excepthook prints it, but not in cells, as in notebooks. Returns the exit code Python would
 * give. */
int report_exception(int control, bool is_cell, bool prints);

/* JSON of plain data (None, bool, int, float, str, list, tuple, dict with text keys; exact types,
 * so that no code of the program runs). Returns a new string object, or NULL without an error set
 * when the value is not plain. */
PyObject *report_json(PyObject *value);

/* A module of the library, without asking builtins.__import__, which is the program's by then. */
PyObject *report_module(const char *name);
