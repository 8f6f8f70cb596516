#include "guest/display_bundle.h"

#include <stdbool.h>
#include <string.h>

#include "base/span.h"
#include "guest/helper.h"
#include "guest/report.h"
#include "guest/versions.h"

#define MESSAGE_MAX 300

static bool wants_svg;

void display_bundle_wants_svg(bool wants)
{
    wants_svg = wants;
}

void display_bundle_done(struct display_bundle *b)
{
    for (uint32_t i = 0; i < b->count; i++)
        Py_DECREF(b->forms[i].bytes);
    *b = (struct display_bundle){0};
}

/* ---- failures ---- */

static bool is_interrupt(void)
{
    return PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
}

/* Its first characters; the exception is the program's, and may fail at this, too. */
static PyObject *message_of(PyObject *exception)
{
    PyObject *text = exception ? PyObject_Str(exception) : NULL;

    if (text)
        Py_SETREF(text, PyUnicode_Substring(text, 0, MESSAGE_MAX));
    return text;
}

PyObject *display_bundle_failure(const char *what)
{
    PyObject *type, *value, *tb, *message, *text = NULL;

    if (is_interrupt())
        return NULL;
    PyErr_Fetch(&type, &value, &tb);
    message = message_of(value);
    if (message || !PyErr_Occurred() || !is_interrupt()) {
        PyErr_Clear();
        text = PyUnicode_FromFormat(message ? "<%s failed: %.100s: %U>" : "<%s failed: %.100s>",
                                    what, ((PyTypeObject *)type)->tp_name, message);
        if (!text) {
            PyErr_Clear();
            text = PyUnicode_FromString("<it failed>");
        }
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(tb);
    Py_XDECREF(message);
    return text;
}

/* ---- forms ---- */

static bool is_json(const char *mime)
{
    return strcmp(mime, "application/json") == 0 || text_ends_with(mime, "+json");
}

static bool is_binary(const char *mime)
{
    return (strncmp(mime, "image/", 6) == 0 && !text_ends_with(mime, "+xml")) ||
           strncmp(mime, "audio/", 6) == 0 || strncmp(mime, "video/", 6) == 0 ||
           strcmp(mime, "application/pdf") == 0;
}

/* "type/subtype" as the supervisor expects it. */
static bool is_mime(const char *mime)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789!#$&-^_.+";
    size_t type = strspn(mime, letters), subtype;

    if (!type || type > 60 || mime[type] != '/' || strchr("!#$&-^_.+", mime[0]))
        return false;
    subtype = strspn(mime + type + 1, letters);
    return subtype && subtype <= 60 && !mime[type + 1 + subtype] &&
           !strchr("!#$&-^_.+", mime[type + 1]);
}

/* At most that many bytes of UTF-8, cut between characters; lone surrogates become "?". */
static PyObject *encode(PyObject *text, size_t max)
{
    PyObject *head = PyUnicode_GetLength(text) > (Py_ssize_t)max
                         ? PyUnicode_Substring(text, 0, (Py_ssize_t)max)
                         : Py_NewRef(text);
    PyObject *bytes = head ? PyUnicode_AsEncodedString(head, "utf-8", "replace") : NULL;
    Py_ssize_t len = bytes ? PyBytes_GET_SIZE(bytes) : 0;

    Py_XDECREF(head);
    if (len > (Py_ssize_t)max) {
        PyObject *whole = bytes;

        len = (Py_ssize_t)max;
        while (len && ((unsigned char)PyBytes_AS_STRING(whole)[len] & 0xc0) == 0x80)
            len--;
        bytes = PyBytes_FromStringAndSize(PyBytes_AS_STRING(whole), len);
        Py_DECREF(whole);
    }
    return bytes;
}

static PyObject *form_bytes(const char *mime, PyObject *value)
{
    if (is_binary(mime))
        return PyBytes_CheckExact(value) ? Py_NewRef(value) : NULL;
    if (is_json(mime)) {
        PyObject *json = report_json(value),
                 *bytes = json ? encode(json, DISPLAY_BUNDLE_BYTES_MAX) : NULL;

        Py_XDECREF(json);
        return bytes;
    }
    if (!PyUnicode_Check(value))
        return NULL;
    /* Half a page is no page; half a text still says something. */
    return encode(value, strcmp(mime, "text/plain") == 0 ? DISPLAY_BUNDLE_TEXT_MAX
                                                         : DISPLAY_BUNDLE_BYTES_MAX + 1);
}

static uint32_t number_at(const unsigned char *data)
{
    return (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 | (uint32_t)data[2] << 8 | data[3];
}

/* The first chunk of a PNG is its header, and begins with the size. */
static void read_size(struct display_bundle *b, PyObject *bytes)
{
    static const char start[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    const char *data = PyBytes_AS_STRING(bytes);

    if (PyBytes_GET_SIZE(bytes) < 24 || memcmp(data, start, 16) != 0)
        return;
    b->width = number_at((const unsigned char *)data + 16);
    b->height = number_at((const unsigned char *)data + 20);
}

void display_bundle_add(struct display_bundle *b, const char *mime, PyObject *value)
{
    PyObject *bytes = NULL;

    for (uint32_t i = 0; i < b->count; i++)
        if (strcmp(b->forms[i].mime, mime) == 0)
            return;
    if (b->count < WIRE_FORMS_MAX && is_mime(mime))
        bytes = form_bytes(mime, value);
    PyErr_Clear(); /* no memory for a form is a form less */
    if (!bytes)
        return;
    if ((size_t)PyBytes_GET_SIZE(bytes) > DISPLAY_BUNDLE_BYTES_MAX - b->bytes) {
        Py_DECREF(bytes);
        return;
    }
    if (strcmp(mime, "image/png") == 0)
        read_size(b, bytes);
    b->bytes += (size_t)PyBytes_GET_SIZE(bytes);
    (void)snprintf(b->forms[b->count].mime, sizeof(b->forms[0].mime), "%s", mime);
    b->forms[b->count++].bytes = bytes;
}

void display_bundle_drop(struct display_bundle *b, const char *mime)
{
    for (uint32_t i = 0; i < b->count; i++)
        if (strcmp(b->forms[i].mime, mime) == 0) {
            Py_DECREF(b->forms[i].bytes);
            b->forms[i] = b->forms[--b->count];
            return;
        }
}

int display_bundle_fill_raw(struct display_bundle *b, PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    if (PyTuple_Check(dict) && PyTuple_GET_SIZE(dict) == 2) /* and what is said about the data */
        dict = PyTuple_GET_ITEM(dict, 0);
    if (!PyDict_Check(dict)) {
        PyErr_SetString(PyExc_TypeError, "a dictionary of MIME types and data is expected");
        return -1;
    }
    while (PyDict_Next(dict, &at, &key, &value)) {
        const char *mime = PyUnicode_CheckExact(key) ? PyUnicode_AsUTF8(key) : NULL;

        if (mime)
            display_bundle_add(b, mime, value);
        PyErr_Clear();
    }
    return 0;
}

/* ---- objects ---- */

static const struct {
    const char *method;
    const char *mime; /* NULL: it gives several */
} methods[] = {
    {"_repr_mimebundle_", NULL},
    {"_repr_html_", "text/html"},
    {"_repr_markdown_", "text/markdown"},
    {"_repr_svg_", "image/svg+xml"},
    {"_repr_png_", "image/png"},
    {"_repr_jpeg_", "image/jpeg"},
    {"_repr_latex_", "text/latex"},
    {"_repr_json_", "application/json"},
    {"_repr_javascript_", "application/javascript"},
};

/* On the type, as Python looks for __repr__: objects that answer to every name do not count. */
static bool has_method(PyObject *object, const char *name)
{
    PyObject *key = PyUnicode_InternFromString(name);
    bool has = key && !PyType_Check(object) && type_attribute(Py_TYPE(object), key) != NULL;

    Py_XDECREF(key);
    PyErr_Clear();
    return has;
}

int display_bundle_shows_itself(PyObject *object)
{
    PyObject *done;

    if (object == Py_None || !has_method(object, "_ipython_display_"))
        return 0;
    done = PyObject_CallMethod(object, "_ipython_display_", NULL);
    Py_XDECREF(done);
    return done ? 1 : -1;
}

bool display_bundle_is_pretty(PyObject *object)
{
    return has_method(object, "_repr_pretty_");
}

PyObject *display_bundle_pretty(PyObject *object)
{
    PyObject *module = PyImport_ImportModule("IPython.lib.pretty");
    PyObject *text = module ? PyObject_CallMethod(module, "pretty", "O", object) : NULL;

    Py_XDECREF(module);
    return text;
}

/* Borrowed, or NULL. */
static PyObject *text_bytes(const struct display_bundle *b)
{
    for (uint32_t i = 0; i < b->count; i++)
        if (strcmp(b->forms[i].mime, "text/plain") == 0)
            return b->forms[i].bytes;
    return NULL;
}

static bool has_text(const struct display_bundle *b)
{
    return text_bytes(b) != NULL;
}

PyObject *display_bundle_own_text(const struct display_bundle *b)
{
    PyObject *bytes = b->has_own_text ? text_bytes(b) : NULL;

    return bytes
               ? PyUnicode_DecodeUTF8(PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes), "replace")
               : NULL;
}

PyObject *display_bundle_dict(const struct display_bundle *b)
{
    PyObject *dict = PyDict_New();

    for (uint32_t i = 0; dict && i < b->count; i++)
        if (PyDict_SetItemString(dict, b->forms[i].mime, b->forms[i].bytes) < 0)
            Py_CLEAR(dict);
    return dict;
}

bool display_bundle_is_rich(PyObject *object)
{
    if (PyUnicode_CheckExact(object) || PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
        PyList_CheckExact(object) || PyDict_CheckExact(object) || PyTuple_CheckExact(object))
        return false;
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (has_method(object, methods[i].method))
            return true;
    return false;
}

/* Notes what went wrong, one line each. -1: an interrupt. */
static int note_failure(const char *what, PyObject **notes)
{
    PyObject *text = display_bundle_failure(what), *joined;

    if (!text)
        return -1;
    joined = *notes ? PyUnicode_FromFormat("%U\n%U", *notes, text) : Py_NewRef(text);
    Py_DECREF(text);
    if (joined)
        Py_XSETREF(*notes, joined);
    PyErr_Clear();
    return 0;
}

/* As notebooks call it: the one that gives several forms is told which are wanted, which is all. */
static PyObject *call_method(PyObject *object, const char *method, bool gives_several)
{
    PyObject *bound = PyObject_GetAttrString(object, method);
    PyObject *nothing = PyTuple_New(0), *wanted = NULL, *value = NULL;

    if (gives_several)
        wanted = Py_BuildValue("{sOsO}", "include", Py_None, "exclude", Py_None);
    if (bound && nothing && (wanted || !gives_several))
        value = PyObject_Call(bound, nothing, wanted);
    Py_XDECREF(bound);
    Py_XDECREF(nothing);
    Py_XDECREF(wanted);
    return value;
}

static int ask(struct display_bundle *b, PyObject *object, const char *method, const char *mime,
               PyObject **notes)
{
    PyObject *value;
    int r = 0;

    if (!has_method(object, method))
        return 0;
    value = call_method(object, method, !mime);
    if (!value)
        return note_failure(method, notes);
    if (value != Py_None && !mime)
        r = display_bundle_fill_raw(b, value);
    else if (PyTuple_Check(value) && PyTuple_GET_SIZE(value) == 2)
        display_bundle_add(b, mime, PyTuple_GET_ITEM(value, 0));
    else if (value != Py_None)
        display_bundle_add(b, mime, value);
    Py_DECREF(value);
    return r < 0 ? note_failure(method, notes) : 0;
}

static PyObject *class_in(const char *module_name, const char *name)
{
    PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), module_name);
    PyObject *class = module ? PyObject_GetAttrString(module, name) : NULL;

    PyErr_Clear();
    return class;
}

static bool is_instance_of(PyObject *object, const char *module, const char *name)
{
    PyObject *class = class_in(module, name);
    bool is =
        class && PyType_Check(class) && PyType_IsSubtype(Py_TYPE(object), (PyTypeObject *)class);

    Py_XDECREF(class);
    return is;
}

static int add_table(struct display_bundle *b, PyObject *object, PyObject **notes)
{
    PyObject *table = helper_call("table", "(O)", object);

    if (!table)
        return note_failure("the table", notes);
    if (PyTuple_Check(table) && PyTuple_GET_SIZE(table) == 3) {
        display_bundle_add(b, "text/plain", PyTuple_GET_ITEM(table, 0));
        display_bundle_add(b, "application/vnd.belljar.table+json", PyTuple_GET_ITEM(table, 1));
        if (PyTuple_GET_ITEM(table, 2) != Py_None)
            display_bundle_add(b, "text/csv", PyTuple_GET_ITEM(table, 2));
    }
    Py_DECREF(table);
    return 0;
}

/* A form for models, of a picture that is too large for them. It is not missed where it cannot be
 * made. */
static int add_small(struct display_bundle *b, PyObject *small)
{
    if (!small && is_interrupt())
        return -1;
    if (small && PyBytes_Check(small))
        display_bundle_add(b, WIRE_SMALL_PICTURE, small);
    Py_XDECREF(small);
    PyErr_Clear();
    return 0;
}

static int add_small_image(struct display_bundle *b, PyObject *image)
{
    PyObject *maker = class_in("_io", "BytesIO");
    int r = add_small(b, maker ? helper_call("small_image", "(OO)", image, maker) : NULL);

    Py_XDECREF(maker);
    return r;
}

/* repr() and what failed before it. Without any form but a failure that is what is shown. */
static int add_text(struct display_bundle *b, PyObject *object, PyObject *notes)
{
    PyObject *repr = display_bundle_is_pretty(object) ? display_bundle_pretty(object)
                                                      : PyObject_Repr(object),
             *text;

    if (!repr && !(repr = display_bundle_failure("repr")))
        return -1;
    text = notes ? PyUnicode_FromFormat("%U\n%U", repr, notes) : Py_NewRef(repr);
    if (text)
        display_bundle_add(b, "text/plain", text);
    Py_DECREF(repr);
    Py_XDECREF(text);
    PyErr_Clear();
    return 0;
}

int display_bundle_fill(struct display_bundle *b, PyObject *object)
{
    PyObject *notes = NULL;
    int r = 0;

    if (is_instance_of(object, "matplotlib.figure", "Figure"))
        return display_bundle_fill_figure(b, object);
    if (is_instance_of(object, "pandas", "DataFrame") || is_instance_of(object, "pandas", "Series"))
        r = add_table(b, object, &notes);
    if (r == 0 && is_instance_of(object, "PIL.Image", "Image"))
        r = add_small_image(b, object);
    for (size_t i = 0; r == 0 && i < sizeof(methods) / sizeof(methods[0]); i++) {
        bool has_table = i == 0 && has_text(b);

        r = ask(b, object, methods[i].method, methods[i].mime, &notes);
        b->has_own_text |= i == 0 && !has_table && has_text(b);
    }
    if (r == 0)
        r = add_text(b, object, notes);
    Py_XDECREF(notes);
    return r;
}

/* ---- figures ---- */

static int add_picture(struct display_bundle *b, PyObject *figure, const char *form,
                       const char *mime, PyObject **notes)
{
    PyObject *maker = class_in("_io", "BytesIO");
    PyObject *bytes = maker ? helper_call("picture", "(OOs)", figure, maker, form) : NULL;
    uint32_t before = b->count;
    bool is_added;
    int r;

    if (!bytes) {
        Py_XDECREF(maker);
        return note_failure("the picture", notes);
    }
    if (strcmp(form, "svg") == 0 && PyBytes_Check(bytes))
        Py_SETREF(bytes, PyUnicode_DecodeUTF8(PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes),
                                              "replace"));
    if (bytes)
        display_bundle_add(b, mime, bytes);
    is_added = b->count > before;
    r = is_added && strcmp(form, "png") == 0
            ? add_small(b, helper_call("small_picture", "(OOO)", figure, maker, bytes))
            : 0;
    Py_XDECREF(bytes);
    Py_XDECREF(maker);
    if (r < 0)
        return -1;
    if (!is_added) {
        PyErr_SetString(PyExc_ValueError, "it is larger than a display may be");
        return note_failure("the picture", notes);
    }
    return 0;
}

/* Nothing was drawn in it: as in notebooks, only its text is shown. */
static bool is_empty(PyObject *figure)
{
    PyObject *answer = helper_call("is_empty", "(O)", figure);
    bool is = answer == Py_True;

    Py_XDECREF(answer);
    if (!is_interrupt())
        PyErr_Clear();
    return is;
}

int display_bundle_fill_figure(struct display_bundle *b, PyObject *figure)
{
    PyObject *notes = NULL, *charts;
    int r;

    if (is_empty(figure))
        return add_text(b, figure, NULL);
    r = is_interrupt() ? -1 : add_picture(b, figure, "png", "image/png", &notes);
    if (r == 0 && wants_svg)
        r = add_picture(b, figure, "svg", "image/svg+xml", &notes);
    if (r == 0) {
        charts = helper_call("charts", "(O)", figure);
        if (!charts)
            r = is_interrupt() ? -1 : 0; /* a picture without its data is still one */
        else if (PyList_Check(charts) && PyList_GET_SIZE(charts))
            display_bundle_add(b, "application/vnd.belljar.chart+json", charts);
        Py_XDECREF(charts);
    }
    if (r == 0) {
        PyErr_Clear();
        r = add_text(b, figure, notes);
    }
    Py_XDECREF(notes);
    return r;
}
