#include "zygote/warm_python.h"

#include <Python.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/call.h"
#include "guest/display.h"
#include "guest/exit_hooks.h"
#include "guest/interpreter.h"
#include "guest/library.h"
#include "guest/masking.h"
#include "guest/policy/policy.h"
#include "guest/python.h"
#include "library/code/module.h"

static int check_status(PyStatus status, struct error *err)
{
    if (!PyStatus_Exception(status))
        return 0;
    error_set(err, E_UNSUPPORTED, "Python does not start: %s",
              status.err_msg ? status.err_msg : "unknown reason");
    return error_hint(err, "check the environment's interpreter with `belljar doctor`");
}

/* Does what `site` does at start-up, without the part that costs as much as the rest of the
 * interpreter: lines of .pth files that run code. Lines that name directories are used. This is
 * only for the system's Python and one program; a virtual environment gets the real `site`. */
static const char quick_site[] =
    "import site, sys\n"
    "from os import listdir\n"
    "from os.path import exists, join\n"
    "for d in site.getsitepackages():\n"
    "    try:\n"
    "        names = listdir(d)\n"
    "    except OSError:\n"
    "        continue\n"
    "    sys.path.append(d)\n"
    "    for name in sorted(n for n in names if n.endswith('.pth')):\n"
    "        try:\n"
    "            with open(join(d, name), encoding='utf-8-sig') as f:\n"
    "                lines = f.read().splitlines()\n"
    "        except (OSError, UnicodeError):\n"
    "            continue\n"
    "        for line in lines:\n"
    "            line = line.rstrip()\n"
    "            if line and not line.startswith(('#', 'import ', 'import\\t')):\n"
    "                line = join(d, line)\n"
    "                if line not in sys.path and exists(line):\n"
    "                    sys.path.append(line)\n"
    "site.ENABLE_USER_SITE = False\n"
    "site.getusersitepackages()\n"
    "site.setquit()\n"
    "site.setcopyright()\n"
    "site.sethelper()\n";

/* As if `site` had been imported by the interpreter: otherwise `multiprocessing` would start
 * interpreters with -S, which find no packages. */
static int clear_no_site(void)
{
    PyObject *flags = PySys_GetObject("flags");
    PyObject *names = NULL, *zero = PyLong_FromLong(0), *name = PyUnicode_FromString("no_site");
    Py_ssize_t at = -1;

    if (flags)
        names = PyObject_GetAttrString((PyObject *)Py_TYPE(flags), "__match_args__");
    if (names && name && PyTuple_Check(names) && PyTuple_GET_SIZE(names) <= Py_SIZE(flags))
        at = PySequence_Index(names, name);
    if (at >= 0 && zero) {
        Py_DECREF(PyStructSequence_GetItem(flags, at));
        PyStructSequence_SetItem(flags, at, Py_NewRef(zero));
    }
    Py_XDECREF(names);
    Py_XDECREF(zero);
    Py_XDECREF(name);
    return at < 0 || !zero ? -1 : 0;
}

static int run_quick_site(struct error *err)
{
    PyObject *globals = PyDict_New();
    PyObject *done = NULL;

    if (globals && PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()) == 0)
        done = PyRun_String(quick_site, Py_file_input, globals, globals);
    Py_XDECREF(globals);
    if (done && clear_no_site() < 0)
        Py_CLEAR(done);
    if (!done) {
        PyErr_Clear();
        return error_set(err, E_INTERNAL, "the module search path cannot be set up");
    }
    Py_DECREF(done);
    return 0;
}

/* A stream asks once, when it is made, whether its descriptor can seek, and /dev/null says yes:
 * then `sys.stdout.reconfigure(encoding=...)` fails on the pipe that a program has. So they are
 * made on a pipe, and the descriptors of before are put back. */
static PyStatus initialise_on_pipe(const PyConfig *config)
{
    int kept[] = {fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3),
                  fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)};
    int ends[2] = {-1, -1};
    PyStatus status;

    if (kept[0] >= 0 && kept[1] >= 0 && pipe2(ends, O_CLOEXEC) == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)dup2(ends[1], STDERR_FILENO);
    }
    status = Py_InitializeFromConfig(config);
    for (int i = 0; i < 2; i++) {
        if (kept[i] >= 0)
            (void)dup2(kept[i], STDOUT_FILENO + i);
        close_fd(&kept[i]);
        close_fd(&ends[i]);
    }
    return status;
}

static int initialise(const char *executable, bool is_quick, bool is_steady, struct error *err)
{
    PyPreConfig pre;
    PyConfig config;
    PyStatus status;

    PyPreConfig_InitIsolatedConfig(&pre);
    pre.isolated = 0;
    pre.use_environment = 1;
    /* As an interpreter that finds LANG=C.UTF-8, which every sandbox has. */
    pre.utf8_mode = setlocale(LC_CTYPE, "C.UTF-8") == NULL;
    if (check_status(Py_PreInitialize(&pre), err) < 0)
        return -1;

    PyConfig_InitIsolatedConfig(&config);
    /* There is nothing in our environment to be isolated from, and interpreters that a program
     * starts with multiprocessing inherit the flags: they are to read the variables that the
     * program sets. */
    config.isolated = 0;
    config.use_environment = 1;
    config.safe_path = 0;
    config.site_import = !is_quick;
    config.use_hash_seed = is_steady; /* 0, the seed that is the same for all */
    config.user_site_directory = 0;
    config.write_bytecode = 0;
    config.buffered_stdio =
        0; /* what was printed before a time limit struck has left the process */
    config.install_signal_handlers = 1;
    config.pathconfig_warnings = 0;
    status = PyConfig_SetBytesString(&config, &config.program_name, executable);
    if (!PyStatus_Exception(status))
        status = PyConfig_SetBytesString(&config, &config.executable, executable);
    if (!PyStatus_Exception(status))
        status = initialise_on_pipe(&config);
    PyConfig_Clear(&config);
    if (check_status(status, err) < 0)
        return -1;
    return is_quick ? run_quick_site(err) : 0;
}

/* The present exception as "Type: message" in a malloc'd string; clears it. */
static char *describe_exception(const char *name)
{
    PyObject *type, *value, *tb, *text;
    char *result = NULL;

    PyErr_Fetch(&type, &value, &tb);
    PyErr_NormalizeException(&type, &value, &tb);
    text = value ? PyObject_Str(value) : NULL;
    if (asprintf(&result, "%s: %s", name, text ? PyUnicode_AsUTF8(text) : "import failed") < 0)
        result = NULL;
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(tb);
    Py_XDECREF(text);
    PyErr_Clear();
    return result;
}

static int preload(const struct wire_strings *names, char **ret_missing, size_t *ret_n,
                   struct error *err)
{
    for (uint32_t i = 0; i < names->count; i++) {
        cleanup_free char *name = span_dup(names->items[i]);
        PyObject *module;

        if (!name)
            return error_set(err, E_PROTOCOL, "bad module name");
        module = PyImport_ImportModule(name);
        if (!module)
            ret_missing[(*ret_n)++] = describe_exception(name);
        Py_XDECREF(module);
    }
    return 0;
}

/* A first plot would spend most of its time on importing pyplot and on looking for fonts. */
static void preload_plots(void)
{
    PyObject *loaded = PyImport_GetModuleDict();

    if (!PyDict_GetItemString(loaded, "matplotlib"))
        return;
    Py_XDECREF(PyImport_ImportModule("_belljar_plots"));
    PyErr_Clear(); /* an old or broken matplotlib: programs that plot will say so */
    if (PyDict_GetItemString(loaded, "_belljar_plots"))
        (void)PyDict_DelItemString(loaded, "_belljar_plots");
}

static int check_helpers(const struct wire_strings *paths, struct error *err)
{
    for (uint32_t i = 0; i < paths->count; i++) {
        cleanup_free char *dir = span_dup(paths->items[i]);

        if (!dir)
            return error_memory(err);
        if (access(dir, R_OK | X_OK) < 0) {
            error_errno(err, "helpers `%s`", dir);
            return error_hint(err,
                              "other users must be able to read it and every directory above it");
        }
    }
    return 0;
}

/* Like `python3 -c`: modules of the program's own directory come first, and there is no script. */
static int set_paths(struct error *err)
{
    PyObject *path = PySys_GetObject("path");
    PyObject *workspace = PyUnicode_FromString("/workspace");
    PyObject *argv = Py_BuildValue("[s]", "");

    if (!path || !workspace || !argv || PyList_Insert(path, 0, workspace) < 0 ||
        PySys_SetObject("argv", argv) < 0) {
        PyErr_Clear();
        return error_set(err, E_INTERNAL, "sys.path cannot be set");
    }
    Py_DECREF(workspace);
    Py_DECREF(argv);
    return 0;
}

int warm_python_start(const struct wire_setup *setup, char **ret_missing, size_t *ret_n_missing,
                      struct error *err)
{
    cleanup_free char *executable = span_dup(setup->python);

    *ret_n_missing = 0;
    if (!executable)
        return error_set(err, E_PROTOCOL, "bad path of the interpreter");
    if (access(executable, X_OK) < 0) { /* Python would go on with the system's packages */
        error_errno(err, "environment `%s`", executable);
        return error_hint(err, "other users must be able to enter every directory above it");
    }
    library_register();
    if (display_register() < 0 || PyImport_AppendInittab("_belljar_code", code_module) < 0 ||
        PyImport_AppendInittab("_belljar_mask", masking_module) < 0 ||
        PyImport_AppendInittab("_belljar_call", call_module) < 0)
        return error_memory(err);
    if (initialise(executable, !setup->warm && setup->binds.count == 0, setup->steady, err) < 0)
        return -1;
    if (policy_allow_modules(&setup->modules) < 0 || policy_set_helpers(&setup->paths) < 0)
        return error_memory(err);
    if (check_helpers(&setup->paths, err) < 0 || interpreter_append_paths(&setup->paths, err) < 0 ||
        interpreter_name_helpers(&setup->paths, err) < 0)
        return -1;
    for (uint32_t i = 0; i < setup->variables.count; i++)
        if (interpreter_set_variable(setup->variables.items[i], err) < 0)
            return -1;
    if (setup->warm && exit_hooks_listen() < 0) {
        PyErr_Clear();
        return error_set(err, E_INTERNAL, "the interpreter has no exit functions");
    }
    if (preload(&setup->preload, ret_missing, ret_n_missing, err) < 0)
        return -1;
    if (setup->warm)
        preload_plots();
    if (python_prepare() < 0 || policy_learn(&setup->policies) < 0) {
        PyErr_Clear();
        return error_set(err, E_INTERNAL, "the interpreter lacks functions the kernel needs");
    }
    return set_paths(err);
}

/* Of one size; a place for each 16 bytes would be 16 MB. */
#define HOLES_MAX 1000000

static int count_threads(void)
{
    struct stat st;

    return stat("/proc/self/task", &st) < 0 ? -1 : (int)st.st_nlink - 2;
}

/* The allocator of small objects takes the first free place in any of its pools, and the imports
 * have left holes in most of them: a child that allocates would write to pages all over. So they
 * are filled, for good, up to the first pool that was empty; what children allocate then lies
 * together. CPython's pools are 16 KiB; were they not, this would only be of less use. */
static void fill_holes(void)
{
    enum { POOL = 16384, CLASS = 16, LARGEST = 512, PLACES_MAX = POOL / CLASS };
    static void *row[PLACES_MAX];

    for (size_t size = CLASS; size <= LARGEST; size += CLASS) {
        size_t whole = (POOL - 3 * CLASS) / size, n = 0;

        /* A pool that was empty gives its places one after the other. */
        for (size_t i = 0; i < HOLES_MAX && n < whole; i++) {
            void *place = PyObject_Malloc(size);

            if (!place)
                return;
            if (n == 0 || (char *)place != (char *)row[n - 1] + size ||
                (uintptr_t)place / POOL != (uintptr_t)row[0] / POOL)
                n = 0;
            row[n++] = place;
        }
        while (n > 0)
            PyObject_Free(row[--n]);
    }
}

/* Fills the holes of the C library's allocator, which looks for the best place among all that are
 * free: they are taken, for good, until there is none but the end of the heap. */
static void fill_heap(void)
{
    enum { LARGEST = 1 << 20, STEP = 16, ROOM = 256 << 10 };
    const char *end = (const char *)sbrk(0) - mallinfo2().keepcost;

    for (size_t size = LARGEST; size >= STEP; size = size > 1024 ? size / 2 : size - STEP) {
        char *place;

        while ((place = malloc(size)) && place < end)
            ;
        free(place);
    }
    /* Room for small programs, which is not given back to Linux either. */
    (void)mallopt(M_TRIM_THRESHOLD, 2 * ROOM);
    free(malloc(ROOM));
}

static void call_gc(PyObject *gc, const char *function)
{
    PyObject *done = gc ? PyObject_CallMethod(gc, function, NULL) : NULL;

    Py_XDECREF(done);
    PyErr_Clear();
}

/* Garbage goes first: its places are holes, too. */
static void settle(void)
{
    /* asyncio for cells that await: an interrupt in the middle of its import, forty ms, would
     * leave half of it behind for good. */
    static const char *const helpers[] = {"traceback", "linecache", "threading", "atexit",
                                          "asyncio"};
    PyObject *gc;

    for (size_t i = 0; i < ARRAY_SIZE(helpers); i++) {
        Py_XDECREF(PyImport_ImportModule(helpers[i]));
        PyErr_Clear();
    }
    display_preload();
    interpreter_touch();
    exit_hooks_prepare();
    gc = PyImport_ImportModule("gc");
    call_gc(gc, "collect");
    fill_holes();
    call_gc(gc, "freeze");
    Py_XDECREF(gc);
    PyErr_Clear();
    /* Free chunks are merged here once; otherwise every child does it at its first large
     * allocation, and writes to pages all over the heap for it. */
    (void)malloc_trim(0);
    fill_heap();
}

int warm_python_freeze(bool warm, struct error *err)
{
    interpreter_find_generators();
    interpreter_tell_libraries();
    if (warm)
        settle();
    if (count_threads() != 1) {
        error_set(err, E_UNSUPPORTED, "a preloaded module has started threads");
        return error_hint(
            err, "leave it out of `preload`: a process with threads cannot be forked safely");
    }
    return 0;
}

const char *warm_python_build(void)
{
    return Py_GetVersion();
}

const char *warm_python_version(void)
{
    static char version[32];

    /* A shared library can be newer than the headers. */
    (void)snprintf(version, sizeof(version), "%.*s", (int)strcspn(Py_GetVersion(), " "),
                   Py_GetVersion());
    return version;
}

const char *warm_python_minor(void)
{
    return Py_STRINGIFY(PY_MAJOR_VERSION) "." Py_STRINGIFY(PY_MINOR_VERSION);
}
