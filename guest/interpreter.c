#include "guest/interpreter.h"

#include <Python.h>
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/main_module.h"
#include "guest/policy/policy.h"
#include "guest/python.h"
#include "guest/versions.h"
#include "sandbox/places.h"

/* Lines that most programs have in common with each other: what they touch is touched in advance.
 * They leave no name behind. */
static const char warm_up[] = "def _belljar_warm_up():\n"
                              "    import sys\n"
                              "    m = sys.modules\n"
                              "    print('', end='', file=sys.stdout)\n"
                              "    if 'pandas' in m:\n"
                              "        pd = m['pandas']\n"
                              "        str(pd.DataFrame({'a': [1, 2, 3]}).sum().a)\n"
                              "    elif 'numpy' in m:\n"
                              "        str(m['numpy'].arange(3).sum())\n"
                              "    [i * i for i in range(200)], {str(i): i for i in range(200)}\n"
                              "_belljar_warm_up()\n"
                              "del _belljar_warm_up\n";

/* Last: they stand in for nothing that is there. */
int interpreter_append_paths(const struct wire_strings *paths, struct error *err)
{
    PyObject *path = PySys_GetObject("path");

    for (uint32_t i = 0; i < paths->count; i++) {
        PyObject *item =
            PyUnicode_DecodeFSDefaultAndSize(paths->items[i].data, (Py_ssize_t)paths->items[i].len);
        int r = path && item ? PyList_Append(path, item) : -1;

        Py_XDECREF(item);
        if (r < 0) {
            PyErr_Clear();
            return error_set(err, E_INTERNAL, "sys.path cannot be set");
        }
    }
    return 0;
}

/* api._discover lists what is there. */
int interpreter_name_helpers(const struct wire_strings *paths, struct error *err)
{
    PyObject *list = PyList_New(0);
    int r = list ? 0 : -1;

    for (uint32_t i = 0; r == 0 && i < paths->count; i++) {
        PyObject *item =
            PyUnicode_DecodeFSDefaultAndSize(paths->items[i].data, (Py_ssize_t)paths->items[i].len);

        r = item ? PyList_Append(list, item) : -1;
        Py_XDECREF(item);
    }
    if (r == 0)
        r = PySys_SetObject("_belljar_helpers", list);
    Py_XDECREF(list);
    if (r == 0)
        return 0;
    PyErr_Clear();
    return error_set(err, E_INTERNAL, "the helpers cannot be named");
}

void interpreter_touch(void)
{
    PyObject *globals = PyDict_New();
    PyObject *result = NULL;

    python_rehearse();
    if (globals && PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()) == 0)
        result = PyRun_String(warm_up, Py_file_input, globals, globals);
    if (!result)
        PyErr_Clear(); /* it is only a warm-up */
    Py_XDECREF(result);
    Py_XDECREF(globals);
}

/* Generators of random numbers that the zygote has in memory, and how a child gives them seeds of
 * its own. All is looked up once: asking Python or the dynamic linker in every child would write to
 * pages all over the heap. */
static struct {
    PyObject *random;      /* random._inst */
    PyObject *random_seed; /* _random.Random.seed */
    PyObject *numpy_seed;  /* numpy.random.seed */
    struct mt19937 *numpy; /* numpy's global state itself, when it is what we know */
    int (*crypto)(void);   /* RAND_poll */
    pid_t pid;             /* who called it */
} generators;

/* numpy's MT19937, of which bitgen_t (its public C interface) gives the address. */
struct mt19937 {
    uint32_t key[624];
    int pos;
};

static PyObject *attribute_path(PyObject *object, const char *const *names)
{
    Py_XINCREF(object);
    for (; object && *names; names++) {
        PyObject *next = PyObject_GetAttrString(object, *names);

        Py_DECREF(object);
        object = next;
    }
    PyErr_Clear();
    return object;
}

/* Only if what lies there is what numpy says its state is. */
static struct mt19937 *find_numpy_state(PyObject *numpy_random)
{
    static const char *const to_generator[] = {"mtrand", "_rand", "_bit_generator", NULL};
    PyObject *generator = attribute_path(numpy_random, to_generator);
    PyObject *capsule = generator ? PyObject_GetAttrString(generator, "capsule") : NULL;
    void **bitgen = capsule ? PyCapsule_GetPointer(capsule, "BitGenerator") : NULL;
    struct mt19937 *state = bitgen ? bitgen[0] : NULL;
    PyObject *dict = generator ? PyObject_GetAttrString(generator, "state") : NULL;
    PyObject *inner = dict && PyDict_Check(dict) ? PyDict_GetItemString(dict, "state") : NULL;
    PyObject *key = inner && PyDict_Check(inner) ? PyDict_GetItemString(inner, "key") : NULL;
    Py_buffer view;

    if (!key || PyObject_GetBuffer(key, &view, PyBUF_SIMPLE) < 0) {
        state = NULL;
    } else {
        if (!state || view.len != sizeof(state->key) ||
            memcmp(view.buf, state->key, sizeof(state->key)) != 0)
            state = NULL;
        PyBuffer_Release(&view);
    }
    Py_XDECREF(dict);
    Py_XDECREF(capsule);
    Py_XDECREF(generator);
    PyErr_Clear();
    return state;
}

void interpreter_tell_libraries(void)
{
    PyObject *context =
        PyDict_GetItemString(PyImport_GetModuleDict(), "joblib.externals.loky.backend.context");
    PyObject *cores = context ? PyLong_FromLong(sysconf(_SC_NPROCESSORS_ONLN)) : NULL;

    if (cores && PyObject_HasAttrString(context, "physical_cores_cache"))
        (void)PyObject_SetAttrString(context, "physical_cores_cache", cores);
    Py_XDECREF(cores);
    PyErr_Clear();
}

void interpreter_find_generators(void)
{
    static const char *const to_seed[] = {"Random", "seed", NULL};
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *random = PyDict_GetItemString(modules, "random");
    PyObject *core = PyDict_GetItemString(modules, "_random");
    PyObject *numpy_random = PyDict_GetItemString(modules, "numpy.random");
    void *crypto = dlopen("libcrypto.so.3", RTLD_LAZY | RTLD_NOLOAD);

    if (random && core) {
        generators.random = PyObject_GetAttrString(random, "_inst");
        generators.random_seed = attribute_path(core, to_seed);
    }
    if (numpy_random) {
        generators.numpy_seed = PyObject_GetAttrString(numpy_random, "seed");
        generators.numpy = find_numpy_state(numpy_random);
    }
    if (crypto)
        generators.crypto = (int (*)(void))dlsym(crypto, "RAND_poll");
    generators.pid = getpid();
    if (generators.crypto)
        (void)generators.crypto(); /* the first call sets the whole library up, which children need
                                      not repeat */
    PyErr_Clear();
}

static void reseed_random(void)
{
    uint8_t bytes[32];
    PyObject *seed, *done = NULL;

    if (!generators.random || !generators.random_seed ||
        getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return;
    seed = number_from_bytes(bytes, sizeof(bytes));
    if (seed)
        done = PyObject_CallFunctionObjArgs(generators.random_seed, generators.random, seed, NULL);
    Py_XDECREF(done);
    Py_XDECREF(seed);
    PyErr_Clear();
}

static void reseed_numpy(void)
{
    uint32_t words[624];
    PyObject *done;

    if (!generators.numpy_seed || getrandom(words, sizeof(words), 0) != (ssize_t)sizeof(words))
        return;
    if (generators.numpy) {
        memcpy(generators.numpy->key, words, sizeof(words));
        generators.numpy->key[0] |= 1; /* any state but all zeros is a good one */
        generators.numpy->pos = 624;
        return;
    }
    done = PyObject_CallFunction(generators.numpy_seed, "([kkkk])", (unsigned long)words[0],
                                 (unsigned long)words[1], (unsigned long)words[2],
                                 (unsigned long)words[3]);
    Py_XDECREF(done);
    PyErr_Clear();
}

/* Not PyOS_AfterFork_Child(): it exists for locks that other threads held at the moment of the
 * fork, and this process never had another thread. What its hooks do beyond that is to reseed
 * `random`. */
void interpreter_wake(void)
{
    reseed_random();
    reseed_numpy();
    /* OpenSSL knows a fork by the pid and takes a new seed when it is next asked. Every kernel's
     * differs from the zygote's, which is 1. */
    if (generators.crypto && getpid() == generators.pid)
        (void)generators.crypto();
}

/* The program may have imported generators that the zygote had not. */
void interpreter_wake_copy(void)
{
    if (!generators.random || !generators.numpy_seed)
        interpreter_find_generators();
    interpreter_wake();
}

int interpreter_set_variable(struct span variable, struct error *err)
{
    const char *equals = memchr(variable.data, '=', variable.len);
    PyObject *os, *variables, *name, *value;
    int r;

    if (!equals || equals == variable.data)
        return error_set(err, E_PROTOCOL, "bad variable");
    os = PyImport_ImportModule("os");
    variables = os ? PyObject_GetAttrString(os, "environ") : NULL;
    name = PyUnicode_DecodeFSDefaultAndSize(variable.data, equals - variable.data);
    value = PyUnicode_DecodeFSDefaultAndSize(equals + 1, variable.data + variable.len - equals - 1);
    /* Also calls putenv(3). */
    r = variables && name && value ? PyObject_SetItem(variables, name, value) : -1;
    Py_XDECREF(name);
    Py_XDECREF(value);
    Py_XDECREF(variables);
    Py_XDECREF(os);
    if (r == 0)
        return 0;
    PyErr_Clear();
    return error_set(err, E_INVALID, "a variable cannot be set");
}

/* numpy is not in memory yet (see engine/environment.h) and takes its seed from the kernel's random
 * numbers, which are ours. */
void interpreter_seed(uint64_t seed)
{
    PyObject *random = PyImport_ImportModule("random");
    PyObject *done =
        random ? PyObject_CallMethod(random, "seed", "K", (unsigned long long)seed) : NULL;

    Py_XDECREF(done);
    Py_XDECREF(random);
    PyErr_Clear();
}

/* Returns 1 and where code starts, 0 in /workspace. */
static int find_workdir(char here[PATH_MAX], struct error *err)
{
    const char *workspace = places_workspace();
    size_t len = strlen(workspace);

    if (!getcwd(here, PATH_MAX) || strcmp(here, workspace) == 0)
        return 0; /* which is on the path already */
    if ((strncmp(here, workspace, len) != 0 || here[len] != '/') && policy_set_project(here) < 0)
        return error_memory(err);
    return 1;
}

static int set_place(const char *name, const char *place, const char *rest, struct error *err)
{
    char text[PATH_MAX + 32];

    (void)snprintf(text, sizeof(text), "%s=%s%s", name, place, rest);
    return interpreter_set_variable(span_of(text), err);
}

int interpreter_move_home(struct error *err)
{
    PyObject *path = PySys_GetObject("path");
    PyObject *before = PyUnicode_FromString("/workspace");
    PyObject *now = PyUnicode_DecodeFSDefault(places_workspace());
    Py_ssize_t at = path && before && now ? PySequence_Index(path, before) : -1;
    int r = at < 0 ? -1 : PyList_SetItem(path, at, Py_NewRef(now));

    Py_XDECREF(before);
    Py_XDECREF(now);
    if (r < 0) {
        PyErr_Clear();
        return error_set(err, E_INTERNAL, "sys.path cannot be set");
    }
    if (set_place("HOME", places_workspace(), "", err) < 0 ||
        set_place("TMPDIR", places_tmp(), "", err) < 0)
        return -1;
    return set_place("MPLCONFIGDIR", places_tmp(), "/.matplotlib", err);
}

int interpreter_know_project(struct error *err)
{
    char here[PATH_MAX];

    return find_workdir(here, err) < 0 ? -1 : 0;
}

/* Last, as the others: files of a granted directory must not stand in for modules of the library.
 */
int interpreter_add_workdir(struct error *err)
{
    char here[PATH_MAX];
    struct wire_strings where = {.count = 1};
    int r = find_workdir(here, err);

    if (r <= 0)
        return r;
    where.items[0] = span_of(here);
    return interpreter_append_paths(&where, err);
}

/* The index of the directory in which code starts; the end of a list without it. */
static Py_ssize_t place_of_workdir(PyObject *path)
{
    char here[PATH_MAX];
    PyObject *item = find_workdir(here, NULL) > 0 ? PyUnicode_DecodeFSDefault(here) : NULL;
    Py_ssize_t at = item ? PySequence_Index(path, item) : -1;

    Py_XDECREF(item);
    PyErr_Clear();
    return at < 0 ? PyList_Size(path) : at;
}

/* First as in python3, or where files of a granted directory stand in for no other module; in both
 * cases before the directory in which the program starts. */
static int put_path(PyObject *item, bool is_first)
{
    PyObject *path = PySys_GetObject("path");
    int has = path && item ? PySequence_Contains(path, item) : -1;

    if (has < 0)
        return -1;
    if (is_first)
        return PyList_Insert(path, 0, item);
    return has ? 0 : PyList_Insert(path, place_of_workdir(path), item);
}

int interpreter_set_script(struct span path, bool is_first, struct error *err)
{
    const char *slash = memrchr(path.data, '/', path.len);
    size_t len = slash ? (size_t)(slash - path.data) : 0;
    PyObject *file = PyUnicode_DecodeFSDefaultAndSize(path.data, (Py_ssize_t)path.len);
    PyObject *dir =
        PyUnicode_DecodeFSDefaultAndSize(len ? path.data : "/", len ? (Py_ssize_t)len : 1);
    PyObject *globals = main_module_names();
    int r = file && dir ? PyDict_SetItemString(globals, "__file__", file) : -1;

    if (r == 0)
        r = put_path(dir, is_first);
    Py_XDECREF(file);
    Py_XDECREF(dir);
    if (r == 0)
        return 0;
    PyErr_Clear();
    return error_set(err, E_INTERNAL, "sys.path cannot be set");
}

int interpreter_add_packages(struct error *err)
{
    const char *set = getenv("PIP_TARGET");
    struct wire_strings where = {.items = {span_of(WIRE_PACKAGES)}, .count = 1};

    return set && strcmp(set, WIRE_PACKAGES) == 0 ? interpreter_append_paths(&where, err) : 0;
}

int interpreter_install_packages(struct error *err)
{
    PyObject *module = PyImport_ImportModule("api._packages");

    Py_XDECREF(module);
    if (module)
        return 0;
    PyErr_Clear();
    return error_set(err, E_INTERNAL, "imports cannot be watched");
}

int interpreter_name_session(struct error *err)
{
    const char *id = getenv("SESSION_ID");
    PyObject *globals = id ? main_module_names() : NULL;
    PyObject *value = id ? PyUnicode_DecodeFSDefault(id) : NULL;
    int r = !id ? 0 : value ? PyDict_SetItemString(globals, "session_id", value) : -1;

    Py_XDECREF(value);
    if (r == 0)
        return 0;
    PyErr_Clear();
    return error_set(err, E_INVALID, "the session cannot be named");
}
