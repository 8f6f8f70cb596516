#include "engine/advice.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
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
    "; more come with `belljar environment create NAME --with PACKAGE`, or by pip where a "        \
    "package "                                                                                     \
    "index is granted"

#define SHOWN(s) (int)(s).len, (s).data

static int add_missing_module(const struct wire_exception *e, const struct run_terms *terms,
                              struct buf *out)
{
    struct span nearest = e->names.count ? e->names.items[0] : (struct span){"", 0};
    unsigned listed = 0;

    (void)terms;
    if (is_module_name(nearest)) {
        if (buf_printf(out, NULL, "did you mean `%.*s`? ", SHOWN(nearest)) < 0)
            return -1;
    } else if (buf_add_str(out, "the module is not installed in this environment; ", NULL) < 0) {
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
    return is_module_name(nearest) ? 0 : buf_add_str(out, MORE_MODULES, NULL);
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
                           "no host is granted to this sandbox: `--net HOST`, or `net` in the "
                           "request, names those that it may reach",
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
        return buf_add_str(out, "; no directory of the host is granted", NULL);
    return buf_add_str(out, "; granted: ", NULL) < 0 ? -1 : place_add_directories(terms, out);
}

static int add_writable(const struct wire_exception *e, const struct run_terms *terms,
                        struct buf *out)
{
    (void)e;
    if (buf_add_str(out, "writable here: ", NULL) < 0 || place_add_writable(terms, out) < 0)
        return -1;
    return !terms->n_grants                            ? 0
           : buf_add_str(out, "; granted: ", NULL) < 0 ? -1
                                                       : place_add_directories(terms, out);
}

static const struct {
    const char *exception;
    uint32_t advice;
    int (*add)(const struct wire_exception *e, const struct run_terms *terms, struct buf *out);
    const char *text;
} table[] = {
    {"ModuleNotFoundError", WIRE_ADVICE_MODULE, add_missing_module, NULL},
    {"ModuleNotFoundError", WIRE_ADVICE_NONE, NULL,
     "the module is not installed in this environment; `belljar doctor` lists the installed ones"},
    {"NameError", WIRE_ADVICE_IMPORT, add_import, NULL},
    {"MemoryError", WIRE_ADVICE_NONE, NULL, "allow more memory, or work on the data in pieces"},
    {"RecursionError", WIRE_ADVICE_NONE, NULL,
     "the recursion does not end, or needs a loop instead"},
    {"EOFError", WIRE_ADVICE_NONE, NULL,
     "input() has nothing to read: write the value into the code, or pass standard input"},
    {"gaierror", WIRE_ADVICE_NONE, add_hosts, NULL},
    {"URLError", WIRE_ADVICE_NONE, add_hosts, NULL},
    {"ConnectionError", WIRE_ADVICE_NONE, add_hosts, NULL},
    {"ConnectError", WIRE_ADVICE_NONE, add_hosts, NULL},
    {"ProxyError", WIRE_ADVICE_NONE, add_hosts, NULL},
    {"FileNotFoundError", WIRE_ADVICE_NONE, add_start, NULL},
    {"NotADirectoryError", WIRE_ADVICE_NONE, add_start, NULL},
    {"SyntaxError", WIRE_ADVICE_MAGIC, NULL,
     "lines with `%` or `!` are a notebook's, not Python's: run commands of the system as Bash"},
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

/* Errors of writing, by their number: a policy raises PermissionError, too, with other words. */
static bool is_about_writing(const struct wire_exception *e)
{
    static const struct {
        const char *name, *begin;
    } errors[] = {{"OSError", "[Errno 30]"},
                  {"PermissionError", "[Errno 13]"},
                  {"PermissionError", "[Errno 1]"}};

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        size_t name = strlen(errors[i].name), begin = strlen(errors[i].begin);

        if (e->name.len == name && memcmp(e->name.data, errors[i].name, name) == 0 &&
            e->message.len >= begin && memcmp(e->message.data, errors[i].begin, begin) == 0)
            return true;
    }
    return false;
}

/* The gate's answer to a request for another host, as urllib tells it. */
static bool is_refused_host(const struct wire_exception *e)
{
    static const char name[] = "HTTPError", said[] = "the host is not granted";

    return e->name.len == sizeof(name) - 1 && memcmp(e->name.data, name, e->name.len) == 0 &&
           memmem(e->message.data, e->message.len, said, sizeof(said) - 1);
}

char *advice_on(const struct wire_exception *exception, const struct run_terms *terms)
{
    cleanup(buf_done) struct buf out = {0};

    if (is_skill(exception))
        return strdup("there is no such skill: `belljar skills list` or list_skills lists them; "
                      "in an import each `-` is a `_`");
    buf_init(&out, ADVICE_LENGTH);
    if (is_about_writing(exception))
        return add_writable(exception, terms, &out) == 0 ? strdup(buf_str(&out)) : NULL;
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
