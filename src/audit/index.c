#include "audit/index_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "audit/segment.h"
#include "base/cleanup.h"

#define INDEX_NAME "index.sqlite"

/* Another number: the old one is thrown away. */
#define INDEX_VERSION 4

/* Bytes kept of a program's first line. */
#define SUMMARY_MAX 80

static const char schema[] =
    "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF;"
    "CREATE TABLE IF NOT EXISTS files(first INTEGER PRIMARY KEY, indexed INTEGER, inode INTEGER,"
    " hash TEXT);"
    "CREATE TABLE IF NOT EXISTS records(seq INTEGER PRIMARY KEY, time TEXT, kind TEXT, event TEXT,"
    " id TEXT, owner TEXT, session TEXT, status TEXT, correlation TEXT, profile TEXT, summary TEXT,"
    " wall_ms REAL, first INTEGER, offset INTEGER, length INTEGER, language TEXT);"
    "CREATE INDEX IF NOT EXISTS by_id ON records(id, kind);"
    "CREATE INDEX IF NOT EXISTS by_session ON records(session);"
    "CREATE INDEX IF NOT EXISTS by_correlation ON records(correlation);"
    "CREATE INDEX IF NOT EXISTS by_owner ON records(owner);"
    "PRAGMA user_version=4;"; /* INDEX_VERSION */

int index_fail(const struct index *index, const char *what, struct error *err)
{
    return error_set(err, E_SYSTEM, "the index of the trail: %s: %s", what,
                     index->db ? sqlite3_errmsg(index->db) : "out of memory");
}

int index_file(struct index *index, uint64_t first, struct error *err)
{
    if (index->open_fd >= 0 && index->open_first == first)
        return index->open_fd;
    close_fd(&index->open_fd);
    index->open_fd = segment_open(index->dir, first, false, err);
    index->open_first = first;
    return index->open_fd;
}

/* --- one record --- */

/* The first line of a program that says something, or why somebody was turned away. */
static void summarize(const json_t *object, char summary[SUMMARY_MAX + 4])
{
    const char *text = json_string_value(json_object_get(json_object_get(object, "code"), "text"));
    size_t len;

    if (!text)
        text = json_string_value(json_object_get(json_object_get(object, "error"), "message"));
    *summary = '\0';
    if (!text)
        return;
    text += strspn(text, " \t\r\n");
    len = strcspn(text, "\r\n");
    if (len > SUMMARY_MAX) {
        len = SUMMARY_MAX;
        while (len && ((unsigned char)text[len] & 0xc0) == 0x80)
            len--;
        (void)snprintf(summary, SUMMARY_MAX + 4, "%.*s…", (int)len, text);
    } else {
        (void)snprintf(summary, SUMMARY_MAX + 4, "%.*s", (int)len, text);
    }
}

/* An earlier record has the same program, with its first line. */
static void copy_summary(const struct index *index, const json_t *object,
                         char summary[SUMMARY_MAX + 4])
{
    const json_t *seq = json_object_get(json_object_get(object, "code"), "text_seq");
    sqlite3_stmt *row = NULL;

    if (json_is_integer(seq) &&
        sqlite3_prepare_v2(index->db, "SELECT summary FROM records WHERE seq=?", -1, &row, NULL) ==
            SQLITE_OK &&
        sqlite3_bind_int64(row, 1, json_integer_value(seq)) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW && sqlite3_column_text(row, 0))
        (void)snprintf(summary, SUMMARY_MAX + 4, "%s", (const char *)sqlite3_column_text(row, 0));
    (void)sqlite3_finalize(row);
}

static void bind(sqlite3_stmt *statement, int place, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    if (text)
        (void)sqlite3_bind_text(statement, place, text, -1, SQLITE_TRANSIENT);
    else
        (void)sqlite3_bind_null(statement, place);
}

static int add_record(const struct index *index, sqlite3_stmt *statement, const json_t *object,
                      const struct record_head *head, uint64_t first, uint64_t offset, size_t len,
                      struct error *err)
{
    static const char *const keys[] = {"event",          "id",     "owner", "session", "status",
                                       "correlation_id", "profile"};
    const json_t *wall = json_object_get(json_object_get(object, "usage"), "wall_ms");
    char summary[SUMMARY_MAX + 4];

    summarize(object, summary);
    if (!*summary)
        copy_summary(index, object, summary);
    (void)sqlite3_reset(statement);
    (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)head->mark.seq);
    (void)sqlite3_bind_text(statement, 2, head->mark.time, -1, SQLITE_TRANSIENT);
    (void)sqlite3_bind_text(statement, 3, head->kind, -1, SQLITE_TRANSIENT);
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        bind(statement, 4 + (int)i, object, keys[i]);
    (void)sqlite3_bind_text(statement, 11, summary, -1, SQLITE_TRANSIENT);
    (void)sqlite3_bind_double(statement, 12, wall ? json_number_value(wall) : -1);
    (void)sqlite3_bind_int64(statement, 13, (sqlite3_int64)first);
    (void)sqlite3_bind_int64(statement, 14, (sqlite3_int64)offset);
    (void)sqlite3_bind_int64(statement, 15, (sqlite3_int64)len);
    bind(statement, 16, object, "language");
    return sqlite3_step(statement) == SQLITE_DONE ? 0 : index_fail(index, "add a record", err);
}

/* --- one file --- */

static int remember(const struct index *index, uint64_t first, uint64_t end, const struct stat *st,
                    const struct record_head *head, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    char hash[2 * SHA256_BYTES + 1];
    int r = sqlite3_prepare_v2(index->db, "INSERT OR REPLACE INTO files VALUES(?,?,?,?)", -1,
                               &statement, NULL);

    sha256_to_hex(head->mark.hash, hash);
    if (r == SQLITE_OK) {
        (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)first);
        (void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)end);
        (void)sqlite3_bind_int64(statement, 3, (sqlite3_int64)st->st_ino);
        (void)sqlite3_bind_text(statement, 4, hash, -1, SQLITE_TRANSIENT);
        r = sqlite3_step(statement);
    }
    (void)sqlite3_finalize(statement);
    return r == SQLITE_DONE ? 0 : index_fail(index, "remember a file", err);
}

/* From `from` to the last whole line. What is no record is passed over: that is for verify to say.
 */
static int add_file(struct index *index, uint64_t first, uint64_t from, struct error *err)
{
    static const char insert[] =
        "INSERT OR REPLACE INTO records VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
    cleanup(segment_read_done) struct segment_reader reader = {0};
    struct record_head head, last = {0};
    sqlite3_stmt *statement = NULL;
    int fd = index_file(index, first, err), r = 0;
    uint64_t end = from;
    const char *line;
    struct stat st;
    size_t len;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0)
        return error_errno(err, "look at the trail");
    if ((uint64_t)st.st_size == from)
        return 0;
    if (sqlite3_prepare_v2(index->db, insert, -1, &statement, NULL) != SQLITE_OK)
        return index_fail(index, "add records", err);
    segment_read_from(&reader, fd, from, (uint64_t)st.st_size);
    while (r == 0 && segment_next(&reader, &line, &len, err) > 0) {
        json_t *object = record_read(line, len, &head) ? record_load(line, len) : NULL;

        if (object) {
            r = add_record(index, statement, object, &head, first, reader.line_at, len, err);
            last = head;
            end = reader.line_at + len + 1;
        }
        json_decref(object);
    }
    (void)sqlite3_finalize(statement);
    return r < 0 || end == from ? r : remember(index, first, end, &st, &last, err);
}

/* The offset up to which a file is indexed; 0: it is new; -1: it was replaced. */
static int64_t indexed_to(struct index *index, uint64_t first)
{
    static const uint8_t nobody[SHA256_BYTES];
    sqlite3_stmt *statement = NULL;
    char hash[2 * SHA256_BYTES + 1];
    struct segment_last last;
    int fd = index_file(index, first, NULL);
    int64_t to = -1;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 ||
        sqlite3_prepare_v2(index->db, "SELECT indexed, inode, hash FROM files WHERE first=?", -1,
                           &statement, NULL) != SQLITE_OK)
        return -1;
    (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)first);
    if (sqlite3_step(statement) != SQLITE_ROW) {
        to = 0;
    } else if (sqlite3_column_int64(statement, 0) <= st.st_size &&
               sqlite3_column_int64(statement, 1) == (sqlite3_int64)st.st_ino &&
               segment_find_last(fd, (uint64_t)sqlite3_column_int64(statement, 0), nobody, &last,
                                 NULL) == 0) {
        sha256_to_hex(last.head.mark.hash, hash);
        if ((int64_t)last.end == sqlite3_column_int64(statement, 0) &&
            strcmp(hash, (const char *)sqlite3_column_text(statement, 2)) == 0)
            to = sqlite3_column_int64(statement, 0);
    }
    (void)sqlite3_finalize(statement);
    return to;
}

/* --- all of it --- */

static int64_t count_files(const struct index *index)
{
    sqlite3_stmt *statement = NULL;
    int64_t count = -1;

    if (sqlite3_prepare_v2(index->db, "SELECT COUNT(*) FROM files", -1, &statement, NULL) ==
            SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        count = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return count;
}

static int add_files(struct index *index, const uint64_t *files, size_t count, struct error *err)
{
    int64_t known = count_files(index), seen = 0;
    bool is_same = known >= 0;
    int r = 0;

    for (size_t i = 0; is_same && i < count; i++) {
        int64_t to = indexed_to(index, files[i]);

        is_same = to >= 0;
        seen += to > 0;
    }
    if (!is_same || seen != known) {
        if (sqlite3_exec(index->db, "DELETE FROM files; DELETE FROM records", NULL, NULL, NULL) !=
            SQLITE_OK)
            return index_fail(index, "begin anew", err);
    }
    for (size_t i = 0; r == 0 && i < count; i++) {
        int64_t to = indexed_to(index, files[i]);

        r = add_file(index, files[i], to > 0 ? (uint64_t)to : 0, err);
    }
    return r;
}

static int bring_up_to_date(struct index *index, struct error *err)
{
    cleanup_free uint64_t *files = NULL;
    size_t count;
    int r;

    if (segment_list(index->dir, &files, &count, err) < 0)
        return -1;
    if (sqlite3_exec(index->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return index_fail(index, "begin", err);
    r = add_files(index, files, count, err);
    if (sqlite3_exec(index->db, r == 0 ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL) != SQLITE_OK &&
        r == 0)
        r = index_fail(index, "commit", err);
    return r;
}

/* A file of another version, or that is not an index, is not ours to repair. */
static bool is_usable(sqlite3 *db)
{
    sqlite3_stmt *statement = NULL;
    bool is_good = false;

    if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        is_good = sqlite3_column_int(statement, 0) == 0 || /* it has just been made */
                  sqlite3_column_int(statement, 0) == INDEX_VERSION;
    (void)sqlite3_finalize(statement);
    return is_good && sqlite3_exec(db, schema, NULL, NULL, NULL) == SQLITE_OK;
}

static int open_db(struct index *index, struct error *err)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d/" INDEX_NAME, index->dir);
    (void)close(openat(index->dir, INDEX_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (sqlite3_open_v2(path, &index->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
        SQLITE_OK)
        return index_fail(index, "open", err);
    (void)sqlite3_busy_timeout(index->db, 10000);
    return 0;
}

static int open_index(struct index *index, struct error *err)
{
    for (int tries = 0;; tries++) {
        if (open_db(index, err) < 0)
            return -1;
        if (is_usable(index->db)) {
            int r = bring_up_to_date(index, err);

            if (r == 0 || tries)
                return r;
            error_done(err);
        } else if (tries) {
            return index_fail(index, "make it anew", err);
        }
        (void)sqlite3_close(index->db);
        index->db = NULL;
        (void)unlinkat(index->dir, INDEX_NAME, 0);
    }
}

int index_open(const char *dir, struct index **ret_index, struct error *err)
{
    struct index *index = calloc(1, sizeof(*index));

    if (!index)
        return error_memory(err);
    *index = (struct index){.open_fd = -1};
    index->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (index->dir < 0) {
        error_errno(err, "there is no trail in `%s`", dir);
        if (err)
            err->code = E_NOT_FOUND;
        index_close(index);
        return -1;
    }
    if (open_index(index, err) < 0) {
        index_close(index);
        return -1;
    }
    *ret_index = index;
    return 0;
}

void index_close(struct index *index)
{
    if (!index)
        return;
    (void)sqlite3_close(index->db);
    close_fd(&index->open_fd);
    close_fd(&index->dir);
    free(index);
}
