#include "cli/run_hints.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/paths.h"

/* A path that a hint repeats: the program chose it, so it is plain and short. */
static bool is_plain_path(const char *path, size_t len)
{
    if (!len || len > 200 || path[0] == '-')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)path[i]) && !strchr("._-+/", path[i]))
            return false;
    return true;
}

/* The path at the end of "[Errno 2] No such file or directory: 'data.csv'". NULL: there is none. */
static char *path_of(const struct run_exception *e)
{
    const char *begin = e->message ? strstr(e->message, ": '") : NULL;
    const char *end = begin ? strchr(begin + 3, '\'') : NULL;

    return end && is_plain_path(begin + 3, (size_t)(end - begin - 3))
               ? strndup(begin + 3, (size_t)(end - begin - 3))
               : NULL;
}

static bool is_error(const struct run_exception *e, const char *name, const char *begin)
{
    return e->name && strcmp(e->name, name) == 0 &&
           (!*begin || (e->message && strncmp(e->message, begin, strlen(begin)) == 0));
}

/* The directory of the program's file: "." for the current one. The caller frees it. */
static char *directory_of(const char *file)
{
    const char *slash = file ? strrchr(file, '/') : NULL;

    return !slash ? strdup(".") : strndup(file, slash == file ? 1 : (size_t)(slash - file));
}

/* Whether the host has that file in the directory; of modules, NAME.py or the package NAME. */
static bool is_there(const char *dir, const char *name, const char *suffix)
{
    cleanup_free char *path = NULL;

    if (!dir || asprintf(&path, "%s/%s%s", dir, name, suffix) < 0) {
        path = NULL;
        return false;
    }
    return access(path, F_OK) == 0;
}

static bool is_module_next_to(const char *file, const char *name)
{
    cleanup_free char *dir = directory_of(file);
    cleanup_free char *top = strndup(name, strcspn(name, "."));

    return top && is_plain_path(top, strlen(top)) && !strchr(top, '/') &&
           (is_there(dir, top, ".py") || is_there(dir, top, "/__init__.py"));
}

static char *say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *say(const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    return text;
}

/* The grant that holds the path, or NULL. */
static const struct run_grant *grant_of(const struct run *run, const char *path)
{
    for (size_t i = run->terms.n_grants; i > 0; i--)
        if (paths_below(path, run->terms.grants[i - 1].path))
            return &run->terms.grants[i - 1];
    return NULL;
}

static char *on_missing_file(const struct run *run, const char *file)
{
    cleanup_free char *path = path_of(&run->result.exception);
    cleanup_free char *dir = directory_of(file);

    if (!path || grant_of(run, path))
        return NULL;
    if (*path == '/')
        return access(path, F_OK) == 0
                   ? say("`%s` exists on this machine, but the program does not see it: `--allow "
                         "DIR` grants a directory",
                         path)
                   : NULL;
    if (is_there(".", path, ""))
        return say("`%s` is in the current directory, which the program does not see: `--here` "
                   "grants it read-only and starts the program there",
                   path);
    if (is_there(dir, path, ""))
        return say("`%s` is next to the program, which does not see it: `--allow %s` grants that "
                   "directory",
                   path, dir);
    return NULL;
}

static char *on_module(const struct run *run, const char *file, const char *name)
{
    if (!file || !name || !is_module_next_to(file, name))
        return NULL;
    if (run->program.script)
        return say("`%s` is next to the program, but profile `%s` allows only the modules on its "
                   "list: `--profile open` allows all",
                   name, run->terms.profile);
    return say("`%s` is next to the program, which does not see it: run it with `--here` in that "
               "directory",
               name);
}

/* "No module named 'helper.part'" */
static char *on_missing_module(const struct run *run, const char *file)
{
    const char *message = run->result.exception.message;
    const char *begin = message ? strchr(message, '\'') : NULL;
    const char *end = begin ? strchr(begin + 1, '\'') : NULL;
    cleanup_free char *name = end ? strndup(begin + 1, (size_t)(end - begin - 1)) : NULL;

    return run->program.script ? NULL : on_module(run, file, name);
}

static char *on_exception(const struct run *run, const char *file)
{
    const struct run_exception *e = &run->result.exception;

    if (is_error(e, "EOFError", "") && !run->program.has_input)
        return strdup("input() has nothing to read: pipe it in, or give it with `--stdin FILE`");
    if (is_error(e, "FileNotFoundError", "[Errno 2]"))
        return on_missing_file(run, file);
    if (is_error(e, "ModuleNotFoundError", ""))
        return on_missing_module(run, file);
    return NULL;
}

void run_hints_add(struct run *run, const char *file, json_t *result)
{
    struct run_exception *e = &run->result.exception;
    bool is_ours = result == NULL;
    char *hint = e->name && !e->is_ours && (is_ours || is_error(e, "EOFError", ""))
                     ? on_exception(run, file)
                     : NULL;

    if (hint) {
        free(e->hint);
        e->hint = hint;
        (void)json_object_set_new(json_object_get(result, "error"), "hint", json_string(hint));
    }
    for (size_t i = 0; is_ours && i < run->result.n_violations; i++) {
        struct run_violation *v = &run->result.violations[i];

        if (!v->hint && v->rule && strcmp(v->rule, "import") == 0)
            v->hint = on_module(run, file, v->name);
    }
}
