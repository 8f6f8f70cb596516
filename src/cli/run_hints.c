#include "cli/run_hints.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/paths.h"
#include "engine/reads_input.h"
#include "sandbox/grant.h"

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

/* Whether the host has that file, by its own path or one below the directory, and not elsewhere by
 * a symbolic link: then granting the directory would not help. */
static bool is_there(const char *dir, const char *name, const char *suffix)
{
    cleanup_free char *path = NULL, *real = NULL, *real_dir = dir ? realpath(dir, NULL) : NULL;

    if (!real_dir || asprintf(&path, "%s/%s%s", dir, name, suffix) < 0) {
        path = NULL;
        return false;
    }
    real = realpath(path, NULL);
    return real && paths_below(real, real_dir);
}

static bool is_module_in(const char *dir, const char *name)
{
    cleanup_free char *top = strndup(name, strcspn(name, "."));

    return top && is_plain_path(top, strlen(top)) && !strchr(top, '/') &&
           (is_there(dir, top, ".py") || is_there(dir, top, "/__init__.py"));
}

/* --- the flags that help --- */

/* As a shell reads it. NULL: a hint cannot repeat it. */
static char *quoted(const char *path)
{
    if (is_plain_path(path, strlen(path)))
        return strdup(path);
    for (const char *c = path; *c; c++)
        if (*c == '\'' || *c == '`' || iscntrl((unsigned char)*c))
            return NULL;
    return say("'%s'", path);
}

static bool can_be_granted(const char *path)
{
    struct run_grant grant = {.fd = -1};
    struct error err = {0};
    bool can = grant_open(path, RUN_GRANT_RO, &grant, &err) == 0;

    grant_done(&grant);
    error_done(&err);
    return can;
}

/* Flags with which the program starts in `dir` and sees `top`, which holds it: they are added to
 * those it was started with. NULL: it starts there already, or no flags do that. */
static char *flags_for(const struct run *run, const char *dir, const char *top)
{
    cleanup_free char *real = realpath(dir, NULL), *here = realpath(".", NULL),
                      *real_top = realpath(top, NULL), *name = quoted(dir), *top_name = quoted(top);

    if (!real || !here || !real_top || !name || !top_name)
        return NULL;
    if (grant_of(run, real_top))
        return run->terms.workdir && strcmp(run->terms.workdir, real) == 0
                   ? NULL
                   : say("`-C %s` starts it there", name);
    if (!can_be_granted(top))
        return NULL;
    if (strcmp(real, real_top) != 0 || run->terms.n_grants)
        return say("`--allow %s -C %s` grants it and starts the program there", top_name, name);
    return strcmp(real, here) == 0
               ? strdup("`--here` grants it read-only and starts the program there")
               : say("`--allow %s` grants it and starts the program there", name);
}

/* "../../x" is seen from above: "../..", and the rest of the path. */
static char *above(const char *dir, const char *path, const char **ret_rest)
{
    size_t len = 0;

    while (strncmp(path + len, "../", 3) == 0)
        len += 3;
    *ret_rest = path + len;
    return len ? say("%s/%.*s", dir, (int)len - 1, path) : strdup(dir);
}

/* NULL: the file is not in that directory. */
static char *way_to_file(const struct run *run, const char *dir, const char *path,
                         const char *where)
{
    const char *rest;
    cleanup_free char *top = above(dir, path, &rest), *flags = NULL;

    if (!top || strstr(rest, "..") || !is_there(top, rest, ""))
        return NULL;
    flags = flags_for(run, dir, strcmp(top, "./..") == 0 ? ".." : top);
    return flags ? say("`%s` is %s, which the program does not start in: %s", path, where, flags)
                 : NULL;
}

/* --- errors --- */

/* The program chose this path: a directory is named only if its user works in it already. */
static char *on_absolute_file(const struct run *run, const char *file, const char *path)
{
    cleanup_free char *real = realpath(path, NULL), *here = realpath(".", NULL),
                      *dir = directory_of(file), *next = dir ? realpath(dir, NULL) : NULL;
    const char *top = !real                                        ? NULL
                      : here && here[1] && paths_below(real, here) ? here
                      : next && next[1] && paths_below(real, next) ? next
                                                                   : NULL;
    cleanup_free char *name = top && can_be_granted(top) ? quoted(top) : NULL;

    if (!real || grant_of(run, real))
        return NULL;
    return name ? say("`%s` exists on this machine, but the program does not see it: `--allow %s` "
                      "grants that directory",
                      path, name)
                : say("`%s` exists on this machine, but the program does not see it: `--allow "
                      "DIR` grants a directory",
                      path);
}

static char *on_missing_file(const struct run *run, const char *file)
{
    cleanup_free char *path = path_of(&run->result.exception);
    cleanup_free char *dir = directory_of(file), *hint = NULL;

    if (!path || !dir)
        return NULL;
    if (*path == '/')
        return on_absolute_file(run, file, path);
    hint = way_to_file(run, ".", path, "in the current directory");
    if (!hint && file)
        hint = way_to_file(run, dir, path, "next to the program");
    return take_ptr(hint);
}

/* Profiles that take modules of the directory where the program starts, whatever they are. */
static bool takes_modules(const struct run *run)
{
    const char *profile = run->terms.profile ? run->terms.profile : "";

    return strcmp(profile, "open") == 0 || strcmp(profile, "standard") == 0;
}

static char *on_module(const struct run *run, const char *file, const char *name)
{
    cleanup_free char *dir = directory_of(file), *flags = NULL;

    if (!file || !name || !dir || !is_module_in(dir, name))
        return NULL;
    flags = flags_for(run, dir, dir);
    if (flags && takes_modules(run))
        return say("`%s` is next to the program, which does not start there: %s", name, flags);
    if (flags)
        return say("`%s` is next to the program, which does not start there: %s; profile `%s` "
                   "takes no modules from there, add `--profile open`",
                   name, flags, run->terms.profile);
    return run->program.script
               ? say("`%s` is next to the program, but profile `%s` allows only the modules on its "
                     "list: `--profile open` allows all",
                     name, run->terms.profile)
               : NULL;
}

/* "No module named 'helper.part'" */
static char *on_missing_module(const struct run *run, const char *file)
{
    const char *message = run->result.exception.message;
    const char *begin = message ? strchr(message, '\'') : NULL;
    const char *end = begin ? strchr(begin + 1, '\'') : NULL;
    cleanup_free char *name = end ? strndup(begin + 1, (size_t)(end - begin - 1)) : NULL;

    return on_module(run, file, name);
}

static char *on_exception(const struct run *run, const char *file)
{
    const struct run_exception *e = &run->result.exception;

    if (is_error(e, "EOFError", "") && !run->program.has_input && !run->program.is_typed)
        return strdup("input() has nothing to read: pipe it in, or give it with `--stdin FILE`");
    if (is_error(e, "FileNotFoundError", "[Errno 2]"))
        return on_missing_file(run, file);
    if (is_error(e, "ModuleNotFoundError", ""))
        return on_missing_module(run, file);
    return NULL;
}

char *run_hints_place_of(const char *name)
{
    const char *dirs = getenv("PATH");

    if (strchr(name, '/'))
        return access(name, F_OK) == 0 ? realpath(name, NULL) : NULL;
    while (dirs && *dirs) {
        size_t len = strcspn(dirs, ":");
        cleanup_free char *path = NULL;

        if (len && asprintf(&path, "%.*s/%s", (int)len, dirs, name) < 0)
            path = NULL;
        if (path && access(path, X_OK) == 0)
            return take_ptr(path);
        dirs += len + (dirs[len] == ':');
    }
    return NULL;
}

/* `./tool`, from the current directory. NULL: it is not there, or the sandbox shows it. */
static char *on_missing_script(const struct run *run, const char *name)
{
    cleanup_free char *flags = NULL;

    if (*name == '/' || !strchr(name, '/') || strstr(name, "..") || !is_there(".", name, ""))
        return NULL;
    flags = flags_for(run, ".", ".");
    return flags ? say("`%s` is in the current directory, which the sandbox does not show: %s",
                       name, flags)
                 : NULL;
}

/* A command that the sandbox does not have, and this machine does. */
static char *on_missing_command(const struct run *run)
{
    const char *name = run->program.args ? run->program.args[0] : "";
    cleanup_free char *path = is_plain_path(name, strlen(name)) ? run_hints_place_of(name) : NULL;
    char *slash = path ? strrchr(path, '/') : NULL,
         *script = path ? on_missing_script(run, name) : NULL;

    if (script)
        return script;
    if (strchr(name, ' ') && !run->program.args[1])
        return strdup("give the command and its arguments as separate words, or a line for the "
                      "shell with `belljar exec -- bash -c LINE`");

    if (!slash || slash == path || !is_plain_path(path, strlen(path)) || grant_of(run, path) ||
        paths_below(path, "/usr"))
        return NULL;
    *slash = '\0';
    return say("`%s` is in %s on this machine, which the sandbox does not show: `--allow %s` "
               "grants it, and `%s/%s` is then the command",
               slash + 1, path, path, path, slash + 1);
}

static void add_command_hint(struct run *run)
{
    char *hint = run->program.language == RUN_COMMAND && run->result.status == RUN_ERROR &&
                         run->result.exit_code == 127
                     ? on_missing_command(run)
                     : NULL;

    if (!hint)
        return;
    free(run->result.hint);
    run->result.hint = hint;
}

/* A command such as `python3` or `cat` alone, that ended without a word. */
static bool command_reads(const struct run *run)
{
    return run->program.args && run->program.args[0] && !run->program.args[1] &&
           run->result.status == RUN_SUCCESS && !run->result.out.total && !run->result.err.total;
}

static bool reads_typed(const struct run *run)
{
    if (run->program.language == RUN_COMMAND)
        return command_reads(run);
    return reads_input(run->program.language, buf_str(&run->program.code));
}

void run_hints_add_typing(struct run *run)
{
    if (!run->result.hint && !run->result.exception.hint &&
        (run->result.status == RUN_SUCCESS || run->result.status == RUN_ERROR) && reads_typed(run))
        run->result.hint = strdup("its standard input was empty: `-t` gives it your terminal");
}

/* A list of what may be imported instead is of no use to whoever has the module. */
static void add_violation_hint(const struct run *run, const char *file, struct run_violation *v)
{
    char *hint = v->rule && strcmp(v->rule, "import") == 0 ? on_module(run, file, v->name) : NULL;

    if (!hint)
        return;
    free(v->hint);
    v->hint = hint;
}

void run_hints_add(struct run *run, const char *file, json_t *result)
{
    struct run_exception *e = &run->result.exception;
    bool is_ours = result == NULL;
    char *hint = e->name && !e->is_ours && (is_ours || is_error(e, "EOFError", ""))
                     ? on_exception(run, file)
                     : NULL;

    if (is_ours)
        add_command_hint(run);
    if (hint) {
        free(e->hint);
        e->hint = hint;
        (void)json_object_set_new(json_object_get(result, "error"), "hint", json_string(hint));
    }
    for (size_t i = 0; is_ours && i < run->result.n_violations; i++)
        add_violation_hint(run, file, &run->result.violations[i]);
}
