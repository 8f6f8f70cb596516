#define PY_SSIZE_T_CLEAN
#include "guest/display.h"

#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "guest/display_bundle.h"
#include "guest/helper.h"
#include "guest/notebook.h"
#include "wire/frame.h"
#include "wire/message.h"

#define PROGRESS_TEXT_MAX 1000

static unsigned n_cells; /* and programs, so far */
static int channel = -1;
static pid_t owner; /* a child of it has no channel: two would cut each other's frames in pieces */

void display_begin(int control)
{
    n_cells++;
    channel = control;
    owner = getpid();
}

void display_end(void)
{
    channel = -1;
}

static bool has_channel(void)
{
    return channel >= 0 && owner == getpid();
}

/* ---- sending ---- */

static void flush(const char *name)
{
    PyObject *file = PySys_GetObject(name);
    PyObject *done = file && file != Py_None ? PyObject_CallMethod(file, "flush", NULL) : NULL;

    Py_XDECREF(done);
    PyErr_Clear();
}

/* Until the supervisor has taken it, but not for ever: it may have to wait for its own reader. It
 * reads the streams before it looks at what is shown, so that everything keeps its order. By the
 * kernel's clock: the C library's may be a steady one (guest/steady/), which sleeping moves. */
static void wait_until_taken(void)
{
    const struct timespec pause = {.tv_nsec = 50000};
    int waiting = 0;

    Py_BEGIN_ALLOW_THREADS;
    for (int i = 0; i < 4000 && ioctl(channel, FIONREAD, &waiting) == 0 && waiting > 0; i++)
        (void)syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
    Py_END_ALLOW_THREADS;
}

/* The interpreter's lock is held while it is written, so that threads do not mix their frames. */
static void send_bundle(const struct display_bundle *b)
{
    struct wire_display shown = {.count = b->count};
    char metadata[64] = "";
    struct pack p;

    if (!b->count)
        return;
    for (uint32_t i = 0; i < b->count; i++) {
        shown.forms[i].mime = span_of(b->forms[i].mime);
        shown.forms[i].data = (struct span){PyBytes_AS_STRING(b->forms[i].bytes),
                                            (size_t)PyBytes_GET_SIZE(b->forms[i].bytes)};
    }
    if (b->width && b->height)
        (void)snprintf(metadata, sizeof(metadata), "{\"width\":%u,\"height\":%u}", b->width,
                       b->height);
    shown.metadata = span_of(metadata);
    flush("stdout");
    flush("stderr");
    pack_init(&p, wire_type_max(WIRE_DISPLAY));
    wire_pack_display(&p, &shown);
    if (frame_send(channel, WIRE_DISPLAY, &p, NULL, 0) == 0)
        wait_until_taken();
    pack_done(&p);
}

/* Without a channel it is printed as text. */
static int print_text(const struct display_bundle *b)
{
    PyObject *out = PySys_GetObject("stdout");

    for (uint32_t i = 0; i < b->count && out && out != Py_None; i++) {
        PyObject *text;
        int r;

        if (strcmp(b->forms[i].mime, "text/plain") != 0)
            continue;
        text = PyUnicode_DecodeUTF8(PyBytes_AS_STRING(b->forms[i].bytes),
                                    PyBytes_GET_SIZE(b->forms[i].bytes), "replace");
        r = text ? PyFile_WriteObject(text, out, Py_PRINT_RAW) : -1;
        Py_XDECREF(text);
        return r < 0 ? -1 : PyFile_WriteString("\n", out);
    }
    return 0;
}

static int show_bundle(const struct display_bundle *b)
{
    if (notebook_is_captured())
        return notebook_keep_display(b);
    if (!has_channel())
        return print_text(b);
    send_bundle(b);
    return 0;
}

static int show_object(PyObject *object, bool is_raw)
{
    struct display_bundle b = {0};
    int r = is_raw ? 0 : display_bundle_shows_itself(object);

    if (r)
        return r < 0 ? -1 : 0;
    r = is_raw ? display_bundle_fill_raw(&b, object) : display_bundle_fill(&b, object);

    if (r == 0)
        r = show_bundle(&b);
    display_bundle_done(&b);
    return r;
}

/* ---- figures ---- */

static PyObject *loaded(const char *module_name, const char *name)
{
    PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), module_name);
    PyObject *value = module ? PyObject_GetAttrString(module, name) : NULL;

    PyErr_Clear();
    return value;
}

static void forget(PyObject *done)
{
    Py_XDECREF(done);
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
        PyErr_Clear();
}

static bool is_figure(PyObject *object)
{
    PyObject *class = loaded("matplotlib.figure", "Figure");
    bool is =
        class && PyType_Check(class) && PyType_IsSubtype(Py_TYPE(object), (PyTypeObject *)class);

    Py_XDECREF(class);
    return is;
}

/* It was shown in this cell, and nothing was drawn in it since. */
static bool was_seen(PyObject *figure)
{
    PyObject *seen = helper_call("was_seen", "(OI)", figure, n_cells);
    bool was = seen == Py_True;

    forget(seen);
    return was;
}

static int show_figure(PyObject *manager_class, PyObject *figure)
{
    int r = 0;

    if (!was_seen(figure) && !PyErr_Occurred())
        r = show_object(figure, false);
    if (r == 0 && !PyErr_Occurred()) {
        PyObject *pyplot = PyDict_GetItemString(PyImport_GetModuleDict(), "matplotlib.pyplot");

        forget(
            helper_call("close_figure", "(OOO)", manager_class, figure, pyplot ? pyplot : Py_None));
    }
    if (r == 0 && !PyErr_Occurred())
        forget(helper_call("mark_seen", "(OI)", figure, n_cells));
    return PyErr_Occurred() ? -1 : r;
}

static int show_open_figures(void)
{
    PyObject *gcf = loaded("matplotlib._pylab_helpers", "Gcf");
    PyObject *open = gcf ? PyObject_GetAttrString(gcf, "figs") : NULL;
    PyObject *figures = NULL;
    int r = 0;

    if (open && PyObject_IsTrue(open) == 1) {
        figures = helper_call("open_figures", "(O)", gcf);
        forget(NULL);
    }
    for (Py_ssize_t i = 0;
         r == 0 && figures && PyList_Check(figures) && i < PyList_GET_SIZE(figures); i++)
        r = show_figure(gcf, PyList_GET_ITEM(figures, i));
    Py_XDECREF(figures);
    Py_XDECREF(open);
    Py_XDECREF(gcf);
    forget(NULL);
    return PyErr_Occurred() ? -1 : 0;
}

int display_figures(void)
{
    PyObject *type, *value, *tb;
    int r;

    PyErr_Fetch(&type, &value, &tb);
    r = show_open_figures();
    if (type)
        PyErr_Restore(type, value, tb);
    return type ? 0 : r;
}

/* pandas decides when it is imported, which was before anybody knew of a notebook. */
void display_widen_tables(void)
{
    static bool is_done;
    PyObject *pandas = is_done ? NULL : PyDict_GetItemString(PyImport_GetModuleDict(), "pandas");

    if (!pandas)
        return;
    is_done = true;
    Py_XDECREF(helper_call("widen_tables", "(O)", pandas));
    PyErr_Clear();
}

/* In the place of FigureManagerBase.show(), which pyplot.show() calls for every open figure and
 * Figure.show() for one. With a picture in the answer there is no window to keep open. */
static PyObject *manager_show(PyObject *self, PyObject *manager)
{
    PyObject *gcf = loaded("matplotlib._pylab_helpers", "Gcf");
    PyObject *canvas = PyObject_GetAttrString(manager, "canvas");
    PyObject *figure = canvas ? PyObject_GetAttrString(canvas, "figure") : NULL;
    int r = figure && gcf ? show_figure(gcf, figure) : -1;

    (void)self;
    Py_XDECREF(gcf);
    Py_XDECREF(canvas);
    Py_XDECREF(figure);
    if (r < 0)
        return NULL;
    return Py_NewRef(Py_None);
}

static PyMethodDef manager_show_def = {"show", manager_show, METH_O, NULL};
static bool is_patched;

/* As soon as matplotlib is there. */
static void patch_matplotlib(void)
{
    PyObject *type, *value, *tb, *class, *function = NULL, *method = NULL;

    PyErr_Fetch(&type, &value, &tb);
    class = loaded("matplotlib.backend_bases", "FigureManagerBase");
    if (class)
        function = PyCFunction_New(&manager_show_def, NULL);
    if (function)
        method = PyInstanceMethod_New(function);
    if (method)
        is_patched = PyObject_SetAttrString(class, "show", method) == 0;
    Py_XDECREF(class);
    Py_XDECREF(function);
    Py_XDECREF(method);
    PyErr_Restore(type, value, tb);
}

/* Importing pyplot loads further parts of matplotlib after the one we wait for. */
static int on_audit(const char *event, PyObject *args, void *data)
{
    PyObject *name;

    (void)data;
    if (is_patched || strcmp(event, "import") != 0 || !PyTuple_Check(args) ||
        PyTuple_GET_SIZE(args) < 1)
        return 0;
    name = PyTuple_GET_ITEM(args, 0);
    if (PyUnicode_Check(name) && PyUnicode_GET_LENGTH(name) > 10 &&
        PyUnicode_READ_CHAR(name, 0) == 'm' && PyUnicode_READ_CHAR(name, 10) == '.')
        patch_matplotlib();
    return 0;
}

/* ---- what programs call ---- */

/* display(x, display_id=True) gives a handle, as in notebooks. */
static PyObject *new_handle(PyObject *id)
{
    PyObject *module = PyImport_ImportModule("IPython.display");
    PyObject *handle = module ? PyObject_CallMethod(module, "DisplayHandle", "O", id) : NULL;

    Py_XDECREF(module);
    return handle;
}

static PyObject *display(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"raw",     "metadata",  "clear",      "include",
                            "exclude", "transient", "display_id", NULL};
    PyObject *nothing = PyTuple_New(0), *ignored = NULL, *id = Py_None;
    int is_raw = 0, clears = 0, ok;

    (void)self;
    ok = nothing &&
         PyArg_ParseTupleAndKeywords(nothing, kwargs, "|$pOpOOOO:display", names, &is_raw, &ignored,
                                     &clears, &ignored, &ignored, &ignored, &id);
    Py_XDECREF(nothing);
    for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(args); i++) {
        PyObject *object = PyTuple_GET_ITEM(args, i);

        ok = show_object(object, is_raw) == 0;
        if (ok && is_figure(object))
            forget(helper_call("mark_seen", "(OI)", object, n_cells));
        ok = ok && !PyErr_Occurred();
    }
    if (!ok)
        return NULL;
    return PyObject_IsTrue(id) == 1 ? new_handle(id) : Py_NewRef(Py_None);
}

static uint64_t count_of(double number)
{
    return number >= 1 && number < 1e18 ? (uint64_t)number : 0;
}

static PyObject *progress(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"done", "total", "text", NULL};
    struct wire_progress m = {.text = {"", 0}};
    PyObject *total = Py_None;
    double done, of = 0;
    const char *text = "";
    Py_ssize_t len = 0;
    struct pack p;

    (void)self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "d|Os#:progress", names, &done, &total, &text,
                                     &len))
        return NULL;
    if (total != Py_None) {
        of = PyFloat_AsDouble(total);
        if (of == -1 && PyErr_Occurred())
            return NULL;
    }
    if (!has_channel())
        return Py_NewRef(Py_None);
    len = len < PROGRESS_TEXT_MAX ? len : PROGRESS_TEXT_MAX;
    while (len == PROGRESS_TEXT_MAX && len && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--;
    m = (struct wire_progress){count_of(done), count_of(of), {text, (size_t)len}};
    pack_init(&p, wire_type_max(WIRE_PROGRESS));
    wire_pack_progress(&p, &m);
    (void)frame_send(channel, WIRE_PROGRESS, &p, NULL, 0); /* nobody there: nothing to report to */
    pack_done(&p);
    return Py_NewRef(Py_None);
}

static PyObject *formats(PyObject *self, PyObject *args)
{
    bool wants_svg = false;

    (void)self;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
        PyObject *name = PyTuple_GET_ITEM(args, i);

        if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "svg") == 0) {
            wants_svg = true;
        } else if (!PyUnicode_Check(name) || PyUnicode_CompareWithASCIIString(name, "png") != 0) {
            PyErr_Format(PyExc_ValueError, "%R is not a format of pictures: \"png\" or \"svg\"",
                         name);
            return NULL;
        }
    }
    display_bundle_wants_svg(wants_svg);
    return Py_NewRef(Py_None);
}

#define KEYWORDS (PyCFunction)(void (*)(void))

static PyMethodDef functions[] = {
    {"display", KEYWORDS display, METH_VARARGS | METH_KEYWORDS,
     "display(*objects, raw=False)\n--\n\nShow objects in all their forms: tables, pictures, HTML, "
     "text."},
    {"progress", KEYWORDS progress, METH_VARARGS | METH_KEYWORDS,
     "progress(done, total=None, text='')\n--\n\nReport how far the program is."},
    {"formats", formats, METH_VARARGS,
     "formats(*names)\n--\n\nFormats of matplotlib's pictures: \"png\" always, \"svg\" on "
     "request."},
    {0},
};

static struct PyModuleDef module_def = {PyModuleDef_HEAD_INIT,
                                        "belljar",
                                        "What a program in a sandbox can tell the outside.",
                                        -1,
                                        functions,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

static PyObject *make_module(void)
{
    return PyModule_Create(&module_def);
}

/* ---- life ---- */

int display_register(void)
{
    return PyImport_AppendInittab("belljar", make_module);
}

int display_prepare(void)
{
    static bool is_added;
    PyObject *function = PyCFunction_New(&functions[0], NULL);
    int r = function ? PyDict_SetItemString(PyEval_GetBuiltins(), "display", function) : -1;

    Py_XDECREF(function);
    if (r == 0 && !is_added) {
        r = PySys_AddAuditHook(on_audit, NULL);
        is_added = r == 0;
    }
    patch_matplotlib();
    return r == 0 ? helper_prepare() : -1;
}

void display_preload(void)
{
    if (helper_load() < 0)
        PyErr_Clear(); /* it will be said when it is needed */
}

int display_itself(PyObject *value)
{
    return display_bundle_shows_itself(value);
}

int display_captured(PyObject *value)
{
    return notebook_is_captured() ? show_object(value, false) : 0;
}

int display_value(PyObject *value, PyObject **ret_text)
{
    struct display_bundle b = {0};
    int r;

    if (!display_bundle_is_rich(value) || (is_figure(value) && was_seen(value)))
        return PyErr_Occurred() ? -1 : 0;
    r = display_bundle_fill(&b, value);
    *ret_text = display_bundle_own_text(&b);
    display_bundle_drop(&b, "text/plain");
    if (r == 0 && b.count)
        r = show_bundle(&b);
    display_bundle_done(&b);
    return r;
}
