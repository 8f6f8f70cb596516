#include "admit/own_code.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/config_function.h"
#include "base/paths.h"
#include "sandbox/protected.h"

/* Bytes that end a word in the text of a shell, in lists (PATH) and in options (--prefix=DIR). */
#define SEPARATORS " \t\r\n;&|()<>\"'`=:,[]"

#define BASES_MAX  8                  /* directories that relative words may start from */
#define SCRIPT_MAX ((size_t)64 << 10) /* of a shell script that is read for further words */
#define DEPTH_MAX  2                  /* scripts that name scripts */

/* Directories of many purposes. Sealing all below them would leave nothing to grant, so the
 * directory alone counts: it is not granted for writing, what lies below it may be. */
static const char *const shared[] = {"/",    "/home", "/root", "/tmp", "/var/tmp",
                                     "/opt", "/srv",  "/mnt",  "/usr", "/var"};

static struct {
    char **items;
    size_t count, size;
} closed;

/* One command while its words are read. */
struct command {
    const char *bases[BASES_MAX];
    size_t n_bases;
    char *kept[BASES_MAX]; /* bases of our own */
    size_t n_kept;
    struct error *err;
};

static int add_text(struct command *c, const char *text, unsigned depth);

static int too_many(struct command *c)
{
    return error_set(c->err, E_TOO_LARGE, "the configuration names too many files to protect");
}

/* --- directories --- */

static bool is_shared(const char *dir)
{
    const char *home = getenv("HOME");
    cleanup_free char *real_home = home && *home == '/' ? realpath(home, NULL) : NULL;

    for (size_t i = 0; i < ARRAY_SIZE(shared); i++)
        if (strcmp(dir, shared[i]) == 0)
            return true;
    return real_home && strcmp(dir, real_home) == 0;
}

static int close_shared(const char *dir)
{
    char **grown;

    for (size_t i = 0; i < closed.count; i++)
        if (strcmp(closed.items[i], dir) == 0)
            return 0;
    grown = array_grow(closed.items, closed.count, &closed.size, sizeof(*closed.items));
    if (!grown)
        return -1;
    closed.items = grown;
    closed.items[closed.count] = strdup(dir);
    if (!closed.items[closed.count])
        return -1;
    closed.count++;
    return 0;
}

/* The directory by both names, where a link leads to it. */
static int add_dir(struct command *c, const char *dir)
{
    cleanup_free char *real = realpath(dir, NULL);

    if (real && strcmp(real, "/") == 0)
        return 0;
    if (real && is_shared(real))
        return close_shared(real) < 0 ? error_memory(c->err) : 0;
    return protected_add_run(dir) < 0 ? too_many(c) : 0;
}

/* A virtual environment is one thing: its programs load all the rest of it. */
static int add_environment(struct command *c, const char *bin)
{
    char path[PATH_MAX + 32];
    const char *slash = strrchr(bin, '/');

    if (!slash || slash == bin)
        return 0;
    (void)snprintf(path, sizeof(path), "%.*s/pyvenv.cfg", (int)(slash - bin), bin);
    if (access(path, F_OK) < 0)
        return 0;
    path[slash - bin] = '\0';
    return add_dir(c, path);
}

/* Node looks for packages in every directory above a script. */
static int add_packages(struct command *c, const char *file)
{
    static const char *const names[] = {"node_modules", "package.json"};
    char path[2 * PATH_MAX], dir[PATH_MAX];

    (void)snprintf(dir, sizeof(dir), "%s", file);
    for (char *slash = strrchr(dir, '/'); slash && slash != dir; slash = strrchr(dir, '/')) {
        *slash = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
            (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
            if (protected_add_run(path) < 0)
                return too_many(c);
        }
        if (is_shared(dir))
            break;
    }
    return 0;
}

static bool is_for_node(const char *file)
{
    static const char *const ends[] = {".js",  ".cjs", ".mjs", ".ts",
                                       ".cts", ".mts", ".jsx", ".tsx"};
    const char *dot = strrchr(file, '.');

    for (size_t i = 0; dot && i < ARRAY_SIZE(ends); i++)
        if (strcmp(dot, ends[i]) == 0)
            return true;
    return strstr(file, "/node_modules/") != NULL;
}

/* --- files --- */

static int read_script(struct command *c, const char *file, unsigned depth)
{
    cleanup_close int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    cleanup_free char *text = fd < 0 ? NULL : malloc(SCRIPT_MAX + 1);
    const char *dot = strrchr(file, '.');
    size_t first;
    ssize_t n;

    if (!text)
        return fd < 0 ? 0 : error_memory(c->err);
    n = read(fd, text, SCRIPT_MAX);
    if (n <= 2)
        return 0;
    text[n] = '\0';
    first = strcspn(text, "\n");
    if (!(dot && strcmp(dot, ".sh") == 0) &&
        (strncmp(text, "#!", 2) != 0 || !memmem(text, first, "sh", 2)))
        return 0;
    return add_text(c, text, depth + 1);
}

static int add_file_by(struct command *c, const char *file)
{
    const char *slash = strrchr(file, '/');
    char dir[PATH_MAX];

    if (!slash || slash == file)
        return protected_add_run(file) < 0 ? too_many(c) : 0;
    (void)snprintf(dir, sizeof(dir), "%.*s", (int)(slash - file), file);
    if (protected_add_run(file) < 0)
        return too_many(c);
    if (add_dir(c, dir) < 0 || add_environment(c, dir) < 0)
        return -1;
    return is_for_node(file) ? add_packages(c, file) : 0;
}

static int add_file(struct command *c, const char *file, unsigned depth)
{
    cleanup_free char *real = realpath(file, NULL);

    if (add_file_by(c, file) < 0 || (real && add_file_by(c, real) < 0))
        return -1;
    return depth < DEPTH_MAX ? read_script(c, file, depth) : 0;
}

static int add_base(struct command *c, const char *dir)
{
    if (c->n_bases == BASES_MAX)
        return 0;
    c->kept[c->n_kept] = strdup(dir);
    if (!c->kept[c->n_kept])
        return error_memory(c->err);
    c->bases[c->n_bases++] = c->kept[c->n_kept++];
    return 0;
}

/* 1: something is there, or will be. */
static int add_path(struct command *c, const char *path, unsigned depth)
{
    struct stat st;

    if (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0 ||
        strncmp(path, "/sys/", 5) == 0)
        return 0;
    if (stat(path, &st) < 0)
        return depth > 0 ? 0 : protected_add_run(path) < 0 ? too_many(c) : 1;
    if (S_ISDIR(st.st_mode))
        return add_dir(c, path) < 0 || add_base(c, path) < 0 ? -1 : 1;
    return S_ISREG(st.st_mode) ? (add_file(c, path, depth) < 0 ? -1 : 1) : 0;
}

/* --- words --- */

/* Expands `~` and `$HOME`; *rest is the remainder of the word. */
static const char *home_of(const char *word, const char **rest)
{
    static const char *const names[] = {"~", "$HOME", "${HOME}"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t len = strlen(names[i]);

        if (strncmp(word, names[i], len) == 0 && (!word[len] || word[len] == '/')) {
            *rest = word + len;
            return getenv("HOME");
        }
    }
    return NULL;
}

/* `{name}` of a function stands for an argument: whatever lies in that directory may be meant. */
static void cut_at_argument(char *path)
{
    char *brace = strchr(path, '{');

    if (brace) {
        while (brace > path && brace[-1] != '/')
            brace--;
        *brace = '\0';
    }
}

static int add_from(struct command *c, const char *base, const char *word, unsigned depth)
{
    char path[2 * PATH_MAX];
    struct stat st;

    if (strlen(base) + strlen(word) + 2 > PATH_MAX)
        return 0;
    (void)snprintf(path, sizeof(path), "%s%s%s", base, *base && *word ? "/" : "", word);
    cut_at_argument(path);
    /* A relative word is mostly no path at all; its base is protected. */
    if (*word != '/' && *base && stat(path, &st) < 0)
        return 0;
    return *path == '/' && path[1] ? add_path(c, path, depth) : 0;
}

static int add_word(struct command *c, const char *word, unsigned depth)
{
    const char *rest = word, *home = home_of(word, &rest);
    size_t n_bases = c->n_bases;

    if (strncmp(word, "//", 2) == 0 && word[2] == '/') /* of file:///path */
        word += 2;
    if (*word == '-' && strchr(word, '/')) /* -I/path */
        word = strchr(word, '/');
    if (home)
        return add_from(c, home, rest + strspn(rest, "/"), depth);
    if (*word == '/')
        return add_from(c, "", word, depth);
    for (size_t i = 0; *word && *word != '-' && i < n_bases; i++)
        if (add_from(c, c->bases[i], word, depth) < 0)
            return -1;
    return 0;
}

static int add_text(struct command *c, const char *text, unsigned depth)
{
    for (const char *at = text + strspn(text, SEPARATORS); *at; at += strspn(at, SEPARATORS)) {
        size_t len = strcspn(at, SEPARATORS);
        char word[PATH_MAX];

        if (*at == '#') { /* a comment */
            at += strcspn(at, "\n");
            continue;
        }
        if (len < sizeof(word)) {
            (void)snprintf(word, sizeof(word), "%.*s", (int)len, at);
            if (add_word(c, word, depth) < 0)
                return -1;
        }
        at += len;
    }
    return 0;
}

/* The word as it is, and what it is made of. */
static int add_argument(struct command *c, const char *word)
{
    struct stat st;

    if (*word == '/' && stat(word, &st) == 0)
        return add_word(c, word, 0);
    return word[strcspn(word, SEPARATORS)] ? add_text(c, word, 0) : add_word(c, word, 0);
}

/* --- commands --- */

static const char *variable(char *const *env, const char *name)
{
    size_t len = strlen(name);

    for (; env && *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return getenv(name);
}

/* Variables by which programs find code: PATH, PYTHONPATH, LD_PRELOAD, NODE_OPTIONS, BASH_ENV. */
static bool names_code(const char *entry)
{
    static const char *const parts[] = {"PATH",    "PRELOAD", "OPT",  "HOME",   "LIB",
                                        "STARTUP", "ENV",     "INIT", "CONFIG", "RC"};
    size_t len = strcspn(entry, "=");

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        if (memmem(entry, len, parts[i], strlen(parts[i])))
            return true;
    return false;
}

static int add_variables(struct command *c, char *const *env)
{
    const char *path = variable(env, "PATH");

    for (; env && *env; env++)
        if (names_code(*env) && strchr(*env, '=') && add_text(c, strchr(*env, '=') + 1, 0) < 0)
            return -1;
    return path ? add_text(c, path, 0) : 0;
}

static int add_program(struct command *c, const char *name, char *const *env)
{
    const char *path = variable(env, "PATH");

    if (strchr(name, '/'))
        return add_argument(c, name);
    for (const char *at = path; at && *at; at += strspn(at, ":")) {
        size_t len = strcspn(at, ":");
        char full[PATH_MAX];

        if ((size_t)snprintf(full, sizeof(full), "%.*s/%s", (int)len, at, name) < sizeof(full) &&
            *full == '/' && access(full, X_OK) == 0)
            return add_file(c, full, 0);
        at += len;
    }
    return 0;
}

enum runner { RUNNER_NONE, RUNNER_PACKAGE, RUNNER_CONTAINER };

static enum runner runner_of(const char *program)
{
    static const char *const packages[] = {"npx", "bunx", "pnpx", "uvx", "pipx"};
    static const char *const containers[] = {"docker", "podman", "nerdctl"};
    const char *slash = strrchr(program, '/');
    const char *name = slash ? slash + 1 : program;

    for (size_t i = 0; i < ARRAY_SIZE(packages); i++)
        if (strcmp(name, packages[i]) == 0)
            return RUNNER_PACKAGE;
    for (size_t i = 0; i < ARRAY_SIZE(containers); i++)
        if (strcmp(name, containers[i]) == 0)
            return RUNNER_CONTAINER;
    return RUNNER_NONE;
}

/* Options of package runners that the next word belongs to. */
static bool takes_value(const char *option)
{
    static const char *const options[] = {"--from",
                                          "--with",
                                          "--with-editable",
                                          "--with-requirements",
                                          "--python",
                                          "-p",
                                          "-c",
                                          "--package",
                                          "--prefix",
                                          "--directory",
                                          "--project",
                                          "--spec",
                                          "--index",
                                          "--call",
                                          "--index-url",
                                          "--cache",
                                          "--userconfig"};

    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        if (strcmp(option, options[i]) == 0)
            return true;
    return false;
}

static int add_arguments(struct command *c, char *const *argv)
{
    enum runner runner = runner_of(argv[0]);

    for (size_t i = 1; argv[i] && runner != RUNNER_CONTAINER; i++) {
        bool is_value = takes_value(argv[i - 1]);

        if (add_argument(c, argv[i]) < 0)
            return -1;
        if (runner == RUNNER_PACKAGE && argv[i][0] != '-' && !is_value &&
            strcmp(argv[i], "run") != 0) /* pipx run */
            break;
    }
    return 0;
}

static int add_command(char *const *argv, char *const *env, const char *cwd, struct error *err)
{
    struct command c = {.err = err};
    int r = 0;

    if (!argv || !argv[0])
        return 0;
    if (cwd)
        r = add_dir(&c, cwd) < 0 ? -1 : add_base(&c, cwd);
    if (r == 0 && (add_program(&c, argv[0], env) < 0 || add_arguments(&c, argv) < 0 ||
                   add_variables(&c, env) < 0))
        r = -1;
    for (size_t i = 0; i < c.n_kept; i++)
        free(c.kept[i]);
    return r;
}

int own_code_add(const struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->n_servers; i++) {
        const struct config_server *server = &config->servers[i];

        if (add_command(server->argv, server->env, server->cwd, err) < 0)
            return -1;
        for (size_t k = 0; k < server->n_functions; k++)
            if (add_command(server->functions[k].argv, NULL, NULL, err) < 0)
                return -1;
    }
    return 0;
}

/* --- grants --- */

static int refuse(const struct run_grant *grant, const char *dir, struct error *err)
{
    error_set(
        err, E_DENIED,
        "`%s` cannot be granted for writing: Belljar or a command in its settings runs code from "
        "`%s`",
        grant->path, dir);
    return error_hint(err,
                      "grant it with :ro, or change `command`, `cwd` or `env` under [servers] or "
                      "[functions] so that the code is outside");
}

int own_code_check(const struct run_grant *grant, struct error *err)
{
    const char *path;

    if (grant->mode == RUN_GRANT_RO)
        return 0;
    for (size_t i = 0; i < closed.count; i++)
        if (paths_below(closed.items[i], grant->path))
            return refuse(grant, closed.items[i], err);
    for (size_t i = 0; grant->mode == RUN_GRANT_RW && (path = protected_own(i)); i++)
        if (!protected_is_hidden(i) && paths_below(grant->path, path))
            return refuse(grant, path, err);
    return 0;
}
