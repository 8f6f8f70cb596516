#include "engine/pythons.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/paths.h"

#define ZYGOTE "belljar-zygote"

/* No older Python 3 can be built in. */
#define MINOR_LEAST 11

/* pyvenv.cfg has a few lines. */
#define SETTINGS_MAX 65536

/* Takes "3.13" of "3.13", "3.13.5" and "3.13.5.final.0". */
static bool take_version(const char *text, char ret_version[PYTHON_VERSION_TEXT])
{
    size_t len = 2;

    if (strncmp(text, "3.", 2) != 0)
        return false;
    while (isdigit((unsigned char)text[len]))
        len++;
    if (len == 2 || len >= PYTHON_VERSION_TEXT || (text[len] && !strchr(". \r", text[len])))
        return false;
    memcpy(ret_version, text, len);
    ret_version[len] = '\0';
    return true;
}

bool pythons_name(const char *name, char ret_version[PYTHON_VERSION_TEXT])
{
    char version[PYTHON_VERSION_TEXT];

    if (strncmp(name, "python", 6) != 0 || !take_version(name + 6, version) ||
        strcmp(version, name + 6) != 0)
        return false;
    memcpy(ret_version, version, sizeof(version));
    return true;
}

/* --- those there are --- */

/* The program of that version, which need not exist. */
static char *program_of(const char *version, struct error *err)
{
    char name[sizeof(ZYGOTE "-") + PYTHON_VERSION_TEXT];

    if (strcmp(version, BELLJAR_PYTHON) == 0)
        return paths_program(ZYGOTE, err);
    (void)snprintf(name, sizeof(name), ZYGOTE "-%s", version);
    return paths_program(name, err);
}

static int by_minor(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

static int is_other(const struct dirent *entry)
{
    char version[PYTHON_VERSION_TEXT];
    const char *rest = entry->d_name + sizeof(ZYGOTE);

    return strncmp(entry->d_name, ZYGOTE "-", sizeof(ZYGOTE)) == 0 && take_version(rest, version) &&
           strcmp(rest, version) == 0 && strcmp(version, BELLJAR_PYTHON) != 0;
}

void pythons_find(struct pythons *pythons)
{
    cleanup_free char *program = paths_program(ZYGOTE, NULL);
    char *slash = program ? strrchr(program, '/') : NULL;
    struct dirent **entries = NULL;
    int count = 0;

    *pythons = (struct pythons){.count = 1};
    (void)snprintf(pythons->versions[0], PYTHON_VERSION_TEXT, "%s", BELLJAR_PYTHON);
    if (slash) {
        *slash = '\0';
        count = scandir(program, &entries, is_other, by_minor);
    }
    for (int i = 0; i < count; i++) {
        if (pythons->count < PYTHONS_MAX)
            (void)take_version(entries[i]->d_name + sizeof(ZYGOTE),
                               pythons->versions[pythons->count++]);
        free(entries[i]);
    }
    free(entries);
}

bool pythons_is_installed(const char *version)
{
    char library[64];

    (void)snprintf(library, sizeof(library), "/usr/lib/python%s/os.py", version);
    return access(library, R_OK) == 0;
}

void pythons_default(char ret_version[PYTHON_VERSION_TEXT])
{
    struct pythons pythons;

    (void)snprintf(ret_version, PYTHON_VERSION_TEXT, "%s", BELLJAR_PYTHON);
    if (pythons_is_installed(BELLJAR_PYTHON))
        return;
    pythons_find(&pythons);
    for (size_t i = 1; i < pythons.count; i++)
        if (pythons_is_installed(pythons.versions[i]))
            memcpy(ret_version, pythons.versions[i], PYTHON_VERSION_TEXT);
}

/* "3.11 and 3.13" */
static const char *enumerate(const struct pythons *pythons, char *text, size_t size)
{
    size_t len = 0;

    for (size_t i = 0; i < pythons->count && len < size; i++)
        len += (size_t)snprintf(text + len, size - len, "%s%s",
                                i == 0                    ? ""
                                : i + 1 == pythons->count ? " and "
                                                          : ", ",
                                pythons->versions[i]);
    return text;
}

char *pythons_program(const char *version, struct error *err)
{
    cleanup_free char *program = program_of(version, err);
    char known[PYTHONS_MAX * (PYTHON_VERSION_TEXT + 5)];
    struct pythons pythons;

    /* The one that always belongs here is missed by whoever starts it, with the path. */
    if (!program || strcmp(version, BELLJAR_PYTHON) == 0 || access(program, X_OK) == 0)
        return take_ptr(program);
    pythons_find(&pythons);
    error_set(err, E_UNSUPPORTED, "this Belljar runs Python %s, not %s",
              enumerate(&pythons, known, sizeof(known)), version);
    if (strtol(version + 2, NULL, 10) < MINOR_LEAST)
        error_hint(err, "use Python %s; one older than 3.%d cannot be built in",
                   pythons.versions[0], MINOR_LEAST);
    else
        error_hint(err,
                   "use Python %s; or install `python%s-dev` and build Belljar again, which adds "
                   "each Python it finds",
                   pythons.versions[0], version);
    return NULL;
}

/* --- what an environment is of --- */

/* The value of "key = value" in pyvenv.cfg, without white space around it. False: there is none. */
static bool find_setting(const char *text, const char *key, char *value, size_t size)
{
    size_t key_len = strlen(key);

    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *at = line + strspn(line, " \t");
        size_t len;

        if (strncasecmp(at, key, key_len) != 0)
            continue;
        at += key_len;
        at += strspn(at, " \t");
        if (*at++ != '=')
            continue;
        at += strspn(at, " \t");
        len = strcspn(at, "\r\n");
        if (len >= size)
            return false;
        memcpy(value, at, len);
        value[len] = '\0';
        return true;
    }
    return false;
}

/* venv writes `version`, virtualenv and uv `version_info`. */
static void read_settings(const char *root, struct python_environment *found)
{
    cleanup(buf_done) struct buf text = BUF_OF(SETTINGS_MAX);
    cleanup_close int fd = -1;
    char path[PATH_MAX], value[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/pyvenv.cfg", root) >= PATH_MAX)
        return;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || buf_read_fd(&text, fd, NULL) < 0)
        return;
    if (find_setting(buf_str(&text), "home", value, sizeof(value)))
        (void)snprintf(found->base, sizeof(found->base), "%s", value);
    if (find_setting(buf_str(&text), "version", value, sizeof(value)) ||
        find_setting(buf_str(&text), "version_info", value, sizeof(value)))
        (void)take_version(value, found->version);
}

/* The version of lib/python3.13, the newest if there are several. */
static bool find_library(const char *root, char ret_version[PYTHON_VERSION_TEXT])
{
    char path[PATH_MAX], version[PYTHON_VERSION_TEXT];
    const struct dirent *entry;
    bool found = false;
    DIR *dir;

    if (snprintf(path, sizeof(path), "%s/lib", root) >= PATH_MAX || !(dir = opendir(path)))
        return false;
    while ((entry = readdir(dir)))
        if (pythons_name(entry->d_name, version) &&
            (!found || strverscmp(version, ret_version) > 0)) {
            memcpy(ret_version, version, sizeof(version));
            found = true;
        }
    (void)closedir(dir);
    return found;
}

static bool has(const char *root, const char *name)
{
    char path[PATH_MAX];
    struct stat st;

    return snprintf(path, sizeof(path), "%s/%s", root, name) < PATH_MAX && stat(path, &st) == 0;
}

static bool has_library(const char *root, const char *version)
{
    char name[32];

    (void)snprintf(name, sizeof(name), "lib/python%s", version);
    return has(root, name);
}

/* A whole installation (conda's environments are, pyenv's versions, uv's own Pythons) has its own
 * standard library, which belongs to its own interpreter. */
static int refuse_installation(const char *path, const char *version, bool is_conda,
                               struct error *err)
{
    error_set(err, E_UNSUPPORTED, "`%s` is %s, not a virtual environment", path,
              is_conda ? "a conda environment" : "an installation of Python");
    return error_hint(
        err,
        "programs run in the interpreters that Belljar was built with: make a virtual "
        "environment with `python%s -m venv DIR`, or use `belljar environment create`",
        version);
}

int pythons_examine(const char *root, const char *path, struct python_environment *ret_found,
                    struct error *err)
{
    struct python_environment found = {0};
    char library[32];

    read_settings(root, &found);
    if (!*found.version && !find_library(root, found.version)) {
        error_set(err, E_UNSUPPORTED, "`%s` is not a Python environment", path);
        return error_hint(err, "make one with `/usr/bin/python3 -m venv DIR`");
    }
    (void)snprintf(library, sizeof(library), "lib/python%s/os.py", found.version);
    if (!has(root, "pyvenv.cfg") && (has(root, "conda-meta") || has(root, library)))
        return refuse_installation(path, found.version, has(root, "conda-meta"), err);
    if (!has_library(root, found.version)) {
        error_set(err, E_UNSUPPORTED, "the environment `%s` is damaged: it has no `lib/python%s`",
                  path, found.version);
        return error_hint(err, "make it again with `python%s -m venv DIR`", found.version);
    }
    *ret_found = found;
    return 0;
}
