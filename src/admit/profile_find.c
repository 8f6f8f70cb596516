/* Finds the files of a profile, and the profiles that it inherits from. */
#include "admit/profile_internal.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/suggest.h"
#include "base/toml.h"

/* ---- finding ---- */

static char *operator_dir(void)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    char *dir = NULL;

    if (config && config[0] == '/') {
        if (asprintf(&dir, "%s/belljar/policies", config) < 0)
            return NULL;
    } else if (home && home[0] == '/') {
        if (asprintf(&dir, "%s/.config/belljar/policies", home) < 0)
            return NULL;
    }
    return dir;
}

static bool is_profile_name(const char *name)
{
    if (!*name || strlen(name) > NAME_MAX - 5)
        return false;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_' && *c != '-')
            return false;
    return true;
}

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* DIR/NAME.toml if it is there, else NULL. */
static char *path_in(const char *dir, const char *name)
{
    char *path = NULL;

    if (!dir || asprintf(&path, "%s/%s.toml", dir, name) < 0)
        return NULL;
    if (!is_file(path)) {
        free(path);
        return NULL;
    }
    return path;
}

static size_t add_names(const char *dir, char **names, size_t count)
{
    cleanup_closedir DIR *handle = dir ? opendir(dir) : NULL;
    struct dirent *entry;

    while (handle && count < PROFILE_NAMES_MAX && (entry = readdir(handle))) {
        size_t len = strlen(entry->d_name);

        if (len <= 5 || strcmp(entry->d_name + len - 5, ".toml") != 0)
            continue;
        names[count] = strndup(entry->d_name, len - 5);
        if (names[count])
            count++;
    }
    return count;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The nearest name, or all there are. */
static void hint_known(const char *name, const char *system_dir, struct error *err)
{
    cleanup_free char *dir = operator_dir();
    char *names[PROFILE_NAMES_MAX];
    size_t count = add_names(system_dir, names, add_names(dir, names, 0));
    const char *near = suggest_nearest(name, (const char *const *)names, count);
    char list[512] = "";
    size_t len = 0;

    qsort(names, count, sizeof(names[0]), compare_names);
    for (size_t i = 0; i < count && !near; i++) {
        int n = snprintf(list + len, sizeof(list) - len, "%s`%s`", i ? ", " : "", names[i]);

        if (n < 0 || (size_t)n >= sizeof(list) - len)
            break;
        len += (size_t)n;
    }
    if (near)
        error_hint(err, "did you mean `%s`?", near);
    else if (count > 0)
        error_hint(err, "there are %s", list);
    else
        error_hint(err, "there are no profiles in %s",
                   system_dir ? system_dir : "the data directory");
    for (size_t i = 0; i < count; i++)
        free(names[i]);
}

/* The file of a profile. `child` is the file that inherits, or NULL: an operator's `strict` may
 * inherit `strict`, which then means the one of the system. */
static int find_file(const char *name, const char *system_dir, const char *child, char **ret_path,
                     struct error *err)
{
    cleanup_free char *path = NULL;

    if (strchr(name, '/')) {
        if (name[0] != '/' && child) {
            const char *slash = strrchr(child, '/');
            int dir_len = slash ? (int)(slash - child) : 1;

            if (asprintf(&path, "%.*s/%s", dir_len, slash ? child : ".", name) < 0)
                path = NULL;
        } else {
            path = strdup(name);
        }
        if (!path)
            return error_memory(err);
    } else if (is_profile_name(name)) {
        cleanup_free char *dir = operator_dir();

        path = path_in(dir, name);
        if (!path || (child && strcmp(path, child) == 0)) {
            free(path);
            path = path_in(system_dir, name);
        }
    }
    if (!path) {
        error_set(err, E_NOT_FOUND, "there is no profile `%s`", name);
        hint_known(name, system_dir, err);
        return -1;
    }
    *ret_path = take_ptr(path);
    return 0;
}

/* ---- inheriting ---- */

void profile_chain_done(struct profile_chain *chain)
{
    for (size_t i = 0; i < chain->count; i++) {
        free(chain->paths[i]);
        json_decref(chain->trees[i]);
    }
}

static bool same_file(const char *a, const char *b)
{
    struct stat st_a, st_b;

    return stat(a, &st_a) == 0 && stat(b, &st_b) == 0 && st_a.st_dev == st_b.st_dev &&
           st_a.st_ino == st_b.st_ino;
}

/* Reads the file and its parents, child first. */
int profile_chain_load(struct profile_chain *chain, const char *name, const char *system_dir,
                       struct error *err)
{
    const char *next = name;

    while (next) {
        const char *child = chain->count ? chain->paths[chain->count - 1] : NULL;
        const struct profile_source source = {.path = child};
        cleanup_free char *path = NULL;
        json_t *tree = NULL;
        const json_t *parent;

        if (find_file(next, system_dir, child, &path, err) < 0)
            return child ? error_wrap(err, "%s: `inherits`", child) : -1;
        for (size_t i = 0; i < chain->count; i++)
            if (same_file(chain->paths[i], path))
                return profile_mistake(&source, "inherits", err, "`%s` inherits from itself", next);
        if (chain->count == PROFILE_INHERIT_MAX)
            return profile_mistake(&source, "inherits", err,
                                   "more than %d profiles inherit in a row", PROFILE_INHERIT_MAX);
        if (toml_load(path, &tree, err) < 0)
            return -1;
        chain->paths[chain->count] = take_ptr(path);
        chain->trees[chain->count] = tree;
        chain->count++;
        parent = json_object_get(tree, "inherits");
        if (parent && !json_is_string(parent)) {
            const struct profile_source here = {.path = chain->paths[chain->count - 1]};

            return profile_wrong_kind(&here, "inherits", parent, "the name of a profile", err);
        }
        next = json_string_value(parent);
    }
    return 0;
}
