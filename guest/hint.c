#include "guest/hint.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "guest/name_distance.h"
#include "guest/policy/policy.h"

#define NAME_LEN  NAME_DISTANCE_NAME_MAX
#define NAMES_MAX 2048

/* Names people type without an import, and what they mean by them. */
static const struct {
    const char *name, *module, *alias;
} habits[] = {
    {"np", "numpy", "np"},
    {"pd", "pandas", "pd"},
    {"plt", "matplotlib.pyplot", "plt"},
    {"sns", "seaborn", "sns"},
    {"nx", "networkx", "nx"},
    {"sp", "scipy", "sp"},
    {"sm", "statsmodels.api", "sm"},
    {"asyncio", "asyncio", ""},
    {"base64", "base64", ""},
    {"collections", "collections", ""},
    {"copy", "copy", ""},
    {"csv", "csv", ""},
    {"datetime", "datetime", ""},
    {"functools", "functools", ""},
    {"glob", "glob", ""},
    {"hashlib", "hashlib", ""},
    {"io", "io", ""},
    {"itertools", "itertools", ""},
    {"json", "json", ""},
    {"logging", "logging", ""},
    {"math", "math", ""},
    {"matplotlib", "matplotlib", ""},
    {"networkx", "networkx", ""},
    {"numpy", "numpy", ""},
    {"os", "os", ""},
    {"pandas", "pandas", ""},
    {"pathlib", "pathlib", ""},
    {"random", "random", ""},
    {"re", "re", ""},
    {"requests", "requests", ""},
    {"scipy", "scipy", ""},
    {"shutil", "shutil", ""},
    {"sklearn", "sklearn", ""},
    {"statistics", "statistics", ""},
    {"string", "string", ""},
    {"subprocess", "subprocess", ""},
    {"sympy", "sympy", ""},
    {"sys", "sys", ""},
    {"textwrap", "textwrap", ""},
    {"threading", "threading", ""},
    {"time", "time", ""},
    {"uuid", "uuid", ""},
};

/* Names of packages that are imported by another one. */
static const struct {
    const char *name, *module;
} other_names[] = {
    {"Image", "PIL"},          {"Queue", "queue"},        {"StringIO", "io"},
    {"beautifulsoup4", "bs4"}, {"dateutils", "dateutil"}, {"cPickle", "pickle"},
    {"cStringIO", "io"},       {"opencv", "cv2"},         {"orjson", "json"},
    {"pillow", "PIL"},         {"pyyaml", "yaml"},        {"scikit_learn", "sklearn"},
    {"simplejson", "json"},    {"sk_learn", "sklearn"},   {"tomli", "tomllib"},
    {"ujson", "json"},         {"urllib2", "urllib"},     {"python_docx", "docx"},
};

/* Modules worth naming when one is missing; only installed ones are named. */
static const char *const worth_naming[] = {
    "numpy",  "pandas",      "scipy", "sklearn",  "matplotlib", "seaborn",
    "plotly", "statsmodels", "sympy", "networkx", "PIL",        "openpyxl",
    "lxml",   "bs4",         "yaml",  "requests", "tqdm",       "polars",
};

/* ---- what is there ---- */

struct modules {
    char names[NAMES_MAX][NAME_LEN + 1];
    size_t count;
};

static void add(struct modules *modules, const char *name, size_t len)
{
    if (len == 0 || len > NAME_LEN || modules->count == NAMES_MAX || name[0] == '_' ||
        isdigit((unsigned char)name[0]))
        return;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_')
            return;
    if (!policy_may_import((struct span){name, len}))
        return;
    memcpy(modules->names[modules->count], name, len);
    modules->names[modules->count++][len] = '\0';
}

/* "x/", "x.py" and "x.cpython-311-x86_64-linux-gnu.so" are modules called x. */
static void add_directory(struct modules *modules, const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        const char *dot = strchr(entry->d_name, '.');
        const char *suffix = strrchr(entry->d_name, '.');

        if (!dot)
            add(modules, entry->d_name, strlen(entry->d_name));
        else if (strcmp(suffix, ".so") == 0 || strcmp(dot, ".py") == 0)
            add(modules, entry->d_name, (size_t)(dot - entry->d_name));
    }
    if (dir)
        (void)closedir(dir);
}

static struct modules *find_modules(void)
{
    struct modules *modules = PyMem_RawCalloc(1, sizeof(*modules));
    PyObject *known = PySys_GetObject("stdlib_module_names");
    PyObject *iterator = known ? PyObject_GetIter(known) : NULL, *name;
    const char *path;

    if (!modules)
        return NULL;
    for (size_t i = 0; (path = policy_library_directory(i)); i++)
        add_directory(modules, path);
    while (iterator && (name = PyIter_Next(iterator))) { /* those without a file are there, too */
        const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;

        if (text)
            add(modules, text, strlen(text));
        Py_DECREF(name);
    }
    Py_XDECREF(iterator);
    PyErr_Clear();
    return modules;
}

static bool is_there(const struct modules *modules, const char *name)
{
    size_t len = strcspn(name, "."); /* "matplotlib.pyplot" is there when matplotlib is */

    for (size_t i = 0; i < modules->count; i++)
        if (strlen(modules->names[i]) == len && memcmp(modules->names[i], name, len) == 0)
            return true;
    return false;
}

/* ---- the nearest ---- */

static void find_nearest(const struct modules *modules, const char *name, char *ret_nearest)
{
    size_t best = name_distance_tolerance(strlen(name)) + 1;

    for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++)
        if (strcmp(other_names[i].name, name) == 0 && is_there(modules, other_names[i].module)) {
            (void)snprintf(ret_nearest, NAME_LEN + 1, "%s", other_names[i].module);
            return;
        }
    for (size_t i = 0; i < modules->count; i++) {
        size_t d = name_distance(name, strlen(name), modules->names[i], strlen(modules->names[i]));

        if (d < best) {
            best = d;
            (void)snprintf(ret_nearest, NAME_LEN + 1, "%s", modules->names[i]);
        }
    }
}

/* ---- exceptions ---- */

static void on_missing_module(const char *name, const struct modules *modules, struct hint *hint)
{
    if (strchr(name, '.')) /* a part of a package that is there */
        return;
    find_nearest(modules, name, hint->nearest);
    hint->advice = WIRE_ADVICE_MODULE;
    hint->names.items[hint->names.count++] = span_of(hint->nearest);
    for (size_t i = 0; i < sizeof(worth_naming) / sizeof(worth_naming[0]); i++)
        if (is_there(modules, worth_naming[i]))
            hint->names.items[hint->names.count++] = span_of(worth_naming[i]);
}

static void on_unknown_name(const char *name, const struct modules *modules, struct hint *hint)
{
    for (size_t i = 0; i < sizeof(habits) / sizeof(habits[0]); i++) {
        if (strcmp(habits[i].name, name) != 0 || !is_there(modules, habits[i].module) ||
            !policy_may_say_import(span_of(habits[i].module)))
            continue;
        hint->advice = WIRE_ADVICE_IMPORT;
        hint->names.items[hint->names.count++] = span_of(habits[i].module);
        hint->names.items[hint->names.count++] = span_of(habits[i].alias);
        return;
    }
}

/* "%time x", "!ls", "files = !ls" and "df?". */
static bool is_of_notebook(const char *line)
{
    const char *begin = line + strspn(line, " \t"), *value = strchr(line, '=');
    size_t len = strlen(line);

    while (len && isspace((unsigned char)line[len - 1]))
        len--;
    value = value ? value + 1 + strspn(value + 1, " \t") : "";
    return (*begin && strchr("%!", *begin)) || (*value && strchr("%!", *value)) ||
           (len && line[len - 1] == '?');
}

/* ---- versions ---- */

static void say_version(struct hint *hint, const char *name, const char *version)
{
    (void)snprintf(hint->nearest, sizeof(hint->nearest), "%s", name);
    (void)snprintf(hint->version, sizeof(hint->version), "%s", version);
    hint->advice = WIRE_ADVICE_VERSION;
    hint->names.items[hint->names.count++] = span_of(hint->nearest);
    hint->names.items[hint->names.count++] = span_of(hint->version);
}

static void say_python(struct hint *hint)
{
    char version[16];

    (void)snprintf(version, sizeof(version), "%d.%d", PY_MAJOR_VERSION, PY_MINOR_VERSION);
    say_version(hint, "Python", version);
}

/* "pandas" of "pandas.core.frame", if it is one of the libraries that people know by version; a
 * module of the standard library has Python's. */
static void say_version_of(struct hint *hint, const char *module, bool or_python)
{
    PyObject *names = PySys_GetObject("stdlib_module_names"), *top, *found, *version;
    size_t len = strcspn(module, ".");

    top = PyUnicode_FromStringAndSize(module, (Py_ssize_t)len);
    found = top ? PyDict_GetItem(PyImport_GetModuleDict(), top) : NULL;
    version = found && PyModule_Check(found)
                  ? PyDict_GetItemString(PyModule_GetDict(found), "__version__")
                  : NULL;
    for (size_t i = 0; i < sizeof(worth_naming) / sizeof(worth_naming[0]); i++)
        if (strlen(worth_naming[i]) == len && memcmp(worth_naming[i], module, len) == 0 &&
            version && PyUnicode_CheckExact(version) && PyUnicode_AsUTF8(version))
            say_version(hint, worth_naming[i], PyUnicode_AsUTF8(version));
    if (!hint->advice && or_python && top && names && PySequence_Contains(names, top) == 1)
        say_python(hint);
    Py_XDECREF(top);
}

static const char *attribute_text(PyObject *of, const char *name, PyObject **ret_kept)
{
    *ret_kept = PyObject_GetAttrString(of, name);
    PyErr_Clear();
    return *ret_kept && PyUnicode_CheckExact(*ret_kept) ? PyUnicode_AsUTF8(*ret_kept) : NULL;
}

/* `np.trapezoid`, and `df.map` of a DataFrame. Only objects of modules are looked at: what is in
 * the program's own is its business. */
static void on_no_attribute(PyObject *exception, struct hint *hint)
{
    PyObject *of = PyObject_GetAttrString(exception, "obj"), *kept = NULL;
    const char *module = NULL;

    if (of && PyModule_Check(of))
        module = PyModule_GetName(of);
    else if (of && !PyType_HasFeature(Py_TYPE(of), Py_TPFLAGS_HEAPTYPE))
        module = NULL; /* a number or a text: the name is wrong in every version */
    else if (of)
        module = attribute_text((PyObject *)Py_TYPE(of), "__module__", &kept);
    if (module && strcmp(module, "__main__") != 0)
        say_version_of(hint, module, PyModule_Check(of));
    Py_XDECREF(kept);
    Py_XDECREF(of);
    PyErr_Clear();
}

/* `from itertools import batched`. */
static void on_no_name(PyObject *exception, struct hint *hint)
{
    PyObject *kept = NULL;
    const char *module = attribute_text(exception, "name", &kept);

    if (module)
        say_version_of(hint, module, true);
    Py_XDECREF(kept);
    PyErr_Clear();
}

/* Names of frequencies changed between versions of pandas. */
static void on_bad_value(PyObject *exception, struct hint *hint)
{
    PyObject *said = PyObject_Str(exception);
    const char *text = said ? PyUnicode_AsUTF8(said) : NULL;

    if (text && strncmp(text, "Invalid frequency", strlen("Invalid frequency")) == 0)
        say_version_of(hint, "pandas", false);
    Py_XDECREF(said);
    PyErr_Clear();
}

/* `type X = int`, `class A[T]:`, `def f[T](x)` and quotes within an f-string came with 3.12. */
static bool is_newer_syntax(const char *line, const char *message)
{
    size_t n;

    line += strspn(line, " \t");
    if (strncmp(message, "f-string", 8) == 0)
        return true;
    if (strncmp(line, "type ", 5) == 0)
        return strchr(line, '=') != NULL;
    if (strncmp(line, "class ", 6) != 0 && strncmp(line, "def ", 4) != 0)
        return false;
    n = strcspn(line, " ") + 1;
    while (isalnum((unsigned char)line[n]) || line[n] == '_')
        n++;
    return line[n] == '[';
}

/* A line that begins as no line of Python does, or of a later one. */
static void on_bad_syntax(PyObject *exception, struct hint *hint)
{
    PyObject *line, *message;
    const char *text = attribute_text(exception, "text", &line);
    const char *said = attribute_text(exception, "msg", &message);

    if (text && is_of_notebook(text))
        hint->advice = WIRE_ADVICE_MAGIC;
    else if (text && said && PY_MINOR_VERSION < 12 && is_newer_syntax(text, said))
        say_python(hint);
    Py_XDECREF(line);
    Py_XDECREF(message);
    PyErr_Clear();
}

void hint_find(PyObject *exception, struct hint *ret_hint)
{
    bool is_module = PyErr_GivenExceptionMatches(exception, PyExc_ModuleNotFoundError);
    bool is_name = PyErr_GivenExceptionMatches(exception, PyExc_NameError);
    struct modules *modules = NULL;
    PyObject *name;
    const char *text;

    *ret_hint = (struct hint){0};
    if (PyErr_GivenExceptionMatches(exception, PyExc_SyntaxError))
        on_bad_syntax(exception, ret_hint);
    else if (Py_IS_TYPE(exception, (PyTypeObject *)PyExc_AttributeError))
        on_no_attribute(exception, ret_hint);
    else if (Py_IS_TYPE(exception, (PyTypeObject *)PyExc_ImportError))
        on_no_name(exception, ret_hint);
    else if (Py_IS_TYPE(exception, (PyTypeObject *)PyExc_ValueError))
        on_bad_value(exception, ret_hint);
    if (!is_module && !is_name)
        return;
    name = PyObject_GetAttrString(exception, "name");
    text = name && PyUnicode_CheckExact(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (text && *text && strlen(text) <= NAME_LEN)
        modules = find_modules();
    if (modules && is_module)
        on_missing_module(text, modules, ret_hint);
    else if (modules)
        on_unknown_name(text, modules, ret_hint);
    PyMem_RawFree(modules);
    Py_XDECREF(name);
    PyErr_Clear();
}
