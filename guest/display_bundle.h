/* One object in the forms it can be shown in, collected within limits.
 *
 * Collecting runs code of the program: its objects say how they look. Whatever that code does, what
 * comes out is bounded, and an exception in it becomes words; only an interrupt is passed on.
 */
#pragma once

#include <stdbool.h>

#include <Python.h>

#include "wire/message.h"

/* Most bytes of all forms of one object, and of its text. What does not fit is left out, text is
 * cut. */
#define DISPLAY_BUNDLE_BYTES_MAX ((size_t)7 << 20)
#define DISPLAY_BUNDLE_TEXT_MAX  ((size_t)1 << 20)

struct display_bundle {
    struct {
        char mime[128];
        PyObject *bytes;
    } forms[WIRE_FORMS_MAX];
    uint32_t count;
    size_t bytes;
    uint32_t width, height; /* of its picture, or 0 */
    bool has_own_text;      /* its text is what the object's own bundle has */
};

/* Starts zeroed. */
void display_bundle_done(struct display_bundle *b);

/* Adds a form: text as str, binary as bytes, anything plain where the type is JSON. What cannot be
 * this form or has no room is left out. Never fails with an exception. */
void display_bundle_add(struct display_bundle *b, const char *mime, PyObject *value);

void display_bundle_drop(struct display_bundle *b, const char *mime);

/* Objects with `_ipython_display_` show themselves. 1: it did; 0: it has none; -1: it failed. */
int display_bundle_shows_itself(PyObject *object);

/* The object has ways of its own to be shown, beside repr(). Runs no code of the program. */
bool display_bundle_is_rich(PyObject *object);

/* The object says how it is printed, by `_repr_pretty_`; the text that it prints. */
bool display_bundle_is_pretty(PyObject *object);
PyObject *display_bundle_pretty(PyObject *object);

/* The text that an object's own bundle has; NULL: it has none. New reference. */
PyObject *display_bundle_own_text(const struct display_bundle *b);

/* {mime: bytes}. New reference, or NULL with an exception. */
PyObject *display_bundle_dict(const struct display_bundle *b);

/* All forms of the object, its text among them. -1: an interrupt is set as exception. */
int display_bundle_fill(struct display_bundle *b, PyObject *object);

/* The forms of a {mime: data} dictionary. -1: an interrupt, or it is no such dictionary. */
int display_bundle_fill_raw(struct display_bundle *b, PyObject *dict);

/* A figure of matplotlib as a picture and the data in it. -1: an interrupt. */
int display_bundle_fill_figure(struct display_bundle *b, PyObject *figure);

/* Pictures of figures also as SVG. */
void display_bundle_wants_svg(bool wants);

/* Clears the exception that is set and gives "<WHAT failed: Name: message>", or NULL with the
 * exception still set if it is an interrupt. */
PyObject *display_bundle_failure(const char *what);
