#include "cli/environment_make.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/environment_manifest.h"
#include "engine/pythons.h"

#define PYTHON       "/usr/bin/python3"
#define REPORT       "report.json"
#define LOCK         "requirements.lock"
#define ARGV_MAX     128
#define DEPTH_MAX    32 /* descriptors nftw() may keep open */
#define RECORD_LINES 100000

/* --- what may be asked for --- */

/* pip also takes paths, URLs and options here: none of them is a package. */
static int check_package(const char *text, struct error *err)
{
    static const char marks[] = "._-[]<>=!~,*+ ;'\"()";
    size_t i = 0;

    while (isalnum((unsigned char)text[i]) || (i && text[i] && strchr(marks, text[i])))
        i++;
    if (i && !text[i])
        return 0;
    error_set(err, E_INVALID, "invalid package `%s`", text);
    return error_hint(err, "a package is a name, perhaps with versions: `duckdb>=1`");
}

/* --- children --- */

struct command {
    const char *argv[ARGV_MAX];
    size_t count;
};

static void add(struct command *c, const char *word)
{
    if (c->count < ARGV_MAX - 1)
        c->argv[c->count++] = word;
}

static void add_all(struct command *c, const char *const *words)
{
    for (; *words; words++)
        add(c, *words);
}

/* Its output is news for people, and goes where ours does. */
static int run(const struct command *c, const char *what, struct error *err)
{
    posix_spawn_file_actions_t actions;
    int status = -1, r;
    pid_t pid;

    if (c->count == ARGV_MAX - 1)
        return error_set(err, E_TOO_LARGE, "too many packages at once");
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    r = posix_spawn(&pid, c->argv[0], &actions, NULL, (char *const *)c->argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (r != 0) {
        errno = r;
        return error_errno(err, "start %s", c->argv[0]);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status == 0 ? 0 : error_set(err, E_SYSTEM, "%s failed; its output is above", what);
}

/* People see how far pip is; a file gets its complaints alone.
 * Wheels only: a source package runs code of its own when it is installed, outside any sandbox. */
static void begin_pip(struct command *c, const struct environment_wish *wish, const char *python)
{
    add_all(c, (const char *const[]){PYTHON, "-I", "-m", "pip", "--python", python,
                                     "--disable-pip-version-check", "--no-input",
                                     isatty(STDERR_FILENO) ? "--progress-bar=on" : "--quiet",
                                     "install", "--only-binary=:all:", NULL});
    if (wish->wheels)
        add_all(c, (const char *const[]){"--no-index", "--find-links", wish->wheels, NULL});
    else if (wish->index)
        add_all(c, (const char *const[]){"--index-url", wish->index, NULL});
}

static int no_packages(struct error *err)
{
    return error_hint(err, "name an index with --index, or a directory of wheels with --wheels; "
                           "only wheels are installed; pip is in the package python3-pip");
}

/* --- the steps --- */

/* Directory and paths of one that is being made. */
struct site {
    char version[PYTHON_VERSION_TEXT], system[64];
    char dir[PATH_MAX], python[PATH_MAX], report[PATH_MAX], lock[PATH_MAX];
};

static int find_place(struct site *site, const struct environment_wish *wish, struct error *err)
{
    const char *name = wish->name;
    cleanup_free char *dir = manifest_dir(name, err);
    cleanup_free char *zygote = NULL;
    char own[PYTHON_VERSION_TEXT];

    pythons_default(own);
    zygote = dir ? pythons_program(wish->python ? wish->python : own, err) : NULL;
    if (!zygote)
        return -1;
    (void)snprintf(site->version, sizeof(site->version), "%s", wish->python ? wish->python : own);
    if (strcmp(site->version, own) == 0)
        (void)snprintf(site->system, sizeof(site->system), PYTHON);
    else
        (void)snprintf(site->system, sizeof(site->system), "/usr/bin/python%s", site->version);
    if (strlen(dir) + sizeof("/bin/python3") + sizeof(LOCK) > PATH_MAX)
        return error_set(err, E_TOO_LARGE, "the path of `%s` is too long", name);
    (void)snprintf(site->dir, PATH_MAX, "%s", dir);
    (void)snprintf(site->python, PATH_MAX, "%s/bin/python3", dir);
    (void)snprintf(site->report, PATH_MAX, "%s/" REPORT, dir);
    (void)snprintf(site->lock, PATH_MAX, "%s/" LOCK, dir);
    return 0;
}

/* The directories above it, which are open to all, since sandboxes of root are other users. */
static int make_parents(const char *dir, struct error *err)
{
    cleanup_free char *path = strdup(dir);

    if (!path)
        return error_memory(err);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH) < 0 && errno != EEXIST)
            return error_errno(err, "make `%s`", path);
        *slash = '/';
    }
    return 0;
}

static int make_venv(const struct site *site, bool is_bare, struct error *err)
{
    struct command c = {0};

    if (make_parents(site->dir, err) < 0)
        return -1;
    add_all(&c, (const char *const[]){site->system, "-I", "-m", "venv", "--without-pip", NULL});
    if (!is_bare)
        add(&c, "--system-site-packages");
    add(&c, site->dir);
    return run(&c, "making the virtual environment", err);
}

static json_t *read_report(const char *path, struct error *err)
{
    json_t *report = json_text_own_file(path);

    if (!json_is_array(json_object_get(report, "install"))) {
        json_decref(report);
        error_set(err, E_SYSTEM, "pip did not report the packages to install");
        error_hint(err, "pip 22.3 or later is required");
        return NULL;
    }
    return report;
}

/* "name==version --hash=sha256:…" for each that pip would install, and the same for the manifest.
 */
static int write_lock(const struct site *site, const json_t *report, json_t *packages,
                      struct error *err)
{
    cleanup(buf_done) struct buf text;
    const json_t *item;
    size_t i;

    buf_init(&text, MIB);
    json_array_foreach(json_object_get(report, "install"), i, item)
    {
        const char *name, *version, *hash;

        if (json_unpack((json_t *)item, "{s:{s:s, s:s}, s:{s:{s:s}}}", "metadata", "name", &name,
                        "version", &version, "download_info", "archive_info", "hash", &hash) < 0 ||
            strncmp(hash, "sha256=", 7) != 0 || check_package(name, err) < 0)
            return error_set(err, E_SYSTEM, "pip reported no hashes for the packages to install");
        if (buf_printf(&text, err, "%s==%s --hash=sha256:%s\n", name, version, hash + 7) < 0)
            return -1;
        (void)json_array_append_new(packages, json_pack("{s:s, s:s, s:s}", "name", name, "version",
                                                        version, "sha256", hash + 7));
    }
    return file_replace(site->lock, buf_str(&text), text.len, err);
}

static int resolve(const struct environment_wish *wish, const struct site *site, json_t *packages,
                   struct error *err)
{
    struct command c = {0};
    cleanup_json json_t *report = NULL;

    begin_pip(&c, wish, site->python);
    add_all(&c, (const char *const[]){"--dry-run", "--report", site->report, "--", NULL});
    for (size_t i = 0; i < wish->packages.count; i++)
        add(&c, wish->packages.items[i]);
    if (run(&c, "finding the packages", err) < 0)
        return no_packages(err);
    report = read_report(site->report, err);
    if (!report)
        return -1;
    (void)unlink(site->report);
    return write_lock(site, report, packages, err);
}

static int copy_lock(const struct environment_wish *wish, const struct site *site,
                     struct error *err)
{
    cleanup(buf_done) struct buf text;
    cleanup_close int fd = open(wish->lock, O_RDONLY | O_CLOEXEC);

    buf_init(&text, MIB);
    if (fd < 0)
        return error_errno(err, "open `%s`", wish->lock);
    if (buf_read_fd(&text, fd, err) < 0)
        return error_wrap(err, "lock `%s`", wish->lock);
    return file_replace(site->lock, buf_str(&text), text.len, err);
}

static int install(const struct environment_wish *wish, const struct site *site, struct error *err)
{
    struct command c = {0};
    struct stat st;

    if (stat(site->lock, &st) == 0 && st.st_size == 0)
        return 0; /* the system has them all */
    begin_pip(&c, wish, site->python);
    add_all(&c, (const char *const[]){"--require-hashes", "--no-deps", "--requirement", site->lock,
                                      NULL});
    return run(&c, "installing the packages", err) < 0 ? no_packages(err) : 0;
}

/* --- which modules the packages bring --- */

/* "duckdb>=1" and "Duck.DB" are both duckdb: letters small, runs of -_. one underscore. */
static void plain_name(const char *text, size_t len, char *name, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < len && n + 1 < size; i++) {
        if (strchr("-_.", text[i])) {
            if (n && name[n - 1] != '_')
                name[n++] = '_';
        } else if (isalnum((unsigned char)text[i])) {
            name[n++] = (char)tolower((unsigned char)text[i]);
        } else {
            break;
        }
    }
    name[n] = '\0';
}

static bool is_requested(const struct environment_wish *wish, const char *entry)
{
    char have[NAME_MAX + 1], want[NAME_MAX + 1];
    const char *dash = strchr(entry, '-'), *end = strrchr(entry, '.');

    if (!dash || !end || strcmp(end, ".dist-info") != 0)
        return false;
    if (wish->lock) /* it names all of them alike */
        return true;
    plain_name(entry, (size_t)(dash - entry), have, sizeof(have));
    for (size_t i = 0; i < wish->packages.count; i++) {
        plain_name(wish->packages.items[i], strlen(wish->packages.items[i]), want, sizeof(want));
        if (strcmp(have, want) == 0)
            return true;
    }
    return false;
}

/* A line of a RECORD: "polars/__init__.py,sha256=…" and "six.py,sha256=…" are modules. */
static void take_module(const char *line, json_t *modules)
{
    size_t len = strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

    if (!len || isdigit((unsigned char)*line) ||
        (strncmp(line + len, "/__init__.py,", 13) != 0 && strncmp(line + len, ".py,", 4) != 0))
        return;
    (void)json_array_append_new(modules, json_stringn(line, len));
}

static void read_record(const char *packages, const char *entry, json_t *modules)
{
    char path[PATH_MAX], line[4096];
    FILE *file;

    if (snprintf(path, sizeof(path), "%s/%s/RECORD", packages, entry) >= PATH_MAX)
        return;
    file = fopen(path, "re");
    for (size_t i = 0; file && i < RECORD_LINES && fgets(line, sizeof(line), file); i++)
        take_module(line, modules);
    if (file)
        (void)fclose(file);
}

static json_t *find_modules(const struct environment_wish *wish, const struct site *site)
{
    json_t *modules = json_array();
    const struct dirent *entry;
    char packages[PATH_MAX + 64];
    DIR *dir;

    (void)snprintf(packages, sizeof(packages), "%s/lib/python%s/site-packages", site->dir,
                   site->version);
    dir = opendir(packages);
    while (dir && (entry = readdir(dir)))
        if (is_requested(wish, entry->d_name))
            read_record(packages, entry->d_name, modules);
    if (dir)
        (void)closedir(dir);
    return modules;
}

static json_t *strings(const struct config_list *list)
{
    json_t *array = json_array();

    for (size_t i = 0; i < list->count; i++)
        (void)json_array_append_new(array, json_string(list->items[i]));
    return array;
}

static int write_manifest(const struct environment_wish *wish, const struct site *site,
                          json_t *packages, struct error *err)
{
    cleanup_json json_t *modules = find_modules(wish, site);
    cleanup_json json_t *manifest = json_pack(
        "{s:s, s:s, s:I, s:b, s:o, s:O, s:o, s:O}", "name", wish->name, "python", site->version,
        "created", (json_int_t)time(NULL), "bare", (int)wish->is_bare, "requested",
        strings(&wish->packages), "modules", modules, "preload",
        wish->preload.count ? strings(&wish->preload) : json_incref(modules), "packages", packages);

    return manifest ? manifest_store(wish->name, manifest, err) : error_memory(err);
}

static int fill(const struct environment_wish *wish, const struct site *site, struct error *err)
{
    cleanup_json json_t *packages = json_array();

    (void)fprintf(stderr, "making the environment `%s`\n", wish->name);
    if (make_venv(site, wish->is_bare, err) < 0)
        return -1;
    if (!wish->lock)
        (void)fprintf(stderr, "finding %zu package%s\n", wish->packages.count,
                      wish->packages.count == 1 ? " and what it needs" : "s and what they need");
    if ((wish->lock ? copy_lock(wish, site, err) : resolve(wish, site, packages, err)) < 0)
        return -1;
    if (wish->lock)
        (void)fprintf(stderr, "installing the packages listed in `%s`\n", wish->lock);
    else
        (void)fprintf(stderr, "installing %zu package%s\n", json_array_size(packages),
                      json_array_size(packages) == 1 ? "" : "s");
    if (install(wish, site, err) < 0)
        return -1;
    return write_manifest(wish, site, packages, err);
}

/* pip would only warn of it, and then find nothing. */
static int check_wheels(const char *dir, struct error *err)
{
    struct stat st;

    if (!dir || (stat(dir, &st) == 0 && S_ISDIR(st.st_mode)))
        return 0;
    error_set(err, E_NOT_FOUND, "--wheels: `%s` is not a directory", dir);
    return error_hint(
        err, "name a directory with the *.whl files of the packages and their dependencies");
}

int environment_make(const struct environment_wish *wish, struct error *err)
{
    struct site site;

    for (size_t i = 0; i < wish->packages.count; i++)
        if (check_package(wish->packages.items[i], err) < 0)
            return -1;
    if (check_wheels(wish->wheels, err) < 0 || find_place(&site, wish, err) < 0)
        return -1;
    if (manifest_exists(wish->name)) {
        error_set(err, E_INVALID, "the environment `%s` already exists", wish->name);
        return error_hint(err,
                          "`belljar environment add %s PACKAGE` adds packages, and `belljar "
                          "environment rm %s` removes it",
                          wish->name, wish->name);
    }
    if (environment_remove(wish->name, NULL) < 0 && errno != ENOENT)
        return error_errno(err, "remove the remaining files in `%s`", site.dir);
    if (fill(wish, &site, err) == 0)
        return 0;
    (void)environment_remove(wish->name, NULL);
    return -1;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *place)
{
    (void)st;
    (void)kind;
    (void)place;
    return remove(path);
}

int environment_remove_tree(const char *dir)
{
    return nftw(dir, remove_one, DEPTH_MAX, FTW_DEPTH | FTW_PHYS);
}

/* The manifest first: what is half gone is no environment. */
int environment_remove(const char *name, struct error *err)
{
    cleanup_free char *dir = manifest_dir(name, err);
    char manifest[PATH_MAX + 32];

    if (!dir)
        return -1;
    (void)snprintf(manifest, sizeof(manifest), "%s/" MANIFEST_FILE, dir);
    if (unlink(manifest) < 0 && errno != ENOENT)
        return error_errno(err, "remove `%s`", manifest);
    if (environment_remove_tree(dir) == 0)
        return 0;
    return errno == ENOENT ? error_set(err, E_NOT_FOUND, "there is no environment `%s`", name)
                           : error_errno(err, "remove `%s`", dir);
}
