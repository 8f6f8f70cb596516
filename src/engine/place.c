#include "engine/place.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/language.h"
#include "base/net.h"
#include "base/span.h"
#include "base/terminal_text.h"
#include "calls/apis.h"
#include "engine/environment.h"
#include "wire/policy.h"

/* So many of a kind are named; of the others only their number. */
#define DIRECTORIES_SHOWN 4
#define HOSTS_SHOWN       4
#define HELPERS_SHOWN     16

#define NAME_BYTES (4 * KIB)

static const char *const modes[] = {
    [RUN_GRANT_RO] = "read-only", [RUN_GRANT_RW] = "writable", [RUN_GRANT_COW] = "copy-on-write"};

static int add_name(const char *name, struct buf *out)
{
    cleanup(buf_done) struct buf line = BUF_OF(4 * NAME_BYTES);

    if (terminal_line(name, strnlen(name, NAME_BYTES), &line, NULL) < 0)
        return -1;
    return buf_add(out, buf_str(&line), line.len, NULL);
}

static int add_more(size_t count, size_t shown, struct buf *out)
{
    return count > shown ? buf_printf(out, NULL, " and %zu more", count - shown) : 0;
}

/* --- parts --- */

int place_add_directories(const struct run_terms *terms, struct buf *out)
{
    for (size_t i = 0; i < terms->n_grants && i < DIRECTORIES_SHOWN; i++)
        if ((i && buf_add_str(out, ", ", NULL) < 0) || add_name(terms->grants[i].path, out) < 0 ||
            buf_printf(out, NULL, " (%s)", modes[terms->grants[i].mode]) < 0)
            return -1;
    return add_more(terms->n_grants, DIRECTORIES_SHOWN, out);
}

int place_add_writable(const struct run_terms *terms, struct buf *out)
{
    size_t count = 0;

    if (buf_add_str(out, "/workspace, /tmp", NULL) < 0)
        return -1;
    for (size_t i = 0; i < terms->n_grants; i++) {
        if (terms->grants[i].mode == RUN_GRANT_RO)
            continue;
        if (count++ < DIRECTORIES_SHOWN &&
            (buf_add_str(out, ", ", NULL) < 0 || add_name(terms->grants[i].path, out) < 0))
            return -1;
    }
    return add_more(count, DIRECTORIES_SHOWN, out);
}

int place_add_hosts(const struct run_terms *terms, struct buf *out)
{
    size_t count = terms->net ? terms->net->count : 0;

    for (size_t i = 0; i < count && i < HOSTS_SHOWN; i++) {
        char text[1024];

        if (net_grant_text(&terms->net->grants[i], text, sizeof(text)) < 0)
            (void)snprintf(text, sizeof(text), "?");
        if ((i && buf_add_str(out, ", ", NULL) < 0) || add_name(text, out) < 0)
            return -1;
    }
    if (count && add_more(count, HOSTS_SHOWN, out) < 0)
        return -1;
    if (terms->net && terms->net->asks)
        return buf_printf(out, NULL, "%sothers after asking the user", count ? ", " : "");
    return count ? 0 : buf_add_str(out, "none", NULL);
}

const char *place_start(const struct run_terms *terms)
{
    return terms->workdir ? terms->workdir : "/workspace";
}

static const char *mode_of(const struct run_terms *terms, const char *path)
{
    for (size_t i = 0; i < terms->n_grants; i++)
        if (strcmp(terms->grants[i].path, path) == 0)
            return modes[terms->grants[i].mode];
    return NULL;
}

int place_add_line(const struct run_terms *terms, struct buf *out)
{
    const char *mode = terms->workdir ? mode_of(terms, terms->workdir) : NULL;
    bool is_only = terms->n_grants == 1 && mode;

    if (terms->is_on_host &&
        buf_add_str(out, "Use relative paths: there is no /workspace here. ", NULL) < 0)
        return -1;
    if (!terms->n_grants && !terms->net)
        return 0;
    if (buf_add_str(out, "Code starts in ", NULL) < 0 || add_name(place_start(terms), out) < 0 ||
        (mode && buf_printf(out, NULL, " (%s)", mode) < 0))
        return -1;
    if (terms->n_grants && !is_only &&
        (buf_add_str(out, ". Granted: ", NULL) < 0 || place_add_directories(terms, out) < 0))
        return -1;
    if (terms->net && (buf_add_str(out, ". Hosts: ", NULL) < 0 || place_add_hosts(terms, out) < 0))
        return -1;
    return buf_add_str(out, ".", NULL);
}

int place_add_mark(const struct run_terms *terms, struct buf *out)
{
    const char *mode = terms->workdir ? mode_of(terms, terms->workdir) : NULL;

    if (terms->n_grants != 1 || !mode || terms->net)
        return 0;
    return buf_add_str(out, "[in ", NULL) < 0 || add_name(place_start(terms), out) < 0 ||
                   buf_printf(out, NULL, ", %s]", mode) < 0
               ? -1
               : 1;
}

/* --- what can be imported --- */

static bool has_row(const struct wire_policy *policy, enum policy_list list, const char *module)
{
    for (size_t i = 0; i < policy->n_rows; i++)
        if (policy->rows[i].list == list && span_is(policy->rows[i].key, module))
            return true;
    return false;
}

bool place_lacks_os(const struct run_terms *terms)
{
    struct wire_policy policy;
    bool lacks;

    if (wire_policy_decode(terms->policy, &policy) < 0)
        return false;
    lacks = (policy.flags & POLICY_IMPORTS_LISTED) &&
            has_row(&policy, POLICY_IMPORT_ALLOW, "pathlib") &&
            !has_row(&policy, POLICY_IMPORT_ALLOW, "os");
    wire_policy_done(&policy);
    return lacks;
}

bool place_has_shell(const struct run_terms *terms)
{
    struct wire_policy policy;
    bool is_judged;

    if (!terms->may_spawn || wire_policy_decode(terms->policy, &policy) < 0)
        return terms->may_spawn;
    is_judged = (policy.flags & POLICY_IMPORTS_LISTED) && !(policy.flags & POLICY_PROJECT_ALLOWED);
    wire_policy_done(&policy);
    return !is_judged;
}

static int is_module(const struct dirent *entry)
{
    return apis_module_len(entry->d_name) > 0;
}

int place_add_helpers(const struct config *config, struct buf *out)
{
    const char *directory = config->helpers;
    struct dirent **entries = NULL;
    int count = *directory ? scandir(directory, &entries, is_module, alphasort) : 0, r = 0;

    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;

        if (r == 0 && i < HELPERS_SHOWN)
            r = buf_printf(out, NULL, "%s%.*s", i ? ", " : "helpers: ", (int)apis_module_len(name),
                           name);
        free(entries[i]);
    }
    free(entries);
    if (count > 0 && r == 0)
        r = add_more((size_t)count, HELPERS_SHOWN, out);
    return count > 0 && r == 0 ? buf_add_str(out, "\n", NULL) : r;
}

/* Bash runs it where Python may not import it. */
#define TESTS "pytest"

/* Packages that programs are written for; others are found by import. */
static const char *const notable[] = {
    "numpy",        "pandas",   "scipy",    "scikit-learn", "matplotlib", "sympy",
    "networkx",     "requests", "pillow",   "openpyxl",     "lxml",       "beautifulsoup4",
    "statsmodels",  "seaborn",  "polars",   "duckdb",       "pyarrow",    "sqlalchemy",
    "scikit-image", "pypdf",    "tabulate", "pyyaml",       TESTS,
};

struct package_versions {
    char versions[ARRAY_SIZE(notable)][32];
};

/* "scikit_learn-1.2.1.dist-info" is scikit-learn 1.2.1. */
static void note_package(struct package_versions *found, const char *entry)
{
    size_t len = strcspn(entry, "-");
    const char *version = entry + len + 1, *end = strstr(entry, ".dist-info");

    if (!end)
        end = strstr(entry, ".egg-info");
    if (!entry[len] || !end || version >= end)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(notable); i++) {
        bool is_it = strlen(notable[i]) == len;
        size_t digits = strspn(version, "0123456789.");

        for (size_t k = 0; is_it && k < len; k++)
            is_it = tolower((unsigned char)entry[k]) == notable[i][k] ||
                    (entry[k] == '_' && notable[i][k] == '-');
        if (is_it && !*found->versions[i])
            (void)snprintf(
                found->versions[i], sizeof(found->versions[i]), "%.*s",
                (int)(digits < (size_t)(end - version) ? digits : (size_t)(end - version)),
                version);
    }
}

static void note_packages(struct package_versions *found, const char *directory)
{
    DIR *dir = opendir(directory);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        note_package(found, entry->d_name);
    if (dir)
        (void)closedir(dir);
}

static int add_packages(const struct environment *environment, bool has_shell, struct buf *out)
{
    struct package_versions found = {0};
    char path[PATH_MAX];
    size_t shown = 0;

    for (size_t i = 0; i < environment->n_binds; i++) {
        (void)snprintf(path, sizeof(path), "%s/lib/python%s/site-packages", environment->binds[i],
                       environment->version);
        note_packages(&found, path);
    }
    note_packages(&found, "/usr/lib/python3/dist-packages");
    for (size_t i = 0; i < ARRAY_SIZE(notable); i++)
        if (*found.versions[i] && (has_shell || strcmp(notable[i], TESTS) != 0) &&
            buf_printf(out, NULL, "%s%s %s", shown++ ? ", " : "packages: ", notable[i],
                       found.versions[i]) < 0)
            return -1;
    return shown ? buf_add_str(out, "\n", NULL) : 0;
}

/* --- everything --- */

static int add_limits(const struct run_limits *limits, double long_s, struct buf *out)
{
    double seconds = limits->timeout_ms / 1000.0;

    if (buf_printf(out, NULL, "limits: %g s a call", seconds) < 0 ||
        (long_s > seconds && buf_printf(out, NULL, " (with `wait_s` %g s)", long_s) < 0) ||
        buf_printf(out, NULL, ", %g MB memory, %g MB disk, %u processes",
                   (double)limits->memory_bytes / (double)MIB,
                   (double)limits->disk_bytes / (double)MIB, limits->processes) < 0)
        return -1;
    if (limits->cpu_percent && buf_printf(out, NULL, ", %g cores", limits->cpu_percent / 100.0) < 0)
        return -1;
    return buf_add_str(out, "\n", NULL);
}

/* Without processes nothing but Python runs. */
static int add_languages(const struct run_terms *terms, const char *python, struct buf *out)
{
    if (buf_printf(out, NULL, "\nlanguages: Python %s", python) < 0)
        return -1;
    for (size_t i = RUN_PYTHON + 1; terms->may_spawn && i < RUN_LANGUAGES; i++)
        if (language_is_installed((enum run_language)i) &&
            buf_printf(out, NULL, ", %s", languages[i].title) < 0)
            return -1;
    return buf_add_str(out, "\n", NULL);
}

static int add_place(const struct config *config, const struct run_terms *terms,
                     const struct environment *environment, double long_s, struct buf *out)
{
    if (terms->is_on_host &&
        buf_add_str(
            out,
            "isolation: process (weaker: no namespaces; no sockets; use relative paths: "
            "the workspace is $HOME and the starting directory, and there is no /workspace; "
            "temporary files go to $TMPDIR)\n",
            NULL) < 0)
        return -1;
    if (buf_add_str(out,
                    terms->is_on_host ? "directories: /workspace (private)"
                                      : "directories: /workspace (private), /tmp (private)",
                    NULL) < 0 ||
        (terms->n_grants && buf_add_str(out, ", ", NULL) < 0) ||
        place_add_directories(terms, out) < 0 || buf_add_str(out, "\nstarts in: ", NULL) < 0 ||
        add_name(place_start(terms), out) < 0 || buf_add_str(out, "\nhosts: ", NULL) < 0 ||
        place_add_hosts(terms, out) < 0 || add_languages(terms, environment->version, out) < 0)
        return -1;
    if (place_add_helpers(config, out) < 0 ||
        add_packages(environment, place_has_shell(terms), out) < 0)
        return -1;
    return add_limits(&terms->limits, long_s, out);
}

int place_add(const struct config *config, const struct run_terms *terms, double long_s,
              struct buf *out)
{
    struct environment environment = {0};
    int r;

    if (environment_open(&environment, config, terms->environment, false, false, NULL) < 0) {
        environment_done(&environment);
        environment = (struct environment){0};
        pythons_default(environment.version);
    }
    r = add_place(config, terms, &environment, long_s, out);
    environment_done(&environment);
    return r;
}

/* --- forks --- */

static int add_grants(const struct run_terms *terms, bool is_private, struct buf *out)
{
    size_t count = 0;

    for (size_t i = 0; i < terms->n_grants; i++) {
        if ((terms->grants[i].mode != RUN_GRANT_RO) != is_private)
            continue;
        if (count++ < DIRECTORIES_SHOWN && ((count > 1 && buf_add_str(out, ", ", NULL) < 0) ||
                                            add_name(terms->grants[i].path, out) < 0))
            return -1;
    }
    return add_more(count, DIRECTORIES_SHOWN, out);
}

static bool has_mode(const struct run_terms *terms, enum run_grant_mode mode)
{
    for (size_t i = 0; i < terms->n_grants; i++)
        if (terms->grants[i].mode == mode)
            return true;
    return false;
}

int place_add_forks(const struct run_terms *source, struct buf *out)
{
    bool has_rw = has_mode(source, RUN_GRANT_RW), has_cow = has_mode(source, RUN_GRANT_COW);

    if ((has_rw || has_cow) &&
        (buf_add_str(out, "Each fork has its own copy-on-write view of ", NULL) < 0 ||
         add_grants(source, true, out) < 0 ||
         buf_printf(out, NULL,
                    "%s: its changes are not on disk until you apply them by its session id.",
                    has_rw ? " (the source writes to disk)" : "") < 0))
        return -1;
    if (has_mode(source, RUN_GRANT_RO) &&
        (buf_printf(out, NULL, "%sShared, read-only: ", has_rw || has_cow ? " " : "") < 0 ||
         add_grants(source, false, out) < 0 || buf_add_str(out, ".", NULL) < 0))
        return -1;
    return 0;
}

const char *place_end_note(const struct run_terms *terms)
{
    if (has_mode(terms, RUN_GRANT_COW))
        return "; applied changes are on disk, others are gone";
    return has_mode(terms, RUN_GRANT_RW) ? "; files in granted directories stay" : "";
}
