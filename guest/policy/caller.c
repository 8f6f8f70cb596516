/* Finds the caller: is it the program, or a library that does its work?
 *
 * A frame belongs to the library when the file of its code lies where the interpreter found its
 * modules before any program ran (sys.path at policy_prepare()), or is frozen into the interpreter.
 * Everything else is the program: its own file, and whatever is compiled from text at run time
 * ("<string>" and the like). Code objects cannot be given another file from Python without
 * compile() or code.replace(), which the audit hook sees.
 */
#include "base/span.h"
#include "guest/policy/internal.h"
#include "sandbox/places.h"

#include <dirent.h>
#include <limits.h>
#include <opcode.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIXES_MAX 32
#define FRAMES_MAX   64

static char *prefixes[PREFIXES_MAX];
static size_t n_prefixes;
static char *stdlib;

/* Directories that programs write: never library, whatever sys.path says. */
static const char *const writable[] = {"/workspace", "/tmp", "/dev", "/proc", "/var/tmp"};

static bool starts_with_dir(struct span path, const char *dir)
{
    size_t len = strlen(dir);

    return path.len > len && memcmp(path.data, dir, len) == 0 && path.data[len] == '/';
}

static int add_prefix(const char *dir)
{
    struct span path = span_of(dir);

    if (dir[0] != '/' || path.len < 2)
        return 0;
    for (size_t i = 0; i < COUNT_OF(writable); i++)
        if (strcmp(dir, writable[i]) == 0 || starts_with_dir(path, writable[i]))
            return 0;
    if (places_has_home() && (strcmp(dir, PLACES_HOME) == 0 || starts_with_dir(path, PLACES_HOME)))
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

/* The list of the interpreter has the modules of all systems. */
static bool is_of_other_system(struct span name)
{
    static const char *const names[] = {"winreg",  "msvcrt",   "winsound",    "nt",
                                        "_winapi", "_winreg",  "_overlapped", "msilib",
                                        "_msi",    "_scproxy", "_wmi"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (span_is(name, names[i]))
            return true;
    return false;
}

static bool is_in_stdlib(struct span name)
{
    PyObject *known = Py_IsInitialized() ? PySys_GetObject("stdlib_module_names") : NULL;
    PyObject *text = known ? PyUnicode_DecodeUTF8(name.data, (Py_ssize_t)name.len, NULL) : NULL;
    bool found = text && PyAnySet_Check(known) && PySet_Contains(known, text) == 1;

    if (!known)
        return false;
    Py_XDECREF(text);
    PyErr_Clear();
    return found && !is_of_other_system(name);
}

static struct span top_of(struct span module)
{
    const char *dot = memchr(module.data, '.', module.len);

    return (struct span){module.data, dot ? (size_t)(dot - module.data) : module.len};
}

/* "NAME.cpython-311-x86_64-linux-gnu.so" and the like. */
static bool has_native(const char *prefix, struct span name)
{
    DIR *dir = opendir(prefix);
    const struct dirent *entry;
    bool found = false;

    while (dir && !found && (entry = readdir(dir))) {
        struct span file = span_of(entry->d_name);

        found = file.len > name.len && memcmp(file.data, name.data, name.len) == 0 &&
                file.data[name.len] == '.' && span_ends_with(file, ".so");
    }
    if (dir)
        (void)closedir(dir);
    return found;
}

/* Belljar's own modules have no files; `skills` are asked for when one is imported. */
static bool is_built_in(struct span name)
{
    for (const struct _frozen *f = PyImport_FrozenModules; f && f->name; f++)
        if (span_is(name, f->name))
            return true;
    return span_is(name, "skills") || span_is(name, "servers");
}

static bool is_there(struct span name)
{
    /* Without an interpreter nothing is known, and everything may be there. */
    bool exists = !Py_IsInitialized() || is_in_stdlib(name) || is_built_in(name);
    char path[PATH_MAX];

    for (size_t i = 0; i < n_prefixes && !exists; i++) {
        (void)snprintf(path, sizeof(path), "%s/%.*s", prefixes[i], SHOWN(name));
        exists = access(path, F_OK) == 0;
        (void)snprintf(path, sizeof(path), "%s/%.*s.py", prefixes[i], SHOWN(name));
        exists = exists || access(path, F_OK) == 0 || has_native(prefixes[i], name);
    }
    return exists;
}

/* An import of pandas asks 150 times for six names, and each answer takes a list of every directory
 * of the library. Those are read-only here. */
#define KNOWN 32

static struct {
    char name[48];
    bool exists;
} known[KNOWN];
static bool is_any_known;

/* Nothing is written where there is nothing to forget: it would be a page of the child's own. */
void policy_forget_modules(void)
{
    if (!is_any_known)
        return;
    memset(known, 0, sizeof(known));
    is_any_known = false;
}

bool policy_module_exists(struct span module)
{
    struct span name = top_of(module);
    size_t place = 0;

    if (name.len == 0 || name.len >= sizeof(known[0].name) || memchr(name.data, '\0', name.len))
        return is_there(name);
    for (size_t i = 0; i < name.len; i++)
        place = place * 31 + (unsigned char)name.data[i];
    place %= KNOWN;
    if (!span_is(name, known[place].name)) {
        bool exists = is_there(name);

        memcpy(known[place].name, name.data, name.len);
        known[place].name[name.len] = '\0';
        known[place].exists = exists;
        is_any_known = true;
    }
    return known[place].exists;
}

const char *policy_library_directory(size_t index)
{
    return index < n_prefixes ? prefixes[index] : NULL;
}

static bool is_frozen(struct span path)
{
    return path.len > 8 && memcmp(path.data, "<frozen ", 8) == 0;
}

bool policy_is_library_path(struct span path)
{
    if (span_contains(path, "/../"))
        return false;
    for (size_t i = 0; i < n_prefixes; i++)
        if (starts_with_dir(path, prefixes[i]))
            return true;
    return false;
}

/* "…/numpy/linalg/__init__.py" is numpy.linalg, "…/_ctypes.cpython-311-x86_64-linux-gnu.so" is
 * _ctypes. */
int policy_library_name(struct span path, char *name, size_t size)
{
    static const char package[] = "/__init__";
    size_t prefix = 0, len;
    const char *rest, *slash, *dot;

    for (size_t i = 0; i < n_prefixes; i++)
        if (starts_with_dir(path, prefixes[i]) && strlen(prefixes[i]) > prefix)
            prefix = strlen(prefixes[i]);
    if (prefix == 0)
        return -1;
    rest = path.data + prefix + 1;
    len = path.len - prefix - 1;
    slash = memrchr(rest, '/', len);
    dot = memchr(slash ? slash : rest, '.', len - (size_t)(slash ? slash - rest : 0));
    len = dot ? (size_t)(dot - rest) : len;
    if (len > strlen(package) &&
        memcmp(rest + len - strlen(package), package, strlen(package)) == 0)
        len -= strlen(package);
    if (len == 0 || len >= size)
        return -1;
    for (size_t i = 0; i < len; i++)
        name[i] = (char)(rest[i] == '/' ? '.' : rest[i]);
    name[len] = '\0';
    return 0;
}

/* ---- modules of the project ---- */

static char *project;

int policy_set_project(const char *directory)
{
    free(project);
    project = strdup(directory);
    return project ? 0 : -1;
}

bool policy_has_shell(void)
{
    const struct policy *policy = policy_sealed();

    /* A profile with the project's modules has Bash, too. */
    return !policy || (!(policy->flags & POLICY_NO_PROCESSES) &&
                       ((policy->flags & POLICY_PROJECT_ALLOWED) ||
                        policy_module_allowed(policy, span_of("subprocess"))));
}

bool policy_is_project_path(struct span path)
{
    const struct policy *policy = policy_sealed();

    return project && policy && (policy->flags & POLICY_PROJECT_ALLOWED) &&
           starts_with_dir(path, project) && !span_contains(path, "/../");
}

static bool is_in_project(struct span top)
{
    char path[PATH_MAX];

    if (!project || top.len == 0 || memchr(top.data, '/', top.len))
        return false;
    (void)snprintf(path, sizeof(path), "%s/%.*s", project, SHOWN(top));
    if (access(path, R_OK | X_OK) == 0)
        return true;
    (void)snprintf(path, sizeof(path), "%s/%.*s.py", project, SHOWN(top));
    return access(path, R_OK) == 0;
}

bool policy_is_project_module(struct span module)
{
    struct span top = top_of(module);

    return !memchr(module.data, '/', module.len) && !policy_module_exists(top) &&
           is_in_project(top);
}

/* A profile with the project's modules has Bash, too, and nothing judges what that runs. */
const char *policy_last_hint(const struct policy *policy)
{
    return policy->flags & POLICY_PROJECT_ALLOWED
               ? "run it as a script with Bash, where the profile does not judge it"
               : "";
}

const char *policy_unlisted_hint(const struct policy *policy, struct span module)
{
    struct span top = top_of(module);

    if (!policy_module_exists(top))
        return "it is not installed, either; ask the user to add it";
    if (!(policy->flags & POLICY_PROJECT_ALLOWED))
        return "delete the line if nothing needs it; profile `open` has it";
    if (is_in_project(top))
        return "one of that name is installed, and would be imported instead of yours; "
               "run `python3` with Bash, which takes yours";
    return "run `python3` with Bash, where any module can be imported";
}

bool policy_claims_library(struct span path)
{
    return is_frozen(path) || policy_is_library_path(path) || policy_is_project_path(path);
}

bool policy_is_stdlib_path(struct span path)
{
    return stdlib && starts_with_dir(path, stdlib) && !span_contains(path, "/site-packages/") &&
           !span_contains(path, "/dist-packages/");
}

/* ---- the program's own name ---- */

static char program_file[128] = "<code>";

const char *policy_filename(void)
{
    return program_file;
}

static bool is_plain(char c)
{
    return Py_ISALNUM(c) || c == '.' || c == '_' || c == '-' || c == '+';
}

int policy_set_filename(struct span name)
{
    if (name.len == 0 || name.len >= sizeof(program_file))
        return -1;
    for (size_t i = 0; i < name.len; i++)
        if (!is_plain(name.data[i]))
            return -1;
    memcpy(program_file, name.data, name.len);
    program_file[name.len] = '\0';
    return 0;
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

static bool is_stdlib_frame(PyFrameObject *frame)
{
    struct span file = file_of(frame);

    return policy_claims_library(file) && (is_frozen(file) || policy_is_stdlib_path(file));
}

/* The nearest frame that is not of the standard library. New reference or NULL. */
static PyFrameObject *hand_frame(void)
{
    PyFrameObject *frame = nearest_frame();

    while (frame && is_stdlib_frame(frame))
        frame = step_back(frame);
    return frame;
}

bool policy_caller_is_guest(bool skip_stdlib)
{
    PyFrameObject *frame = skip_stdlib ? hand_frame() : nearest_frame();
    PyFrameObject *nearest = nearest_frame();
    bool is_guest = frame     ? !policy_claims_library(file_of(frame))
                    : nearest ? true /* nobody but the standard library */
                              : is_other_thread();

    Py_XDECREF(nearest);
    Py_XDECREF(frame);
    return is_guest;
}

/* ---- helpers ---- */

static char **helpers; /* directories, NULL at the end */

int policy_set_helpers(const struct wire_strings *directories)
{
    helpers = calloc(directories->count + 1, sizeof(*helpers));
    if (!helpers)
        return -1;
    for (uint32_t i = 0; i < directories->count; i++)
        if (!(helpers[i] = span_dup(directories->items[i])))
            return -1;
    return 0;
}

static bool is_helper(struct span file)
{
    if (span_contains(file, "/../"))
        return false;
    for (char **dir = helpers; dir && *dir; dir++)
        if (starts_with_dir(file, *dir))
            return true;
    return false;
}

bool policy_caller_is_helper(void)
{
    PyFrameObject *frame = nearest_frame();
    bool found = false;

    while (frame && !found) {
        struct span file = file_of(frame);

        found = is_helper(file);
        if (!found && !policy_claims_library(file))
            break; /* the program's own hand */
        if (!found)
            frame = step_back(frame);
    }
    Py_XDECREF(frame);
    return found;
}

bool policy_caller_is_absent(void)
{
    PyFrameObject *frame = nearest_frame();
    bool absent = !frame && !is_other_thread();

    Py_XDECREF(frame);
    return absent;
}

static bool frame_is_called(PyFrameObject *frame, const char *name)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    bool is_it = PyUnicode_CompareWithASCIIString(code->co_name, name) == 0;

    Py_DECREF(code);
    return is_it;
}

bool policy_caller_is_importing(void)
{
    PyFrameObject *frame = nearest_frame();
    bool importing = false;

    for (int i = 0; frame && i < FRAMES_MAX && !importing; i++) {
        struct span file = file_of(frame);

        /* Other functions of importlib call what they are given. */
        importing = span_contains(file, "<frozen importlib._bootstrap>") &&
                    frame_is_called(frame, "_find_and_load");
        if (!policy_claims_library(file))
            break;
        frame = step_back(frame);
    }
    Py_XDECREF(frame);
    return importing;
}

bool policy_caller_is_importlib(void)
{
    PyFrameObject *frame = nearest_frame();
    bool is_one = frame && span_contains(file_of(frame), "<frozen importlib.");

    Py_XDECREF(frame);
    return is_one;
}

bool policy_caller_is_module(void)
{
    PyFrameObject *frame = nearest_frame();
    bool is_module = false;

    for (int i = 0; frame && i < FRAMES_MAX && !is_module; i++) {
        if (!policy_claims_library(file_of(frame)))
            break;
        is_module = frame_is_called(frame, "<module>");
        frame = step_back(frame);
    }
    Py_XDECREF(frame);
    return is_module;
}

bool policy_caller_file_is(const char *const *suffixes, size_t count)
{
    PyFrameObject *frame = nearest_frame();
    bool found = false;

    if (frame && policy_is_library_path(file_of(frame)))
        for (size_t i = 0; i < count && !found; i++)
            found = span_ends_with(file_of(frame), suffixes[i]);
    Py_XDECREF(frame);
    return found;
}

/* ---- what a frame says ---- */

static bool is_one_of(PyObject *text, const char *const *names)
{
    for (; PyUnicode_Check(text) && *names; names++)
        if (PyUnicode_CompareWithASCIIString(text, *names) == 0)
            return true;
    return false;
}

/* `for name in ("a", "b")` keeps the names in a tuple among the constants. */
static bool tuple_has(PyObject *tuple, const char *const *names, int depth)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);

        if (is_one_of(item, names) ||
            (depth > 0 && PyTuple_CheckExact(item) && tuple_has(item, names, depth - 1)))
            return true;
    }
    return false;
}

/* The code reads a global or builtin of that name: `exec(...)`, not `self.exec(...)`. */
static bool reads_global(PyFrameObject *frame, const char *const *names)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyObject *bytes = PyCode_GetCode(code);
    Py_ssize_t len = bytes ? PyBytes_GET_SIZE(bytes) : 0;
    unsigned long arg = 0;
    bool found = false;

    PyErr_Clear();
    for (Py_ssize_t i = 0; i + 1 < len && !found; i += 2) {
        const unsigned char *unit = (const unsigned char *)PyBytes_AS_STRING(bytes) + i;
        Py_ssize_t index;

        arg = (arg << 8) | unit[1];
        if (unit[0] == EXTENDED_ARG)
            continue;
        /* The lowest bit of LOAD_GLOBAL tells how it is called. */
        index = (Py_ssize_t)(unit[0] == LOAD_GLOBAL ? arg >> 1 : arg);
        arg = 0;
        found = (unit[0] == LOAD_GLOBAL || unit[0] == LOAD_NAME) &&
                index < PyTuple_GET_SIZE(code->co_names) &&
                is_one_of(PyTuple_GET_ITEM(code->co_names, index), names);
    }
    Py_XDECREF(bytes);
    Py_DECREF(code);
    return found;
}

static bool code_says(PyFrameObject *frame, const char *const *names)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    bool says = tuple_has(code->co_names, names, 0) || tuple_has(code->co_consts, names, 2);

    Py_DECREF(code);
    return says;
}

/* importlib calls compile() and exec() by way of a function that hides frames. */
static PyFrameObject *skip_import_trampoline(PyFrameObject *frame)
{
    if (!frame || !span_contains(file_of(frame), "<frozen importlib._bootstrap>") ||
        !frame_is_called(frame, "_call_with_frames_removed"))
        return frame;
    frame = step_back(frame);
    if (frame && is_frozen(file_of(frame)))
        return frame;
    Py_XDECREF(frame);
    return NULL;
}

bool policy_caller_says(const char *const *names, enum policy_said how)
{
    PyFrameObject *frame = nearest_frame();
    bool says;

    if (!frame)
        return !is_other_thread();
    frame = skip_import_trampoline(frame);
    if (!frame)
        return false;
    says = policy_claims_library(file_of(frame)) &&
           (how == SAID_AS_GLOBAL ? reads_global(frame, names) : code_says(frame, names));
    Py_DECREF(frame);
    return says;
}

bool policy_hand_says(const char *const *names)
{
    PyFrameObject *frame = hand_frame();
    bool says = frame && policy_claims_library(file_of(frame)) && code_says(frame, names);

    Py_XDECREF(frame);
    return says;
}

bool policy_hand_has(const char *name)
{
    PyFrameObject *frame = hand_frame();
    PyObject *globals = frame ? PyFrame_GetGlobals(frame) : NULL;
    bool has = globals && policy_claims_library(file_of(frame)) &&
               PyDict_GetItemString(globals, name) != NULL;

    Py_XDECREF(globals);
    Py_XDECREF(frame);
    return has;
}

bool policy_caller_behind_is(const char *suffix, const char *part)
{
    PyFrameObject *frame = nearest_frame();
    bool found;

    while (frame && span_ends_with(file_of(frame), suffix))
        frame = step_back(frame);
    found = frame && span_contains(file_of(frame), part);
    Py_XDECREF(frame);
    return found;
}

bool policy_caller_is_own(const char *stdlib_suffix, const char *module)
{
    PyFrameObject *frame = nearest_frame();
    char name[64];
    bool found;

    while (frame && policy_is_stdlib_path(file_of(frame)) &&
           span_ends_with(file_of(frame), stdlib_suffix))
        frame = step_back(frame);
    (void)snprintf(name, sizeof(name), "<frozen %s>", module);
    found = frame && span_is(file_of(frame), name);
    Py_XDECREF(frame);
    return found;
}
