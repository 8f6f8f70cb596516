#include "admit/git_identity.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/glob.h"
#include "base/identity.h"
#include "base/limits.h"
#include "sandbox/git_config.h"
#include "wire/message.h"

/* Of one file of settings, and of files that one includes, in turn and altogether. */
#define FILE_BYTES ((size_t)1 << 20)
#define DEPTH_MAX  10
#define FILES_MAX  64

/* Steps of comparing one pattern with a path. */
#define GLOB_STEPS 100000

/* Name, address, the file of both, signing, and four of git's own. */
#define VARIABLES_MAX 8

struct reading {
    char name[IDENTITY_PART_BYTES], email[IDENTITY_PART_BYTES];
    const char *git_dir; /* of the granted directory; NULL: there is none */
    bool is_signing;     /* commit.gpgSign */
    char home[PATH_MAX];
    const char *file; /* that is being read */
    unsigned depth, files;
};

/* --- the settings of the host's git --- */

static int read_file(struct reading *r, const char *path);

/* `~/x`, `./x` and `x`, of the file that says so. False: it does not fit, or needs a home. */
static bool resolve(const struct reading *r, const char *path, char full[PATH_MAX])
{
    const char *slash = strrchr(r->file, '/');
    int n;

    if (*path == '/')
        n = snprintf(full, PATH_MAX, "%s", path);
    else if (strncmp(path, "~/", 2) == 0)
        n = *r->home ? snprintf(full, PATH_MAX, "%s%s", r->home, path + 1) : PATH_MAX;
    else
        n = snprintf(full, PATH_MAX, "%.*s/%s", (int)(slash - r->file), r->file, path);
    return n > 0 && n < PATH_MAX;
}

/* Whether the pattern covers the directory itself or, if it ends with a slash, one above it. */
static bool covers(const char *pattern, const char *path)
{
    size_t len = strlen(pattern);
    bool is_tree = len > 1 && pattern[len - 1] == '/';
    char above[PATH_MAX], name[PATH_MAX];
    uint64_t steps = GLOB_STEPS;

    if ((size_t)snprintf(name, sizeof(name), "%.*s", (int)(len - is_tree), pattern) >=
            sizeof(name) ||
        (size_t)snprintf(above, sizeof(above), "%s", path) >= sizeof(above))
        return false;
    if (!is_tree)
        return glob_match(name, above, &steps);
    for (char *slash = strrchr(above, '/'); slash && slash != above; slash = strrchr(above, '/')) {
        *slash = '\0';
        if (glob_match(name, above, &steps))
            return true;
    }
    return false;
}

static void lower(char *text)
{
    for (; *text; text++)
        *text = (char)tolower((unsigned char)*text);
}

/* includeIf "gitdir:PATTERN"; other conditions speak of a repository's own data. */
static bool is_met(const struct reading *r, const char *condition)
{
    bool folds = strncmp(condition, "gitdir/i:", 9) == 0;
    const char *wanted = condition + (folds ? 9 : 7);
    char pattern[PATH_MAX], path[PATH_MAX];
    size_t len;

    if (!r->git_dir || (!folds && strncmp(condition, "gitdir:", 7) != 0))
        return false;
    if (*wanted == '/' || strncmp(wanted, "~/", 2) == 0 || strncmp(wanted, "./", 2) == 0) {
        if (!resolve(r, strncmp(wanted, "./", 2) == 0 ? wanted + 2 : wanted, pattern))
            return false;
    } else if (snprintf(pattern, sizeof(pattern), "**/%s", wanted) >= PATH_MAX) {
        return false;
    }
    len = strlen(pattern);
    if (len >= 3 && strcmp(pattern + len - 3, "/**") == 0)
        pattern[len - 2] = '\0';
    (void)snprintf(path, sizeof(path), "%s", r->git_dir);
    if (folds) {
        lower(pattern);
        lower(path);
    }
    return covers(pattern, path);
}

static void include(struct reading *r, const char *path)
{
    const char *file = r->file;
    char full[PATH_MAX];

    if (r->depth == DEPTH_MAX || !*path || !resolve(r, path, full))
        return;
    r->depth++;
    (void)read_file(r, full);
    r->depth--;
    r->file = file;
}

/* A value that git would not write into a commit counts as absent. */
static void take(char part[IDENTITY_PART_BYTES], const char *value)
{
    *part = '\0';
    if (identity_is_part(value))
        (void)snprintf(part, IDENTITY_PART_BYTES, "%s", value);
}

/* As git reads it; a variable without a value is true, too. */
static bool is_true(const char *value)
{
    return !*value || strcasecmp(value, "true") == 0 || strcasecmp(value, "yes") == 0 ||
           strcasecmp(value, "on") == 0 || strtol(value, NULL, 10) != 0;
}

static void on_variable(void *arg, const char *section, const char *subsection, const char *name,
                        const char *value)
{
    struct reading *r = arg;

    if (strcmp(section, "user") == 0 && !subsection && strcmp(name, "name") == 0)
        take(r->name, value);
    else if (strcmp(section, "user") == 0 && !subsection && strcmp(name, "email") == 0)
        take(r->email, value);
    else if (strcmp(section, "commit") == 0 && !subsection && strcmp(name, "gpgsign") == 0)
        r->is_signing = is_true(value);
    else if (strcmp(name, "path") != 0)
        return;
    else if ((strcmp(section, "include") == 0 && !subsection) ||
             (strcmp(section, "includeif") == 0 && subsection && is_met(r, subsection)))
        include(r, value);
}

/* A file that is not there, not a regular one or too large is passed over. */
static int read_file(struct reading *r, const char *path)
{
    cleanup_close int fd = -1;
    cleanup(buf_done) struct buf text = BUF_OF(FILE_BYTES);
    struct stat st;

    if (r->files++ >= FILES_MAX)
        return 0;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    if (buf_read_fd(&text, fd, NULL) < 0)
        return 0;
    r->file = path;
    return git_config_parse(buf_str(&text), text.len, on_variable, r);
}

static int read_below(struct reading *r, const char *dir, const char *name)
{
    char path[PATH_MAX];

    if (!dir || *dir != '/' || snprintf(path, sizeof(path), "%s/%s", dir, name) >= PATH_MAX)
        return 0;
    return read_file(r, path);
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);

    return value && *value && strcmp(value, "0") != 0 && strcasecmp(value, "false") != 0;
}

/* In git's order: the later ones are stronger. */
static int read_all(struct reading *r)
{
    const char *system = getenv("GIT_CONFIG_SYSTEM"), *global = getenv("GIT_CONFIG_GLOBAL");
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (!is_set("GIT_CONFIG_NOSYSTEM") &&
        read_file(r, system && *system == '/' ? system : "/etc/gitconfig") < 0)
        return -1;
    if (global)
        return *global == '/' ? read_file(r, global) : 0;
    if (read_below(r, xdg && *xdg ? xdg : home, xdg && *xdg ? "git/config" : ".config/git/config") <
        0)
        return -1;
    return read_below(r, home, ".gitconfig");
}

/* --- the granted directory --- */

/* Looks for the git directory as git does: upwards from there. Only names are looked at. */
static void find_git_dir(const char *dir, char git_dir[PATH_MAX])
{
    char above[PATH_MAX];
    struct stat st;

    (void)snprintf(above, sizeof(above), "%s", dir);
    for (char *slash; *above; *slash = '\0') {
        if (snprintf(git_dir, PATH_MAX, "%s/.git", above) < PATH_MAX && lstat(git_dir, &st) == 0)
            return;
        slash = strrchr(above, '/');
        if (!slash)
            break;
    }
    if (snprintf(git_dir, PATH_MAX, "%s/.git", dir) >= PATH_MAX)
        *git_dir = '\0';
}

static const char *directory_of(const struct run_terms *terms)
{
    if (terms->workdir || !terms->n_grants)
        return terms->workdir;
    for (size_t i = 0; i < terms->n_grants; i++)
        if (terms->grants[i].mode != RUN_GRANT_RO)
            return terms->grants[i].path;
    return terms->grants[0].path;
}

/* --- what the program gets --- */

static int add(char **list, const char *name, const char *value, struct error *err)
{
    size_t n = 0;

    if (!value || !identity_is_part(value))
        return 0;
    while (list[n])
        n++;
    if (n < VARIABLES_MAX && asprintf(&list[n], "%s=%s", name, value) < 0) {
        list[n] = NULL;
        return error_memory(err);
    }
    return 0;
}

/* Variables of the host's git are stronger than any file, there and inside. */
static int add_environment(char **list, struct error *err)
{
    static const char *const names[] = {"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME",
                                        "GIT_COMMITTER_EMAIL"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (add(list, names[i], getenv(names[i]), err) < 0)
            return -1;
    return 0;
}

static int put(struct run_terms *terms, const struct reading *r, bool is_host, struct error *err)
{
    const char *email = *r->email || !is_host ? r->email : getenv("EMAIL");

    terms->identity = calloc(VARIABLES_MAX + 1, sizeof(*terms->identity));
    if (!terms->identity)
        return error_memory(err);
    if (add(terms->identity, WIRE_GIT_NAME, r->name, err) < 0 ||
        add(terms->identity, WIRE_GIT_EMAIL, email, err) < 0)
        return -1;
    if (terms->identity[0] && add(terms->identity, "GIT_CONFIG_SYSTEM", WIRE_GIT_CONFIG, err) < 0)
        return -1;
    if (r->is_signing && add(terms->identity, WIRE_GIT_SIGNS, "true", err) < 0)
        return -1;
    return is_host ? add_environment(terms->identity, err) : 0;
}

int git_identity_give(const struct config *config, struct run *run, struct error *err)
{
    const char *dir = directory_of(&run->terms), *home = getenv("HOME");
    char git_dir[PATH_MAX];
    struct reading r = {0};

    if (strcmp(config->git_identity, "off") == 0)
        return 0;
    if (strcmp(config->git_identity, "host") != 0) {
        if (!identity_split(config->git_identity, r.name, r.email))
            return error_set(err, E_INVALID, "`git_identity` is not `Name <mail@example.org>`");
        return put(&run->terms, &r, false, err);
    }
    if (!dir)
        return 0;
    find_git_dir(dir, git_dir);
    r.git_dir = *git_dir ? git_dir : NULL;
    if (!home || *home != '/' || !realpath(home, r.home))
        *r.home = '\0';
    if (read_all(&r) < 0)
        return error_memory(err);
    return put(&run->terms, &r, true, err);
}
