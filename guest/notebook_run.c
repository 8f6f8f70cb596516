/* `%run FILE`: the file runs in a module of its own in this process, and its names are the
 * session's afterwards. It meets the rules of a cell. A file of the library would count as the
 * library while it runs: such files, and `%run -m MODULE`, are programs of their own, where the
 * profile has commands.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <Python.h>

#include "guest/main_module.h"
#include "guest/notebook.h"
#include "guest/notebook_internal.h"
#include "guest/policy/policy.h"

/* The text of the program in the file: that of the code cells, if it is a notebook. */
static PyObject *read_program(PyObject *library, const char *path)
{
    PyObject *source = policy_read_file(path), *text = NULL;
    size_t len = strlen(path);

    if (source && len > 6 && strcmp(path + len - 6, ".ipynb") == 0) {
        text = PyObject_CallFunction(library, "s(O)", "cells_of", source);
        Py_XSETREF(source, text ? PyUnicode_AsUTF8String(text) : NULL);
        Py_XDECREF(text);
    }
    return source;
}

/* A file that is not Python may have lines of a notebook's. */
static PyObject *run_source(const char *path, PyObject *source, PyObject *globals)
{
    struct span text = {PyBytes_AS_STRING(source), (size_t)PyBytes_GET_SIZE(source)};
    PyObject *done, *type, *value, *tb;
    char *translated;

    done = policy_run_text(path, text, globals);
    /* A file that has begun has builtins. */
    if (done || !PyErr_ExceptionMatches(PyExc_SyntaxError) ||
        PyDict_GetItemString(globals, "__builtins__"))
        return done;
    PyErr_Fetch(&type, &value, &tb);
    translated = notebook_translate(text);
    if (!translated) {
        PyErr_Restore(type, value, tb);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(tb);
    done = policy_run_text(path, span_of(translated), globals);
    PyMem_RawFree(translated);
    return done;
}

/* A file that the policy did not let begin can be a program of its own, where the profile has
 * commands. */
static bool is_refused(PyObject *done, PyObject *globals, PyObject *library, const char *words)
{
    PyObject *type, *value, *tb, *said;

    if (done || !PyErr_ExceptionMatches(PyExc_ImportError) ||
        PyDict_GetItemString(globals, "__builtins__") || !policy_has_shell())
        return false;
    PyErr_Fetch(&type, &value, &tb);
    PyErr_NormalizeException(&type, &value, &tb);
    said = PyObject_CallFunction(library, "s(sO)", "run_apart", words, value);
    Py_XDECREF(said);
    PyErr_Clear();
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(tb);
    return true;
}

/* exit() ends the file, not the session. */
static PyObject *take_exit(PyObject *done, PyObject *library, const char *words)
{
    PyObject *type, *value, *tb;

    if (done || !PyErr_Occurred() || !PyErr_ExceptionMatches(PyExc_SystemExit))
        return done;
    PyErr_Fetch(&type, &value, &tb);
    PyErr_NormalizeException(&type, &value, &tb);
    done = PyObject_CallFunction(library, "s(sO)", "run_exit", words, value ? value : Py_None);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(tb);
    return done;
}

/* Gives the names to the session, after a failure as well. */
static PyObject *end_run(PyObject *done, PyObject *library, PyObject *state)
{
    PyObject *type, *value, *tb, *ended;

    PyErr_Fetch(&type, &value, &tb);
    ended = PyObject_CallFunction(library, "s(O)", "run_end", state);
    if (!ended && !type) {
        Py_CLEAR(done);
        return NULL;
    }
    Py_XDECREF(ended);
    PyErr_Clear();
    PyErr_Restore(type, value, tb);
    return done;
}

PyObject *notebook_run_file(PyObject *library, const char *words, bool *ret_is_apart)
{
    PyObject *plan = PyObject_CallFunction(library, "s(s)", "run_plan", words);
    PyObject *source = NULL, *state = NULL, *globals, *done = NULL;
    const char *given;
    char path[PATH_MAX];
    int in_session;

    *ret_is_apart = false;
    if (!plan || !PyArg_ParseTuple(plan, "zpO", &given, &in_session, &globals))
        goto out;
    *ret_is_apart = !given || (realpath(given, path) && !policy_can_run_file(path));
    if (*ret_is_apart)
        goto out;
    if (!realpath(given, path)) {
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, given);
        goto out;
    }
    source = read_program(library, path);
    if (source)
        state = PyObject_CallFunction(library, "s(sOi)", "run_begin", path, globals, in_session);
    if (state && PyArg_ParseTuple(state, "O!OO", &PyDict_Type, &globals, &done, &done)) {
        done = run_source(path, source, globals);
        *ret_is_apart = is_refused(done, globals, library, words);
        done = end_run(take_exit(done, library, words), library, state);
    }
out:
    Py_XDECREF(plan);
    Py_XDECREF(source);
    Py_XDECREF(state);
    return done;
}

/* ---- texts ---- */

/* In which way `text` is Python: as an expression, which has a value, or as statements. NULL, with
 * an exception: in neither. */
static PyObject *compile_text(const char *text, const char *name)
{
    PyCompilerFlags flags = {.cf_flags = PyCF_IGNORE_COOKIE,
                             .cf_feature_version = PY_MINOR_VERSION};
    PyObject *code = Py_CompileStringExFlags(text, name, Py_eval_input, &flags, -1);

    if (code || !PyErr_ExceptionMatches(PyExc_SyntaxError))
        return code;
    PyErr_Clear();
    return Py_CompileStringExFlags(text, name, Py_file_input, &flags, -1);
}

static PyObject *compile_cell(const char *text, const char *name)
{
    PyObject *code = compile_text(text, name), *type, *value, *tb;
    char *translated;

    if (code || !PyErr_ExceptionMatches(PyExc_SyntaxError))
        return code;
    PyErr_Fetch(&type, &value, &tb);
    translated = notebook_translate(span_of(text));
    if (!translated) {
        PyErr_Restore(type, value, tb);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(tb);
    code = compile_text(translated, name);
    PyMem_RawFree(translated);
    return code;
}

PyObject *notebook_run_text(const char *text)
{
    static unsigned n_texts;
    PyObject *globals = main_module_names();
    PyObject *code, *value = NULL;
    char name[64];

    if (policy_has_rules())
        return PyErr_Format(PyExc_NotImplementedError,
                            "running code in a text needs profile `open`; write it as a line of "
                            "the cell");
    (void)snprintf(name, sizeof(name), POLICY_CELL_FILENAME "text %u>", ++n_texts);
    code = compile_cell(text, name);
    if (code)
        value = PyEval_EvalCode(code, globals, globals);
    Py_XDECREF(code);
    return value;
}
