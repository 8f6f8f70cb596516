#include "store/skill.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "store/public_skills.h"
#include "store/skill_internal.h"

#define OF_SKILL(t) t ".owner=skill.owner AND " t ".name=skill.name AND " t ".version=skill.version"

#define BYTES                                                                                      \
    "(LENGTH(CAST(code AS BLOB)) + COALESCE((SELECT SUM(LENGTH(data)) FROM file WHERE " OF_SKILL(  \
        "file") "), 0))"
#define TITLE "(SELECT title FROM folder WHERE " OF_SKILL("folder") ")"

/* The columns of every listing, in this order. */
#define COLUMNS "name, description, version, time, " BYTES ", " TITLE

int skill_not_found(const char *name, struct error *err)
{
    error_set(err, E_NOT_FOUND, "there is no skill `%s`", name);
    return error_hint(
        err, "`belljar skills list` lists them; GET /v1/skills lists them; list_skills lists them");
}

int skill_check_name(const char *name, struct error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz", plain[] =
                                                                    "abcdefghijklmnopqrstuvwxyz"
                                                                    "0123456789_";
    static const char *const words[] = {
        "and",    "as",   "assert", "async",  "await",  "break",   "class",    "continue",
        "def",    "del",  "elif",   "else",   "except", "finally", "for",      "from",
        "global", "if",   "import", "in",     "is",     "lambda",  "nonlocal", "not",
        "or",     "pass", "raise",  "return", "try",    "while",   "with",     "yield"};
    bool is_word = false;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        is_word |= strcmp(name, words[i]) == 0;
    if (*name && strchr(letters, *name) && strspn(name, plain) == strlen(name) && !is_word &&
        strlen(name) <= STORE_NAME_MAX)
        return 0;
    error_set(err, E_INVALID, "invalid skill name");
    return error_hint(err,
                      "up to %d lower-case letters, digits and `_`, beginning with a letter, as in "
                      "`from skills.clean_csv import f`",
                      STORE_NAME_MAX);
}

int skill_key(const char *name, char ret_key[STORE_NAME_MAX + 1], struct error *err)
{
    char key[STORE_NAME_MAX + 1];
    size_t len = strlen(name);

    if (len > STORE_NAME_MAX)
        return skill_check_name(name, err); /* which says why not */
    for (size_t i = 0; i <= len; i++)
        key[i] = (char)(name[i] == '-' ? '_' : name[i]);
    if (skill_check_name(key, err) < 0)
        return -1;
    memcpy(ret_key, key, len + 1);
    return 0;
}

int skill_check_free(const struct store *store, const char *name, struct error *err)
{
    char key[STORE_NAME_MAX + 1];

    if (skill_key(name, key, err) < 0)
        return -1;
    if (!public_skills_has(store, key))
        return 0;
    error_set(err, E_DENIED, "`%s` is a public skill and cannot be replaced", name);
    return error_hint(err, "save it under another name");
}

/* --- saving --- */

int skill_compose(struct span code, const char *description, struct buf *out, struct error *err)
{
    if (code.len > LIMIT_SKILL_BYTES)
        return error_set(err, E_TOO_LARGE, "a skill may have %d KiB",
                         (int)(LIMIT_SKILL_BYTES / KIB));
    if (memchr(code.data, '\0', code.len))
        return error_set(err, E_INVALID, "the code contains a NUL byte");
    if (description && *description) {
        if (buf_add_str(out, "\"\"\"", err) < 0)
            return -1;
        for (const char *c = description; *c; c++)
            if (((*c == '"' || *c == '\\') && buf_add(out, "\\", 1, err) < 0) ||
                buf_add(out, c, 1, err) < 0)
                return -1;
        if (buf_add_str(out, "\"\"\"\n", err) < 0)
            return -1;
    }
    return buf_add(out, code.data, code.len, err);
}

int skill_check_room(struct store *store, const char *owner, struct error *err)
{
    int64_t count = 0, bytes = 0;

    if (store_number(store, 0, &count, err, "SELECT COUNT(DISTINCT name) FROM skill WHERE owner=?",
                     "s", owner) < 0 ||
        store_number(store, 0, &bytes, err, "SELECT SUM(" BYTES ") FROM skill WHERE owner=?", "s",
                     owner) < 0)
        return -1;
    if (count <= LIMIT_SKILLS && bytes <= (int64_t)LIMIT_SKILLS_BYTES)
        return 0;
    if (count > LIMIT_SKILLS)
        error_set(err, E_TOO_LARGE, "there are %d skills already", LIMIT_SKILLS);
    else
        error_set(err, E_TOO_LARGE, "all skills together would be more than %d MiB",
                  (int)(LIMIT_SKILLS_BYTES / MIB));
    return error_hint(err, "`belljar skills rm` makes room");
}

/* The oldest go: beyond a number, and beyond some bytes, of which the last two are no part. */
int skill_drop_old(struct store *store, const char *owner, const char *key, struct error *err)
{
    return store_do(
        store, err,
        "DELETE FROM skill WHERE owner=?1 AND name=?2 AND version IN (SELECT version FROM"
        " (SELECT version, ROW_NUMBER() OVER newest AS place, SUM(" BYTES ") OVER newest AS total"
        "  FROM skill WHERE owner=?1 AND name=?2 WINDOW newest AS (ORDER BY version DESC))"
        " WHERE place > ?3 OR (place > 2 AND total > ?4))",
        "ssii", owner, key, (int64_t)LIMIT_SKILL_VERSIONS, (int64_t)LIMIT_SKILL_HISTORY);
}

int skill_add_version(struct store *store, const char *owner, const char *key, struct span text,
                      const char *description, int64_t *ret_version, struct error *err)
{
    int64_t last = 0;

    if (store_number(store, 0, &last, err,
                     "SELECT MAX(version) FROM skill WHERE owner=? AND name=?", "ss", owner,
                     key) < 0)
        return -1;
    *ret_version = last + 1;
    if (store_do(store, err, "INSERT INTO skill VALUES(?,?,?," SKILL_NOW ",?,?)", "ssisb", owner,
                 key, last + 1, description, text.data, text.len) < 0)
        return -1;
    return skill_drop_old(store, owner, key, err);
}

static int save(struct store *store, const char *owner, const char *name, struct span text,
                const char *description, int64_t *ret_version, struct error *err)
{
    if (skill_add_version(store, owner, name, text, description, ret_version, err) < 0)
        return -1;
    return skill_check_room(store, owner, err);
}

int skill_save(struct store *store, const char *owner, const char *name, struct span text,
               const char *description, int64_t *ret_version, struct error *err)
{
    int64_t version = 0;
    int r;

    if (skill_check_name(name, err) < 0 || skill_check_free(store, name, err) < 0 ||
        store_begin_own(store, owner, err) < 0)
        return -1;
    r = store_commit(store, save(store, owner, name, text, description, &version, err), err);
    if (r == 0)
        *ret_version = version;
    return r;
}

/* --- reading --- */

json_t *skill_text(const char *data, size_t len)
{
    json_t *text = data ? json_stringn(data, len) : NULL;

    return text ? text : json_null();
}

static json_t *column(sqlite3_stmt *row, int number)
{
    const char *data = (const char *)sqlite3_column_text(row, number);

    return skill_text(data, (size_t)sqlite3_column_bytes(row, number));
}

json_t *skill_head(const char *key, const char *title, const char *kind, json_t *description,
                   int64_t version, json_t *time, int64_t bytes)
{
    return json_pack("{s:s, s:s+, s:s, s:b, s:o, s:I, s:o, s:I}", "name", title ? title : key,
                     "module", "skills.", key, "kind", kind, "is_folder", title != NULL,
                     "description", description, "version", (json_int_t)version, "updated_at", time,
                     "bytes", (json_int_t)bytes);
}

static json_t *head(sqlite3_stmt *row)
{
    return skill_head((const char *)sqlite3_column_text(row, 0),
                      (const char *)sqlite3_column_text(row, 5), "user", column(row, 1),
                      sqlite3_column_int64(row, 2), column(row, 3), sqlite3_column_int64(row, 4));
}

/* Both lists are by module, and one's own stands for the public one that came later. */
static json_t *merge(json_t *own, json_t *shelves)
{
    size_t i;
    json_t *item;

    json_array_foreach(shelves, i, item)
    {
        const char *module = json_string_value(json_object_get(item, "module"));
        size_t at = 0;
        int order = -1;

        while (
            at < json_array_size(own) &&
            (order = strcmp(json_string_value(json_object_get(json_array_get(own, at), "module")),
                            module)) < 0)
            at++;
        if (at == json_array_size(own) || order != 0)
            (void)json_array_insert(own, at, item);
    }
    json_decref(shelves);
    return own;
}

int skill_list(struct store *store, const char *owner, json_t **ret_list, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row = store_query(
        store, err, "SELECT " COLUMNS " FROM skill WHERE owner=? AND" SKILL_LAST " ORDER BY name",
        "s", owner);
    json_t *list = json_array();
    int r = row ? 0 : -1;

    while (row && (r = store_step(store, row, err)) > 0)
        (void)json_array_append_new(list, head(row));
    if (r < 0) {
        json_decref(list);
        return -1;
    }
    *ret_list = merge(list, public_skills_list(store));
    return 0;
}

/* Newest first; the one that is asked for stands at the top. NULL, and no error: there is none. */
static int load_own(struct store *store, const char *owner, const char *key, int64_t version,
                    json_t **ret_skill, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row = store_query(
        store, err, "SELECT " COLUMNS " FROM skill WHERE owner=? AND name=? ORDER BY version DESC",
        "ss", owner, key);
    json_t *skill = NULL, *versions = json_array();
    int r = row ? 0 : -1;

    while (row && (r = store_step(store, row, err)) > 0) {
        if (!skill && (!version || version == sqlite3_column_int64(row, 2)))
            skill = head(row);
        (void)json_array_append_new(versions, json_pack("{s:I, s:o, s:I}", "version",
                                                        (json_int_t)sqlite3_column_int64(row, 2),
                                                        "timestamp", column(row, 3), "bytes",
                                                        (json_int_t)sqlite3_column_int64(row, 4)));
    }
    if (r < 0 || !skill) {
        json_decref(skill);
        json_decref(versions);
        return r;
    }
    (void)json_object_set_new(skill, "versions", versions);
    *ret_skill = skill;
    return 0;
}

void skill_add_files(json_t *skill, const struct skill_bundle *folder)
{
    json_t *files = json_array();
    const struct skill_bundle_file *head_file = skill_bundle_find(folder, SKILL_BUNDLE_HEAD);
    const struct skill_bundle_file *code =
        head_file ? skill_bundle_find(folder, "__init__.py") : folder->files;

    for (size_t i = 0; i < folder->count; i++)
        (void)json_array_append_new(
            files, json_pack("{s:s, s:I, s:b}", "path", folder->files[i].path, "bytes",
                             (json_int_t)folder->files[i].len, "is_executable",
                             (int)folder->files[i].is_executable));
    (void)json_object_set_new(skill, "files", files);
    (void)json_object_set_new(skill, "code",
                              code ? skill_text(code->data, code->len) : json_null());
    (void)json_object_set_new(skill, "instructions",
                              head_file ? skill_text(head_file->data, head_file->len)
                                        : json_null());
}

int skill_load(struct store *store, const char *owner, const char *name, int64_t version,
               json_t **ret_skill, struct error *err)
{
    cleanup(skill_bundle_done) struct skill_bundle folder = {0};
    char key[STORE_NAME_MAX + 1];
    json_t *skill = NULL;
    int r = -1;

    /* One transaction: what is said of it and its files belong together. */
    if (skill_key(name, key, err) < 0 || store_begin_read(store, err) < 0)
        return -1;
    if (load_own(store, owner, key, version, &skill, err) == 0)
        r = skill_open(store, owner, key, version, &folder, err);
    store_end_read(store);
    if (r == 0 && !skill)
        skill = public_skills_head(key, &folder, store);
    if (r < 0) {
        json_decref(skill);
        return -1;
    }
    skill_add_files(skill, &folder);
    *ret_skill = skill;
    return 0;
}

/* --- taking away --- */

static int drop(struct store *store, const char *owner, const char *name, const char *sql,
                struct error *err)
{
    int64_t count = 0;

    if (store_do(store, err, sql, "ss", owner, name) < 0 ||
        store_number(store, 0, &count, err, "SELECT changes()", "") < 0)
        return -1;
    if (!count && public_skills_has(store, name)) {
        error_set(err, E_DENIED, "`%s` is a public skill: only the operator can change it", name);
        return error_hint(err, "save your own skill under another name");
    }
    return count ? 0 : skill_not_found(name, err);
}

int skill_delete(struct store *store, const char *owner, const char *name, struct error *err)
{
    char key[STORE_NAME_MAX + 1];

    if (skill_key(name, key, err) < 0 || store_begin_own(store, owner, err) < 0)
        return -1;
    return store_commit(
        store, drop(store, owner, key, "DELETE FROM skill WHERE owner=? AND name=?", err), err);
}

static int undo(struct store *store, const char *owner, const char *name, int64_t *ret_version,
                struct error *err)
{
    int64_t count = 0;

    if (store_number(store, 0, &count, err, "SELECT COUNT(*) FROM skill WHERE owner=? AND name=?",
                     "ss", owner, name) < 0)
        return -1;
    if (count == 1) {
        error_set(err, E_NOT_FOUND, "there is no version of `%s` before this one", name);
        return error_hint(err, "`belljar skills rm %s` deletes it", name);
    }
    if (drop(store, owner, name, "DELETE FROM skill WHERE owner=? AND name=? AND" SKILL_LAST, err) <
        0)
        return -1;
    return store_number(store, 0, ret_version, err,
                        "SELECT MAX(version) FROM skill WHERE owner=? AND name=?", "ss", owner,
                        name);
}

int skill_undo(struct store *store, const char *owner, const char *name, int64_t *ret_version,
               struct error *err)
{
    char key[STORE_NAME_MAX + 1];

    if (skill_key(name, key, err) < 0 || store_begin_own(store, owner, err) < 0)
        return -1;
    return store_commit(store, undo(store, owner, key, ret_version, err), err);
}
