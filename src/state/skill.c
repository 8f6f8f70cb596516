#include "state/skill.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "wire/policy.h"

#define NOW "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"

/* The last version of each. */
#define LAST                                                                                       \
    " version=(SELECT MAX(version) FROM skill s WHERE s.owner=skill.owner AND s.name=skill.name)"

#define SKILLS "skills"

static int not_found(const char *name, struct error *err)
{
    error_set(err, E_NOT_FOUND, "there is no skill `%s`", name);
    return error_hint(err, "list_skills names those there are");
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
    error_set(err, E_INVALID, "that is no name of a skill");
    return error_hint(err,
                      "up to %d small letters, digits and `_`, beginning with a letter, as in "
                      "`from skills.clean_csv import f`",
                      STORE_NAME_MAX);
}

/* --- saving --- */

int skill_compose(struct span code, const char *description, struct buf *out, struct error *err)
{
    if (code.len > LIMIT_SKILL_BYTES)
        return error_set(err, E_TOO_LARGE, "a skill may have %d KiB",
                         (int)(LIMIT_SKILL_BYTES / KIB));
    if (memchr(code.data, '\0', code.len))
        return error_set(err, E_INVALID, "the code has a NUL");
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

static int check_room(struct store *store, const char *owner, struct error *err)
{
    int64_t count = 0;

    if (store_number(store, 0, &count, err, "SELECT COUNT(DISTINCT name) FROM skill WHERE owner=?",
                     "s", owner) < 0)
        return -1;
    if (count <= LIMIT_SKILLS)
        return 0;
    error_set(err, E_TOO_LARGE, "there are %d skills already", LIMIT_SKILLS);
    return error_hint(err, "`belljar skills rm` makes room");
}

static int save(struct store *store, const char *owner, const char *name, struct span text,
                const char *description, int64_t *ret_version, struct error *err)
{
    int64_t last = 0;

    if (store_number(store, 0, &last, err,
                     "SELECT MAX(version) FROM skill WHERE owner=? AND name=?", "ss", owner,
                     name) < 0)
        return -1;
    *ret_version = last + 1;
    if (store_do(store, err, "INSERT INTO skill VALUES(?,?,?," NOW ",?,?)", "ssisb", owner, name,
                 last + 1, description, text.data, text.len) < 0 ||
        store_do(store, err, "DELETE FROM skill WHERE owner=? AND name=? AND version<=?", "ssi",
                 owner, name, last + 1 - LIMIT_SKILL_VERSIONS) < 0)
        return -1;
    return check_room(store, owner, err);
}

int skill_save(struct store *store, const char *owner, const char *name, struct span text,
               const char *description, int64_t *ret_version, struct error *err)
{
    int64_t version = 0;
    int r;

    if (skill_check_name(name, err) < 0 || store_begin(store, err) < 0)
        return -1;
    r = store_commit(store, save(store, owner, name, text, description, &version, err), err);
    if (r == 0)
        *ret_version = version;
    return r;
}

/* --- reading --- */

static json_t *text(sqlite3_stmt *row, int column)
{
    const char *data = (const char *)sqlite3_column_text(row, column);

    return data ? json_stringn(data, (size_t)sqlite3_column_bytes(row, column)) : json_null();
}

static json_t *head(sqlite3_stmt *row)
{
    return json_pack("{s:o, s:o, s:I, s:o, s:I}", "name", text(row, 0), "description", text(row, 1),
                     "version", (json_int_t)sqlite3_column_int64(row, 2), "updated_at",
                     text(row, 3), "bytes", (json_int_t)sqlite3_column_int64(row, 4));
}

int skill_list(struct store *store, const char *owner, json_t **ret_list, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row =
        store_query(store, err,
                    "SELECT name, description, version, time, LENGTH(CAST(code AS BLOB)) FROM skill"
                    " WHERE owner=? AND" LAST " ORDER BY name",
                    "s", owner);
    json_t *list = json_array();
    int r = row ? 0 : -1;

    while (row && (r = store_step(store, row, err)) > 0)
        (void)json_array_append_new(list, head(row));
    if (r < 0) {
        json_decref(list);
        return -1;
    }
    *ret_list = list;
    return 0;
}

/* Newest first; the one that is asked for has its code at the top. */
int skill_load(struct store *store, const char *owner, const char *name, int64_t version,
               json_t **ret_skill, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row = NULL;
    json_t *skill = NULL, *versions = json_array();
    int r = skill_check_name(name, err);

    if (r == 0)
        row =
            store_query(store, err,
                        "SELECT name, description, version, time, LENGTH(CAST(code AS BLOB)), code"
                        " FROM skill WHERE owner=? AND name=? ORDER BY version DESC",
                        "ss", owner, name);
    r = row ? 0 : -1;
    while (row && (r = store_step(store, row, err)) > 0) {
        if (!skill && (!version || version == sqlite3_column_int64(row, 2))) {
            skill = head(row);
            (void)json_object_set_new(skill, "code", text(row, 5));
        }
        (void)json_array_append_new(versions, json_pack("{s:I, s:o, s:I}", "version",
                                                        (json_int_t)sqlite3_column_int64(row, 2),
                                                        "timestamp", text(row, 3), "bytes",
                                                        (json_int_t)sqlite3_column_int64(row, 4)));
    }
    if (r < 0 || !skill) {
        json_decref(skill);
        json_decref(versions);
        return r < 0 ? -1 : not_found(name, err);
    }
    (void)json_object_set_new(skill, "versions", versions);
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
    return count ? 0 : not_found(name, err);
}

int skill_delete(struct store *store, const char *owner, const char *name, struct error *err)
{
    if (skill_check_name(name, err) < 0 || store_begin(store, err) < 0)
        return -1;
    return store_commit(
        store, drop(store, owner, name, "DELETE FROM skill WHERE owner=? AND name=?", err), err);
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
    if (drop(store, owner, name, "DELETE FROM skill WHERE owner=? AND name=? AND" LAST, err) < 0)
        return -1;
    return store_number(store, 0, ret_version, err,
                        "SELECT MAX(version) FROM skill WHERE owner=? AND name=?", "ss", owner,
                        name);
}

int skill_undo(struct store *store, const char *owner, const char *name, int64_t *ret_version,
               struct error *err)
{
    if (skill_check_name(name, err) < 0 || store_begin(store, err) < 0)
        return -1;
    return store_commit(store, undo(store, owner, name, ret_version, err), err);
}

/* --- giving --- */

static bool allows_skills(const struct run *run)
{
    struct wire_policy policy;
    bool is_listed = false, is_denied = false;

    if (wire_policy_decode(run->policy, &policy) < 0)
        return false;
    for (size_t i = 0; i < policy.n_rows; i++) {
        const struct policy_row *row = &policy.rows[i];

        if (row->key.len != strlen(SKILLS) || memcmp(row->key.data, SKILLS, row->key.len) != 0)
            continue;
        is_listed |= row->list == POLICY_IMPORT_ALLOW;
        is_denied |= row->list == POLICY_IMPORT_DENY;
    }
    is_listed |= !(policy.flags & POLICY_IMPORTS_LISTED);
    wire_policy_done(&policy);
    return is_listed && !is_denied;
}

static bool says(struct span text, const char *word)
{
    return memmem(text.data, text.len, word, strlen(word)) != NULL;
}

/* By the names that stand in it: a name too many costs a file, one too few an import. Those that
 * are given are taken off the list. */
static int give_named(json_t *skills, struct span text, struct run *run, struct error *err)
{
    char path[STORE_NAME_MAX + sizeof(SKILLS) + 8];

    for (size_t i = 0; i < json_array_size(skills);) {
        const json_t *skill = json_array_get(skills, i);
        const json_t *code = json_array_get(skill, 1);
        const char *name = json_string_value(json_array_get(skill, 0));
        const struct run_given file = {
            .path = path, .data = (char *)json_string_value(code), .len = json_string_length(code)};

        if (!says(text, name)) {
            i++;
            continue;
        }
        (void)snprintf(path, sizeof(path), SKILLS "/%s.py", name);
        if (run_give_file(run, &file, err) < 0)
            return -1;
        (void)json_array_remove(skills, i);
    }
    return 0;
}

/* The program's, and then those of each that was given. */
static int give_all(json_t *skills, struct run *run, struct error *err)
{
    size_t next = run->n_given;
    int r = give_named(skills, (struct span){buf_str(&run->code), run->code.len}, run, err);

    for (; r == 0 && next < run->n_given; next++) {
        struct span text = {run->given[next].data, run->given[next].len};

        if (says(text, SKILLS))
            r = give_named(skills, text, run, err);
    }
    return r;
}

int skill_give(struct store *store, const char *owner, struct run *run, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row = NULL;
    json_t *skills;
    int r;

    if (!store || !says((struct span){buf_str(&run->code), run->code.len}, SKILLS) ||
        !allows_skills(run) || !store_is_there(store))
        return 0;
    row =
        store_query(store, err, "SELECT name, code FROM skill WHERE owner=? AND" LAST, "s", owner);
    skills = json_array();
    r = row ? 0 : -1;
    while (row && (r = store_step(store, row, err)) > 0)
        (void)json_array_append_new(skills, json_pack("[o, o]", text(row, 0), text(row, 1)));
    if (r == 0)
        r = give_all(skills, run, err);
    json_decref(skills);
    return r;
}
