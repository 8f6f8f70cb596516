#include "engine/advice.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/paths.h"
#include "engine/place.h"

#define NAME_MAX_LEN  ((size_t)64)
#define NAMES_LISTED  20
#define ADVICE_LENGTH (2 * KIB)

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

static int add_missing_module(const struct wire_exception *e, const struct run_terms *terms,
                              struct buf *out)
{
    struct span nearest = e->names.count ? e->names.items[0] : (struct span){"", 0};
    unsigned listed = 0;

    if (is_module_name(nearest)) {
        if (buf_printf(out, NULL, "did you mean `%.*s`? ", SHOWN(nearest)) < 0)
            return -1;
    } else if (buf_add_str(out, NO_MODULE "; ", NULL) < 0) {
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
    return is_module_name(nearest) ? 0 : add_more_modules(terms, out);
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

/* Adds the directory that it searched, and others that have something. */
static int add_start(const struct wire_exception *e, const struct run_terms *terms, struct buf *out)
{
    (void)e;
    if (buf_printf(out, NULL, "relative paths begin in %s", place_start(terms)) < 0)
        return -1;
    if (!terms->n_grants)
        return buf_add_str(out,
                           "; no directory of the host is granted; `--allow DIR` grants one; "
                           "`allow` of the request grants one; ask the user for it",
                           NULL);
    return buf_add_str(out, "; granted: ", NULL) < 0 ? -1 : place_add_directories(terms, out);
}

static bool has_text(struct span message, const char *text)
{
    return memmem(message.data, message.len, text, strlen(text)) != NULL;
}

/* The path of a grant as a program may see it: in a sandbox /var/tmp is a link to /tmp. It is also
 * a part of the path itself. */
static const char *seen_path(const struct run_grant *grant)
{
    return strncmp(grant->path, "/var/tmp/", 9) == 0 ? grant->path + 4 : grant->path;
}

/* The read-only directory that a message is about: the one that it names, or for a relative path
 * the one in which the program started. Only our own name for it is used. */
static const char *read_only_in(struct span message, const struct run_terms *terms)
{
    bool is_relative = !has_text(message, "'/") && !has_text(message, " /");

    for (size_t i = 0; i < terms->n_grants; i++)
        if (terms->grants[i].mode == RUN_GRANT_RO &&
            (has_text(message, seen_path(&terms->grants[i])) ||
             (is_relative && terms->workdir && paths_below(terms->workdir, terms->grants[i].path))))
            return terms->grants[i].path;
    return NULL;
}

static int add_writable(struct span message, const struct run_terms *terms, struct buf *out)
{
    const char *directory = read_only_in(message, terms);

    if (buf_add_str(out, "writable here: ", NULL) < 0 || place_add_writable(terms, out) < 0)
        return -1;
    if (!directory)
        return 0;
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
    {"SyntaxError", WIRE_ADVICE_MAGIC, NULL,
     "`%`, `!` and `?` are a notebook's, not Python's: run commands of the system as Bash"},
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

/* Errors of writing, by their number: a policy raises PermissionError, too, with other words. */
static bool is_about_writing(const struct wire_exception *e)
{
    return is_error(e, "OSError", "[Errno 30]") || is_error(e, "PermissionError", "[Errno 13]");
}

/* The gate's answer to a request for another host, as urllib tells it, or no gate at all. */
static bool is_refused_host(const struct wire_exception *e)
{
    static const char name[] = "HTTPError", said[] = "the host is not granted";

    if (is_error(e, "OSError", "[Errno 101]") || is_error(e, "OSError", "[Errno 113]"))
        return true;
    return e->name.len == sizeof(name) - 1 && memcmp(e->name.data, name, e->name.len) == 0 &&
           memmem(e->message.data, e->message.len, said, sizeof(said) - 1);
}

char *advice_on(const struct wire_exception *exception, const struct run_terms *terms)
{
    cleanup(buf_done) struct buf out = BUF_OF(ADVICE_LENGTH);

    if (is_skill(exception))
        return strdup("there is no such skill; `belljar skills list` lists them; list_skills lists "
                      "them; in an import each `-` is a `_`");
    if (is_about_writing(exception))
        return add_writable(exception->message, terms, &out) == 0 ? strdup(buf_str(&out)) : NULL;
    if (is_error(exception, "PermissionError", "[Errno 1]"))
        return add_protected(terms, &out) == 0 ? strdup(buf_str(&out)) : NULL;
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
    static const char script[] = ": ./";

    if (memmem(line.data, line.len, script, sizeof(script) - 1))
        return buf_add_str(out, "run it with `bash FILE`, or make it executable with `chmod +x`",
                           NULL);
    return add_writable(line, terms, out);
}

static int on_module(struct span line, const struct run_terms *terms, struct buf *out)
{
    (void)line;
    return buf_add_str(out, NO_MODULE, NULL) < 0 ? -1 : add_more_modules(terms, out);
}

static int on_memory(struct span line, const struct run_terms *terms, struct buf *out)
{
    (void)line;
    (void)terms;
    return buf_add_str(out, "raise `memory_mb` (`--memory`), or work on the data in pieces", NULL);
}

/* Messages of programs that fail, in the words of the C library, bash, curl, wget and git. */
static const struct {
    const char *said;
    int (*add)(struct span line, const struct run_terms *terms, struct buf *out);
} outputs[] = {
    {"command not found", on_command},       {": not found", on_command},
    {"Read-only file system", add_writable}, {"Operation not permitted", on_protected},
    {"Permission denied", on_denied},        {"Could not resolve", on_host},
    {"Name or service not known", on_host},  {"emporary failure in name resolution", on_host},
    {"unable to resolve host", on_host},     {"Network is unreachable", on_host},
    {"the host is not granted", on_host},    {"No module named", on_module},
    {"No such file or directory", on_path},  {"Cannot allocate memory", on_memory},
};

/* The end of an output, which has the reason. */
#define LINES_READ 20

static char *advice_on_line(struct span line, const struct run_terms *terms)
{
    cleanup(buf_done) struct buf out = BUF_OF(ADVICE_LENGTH);

    for (size_t i = 0; i < ARRAY_SIZE(outputs); i++)
        if (memmem(line.data, line.len, outputs[i].said, strlen(outputs[i].said)))
            return outputs[i].add(line, terms, &out) == 0 ? strdup(buf_str(&out)) : NULL;
    return NULL;
}

char *advice_on_output(const char *text, size_t len, const struct run_terms *terms)
{
    for (unsigned lines = 0; len && lines < LINES_READ; lines++) {
        const char *newline, *begin;
        char *advice;

        while (len && text[len - 1] == '\n')
            len--;
        newline = memrchr(text, '\n', len);
        begin = newline ? newline + 1 : text;
        advice = advice_on_line((struct span){begin, len - (size_t)(begin - text)}, terms);
        if (advice)
            return advice;
        len = (size_t)(begin - text);
    }
    return NULL;
}
