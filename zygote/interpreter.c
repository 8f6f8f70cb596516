#include "zygote/interpreter.h"

#include <Python.h>
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "guest/python.h"

static int check_status(PyStatus status, struct error *err)
{
    if (!PyStatus_Exception(status))
        return 0;
    error_set(err, E_UNSUPPORTED, "Python does not start: %s",
              status.err_msg ? status.err_msg : "unknown reason");
    return error_hint(err, "check the environment's interpreter with `belljar doctor`");
}

static int initialise(const char *executable, struct error *err)
{
    PyPreConfig pre;
    PyConfig config;
    PyStatus status;

    PyPreConfig_InitIsolatedConfig(&pre);
    pre.utf8_mode = 1;
    if (check_status(Py_PreInitialize(&pre), err) < 0)
        return -1;

    PyConfig_InitIsolatedConfig(&config);
    config.site_import = 1;
    config.user_site_directory = 0;
    config.write_bytecode = 0;
    config.buffered_stdio = 0; /* what was printed before a time limit struck has left the process */
    config.install_signal_handlers = 1;
    config.pathconfig_warnings = 0;
    status = PyConfig_SetBytesString(&config, &config.program_name, executable);
    if (!PyStatus_Exception(status))
        status = PyConfig_SetBytesString(&config, &config.executable, executable);
    if (!PyStatus_Exception(status))
        status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    return check_status(status, err);
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

int interpreter_start(const struct wire_setup *setup, char **ret_missing, size_t *ret_n_missing,
                      struct error *err)
{
    cleanup_free char *executable = span_dup(setup->python);

    *ret_n_missing = 0;
    if (!executable)
        return error_set(err, E_PROTOCOL, "bad path of the interpreter");
    if (initialise(executable, err) < 0)
        return -1;
    if (preload(&setup->preload, ret_missing, ret_n_missing, err) < 0)
        return -1;
    if (python_prepare() < 0) {
        PyErr_Clear();
        return error_set(err, E_INTERNAL, "the interpreter lacks what the kernel needs");
    }
    return set_paths(err);
}

/* Lines that most programs have in common with each other: what they touch is touched in advance. They leave no name behind. */
static const char warm_up[] =
    "def _belljar_warm_up():\n"
    "    import sys\n"
    "    m = sys.modules\n"
    "    print('', end='', file=sys.stdout)\n"
    "    if 'pandas' in m:\n"
    "        pd = m['pandas']\n"
    "        f = pd.DataFrame({'a': [1, 2, 3]})\n"
    "        str(f.sum().a), repr(f.describe()), f.to_string()\n"
    "    elif 'numpy' in m:\n"
    "        str(m['numpy'].arange(3).sum())\n"
    "    [i * i for i in range(200)], {str(i): i for i in range(200)}\n"
    "_belljar_warm_up()\n"
    "del _belljar_warm_up\n";

void interpreter_touch(void)
{
    PyObject *globals = PyDict_New();
    PyObject *result = NULL;

    if (globals && PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()) == 0)
        result = PyRun_String(warm_up, Py_file_input, globals, globals);
    if (!result)
        PyErr_Clear(); /* it is only a warm-up */
    Py_XDECREF(result);
    Py_XDECREF(globals);
}

/* Looked up once: asking the dynamic linker in every child would write to the records of every library. */
static PyObject *numpy_seed;
static int (*crypto_reseed)(void);

static void find_generators(void)
{
    PyObject *numpy_random = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy.random");
    void *crypto = dlopen("libcrypto.so.3", RTLD_LAZY | RTLD_NOLOAD);

    if (numpy_random)
        numpy_seed = PyObject_GetAttrString(numpy_random, "seed");
    if (crypto)
        crypto_reseed = (int (*)(void))dlsym(crypto, "RAND_poll");
    if (crypto_reseed)
        (void)crypto_reseed(); /* the first call sets the whole library up, which children need not repeat */
    PyErr_Clear();
}

static int count_threads(void)
{
    struct stat st;

    return stat("/proc/self/task", &st) < 0 ? -1 : (int)st.st_nlink - 2;
}

int interpreter_freeze(bool warm, struct error *err)
{
    find_generators();
    if (warm) {
        static const char *const helpers[] = {"traceback", "linecache", "threading", "atexit"};
        PyObject *gc, *done = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(helpers); i++) {
            Py_XDECREF(PyImport_ImportModule(helpers[i]));
            PyErr_Clear();
        }
        interpreter_touch();
        gc = PyImport_ImportModule("gc");
        if (gc)
            done = PyObject_CallMethod(gc, "collect", NULL);
        Py_XDECREF(done);
        done = gc ? PyObject_CallMethod(gc, "freeze", NULL) : NULL;
        Py_XDECREF(done);
        Py_XDECREF(gc);
        PyErr_Clear();
        /* Free chunks are merged here once; otherwise every child does it at its first large allocation, and writes to
         * pages all over the heap for it. */
        (void)malloc_trim(0);
    }
    if (count_threads() != 1) {
        error_set(err, E_UNSUPPORTED, "a preloaded module has started threads");
        return error_hint(err, "leave it out of `preload`: a process with threads cannot be forked safely");
    }
    PyOS_BeforeFork();
    return 0;
}

/* numpy's global generator was seeded when it was imported, once for all children. */
static void reseed_numpy(void)
{
    uint32_t words[4];
    PyObject *done;

    if (!numpy_seed || getrandom(words, sizeof(words), 0) != (ssize_t)sizeof(words))
        return;
    done = PyObject_CallFunction(numpy_seed, "([kkkk])", (unsigned long)words[0], (unsigned long)words[1],
                                 (unsigned long)words[2], (unsigned long)words[3]);
    Py_XDECREF(done);
    PyErr_Clear();
}

void interpreter_wake(void)
{
    PyOS_AfterFork_Child(); /* also reseeds `random`, which registers itself for that */
    reseed_numpy();
    if (crypto_reseed)
        (void)crypto_reseed();
}

const char *interpreter_version(void)
{
    return PY_VERSION;
}
