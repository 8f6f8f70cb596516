#include "store/public_skills.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "store/skill_internal.h"

#define PLACE_MAX 4096

/* --- looking --- */

json_t *public_skills_names(const struct store *store)
{
    json_t *names = json_object();
    const char *dir;

    for (size_t i = 0; (dir = store_shelf(store, i)); i++) {
        cleanup_closedir DIR *handle = opendir(dir);
        const struct dirent *entry;

        while (handle && json_object_size(names) < LIMIT_SHELF && (entry = readdir(handle))) {
            char key[STORE_NAME_MAX + 1], place[PLACE_MAX];
            int n = snprintf(place, sizeof(place), "%s/%s", dir, entry->d_name);
            struct stat st;

            if (n > 0 && (size_t)n < sizeof(place) && skill_key(entry->d_name, key, NULL) == 0 &&
                !json_object_get(names, key) && stat(place, &st) == 0 && S_ISDIR(st.st_mode))
                (void)json_object_set_new(names, key, json_string(entry->d_name));
        }
    }
    return names;
}

/* The directory of a skill, by the name it is imported by. */
static int find_place(const struct store *store, const char *key, char place[PLACE_MAX])
{
    json_t *names = public_skills_names(store);
    const char *name = json_string_value(json_object_get(names, key)), *dir;
    struct stat st;
    int found = -1;

    for (size_t i = 0; found < 0 && name && (dir = store_shelf(store, i)); i++) {
        int n = snprintf(place, PLACE_MAX, "%s/%s", dir, name);

        if (n > 0 && n < PLACE_MAX && stat(place, &st) == 0 && S_ISDIR(st.st_mode))
            found = 0;
    }
    json_decref(names);
    return found;
}

bool public_skills_has(const struct store *store, const char *key)
{
    char place[PLACE_MAX];

    return find_place(store, key, place) == 0;
}

/* --- reading --- */

int public_skills_open(const struct store *store, const char *key, struct skill_bundle *folder,
                       struct error *err)
{
    char place[PLACE_MAX], named[STORE_NAME_MAX + 1];

    if (find_place(store, key, place) < 0)
        return skill_not_found(key, err);
    if (skill_bundle_read(folder, place, err) < 0 || skill_bundle_finish(folder, err) < 0 ||
        skill_key(folder->name, named, err) < 0)
        return error_wrap(err, "the public skill `%s`", key);
    if (strcmp(named, key) != 0)
        return error_set(err, E_INVALID, "the public skill `%s` calls itself `%s`", key,
                         folder->name);
    return 0;
}

static json_t *time_of(const char *place)
{
    char path[PLACE_MAX + 16], text[32] = "";
    struct stat st;
    struct tm tm;

    (void)snprintf(path, sizeof(path), "%s/" SKILL_BUNDLE_HEAD, place);
    if (stat(path, &st) < 0 || !gmtime_r(&st.st_mtime, &tm) ||
        !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S.000Z", &tm))
        return json_null();
    return json_string(text);
}

json_t *public_skills_head(const char *key, const struct skill_bundle *folder,
                           const struct store *store)
{
    char place[PLACE_MAX] = "";
    json_t *skill;

    (void)find_place(store, key, place);
    skill = skill_head(key, folder->name, "public", json_string(folder->description), 0,
                       time_of(place), (int64_t)folder->bytes);
    (void)json_object_set_new(skill, "versions", json_array());
    return skill;
}

static json_t *broken(const char *key, const char *name, const struct error *err)
{
    return skill_head(key, name, "public",
                      json_sprintf("cannot be read: %s", err->message ? err->message : "?"), 0,
                      json_null(), 0);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

json_t *public_skills_list(const struct store *store)
{
    json_t *names = public_skills_names(store), *list = json_array(), *name;
    const char *keys[LIMIT_SHELF], *key;
    size_t count = 0;

    json_object_foreach(names, key, name)
    {
        keys[count++] = key;
    }
    qsort(keys, count, sizeof(*keys), by_name);
    for (size_t i = 0; i < count; i++) {
        cleanup(skill_bundle_done) struct skill_bundle folder = {0};
        cleanup_error struct error err = {0};
        json_t *skill =
            public_skills_open(store, keys[i], &folder, &err) == 0
                ? public_skills_head(keys[i], &folder, store)
                : broken(keys[i], json_string_value(json_object_get(names, keys[i])), &err);

        (void)json_object_del(skill, "versions");
        (void)json_array_append_new(list, skill);
    }
    json_decref(names);
    return list;
}
