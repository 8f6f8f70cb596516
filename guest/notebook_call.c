/* The builtin `_notebook`, by which lines of notebooks do their work. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "guest/fresh_modules.h"
#include "guest/notebook.h"
#include "guest/notebook_internal.h"
#include "guest/policy/policy.h"
#include "guest/report.h"
#include "sandbox/places.h"

extern char **environ;

static PyObject *library_function, *run_function; /* of _belljar_notebook */

PyObject *notebook_call_library(const char *kind, PyObject *what)
{
    return PyObject_CallFunction(library_function, "sO", kind, what);
}

static double seconds_since(const struct timespec *then)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then->tv_sec) + (double)(now.tv_nsec - then->tv_nsec) / 1e9;
}

/* ---- place and variables ---- */

static PyObject *show_directory(void)
{
    char here[PATH_MAX];

    return getcwd(here, sizeof(here)) ? PyUnicode_DecodeFSDefault(here)
                                      : PyErr_SetFromErrno(PyExc_OSError);
}

static PyObject *change_directory(const char *path)
{
    bool is_quiet = strncmp(path, "-q ", 3) == 0;
    static char last[PATH_MAX];
    char here[PATH_MAX], *home = getenv("HOME");

    path += is_quiet ? 3 : 0;
    if (!getcwd(here, sizeof(here)))
        here[0] = '\0';
    if (strcmp(path, "-") == 0 && *last)
        path = last;
    else if (!*path || strcmp(path, "~") == 0)
        path = home && *home ? home : places_workspace();
    /* As os.chdir() announces it: a relative path counts as one of the workspace from then on. */
    if (PySys_Audit("os.chdir", "si", path, -1) < 0)
        return NULL;
    if (chdir(path) < 0)
        return PyErr_SetFromErrnoWithFilename(PyExc_OSError, path);
    memcpy(last, here, sizeof(last));
    if (!is_quiet && getcwd(here, sizeof(here)))
        PySys_FormatStdout("%s\n", here);
    return Py_NewRef(Py_None);
}

/* Names that often hold secrets: a list of all variables has their names only. */
static bool is_secret(const char *name)
{
    static const char *const words[] = {"key", "token", "secret", "pass", "credential"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcasestr(name, words[i]))
            return true;
    return false;
}

static PyObject *all_variables(void)
{
    PyObject *all = PyDict_New();

    for (char **v = environ; all && *v; v++) {
        char *end = strchr(*v, '=');
        PyObject *name = end ? PyUnicode_DecodeFSDefaultAndSize(*v, end - *v) : NULL, *value = NULL;

        if (name && PyUnicode_AsUTF8(name))
            value = is_secret(PyUnicode_AsUTF8(name)) ? PyUnicode_FromString("<hidden>")
                                                      : PyUnicode_DecodeFSDefault(end + 1);
        if (value)
            (void)PyDict_SetItem(all, name, value);
        Py_XDECREF(name);
        Py_XDECREF(value);
        PyErr_Clear();
    }
    return all;
}

/* For commands, and in `os.environ`, which is a copy. A profile that keeps programs from changing
 * it there lets its commands have what they like. */
static int put_variable(const char *name, const char *value)
{
    PyObject *os = PyDict_GetItemString(PyImport_GetModuleDict(), "os");
    PyObject *copy = os ? PyObject_GetAttrString(os, "environ") : NULL;
    PyObject *data = copy ? PyObject_GetAttrString(copy, "_data") : NULL;
    PyObject *key = PyBytes_FromString(name), *item = PyBytes_FromString(value);

    if (setenv(name, value, 1) < 0)
        (void)PyErr_SetFromErrno(PyExc_OSError);
    else if (data && PyDict_CheckExact(data) && key && item)
        (void)PyDict_SetItem(data, key, item);
    Py_XDECREF(copy);
    Py_XDECREF(data);
    Py_XDECREF(key);
    Py_XDECREF(item);
    return PyErr_Occurred() ? -1 : 0;
}

/* "NAME=value", "NAME value", the name of a variable, or nothing: all of them. */
static PyObject *set_variable(char *text)
{
    char *end = text + strcspn(text, "= ");

    if (!*text)
        return all_variables();
    if (!*end) {
        const char *found = getenv(text);

        if (!found)
            return PyErr_Format(PyExc_KeyError, "Environment does not have key: %s", text);
        return PyUnicode_DecodeFSDefault(found);
    }
    if (end == text)
        return PyErr_Format(PyExc_ValueError, "write `%%env NAME=value`");
    *end = '\0';
    if (notebook_check_shell() < 0 || put_variable(text, end + 1) < 0)
        return NULL;
    *end = '=';
    PySys_FormatStdout("env: %s\n", text);
    return Py_NewRef(Py_None);
}

/* ---- files ---- */

/* `%run FILE ARGUMENTS`. */
static PyObject *run_file(const char *command)
{
    bool is_apart;
    PyObject *done = notebook_run_file(run_function, command, &is_apart);
    char *text = NULL;

    if (!is_apart)
        return done;
    if (asprintf(&text, "python3 %s", command) < 0)
        return PyErr_NoMemory();
    done = notebook_run_shell(text, false);
    free(text);
    return done;
}

/* ---- time ---- */

#define TIMES_MAX 16

static struct moment {
    struct timespec wall;
    struct rusage usage;
} moments[TIMES_MAX];
static unsigned n_moments;

static PyObject *begin_time(void)
{
    struct moment *m = &moments[n_moments < TIMES_MAX ? n_moments++ : TIMES_MAX - 1];

    (void)clock_gettime(CLOCK_MONOTONIC, &m->wall);
    (void)getrusage(RUSAGE_SELF, &m->usage);
    return Py_NewRef(Py_None);
}

static double seconds_between(const struct timeval *from, const struct timeval *to)
{
    return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_usec - from->tv_usec) / 1e6;
}

/* "1.2 ms". */
static void print_seconds(double seconds, const char *end)
{
    static const char *const units[] = {"s", "ms", "µs", "ns"};
    unsigned unit = 0;

    for (; seconds < 1 && seconds > 0 && unit < 3; unit++)
        seconds *= 1000;
    PySys_WriteStdout("%.3g %s%s", seconds, units[seconds > 0 ? unit : 3], end);
}

static void end_time(void)
{
    const struct moment *m = &moments[--n_moments];
    double wall = seconds_since(&m->wall), user, system;
    struct rusage now;

    (void)getrusage(RUSAGE_SELF, &now);
    user = seconds_between(&m->usage.ru_utime, &now.ru_utime);
    system = seconds_between(&m->usage.ru_stime, &now.ru_stime);
    notebook_flush("stdout");
    PySys_WriteStdout("CPU times: user ");
    print_seconds(user, ", sys: ");
    print_seconds(system, ", total: ");
    print_seconds(user + system, "\nWall time: ");
    print_seconds(wall, "\n");
}

/* ---- the end of a cell ---- */

static PyObject *displays; /* a list that keeps them */
static bool has_captures;

bool notebook_is_captured(void)
{
    return displays != NULL;
}

int notebook_keep_display(const struct display_bundle *b)
{
    PyObject *forms = display_bundle_dict(b);
    PyObject *what = forms ? PyTuple_Pack(2, displays, forms) : NULL;
    PyObject *done = what ? notebook_call_library("keep", what) : NULL;

    Py_XDECREF(forms);
    Py_XDECREF(what);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* Sets where displays go from here on. Returns where they went so far. */
static PyObject *set_displays(PyObject *list)
{
    PyObject *before = displays ? displays : Py_NewRef(Py_None);

    displays = PyList_CheckExact(list) ? Py_NewRef(list) : NULL;
    return before;
}

void notebook_end(void)
{
    PyObject *type, *value, *tb, *done;

    if (!n_moments && !has_captures && !displays)
        return;
    PyErr_Fetch(&type, &value, &tb);
    if (has_captures) {
        done = notebook_call_library("release", Py_None);
        Py_XDECREF(done);
        PyErr_Clear();
    }
    has_captures = false;
    Py_CLEAR(displays);
    if (type)
        n_moments = 0;
    while (n_moments)
        end_time();
    PyErr_Restore(type, value, tb);
}

/* ---- the builtin ---- */

static PyObject *complete_function, *describe_function; /* of _belljar_complete */

static PyObject *take_function(const char *module_name, const char *name)
{
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *function = module ? PyObject_GetAttrString(module, name) : NULL;

    Py_XDECREF(module);
    return function;
}

static int load_library(void)
{
    complete_function = take_function("_belljar_complete", "complete");
    describe_function = take_function("_belljar_complete", "describe");
    library_function = take_function("_belljar_notebook", "call");
    run_function = take_function("_belljar_notebook", "run_call");
    return complete_function && describe_function && library_function && run_function ? 0 : -1;
}

static PyObject *env_of(const char *text)
{
    char *copy = strdup(text);
    PyObject *done = copy ? set_variable(copy) : PyErr_NoMemory();

    free(copy);
    return done;
}

static PyObject *lines_of(const char *text)
{
    return notebook_run_for_lines(text);
}

static PyObject *line_of_shell(const char *text)
{
    return notebook_run_shell(text, false);
}

static PyObject *script_of(const char *text)
{
    return notebook_run_shell(text, true);
}

static PyObject *directory_of(const char *text)
{
    (void)text;
    return show_directory();
}

/* `%tb`: the last traceback once more. */
static PyObject *show_traceback(const char *text)
{
    PyObject *last = report_last_traceback();

    (void)text;
    if (last && PyUnicode_Check(last))
        PySys_FormatStdout("%U", last);
    else
        PySys_WriteStdout("no cell has failed so far\n");
    return Py_NewRef(Py_None);
}

/* `%precision 3`, `%precision %.2e`: how a float is shown that is the value of a cell. */
static PyObject *set_precision(const char *text)
{
    bool is_number = *text && strspn(text, "0123456789") == strlen(text) && strlen(text) < 3;
    PyObject *one = PyFloat_FromDouble(1), *form, *shown;

    form = is_number ? PyUnicode_FromFormat("%%.%sf", text) : PyUnicode_FromString(text);
    shown = one && form && *text ? PyUnicode_Format(form, one) : NULL;
    Py_XDECREF(one);
    if (*text && !shown) {
        Py_XDECREF(form);
        return PyErr_Format(PyExc_ValueError,
                            "`%%precision` takes a number of digits or a form such as %%.3e");
    }
    Py_XDECREF(shown);
    report_set_float_form(*text ? form : NULL);
    if (!*text)
        Py_XSETREF(form, PyUnicode_FromString("%r"));
    return form;
}

/* `%debug` */
static PyObject *debug(PyObject *text)
{
    PyObject *function = take_function("_belljar_debug", "debug"), *error = report_last_exception();
    PyObject *done = function
                         ? PyObject_CallFunctionObjArgs(function, text, error ? error : Py_None,
                                                        policy_has_rules() ? Py_False : Py_True,
                                                        (PyObject *)NULL)
                         : NULL;

    Py_XDECREF(function);
    return done;
}

/* `%autoreload 2`, `%autoreload 0`, and `%autoreload` for once. */
static PyObject *set_autoreload(const char *text)
{
    static const char *const off[] = {"0", "off"};
    bool is_off = false;

    for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++)
        is_off |= strcmp(text, off[i]) == 0;
    if (!*text || strcmp(text, "now") == 0)
        return fresh_modules_renew(true) < 0 ? NULL : Py_NewRef(Py_None);
    fresh_modules_set_renewing(!is_off);
    return Py_NewRef(Py_None);
}

/* Kinds that are done here, with a text. */
static const struct {
    const char *kind;
    PyObject *(*function)(const char *text);
} by_text[] = {
    {"shell", line_of_shell},
    {"script", script_of},
    {"lines", lines_of},
    {"run", run_file},
    {"pwd", directory_of},
    {"cd", change_directory},
    {"env", env_of},
    {"tb", show_traceback},
    {"precision", set_precision},
    {"run_text", notebook_run_text},
    {"autoreload", set_autoreload},
};

static PyObject *call_by_text(const char *kind, PyObject *what, bool *ret_found)
{
    const char *text = "";

    for (size_t i = 0; i < sizeof(by_text) / sizeof(by_text[0]); i++) {
        if (strcmp(kind, by_text[i].kind) != 0)
            continue;
        *ret_found = true;
        if (what && !PyArg_Parse(what, "s", &text))
            return NULL;
        return by_text[i].function(text);
    }
    *ret_found = false;
    return NULL;
}

/* get_ipython().run_line_magic(name, text): those that take a text. */
static PyObject *call_magic(PyObject *what)
{
    static const char *const programs[] = {"pip", "conda", "ls", "cat", "mkdir", "rm", "cp", "mv"};
    const char *name, *text;
    PyObject *argument, *done;
    bool found;

    if (!PyTuple_Check(what) || !PyArg_ParseTuple(what, "ss", &name, &text))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "a name and a text");
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
        if (strcmp(name, programs[i]) == 0) {
            argument = PyUnicode_FromFormat("%s %s", name, text);
            done = argument ? call_by_text("shell", argument, &found) : NULL;
            Py_XDECREF(argument);
            return done;
        }
    argument = PyTuple_GET_ITEM(what, 1);
    done = call_by_text(strcmp(name, "sx") == 0       ? "lines"
                        : strcmp(name, "system") == 0 ? "shell"
                                                      : name,
                        argument, &found);
    return found ? done : notebook_call_library(name, argument);
}

static PyObject *call(PyObject *self, PyObject *args)
{
    const char *kind;
    PyObject *what = NULL, *done;
    bool found;

    (void)self;
    if (!PyArg_ParseTuple(args, "s|O:_notebook", &kind, &what))
        return NULL;
    if (strcmp(kind, "time") == 0)
        return begin_time();
    if (strcmp(kind, "end") == 0) {
        if (n_moments)
            end_time();
        return Py_NewRef(Py_None);
    }
    if (strcmp(kind, "cell") == 0) { /* one of a file of cells has ended */
        notebook_end();
        return Py_NewRef(Py_None);
    }
    if (strcmp(kind, "describe") == 0 && what && PyTuple_Check(what))
        return PyObject_CallObject(describe_function, what);
    if (strcmp(kind, "complete") == 0)
        return PyObject_CallFunction(complete_function, "O", what ? what : Py_None);
    if (strcmp(kind, "magic") == 0 && what)
        return call_magic(what);
    if (strcmp(kind, "rules") == 0)
        return PyBool_FromLong(policy_has_rules());
    if (strcmp(kind, "displays") == 0 && what)
        return set_displays(what);
    if (strcmp(kind, "debug") == 0)
        return debug(what ? what : Py_None);
    if (strcmp(kind, "streams") == 0 && what && PyTuple_Check(what))
        return notebook_run_for_streams(what);
    done = call_by_text(kind, what, &found);
    if (found)
        return done;
    done = notebook_call_library(kind, what ? what : Py_None);
    has_captures |= done && strcmp(kind, "capture") == 0;
    return done;
}

/* As in a notebook, without an import. */
static PyObject *get_ipython(PyObject *self, PyObject *unused)
{
    PyObject *function = take_function("IPython", "get_ipython");
    PyObject *shell = function ? PyObject_CallNoArgs(function) : NULL;

    (void)self;
    (void)unused;
    Py_XDECREF(function);
    return shell;
}

static PyMethodDef builtins[] = {
    {"_notebook", call, METH_VARARGS,
     "_notebook(kind, argument)\n--\n\nDoes what a line of a notebook asks for: `!ls`, `%cd`, "
     "`%time`."},
    {"get_ipython", get_ipython, METH_NOARGS,
     "get_ipython()\n--\n\nCommands and simple magics as functions."},
};

int notebook_prepare(void)
{
    for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++) {
        PyObject *function = PyCFunction_New(&builtins[i], NULL);
        int r = function ? PyDict_SetItemString(PyEval_GetBuiltins(), builtins[i].ml_name, function)
                         : -1;

        Py_XDECREF(function);
        if (r < 0)
            return r;
    }
    return load_library();
}
