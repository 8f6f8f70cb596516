/* Magics of notebooks and the variables in their commands. Code that stands on such a line becomes
 * part of the program, so that the policy sees it; everything else becomes a text. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include <Python.h>

#include "base/span.h"
#include "guest/notebook.h"
#include "guest/notebook_internal.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool one_of(struct span s, const char *const *words)
{
    for (; *words; words++)
        if (span_is(s, *words))
            return true;
    return false;
}

/* Is it Python? `start`: Py_eval_input for an expression, Py_file_input for statements. */
static bool is_python(struct span s, int start)
{
    PyCompilerFlags flags = {.cf_flags = PyCF_ONLY_AST | PyCF_IGNORE_COOKIE,
                             .cf_feature_version = PY_MINOR_VERSION};
    char *text = PyMem_RawMalloc(s.len + 1);
    PyObject *tree = NULL;

    if (text) {
        memcpy(text, s.data, s.len);
        text[s.len] = '\0';
        tree =
            memchr(text, '\0', s.len) ? NULL : Py_CompileStringFlags(text, "<line>", start, &flags);
    }
    PyMem_RawFree(text);
    Py_XDECREF(tree);
    PyErr_Clear();
    return tree != NULL;
}

/* ---- commands ---- */

/* Variables in one command; what may be one beyond that is left to the shell, since each is parsed.
 */
#define FIELDS_MAX 200

/* The length of `{expression}` or `$name` at the beginning, and the expression in it; 0: there is
 * none. `${name}`, `$(…)`, `{1..3}` and `{print $1}` are the shell's. */
static size_t find_field(struct span s, char before, bool is_quoted, struct span *ret_inner)
{
    unsigned depth = 0;
    size_t n;

    if (s.data[0] == '$' && !is_quoted && before != '\\') {
        n = notebook_name_length(notebook_after(s, 1));
        *ret_inner = (struct span){s.data + 1, n};
        return n && s.data[1] != '_' ? n + 1 : 0;
    }
    if (s.data[0] != '{' || before == '$' || before == '\\')
        return 0;
    for (n = 0; n < s.len; n++) {
        depth += s.data[n] == '{';
        if (s.data[n] == '}' && --depth == 0)
            break;
    }
    *ret_inner = (struct span){s.data + 1, n ? n - 1 : 0};
    if (n == s.len || !notebook_trim(*ret_inner).len || !is_python(*ret_inner, Py_eval_input))
        return 0;
    return n + 1;
}

/* The length of `{{name}}` at the beginning, or 0. What is no expression is left as it is: awk's
 * and Go's braces. */
static size_t literal_braces(struct span s, char before)
{
    const char *end = s.len > 4 && s.data[0] == '{' && s.data[1] == '{' && before != '$'
                          ? memmem(s.data, s.len, "}}", 2)
                          : NULL;
    struct span inner = {s.data + 2, end ? (size_t)(end - s.data) - 2 : 0};

    if (!end || !notebook_trim(inner).len || memchr(inner.data, '{', inner.len) ||
        !is_python(inner, Py_eval_input))
        return 0;
    return inner.len + 4;
}

static void add_field(struct text *t, struct span whole, struct span inner)
{
    text_add_str(t, "_notebook('value', (");
    text_add_literal(t, whole);
    text_add_str(t, ", lambda: (");
    text_add(t, inner.data, inner.len);
    text_add_str(t, ")))");
}

/* A text with variables of the program: `echo {name} $name`; `$$name` is the shell's. */
void notebook_add_command(struct text *t, struct span command)
{
    unsigned fields = 0;
    size_t from = 0;
    char quote = 0;

    for (size_t i = 0; i < command.len; i++) {
        char c = command.data[i], before = i ? command.data[i - 1] : 0;
        struct span rest = notebook_after(command, i), inner;
        bool may_be_field = (c == '$' || c == '{') && fields < FIELDS_MAX;
        size_t n;

        if ((c == '\'' || c == '"') && (!quote || quote == c) && before != '\\')
            quote = (char)(quote ? 0 : c);
        if (c == '$' && rest.len > 2 && rest.data[1] == '$' &&
            notebook_name_length(notebook_after(rest, 2))) {
            text_add_literal(t, (struct span){command.data + from, i - from});
            text_add_str(t, " + ");
            from = ++i;
            continue;
        }
        fields += may_be_field;
        n = may_be_field ? literal_braces(rest, before) : 0;
        if (n) { /* `{{name}}`: "{name}", as in a format of Python */
            text_add_literal(t, (struct span){command.data + from, i + 1 - from});
            text_add_str(t, " + ");
            text_add_literal(t, (struct span){rest.data + 2, n - 3});
            text_add_str(t, " + ");
            i += n - 1;
            from = i + 1;
            continue;
        }
        n = may_be_field ? find_field(rest, before, quote == '\'', &inner) : 0;
        if (!n)
            continue;
        text_add_literal(t, (struct span){command.data + from, i - from});
        text_add_str(t, " + ");
        add_field(t, (struct span){rest.data, n}, inner);
        text_add_str(t, " + ");
        i += n - 1;
        from = i + 1;
    }
    text_add_literal(t, (struct span){command.data + from, command.len - from});
}

void notebook_add_call(struct text *t, const char *kind, struct span command)
{
    text_add_str(t, "_notebook('");
    text_add_str(t, kind);
    text_add_str(t, "', ");
    notebook_add_command(t, command);
    text_add_str(t, ")");
}

/* ---- tables ---- */

/* Those that change how things look, or nothing. */
static const char *const harmless[] = {
    "matplotlib", "unload_ext", "config",        "xmode",       "colors",  "automagic",
    "autosave",   "gui",        "pprint",        "logstart",    "logstop", "logon",
    "logoff",     "autocall",   "doctest_mode",  "alias_magic", "rehashx", "clear",
    "bookmark",   "profile",    "killbgscripts", "page",        "unalias", NULL};

static const char *const programs[] = {"pip",   "conda", "ls", "ll",  "cat",  "mkdir", "rm",
                                       "rmdir", "cp",    "mv", "man", "less", "more",  NULL};
static const char *const shells[] = {"bash", "sh", "!", "sx", "system", "shell", NULL};

/* Magics about the program's names: their argument is a text. */
static const char *const texts[] = {
    "who",      "whos",       "who_ls",     "reset",    "xdel",  "reset_selective",
    "history",  "hist",       "lsmagic",    "debug",    "magic", "quickref",
    "psearch",  "save",       "store",      "recall",   "rep",   "rerun",
    "macro",    "edit",       "ed",         "notebook", "pushd", "popd",
    "dirs",     "dhist",      "variables",  "alias",    "tb",    "precision",
    "load_ext", "reload_ext", "autoreload", "pdb",      NULL};

/* Those that people write without a sign in front. None is a name of Python's. */
static const char *const bare[] = {
    "cd",        "pwd",     "ls",      "ll",      "cat",     "mkdir", "rm",         "rmdir",
    "cp",        "mv",      "man",     "less",    "more",    "who",   "whos",       "who_ls",
    "env",       "set_env", "history", "hist",    "run",     "time",  "pip",        "conda",
    "timeit",    "prun",    "reset",   "pushd",   "popd",    "dirs",  "xdel",       "sx",
    "tb",        "pycat",   "system",  "lsmagic", "psearch", "pinfo", "matplotlib", "load_ext",
    "precision", "clear",   NULL};

/* Those that show a file. */
static const char *const shows[] = {"pycat", "load", "loadpy", NULL};

static const struct {
    const char *name, *kind;
} places[] = {{"pwd", "pwd"}, {"cd", "cd"}, {"env", "env"}, {"set_env", "env"}};

static const char *const forms[][2] = {
    {"html", "text/html"},
    {"markdown", "text/markdown"},
    {"latex", "text/latex"},
    {"svg", "image/svg+xml"},
    {"javascript", "application/javascript"},
    {"js", "application/javascript"},
};

/* ---- measuring ---- */

/* Takes "-n 100 -o" from the beginning of a line. */
static struct span take_options(struct span *rest, const char *with_value)
{
    struct span options = {rest->data, 0};

    while (rest->len > 1 && rest->data[0] == '-' && isalpha((unsigned char)rest->data[1])) {
        bool has_value = strchr(with_value, rest->data[1]) != NULL;
        size_t n = 2;

        while (n < rest->len && !isspace((unsigned char)rest->data[n]))
            n++;
        if (has_value && n == 2) { /* its value is the next word */
            while (n < rest->len && isspace((unsigned char)rest->data[n]))
                n++;
            while (n < rest->len && !isspace((unsigned char)rest->data[n]))
                n++;
        }
        *rest = notebook_after(*rest, n);
        options.len = (size_t)(rest->data - options.data);
        *rest = notebook_trim(*rest);
    }
    return options;
}

static void begin_measure(struct text *t, const char *kind, struct span options)
{
    text_add_str(t, "_notebook('");
    text_add_str(t, kind);
    text_add_str(t, "', (");
    text_add_literal(t, options);
    text_add_str(t, ", ");
}

/* `%time !command`, `%timeit %run f.py`: the Python of what is measured, in `t`; other text as it
 * is, and so is a measurement: there is no end of them that a line can hold in each other. */
static struct span measured(struct text *t, struct span indent, struct span rest)
{
    static const char *const measures[] = {"time", "timeit", "prun", NULL};
    struct span line = notebook_after(rest, 1), name;

    if (!rest.len || !strchr("!%", rest.data[0]))
        return rest;
    name = (struct span){line.data, notebook_name_length(line)};
    if (rest.data[0] == '!')
        notebook_add_call(t, "shell", notebook_trim(line));
    else if (one_of(name, measures) ||
             notebook_add_value(t, indent, name, notebook_trim(notebook_after(line, name.len))) < 0)
        return rest;
    return t->failed ? rest : (struct span){t->data, t->len};
}

static void add_line_end(struct text *t, struct span indent)
{
    text_add_str(t, NOTEBOOK_EXTRA_LINE);
    text_add(t, indent.data, indent.len);
}

/* `%timeit f(x)`. Statements go into a function, on a line of their own. */
static int add_measure(struct text *t, const char *kind, struct span indent, struct span options,
                       struct span rest)
{
    if (!rest.len)
        return -1;
    if (is_python(rest, Py_eval_input)) {
        begin_measure(t, kind, options);
        text_add_str(t, "lambda: (");
        text_add(t, rest.data, rest.len);
        text_add_str(t, ")))");
        return 0;
    }
    if (!is_python(rest, Py_file_input))
        return -1;
    text_add_str(t, "def _measured():");
    add_line_end(t, indent);
    text_add_str(t, " ");
    text_add(t, rest.data, rest.len);
    add_line_end(t, indent);
    begin_measure(t, kind, options);
    text_add_str(t, "_measured))");
    return 0;
}

/* It may stand behind another statement on a line: it is no `for`, `if` or `def`. */
static bool is_simple_statement(struct span s)
{
    struct text line = {0};
    bool is;

    text_add_str(&line, "0; ");
    text_add(&line, s.data, s.len);
    is = !line.failed && is_python((struct span){line.data, line.len}, Py_file_input);
    PyMem_RawFree(line.data);
    return is;
}

/* `%time x = f()`, `%time f()` with its value, and `%time` of a cell. */
static void add_time(struct text *t, struct span indent, struct span rest)
{
    if (!rest.len) {
        text_add_str(t, "_notebook('time')");
    } else if (is_python(rest, Py_eval_input)) {
        text_add_str(t, "(_notebook('time'), (");
        text_add(t, rest.data, rest.len);
        text_add_str(t, "), _notebook('end'))[1]");
    } else if (is_simple_statement(rest)) {
        text_add_str(t, "_notebook('time'); ");
        text_add(t, rest.data, rest.len);
        text_add_str(t, "; _notebook('end')");
    } else {
        text_add_str(t, "_notebook('time')");
        add_line_end(t, indent);
        text_add(t, rest.data, rest.len);
        add_line_end(t, indent);
        text_add_str(t, "_notebook('end')");
    }
}

/* ---- magics ---- */

/* A magic that the program has defined with the decorators of IPython.core.magic: `kind` names the
 * dict there. */
static bool is_defined(const char *kind, struct span name)
{
    PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), "IPython.core.magic");
    PyObject *dict = module && PyModule_Check(module)
                         ? PyDict_GetItemString(PyModule_GetDict(module), kind)
                         : NULL;
    PyObject *key = dict && PyDict_CheckExact(dict)
                        ? PyUnicode_FromStringAndSize(name.data, (Py_ssize_t)name.len)
                        : NULL;
    bool is = key && PyDict_Contains(dict, key) == 1;

    Py_XDECREF(key);
    PyErr_Clear();
    return is;
}

static void add_own_magic(struct text *t, const char *function, struct span name, struct span rest)
{
    text_add_str(t, "get_ipython().");
    text_add_str(t, function);
    text_add_str(t, "(");
    text_add_literal(t, name);
    text_add_str(t, ", ");
    notebook_add_command(t, rest);
}

static int add_measured(struct text *t, struct span indent, struct span name, struct span rest)
{
    bool is_time = span_is(name, "time");
    struct span options = is_time ? (struct span){rest.data, 0}
                                  : take_options(&rest, span_is(name, "timeit") ? "nrp" : "lsTD");
    struct text inner = {0};
    int r = 0;

    rest = measured(&inner, indent, notebook_before_comment(rest));
    if (is_time)
        add_time(t, indent, rest);
    else
        r = add_measure(t, span_is(name, "prun") ? "prun" : "timeit", indent, options, rest);
    PyMem_RawFree(inner.data);
    return r;
}

int notebook_add_value(struct text *t, struct span indent, struct span name, struct span rest)
{
    for (size_t i = 0; i < COUNT(places); i++)
        if (span_is(name, places[i].name)) {
            notebook_add_call(t, places[i].kind, rest);
            return 0;
        }
    if (is_defined("line_magics", name)) {
        add_own_magic(t, "run_line_magic", name, rest);
        text_add_str(t, ")");
        return 0;
    }
    if (span_is(name, "timeit") || span_is(name, "prun") || span_is(name, "time"))
        return add_measured(t, indent, name, rest);
    if (span_is(name, "magic") || span_is(name, "quickref")) {
        notebook_add_call(t, "lsmagic", name);
    } else if (one_of(name, texts)) {
        text_add_str(t, "_notebook('");
        text_add(t, name.data, name.len);
        text_add_str(t, "', ");
        text_add_literal(t, rest);
        text_add_str(t, ")");
    } else if (one_of(name, shows) && rest.len) {
        text_add_str(t, "_notebook('show', ('");
        text_add(t, name.data, name.len);
        text_add_str(t, "', open(");
        notebook_add_command(t, rest);
        text_add_str(t, ")))");
    } else if (span_is(name, "run")) {
        notebook_add_call(t, "run", rest);
    } else if (one_of(name, programs)) {
        notebook_add_call(t, "shell",
                          (struct span){name.data, (size_t)(rest.data + rest.len - name.data)});
    } else if (one_of(name, shells)) {
        notebook_add_call(t, name.data[0] == 's' && name.len != 5 ? "lines" : "shell", rest);
    } else {
        return -1;
    }
    return 0;
}

bool notebook_is_bare_magic(struct span name)
{
    return one_of(name, bare);
}

int notebook_add_magic(struct text *t, struct span indent, struct span line)
{
    static const char *const questions[] = {"pinfo",   "pinfo2", "pdoc", "pdef",
                                            "psource", "pfile",  NULL};
    size_t n = notebook_name_length(line);
    struct span name = {line.data, n}, rest = notebook_trim(notebook_after(line, n));

    if (!n)
        return -1;
    if (one_of(name, harmless) && !is_defined("line_magics", name)) {
        text_add_str(t, "pass");
        return 0;
    }
    if (span_is(name, "pylab")) {
        text_add_str(t, "import numpy, numpy as np, matplotlib.pyplot as plt");
        return 0;
    }
    if (span_is(name, "aimport")) { /* all modules are renewed, or none */
        text_add_str(t, rest.len && rest.data[0] != '-' ? "import " : "pass");
        text_add(t, rest.data, rest.len && rest.data[0] != '-' ? rest.len : 0);
        return 0;
    }
    if (one_of(name, questions) && is_python(rest, Py_eval_input)) {
        notebook_add_question(t, rest, span_is(name, "pinfo2") || span_is(name, "psource"));
        return 0;
    }
    return notebook_add_value(t, indent, name, rest);
}

/* ---- whole cells ---- */

static void add_blank_lines(struct text *t, struct span s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] == '\n')
            text_add_str(t, "\n");
}

/* A file of cells is one program, in which each begins with such a line. */
bool notebook_begins_cell(struct span text)
{
    return text.len >= strlen(NOTEBOOK_CELL) &&
           memcmp(text.data, NOTEBOOK_CELL, strlen(NOTEBOOK_CELL)) == 0;
}

/* Takes the rest of the cell, with its last end of line. */
static struct span take_cell(struct span *rest)
{
    struct span body = {rest->data, 0};

    while (rest->len && !notebook_begins_cell(*rest)) {
        (void)notebook_take_line(rest);
        body.len = (size_t)(rest->data - body.data);
    }
    return body;
}

/* `%%timeit setup`: the rest of the cell becomes a function, one space further in. Lines within
 * texts stay as they are. */
static int add_measured_cell(struct text *t, const char *kind, struct span rest, struct span *code)
{
    struct span options = take_options(&rest, strcmp(kind, "timeit") == 0 ? "nrp" : "lsTD");
    struct span body = take_cell(code);
    struct notebook_state s = {0};

    if (!notebook_trim(body).len)
        return -1;
    if (rest.len && !is_python(rest, Py_file_input))
        return -1;
    text_add(t, rest.data, rest.len);
    text_add_str(t, rest.len ? NOTEBOOK_EXTRA_LINE : "");
    text_add_str(t, "def _measured():\n");
    while (body.len) {
        struct span line = notebook_take_line(&body);

        text_add_str(t, s.quote || !notebook_trim(line).len ? "" : " ");
        notebook_scan_line(&s, line);
        text_add(t, line.data, line.len);
        text_add_str(t, body.len ? "\n" : NOTEBOOK_EXTRA_LINE);
    }
    begin_measure(t, kind, options);
    text_add_str(t, "_measured))");
    return 0;
}

static void add_file(struct text *t, struct span rest, struct span body)
{
    bool appends = rest.len > 3 && memcmp(rest.data, "-a ", 3) == 0;
    struct span path = notebook_trim(notebook_after(rest, appends ? 3 : 0));

    if (path.len > 1 && strchr("'\"", path.data[0]) && path.data[path.len - 1] == path.data[0])
        path = (struct span){path.data + 1, path.len - 2};
    text_add_str(t, "_notebook('write', (");
    notebook_add_command(t, path);
    text_add_str(t, appends ? ", True, open(" : ", False, open(");
    notebook_add_command(t, path);
    text_add_str(t, ", 'a'), ");
    text_add_literal(t, body);
    /* As in a notebook, a file ends with the end of a line: `-a` goes on with the next. */
    text_add_str(t, body.len && body.data[body.len - 1] != '\n' ? " '\\n'))" : "))");
}

static int add_form(struct text *t, struct span name, struct span body)
{
    size_t i = 0;

    while (i < COUNT(forms) &&
           (name.len != strlen(forms[i][0]) || strncasecmp(name.data, forms[i][0], name.len) != 0))
        i++;
    if (i == COUNT(forms))
        return -1;
    text_add_str(t, "display({'");
    text_add_str(t, forms[i][1]);
    text_add_str(t, "': ");
    text_add_literal(t, body);
    text_add_str(t, "}, raw=True)");
    return 0;
}

static void add_text_call(struct text *t, const char *kind, struct span body)
{
    text_add_str(t, "_notebook('");
    text_add_str(t, kind);
    text_add_str(t, "', ");
    text_add_literal(t, body);
    text_add_str(t, ")");
}

int notebook_add_cell(struct text *t, struct span line, struct span *code)
{
    static const char *const others[] = {"python", "python3", "perl", "ruby", "node", NULL};
    static const char *const with_lines[] = {"!", "sx", "system", NULL};
    size_t n = line.len && line.data[0] == '!' ? 1 : notebook_name_length(line);
    struct span name = {line.data, n}, rest = notebook_trim(notebook_after(line, n)), body;

    if (span_is(name, "capture")) {
        add_text_call(t, "capture", rest);
        return 0;
    }
    if (span_is(name, "time") || one_of(name, harmless)) {
        text_add_str(t, span_is(name, "time") ? "_notebook('time')" : "pass");
        return 0;
    }
    if (span_is(name, "timeit") || span_is(name, "prun"))
        return add_measured_cell(t, name.data[0] == 't' ? "timeit" : "prun", rest, code);
    body = take_cell(code);
    if (is_defined("cell_magics", name)) {
        add_own_magic(t, "run_cell_magic", name, rest);
        text_add_str(t, ", ");
        text_add_literal(t, body);
        text_add_str(t, body.len && body.data[body.len - 1] != '\n' ? " '\\n')" : ")");
    } else if (span_is(name, "debug")) {
        add_text_call(t, "debug", body);
    } else if (one_of(name, with_lines)) {
        add_text_call(t, "lines", body);
    } else if ((one_of(name, shells) && !rest.len && !span_is(name, "sh")) ||
               (span_is(name, "script") && span_is(rest, "bash"))) {
        add_text_call(t, "script", body);
    } else if (span_is(name, "script") && rest.len) {
        if (notebook_add_script(t, span_of(""), rest, body) < 0)
            return -1;
    } else if (one_of(name, shells) || one_of(name, others)) {
        if (notebook_add_script(t, span_is(name, "python") ? span_of("python3") : name, rest,
                                body) < 0)
            return -1;
    } else if (span_is(name, "complete")) { /* a prompt asks how a text may go on */
        add_text_call(t, "complete", body);
    } else if ((span_is(name, "writefile") || span_is(name, "file")) && rest.len) {
        add_file(t, rest, body);
    } else if (add_form(t, name, body) < 0) {
        return -1;
    }
    add_blank_lines(t, body);
    return 0;
}
