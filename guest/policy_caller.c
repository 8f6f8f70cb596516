/* Who is calling: the program, or a library doing what it was asked to do?
 *
 * A frame belongs to the library when the file of its code lies where the interpreter found its
 * modules before any program ran (sys.path at policy_prepare()), or is frozen into the interpreter.
 * Everything else is the program: its own file, and whatever is compiled from text at run time
 * ("<string>" and the like). Code objects cannot be given another file from Python without
 * compile() or code.replace(), which the audit hook sees.
 */
#include "guest/policy_internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PREFIXES_MAX 32
#define FRAMES_MAX   64

static char *prefixes[PREFIXES_MAX];
static size_t n_prefixes;
static char *stdlib;

/* Where programs write: never library, whatever sys.path says. */
static const char *const writable[] = {"/workspace", "/tmp", "/dev", "/proc", "/var/tmp"};

static bool starts_with_dir(struct span path, const char *dir)
{
    size_t len = strlen(dir);

    return path.len > len && memcmp(path.data, dir, len) == 0 && path.data[len] == '/';
}

static int add_prefix(const char *dir)
{
    struct span path = span_from(dir);

    if (dir[0] != '/' || path.len < 2)
        return 0;
    for (size_t i = 0; i < COUNT_OF(writable); i++)
        if (strcmp(dir, writable[i]) == 0 || starts_with_dir(path, writable[i]))
            return 0;
    for (size_t i = 0; i < n_prefixes; i++)
        if (strcmp(prefixes[i], dir) == 0)
            return 0;
    if (n_prefixes == PREFIXES_MAX)
        return -1;
    prefixes[n_prefixes] = strdup(dir);
    if (!prefixes[n_prefixes])
        return -1;
    while (path.len > 1 && prefixes[n_prefixes][path.len - 1] == '/')
        prefixes[n_prefixes][--path.len] = '\0';
    n_prefixes++;
    return 0;
}

int policy_caller_prepare(void)
{
    PyObject *path = PySys_GetObject("path");
    PyObject *dir = PySys_GetObject("_stdlib_dir");

    if (!path || !PyList_Check(path))
        return -1;
    if (dir && PyUnicode_Check(dir)) {
        const char *text = PyUnicode_AsUTF8(dir);

        if (!text || add_prefix(text) < 0)
            return -1;
        free(stdlib);
        stdlib = strdup(text);
    }
    if (!stdlib)
        return -1;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(path); i++) {
        PyObject *item = PyList_GET_ITEM(path, i);
        const char *text = PyUnicode_Check(item) ? PyUnicode_AsUTF8(item) : NULL;

        if (!text)
            PyErr_Clear();
        else if (add_prefix(text) < 0)
            return -1;
    }
    return 0;
}

static bool contains(struct span text, const char *part)
{
    return memmem(text.data, text.len, part, strlen(part)) != NULL;
}

static bool is_frozen(struct span path)
{
    return path.len > 8 && memcmp(path.data, "<frozen ", 8) == 0;
}

bool policy_is_library_path(struct span path)
{
    if (contains(path, "/../"))
        return false;
    for (size_t i = 0; i < n_prefixes; i++)
        if (starts_with_dir(path, prefixes[i]))
            return true;
    return false;
}

bool policy_is_stdlib_path(struct span path)
{
    return stdlib && starts_with_dir(path, stdlib) && !contains(path, "/site-packages/") &&
           !contains(path, "/dist-packages/");
}

/* ---- frames ---- */

static struct span file_of(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    bool ok;
    struct span file = span_of_str(code->co_filename, &ok);

    Py_DECREF(code); /* the frame keeps it */
    return file;
}

/* Takes the reference and gives the one of the caller, or NULL. */
static PyFrameObject *step_back(PyFrameObject *frame)
{
    PyFrameObject *back = PyFrame_GetBack(frame);

    Py_DECREF(frame);
    return back;
}

static PyFrameObject *nearest_frame(void)
{
    return PyThreadState_GetFrame(PyThreadState_Get());
}

/* No Python frame at all: the kernel's own C code on the first thread; on any other, a function
 * somebody gave to a new thread to call. */
static bool is_other_thread(void)
{
    return PyThread_get_thread_ident() != policy_sealed_thread();
}

bool policy_caller_is_guest(bool skip_stdlib)
{
    PyFrameObject *frame = nearest_frame();
    bool is_guest = frame ? true : is_other_thread();

    while (frame) {
        struct span file = file_of(frame);

        if (!is_frozen(file) && !policy_is_library_path(file))
            break;
        is_guest = false;
        if (!skip_stdlib || !(is_frozen(file) || policy_is_stdlib_path(file)))
            break;
        is_guest = true;
        frame = step_back(frame);
    }
    Py_XDECREF(frame);
    return is_guest;
}

bool policy_caller_is_absent(void)
{
    PyFrameObject *frame = nearest_frame();
    bool absent = !frame && !is_other_thread();

    Py_XDECREF(frame);
    return absent;
}

bool policy_caller_is_importing(void)
{
    PyFrameObject *frame = nearest_frame();
    bool importing = false;

    for (int i = 0; frame && i < FRAMES_MAX && !importing; i++) {
        struct span file = file_of(frame);

        importing = contains(file, "<frozen importlib._bootstrap>");
        if (!is_frozen(file) && !policy_is_library_path(file))
            break;
        frame = step_back(frame);
    }
    Py_XDECREF(frame);
    return importing;
}

static bool ends_with(struct span text, const char *end)
{
    size_t len = strlen(end);

    return text.len >= len && memcmp(text.data + text.len - len, end, len) == 0;
}

bool policy_caller_file_is(const char *const *suffixes, size_t count)
{
    PyFrameObject *frame = nearest_frame();
    bool found = false;

    if (frame && policy_is_library_path(file_of(frame)))
        for (size_t i = 0; i < count && !found; i++)
            found = ends_with(file_of(frame), suffixes[i]);
    Py_XDECREF(frame);
    return found;
}

bool policy_caller_behind_is(const char *suffix, const char *part)
{
    PyFrameObject *frame = nearest_frame();
    bool found;

    while (frame && ends_with(file_of(frame), suffix))
        frame = step_back(frame);
    found = frame && contains(file_of(frame), part);
    Py_XDECREF(frame);
    return found;
}
