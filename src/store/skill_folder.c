/* Skills that are folders, in the store; and the files of a skill of any kind. */
#include <string.h>

#include "base/cleanup.h"
#include "store/public_skills.h"
#include "store/skill_internal.h"

int skill_put_files(struct store *store, const char *owner, const char *key, int64_t version,
                    const struct skill_bundle *folder, struct error *err)
{
    if (store_do(store, err, "INSERT INTO folder VALUES(?,?,?,?)", "ssis", owner, key, version,
                 folder->name) < 0)
        return -1;
    for (size_t i = 0; i < folder->count; i++) {
        const struct skill_bundle_file *file = &folder->files[i];

        if (store_do(store, err, "INSERT INTO file VALUES(?,?,?,?,?,?)", "ssisiB", owner, key,
                     version, file->path, (int64_t)file->is_executable, file->data, file->len) < 0)
            return -1;
    }
    return 0;
}

/* The row comes first, so that its files have something to belong to, with no code yet: what is too
 * old by its bytes goes only now. */
static int save(struct store *store, const char *owner, const char *key,
                const struct skill_bundle *folder, int64_t *ret_version, struct error *err)
{
    if (skill_add_version(store, owner, key, (struct span){"", 0}, folder->description, ret_version,
                          err) < 0 ||
        skill_put_files(store, owner, key, *ret_version, folder, err) < 0 ||
        skill_drop_old(store, owner, key, err) < 0)
        return -1;
    return skill_check_room(store, owner, err);
}

int skill_save_folder(struct store *store, const char *owner, const struct skill_bundle *folder,
                      int64_t *ret_version, struct error *err)
{
    char key[STORE_NAME_MAX + 1];
    int64_t version = 0;
    int r;

    if (skill_key(folder->name, key, err) < 0 || skill_check_free(store, key, err) < 0 ||
        store_begin_own(store, owner, err) < 0)
        return -1;
    r = store_commit(store, save(store, owner, key, folder, &version, err), err);
    if (r == 0)
        *ret_version = version;
    return r;
}

/* --- reading --- */

static int read_files(struct store *store, const char *owner, const char *key, int64_t version,
                      struct skill_bundle *folder, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row = store_query(
        store, err,
        "SELECT path, is_executable, data FROM file WHERE owner=? AND name=? AND version=?"
        " ORDER BY path",
        "ssi", owner, key, version);
    int r = row ? 0 : -1;

    while (row && (r = store_step(store, row, err)) > 0) {
        const char *data = sqlite3_column_blob(row, 2);
        const struct span bytes = {data ? data : "", (size_t)sqlite3_column_bytes(row, 2)};

        if (skill_bundle_add(folder, span_of((const char *)sqlite3_column_text(row, 0)), bytes,
                             sqlite3_column_int64(row, 1) != 0, err) < 0)
            return -1;
    }
    return r < 0 ? -1 : skill_bundle_finish(folder, err);
}

/* A module is a folder of one file. */
static int read_module(sqlite3_stmt *row, const char *key, struct skill_bundle *folder,
                       struct error *err)
{
    char path[STORE_NAME_MAX + 4];

    (void)snprintf(path, sizeof(path), "%s.py", key);
    folder->name = strdup(key);
    if (!folder->name)
        return error_memory(err);
    return skill_bundle_add(folder, span_of(path),
                            (struct span){(const char *)sqlite3_column_text(row, 0),
                                          (size_t)sqlite3_column_bytes(row, 0)},
                            false, err);
}

/* 1: it is there, 0: it is not. */
static int open_own(struct store *store, const char *owner, const char *key, int64_t version,
                    struct skill_bundle *folder, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row = NULL;
    int r;

    if (!store_is_there(store))
        return 0;
    row = store_query(store, err,
                      "SELECT code, version, (SELECT title FROM folder f WHERE f.owner=skill.owner"
                      " AND f.name=skill.name AND f.version=skill.version) FROM skill"
                      " WHERE owner=?1 AND name=?2 AND (version=?3 OR ?3=0)"
                      " ORDER BY version DESC LIMIT 1",
                      "ssi", owner, key, version);
    r = row ? store_step(store, row, err) : -1;
    if (r <= 0)
        return r;
    if (sqlite3_column_type(row, 2) == SQLITE_NULL)
        r = read_module(row, key, folder, err);
    else
        r = read_files(store, owner, key, sqlite3_column_int64(row, 1), folder, err);
    return r < 0 ? -1 : 1;
}

int skill_open(struct store *store, const char *owner, const char *name, int64_t version,
               struct skill_bundle *ret_folder, struct error *err)
{
    cleanup(skill_bundle_done) struct skill_bundle folder = {0};
    char key[STORE_NAME_MAX + 1];
    int r;

    if (skill_key(name, key, err) < 0)
        return -1;
    r = open_own(store, owner, key, version, &folder, err);
    if (r == 0 && (version || !public_skills_has(store, key)))
        return skill_not_found(name, err);
    if (r < 0 || (r == 0 && public_skills_open(store, key, &folder, err) < 0))
        return -1;
    *ret_folder = folder;
    folder = (struct skill_bundle){0};
    return 0;
}
