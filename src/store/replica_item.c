#include "store/replica_item.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "store/saved_state.h"
#include "store/skill_internal.h"

/* As LIMIT_WORK_HISTORY, which is the larger one. */
#define VERSIONS_MAX LIMIT_WORK_HISTORY

#define VERSION_MAX       1000000000000000
#define DESCRIPTION_BYTES (16 * KIB)

const char *const replica_kinds[REPLICA_KINDS] = {
    [REPLICA_STATE] = "state", [REPLICA_SKILL] = "skill"};

void replica_item_done(struct replica_item *item)
{
    for (size_t i = 0; i < item->count; i++) {
        free(item->versions[i].description);
        buf_done(&item->versions[i].content);
    }
    free(item->versions);
    free(item->description);
    *item = (struct replica_item){0};
}

bool replica_item_key(const char *key, enum replica_kind *ret_kind, const char **ret_name)
{
    for (int kind = 0; kind < REPLICA_KINDS; kind++) {
        size_t len = strlen(replica_kinds[kind]);

        if (strncmp(key, replica_kinds[kind], len) == 0 && key[len] == '/') {
            *ret_kind = (enum replica_kind)kind;
            *ret_name = key + len + 1;
            return true;
        }
    }
    return false;
}

/* --- from the store --- */

int replica_item_names(struct store *store, const char *owner, json_t **ret_names,
                       struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row =
        store_query(store, err,
                    "SELECT 'state/' || name FROM work WHERE owner=?1 UNION"
                    " SELECT 'skill/' || name FROM skill WHERE owner=?1",
                    "s", owner);
    json_t *names = json_object();
    int r = row ? 0 : -1;

    while (row && (r = store_step(store, row, err)) > 0)
        json_set(names, (const char *)sqlite3_column_text(row, 0), json_null());
    if (r < 0) {
        json_decref(names);
        return -1;
    }
    *ret_names = names;
    return 0;
}

static void copy_time(char to[REPLICA_TIME_SIZE], sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    (void)snprintf(to, REPLICA_TIME_SIZE, "%s", text ? text : "");
}

static int copy_text(char **to, const char *text, struct error *err)
{
    *to = text ? strdup(text) : NULL;
    return text && !*to ? error_memory(err) : 0;
}

static int add_row(struct replica_item *item, sqlite3_stmt *row, struct error *err)
{
    struct replica_version *v;
    const char *id = (const char *)sqlite3_column_text(row, 4);

    if (!item->versions)
        item->versions = calloc(VERSIONS_MAX, sizeof(*item->versions));
    if (!item->versions)
        return error_memory(err);
    if (item->count == VERSIONS_MAX)
        return 0; /* older than any that is kept */
    v = &item->versions[item->count++];
    v->version = sqlite3_column_int64(row, 0);
    v->bytes = sqlite3_column_int64(row, 2);
    copy_time(v->time, row, 1);
    buf_init(&v->content, REPLICA_CONTENT_BYTES);
    (void)snprintf(v->id, sizeof(v->id), "%s", id ? id : "");
    v->pieces = (unsigned)sqlite3_column_int64(row, 5);
    return copy_text(&v->description, (const char *)sqlite3_column_text(row, 3), err);
}

#define OBJECT_OF(kind, table)                                                                     \
    " LEFT JOIN replica_object o ON o.owner=" table ".owner AND o.kind='" kind                     \
    "' AND o.name=" table ".name AND o.version=" table ".version"

static const char *const version_queries[REPLICA_KINDS] = {
    [REPLICA_STATE] = "SELECT save.version, time, bytes, NULL, o.id, o.pieces FROM save" OBJECT_OF(
        "state", "save") " WHERE save.owner=? AND save.name=? ORDER BY save.version DESC",
    [REPLICA_SKILL] =
        "SELECT skill.version, time, 0, description, o.id, o.pieces FROM skill" OBJECT_OF(
            "skill", "skill") " WHERE skill.owner=? AND skill.name=? ORDER BY skill.version DESC",
};

static int read_versions(struct store *store, const char *owner, struct replica_item *item,
                         struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row =
        store_query(store, err, version_queries[item->kind], "ss", owner, item->name);
    int r = row ? 0 : -1;

    while (row && (r = store_step(store, row, err)) > 0)
        if (add_row(item, row, err) < 0)
            return -1;
    return r;
}

/* 0: there is none. */
static int read_work(struct store *store, const char *owner, struct replica_item *item,
                     struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row = store_query(
        store, err,
        "SELECT description, created, updated, version FROM work WHERE owner=? AND name=?", "ss",
        owner, item->name);
    int r = row ? store_step(store, row, err) : -1;

    if (r <= 0)
        return r;
    copy_time(item->created, row, 1);
    copy_time(item->updated, row, 2);
    item->last = sqlite3_column_int64(row, 3);
    return copy_text(&item->description, (const char *)sqlite3_column_text(row, 0), err) < 0 ? -1
                                                                                             : 1;
}

int replica_item_read(struct store *store, const char *owner, enum replica_kind kind,
                      const char *name, struct replica_item *ret_item, struct error *err)
{
    cleanup(replica_item_done) struct replica_item item = {.kind = kind};
    int r = 1;

    (void)snprintf(item.name, sizeof(item.name), "%s", name);
    if (kind == REPLICA_STATE)
        r = read_work(store, owner, &item, err);
    if (r > 0 && read_versions(store, owner, &item, err) < 0)
        r = -1;
    if (r > 0 && kind == REPLICA_SKILL)
        r = item.count > 0;
    if (r > 0) {
        *ret_item = item;
        item = (struct replica_item){0};
    }
    return r;
}

/* --- contents --- */

static int load_state(struct store *store, const char *owner, const struct replica_item *item,
                      struct replica_version *v, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row =
        store_query(store, err, "SELECT state FROM save WHERE owner=? AND name=? AND version=?",
                    "ssi", owner, item->name, v->version);
    int r = row ? store_step(store, row, err) : -1;

    if (r <= 0)
        return r < 0 ? -1 : error_set(err, E_SYSTEM, "a version of `%s` is gone", item->name);
    return buf_add(&v->content, sqlite3_column_text(row, 0), (size_t)sqlite3_column_bytes(row, 0),
                   err);
}

static int pack_folder(struct store *store, const char *owner, const struct replica_item *item,
                       int64_t version, struct pack *p, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row = store_query(
        store, err,
        "SELECT path, is_executable, data FROM file WHERE owner=? AND name=? AND version=?", "ssi",
        owner, item->name, version);
    int64_t count = 0;
    int r = row ? 0 : -1;

    if (r == 0)
        r = store_number(store, 0, &count, err,
                         "SELECT COUNT(*) FROM file WHERE owner=? AND name=? AND version=?", "ssi",
                         owner, item->name, version);
    pack_u8(p, 1);
    pack_u32(p, (uint32_t)count);
    while (r >= 0 && (r = store_step(store, row, err)) > 0) {
        pack_str(p, (const char *)sqlite3_column_text(row, 0));
        pack_u8(p, sqlite3_column_int64(row, 1) != 0);
        pack_bytes(p, sqlite3_column_blob(row, 2), (size_t)sqlite3_column_bytes(row, 2));
    }
    return r;
}

static int load_skill(struct store *store, const char *owner, const struct replica_item *item,
                      struct replica_version *v, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row = store_query(
        store, err,
        "SELECT code, (SELECT 1 FROM folder f WHERE f.owner=skill.owner AND f.name=skill.name AND"
        " f.version=skill.version) FROM skill WHERE owner=? AND name=? AND version=?",
        "ssi", owner, item->name, v->version);
    cleanup(pack_done) struct pack p;
    int r = row ? store_step(store, row, err) : -1;

    pack_init(&p, REPLICA_CONTENT_BYTES);
    if (r <= 0)
        return r < 0 ? -1 : error_set(err, E_SYSTEM, "a version of `%s` is gone", item->name);
    if (sqlite3_column_type(row, 1) == SQLITE_NULL) {
        pack_u8(&p, 0);
        pack_bytes(&p, sqlite3_column_text(row, 0), (size_t)sqlite3_column_bytes(row, 0));
    } else if (pack_folder(store, owner, item, v->version, &p, err) < 0) {
        return -1;
    }
    return p.failed ? error_memory(err) : buf_add(&v->content, p.data, p.len, err);
}

int replica_item_load(struct store *store, const char *owner, struct replica_item *item,
                      size_t index, struct error *err)
{
    struct replica_version *v = &item->versions[index];

    buf_clear(&v->content);
    v->has_content = true;
    return item->kind == REPLICA_STATE ? load_state(store, owner, item, v, err)
                                       : load_skill(store, owner, item, v, err);
}

static int refuse(struct error *err, const char *what)
{
    return error_set(err, E_PROTOCOL, "the copy on the bus: %s", what);
}

/* The text stands in answers as it is. */
static int check_state(struct span content, struct error *err)
{
    static const struct json_text_limits limits = {
        .bytes = LIMIT_STATE_BYTES, .depth = 2048, .allows_nul = true, .allows_many = true};
    cleanup_json json_t *state = NULL;
    cleanup_error struct error why = {0};

    if (json_text_load(content.data, content.len, &limits, &state, &why) < 0 ||
        !json_is_object(state))
        return refuse(err, "a state is not a JSON object");
    return 0;
}

static int unpack_folder(struct unpack *u, struct skill_bundle *folder, struct error *err)
{
    uint32_t count = unpack_count(u, 9, LIMIT_FOLDER_FILES);

    for (uint32_t i = 0; i < count && !u->failed; i++) {
        struct span path = unpack_span(u);
        bool is_executable = unpack_u8(u) != 0;
        struct span data = unpack_span(u);

        if (!u->failed && skill_bundle_add(folder, path, data, is_executable, err) < 0)
            return -1;
    }
    if (!unpack_ok(u))
        return refuse(err, "the files of a skill");
    return skill_bundle_finish(folder, err);
}

/* A module has its code in *ret_code, and the folder stays empty. */
static int unpack_skill(struct span content, struct span *ret_code, struct skill_bundle *folder,
                        struct error *err)
{
    struct unpack u;
    uint8_t what;

    unpack_init(&u, content.data, content.len);
    what = unpack_u8(&u);
    if (what == 1 && !u.failed)
        return unpack_folder(&u, folder, err);
    *ret_code = unpack_span(&u);
    if (what || !unpack_ok(&u) || ret_code->len > LIMIT_SKILL_BYTES + 16 * KIB ||
        memchr(ret_code->data, '\0', ret_code->len))
        return refuse(err, "the code of a skill");
    return 0;
}

int replica_item_check(enum replica_kind kind, struct span content, struct error *err)
{
    cleanup(skill_bundle_done) struct skill_bundle folder = {0};
    struct span code;

    if (kind == REPLICA_STATE)
        return check_state(content, err);
    return unpack_skill(content, &code, &folder, err);
}

/* --- as text --- */

static json_t *version_json(const struct replica_item *item, const struct replica_version *v)
{
    json_t *one = json_pack("{s:I, s:s, s:s, s:i}", "v", (json_int_t)v->version, "time", v->time,
                            "id", v->id, "pieces", (int)v->pieces);

    if (item->kind == REPLICA_STATE)
        json_set(one, "bytes", json_integer((json_int_t)v->bytes));
    else
        json_set(one, "description", json_string_or_null(v->description));
    return one;
}

int replica_item_write(const struct replica_item *item, struct buf *out, struct error *err)
{
    cleanup_json json_t *whole = json_object();
    json_t *versions = json_array();

    json_set(whole, "versions", versions);
    for (size_t i = 0; i < item->count; i++)
        (void)json_array_append_new(versions, version_json(item, &item->versions[i]));
    if (item->kind == REPLICA_STATE) {
        json_set(whole, "description", json_string_or_null(item->description));
        json_set(whole, "created", json_string(item->created));
        json_set(whole, "updated", json_string(item->updated));
        json_set(whole, "last", json_integer((json_int_t)item->last));
    }
    return json_text_dump(whole, JSON_TEXT_COMPACT, out, err);
}

/* "2026-11-19T20:42:54.123Z", or nothing. */
static bool read_time(const json_t *value, char to[REPLICA_TIME_SIZE])
{
    const char *text = json_string_value(value);

    if (!text || strlen(text) >= REPLICA_TIME_SIZE ||
        strspn(text, "0123456789-:.TZ") != strlen(text))
        return false;
    (void)snprintf(to, REPLICA_TIME_SIZE, "%s", text);
    return true;
}

static bool read_text(const json_t *value, char **to)
{
    const char *text = json_string_value(value);

    if (!text)
        return json_is_null(value) || !value;
    if (strlen(text) != json_string_length(value) || strlen(text) > DESCRIPTION_BYTES)
        return false;
    *to = strdup(text);
    return *to != NULL;
}

static bool read_id(const json_t *value, char id[ID_PLAIN_SIZE])
{
    const char *text = json_string_value(value);

    if (!text || strncmp(text, "obj_", 4) != 0 || strlen(text) != ID_PLAIN_SIZE - 1 ||
        id_time_ms(text) < 0)
        return false;
    memcpy(id, text, ID_PLAIN_SIZE);
    return true;
}

static bool read_version(const struct replica_item *item, const json_t *one,
                         struct replica_version *v)
{
    json_int_t pieces = json_integer_value(json_object_get(one, "pieces"));

    v->version = (int64_t)json_integer_value(json_object_get(one, "v"));
    v->bytes = (int64_t)json_integer_value(json_object_get(one, "bytes"));
    buf_init(&v->content, REPLICA_CONTENT_BYTES);
    if (pieces < 1 || pieces > (json_int_t)(REPLICA_CONTENT_BYTES / REPLICA_PIECE))
        return false;
    v->pieces = (unsigned)pieces;
    return v->version >= 1 && v->version <= VERSION_MAX && v->bytes >= 0 &&
           v->bytes <= (int64_t)LIMIT_STATE_BYTES && *json_get_text(one, "time") &&
           read_time(json_object_get(one, "time"), v->time) &&
           read_id(json_object_get(one, "id"), v->id) &&
           (item->kind == REPLICA_STATE ||
            read_text(json_object_get(one, "description"), &v->description));
}

static int parse(struct replica_item *item, const json_t *whole, struct error *err)
{
    const json_t *versions = json_object_get(whole, "versions"), *one;
    size_t i;

    if (!json_is_array(versions) || json_array_size(versions) > VERSIONS_MAX)
        return refuse(err, "the versions of an item");
    item->versions = calloc(json_array_size(versions) + 1, sizeof(*item->versions));
    if (!item->versions)
        return error_memory(err);
    json_array_foreach(versions, i, one)
    {
        struct replica_version *v = &item->versions[item->count++];

        if (!read_version(item, one, v) || (i && v->version >= v[-1].version))
            return refuse(err, "a version of an item");
    }
    if (item->kind == REPLICA_SKILL)
        return item->count ? 0 : refuse(err, "a skill without a version");
    item->last = (int64_t)json_integer_value(json_object_get(whole, "last"));
    if (!read_text(json_object_get(whole, "description"), &item->description) ||
        !read_time(json_object_get(whole, "created"), item->created) ||
        !read_time(json_object_get(whole, "updated"), item->updated) ||
        item->last != (item->count ? item->versions[0].version : 0))
        return refuse(err, "a state");
    return 0;
}

int replica_item_parse(enum replica_kind kind, const char *name, struct span text,
                       struct replica_item *ret_item, struct error *err)
{
    static const struct json_text_limits limits = {.bytes = REPLICA_ITEM_BYTES, .depth = 4};
    cleanup(replica_item_done) struct replica_item item = {.kind = kind};
    cleanup_json json_t *whole = NULL;

    if (strlen(name) > STORE_NAME_MAX ||
        (kind == REPLICA_STATE ? store_check_name("a state", name, err)
                               : skill_check_name(name, err)) < 0)
        return refuse(err, "the name of an item");
    (void)snprintf(item.name, sizeof(item.name), "%s", name);
    if (json_text_load(text.data, text.len, &limits, &whole, err) < 0)
        return error_wrap(err, "the copy on the bus");
    if (parse(&item, whole, err) < 0)
        return -1;
    *ret_item = item;
    item = (struct replica_item){0};
    return 0;
}

/* --- into the store --- */

int replica_item_known(struct store *store, const char *owner, const struct replica_item *item,
                       size_t index, bool *ret_is_known, struct error *err)
{
    const struct replica_version *v = &item->versions[index];
    int64_t count = 0;

    if (store_number(store, 0, &count, err,
                     item->kind == REPLICA_STATE
                         ? "SELECT COUNT(*) FROM save JOIN replica_object USING(owner, name,"
                           " version) WHERE owner=? AND name=? AND version=? AND id=? AND"
                           " kind='state'"
                         : "SELECT COUNT(*) FROM skill JOIN replica_object USING(owner, name,"
                           " version) WHERE owner=? AND name=? AND version=? AND id=? AND"
                           " kind='skill'",
                     "ssis", owner, item->name, v->version, v->id) < 0)
        return -1;
    *ret_is_known = count > 0;
    return 0;
}

static int note_one(struct store *store, const char *owner, const struct replica_item *item,
                    const struct replica_version *v, struct error *err)
{
    return store_do(store, err, "INSERT OR REPLACE INTO replica_object VALUES(?,?,?,?,?,?)",
                    "sssisi", owner, replica_kinds[item->kind], item->name, v->version, v->id,
                    (int64_t)v->pieces);
}

static int put_state(struct store *store, const char *owner, const struct replica_item *item,
                     const struct replica_version *v, struct error *err)
{
    if (store_do(store, err, "INSERT OR IGNORE INTO work VALUES(?,?,?,?,?,0)", "sssss", owner,
                 item->name, item->description, item->created, item->updated) < 0 ||
        store_do(store, err, "INSERT OR REPLACE INTO save VALUES(?,?,?,?,?,?)", "ssisib", owner,
                 item->name, v->version, v->time, (int64_t)v->content.len, buf_str(&v->content),
                 v->content.len) < 0 ||
        store_do(store, err,
                 "UPDATE work SET version=MAX(version, ?), updated=? WHERE owner=? AND name=?",
                 "isss", v->version, v->time, owner, item->name) < 0)
        return -1;
    return 0;
}

static int put_skill(struct store *store, const char *owner, const struct replica_item *item,
                     const struct replica_version *v, struct error *err)
{
    cleanup(skill_bundle_done) struct skill_bundle folder = {0};
    struct span code = {"", 0};

    if (unpack_skill((struct span){buf_str(&v->content), v->content.len}, &code, &folder, err) <
            0 ||
        store_do(store, err, "DELETE FROM skill WHERE owner=? AND name=? AND version=?", "ssi",
                 owner, item->name, v->version) < 0 ||
        store_do(store, err, "INSERT INTO skill VALUES(?,?,?,?,?,?)", "ssissb", owner, item->name,
                 v->version, v->time, v->description, code.data, code.len) < 0)
        return -1;
    return folder.count ? skill_put_files(store, owner, item->name, v->version, &folder, err) : 0;
}

int replica_item_put(struct store *store, const char *owner, const struct replica_item *item,
                     size_t index, struct error *err)
{
    const struct replica_version *v = &item->versions[index];
    int r;

    if (replica_item_check(item->kind, (struct span){buf_str(&v->content), v->content.len}, err) <
            0 ||
        store_begin(store, err) < 0)
        return -1;
    r = item->kind == REPLICA_STATE ? put_state(store, owner, item, v, err)
                                    : put_skill(store, owner, item, v, err);
    if (r == 0)
        r = item->kind == REPLICA_STATE ? saved_state_check_room(store, owner, err)
                                        : skill_check_room(store, owner, err);
    if (r == 0)
        r = note_one(store, owner, item, v, err);
    return store_commit(store, r, err);
}

static int drop_others(struct store *store, const char *owner, const struct replica_item *item,
                       const char *sql, const json_t *versions, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(64 * KIB);

    return json_text_dump(versions, JSON_TEXT_COMPACT, &text, err) < 0
               ? -1
               : store_do(store, err, sql, "sss", owner, item->name, buf_str(&text));
}

#define NOT_IN " WHERE owner=? AND name=? AND version NOT IN (SELECT value FROM json_each(?))"

static int settle(struct store *store, const char *owner, const struct replica_item *item,
                  struct error *err)
{
    cleanup_json json_t *versions = json_array();
    bool is_state = item->kind == REPLICA_STATE;

    for (size_t i = 0; i < item->count; i++)
        (void)json_array_append_new(versions, json_integer((json_int_t)item->versions[i].version));
    if (is_state &&
        (store_do(store, err, "INSERT OR IGNORE INTO work VALUES(?,?,?,?,?,0)", "sssss", owner,
                  item->name, item->description, item->created, item->updated) < 0 ||
         store_do(store, err,
                  "UPDATE work SET description=?, created=?, updated=?, version=? WHERE owner=? AND"
                  " name=?",
                  "sssiss", item->description, item->created, item->updated, item->last, owner,
                  item->name) < 0))
        return -1;
    if (drop_others(store, owner, item,
                    is_state ? "DELETE FROM save" NOT_IN : "DELETE FROM skill" NOT_IN, versions,
                    err) < 0 ||
        drop_others(store, owner, item,
                    is_state ? "DELETE FROM replica_object" NOT_IN " AND kind='state'"
                             : "DELETE FROM replica_object" NOT_IN " AND kind='skill'",
                    versions, err) < 0)
        return -1;
    /* Of a skill that was saved again, texts may differ. */
    for (size_t i = 0; !is_state && i < item->count; i++)
        if (store_do(store, err,
                     "UPDATE skill SET description=? WHERE owner=? AND name=? AND version=?",
                     "sssi", item->versions[i].description, owner, item->name,
                     item->versions[i].version) < 0)
            return -1;
    return 0;
}

int replica_item_settle(struct store *store, const char *owner, const struct replica_item *item,
                        struct error *err)
{
    if (store_begin(store, err) < 0)
        return -1;
    return store_commit(store, settle(store, owner, item, err), err);
}

static int note(struct store *store, const char *owner, const struct replica_item *item,
                struct error *err)
{
    if (store_do(store, err, "DELETE FROM replica_object WHERE owner=? AND kind=? AND name=?",
                 "sss", owner, replica_kinds[item->kind], item->name) < 0)
        return -1;
    for (size_t i = 0; i < item->count; i++)
        if (note_one(store, owner, item, &item->versions[i], err) < 0)
            return -1;
    return 0;
}

int replica_item_note(struct store *store, const char *owner, const struct replica_item *item,
                      struct error *err)
{
    if (store_begin(store, err) < 0)
        return -1;
    return store_commit(store, note(store, owner, item, err), err);
}

int replica_item_remove(struct store *store, const char *owner, enum replica_kind kind,
                        const char *name, struct error *err)
{
    int r;

    if (store_begin(store, err) < 0)
        return -1;
    r = store_do(store, err,
                 kind == REPLICA_STATE ? "DELETE FROM work WHERE owner=? AND name=?"
                                       : "DELETE FROM skill WHERE owner=? AND name=?",
                 "ss", owner, name);
    if (r == 0)
        r = store_do(store, err, "DELETE FROM replica_object WHERE owner=? AND kind=? AND name=?",
                     "sss", owner, replica_kinds[kind], name);
    return store_commit(store, r, err);
}
