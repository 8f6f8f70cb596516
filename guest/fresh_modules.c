#include "guest/fresh_modules.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORKSPACE   "/workspace"
#define MODULES_MAX 4096

struct seen {
    char *name, *file;
    struct timespec mtime;
    off_t size;
    ino_t inode;
};

static const char *project = WORKSPACE;
static struct seen *seen;
static size_t n_seen;
static Py_ssize_t n_looked_at; /* modules there were at the last look */

void fresh_modules_begin(const char *directory)
{
    project = directory;
}

static bool is_below(const char *file, const char *directory)
{
    size_t len = strlen(directory);

    return len > 1 && strncmp(file, directory, len) == 0 && file[len] == '/';
}

/* Nothing here runs code of the program's: what is no plain module with a plain name is left. */
static const char *plain_text(PyObject *text)
{
    const char *found = text && PyUnicode_CheckExact(text) ? PyUnicode_AsUTF8(text) : NULL;

    if (!found)
        PyErr_Clear();
    return found;
}

static const char *file_of(PyObject *module)
{
    const char *file;

    if (!PyModule_CheckExact(module))
        return NULL;
    file = plain_text(PyDict_GetItemString(PyModule_GetDict(module), "__file__"));
    if (!file || strstr(file, "/site-packages/") ||
        (!is_below(file, project) && !is_below(file, WORKSPACE)))
        return NULL;
    return file;
}

static void forget(size_t i)
{
    free(seen[i].name);
    free(seen[i].file);
    seen[i] = seen[--n_seen];
}

static bool is_seen(const char *name)
{
    for (size_t i = 0; i < n_seen; i++)
        if (strcmp(seen[i].name, name) == 0)
            return true;
    return false;
}

static void look_at(struct seen *s, const struct stat *st)
{
    s->mtime = st->st_mtim;
    s->size = st->st_size;
    s->inode = st->st_ino;
}

static void add(const char *name, const char *file)
{
    struct seen *more;
    struct stat st;

    if (n_seen == MODULES_MAX || strcmp(name, "__main__") == 0 || is_seen(name) ||
        stat(file, &st) < 0)
        return;
    more = realloc(seen, (n_seen + 1) * sizeof(*seen));
    if (!more)
        return;
    seen = more;
    seen[n_seen] = (struct seen){.name = strdup(name), .file = strdup(file)};
    look_at(&seen[n_seen], &st);
    n_seen++;
    if (!seen[n_seen - 1].name || !seen[n_seen - 1].file)
        forget(n_seen - 1);
}

void fresh_modules_note(void)
{
    PyObject *modules = PyImport_GetModuleDict(), *key, *module;
    Py_ssize_t at = 0;

    if (!modules || PyDict_Size(modules) == n_looked_at)
        return;
    n_looked_at = PyDict_Size(modules);
    while (PyDict_Next(modules, &at, &key, &module)) {
        const char *file = file_of(module), *name = file ? plain_text(key) : NULL;

        if (name)
            add(name, file);
    }
}

/* A file that is gone has no newer code. */
static bool has_changed(const struct seen *s)
{
    struct stat st;

    return stat(s->file, &st) == 0 &&
           (st.st_mtim.tv_sec != s->mtime.tv_sec || st.st_mtim.tv_nsec != s->mtime.tv_nsec ||
            st.st_size != s->size || st.st_ino != s->inode);
}

/* The directory in which an import has found it: /p of /p/a/b.py for a.b, and of
 * /p/a/b/__init__.py.
 */
static bool root_of(const struct seen *s, char root[PATH_MAX])
{
    const char *base = strrchr(s->file, '/');
    size_t parts = base && strcmp(base, "/__init__.py") == 0 ? 2 : 1;
    char *slash;

    if (snprintf(root, PATH_MAX, "%s", s->file) >= PATH_MAX)
        return false;
    for (const char *c = s->name; *c; c++)
        parts += *c == '.';
    while (parts-- && (slash = strrchr(root, '/')) && slash != root)
        *slash = '\0';
    return true;
}

/* Whether an import would find it again: a program that was elsewhere when it imported a module, or
 * has taken a directory off sys.path, keeps what it has. */
static bool is_found_again(const struct seen *s)
{
    PyObject *path = PySys_GetObject("path");
    char root[PATH_MAX], here[PATH_MAX], joined[2 * PATH_MAX + 2];

    if (!path || !PyList_CheckExact(path) || !root_of(s, root) || !getcwd(here, sizeof(here)))
        return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(path); i++) {
        const char *entry = plain_text(PyList_GET_ITEM(path, i));

        if (!entry || strlen(entry) >= PATH_MAX)
            continue;
        (void)snprintf(joined, sizeof(joined), "%s%s%s", *entry == '/' ? "" : here,
                       *entry && *entry != '/' ? "/" : "", entry);
        if (strcmp(joined, root) == 0)
            return true;
    }
    return false;
}

static bool is_renewing;

void fresh_modules_set_renewing(bool renews)
{
    is_renewing = renews;
}

/* Calls a function of library/_belljar_reload.py. -1: an interrupt is set. */
static int tell(const char *function, PyObject *what)
{
    PyObject *module = what ? PyImport_ImportModule("_belljar_reload") : NULL;
    PyObject *done = module ? PyObject_CallMethod(module, function, "(O)", what) : NULL;

    Py_XDECREF(module);
    Py_XDECREF(done);
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
        return -1;
    PyErr_Clear();
    return 0;
}

int fresh_modules_renew(bool is_asked)
{
    PyObject *names = is_renewing || is_asked ? PyList_New(0) : NULL;
    int r = 0;

    for (size_t i = 0; names && i < n_seen; i++) {
        PyObject *name = has_changed(&seen[i]) ? PyUnicode_FromString(seen[i].name) : NULL;
        struct stat st;

        if (!name)
            continue;
        if (stat(seen[i].file, &st) == 0)
            look_at(&seen[i], &st);
        if (PyList_Append(names, name) < 0)
            PyErr_Clear();
        Py_DECREF(name);
    }
    PyErr_Clear();
    if (names && PyList_GET_SIZE(names))
        r = tell("renew_all", names);
    Py_XDECREF(names);
    return r;
}

void fresh_modules_drop(void)
{
    PyObject *modules = PyImport_GetModuleDict(), *dropped = NULL;
    bool any = false;

    for (size_t i = 0; i < n_seen && !any && !is_renewing; i++)
        any = has_changed(&seen[i]) && is_found_again(&seen[i]);
    if (!any || !modules)
        return;
    dropped = PyDict_New();
    for (size_t i = n_seen; i-- > 0;) {
        PyObject *module = PyDict_GetItemString(modules, seen[i].name);

        if (module && !is_found_again(&seen[i]))
            continue;
        if (module && file_of(module)) {
            if (dropped)
                (void)PyDict_SetItemString(dropped, seen[i].name, module);
            (void)PyDict_DelItemString(modules, seen[i].name);
            PyErr_Clear();
        }
        forget(i);
    }
    n_looked_at = 0;
    if (tell("drop", dropped) < 0)
        PyErr_Clear(); /* no cell runs yet */
    Py_XDECREF(dropped);
}
