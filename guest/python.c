#include "guest/python.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include <opcode.h>

#include "base/cleanup.h"
#include "guest/call.h"
#include "guest/cell_loop.h"
#include "guest/display.h"
#include "guest/exit_hooks.h"
#include "guest/fresh_modules.h"
#include "guest/history.h"
#include "guest/interpreter.h"
#include "guest/library.h"
#include "guest/main_module.h"
#include "guest/notebook.h"
#include "guest/policy/policy.h"
#include "guest/program_file.h"
#include "guest/report.h"
#include "guest/typed_input.h"
#include "guest/user_packages.h"

#define EXIT_REFUSED 126
#define EXIT_FAILED  125

/* builtins.compile and ast.Expression as they were before any program could replace them. */
static PyObject *compile_function, *expression_type;

/* The code of a program without statements. */
static PyObject *nothing;

/* Of nodes of a tree and of streams, which are read in every run. By a new text each time no field
 * would be in the interpreter's cache of attributes, and each would be put into it. */
enum field { FIELD_BODY, FIELD_FUNC, FIELD_ID, FIELD_VALUE, FIELD_FLUSH };
static struct {
    const char *text;
    PyObject *name;
} fields[] = {
    [FIELD_BODY] = {"body", NULL},   [FIELD_FUNC] = {"func", NULL},   [FIELD_ID] = {"id", NULL},
    [FIELD_VALUE] = {"value", NULL}, [FIELD_FLUSH] = {"flush", NULL},
};

int python_prepare(void)
{
    PyObject *ast;

    compile_function = PyDict_GetItemString(PyEval_GetBuiltins(), "compile");
    Py_XINCREF(compile_function);
    ast = report_module("_ast");
    expression_type = ast ? PyObject_GetAttrString(ast, "Expression") : NULL;
    Py_XDECREF(ast);
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (!(fields[i].name = PyUnicode_InternFromString(fields[i].text)))
            return -1;
    nothing = Py_CompileString("", "<string>", Py_file_input);
    return compile_function && expression_type && nothing && main_module_prepare() == 0 &&
                   display_prepare() == 0 && library_prepare() == 0 && notebook_prepare() == 0 &&
                   cell_loop_prepare() == 0 && typed_input_load() == 0
               ? policy_prepare()
               : -1;
}

/* A run, or a cell of a session. */
struct program {
    struct span code;
    const char *file; /* its name in tracebacks */
    uint32_t flags;   /* enum wire_run_flag */
    bool is_cell;
    bool is_script; /* a file, not a text or a cell */
    int control;
    PyObject *body, *last; /* compiled; `last` is the last expression, or NULL */
    bool last_prints;
    bool is_quiet;   /* its last expression is not shown */
    bool is_hidden;  /* a question about the session, which leaves no trace in it */
    uint32_t number; /* of a cell */
};

static PyObject *parse(struct span source, const char *file)
{
    PyCompilerFlags flags = {.cf_flags = PyCF_ONLY_AST | PyCF_IGNORE_COOKIE,
                             .cf_feature_version = PY_MINOR_VERSION};
    PyObject *name = PyUnicode_FromString(file);
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

static PyObject *get_field(PyObject *node, enum field field)
{
    return PyObject_GetAttr(node, fields[field].name);
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
        function = get_field(expression, FIELD_FUNC);
    if (function)
        id = get_field(function, FIELD_ID);
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
    PyObject *body = get_field(tree, FIELD_BODY);
    PyObject *value, *result = NULL;
    Py_ssize_t n;

    if (!body || !PyList_Check(body))
        goto out;
    n = PyList_GET_SIZE(body);
    if (n == 0)
        goto out;
    if (!is_node(PyList_GET_ITEM(body, n - 1), "Expr"))
        goto out;
    value = get_field(PyList_GET_ITEM(body, n - 1), FIELD_VALUE);
    if (value)
        result = PyObject_CallOneArg(expression_type, value);
    if (result && PyList_SetSlice(body, n - 1, n, NULL) < 0)
        Py_CLEAR(result);
    Py_XDECREF(value);
out:
    Py_XDECREF(body);
    return result;
}

/* Future statements of earlier cells, which hold for later ones as at any prompt. */
static int future_flags;

/* A program may await at its top level, as in notebooks. */
static PyObject *compile_tree(const struct program *program, PyObject *tree, const char *mode)
{
    int flags = PyCF_ALLOW_TOP_LEVEL_AWAIT | (program->is_cell ? future_flags : 0);
    /* dont_inherit: no future statement of anybody else's. */
    PyObject *code =
        PyObject_CallFunction(compile_function, "OssiO", tree, program->file, mode, flags, Py_True);

    if (code && program->is_cell && !program->is_hidden)
        future_flags |= ((PyCodeObject *)code)->co_flags & PyCF_MASK;
    return code;
}

/* The program's lines for tracebacks, without a file. Filled lazily in cold interpreters, where
 * importing linecache would cost more than the program. */
static void remember_source(const struct program *program)
{
    struct span source = program->code;
    PyObject *module = report_module("linecache");
    PyObject *cache = module ? PyObject_GetAttrString(module, "cache") : NULL;
    PyObject *text = PyUnicode_DecodeUTF8(source.data, (Py_ssize_t)source.len, "replace");
    PyObject *lines, *entry = NULL, *path;

    /* The last line has an end, as in a file: traceback counts on it when it places its marks. */
    if (text && source.len && source.data[source.len - 1] != '\n')
        PyUnicode_AppendAndDel(&text, PyUnicode_FromString("\n"));
    lines = text ? PyUnicode_Splitlines(text, 1) : NULL;
    if (lines)
        entry = Py_BuildValue("(nOOs)", (Py_ssize_t)source.len, Py_None, lines, program->file);
    if (cache && PyDict_Check(cache) && entry)
        (void)PyDict_SetItemString(cache, program->file, entry);
    /* inspect looks for classes in the file of their module. */
    path = PyDict_GetItemString(main_module_names(), "__file__");
    if (cache && PyDict_Check(cache) && entry && path && PyUnicode_CheckExact(path))
        (void)PyDict_SetItem(cache, path, entry);
    Py_XDECREF(module);
    Py_XDECREF(cache);
    Py_XDECREF(text);
    Py_XDECREF(lines);
    Py_XDECREF(entry);
    PyErr_Clear();
}

static int fail_with_exception(const struct program *program)
{
    PyObject *type, *value, *tb;

    PyErr_Fetch(&type, &value, &tb);
    remember_source(program);
    PyErr_Restore(type, value, tb);
    return report_exception(program->control, program->is_cell,
                            !(program->flags & WIRE_RUN_NOTEBOOK));
}

/* Echoes the value as the interactive interpreter does, or as print() does, without touching `_`.
 */
static int echo(PyObject *value, uint32_t flags)
{
    PyObject *out = PySys_GetObject("stdout"), *text;

    if (value == Py_None || !out || out == Py_None)
        return 0;
    text = flags & WIRE_RUN_AS_PRINT ? Py_NewRef(value) : report_repr(value);
    if (!text || PyFile_WriteObject(text, out, Py_PRINT_RAW) < 0) {
        Py_XDECREF(text);
        return -1;
    }
    Py_DECREF(text);
    return PyFile_WriteString("\n", out);
}

/* Code that awaits at its top level gives a coroutine. */
static PyObject *evaluate(PyObject *code, PyObject *globals)
{
    PyObject *value = PyEval_EvalCode(code, globals, globals);

    if (!value || !(((PyCodeObject *)code)->co_flags & CO_COROUTINE))
        return value;
    Py_SETREF(value, cell_loop_run(value));
    return value;
}

/* --- running --- */

/* Does the code assign to `result`, itself, not in a function of its? */
static bool stores_result(PyObject *code)
{
    PyObject *names = ((PyCodeObject *)code)->co_names;
    PyObject *bytes = PyCode_GetCode((PyCodeObject *)code);
    Py_ssize_t n = bytes ? PyBytes_GET_SIZE(bytes) : 0;
    unsigned argument = 0;
    bool found = false;

    for (Py_ssize_t i = 0; i + 1 < n && !found; i += 2) {
        const unsigned char *unit = (const unsigned char *)PyBytes_AS_STRING(bytes) + i;

        argument = argument << 8 | unit[1];
        if (unit[0] == EXTENDED_ARG)
            continue;
        if ((unit[0] == STORE_NAME || unit[0] == STORE_GLOBAL) &&
            argument < (unsigned)PyTuple_GET_SIZE(names))
            found =
                PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, argument), "result") == 0;
        argument = 0;
    }
    Py_XDECREF(bytes);
    PyErr_Clear();
    return found;
}

/* `result` if the program set it, in a session: this cell of it; else the last expression. */
static void report_outcome(const struct program *program, PyObject *globals, PyObject *before,
                           PyObject *value)
{
    PyObject *named =
        program->flags & WIRE_RUN_NOTEBOOK ? NULL : PyDict_GetItemString(globals, "result");
    PyObject *text = NULL;

    if (named && program->is_cell && named == before && !stores_result(program->body))
        named = NULL;
    if (!named && program->last && !program->is_quiet && value != Py_None)
        named = value;
    Py_XINCREF(named); /* showing it runs code of the program, which may let go of it */
    if (named && display_value(named, &text) == 0)
        (void)report_value(program->control, named, text);
    Py_XDECREF(named);
    Py_XDECREF(text);
}

/* The last expression's value is shown, unless the program has done so itself. */
static bool shows_value(const struct program *program)
{
    return program->last && !program->last_prints && !program->is_quiet;
}

/* The value, unless showing it failed. */
static PyObject *show_itself(struct program *program, PyObject *value)
{
    int r = display_itself(value);

    program->is_quiet |= r > 0;
    if (r < 0)
        Py_CLEAR(value);
    return value;
}

/* With %%capture the value is kept, and not shown. */
static PyObject *keep_captured(struct program *program, PyObject *value)
{
    if (!notebook_is_captured())
        return value;
    if (value && value != Py_None && shows_value(program) && display_captured(value) < 0)
        Py_CLEAR(value);
    program->is_quiet = true;
    return value;
}

static int execute(struct program *program)
{
    PyObject *globals = main_module_names();
    PyObject *before = PyDict_GetItemString(globals, "result");
    PyObject *value;

    Py_XINCREF(before);
    if (program->is_cell && !program->is_hidden)
        history_add_input(globals, program->number, program->code);
    value = program->body == nothing ? Py_NewRef(Py_None) : evaluate(program->body, globals);
    if (value && program->last) {
        Py_DECREF(value);
        value = evaluate(program->last, globals);
        if (value && !program->is_quiet)
            value = show_itself(program, value);
        value = keep_captured(program, value);
        if (value && (program->flags & WIRE_RUN_AUTO_PRINT) && shows_value(program) &&
            echo(value, program->flags) < 0)
            Py_CLEAR(value);
    }
    if (!program->is_cell)
        cell_loop_close();
    if (notebook_is_captured() && display_figures() < 0)
        Py_CLEAR(value);
    notebook_end();
    if (value && value != Py_None && program->is_cell && !program->is_hidden &&
        shows_value(program))
        history_add_value(globals, program->number, value);
    if (display_figures() < 0)
        Py_CLEAR(value);
    if (value)
        report_outcome(program, globals, before, value);
    Py_XDECREF(value);
    Py_XDECREF(before);
    if (!value || PyErr_Occurred()) /* the latter: an interrupt while the value was written */
        return fail_with_exception(program);
    return 0;
}

static bool has_no_statements(PyObject *tree)
{
    PyObject *body = get_field(tree, FIELD_BODY);
    bool is_empty = body && PyList_Check(body) && PyList_GET_SIZE(body) == 0;

    Py_XDECREF(body);
    PyErr_Clear();
    return is_empty;
}

static int compile_program(struct program *program, PyObject *tree)
{
    PyObject *last_tree = take_last_expression(tree);
    PyObject *expression;

    if (!PyErr_Occurred())
        program->body = last_tree && has_no_statements(tree) ? Py_NewRef(nothing)
                                                             : compile_tree(program, tree, "exec");
    if (program->body && last_tree) {
        expression = get_field(last_tree, FIELD_BODY);
        program->last_prints = expression && is_call_of_print(expression);
        Py_XDECREF(expression);
        program->last = compile_tree(program, last_tree, "eval");
    }
    Py_XDECREF(last_tree);
    return program->body && (!last_tree || program->last) ? 0 : -1;
}

/* Of several files, in which one. */
static void name_file(const struct program *program, struct policy_report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        char *message = NULL;

        if (asprintf(&message, "%s: %s", program->file, report->items[i].message) < 0)
            return;
        free(report->items[i].message);
        report->items[i].message = message;
    }
}

static int refuse(const struct program *program, struct policy_report *report)
{
    if (program->flags & WIRE_RUN_CHECK)
        name_file(program, report);
    (void)report_refused(program->control, report);
    policy_report_done(report);
    return EXIT_REFUSED;
}

static int fail(const struct program *program, const char *message)
{
    (void)report_failed(program->control, message);
    return EXIT_FAILED;
}

/* A program that is not Python may be one with lines of a notebook's. They are translated line by
 * line, so that the program's own text goes with the tree. */
static PyObject *parse_program(struct program *program)
{
    struct span source = policy_source_text(program->code);
    PyObject *names = main_module_names();
    char *text = notebook_has_prompt(source) ? notebook_translate(source)
                 : program->is_cell          ? notebook_translate_bare(source, names)
                                             : NULL;
    PyObject *tree = text ? NULL : parse(program->code, program->file), *type, *value, *tb;

    program->is_quiet = notebook_is_quiet(source);
    if (!text && (tree || !PyErr_ExceptionMatches(PyExc_SyntaxError)))
        return tree;
    PyErr_Fetch(&type, &value, &tb);
    if (!text)
        text = notebook_translate(source);
    if (!text) {
        PyErr_Restore(type, value, tb);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(tb);
    tree = parse(span_of(text), program->file);
    notebook_renumber(tree, text);
    PyMem_RawFree(text);
    return tree;
}

/* Its source, its tree, and whether it compiles: `body` is there then, and an exception is set
 * otherwise. Returns the exit code of a program that is refused. */
static int prepare_program(struct program *program, const struct policy *policy)
{
    struct policy_report report = {0};
    PyObject *tree;

    if (policy_check_source(policy, program->code, &report) < 0)
        return fail(program, "the policy could not be applied");
    if (report.count)
        return refuse(program, &report);
    tree = parse_program(program);
    if (!tree)
        return 0;
    if (policy_check_tree(policy, tree, &report) < 0)
        return fail(program, "the policy could not check the program");
    if ((program->flags & WIRE_RUN_CHECK_ONLY) && !(program->flags & WIRE_RUN_INSTALLS) &&
        policy_check_imports(tree, &report) < 0)
        return fail(program, "the program's imports could not be checked");
    if (report.count) {
        Py_DECREF(tree);
        return refuse(program, &report);
    }
    if (compile_program(program, tree) < 0)
        Py_CLEAR(program->body);
    Py_DECREF(tree);
    return 0;
}

static bool is_notebook(struct span code)
{
    return code.len > strlen(NOTEBOOK_CELL) &&
           memcmp(code.data, NOTEBOOK_CELL, strlen(NOTEBOOK_CELL)) == 0;
}

/* A script asks for get_ipython() to find out whether it is in a notebook; one that was saved from
 * a notebook calls what it gives. */
static int hide_notebook(const struct program *program)
{
    PyObject *globals = main_module_names();
    PyObject *builtins = PyDict_GetItemString(globals, "__builtins__");

    if (builtins && PyModule_Check(builtins))
        builtins = PyModule_GetDict(builtins);
    if (!program->is_script || !builtins || is_notebook(program->code) ||
        span_contains(program->code, "get_ipython().") ||
        !PyDict_GetItemString(builtins, "get_ipython"))
        return 0;
    return PyDict_DelItemString(builtins, "get_ipython");
}

/* `seals`: the policy comes into force with this program, once it is known to compile. */
static int run_program(struct program *program, const struct policy *policy, bool seals)
{
    int code = prepare_program(program, policy);

    if (code)
        return code;
    /* Functions of this cell may be in a traceback of a later one. */
    if (program->body &&
        (program->is_cell ? !program->is_hidden : program_file_is_read(program->code)))
        remember_source(program);
    /* A program that does not compile ends like any other with an exception; nothing of it ran. */
    if (program->body && seals && policy_seal(policy) < 0)
        return fail(program, "the policy could not be sealed");
    if (program->body && hide_notebook(program) < 0)
        return fail(program, "the builtins could not be set");
    if (report_started(program->control) < 0)
        return EXIT_FAILED;
    display_begin(program->control);
    call_begin();
    if (program->body && (program->is_cell || is_notebook(program->code)))
        cell_loop_offer(program->code);
    if (program->body && (program->flags & WIRE_RUN_TYPED)) /* else an exception is set */
        typed_input_begin(program->code);
    if (program->body && (program->is_cell || is_notebook(program->code)))
        display_widen_tables();
    if (program->body && program->is_cell && !program->is_hidden && fresh_modules_renew(false) < 0)
        return fail_with_exception(program);
    return program->body ? execute(program) : fail_with_exception(program);
}

/* --- files that are only looked at --- */

/* The bytes before the next NUL. */
static struct span take_text(struct span *rest)
{
    const char *end = memchr(rest->data, '\0', rest->len);
    size_t len = end ? (size_t)(end - rest->data) : rest->len;
    struct span text = {rest->data, len};

    rest->data += end ? len + 1 : len;
    rest->len -= end ? len + 1 : len;
    return text;
}

/* The first that is refused, or does not compile, is the answer. */
static int check_files(struct program *program, const struct policy *policy)
{
    struct span rest = program->code;

    if (rest.len && rest.data[rest.len - 1] != '\0')
        return fail(program, "the list of files is damaged");
    while (rest.len) {
        int code;

        program->file = take_text(&rest).data;
        program->code = take_text(&rest);
        code = prepare_program(program, policy);
        if (code)
            return code;
        if (!program->body)
            break;
        Py_CLEAR(program->body);
        Py_CLEAR(program->last);
    }
    if (report_started(program->control) < 0)
        return EXIT_FAILED;
    return PyErr_Occurred() ? fail_with_exception(program) : 0;
}

/* A cell that another kernel refused. The answer is the refusal, or WIRE_STARTED: it may run. */
static int check_cell(struct program *program, const struct policy *policy)
{
    int code = prepare_program(program, policy);

    if (code)
        return code;
    PyErr_Clear();
    return report_started(program->control) < 0 ? EXIT_FAILED : 0;
}

/* A program that its sender wants to know about. */
static int check_program(struct program *program, const struct policy *policy)
{
    int code = prepare_program(program, policy);

    if (code)
        return code;
    if (report_started(program->control) < 0)
        return EXIT_FAILED;
    return PyErr_Occurred() ? fail_with_exception(program) : 0;
}

static bool is_no_name(struct span word)
{
    return (word.len == 1 && word.data[0] == '-') || (word.len == 2 && !memcmp(word.data, "-c", 2));
}

/* sys.argv, and the name of the program in tracebacks. `-`, standard input, and `-c` are no names
 * for those.
 */
static int set_arguments(const struct wire_strings *args)
{
    PyObject *list;
    int r;

    if (args->count == 0)
        return 0;
    if (!is_no_name(args->items[0]) && policy_set_filename(args->items[0]) < 0)
        return -1;
    list = PyList_New(args->count);
    for (uint32_t i = 0; list && i < args->count; i++) {
        PyObject *text =
            PyUnicode_DecodeFSDefaultAndSize(args->items[i].data, (Py_ssize_t)args->items[i].len);

        if (!text)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, text);
    }
    r = list ? PySys_SetObject("argv", list) : -1;
    Py_XDECREF(list);
    PyErr_Clear();
    return r;
}

int python_run(const struct wire_run *run, int control)
{
    struct program program = {
        .code = run->code, .file = policy_filename(), .flags = run->flags, .control = control};
    const struct policy *policy = policy_of_run(run);

    if (set_arguments(&run->args) < 0)
        return fail(&program, "the program's name or arguments cannot be set");
    program.is_script = run->args.count > 0 && !is_no_name(run->args.items[0]);
    if (!policy)
        return fail(&program, "the policy could not be applied");
    if (run->script.len &&
        interpreter_set_script(run->script, policy_restricts_nothing(policy), NULL) < 0)
        return fail(&program, "the program's directory cannot be set");
    if (!run->script.len && program_file_set(run->code) < 0)
        return fail(&program, "the program's file cannot be set");
    if (run->flags & WIRE_RUN_CHECK)
        return check_files(&program, policy);
    if (run->flags & WIRE_RUN_CHECK_ONLY)
        return check_program(&program, policy);
    if (run->flags & WIRE_RUN_CHECK_CELL)
        return check_cell(&program, policy);
    return run_program(&program, policy, true);
}

/* --- rehearsing --- */

/* One of nearly every kind of statement and expression. */
static const char rehearsal[] = "import sys\n"
                                "from math import pi as _pi\n"
                                "class _Shape:\n"
                                "    sides: int = 3\n"
                                "    def __init__(self, *parts, **named):\n"
                                "        self.parts = list(parts)\n"
                                "    @property\n"
                                "    def first(self):\n"
                                "        return self.parts[0] if self.parts else None\n"
                                "def _count(n, step=1):\n"
                                "    global _seen\n"
                                "    _seen = total = 0\n"
                                "    while total < n and not total == -1:\n"
                                "        total += step\n"
                                "        yield total\n"
                                "try:\n"
                                "    with open('/dev/null') as _file:\n"
                                "        _text = _file.read().strip()\n"
                                "    assert _text == '', 'empty'\n"
                                "    raise ValueError('x')\n"
                                "except (ValueError, KeyError) as _error:\n"
                                "    _text = f'{_error!r:>9} {_pi:.3f}'\n"
                                "finally:\n"
                                "    pass\n"
                                "_a, *_b = sorted([int(c) for c in '123'], key=lambda x: -x)\n"
                                "_c = {str(i): i ** 2 for i in range(9) if i % 2}\n"
                                "_d = [*_b, *_count(3)][1:-1]\n"
                                "for _i, _x in enumerate(_d):\n"
                                "    if _x > 2 or _i is None:\n"
                                "        continue\n"
                                "print('', _Shape(1).first and '', end='', sep='', "
                                "file=sys.stdout)\n"
                                "del _i, _x\n"
                                "{'a': _c, 'b': [1.5, True, None, _text]}\n";

static PyObject *run_apart(const struct program *program)
{
    PyObject *globals = PyDict_New();
    PyObject *value = NULL;

    if (globals && PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()) == 0 &&
        PyDict_SetItemString(globals, "__name__", Py_None) == 0) {
        value = PyEval_EvalCode(program->body, globals, globals);
        Py_XDECREF(value);
        if (value)
            value = PyEval_EvalCode(program->last, globals, globals);
    }
    Py_XDECREF(globals);
    return value;
}

void python_rehearse(void)
{
    struct program program = {.code = span_of(rehearsal), .file = policy_filename()};
    struct policy_report report = {0};
    struct policy *policy = policy_rehearsal();
    PyObject *tree = NULL, *value = NULL;

    program.control = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (policy && policy_check_source(policy, program.code, &report) == 0)
        tree = parse(program.code, program.file);
    if (tree && policy_check_tree(policy, tree, &report) == 0 &&
        compile_program(&program, tree) == 0 && program.last)
        value = run_apart(&program);
    if (value)
        (void)report_value(program.control, value, NULL);
    PyErr_Clear();
    Py_XDECREF(value);
    Py_XDECREF(tree);
    Py_XDECREF(program.body);
    Py_XDECREF(program.last);
    policy_report_done(&report);
    policy_free(policy);
    (void)close(program.control);
}

/* --- sessions --- */

static const struct policy *session_policy;

/* Modules where the program is at the moment. Last: they do not stand in for those of the library.
 */
static int add_present_directory(void)
{
    const struct wire_strings here = {.items = {{"", 0}}, .count = 1};

    if (!policy_restricts_nothing(session_policy))
        return 0;
    user_packages_begin();
    return interpreter_append_paths(&here, NULL);
}

int python_open(const struct wire_run *run, int control)
{
    session_policy = policy_of_run(run);
    if (!session_policy || policy_seal_nodes() < 0 || policy_seal(session_policy) < 0 ||
        add_present_directory() < 0) {
        (void)report_failed(control, "the policy could not be applied");
        return -1;
    }
    return 0;
}

/* A prompt asks how a text may go on. */
static bool is_question(struct span code)
{
    static const char begin[] = "%%complete\n";

    return code.len >= sizeof(begin) - 1 && memcmp(code.data, begin, sizeof(begin) - 1) == 0;
}

int python_cell(const struct wire_cell *cell, int control)
{
    char file[32];
    struct program program = {.code = cell->code,
                              .file = file,
                              .flags = cell->flags,
                              .is_cell = true,
                              .is_hidden = is_question(cell->code),
                              .number = cell->number,
                              .control = control};
    int code;

    (void)snprintf(file, sizeof(file), POLICY_CELL_FILENAME "%u>", cell->number);
    fresh_modules_drop();
    user_packages_look();
    code = run_program(&program, session_policy, false);
    fresh_modules_note();
    display_end(); /* a thread that goes on has nobody to show things to until the next cell */
    call_end();
    Py_XDECREF(program.body);
    Py_XDECREF(program.last);
    return code;
}

static void flush(const char *name)
{
    PyObject *file = PySys_GetObject(name);
    PyObject *result =
        file && file != Py_None ? PyObject_CallMethodNoArgs(file, fields[FIELD_FLUSH].name) : NULL;

    PyErr_Clear();
    Py_XDECREF(result);
}

static void finish_output(void)
{
    program_file_remove();
    flush("stdout");
    flush("stderr");
    (void)fflush(NULL);
}

void python_finish(void)
{
    exit_hooks_run();
    finish_output();
}

void python_exit(int code)
{
    exit_hooks_run();
    exit_hooks_release();
    finish_output();
    _exit(code);
}
