#include "engine/environment.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "engine/environment_manifest.h"

#define SYSTEM_PYTHON "/usr/bin/python3"

/* A virtual environment, and the helpers. */
#define BINDS_MAX 2

/* Places where a sandbox has something of its own, over which nothing can be shown. */
static int check_place(const char *root, struct error *err)
{
    static const char *const own[] = {"/tmp/",  "/var/tmp/", "/dev/",
                                      "/proc/", "/run/",     "/workspace/"};

    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if (strncmp(root, own[i], strlen(own[i])) == 0) {
            error_set(err, E_UNSUPPORTED, "an environment below `%s` cannot be shown in a sandbox",
                      own[i]);
            return error_hint(err, "a sandbox has its own there; move `%s` to another place", root);
        }
    return 0;
}

/* The zygote of that version, whose standard library has to be there. */
static int choose_python(struct environment *e, const char *version, struct error *err)
{
    (void)snprintf(e->version, sizeof(e->version), "%s", version);
    e->program = pythons_program(version, err);
    if (!e->program)
        return -1;
    if (pythons_is_installed(version))
        return 0;
    error_set(err, E_UNSUPPORTED, "Belljar was built with Python %s, which is no longer installed",
              version);
    return error_hint(err, "build and install Belljar again; it then takes the Python of this "
                           "system");
}

/* The directory of an environment that is named by it or by the interpreter in it. NULL: there is
 * none. The caller frees it. */
static char *find_root(const char *path)
{
    char probe[PATH_MAX];
    struct stat st;
    char *bin;

    /* …/bin/python is a link to the system's interpreter: it is the given path that says where the
     * environment is. */
    (void)snprintf(probe, sizeof(probe), "%s", path);
    if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode) && (bin = strstr(probe, "/bin/")))
        *bin = '\0';
    return realpath(probe, NULL);
}

/* The interpreter that the environment was made with is not the one that programs run in. Where
 * sandboxes do not see it, the zygote puts its own in its place (sandbox/root.c): the packages are
 * those of the same minor version, for which their native parts are made. Where they see it, its
 * standard library would be used with an interpreter that it does not belong to. */
static int check_interpreter(const char *path, const struct environment *e,
                             const struct python_environment *found, struct error *err)
{
    cleanup_free char *real = realpath(e->python, NULL);

    if (!real) {
        error_set(err, E_NOT_FOUND, "the interpreter of environment `%s` is gone: `%s` %s", path,
                  e->python, errno == ENOENT ? "leads nowhere" : "cannot be followed");
        return error_hint(err, "make the environment again: `python%s -m venv DIR`",
                          found->version);
    }
    if (strncmp(real, "/usr/", 5) != 0 || strncmp(real, "/usr/bin/", 9) == 0)
        return 0;
    error_set(err, E_UNSUPPORTED,
              "environment `%s` was made with another Python %s than Belljar: `%s`", path,
              found->version, real);
    return error_hint(err, "make it with `/usr/bin/python%s -m venv DIR`", found->version);
}

/* A virtual environment, whose tree is shown inside. */
static int virtual_environment(const char *path, struct environment *e, struct error *err)
{
    cleanup_free char *root = find_root(path);
    struct python_environment found;

    if (!root) {
        error_set(err, E_NOT_FOUND, "environment `%s` does not exist", path);
        return error_hint(err, "name the directory of a virtual environment, or its interpreter");
    }
    if (pythons_examine(root, path, &found, err) < 0)
        return -1;
    if (choose_python(e, found.version, err) < 0)
        return error_wrap(err, "environment `%s` is of Python %s", path, found.version);
    if (check_place(root, err) < 0)
        return -1;
    if (asprintf(&e->python, "%s/bin/python3", root) < 0) {
        e->python = NULL; /* undefined after a failure */
        return error_memory(err);
    }
    if (check_interpreter(path, e, &found, err) < 0)
        return -1;
    if (strncmp(root, "/usr/", 5) == 0) /* seen inside as it is */
        return 0;
    e->binds[e->n_binds++] = take_ptr(root);
    return 0;
}

/* The Python of the system, or one that it has besides. */
static int system_environment(struct environment *e, const char *version, struct error *err)
{
    char own[PYTHON_VERSION_TEXT];
    bool is_own;

    pythons_default(own);
    is_own = strcmp(version, own) == 0;
    if (choose_python(e, version, err) < 0)
        return -1;
    if (asprintf(&e->python, is_own ? SYSTEM_PYTHON : "/usr/bin/python%s", version) < 0) {
        e->python = NULL; /* undefined after a failure */
        return error_memory(err);
    }
    return 0;
}

/* "graph.py" and "graph/" with an __init__.py are the module graph. */
static int add_module(struct environment *e, int dir, const char *entry, struct error *err)
{
    size_t len = strspn(entry, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    char init[NAME_MAX + 16];

    if (!len || (entry[len] && strcmp(entry + len, ".py") != 0))
        return 0;
    (void)snprintf(init, sizeof(init), "%s/__init__.py", entry);
    if (!entry[len] && faccessat(dir, init, F_OK, 0) < 0)
        return 0;
    return config_list_add(&e->modules, entry, len, err);
}

/* The operator's own modules: shown, found after all others, and importable under every profile. */
static int add_helpers(struct environment *e, const char *path, struct error *err)
{
    cleanup_free char *root = realpath(path, NULL);
    DIR *dir = root ? opendir(root) : NULL;
    const struct dirent *entry;
    int r = 0;

    if (!dir) {
        error_errno(err, "helpers `%s`", path);
        return error_hint(err, "`helpers` names a directory of Python modules");
    }
    while (r == 0 && (entry = readdir(dir)))
        r = add_module(e, dirfd(dir), entry->d_name, err);
    (void)closedir(dir);
    if (r < 0 || check_place(root, err) < 0)
        return -1;
    e->binds[e->n_binds++] = take_ptr(root);
    e->paths = e->binds;
    e->n_paths = 1;
    return 0;
}

/* One of `belljar environment create`: the settings' modules, and then its own. */
static int made_environment(struct environment *e, const struct config *config, const char *name,
                            bool imports, struct error *err)
{
    cleanup_json json_t *manifest = manifest_load(name, err);
    cleanup_free char *dir = manifest ? manifest_dir(name, err) : NULL;
    if (!dir)
        return -1;
    for (size_t i = 0; imports && i < config->preload.count; i++)
        if (config_list_add(&e->made_preload, config->preload.items[i],
                            strlen(config->preload.items[i]), err) < 0)
            return -1;
    if ((imports &&
         manifest_take_names(&e->made_preload, json_object_get(manifest, "preload"), err) < 0) ||
        manifest_take_names(&e->modules, json_object_get(manifest, "modules"), err) < 0)
        return -1;
    e->preload = e->made_preload.items;
    e->n_preload = e->made_preload.count;
    return virtual_environment(dir, e, err);
}

/* If the gate speaks TLS, the program speaks plain HTTP, and pip accepts that from trusted hosts
 * only. */
static int name_index(struct environment *e, const char *url, struct error *err)
{
    cleanup_free char *index = NULL, *trusted = NULL;
    const char *host = strncmp(url, "http://", 7) == 0 ? url + 7 : "";

    if (asprintf(&index, "PIP_INDEX_URL=%s", url) < 0)
        index = NULL; /* undefined after a failure */
    if (asprintf(&trusted, "PIP_TRUSTED_HOST=%.*s", (int)strcspn(host, "/"), host) < 0)
        trusted = NULL;
    if (!index || !trusted)
        return error_memory(err);
    if (config_list_add(&e->variables, index, strlen(index), err) < 0)
        return -1;
    return *host ? config_list_add(&e->variables, trusted, strlen(trusted), err) : 0;
}

static int set_variables(struct environment *e, const struct config *config, struct error *err)
{
    if (*config->package_index && name_index(e, config->package_index, err) < 0)
        return -1;
    for (size_t i = 0; i < config->variables.count; i++) {
        const char *pair = config->variables.items[i];

        if (strcspn(pair, "=") == 0 || !strchr(pair, '='))
            return error_set(err, E_INVALID, "`variables`: `%s` is not NAME=VALUE", pair);
        if (config_list_add(&e->variables, pair, strlen(pair), err) < 0)
            return -1;
    }
    return 0;
}

/* By name: one of the settings, one of `belljar environment create` (`*ret_python` is ""), or a
 * Python of the system (`ret_version`). */
static int find_environment(const struct config *config, const char *name, const char **ret_python,
                            const struct config_list **ret_preload,
                            char ret_version[PYTHON_VERSION_TEXT], struct error *err)
{
    cleanup_free char *program = NULL;
    struct error unknown = {0};

    if (config_environment(config, name, ret_python, ret_preload, &unknown) == 0)
        return 0;
    if (unknown.code != E_NOT_FOUND) {
        error_move(err, &unknown);
        return -1;
    }
    *ret_preload = &config->preload;
    *ret_python = manifest_exists(name) ? "" : NULL;
    if (*ret_python || pythons_name(name, ret_version)) {
        error_done(&unknown);
        program = *ret_python ? NULL : pythons_program(ret_version, err);
        return *ret_python || program ? 0 : -1;
    }
    error_move(err, &unknown);
    return -1;
}

int environment_open(struct environment *e, const struct config *config, const char *name,
                     bool warm, bool imports, struct error *err)
{
    char version[PYTHON_VERSION_TEXT];
    const struct config_list *preload;
    const char *python;

    pythons_default(version);
    e->warm = warm;
    e->is_on_host = config_is_process_level(config);
    if (set_variables(e, config, err) < 0)
        return -1;
    e->binds = calloc(BINDS_MAX, sizeof(*e->binds));
    if (!e->binds)
        return error_memory(err);
    if (*config->helpers && add_helpers(e, config->helpers, err) < 0)
        return -1;
    name = name ? name : config->environment;
    if (find_environment(config, name, &python, &preload, version, err) < 0)
        return -1;
    if (python && !*python)
        return made_environment(e, config, name, warm && imports, err);
    if (warm && imports) {
        e->preload = preload->items;
        e->n_preload = preload->count;
    }
    if (python && strcmp(python, SYSTEM_PYTHON) != 0)
        return virtual_environment(python, e, err);
    return system_environment(e, version, err);
}

int environment_check_name(const struct config *config, const char *name, struct error *err)
{
    char version[PYTHON_VERSION_TEXT];
    const struct config_list *preload;
    const char *python;

    if (strchr(name, '/')) {
        error_set(err, E_INVALID, "invalid environment name `%s`", name);
        return error_hint(err, "a path is for the operator: [environments.NAME]");
    }
    return find_environment(config, name, &python, &preload, version, err);
}

struct environment environment_bare(const struct environment *from)
{
    struct environment e = *from;

    e.preload = NULL;
    e.n_preload = 0;
    return e;
}

struct environment environment_steady(const struct environment *from)
{
    struct environment e = environment_bare(from);

    e.warm = true;
    e.steady = true;
    e.policies = (struct wire_policies){0}; /* the same memory as without a server */
    return e;
}

void environment_done(struct environment *e)
{
    free(e->program);
    free(e->python);
    config_list_done(&e->made_preload);
    config_list_done(&e->modules);
    config_list_done(&e->variables);
    for (size_t i = 0; i < e->n_binds; i++)
        free(e->binds[i]);
    free(e->binds);
}
