#include "guest/python.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "guest/policy.h"
#include "guest/report.h"

#define EXIT_REFUSED 126
#define EXIT_FAILED  125

/* builtins.compile as it was before any program could replace it. */
static PyObject *compile_function;

int python_prepare(void)
{
    compile_function = PyDict_GetItemString(PyEval_GetBuiltins(), "compile");
    Py_XINCREF(compile_function);
    return compile_function ? policy_prepare() : -1;
}

static PyObject *parse(struct span source)
{
    PyCompilerFlags flags = {.cf_flags = PyCF_ONLY_AST | PyCF_IGNORE_COOKIE,
                             .cf_feature_version = PY_MINOR_VERSION};
    PyObject *name = PyUnicode_FromString(POLICY_FILENAME);
    PyObject *tree = NULL;
    char *text;

    source = policy_source_text(source);
    /* The parser wants a NUL at the end; a NUL inside was refused before. */
    text = PyMem_RawMalloc(source.len + 1);
    if (name && text) {
        memcpy(text, source.data, source.len);
        text[source.len] = '\0';
        tree = Py_CompileStringObject(text, name, Py_file_input, &flags, -1);
    }
    PyMem_RawFree(text);
    Py_XDECREF(name);
    return tree;
}

static bool is_node(PyObject *node, const char *kind)
{
    const char *name = strrchr(Py_TYPE(node)->tp_name, '.');

    return strcmp(name ? name + 1 : Py_TYPE(node)->tp_name, kind) == 0;
}

static bool is_call_of_print(PyObject *expression)
{
    PyObject *function = NULL, *id = NULL;
    bool result = false;

    if (is_node(expression, "Call"))
        function = PyObject_GetAttrString(expression, "func");
    if (function)
        id = PyObject_GetAttrString(function, "id");
    if (id && PyUnicode_Check(id))
        result = PyUnicode_CompareWithASCIIString(id, "print") == 0;
    Py_XDECREF(function);
    Py_XDECREF(id);
    PyErr_Clear();
    return result;
}

/* Takes the last statement off the tree if it is an expression, and gives it back as a tree of its
 * own. NULL, without an error: it is not one. */
static PyObject *take_last_expression(PyObject *tree)
{
    PyObject *body = PyObject_GetAttrString(tree, "body");
    PyObject *module, *type, *value, *result = NULL;
    Py_ssize_t n;

    if (!body || !PyList_Check(body))
        goto out;
    n = PyList_GET_SIZE(body);
    if (n == 0)
        goto out;
    if (!is_node(PyList_GET_ITEM(body, n - 1), "Expr"))
        goto out;
    value = PyObject_GetAttrString(PyList_GET_ITEM(body, n - 1), "value");
    module = PyImport_ImportModule("_ast");
    type = module ? PyObject_GetAttrString(module, "Expression") : NULL;
    if (value && type)
        result = PyObject_CallOneArg(type, value);
    if (result && PyList_SetSlice(body, n - 1, n, NULL) < 0)
        Py_CLEAR(result);
    Py_XDECREF(value);
    Py_XDECREF(module);
    Py_XDECREF(type);
out:
    Py_XDECREF(body);
    return result;
}

static PyObject *compile_tree(PyObject *tree, const char *mode)
{
    /* dont_inherit: no future statement of anybody else's. */
    return PyObject_CallFunction(compile_function, "OssiO", tree, POLICY_FILENAME, mode, 0,
                                 Py_True);
}

/* The program's lines for tracebacks, without a file. Filled lazily in cold interpreters, where
 * importing linecache would cost more than the program. */
static void remember_source(struct span source)
{
    PyObject *module = PyImport_ImportModule("linecache");
    PyObject *cache = module ? PyObject_GetAttrString(module, "cache") : NULL;
    PyObject *text = PyUnicode_DecodeUTF8(source.data, (Py_ssize_t)source.len, "replace");
    PyObject *lines = text ? PyUnicode_Splitlines(text, 1) : NULL;
    PyObject *entry = NULL;

    if (lines)
        entry = Py_BuildValue("(nOOs)", (Py_ssize_t)source.len, Py_None, lines, POLICY_FILENAME);
    if (cache && PyDict_Check(cache) && entry)
        (void)PyDict_SetItemString(cache, POLICY_FILENAME, entry);
    Py_XDECREF(module);
    Py_XDECREF(cache);
    Py_XDECREF(text);
    Py_XDECREF(lines);
    Py_XDECREF(entry);
    PyErr_Clear();
}

static int fail_with_exception(const struct wire_run *run, int control)
{
    PyObject *type, *value, *tb;

    PyErr_Fetch(&type, &value, &tb);
    remember_source(run->code);
    PyErr_Restore(type, value, tb);
    return report_exception(control);
}

/* Echoes the value as the interactive interpreter does, without touching `_`. */
static int echo(PyObject *value)
{
    PyObject *out = PySys_GetObject("stdout");

    if (value == Py_None || !out || out == Py_None)
        return 0;
    if (PyFile_WriteObject(value, out, 0) < 0)
        return -1;
    return PyFile_WriteString("\n", out);
}

static int execute(const struct wire_run *run, PyObject *body, PyObject *last, bool last_prints,
                   int control)
{
    PyObject *main_module = PyImport_AddModule("__main__");
    PyObject *globals = PyModule_GetDict(main_module);
    PyObject *value, *named;

    value = PyEval_EvalCode(body, globals, globals);
    if (value && last) {
        Py_DECREF(value);
        value = PyEval_EvalCode(last, globals, globals);
        if (value && (run->flags & WIRE_RUN_AUTO_PRINT) && !last_prints && echo(value) < 0)
            Py_CLEAR(value);
    }
    if (!value)
        return fail_with_exception(run, control);

    named = PyDict_GetItemString(globals, "result");
    if (named)
        (void)report_value(control, named);
    else if (last && value != Py_None)
        (void)report_value(control, value);
    Py_DECREF(value);
    if (PyErr_Occurred()) /* an interrupt that came while the value was written */
        return fail_with_exception(run, control);
    return 0;
}

int python_run(const struct wire_run *run, int control)
{
    struct policy_report report = {0};
    struct policy *policy = policy_load(run->policy);
    PyObject *tree, *last_tree = NULL, *body = NULL, *last = NULL;
    bool last_prints = false, is_compiled;

    if (!policy || policy_check_source(policy, run->code, &report) < 0) {
        (void)report_failed(control, "the policy could not be applied");
        return EXIT_FAILED;
    }
    if (report.count) {
        (void)report_refused(control, &report);
        return EXIT_REFUSED;
    }

    tree = parse(run->code);
    if (tree) {
        if (policy_check_tree(policy, tree, &report) < 0) {
            (void)report_failed(control, "the policy could not check the program");
            return EXIT_FAILED;
        }
        if (report.count) {
            (void)report_refused(control, &report);
            return EXIT_REFUSED;
        }
        last_tree = take_last_expression(tree);
        if (!PyErr_Occurred())
            body = compile_tree(tree, "exec");
        if (body && last_tree) {
            PyObject *expression = PyObject_GetAttrString(last_tree, "body");

            last_prints = expression && is_call_of_print(expression);
            Py_XDECREF(expression);
            last = compile_tree(last_tree, "eval");
        }
    }

    /* A program that does not compile ends like any other with an exception; nothing of it ran. */
    is_compiled = body && (!last_tree || last);
    if (is_compiled && policy_seal(policy) < 0) {
        (void)report_failed(control, "the policy could not be sealed");
        return EXIT_FAILED;
    }
    if (report_started(control) < 0)
        return EXIT_FAILED;
    if (!is_compiled)
        return fail_with_exception(run, control);
    return execute(run, body, last, last_prints, control);
}

static void call_if_loaded(const char *module_name, const char *function)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = PyDict_GetItemString(modules, module_name);
    PyObject *result;

    if (!module)
        return;
    result = PyObject_CallMethod(module, function, NULL);
    if (!result)
        PyErr_WriteUnraisable(module);
    Py_XDECREF(result);
}

static void flush(const char *name)
{
    PyObject *file = PySys_GetObject(name);
    PyObject *result = file && file != Py_None ? PyObject_CallMethod(file, "flush", NULL) : NULL;

    PyErr_Clear();
    Py_XDECREF(result);
}

void python_finish(void)
{
    call_if_loaded("threading", "_shutdown");
    call_if_loaded("atexit", "_run_exitfuncs");
    flush("stdout");
    flush("stderr");
    (void)fflush(NULL);
}

void python_exit(int code)
{
    python_finish();
    _exit(code);
}
