#include "engine/advice.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/paths.h"
#include "base/span.h"
#include "engine/place.h"
#include "engine/removed_modules.h"
#include "engine/substitutes.h"

#define NAME_MAX_LEN  ((size_t)64)
#define NAMES_LISTED  20
#define ADVICE_LENGTH (2 * KIB)

static bool has_text(struct span message, const char *text)
{
    return message.data && memmem(message.data, message.len, text, strlen(text));
}

static bool is_module_name(struct span s)
{
    if (!s.len || s.len > NAME_MAX_LEN || isdigit((unsigned char)s.data[0]))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (!isalnum((unsigned char)s.data[i]) && s.data[i] != '_' &&
            (s.data[i] != '.' || i == 0 || i == s.len - 1))
            return false;
    return true;
}

#define MORE_MODULES                                                                               \
    "; more come with `belljar environment create NAME --with PACKAGE`; `environment` of the "     \
    "request names another one; ask the user to add it"

#define NO_MODULE "the module is not installed in this environment"

#define STARTS_WITH_SHELL "write the line `!command` in the cell, or run the command with Bash"

#define STARTS_NOTHING "no program can be started here; do the work in Python"

#define NO_NETWORK "there is no network here; put the data into the program"

#define SHOWN(s) (int)(s).len, (s).data

/* With a network there may be an index. */
static int add_more_modules(const struct run_terms *terms, struct buf *out)
{
    if (buf_add_str(out, MORE_MODULES, NULL) < 0)
        return -1;
    if (!terms->net || !terms->may_spawn)
        return 0;
    return buf_add_str(out,
                       "; `pip install` works if one of its hosts is a package index: ", NULL) < 0
               ? -1
               : place_add_hosts(terms, out);
}

/* Modules that do nothing without a network, or another machine. Only our own name of one decides:
 * what was said may be the program's. */
static bool needs_network(struct span said)
{
    static const char *const names[] = {
        "requests", "httpx",    "aiohttp",  "urllib3",    "httplib2", "pycurl", "websockets",
        "boto3",    "paramiko", "selenium", "playwright", "yfinance", "openai", "anthropic"};
    char quoted[32];

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        (void)snprintf(quoted, sizeof(quoted), "named '%s'", names[i]);
        if (has_text(said, quoted))
            return true;
    }
    return false;
}

/* That it is missing, and that it would not help. */
static int add_no_module(struct span said, const struct run_terms *terms, struct buf *out)
{
    if (buf_add_str(out, NO_MODULE, NULL) < 0)
        return -1;
    return !terms->net && needs_network(said)
               ? buf_add_str(out, ", and no host is granted to this sandbox", NULL)
               : 0;
}

static int add_missing_module(const struct wire_exception *e, const struct run_terms *terms,
                              struct buf *out)
{
    struct span nearest = e->names.count ? e->names.items[0] : (struct span){"", 0};
    const struct removed_module *removed = removed_module_in(e->message);
    const char *instead = substitute_in(e->message, e->names.items, e->names.count);
    /* `httpx` is no slip for `http`. */
    bool is_slip = is_module_name(nearest) && !needs_network(e->message);
    unsigned listed = 0;

    if (removed)
        return buf_printf(out, NULL, "`%s` left the standard library with Python %s; use %s",
                          removed->name, removed->since, removed->instead);
    if (instead)
        return buf_printf(out, NULL, NO_MODULE "; use %s", instead) < 0
                   ? -1
                   : add_more_modules(terms, out);
    if (is_slip) {
        if (buf_printf(out, NULL, "did you mean `%.*s`? ", SHOWN(nearest)) < 0)
            return -1;
    } else if (add_no_module(e->message, terms, out) < 0 || buf_add_str(out, "; ", NULL) < 0) {
        return -1;
    }
    for (uint32_t i = 1; i < e->names.count && listed < NAMES_LISTED; i++) {
        if (!is_module_name(e->names.items[i]))
            continue;
        if (buf_printf(out, NULL, "%s%.*s",
                       listed ? ", " : "installed in addition to the standard library: ",
                       SHOWN(e->names.items[i])) < 0)
            return -1;
        listed++;
    }
    if (!listed && buf_add_str(out, "`belljar doctor` lists the installed packages", NULL) < 0)
        return -1;
    return is_slip ? 0 : add_more_modules(terms, out);
}

/* Packages that may be recommended for pandas or a shell without asking which are installed. */
static const struct span usual_packages[] = {{"pandas", 6}, {"numpy", 5}};

/* pandas says so of packages that it can do without. */
static int add_optional(const struct wire_exception *e, const struct run_terms *terms,
                        struct buf *out)
{
    const char *instead = substitute_in(e->message, usual_packages, ARRAY_SIZE(usual_packages));

    if (!instead)
        return -1;
    return buf_printf(out, NULL, NO_MODULE "; use %s", instead) < 0 ? -1
                                                                    : add_more_modules(terms, out);
}

static int add_import(const struct wire_exception *e, const struct run_terms *terms,
                      struct buf *out)
{
    struct span module = e->names.count > 0 ? e->names.items[0] : (struct span){"", 0};
    struct span alias = e->names.count > 1 ? e->names.items[1] : (struct span){"", 0};

    (void)terms;
    if (!is_module_name(module))
        return -1;
    if (is_module_name(alias))
        return buf_printf(out, NULL, "`import %.*s as %.*s` first", SHOWN(module), SHOWN(alias));
    return buf_printf(out, NULL, "`import %.*s` first", SHOWN(module));
}

/* "1.5.3": what a program may say here must not be a sentence. */
static bool is_version(struct span s)
{
    if (!s.len || s.len > NAME_MAX_LEN || !isdigit((unsigned char)s.data[0]))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (!isalnum((unsigned char)s.data[i]) && !strchr(".+", s.data[i]))
            return false;
    return true;
}

/* Names of versions that are newer than those of Debian 12. */
static const char *older_name(struct span said)
{
    static const struct {
        const char *error, *instead;
    } rows[] = {
        {"Invalid frequency: ME", "'M' for the end of a month"},
        {"Invalid frequency: BME", "'BM' for the last business day of a month"},
        {"Invalid frequency: QE", "'Q' for the end of a quarter"},
        {"Invalid frequency: YE", "'A' for the end of a year"},
        {"'DataFrame' object has no attribute 'map'", "applymap()"},
        {"'numpy' has no attribute 'trapezoid'", "np.trapz()"},
        {"'numpy' has no attribute 'concat'", "np.concatenate()"},
        {"'numpy' has no attribute 'permute_dims'", "np.transpose()"},
        {"'numpy' has no attribute 'pow'", "np.power()"},
        {"'numpy' has no attribute 'acos'", "np.arccos()"},
        {"'numpy' has no attribute 'asin'", "np.arcsin()"},
        {"'numpy' has no attribute 'atan'", "np.arctan()"},
        {"'numpy' has no attribute 'atan2'", "np.arctan2()"},
        {"'numpy' has no attribute 'unstack'", "list(np.moveaxis(a, axis, 0))"},
        {"'numpy' has no attribute 'cumulative_sum'", "np.cumsum()"},
        {"name 'root_mean_squared_error'", "mean_squared_error(y, p, squared=False)"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (has_text(said, rows[i].error))
            return rows[i].instead;
    return NULL;
}

static int add_version(const struct wire_exception *e, const struct run_terms *terms,
                       struct buf *out)
{
    struct span name = e->names.count > 0 ? e->names.items[0] : (struct span){"", 0};
    struct span version = e->names.count > 1 ? e->names.items[1] : (struct span){"", 0};

    (void)terms;
    if (!is_module_name(name) || !is_version(version))
        return -1;
    if (older_name(e->message))
        return buf_printf(out, NULL, "%.*s %.*s is installed: write %s", SHOWN(name),
                          SHOWN(version), older_name(e->message));
    return buf_printf(out, NULL, "%.*s %.*s is installed: write what that version has", SHOWN(name),
                      SHOWN(version));
}

/* Of the C library, urllib, requests and httpx. */
static int add_hosts(const struct wire_exception *e, const struct run_terms *terms, struct buf *out)
{
    (void)e;
    if (!terms->net)
        return buf_add_str(out,
                           "no host is granted to this sandbox; `--net HOST` grants one; `net` of "
                           "the request grants one; ask the user for it",
                           NULL);
    return buf_add_str(out, "hosts that this sandbox reaches: ", NULL) < 0
               ? -1
               : place_add_hosts(terms, out);
}

/* Adds the directory that it searched, and others that have something. Whoever names a place of
 * another machine may want to write there. */
static int add_start(const struct wire_exception *e, const struct run_terms *terms, struct buf *out)
{
    bool is_absolute = e && has_text(e->message, "'/");

    if (buf_printf(out, NULL, "relative paths begin in %s", place_start(terms)) < 0)
        return -1;
    if (terms->n_grants &&
        (buf_add_str(out, "; granted: ", NULL) < 0 || place_add_directories(terms, out) < 0))
        return -1;
    if (is_absolute &&
        (buf_add_str(out, "; writable here: ", NULL) < 0 || place_add_writable(terms, out) < 0))
        return -1;
    if (terms->n_grants)
        return 0;
    return buf_add_str(out,
                       "; no directory of the host is granted; `--allow DIR` grants one; "
                       "`allow` of the request grants one; ask the user for it",
                       NULL);
}

/* The path of a grant as a program may see it: in a sandbox /var/tmp is a link to /tmp. It is also
 * a part of the path itself. */
static const char *seen_path(const struct run_grant *grant)
{
    return strncmp(grant->path, "/var/tmp/", 9) == 0 ? grant->path + 4 : grant->path;
}

/* The read-only directory that a message is about: the one that it names, or for a relative path
 * the one in which the program started. Only our own name for it is used. */
static const struct run_grant *read_only_in(struct span message, const struct run_terms *terms)
{
    bool is_relative = !has_text(message, "'/") && !has_text(message, " /");

    for (size_t i = 0; i < terms->n_grants; i++)
        if (terms->grants[i].mode == RUN_GRANT_RO &&
            (has_text(message, seen_path(&terms->grants[i])) ||
             (is_relative && terms->workdir && paths_below(terms->workdir, terms->grants[i].path))))
            return &terms->grants[i];
    return NULL;
}

static int add_writable(struct span message, const struct run_terms *terms, struct buf *out)
{
    const struct run_grant *grant = read_only_in(message, terms);
    const char *directory = grant ? grant->path : NULL;

    if (buf_add_str(out, "writable here: ", NULL) < 0 || place_add_writable(terms, out) < 0)
        return -1;
    if (!grant)
        return 0;
    if (grant->is_for_sessions)
        return buf_printf(out, NULL,
                          "; %s is copy-on-write, for sessions only: open a session to "
                          "write there",
                          directory);
    return buf_printf(out, NULL,
                      "; %s is granted read-only; `--allow %s:rw` makes it writable; \"%s:rw\" in "
                      "`allow` of the request makes it writable; ask the user for %s:rw",
                      directory, directory, directory, directory);
}

/* Files that the owner of the directory would run. */
static int add_protected(const struct run_terms *terms, struct buf *out)
{
    if (buf_add_str(out,
                    "names that run code, such as .bashrc or .git/hooks, are protected in "
                    "granted directories; ",
                    NULL) < 0)
        return -1;
    return add_writable((struct span){"", 0}, terms, out);
}

static const struct {
    const char *exception;
    uint32_t advice;
    int (*add)(const struct wire_exception *e, const struct run_terms *terms, struct buf *out);
    const char *text;
} table[] = {
    {"ModuleNotFoundError", WIRE_ADVICE_MODULE, add_missing_module, NULL},
    {"ModuleNotFoundError", WIRE_ADVICE_NONE, NULL,
     NO_MODULE "; `belljar doctor` lists the installed ones" MORE_MODULES},
    {"NameError", WIRE_ADVICE_IMPORT, add_import, NULL},
    {"AttributeError", WIRE_ADVICE_VERSION, add_version, NULL},
    {"ImportError", WIRE_ADVICE_VERSION, add_version, NULL},
    {"ValueError", WIRE_ADVICE_VERSION, add_version, NULL},
    {"SyntaxError", WIRE_ADVICE_VERSION, add_version, NULL},
    {"MemoryError", WIRE_ADVICE_NONE, NULL,
     "raise `memory_mb` (`--memory`), or work on the data in pieces"},
    {"RecursionError", WIRE_ADVICE_NONE, NULL,
     "the recursion does not end, or needs a loop instead"},
    {"EOFError", WIRE_ADVICE_NONE, NULL,
     "input() has nothing to read: write the value into the code, or pass `stdin` "
     "(`--stdin FILE`)"},
    {"gaierror", WIRE_ADVICE_NONE, add_hosts, NULL},
    {"URLError", WIRE_ADVICE_NONE, add_hosts, NULL},
    {"ConnectionError", WIRE_ADVICE_NONE, add_hosts, NULL},
    {"ConnectError", WIRE_ADVICE_NONE, add_hosts, NULL},
    {"ProxyError", WIRE_ADVICE_NONE, add_hosts, NULL},
    {"FileNotFoundError", WIRE_ADVICE_NONE, add_start, NULL},
    {"NotADirectoryError", WIRE_ADVICE_NONE, add_start, NULL},
    {"IsADirectoryError", WIRE_ADVICE_NONE, NULL,
     "it is a directory; `ls` in Bash and pathlib.Path.iterdir() in Python list it; list_files "
     "lists it"},
    {"SyntaxError", WIRE_ADVICE_MAGIC, NULL,
     "`%lsmagic` lists the commands of notebooks that are supported: !command, x = !command, "
     "%cd, %env, %pwd, %run, %pip, %time, %timeit, %who, %%bash, %%time, %%writefile, name? and "
     "others"},
};

/* A skill is given to a program that says its name; a missing one is no matter of packages. */
static bool is_skill(const struct wire_exception *e)
{
    static const char error[] = "ModuleNotFoundError", begin[] = "No module named 'skills";
    struct span said = e->message;

    return e->name.len == sizeof(error) - 1 && memcmp(e->name.data, error, e->name.len) == 0 &&
           said.len >= sizeof(begin) && memcmp(said.data, begin, sizeof(begin) - 1) == 0 &&
           (said.data[sizeof(begin) - 1] == '\'' || said.data[sizeof(begin) - 1] == '.');
}

static bool is_error(const struct wire_exception *e, const char *name, const char *begin)
{
    return e->name.len == strlen(name) && memcmp(e->name.data, name, e->name.len) == 0 &&
           e->message.len >= strlen(begin) && memcmp(e->message.data, begin, strlen(begin)) == 0;
}

static bool is_refusal(const struct wire_exception *e)
{
    return has_text(e->message, "blocked by profile");
}

/* For a program that the policy stopped while it ran. Its own words say what to do where the
 * profile has a hint, after a semicolon. */
static char *advice_on_refusal(const struct wire_exception *e, const struct run_terms *terms)
{
    static const struct {
        const char *event, *with_shell, *without;
    } rows[] = {
        {"`os.fork",
         "for work in parallel use concurrent.futures.ThreadPoolExecutor, or run a script with "
         "Bash",
         "use concurrent.futures.ThreadPoolExecutor"},
        {"`subprocess.Popen`", STARTS_WITH_SHELL, STARTS_NOTHING},
        {"`os.system`", STARTS_WITH_SHELL, STARTS_NOTHING},
        {"`os.exec`", STARTS_WITH_SHELL, STARTS_NOTHING},
        {"`os.spawn`", STARTS_WITH_SHELL, STARTS_NOTHING},
        {"`os.posix_spawn`", STARTS_WITH_SHELL, STARTS_NOTHING},
        {"`pty.spawn`", STARTS_WITH_SHELL, STARTS_NOTHING},
        {"`socket.", NO_NETWORK, NO_NETWORK},
        {"`urllib.Request`", NO_NETWORK, NO_NETWORK},
        {"`", "run it as a script with Bash, where the profile does not judge it", NULL},
    };
    bool has_shell = place_has_shell(terms);

    if (has_text(e->message, "; "))
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *text = has_shell ? rows[i].with_shell : rows[i].without;

        if (has_text(e->message, rows[i].event))
            return text ? strdup(text) : NULL;
    }
    return NULL;
}

/* Errors of writing, by their number. */
static bool is_about_writing(const struct wire_exception *e)
{
    return is_error(e, "OSError", "[Errno 30]") || is_error(e, "PermissionError", "[Errno 13]");
}

/* Of a port; an error about a file names it. */
static bool is_about_port(const struct wire_exception *e)
{
    static const char said[] = "[Errno 13] Permission denied";

    return is_error(e, "PermissionError", said) && e->message.len == sizeof(said) - 1;
}

/* pandas looks before it writes. */
static int add_directory(const struct run_terms *terms, struct buf *out)
{
    if (buf_add_str(out,
                    "make the directory first, as `os.makedirs(directory, exist_ok=True)` does; "
                    "writable here: ",
                    NULL) < 0)
        return -1;
    return place_add_writable(terms, out);
}

/* `from api.filesystem import X` of an X that is not there. */
static int add_names_of_api(const struct wire_exception *e, struct buf *out)
{
    static const char mark[] = " from 'api";
    const char *at =
        e->message.data ? memmem(e->message.data, e->message.len, mark, sizeof(mark) - 1) : NULL;
    struct span module;

    if (!at)
        return -1;
    module.data = at + sizeof(mark) - sizeof("api");
    module.len = e->message.len - (size_t)(module.data - e->message.data);
    at = memchr(module.data, '\'', module.len);
    module.len = at ? (size_t)(at - module.data) : 0;
    if (!is_module_name(module))
        return -1;
    return buf_printf(out, NULL, "`import %.*s; help(%.*s)` shows its functions", SHOWN(module),
                      SHOWN(module));
}

/* The gate's answer to a request for another host, as urllib tells it, or no gate at all. */
static bool is_refused_host(const struct wire_exception *e)
{
    static const char name[] = "HTTPError", said[] = "the host is not granted";

    if (is_error(e, "OSError", "[Errno 101]") || is_error(e, "OSError", "[Errno 113]"))
        return true;
    return e->name.len == sizeof(name) - 1 && memcmp(e->name.data, name, e->name.len) == 0 &&
           has_text(e->message, said);
}

static int add_descriptors(struct span line, const struct run_terms *terms, struct buf *out)
{
    (void)line;
    return buf_printf(out, NULL,
                      "a process has at most %u files open: close them, as `with open()` does; the "
                      "operator sets `descriptors`",
                      terms->limits.descriptors);
}

char *advice_on(const struct wire_exception *exception, const struct run_terms *terms)
{
    cleanup(buf_done) struct buf out = BUF_OF(ADVICE_LENGTH);

    if (is_skill(exception))
        return strdup("there is no such skill; `belljar skills list` lists them; list_skills lists "
                      "them; in an import each `-` is a `_`");
    if (is_refusal(exception))
        return advice_on_refusal(exception, terms);
    if (is_about_port(exception))
        return strdup("listen on a port above 1023");
    if (is_error(exception, "OSError", "Cannot save file into a non-existent directory"))
        return add_directory(terms, &out) == 0 ? strdup(buf_str(&out)) : NULL;
    if (is_error(exception, "ImportError", "Missing optional dependency '"))
        return add_optional(exception, terms, &out) == 0 ? strdup(buf_str(&out)) : NULL;
    if (is_error(exception, "ImportError",
                 "Unable to find a usable engine; tried using: 'pyarrow'"))
        return strdup(
            "no package for such files is installed; use to_csv() and read_csv(), or sqlite3");
    if (is_error(exception, "RuntimeError", "Failed to process string with tex"))
        return strdup("delete the line that sets `text.usetex`: `$…$` is drawn without LaTeX");
    if (is_error(exception, "ValueError", "unknown file extension: .mp4"))
        return strdup("there is no ffmpeg: save the animation as .gif");
    if (is_error(exception, "ImportError", "Cannot load backend "))
        return strdup("delete the line that chooses a backend: plots are shown without a window");
    if (is_about_writing(exception))
        return add_writable(exception->message, terms, &out) == 0 ? strdup(buf_str(&out)) : NULL;
    if (is_error(exception, "PermissionError", "[Errno 1]"))
        return add_protected(terms, &out) == 0 ? strdup(buf_str(&out)) : NULL;
    /* With a cgroup, a denial says so as well; an ordinary user may have none. */
    if (is_error(exception, "RuntimeError", "can't start new thread"))
        return strdup("raise `pids` (`--pids`), or start fewer at a time");
    if (is_error(exception, "OSError", "[Errno 24]"))
        return add_descriptors(exception->message, terms, &out) == 0 ? strdup(buf_str(&out)) : NULL;
    if (is_error(exception, "ImportError", "cannot import name ") &&
        add_names_of_api(exception, &out) == 0)
        return strdup(buf_str(&out));
    if (is_refused_host(exception))
        return add_hosts(exception, terms, &out) == 0 ? strdup(buf_str(&out)) : NULL;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        if (exception->advice != table[i].advice ||
            exception->name.len != strlen(table[i].exception) ||
            memcmp(exception->name.data, table[i].exception, exception->name.len) != 0)
            continue;
        if (!table[i].add)
            return strdup(table[i].text);
        return table[i].add(exception, terms, &out) == 0 ? strdup(buf_str(&out)) : NULL;
    }
    return NULL;
}

/* --- commands --- */

static int on_command(struct span line, const struct run_terms *terms, struct buf *out)
{
    static const struct {
        const char *name, *instead;
    } known[] = {
        {" python: ", "the command is `python3`"},
        {" pip: ", "the command is `python3 -m pip`"},
        {" sudo: ", "there are no other users here; run it without sudo"},
        {" apt: ", "packages cannot be installed here"},
        {" apt-get: ", "packages cannot be installed here"},
        {" rg: ", "it is not in this sandbox; `grep -rn` is"},
        {" fd: ", "it is not in this sandbox; `find` is"},
        {" tree: ", "it is not in this sandbox; `find` is"},
        {" import: ", "these are lines of Python: run the program as Python"},
        {" from: ", "these are lines of Python: run the program as Python"},
    };

    (void)terms;
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (memmem(line.data, line.len, known[i].name, strlen(known[i].name)))
            return buf_add_str(out, known[i].instead, NULL);
    return buf_add_str(
        out,
        "it is not among the programs of this sandbox, which are those of the host's "
        "/usr; use another program or Python; ask the user to install it",
        NULL);
}

static int on_path(struct span line, const struct run_terms *terms, struct buf *out)
{
    (void)line;
    return add_start(NULL, terms, out);
}

static int on_host(struct span line, const struct run_terms *terms, struct buf *out)
{
    (void)line;
    return add_hosts(NULL, terms, out);
}

static int on_protected(struct span line, const struct run_terms *terms, struct buf *out)
{
    (void)line;
    return add_protected(terms, out);
}

static int on_denied(struct span line, const struct run_terms *terms, struct buf *out)
{
    static const char script[] = ": ./", command[] = "cannot be executed";

    if (memmem(line.data, line.len, script, sizeof(script) - 1) ||
        memmem(line.data, line.len, command, sizeof(command) - 1))
        return buf_add_str(out, "run it with `bash FILE`, or make it executable with `chmod +x`",
                           NULL);
    return add_writable(line, terms, out);
}

/* The kernel does not find what the first line of a script names. */
static int on_interpreter(struct span line, const struct run_terms *terms, struct buf *out)
{
    (void)line;
    (void)terms;
    return buf_add_str(out,
                       "the program that its first line names does not exist: write "
                       "`#!/usr/bin/env python3` or `#!/bin/bash`, without a carriage return",
                       NULL);
}

/* Services of a whole computer. */
static int on_service(struct span line, const struct run_terms *terms, struct buf *out)
{
    static const struct {
        const char *said, *instead;
    } services[] = {
        {"Docker", "containers cannot be started here: run the command itself"},
        {"systemd", "there are no services here: start the program itself, with `&` behind it"},
        {"PGSQL", "there is no database server here: use `python3` with sqlite3"},
    };

    (void)terms;
    for (size_t i = 0; i < ARRAY_SIZE(services); i++)
        if (has_text(line, services[i].said))
            return buf_add_str(out, services[i].instead, NULL);
    return -1;
}

static int on_module(struct span line, const struct run_terms *terms, struct buf *out)
{
    static const char begin[] = "No module named '";
    const char *at = memmem(line.data, line.len, begin, sizeof(begin) - 1);
    size_t before = at ? (size_t)(at - line.data) : line.len;
    const char *instead = substitute_in((struct span){line.data + before, line.len - before},
                                        usual_packages, ARRAY_SIZE(usual_packages));

    if (instead && buf_printf(out, NULL, NO_MODULE "; use %s", instead) < 0)
        return -1;
    if (instead)
        return add_more_modules(terms, out);
    return add_no_module(line, terms, out) < 0 ? -1 : add_more_modules(terms, out);
}

static int on_memory(struct span line, const struct run_terms *terms, struct buf *out)
{
    (void)line;
    (void)terms;
    return buf_add_str(out, "raise `memory_mb` (`--memory`), or work on the data in pieces", NULL);
}

static int on_packages(struct span line, const struct run_terms *terms, struct buf *out)
{
    (void)line;
    (void)terms;
    return buf_add_str(out, "packages of the system cannot be installed here; ask the user", NULL);
}

/* `git commit -S`: what asks for the key is a child, whom nobody outside answers. */
static int on_signature(struct span line, const struct run_terms *terms, struct buf *out)
{
    (void)line;
    (void)terms;
    return buf_add_str(
        out,
        "no key is inside a sandbox: `git commit --no-gpg-sign` commits without a "
        "signature; api.git_operations.git_commit(MESSAGE, sign=True) in Python signs "
        "if there is a function `git_sign` of the host; ask the user to sign it",
        NULL);
}

/* Of node: a file, or a package. */
static int on_require(struct span line, const struct run_terms *terms, struct buf *out)
{
    if (memmem(line.data, line.len, "'.", 2) || memmem(line.data, line.len, "'/", 2))
        return add_start(NULL, terms, out);
    return buf_add_str(out,
                       "packages are found in `node_modules` of the directory where the program "
                       "starts and of granted ones",
                       NULL);
}

/* Messages of programs that fail, in the words of the C library, bash, curl, wget, git and node.
 * `is_sure`: it says so even if the whole went well, as `curl URL | head` does. */
static const struct {
    const char *said;
    int (*add)(struct span line, const struct run_terms *terms, struct buf *out);
    bool is_sure;
} outputs[] = {
    {"gpg failed to sign", on_signature},
    {"cannot run gpg", on_signature},
    {"cannot run ssh-keygen", on_signature},
    {"Couldn't load public key", on_signature},
    {"No private key found", on_signature},
    {"user.signingKey needs", on_signature},
    {"either user.signingkey", on_signature},
    {"Cannot connect to the Docker daemon", on_service},
    {"connect to the docker API", on_service},
    {"System has not been booted with systemd", on_service},
    {".s.PGSQL.", on_service},
    {"/var/lib/dpkg/", on_packages},
    {"/var/lib/apt/", on_packages},
    {"Too many open files", add_descriptors},
    {"not a git repository", on_path},
    {"command not found", on_command, true},
    {": not found", on_command},
    {"Read-only file system", add_writable},
    {"Operation not permitted", on_protected},
    {"Permission denied", on_denied},
    {"Could not resolve", on_host, true},
    {"Name or service not known", on_host, true},
    {"emporary failure in name resolution", on_host},
    {"unable to resolve host", on_host, true},
    {"Network is unreachable", on_host},
    {"the host is not granted", on_host},
    {"cannot execute: required file not found", on_interpreter},
    {"bad interpreter: ", on_interpreter},
    {"No module named", on_module},
    {"No such file or directory", on_path},
    {"no such file in the sandbox", on_path},
    {"Cannot allocate memory", on_memory},
    {"heap out of memory", on_memory},
    {"EROFS: ", add_writable},
    {"EPERM: ", on_protected},
    {"EACCES: ", add_writable},
    {"ENOENT: ", on_path},
    {"getaddrinfo E", on_host},
    {"connect ENETUNREACH", on_host},
    {"Cannot find module '", on_require},
    {"Cannot find package '", on_require},
};

/* The end of an output, which has the reason. */
#define LINES_READ 20

static char *advice_on_line(struct span line, const struct run_terms *terms, bool has_failed)
{
    cleanup(buf_done) struct buf out = BUF_OF(ADVICE_LENGTH);

    for (size_t i = 0; i < ARRAY_SIZE(outputs); i++)
        if ((has_failed || outputs[i].is_sure) &&
            memmem(line.data, line.len, outputs[i].said, strlen(outputs[i].said)))
            return outputs[i].add(line, terms, &out) == 0 ? strdup(buf_str(&out)) : NULL;
    return NULL;
}

char *advice_on_output(const char *text, size_t len, const struct run_terms *terms, bool has_failed)
{
    for (unsigned lines = 0; len && lines < LINES_READ; lines++) {
        const char *newline, *begin;
        char *advice;

        while (len && text[len - 1] == '\n')
            len--;
        newline = memrchr(text, '\n', len);
        begin = newline ? newline + 1 : text;
        advice =
            advice_on_line((struct span){begin, len - (size_t)(begin - text)}, terms, has_failed);
        if (advice)
            return advice;
        len = (size_t)(begin - text);
    }
    return NULL;
}

/* Whether a command line asks another machine for something. */
static bool asks_a_host(struct span code)
{
    return (has_text(code, "curl ") || has_text(code, "wget ")) && has_text(code, "://") &&
           !has_text(code, "//localhost") && !has_text(code, "//127.0.0.1");
}

char *advice_on_silence(struct span code, const struct run_terms *terms)
{
    cleanup(buf_done) struct buf out = BUF_OF(ADVICE_LENGTH);

    if (terms->net || !asks_a_host(code))
        return NULL;
    return add_hosts(NULL, terms, &out) == 0 ? strdup(buf_str(&out)) : NULL;
}

/* Of a shell, and no names that a Python program begins with. */
static bool is_shell_command(struct span word)
{
    static const char *const words[] = {
        "apt",  "awk",  "cat", "cd",   "chmod", "cp",     "curl",   "du",
        "echo", "find", "git", "grep", "head",  "ls",     "make",   "mkdir",
        "mv",   "node", "npm", "pip",  "pwd",   "pytest", "python", "python3",
        "rg",   "rm",   "sed", "tail", "touch", "wc",     "wget",   "which"};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (span_is(word, words[i]))
            return true;
    return false;
}

char *advice_on_language(struct span code, struct span exception, const struct run_terms *terms)
{
    struct span word, rest;
    size_t len = 0;

    while (code.len && isspace((unsigned char)code.data[0]))
        code = (struct span){code.data + 1, code.len - 1};
    while (len < code.len && isalnum((unsigned char)code.data[len]))
        len++;
    word = (struct span){code.data, len};
    rest = (struct span){code.data + len, code.len - len};
    if (!place_has_shell(terms) || !is_shell_command(word) ||
        (rest.len && !isspace((unsigned char)rest.data[0])) || span_starts_with(rest, " =") ||
        (!span_is(exception, "NameError") && !span_is(exception, "SyntaxError")))
        return NULL;
    return strdup("this was run as Python; `belljar run -l bash` runs Bash, and at the prompt "
                  "`:lang bash` does; pass `language` \"bash\" to run it as Bash; "
                  "execute_bash_code runs Bash");
}
