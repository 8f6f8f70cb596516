/* Texts that a record does not have itself: an earlier one of the same file has them (`text_seq`),
 * under the same hash. */
#include <string.h>

#include "audit/index_internal.h"
#include "audit/record.h"
#include "base/cleanup.h"
#include "base/json.h"

/* The record with that number, or NULL. */
static json_t *load(struct index *index, uint64_t seq)
{
    cleanup(buf_done) struct buf line = BUF_OF(RECORD_BYTES + 1);
    sqlite3_stmt *row = NULL;
    json_t *object = NULL;

    if (sqlite3_prepare_v2(index->db, "SELECT first, offset, length FROM records WHERE seq=?", -1,
                           &row, NULL) == SQLITE_OK &&
        sqlite3_bind_int64(row, 1, (sqlite3_int64)seq) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW &&
        index_read(index, (uint64_t)sqlite3_column_int64(row, 0),
                   (uint64_t)sqlite3_column_int64(row, 1), (size_t)sqlite3_column_int64(row, 2),
                   &line, NULL) == 0)
        object = record_load(line.data, line.len);
    (void)sqlite3_finalize(row);
    return object;
}

/* A text with that hash anywhere in the value, which is as deep as a record can be. */
static json_t *find_text(json_t *value, const char *hash)
{
    const char *own = json_string_value(json_object_get(value, "sha256"));
    json_t *text = json_object_get(value, "text"), *item;
    const char *key;
    size_t i;

    if (own && strcmp(own, hash) == 0 && json_is_string(text))
        return text;
    text = NULL;
    json_object_foreach(value, key, item)
    {
        if (!text)
            text = find_text(item, hash);
    }
    json_array_foreach(value, i, item)
    {
        if (!text)
            text = find_text(item, hash);
    }
    return text;
}

static void resolve_one(struct index *index, json_t *object)
{
    const json_t *seq = json_object_get(object, "text_seq");
    const char *hash = json_string_value(json_object_get(object, "sha256"));
    cleanup_json json_t *other = NULL;
    json_t *text;

    if (!json_is_integer(seq) || !hash || json_object_get(object, "text"))
        return;
    other = load(index, (uint64_t)json_integer_value(seq));
    text = other ? find_text(other, hash) : NULL;
    if (text)
        (void)json_object_set(object, "text", text);
    else
        (void)json_object_set_new(object, "is_missing", json_true());
}

static void resolve(struct index *index, json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;

    resolve_one(index, value);
    json_object_foreach(value, key, item)
    {
        resolve(index, item);
    }
    json_array_foreach(value, i, item)
    {
        resolve(index, item);
    }
}

bool index_refers(const struct buf *line)
{
    return line->len && memmem(line->data, line->len, "\"text_seq\":", 11) != NULL;
}

json_t *index_load(struct index *index, const struct buf *line)
{
    json_t *object = record_load(line->data, line->len);

    if (object && index_refers(line))
        resolve(index, object);
    return object;
}

static bool has_text(const json_t *value, const char *wanted)
{
    const char *text = json_string_value(json_object_get(value, "text")), *key;
    const json_t *item;
    bool has = json_object_get(value, "text_seq") && text && strcasestr(text, wanted);
    size_t i;

    json_object_foreach((json_t *)value, key, item)
    {
        has = has || has_text(item, wanted);
    }
    json_array_foreach(value, i, item)
    {
        has = has || has_text(item, wanted);
    }
    return has;
}

bool index_text_has(struct index *index, const struct buf *line, const char *wanted)
{
    cleanup_json json_t *object = index_refers(line) ? index_load(index, line) : NULL;

    return object && has_text(object, wanted);
}
