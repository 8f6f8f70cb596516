/* Modules of the program's own: those in directories of the run, which nobody has checked.
 *
 * They are found by guest/policy/workspace.py, and meet the rules of the program that imports them:
 * the same walk over the tree, the same builtins. What was compiled before (`__pycache__`) is not
 * looked at: its bytes are anybody's, and could claim to be the library's.
 */
#include "guest/policy/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const char workspace_source[]; /* made of guest/policy/workspace.py at build time */

static PyObject *builtins; /* of the program */

void policy_workspace_set_builtins(PyObject *dict)
{
    Py_XSETREF(builtins, Py_NewRef(dict));
}

/* A file that is neither of the library nor of a project, whose modules are not judged. */
static PyObject *is_foreign(PyObject *self, PyObject *path)
{
    bool ok = false;
    struct span file = PyUnicode_Check(path) ? span_of_str(path, &ok) : (struct span){"", 0};

    (void)self;
    return PyBool_FromLong(!ok || !policy_claims_library(file));
}

static PyObject *is_library(PyObject *self, PyObject *path)
{
    bool ok = false;
    struct span file = PyUnicode_Check(path) ? span_of_str(path, &ok) : (struct span){"", 0};

    (void)self;
    return PyBool_FromLong(!ok || policy_is_library_path(file));
}

/* A file of the library under another name than it has there, since a path of a package leads to
 * it. The name decides what programs see of a module, so it must not say more than the true one. */
static PyObject *is_borrowed(PyObject *self, PyObject *args)
{
    char true_name[POLICY_KEY_MAX];
    const char *name, *path;

    (void)self;
    if (!PyArg_ParseTuple(args, "ss", &name, &path))
        return NULL;
    if (!policy_is_library_path(span_of(path)))
        Py_RETURN_FALSE;
    if (policy_library_name(span_of(path), true_name, sizeof(true_name)) < 0)
        Py_RETURN_TRUE;
    return PyBool_FromLong(strcmp(name, true_name) != 0 && policy_may_import(span_of(name)) &&
                           !policy_may_import_whole(span_of(true_name)));
}

/* Malloc'd, with a NUL at its end; NULL: an exception is set. */
static char *read_source(const char *path, size_t most, size_t *ret_len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    char *text = fd >= 0 ? malloc(most + 2) : NULL;
    size_t len = 0;
    ssize_t n = -1;

    while (text && len <= most && (n = read(fd, text + len, most + 1 - len)) > 0)
        len += (size_t)n;
    if (fd >= 0 && !text)
        PyErr_NoMemory();
    else if (n < 0)
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, path);
    if (fd >= 0)
        (void)close(fd);
    if (!text || n < 0) {
        free(text);
        return NULL;
    }
    text[len] = '\0';
    *ret_len = len;
    return text;
}

static void raise_finding(const char *path, const struct policy_report *report)
{
    const struct policy_violation *v = &report->items[0];

    PyErr_Format(PyExc_ImportError, "%s, line %u: %s%s%s", path, v->line, v->message,
                 v->hint ? "; " : "", v->hint ? v->hint : "");
}

/* The code of a module that the policy lets pass. New reference, or NULL with an exception. */
static PyObject *checked_code(const struct policy *policy, struct span source, const char *path)
{
    PyCompilerFlags parse = {.cf_flags = PyCF_ONLY_AST | PyCF_IGNORE_COOKIE,
                             .cf_feature_version = PY_MINOR_VERSION};
    PyCompilerFlags compile = {.cf_flags = PyCF_IGNORE_COOKIE,
                               .cf_feature_version = PY_MINOR_VERSION};
    struct policy_report report = {0};
    PyObject *tree = NULL, *code = NULL;
    int r = policy_check_source(policy, source, &report);

    if (r == 0 && report.count == 0) {
        struct span text = policy_source_text(source);

        policy_parse_expect();
        tree = Py_CompileStringExFlags(text.data, path, Py_file_input, &parse, -1);
        r = tree ? policy_check_module(policy, tree, &report) : -1;
    }
    if (report.count > 0) {
        raise_finding(path, &report);
    } else if (r == 0) {
        policy_parse_expect();
        code = Py_CompileStringExFlags(policy_source_text(source).data, path, Py_file_input,
                                       &compile, -1);
    }
    if (!code && !PyErr_Occurred())
        PyErr_Format(PyExc_ImportError, "%s could not be checked", path);
    Py_XDECREF(tree);
    policy_report_done(&report);
    return code;
}

static PyObject *run_module(PyObject *self, PyObject *args)
{
    const struct policy *policy = policy_sealed();
    PyObject *module, *dict, *code, *done = NULL;
    const char *path;
    char *text;
    size_t len;

    (void)self;
    if (!PyArg_ParseTuple(args, "O!s", &PyModule_Type, &module, &path))
        return NULL;
    if (!policy || !builtins || policy_parse_begin() < 0)
        return PyErr_Format(PyExc_ImportError, "%s could not be checked", path);
    text = read_source(path, policy->max_bytes, &len);
    code = text ? checked_code(policy, (struct span){text, len}, path) : NULL;
    policy_parse_end();
    free(text);
    dict = PyModule_GetDict(module);
    if (code && PyDict_SetItemString(dict, "__builtins__", builtins) == 0)
        done = PyEval_EvalCode(code, dict, dict);
    Py_XDECREF(code);
    return done;
}

/* ---- files that a cell runs ---- */

/* Bytes of a file that no profile limits. */
#define FILE_MAX ((size_t)16 << 20)

/* The sealed policy, unless it restricts nothing. */
static const struct policy *rules(void)
{
    const struct policy *policy = policy_sealed();

    return policy && !policy_restricts_nothing(policy) ? policy : NULL;
}

bool policy_has_rules(void)
{
    return rules() != NULL;
}

bool policy_can_run_file(const char *path)
{
    return !policy_has_rules() || !policy_claims_library(span_of(path));
}

PyObject *policy_read_file(const char *path)
{
    const struct policy *policy = rules();
    PyObject *source = NULL;
    char *text = NULL;
    size_t len = 0;

    if (PySys_Audit("open", "ssi", path, "r", O_RDONLY) == 0)
        text = read_source(path, policy ? policy->max_bytes : FILE_MAX, &len);
    if (text)
        source = PyBytes_FromStringAndSize(text, (Py_ssize_t)len);
    free(text);
    return source;
}

PyObject *policy_run_text(const char *path, struct span source, PyObject *globals)
{
    PyCompilerFlags flags = {.cf_flags = PyCF_IGNORE_COOKIE,
                             .cf_feature_version = PY_MINOR_VERSION};
    const struct policy *policy = rules();
    PyObject *code = NULL, *done = NULL;

    if (!policy_can_run_file(path) || (policy && (!builtins || policy_parse_begin() < 0)))
        return PyErr_Format(PyExc_ImportError, "%s could not be checked", path);
    if (!policy) {
        code = Py_CompileStringExFlags(policy_source_text(source).data, path, Py_file_input, &flags,
                                       -1);
    } else {
        code = checked_code(policy, source, path);
        policy_parse_end();
    }
    if (code && PyDict_SetItemString(globals, "__builtins__",
                                     policy ? builtins : PyEval_GetBuiltins()) == 0)
        done = PyEval_EvalCode(code, globals, globals);
    Py_XDECREF(code);
    return done;
}

static PyMethodDef functions[] = {{"is_foreign", is_foreign, METH_O, NULL},
                                  {"is_library", is_library, METH_O, NULL},
                                  {"is_borrowed", is_borrowed, METH_VARARGS, NULL},
                                  {"run_module", run_module, METH_VARARGS, NULL}};

int policy_workspace_watch(void)
{
    static bool is_done;
    PyObject *globals, *code = NULL, *done = NULL;
    int r = 0;

    if (is_done)
        return 0;
    is_done = true;
    globals = Py_BuildValue("{s:O,s:s}", "__builtins__", PyEval_GetBuiltins(), "__name__",
                            "belljar_workspace");
    for (size_t i = 0; globals && r == 0 && i < COUNT_OF(functions); i++) {
        PyObject *function = PyCFunction_New(&functions[i], NULL);

        r = function ? PyDict_SetItemString(globals, functions[i].ml_name, function) : -1;
        Py_XDECREF(function);
    }
    if (globals && r == 0)
        code = policy_compile_own(workspace_source, "<frozen workspace>");
    if (code)
        done = PyEval_EvalCode(code, globals, globals);
    Py_XDECREF(done);
    Py_XDECREF(code);
    Py_XDECREF(globals);
    return done ? 0 : -1;
}
