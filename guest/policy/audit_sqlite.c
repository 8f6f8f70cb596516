/* Databases: the addresses that a program may connect to, and the files that SQLite opens.
 *
 * `ATTACH` and `VACUUM INTO` name files in SQL, as a parameter or an expression, and no event
 * reports them. SQLite opens each file through a table of functions that it keeps in its own
 * memory. The function that opens is replaced there, once, and judges the path that SQLite has made
 * of the name.
 */
#include "guest/policy/internal.h"
#include "guest/versions.h"

#include <dlfcn.h>
#include <sqlite3.h>
#include <string.h>

/* ---- files that SQLite opens ---- */

static int (*real_open)(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
                        int *ret_flags);

/* Runs without the interpreter's lock: SQL is executed without it. Without a path it is a file that
 * SQLite removes at once. */
static int open_file(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
                     int *ret_flags)
{
    const struct policy *policy = policy_sealed();

    if (policy && path && !(policy->powers & POWER_FILES) &&
        !((policy->powers & POWER_WORKSPACE) && policy_is_database_file(span_of(path)))) {
        file->pMethods = NULL;
        return SQLITE_CANTOPEN;
    }
    return real_open(vfs, path, file, flags, ret_flags);
}

/* The SQLite that the module `_sqlite3` is linked with, or is. */
static void *library_of_module(void)
{
    PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), "_sqlite3");
    PyObject *file = module && PyModule_Check(module) ? PyModule_GetFilenameObject(module) : NULL;
    const char *path = file ? PyUnicode_AsUTF8(file) : NULL;
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD); /* NULL: a module that is built in */

    PyErr_Clear();
    Py_XDECREF(file);
    return library;
}

/* All ways to open a file have the same function. -1: they cannot be watched. */
static int watch_files(void)
{
    sqlite3_vfs *(*find)(const char *) = NULL;
    int (*initialize)(void) = NULL;
    void *library;

    if (real_open)
        return 0;
    library = library_of_module();
    if (library) {
        *(void **)&find = dlsym(library, "sqlite3_vfs_find");
        *(void **)&initialize = dlsym(library, "sqlite3_initialize");
    }
    if (!find || !initialize || initialize() != SQLITE_OK || !find("unix"))
        return -1;
    real_open = find("unix")->xOpen;
    for (sqlite3_vfs *vfs = find(NULL); vfs; vfs = vfs->pNext)
        if (vfs->xOpen == real_open)
            vfs->xOpen = open_file;
    return 0;
}

/* ---- addresses ---- */

/* The parameters that may follow the "?" of an address of SQLite. Others name a file system of its
 * own, or turn locks off. */
static bool is_plain_query(struct span query)
{
    static const char *const known[] = {"mode=ro",     "mode=rw",      "mode=rwc",
                                        "mode=memory", "cache=shared", "cache=private",
                                        "immutable=1"};

    while (query.len > 0) {
        const char *end = memchr(query.data, '&', query.len);
        struct span one = {query.data, end ? (size_t)(end - query.data) : query.len};
        bool is_known = false;

        for (size_t i = 0; i < COUNT_OF(known) && !is_known; i++)
            is_known = span_is(one, known[i]);
        if (!is_known)
            return false;
        query =
            (struct span){one.data + one.len + (end != NULL), query.len - one.len - (end != NULL)};
    }
    return true;
}

/* "file:PATH?mode=ro", where PATH says what it is: no escapes, no host. */
static bool is_own_address(const struct policy *policy, struct span address)
{
    struct span path = {address.data + 5, address.len - 5};
    const char *query;

    if (path.len > 3 && memcmp(path.data, "///", 3) == 0)
        path = (struct span){path.data + 2, path.len - 2};
    query = memchr(path.data, '?', path.len);

    if (query) {
        if (!is_plain_query((struct span){query + 1, path.len - (size_t)(query - path.data) - 1}))
            return false;
        path.len = (size_t)(query - path.data);
    }
    if (memchr(path.data, '%', path.len) || memchr(path.data, '#', path.len) ||
        memchr(path.data, 0, path.len) || (path.len > 1 && memcmp(path.data, "//", 2) == 0))
        return false;
    return span_is(path, ":memory:") ||
           ((policy->powers & POWER_WORKSPACE) && policy_is_in_workspace(path));
}

/* The method is the one that pathlib gives its paths. */
static bool is_of_pathlib(PyTypeObject *type, const char *name)
{
    PyObject *mro = type->tp_mro, *method = NULL;
    PyCodeObject *code;
    struct span file;
    bool ok;

    for (Py_ssize_t i = 0; mro && !method && i < PyTuple_GET_SIZE(mro); i++)
        method = PyDict_GetItemString(type_methods((PyTypeObject *)PyTuple_GET_ITEM(mro, i)), name);
    code = method && PyFunction_Check(method) ? (PyCodeObject *)PyFunction_GET_CODE(method) : NULL;
    if (!code || PyUnicode_CompareWithASCIIString(code->co_name, name) != 0)
        return false;
    file = span_of_str(code->co_filename, &ok);
    return ok && policy_is_library_path(file) && memmem(file.data, file.len, "/pathlib", 8);
}

/* SQLite gets the object, and asks it for its text after us. A path of pathlib keeps its text;
 * others could answer otherwise. New reference, or NULL. */
static PyObject *path_object(PyObject *value)
{
    PyObject *text = NULL;

    if (is_of_pathlib(Py_TYPE(value), "__fspath__") && is_of_pathlib(Py_TYPE(value), "__str__"))
        text = PyOS_FSPath(value);
    PyErr_Clear();
    return text;
}

static bool may_open_database(const struct policy *policy, struct span path)
{
    if (span_is(path, ":memory:") || path.len == 0)
        return true;
    if (path.len > 5 && memcmp(path.data, "file:", 5) == 0)
        return is_own_address(policy, path);
    /* SQLite's own error says that it cannot be opened. */
    return (policy->powers & POWER_WORKSPACE) &&
           (policy_is_in_workspace(path) || policy_is_missing_directory(path));
}

int policy_audit_sqlite(const struct policy *policy, const char *event, PyObject *args)
{
    PyObject *object = path_object(policy_arg(args, 0));
    struct span path = {"", 0};
    bool ok = false;
    int r;

    if (object)
        path = span_of_str(object, &ok);
    else
        ok = policy_text_arg(args, 0, &path);
    r = ok && may_open_database(policy, path) && watch_files() == 0
            ? 0
            : policy_refuse_file(policy, event, path);
    Py_XDECREF(object);
    return r;
}
