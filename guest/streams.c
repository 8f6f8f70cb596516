#include "guest/streams.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/report.h"

static struct stream {
    const char *name, *original;
    int fd, kept;
    PyObject *ours;          /* the file object that leads to the cell's answer */
    const PyObject *foreign; /* what replaced it; only to be compared */
    uint32_t since;          /* the cell that did */
} streams[] = {
    {"stdout", "__stdout__", STDOUT_FILENO, -1, NULL, NULL, 0},
    {"stderr", "__stderr__", STDERR_FILENO, -1, NULL, NULL, 0},
};

#define STREAMS (sizeof(streams) / sizeof(streams[0]))

static int notes = STDERR_FILENO; /* where a cell is told of what it did to its streams */

PyObject *streams_new(int fd, const char *mode)
{
    PyObject *raw =
        PyFile_FromFd(fd,
                      fd == STDIN_FILENO    ? "<stdin>"
                      : fd == STDOUT_FILENO ? "<stdout>"
                                            : "<stderr>",
                      mode, fd == STDIN_FILENO ? -1 : 1, "utf-8",
                      fd == STDERR_FILENO ? "backslashreplace" : "surrogateescape", NULL, 0);

    if (!raw)
        PyErr_Clear();
    return raw;
}

bool streams_is_usable(PyObject *file, const char *method)
{
    PyObject *closed;
    bool result;

    if (!file || file == Py_None || !PyObject_HasAttrString(file, method))
        return false;
    closed = PyObject_GetAttrString(file, "closed");
    /* One without the attribute is usable, one that was detached from its buffer is not. */
    result = closed ? closed != Py_True : (bool)PyErr_ExceptionMatches(PyExc_AttributeError);
    Py_XDECREF(closed);
    PyErr_Clear();
    return result;
}

/* ---- before a cell ---- */

static bool leads_elsewhere(int fd, int kept)
{
    struct stat here, there;

    return fstat(fd, &here) < 0 || fstat(kept, &there) < 0 || here.st_dev != there.st_dev ||
           here.st_ino != there.st_ino;
}

static void set(const struct stream *s, PyObject *file)
{
    if (PySys_SetObject(s->name, file) < 0 || PySys_SetObject(s->original, file) < 0)
        PyErr_Clear();
}

static void heal(struct stream *s, int kept)
{
    PyObject *now, *fresh;

    s->kept = kept;
    if (leads_elsewhere(s->fd, kept))
        (void)dup2(kept, s->fd);
    now = PySys_GetObject(s->name);
    if (!s->ours)
        s->ours = Py_XNewRef(now);
    if (streams_is_usable(now, "write"))
        return;
    fresh = streams_is_usable(s->ours, "write") ? Py_NewRef(s->ours) : streams_new(s->fd, "w");
    if (!fresh)
        return;
    set(s, fresh);
    Py_XSETREF(s->ours, fresh);
}

void streams_begin_cell(int kept_out, int kept_err)
{
    notes = kept_err;
    heal(&streams[0], kept_out);
    heal(&streams[1], kept_err);
}

/* ---- after a cell ---- */

/* Texts in memory, and files: nothing of them is in the cell's answer. Of other objects we do not
 * know. */
static bool swallows(PyObject *file)
{
    PyObject *io = report_module("_io");
    PyObject *memory = io ? PyObject_GetAttrString(io, "StringIO") : NULL;
    PyObject *text = io ? PyObject_GetAttrString(io, "TextIOWrapper") : NULL;
    bool is_memory =
        memory && PyType_Check(memory) && PyType_IsSubtype(Py_TYPE(file), (PyTypeObject *)memory);
    bool is_file = text && Py_TYPE(file) == (PyTypeObject *)text;

    if (is_file) {
        int fd = PyObject_AsFileDescriptor(file);

        is_file = fd != STDOUT_FILENO && fd != STDERR_FILENO;
    }
    PyErr_Clear();
    Py_XDECREF(io);
    Py_XDECREF(memory);
    Py_XDECREF(text);
    return is_memory || is_file;
}

static void look(struct stream *s, const struct wire_cell *cell)
{
    PyObject *now = PySys_GetObject(s->name);
    bool is_named = memmem(cell->code.data, cell->code.len, s->name, strlen(s->name)) != NULL;

    if (leads_elsewhere(s->fd, s->kept))
        (void)dprintf(notes,
                      "belljar: this cell redirected descriptor %d; the next one has it back\n",
                      s->fd);
    if (!s->ours || now == s->ours || !streams_is_usable(now, "write")) {
        s->foreign = NULL;
        return;
    }
    if (now != s->foreign && !is_named) {
        (void)dprintf(notes,
                      "belljar: sys.%s was left replaced by an object of type %s; the next cell "
                      "has the usual one\n",
                      s->name, Py_TYPE(now)->tp_name);
        set(s, s->ours);
        return;
    }
    if (now != s->foreign) {
        s->foreign = now;
        s->since = cell->number;
    } else if (!swallows(now)) {
        return;
    }
    (void)dprintf(
        notes,
        "belljar: sys.%s is an object of type %s since cell %u, and gets what cells print; "
        "`sys.%s = sys.%s` ends that\n",
        s->name, Py_TYPE(now)->tp_name, s->since, s->name, s->original);
}

void streams_end_cell(const struct wire_cell *cell)
{
    for (size_t i = 0; i < STREAMS; i++)
        look(&streams[i], cell);
}
