/* Finds what hooks and configured commands run in turn. Their text is only split into words: a word
 * that is a file of the tree is assumed to be run. The text of such a file is read as well, and so
 * on for two steps. */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/survey_internal.h"

#define SCRIPT_BYTES ((off_t)256 << 10)
#define DEPTH_MAX    2
#define WORD_MAX     1024

static const struct protected_name run_row = {"(run by a hook)",
                                              "a hook or a configured command runs it"};

/* Commands that obey a file in the directory where they are run. */
static const struct {
    const char *command;
    const char *files[4];
} tools[] = {
    {"npm", {"package.json"}},
    {"npx", {"package.json"}},
    {"yarn", {"package.json"}},
    {"pnpm", {"package.json"}},
    {"pnpx", {"package.json"}},
    {"bun", {"package.json"}},
    {"bunx", {"package.json"}},
    {"corepack", {"package.json"}},
    {"lerna", {"package.json", "lerna.json"}},
    {"nx", {"package.json", "nx.json"}},
    {"turbo", {"package.json", "turbo.json"}},
    {"lint-staged", {"package.json"}},
    {"grunt", {"Gruntfile.js", "Gruntfile.coffee"}},
    {"gulp", {"gulpfile.js", "gulpfile.mjs", "gulpfile.ts"}},
    {"deno", {"deno.json", "deno.jsonc"}},
    {"make", {"GNUmakefile", "makefile", "Makefile"}},
    {"gmake", {"GNUmakefile", "makefile", "Makefile"}},
    {"just", {"justfile", ".justfile", "Justfile"}},
    {"task", {"Taskfile.yml", "Taskfile.yaml", "Taskfile.dist.yml"}},
    {"ninja", {"build.ninja"}},
    {"cmake", {"CMakeLists.txt", "CMakePresets.json"}},
    {"meson", {"meson.build"}},
    {"scons", {"SConstruct"}},
    {"ant", {"build.xml"}},
    {"mvn", {"pom.xml"}},
    {"gradle", {"build.gradle", "build.gradle.kts", "settings.gradle"}},
    {"gradlew", {"build.gradle", "build.gradle.kts", "settings.gradle"}},
    {"sbt", {"build.sbt"}},
    {"cargo", {"Cargo.toml", "build.rs"}},
    {"rake", {"Rakefile", "rakefile", "Rakefile.rb"}},
    {"bundle", {"Gemfile"}},
    {"mix", {"mix.exs"}},
    {"composer", {"composer.json"}},
    {"tox", {"tox.ini", "setup.cfg", "pyproject.toml"}},
    {"nox", {"noxfile.py"}},
    {"invoke", {"tasks.py"}},
    {"inv", {"tasks.py"}},
    {"pytest", {"conftest.py", "pytest.ini", "pyproject.toml"}},
    {"poetry", {"pyproject.toml"}},
    {"pdm", {"pyproject.toml"}},
    {"hatch", {"pyproject.toml"}},
    {"uv", {"pyproject.toml"}},
    {"pip", {"setup.py", "pyproject.toml", "requirements.txt"}},
    {"flake", {"flake.nix", "flake.lock"}},
    {"nix", {"flake.nix", "shell.nix", "default.nix"}},
    {"nix-shell", {"shell.nix", "default.nix"}},
    {"vagrant", {"Vagrantfile"}},
    {"docker-compose", {"docker-compose.yml", "compose.yaml", "compose.yml"}},
    {"compose", {"docker-compose.yml", "compose.yaml", "compose.yml"}},
};

/* Commands whose next word is a file that they run, also one that is not there yet. */
static const char *const runners[] = {
    ".",
    "source",
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "node",
    "ruby",
    "perl",
    "php",
    "lua",
    "exec",
    "source_env",
    "dotenv",
    "source_env_if_exists",
    "env",
    "tsx",
    "deno",
    "run",
    "awk",
    "dotenv_if_exists",
};

struct text {
    struct survey *s;
    const char *top; /* where it is run */
    const char *dir; /* where it lies */
    bool is_python;  /* the text itself */
    unsigned depth;
    char before[WORD_MAX]; /* the word before */
    struct error *err;
};

static int read_script(struct survey *s, const char *path, const char *top, unsigned depth,
                       struct error *err);

static bool is_runner(const char *word)
{
    const char *name = basename(word);

    if (strncmp(name, "python", 6) == 0 || strncmp(name, "pypy", 4) == 0)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(runners); i++)
        if (strcmp(name, runners[i]) == 0)
            return true;
    return false;
}

static int protect(struct text *t, const char *base, const char *word)
{
    const struct protected_state sealed = {.row = &run_row};

    return survey_lead(t->s, base, word, &sealed, t->err);
}

static int add_python_top(struct text *t, const char *dir)
{
    const struct protected_state state = {.python = PYTHON_TOP};

    return survey_add_place(t->s, dir, &state, t->err);
}

static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? strndup(path, (size_t)(slash - path)) : strdup("");
}

/* Looks up a file: returns its mode, or 0. *ret_path is its path, or NULL if it is outside the
 * tree. */
static mode_t look(struct text *t, const char *base, const char *word, char **ret_path)
{
    cleanup_close int fd = -1;
    struct stat st;

    *ret_path = NULL;
    if (survey_resolve(t->s, base, word, NULL, ret_path, NULL) < 0 || !*ret_path)
        return 0;
    fd = survey_open(t->s, *ret_path, O_PATH);
    return fd >= 0 && fstat(fd, &st) == 0 ? st.st_mode : 0;
}

/* A word that may be a path, in one of the directories it may count from. */
static int take_path(struct text *t, const char *base, const char *word, bool is_run)
{
    cleanup_free char *path = NULL, *dir = NULL;
    mode_t mode = look(t, base, word, &path);

    if (!path || S_ISDIR(mode))
        return 0;
    if (!mode && !is_run && !strchr(word, '/'))
        return 0;
    if (protect(t, base, word) < 0)
        return -1;
    if (is_run && strncmp(basename(t->before), "py", 2) == 0) {
        dir = directory_of(path);
        if (!dir || add_python_top(t, dir) < 0)
            return -1;
    }
    return S_ISREG(mode) ? read_script(t->s, path, t->top, t->depth + 1, t->err) : 0;
}

/* `python -m NAME`, or an import beside the script. */
static int take_module(struct text *t, const char *base, const char *name)
{
    static const char *const endings[] = {"", ".py", ".pyc", ".so"};
    size_t len = 0;

    while (isalnum((unsigned char)name[len]) || name[len] == '_')
        len++;
    if (len == 0 || len > 200 || isdigit((unsigned char)name[0]))
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
        char file[256];

        (void)snprintf(file, sizeof(file), "%.*s%s", (int)len, name, endings[i]);
        if (protect(t, base, file) < 0)
            return -1;
    }
    return add_python_top(t, base);
}

static int take_tool(struct text *t, const char *word)
{
    const char *name = basename(word);

    for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
        for (size_t k = 0; strcmp(name, tools[i].command) == 0 && k < ARRAY_SIZE(tools[i].files) &&
                           tools[i].files[k];
             k++)
            if (protect(t, t->top, tools[i].files[k]) < 0)
                return -1;
    return 0;
}

/* "~/x", and what is left of "$HOME/x" between the words. */
static int take_home_path(struct text *t, const char *word)
{
    const char *rest = strncmp(word, "HOME/", 5) == 0 ? word + 5
                       : strncmp(word, "~/", 2) == 0  ? word + 2
                                                      : NULL;
    const char *home = t->s->outside ? t->s->outside->homes[0] : NULL;
    cleanup_free char *path = rest && home ? survey_join(home, rest) : NULL;

    return path ? take_path(t, "", path, false) : 0;
}

static int take_word(struct text *t, const char *word)
{
    bool is_run = is_runner(t->before);
    int r = 0;

    if (word[0] == '-') {
        if (word[1] == 'm' && word[2])
            r = take_module(t, t->top, word + 2);
        return r;
    }
    if (strcmp(t->before, "-m") == 0)
        return take_module(t, t->top, word);
    if (t->is_python && (strcmp(t->before, "import") == 0 || strcmp(t->before, "from") == 0))
        return take_module(t, t->dir, word);
    r = take_tool(t, word);
    if (r == 0)
        r = take_home_path(t, word);
    if (r == 0 && word[0] != '/' && word[0] != '~')
        r = take_path(t, t->top, word, is_run);
    if (r == 0 && word[0] != '/' && word[0] != '~' && strcmp(t->dir, t->top) != 0)
        r = take_path(t, t->dir, word, false);
    if (r == 0 && word[0] == '/' && word[1])
        r = take_path(t, "", word, false);
    return r;
}

/* If a path begins with a variable, the rest counts: "$(dirname "$0")/lint.sh". */
static const char *without_variable(const char *word)
{
    while (*word == '/' && word[1] != '/')
        word++;
    return word;
}

static int take_words(struct text *t, const char *data, size_t len)
{
    static const char between[] = " \t\r\n'\"!;&|()<>$`=,[]{}:@*?";
    bool is_comment = false, is_line_start = true, is_joined = false;
    int r = 0;

    for (size_t at = 0; at < len && r == 0;) {
        char word[WORD_MAX];
        size_t n = 0;

        if (data[at] == '\n') {
            is_comment = false;
            is_line_start = true;
        } else if (data[at] == '#' && is_line_start) {
            is_comment = true;
        } else if (!isspace((unsigned char)data[at])) {
            is_line_start = false;
        }
        if (is_comment || !data[at] || strchr(between, data[at])) {
            is_joined = data[at] && strchr(")}\"'", data[at]) != NULL;
            at++;
            continue;
        }
        while (at + n < len && data[at + n] && !strchr(between, data[at + n]))
            n++;
        if (n < sizeof(word)) {
            (void)snprintf(word, sizeof(word), "%.*s", (int)n, data + at);
            r = take_word(t, word);
            if (r == 0 && is_joined && word[0] == '/')
                r = take_word(t, without_variable(word));
            (void)snprintf(t->before, sizeof(t->before), "%s", word);
        }
        is_joined = false;
        at += n;
    }
    return r;
}

static bool is_text(const char *data, size_t len)
{
    return !memchr(data, '\0', len < 4096 ? len : 4096);
}

int survey_command(struct survey *s, const char *top, const char *command, struct error *err)
{
    struct text t = {.s = s, .top = top, .dir = top, .err = err};

    return take_words(&t, command, strlen(command));
}

static bool is_python_script(const char *path, const char *data)
{
    size_t len = strlen(path), line = strcspn(data, "\n");

    return (len > 3 && strcmp(path + len - 3, ".py") == 0) ||
           (strncmp(data, "#!", 2) == 0 && memmem(data, line, "python", 6));
}

/* `path` is below the grant and resolved. */
static int read_script(struct survey *s, const char *path, const char *top, unsigned depth,
                       struct error *err)
{
    cleanup_free char *dir = directory_of(path);
    struct text t = {.s = s, .top = top, .dir = dir, .depth = depth, .err = err};
    cleanup(buf_done) struct buf text = BUF_OF((size_t)SCRIPT_BYTES + 1);
    cleanup_close int fd = depth > DEPTH_MAX ? -1 : survey_open(s, path, O_RDONLY | O_NONBLOCK);
    struct stat st;

    if (!dir)
        return error_memory(err);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > SCRIPT_BYTES)
        return 0;
    if (++s->n_files > SURVEY_FILES_MAX) {
        error_set(err, E_TOO_LARGE, "`%s` has too many scripts that hooks run", s->path);
        return error_hint(err, "grant a smaller directory, or this one with :cow");
    }
    if (buf_read_fd(&text, fd, NULL) < 0 || !is_text(buf_str(&text), text.len))
        return 0;
    t.is_python = is_python_script(path, buf_str(&text));
    if (t.is_python && depth > 0 && add_python_top(&t, dir) < 0)
        return -1;
    return take_words(&t, buf_str(&text), text.len);
}

/* The nearest directory above that has a `.git` in it, or the granted directory. */
static char *worktree_of(struct survey *s, const char *path)
{
    char *dir = directory_of(path);

    while (dir && *dir) {
        cleanup_free char *git = survey_join(dir, ".git");
        cleanup_close int fd = git ? survey_open(s, git, O_PATH) : -1;
        char *slash = strrchr(dir, '/');

        if (fd >= 0)
            break;
        *(slash ? slash : dir) = '\0';
    }
    return dir;
}

int survey_script(struct survey *s, const char *path, struct error *err)
{
    size_t len = strlen(path);
    cleanup_free char *top = worktree_of(s, path);

    if (!top)
        return error_memory(err);
    if (len > 7 && strcmp(path + len - 7, ".sample") == 0)
        return 0; /* nobody runs it */
    return read_script(s, path, top, 0, err);
}
