/* The Pythons that Belljar can run, and which of them a virtual environment is of.
 *
 * There is a zygote for each of them: `belljar-zygote` for the Python that Belljar was built with,
 * and beside it `belljar-zygote-3.13` for another. A zygote brings its own interpreter; of a
 * virtual environment only the packages are used, so that it has to be of the same minor version.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define PYTHONS_MAX         8
#define PYTHON_VERSION_TEXT 8 /* "3.13" */

struct pythons {
    char versions[PYTHONS_MAX][PYTHON_VERSION_TEXT]; /* the one Belljar was built with first */
    size_t count;
};

/* All for which there is a zygote. */
void pythons_find(struct pythons *ret_pythons);

/* Whether the system has the standard library of that version, which no zygote brings. */
bool pythons_is_installed(const char *version);

/* The version that programs run with if they ask for none: the one Belljar was built with, or if
 * the system has only others, as where an archive was unpacked on a newer one, the newest of those
 * that there is a zygote for. */
void pythons_default(char ret_version[PYTHON_VERSION_TEXT]);

/* The path of the zygote of that version. The caller frees it. NULL: *err says what there is and
 * how to get another. */
char *pythons_program(const char *version, struct error *err);

/* "python3.13" is the environment of the system's Python 3.13. False: it is another kind of name.
 */
bool pythons_name(const char *name, char ret_version[PYTHON_VERSION_TEXT]);

/* A directory that is an environment. */
struct python_environment {
    char version[PYTHON_VERSION_TEXT];
    char base[PATH_MAX]; /* the directory of the interpreter that it was made with, or "" */
};

/* Finds out about the directory `root`, which messages call `path`. */
int pythons_examine(const char *root, const char *path, struct python_environment *ret_found,
                    struct error *err);
