#include "guest/user_packages.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sandbox/places.h"

static bool is_wanted;

void user_packages_begin(void)
{
    is_wanted = true;
}

static bool find(char path[PATH_MAX])
{
    const char *home = getenv("HOME");
    struct stat st;
    int n = snprintf(path, PATH_MAX, "%s/.local/lib/python%d.%d/site-packages",
                     home && *home ? home : places_workspace(), PY_MAJOR_VERSION, PY_MINOR_VERSION);

    return n < PATH_MAX && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Before the packages of the system, which newer ones of the user replace. -1: it is there. */
static Py_ssize_t place_in(PyObject *list, const char *path)
{
    Py_ssize_t place = PyList_GET_SIZE(list);

    for (Py_ssize_t i = PyList_GET_SIZE(list); i-- > 0;) {
        PyObject *item = PyList_GET_ITEM(list, i);
        const char *text = PyUnicode_CheckExact(item) ? PyUnicode_AsUTF8(item) : NULL;

        if (text && strcmp(text, path) == 0)
            return -1;
        if (text && strstr(text, "-packages"))
            place = i;
        PyErr_Clear();
    }
    return place;
}

/* Python remembers of a path that there was nothing. */
static void forget_absence(PyObject *path)
{
    PyObject *cache = PySys_GetObject("path_importer_cache");

    if (cache && PyDict_CheckExact(cache) && PyDict_Contains(cache, path) == 1)
        (void)PyDict_DelItem(cache, path);
}

static void read_pth_files(PyObject *path)
{
    PyObject *site = PyDict_GetItemString(PyImport_GetModuleDict(), "site");
    PyObject *done = site ? PyObject_CallMethod(site, "addsitedir", "O", path) : NULL;

    Py_XDECREF(done);
}

void user_packages_look(void)
{
    PyObject *list = is_wanted ? PySys_GetObject("path") : NULL, *text;
    char path[PATH_MAX];
    Py_ssize_t place;

    if (!list || !PyList_CheckExact(list) || !find(path))
        return;
    place = place_in(list, path);
    is_wanted = false; /* whoever takes it out again means it */
    text = place >= 0 ? PyUnicode_DecodeFSDefault(path) : NULL;
    if (text && PyList_Insert(list, place, text) == 0) {
        forget_absence(text);
        read_pth_files(text);
    }
    Py_XDECREF(text);
    PyErr_Clear(); /* then it is as it was */
}
