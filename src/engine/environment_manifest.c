#include "engine/environment_manifest.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/paths.h"

#define NAME_BYTES_MAX 63
#define CHARACTERS     "abcdefghijklmnopqrstuvwxyz0123456789-_"

static bool is_name(const char *name)
{
    return *name >= 'a' && *name <= 'z' && strlen(name) <= NAME_BYTES_MAX &&
           strspn(name, CHARACTERS) == strlen(name);
}

int manifest_check_name(const char *name, struct error *err)
{
    if (is_name(name) && strcmp(name, "system") != 0)
        return 0;
    error_set(err, E_INVALID, "`%s` cannot be the name of an environment", name);
    return error_hint(err, "a name has small letters, digits, `-` and `_`, begins with a letter, "
                           "and is not `system`");
}

char *manifest_dir(const char *name, struct error *err)
{
    cleanup_free char *all = NULL;
    char *dir;

    if (manifest_check_name(name, err) < 0)
        return NULL;
    all = paths_made("environments", err);
    if (!all)
        return NULL;
    if (asprintf(&dir, "%s/%s", all, name) >= 0)
        return dir;
    error_memory(err);
    return NULL;
}

static char *manifest_path(const char *name, struct error *err)
{
    cleanup_free char *dir = manifest_dir(name, err);
    char *path;

    if (!dir)
        return NULL;
    if (asprintf(&path, "%s/" MANIFEST_FILE, dir) >= 0)
        return path;
    error_memory(err);
    return NULL;
}

bool manifest_exists(const char *name)
{
    cleanup_free char *path = is_name(name) ? manifest_path(name, NULL) : NULL;

    return path && access(path, R_OK) == 0;
}

json_t *manifest_load(const char *name, struct error *err)
{
    cleanup_free char *path = manifest_path(name, err);
    cleanup_json json_t *manifest = NULL;

    if (!path)
        return NULL;
    if (access(path, R_OK) < 0) {
        error_set(err, E_NOT_FOUND, "there is no environment `%s`", name);
        error_hint(err, "make it with `belljar environment create %s --with PACKAGE`", name);
        return NULL;
    }
    manifest = json_text_own_file(path);
    if (json_are_strings(json_object_get(manifest, "preload")) &&
        json_are_strings(json_object_get(manifest, "modules")))
        return json_incref(manifest);
    error_set(err, E_INVALID, "`%s` is not the manifest of an environment", path);
    error_hint(err,
               "make it again: `belljar environment rm %s`, then `belljar environment create %s "
               "--with PACKAGE`",
               name, name);
    return NULL;
}

int manifest_store(const char *name, const json_t *manifest, struct error *err)
{
    cleanup_free char *path = manifest_path(name, err);
    cleanup_free char *text = path ? json_dumps(manifest, JSON_INDENT(2)) : NULL;

    if (!path)
        return -1;
    return text ? file_replace(path, text, strlen(text), err) : error_memory(err);
}

static int is_made(const struct dirent *entry)
{
    return manifest_exists(entry->d_name);
}

json_t *manifest_list(struct error *err)
{
    cleanup_free char *all = paths_made("environments", err);
    json_t *list = all ? json_array() : NULL;
    struct dirent **entries = NULL;
    int count = list ? scandir(all, &entries, is_made, alphasort) : 0;

    for (int i = 0; i < count; i++) {
        json_t *manifest = manifest_load(entries[i]->d_name, NULL);

        if (manifest)
            (void)json_array_append_new(list, manifest);
        free(entries[i]);
    }
    free(entries);
    return list;
}

int manifest_take_names(struct config_list *list, const json_t *names, struct error *err)
{
    const json_t *name;
    size_t i;

    json_array_foreach(names, i, name)
    {
        if (config_list_add(list, json_string_value(name), json_string_length(name), err) < 0)
            return -1;
    }
    return 0;
}
