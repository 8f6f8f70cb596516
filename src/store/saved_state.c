#include "store/saved_state.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"

#define NOW "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"

static const char what[] = "a refactoring session";

static int not_found(const char *name, struct error *err)
{
    error_set(err, E_NOT_FOUND, "there is no refactoring session `%s`", name);
    return error_hint(err, "`belljar state list` lists them; list_sessions lists them");
}

/* --- making --- */

static int create(struct store *store, const char *owner, const char *name, const char *description,
                  bool *ret_is_new, struct error *err)
{
    int64_t count = 0, known = 0;

    if (store_number(store, 0, &count, err, "SELECT COUNT(*) FROM work WHERE owner=?", "s", owner) <
            0 ||
        store_number(store, 0, &known, err, "SELECT COUNT(*) FROM work WHERE owner=? AND name=?",
                     "ss", owner, name) < 0)
        return -1;
    *ret_is_new = !known;
    if (known)
        return description
                   ? store_do(store, err, "UPDATE work SET description=? WHERE owner=? AND name=?",
                              "sss", description, owner, name)
                   : 0;
    if (count >= LIMIT_WORKS) {
        error_set(err, E_TOO_LARGE, "there are %d refactoring sessions already", LIMIT_WORKS);
        return error_hint(err, "delete_session makes room");
    }
    return store_do(store, err, "INSERT INTO work VALUES(?,?,?," NOW "," NOW ",0)", "sss", owner,
                    name, description);
}

int saved_state_create(struct store *store, const char *owner, const char *name,
                       const char *description, bool *ret_is_new, struct error *err)
{
    if (store_check_name(what, name, err) < 0 || store_begin_own(store, owner, err) < 0)
        return -1;
    return store_commit(store, create(store, owner, name, description, ret_is_new, err), err);
}

/* --- saving --- */

/* The oldest go: beyond a number, and beyond the bytes of one. The newest stays in any case. */
static int drop_old(struct store *store, const char *owner, const char *name, struct error *err)
{
    return store_do(
        store, err,
        "DELETE FROM save WHERE owner=?1 AND name=?2 AND version IN (SELECT version FROM"
        " (SELECT version, ROW_NUMBER() OVER newest AS place, SUM(bytes) OVER newest AS total"
        "  FROM save WHERE owner=?1 AND name=?2 WINDOW newest AS (ORDER BY version DESC))"
        " WHERE place > ?3 OR (place > 1 AND total > ?4))",
        "ssii", owner, name, (int64_t)LIMIT_WORK_HISTORY, (int64_t)LIMIT_WORK_BYTES);
}

int saved_state_check_room(struct store *store, const char *owner, struct error *err)
{
    int64_t bytes = 0;

    if (store_number(store, 0, &bytes, err, "SELECT SUM(bytes) FROM save WHERE owner=?", "s",
                     owner) < 0)
        return -1;
    if (bytes <= (int64_t)LIMIT_OWNER_BYTES)
        return 0;
    error_set(err, E_TOO_LARGE, "all states together would be more than %" PRIu64 " MiB",
              (uint64_t)(LIMIT_OWNER_BYTES / MIB));
    return error_hint(err, "delete_session makes room");
}

static int save(struct store *store, const char *owner, const char *name, struct span state,
                int64_t seen, int64_t *ret_version, struct error *err)
{
    int64_t last = 0;

    if (store_number(store, -1, &last, err, "SELECT version FROM work WHERE owner=? AND name=?",
                     "ss", owner, name) < 0)
        return -1;
    if (last < 0)
        return not_found(name, err);
    if (seen >= 0 && seen != last) {
        error_set(err, E_INVALID, "`%s` has been saved since: its version is %" PRId64, name, last);
        return error_hint(err, "load it, merge both, and save the result with version %" PRId64,
                          last);
    }
    *ret_version = last + 1;
    if (store_do(store, err, "INSERT INTO save VALUES(?,?,?," NOW ",?,?)", "ssiib", owner, name,
                 last + 1, (int64_t)state.len, state.data, state.len) < 0 ||
        store_do(store, err, "UPDATE work SET version=?, updated=" NOW " WHERE owner=? AND name=?",
                 "iss", last + 1, owner, name) < 0 ||
        drop_old(store, owner, name, err) < 0)
        return -1;
    return saved_state_check_room(store, owner, err);
}

int saved_state_save(struct store *store, const char *owner, const char *name, struct span state,
                     int64_t seen, int64_t *ret_version, struct error *err)
{
    int64_t version = 0;
    int r;

    if (store_check_name(what, name, err) < 0)
        return -1;
    if (state.len > LIMIT_STATE_BYTES) {
        error_set(err, E_TOO_LARGE, "the state has %zu bytes; %" PRIu64 " MiB is the most",
                  state.len, (uint64_t)(LIMIT_STATE_BYTES / MIB));
        return error_hint(err, "save only what the next step needs: names and numbers, not files");
    }
    if (store_begin_own(store, owner, err) < 0)
        return -1;
    r = store_commit(store, save(store, owner, name, state, seen, &version, err), err);
    if (r == 0)
        *ret_version = version;
    return r;
}

/* --- loading --- */

static json_t *text(sqlite3_stmt *row, int column)
{
    const char *data = (const char *)sqlite3_column_text(row, column);

    return data ? json_stringn(data, (size_t)sqlite3_column_bytes(row, column)) : json_null();
}

static json_t *head(sqlite3_stmt *row)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:I}", "name", text(row, 0), "description", text(row, 1),
                     "created_at", text(row, 2), "updated_at", text(row, 3), "version",
                     (json_int_t)sqlite3_column_int64(row, 4));
}

static int add_history(struct store *store, const char *owner, const char *name, json_t *work,
                       struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row =
        store_query(store, err,
                    "SELECT version, time, bytes FROM save WHERE owner=? AND name=?"
                    " ORDER BY version DESC",
                    "ss", owner, name);
    json_t *history = json_array();
    int r = row ? 0 : -1;

    (void)json_object_set_new(work, "history", history);
    while (row && (r = store_step(store, row, err)) > 0)
        (void)json_array_append_new(history, json_pack("{s:I, s:o, s:I}", "version",
                                                       (json_int_t)sqlite3_column_int64(row, 0),
                                                       "timestamp", text(row, 1), "bytes",
                                                       (json_int_t)sqlite3_column_int64(row, 2)));
    return r;
}

/* Before the first save the state is empty. `text`: where it goes as it is, or NULL. */
static int add_state(struct store *store, const char *owner, const char *name, int64_t version,
                     json_t *work, struct buf *text, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row =
        store_query(store, err, "SELECT state FROM save WHERE owner=? AND name=? AND version=?",
                    "ssi", owner, name, version);
    int r = row ? store_step(store, row, err) : -1;
    const char *saved;
    json_t *state;

    if (r < 0)
        return -1;
    if (!r && version) {
        error_set(err, E_NOT_FOUND, "`%s` has no version %" PRId64 "; it may have been deleted",
                  name, version);
        return error_hint(err, "its history lists the versions that are kept");
    }
    saved = r ? (const char *)sqlite3_column_text(row, 0) : "{}";
    if (text) {
        (void)json_object_set_new(work, "version", json_integer(version));
        return saved ? buf_add(text, saved, strlen(saved), err) : error_memory(err);
    }
    state = saved ? json_text_own(saved, strlen(saved)) : NULL;
    if (!state)
        return error_set(err, E_SYSTEM, "the state of `%s` cannot be read", name);
    (void)json_object_set_new(work, "version", json_integer(version));
    (void)json_object_set_new(work, "state", state);
    return 0;
}

static int load(struct store *store, const char *owner, const char *name, int64_t version,
                json_t **ret_work, struct buf *text, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row =
        store_query(store, err,
                    "SELECT name, description, created, updated, version FROM work"
                    " WHERE owner=? AND name=?",
                    "ss", owner, name);
    int r = row ? store_step(store, row, err) : -1;
    json_t *work;

    if (r < 0)
        return -1;
    if (!r)
        return not_found(name, err);
    work = head(row);
    if (!work)
        return error_memory(err);
    if (!version)
        version = sqlite3_column_int64(row, 4);
    if (add_state(store, owner, name, version, work, text, err) < 0 ||
        add_history(store, owner, name, work, err) < 0) {
        json_decref(work);
        return -1;
    }
    *ret_work = work;
    return 0;
}

int saved_state_load_text(struct store *store, const char *owner, const char *name, int64_t version,
                          json_t **ret_work, struct buf *text, struct error *err)
{
    int r;

    /* One transaction: the state, its number and its history belong together. */
    if (store_check_name(what, name, err) < 0 || store_begin_read(store, err) < 0)
        return -1;
    r = load(store, owner, name, version, ret_work, text, err);
    store_end_read(store);
    return r;
}

int saved_state_load(struct store *store, const char *owner, const char *name, int64_t version,
                     json_t **ret_work, struct error *err)
{
    return saved_state_load_text(store, owner, name, version, ret_work, NULL, err);
}

int saved_state_list(struct store *store, const char *owner, json_t **ret_list, struct error *err)
{
    cleanup(store_end) sqlite3_stmt *row = store_query(
        store, err,
        "SELECT name, description, created, updated, version, (SELECT bytes FROM save WHERE"
        " save.owner=work.owner AND save.name=work.name AND save.version=work.version)"
        " FROM work WHERE owner=? ORDER BY updated DESC, name",
        "s", owner);
    json_t *list = json_array();
    int r = row ? 0 : -1;

    while (row && (r = store_step(store, row, err)) > 0) {
        json_t *work = head(row);

        (void)json_object_set_new(work, "bytes",
                                  json_integer((json_int_t)sqlite3_column_int64(row, 5)));
        (void)json_array_append_new(list, work);
    }
    if (r < 0) {
        json_decref(list);
        return -1;
    }
    *ret_list = list;
    return 0;
}

static int remove_work(struct store *store, const char *owner, const char *name, struct error *err)
{
    int64_t count = 0;

    if (store_do(store, err, "DELETE FROM work WHERE owner=? AND name=?", "ss", owner, name) < 0 ||
        store_number(store, 0, &count, err, "SELECT changes()", "") < 0)
        return -1;
    return count ? 0 : not_found(name, err);
}

int saved_state_delete(struct store *store, const char *owner, const char *name, struct error *err)
{
    if (store_check_name(what, name, err) < 0 || store_begin_own(store, owner, err) < 0)
        return -1;
    return store_commit(store, remove_work(store, owner, name, err), err);
}
