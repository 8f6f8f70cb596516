#include "store/store.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/name.h"
#include "base/paths.h"
#include "store/checkpoint.h"

/* A change takes well under a millisecond, and the loop stands still while another process makes
 * one: whoever holds the lock longer than this is ill. */
#define BUSY_MS 2000

#define PAGE_BYTES 4096

struct store {
    const struct store_kind *kind;
    char *path;
    sqlite3 *db;                   /* NULL: not yet opened */
    struct loop *loop;             /* of a server; NULL: a command that ends soon */
    struct checkpoint *checkpoint; /* with a loop */
    struct replicas *replicas;
    bool is_trial;
    char *shelves[STORE_SHELVES];
};

/* In WAL mode a commit is safe from the end of the process at once, and from a power failure after
 * the next checkpoint; the file is whole in either case. A checkpoint waits for the disk: it comes
 * after each MiB, not after four as usual. In a server nobody waits for it (store/checkpoint.h). */
static const char pragmas[] =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;"
    "PRAGMA trusted_schema=OFF; PRAGMA journal_size_limit=4194304; PRAGMA wal_autocheckpoint=256";

static const char tables[] =
    "CREATE TABLE IF NOT EXISTS work(owner TEXT NOT NULL, name TEXT NOT NULL, description TEXT,"
    " created TEXT NOT NULL, updated TEXT NOT NULL, version INTEGER NOT NULL,"
    " PRIMARY KEY(owner, name)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS save(owner TEXT NOT NULL, name TEXT NOT NULL,"
    " version INTEGER NOT NULL, time TEXT NOT NULL, bytes INTEGER NOT NULL, state TEXT NOT NULL,"
    " PRIMARY KEY(owner, name, version),"
    " FOREIGN KEY(owner, name) REFERENCES work(owner, name) ON DELETE CASCADE);"
    "CREATE TABLE IF NOT EXISTS skill(owner TEXT NOT NULL, name TEXT NOT NULL,"
    " version INTEGER NOT NULL, time TEXT NOT NULL, description TEXT, code TEXT NOT NULL,"
    " PRIMARY KEY(owner, name, version));"
    /* A skill that is a folder has no code; what SKILL.md calls it, and its files. */
    "CREATE TABLE IF NOT EXISTS folder(owner TEXT NOT NULL, name TEXT NOT NULL,"
    " version INTEGER NOT NULL, title TEXT NOT NULL, PRIMARY KEY(owner, name, version),"
    " FOREIGN KEY(owner, name, version) REFERENCES skill(owner, name, version) ON DELETE CASCADE);"
    "CREATE TABLE IF NOT EXISTS file(owner TEXT NOT NULL, name TEXT NOT NULL,"
    " version INTEGER NOT NULL, path TEXT NOT NULL, is_executable INTEGER NOT NULL,"
    " data BLOB NOT NULL, PRIMARY KEY(owner, name, version, path),"
    " FOREIGN KEY(owner, name, version) REFERENCES folder(owner, name, version)"
    " ON DELETE CASCADE);"
    /* store/replica.h: what the machines of a cluster have of an owner, and where the bus has it.
     */
    "CREATE TABLE IF NOT EXISTS replica(owner TEXT PRIMARY KEY, place TEXT NOT NULL,"
    " serial INTEGER NOT NULL, list TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS replica_object(owner TEXT NOT NULL, kind TEXT NOT NULL,"
    " name TEXT NOT NULL, version INTEGER NOT NULL, id TEXT NOT NULL, pieces INTEGER NOT NULL,"
    " PRIMARY KEY(owner, kind, name, version)) WITHOUT ROWID;";

static const struct store_kind usual = {
    .tables = tables,
    .version = 3,
    .max_bytes = LIMIT_STORE_BYTES,
    .full = "delete old entries with `belljar state rm`",
};

struct store *store_new_of(const char *path, const struct store_kind *kind)
{
    struct store *store = calloc(1, sizeof(*store));

    if (!store || !(store->path = strdup(path))) {
        free(store);
        return NULL;
    }
    store->kind = kind;
    return store;
}

struct store *store_new(const char *path)
{
    return store_new_of(path, &usual);
}

static void close_db(struct store *store)
{
    cleanup_close int file = checkpoint_end(take_ptr(store->checkpoint));

    (void)file; /* closed last */
    (void)sqlite3_close(store->db);
    store->db = NULL;
}

void store_free(struct store *store)
{
    if (!store)
        return;
    close_db(store);
    for (size_t i = 0; i < STORE_SHELVES; i++)
        free(store->shelves[i]);
    free(store->path);
    free(store);
}

int store_add_shelf(struct store *store, const char *dir, struct error *err)
{
    size_t n = 0;

    while (n < STORE_SHELVES && store->shelves[n])
        n++;
    if (n == STORE_SHELVES)
        return error_set(err, E_TOO_LARGE, "there are %d directories of skills already", (int)n);
    store->shelves[n] = strdup(dir);
    return store->shelves[n] ? 0 : error_memory(err);
}

const char *store_shelf(const struct store *store, size_t index)
{
    return index < STORE_SHELVES ? store->shelves[index] : NULL;
}

static char *operator_shelf(void)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char *dir = NULL;
    int n = -1;

    if (config && *config == '/')
        n = asprintf(&dir, "%s/belljar/skills", config);
    else if (home && *home == '/')
        n = asprintf(&dir, "%s/.config/belljar/skills", home);
    return n < 0 ? NULL : dir;
}

struct store *store_open_usual(struct error *err)
{
    cleanup_free char *path = paths_state("state.sqlite", err), *own = operator_shelf();
    cleanup_free char *ours = path ? paths_data("skills", err) : NULL;
    struct store *store = ours ? store_new(path) : NULL;

    if (ours && !store)
        error_memory(err);
    if (store &&
        ((own && store_add_shelf(store, own, err) < 0) || store_add_shelf(store, ours, err) < 0)) {
        store_free(store);
        store = NULL;
    }
    return store;
}

bool store_is_there(const struct store *store)
{
    return store->db || access(store->path, F_OK) == 0;
}

int store_check_name(const char *what, const char *name, struct error *err)
{
    if (name_is_plain(name, STORE_NAME_MAX, true))
        return 0;
    error_set(err, E_INVALID, "invalid name of %s", what);
    return error_hint(err,
                      "up to %d letters, digits, `_`, `-` and `.`, beginning with a letter or "
                      "digit",
                      STORE_NAME_MAX);
}

/* --- opening --- */

static int fail(const struct store *store, const char *what, struct error *err)
{
    int code = store->db ? sqlite3_errcode(store->db) : SQLITE_NOMEM;

    if (code == SQLITE_FULL) {
        error_set(err, E_TOO_LARGE, "the space for stored data is full");
        return error_hint(err, "%s", store->kind->full);
    }
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
        return error_set(err, E_BUSY, "another process is writing to `%s`", store->path);
    return error_set(err, E_SYSTEM, "`%s`: %s: %s", store->path, what,
                     store->db ? sqlite3_errmsg(store->db) : "out of memory");
}

static int64_t pragma(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t number = -1;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return number;
}

/* The file is ours alone from the first moment; those beside it that SQLite makes take its mode. */
static int make_file(const struct store *store, struct error *err)
{
    cleanup_close int fd =
        open(store->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return error_errno(err, "open `%s`", store->path);
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077)) {
        error_set(err, E_DENIED, "`%s` is not a file that you alone can read", store->path);
        return error_hint(err, "make it yours: chown and chmod 600");
    }
    return 0;
}

static int make_tables(const struct store *store)
{
    cleanup_free char *sql = NULL;
    int r;

    if (asprintf(&sql, "BEGIN IMMEDIATE; %s PRAGMA user_version=%d; COMMIT", store->kind->tables,
                 store->kind->version) < 0) {
        sql = NULL;
        return SQLITE_NOMEM;
    }
    r = sqlite3_exec(store->db, pragmas, NULL, NULL, NULL);
    return r == SQLITE_OK ? sqlite3_exec(store->db, sql, NULL, NULL, NULL) : r;
}

static int set_up(struct store *store, struct error *err)
{
    char most[64];

    (void)sqlite3_busy_timeout(store->db, BUSY_MS);
    if (pragma(store->db, "PRAGMA user_version") > store->kind->version) {
        error_set(err, E_UNSUPPORTED, "`%s` was written by a newer Belljar", store->path);
        return error_hint(err, "use that one, or move the file away");
    }
    (void)snprintf(most, sizeof(most), "PRAGMA max_page_count=%d",
                   (int)(store->kind->max_bytes / PAGE_BYTES));
    if (sqlite3_exec(store->db, "PRAGMA page_size=4096", NULL, NULL, NULL) != SQLITE_OK ||
        make_tables(store) != SQLITE_OK ||
        sqlite3_exec(store->db, most, NULL, NULL, NULL) != SQLITE_OK)
        return fail(store, "open", err);
    return 0;
}

static int open_db(struct store *store, struct error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW;
    int r;

    if (store->db)
        return 0;
    if (make_file(store, err) < 0)
        return -1;
    r = sqlite3_open_v2(store->path, &store->db, flags, NULL) == SQLITE_OK
            ? set_up(store, err)
            : fail(store, "open", err);
    if (r == 0 && store->loop)
        r = checkpoint_new(store->loop, store->db, store->path, BUSY_MS, &store->checkpoint, err);
    if (r < 0)
        close_db(store);
    return r;
}

void store_attend(struct store *store, struct loop *loop)
{
    store->loop = loop;
    if (store_is_there(store))
        (void)open_db(store, NULL); /* whoever asks for something is told why it cannot be */
}

/* --- statements --- */

static int bind(sqlite3_stmt *statement, const char *types, va_list values)
{
    int r = SQLITE_OK;

    for (int place = 1; *types && r == SQLITE_OK; types++, place++) {
        const char *text;

        switch (*types) {
        case 's':
            text = va_arg(values, const char *);
            r = sqlite3_bind_text(statement, place, text, -1, SQLITE_TRANSIENT);
            break;
        case 'b':
            text = va_arg(values, const char *);
            r = sqlite3_bind_text64(statement, place, text ? text : "", va_arg(values, size_t),
                                    SQLITE_TRANSIENT, SQLITE_UTF8);
            break;
        case 'B':
            text = va_arg(values, const char *);
            r = sqlite3_bind_blob64(statement, place, text ? text : "", va_arg(values, size_t),
                                    SQLITE_TRANSIENT);
            break;
        default:
            r = sqlite3_bind_int64(statement, place, va_arg(values, int64_t));
        }
    }
    return r;
}

static sqlite3_stmt *query(struct store *store, struct error *err, const char *sql,
                           const char *types, va_list values)
{
    sqlite3_stmt *statement = NULL;

    if (open_db(store, err) < 0)
        return NULL;
    if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK ||
        bind(statement, types, values) != SQLITE_OK) {
        fail(store, "ask", err);
        (void)sqlite3_finalize(statement);
        return NULL;
    }
    return statement;
}

sqlite3_stmt *store_query(struct store *store, struct error *err, const char *sql,
                          const char *types, ...)
{
    sqlite3_stmt *statement;
    va_list values;

    va_start(values, types);
    statement = query(store, err, sql, types, values);
    va_end(values);
    return statement;
}

void store_end(sqlite3_stmt **statement)
{
    (void)sqlite3_finalize(*statement);
}

int store_step(struct store *store, sqlite3_stmt *statement, struct error *err)
{
    switch (sqlite3_step(statement)) {
    case SQLITE_ROW:
        return 1;
    case SQLITE_DONE:
        return 0;
    default:
        return fail(store, "write or read", err);
    }
}

int store_do(struct store *store, struct error *err, const char *sql, const char *types, ...)
{
    cleanup(store_end) sqlite3_stmt *statement = NULL;
    va_list values;

    va_start(values, types);
    statement = query(store, err, sql, types, values);
    va_end(values);
    return statement && store_step(store, statement, err) >= 0 ? 0 : -1;
}

int store_number(struct store *store, int64_t none, int64_t *ret_number, struct error *err,
                 const char *sql, const char *types, ...)
{
    cleanup(store_end) sqlite3_stmt *statement = NULL;
    va_list values;
    int r;

    va_start(values, types);
    statement = query(store, err, sql, types, values);
    va_end(values);
    r = statement ? store_step(store, statement, err) : -1;
    if (r < 0)
        return -1;
    *ret_number = r && sqlite3_column_type(statement, 0) != SQLITE_NULL
                      ? sqlite3_column_int64(statement, 0)
                      : none;
    return 0;
}

int store_begin(struct store *store, struct error *err)
{
    if (store->is_trial)
        return 0;
    if (checkpoint_is_behind(store->checkpoint)) {
        error_set(err, E_BUSY, "the disk does not keep up with what is saved");
        return error_hint(err, "try again in a moment");
    }
    /* IMMEDIATE: whoever reads first and writes then must not find that another has written in
     * between. */
    return store_do(store, err, "BEGIN IMMEDIATE", "");
}

int store_commit(struct store *store, int r, struct error *err)
{
    if (store->is_trial)
        return r;
    if (r >= 0 && store_do(store, err, "COMMIT", "") == 0)
        return r;
    /* Some failures have ended it already, and then there is nothing to undo. */
    (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}

int store_begin_read(struct store *store, struct error *err)
{
    return store->is_trial ? 0 : store_do(store, err, "BEGIN", "");
}

void store_end_read(struct store *store)
{
    if (!store->is_trial)
        (void)store_do(store, NULL, "ROLLBACK", ""); /* nothing was changed */
}

/* Another process may begin to share it at any time: so it is asked in the change. */
int store_begin_own(struct store *store, const char *owner, struct error *err)
{
    int64_t is_shared = 0;
    int r;

    if (store_begin(store, err) < 0)
        return -1;
    if (store->is_trial)
        return 0;
    r = store_number(store, 0, &is_shared, err, "SELECT COUNT(*) FROM replica WHERE owner=?", "s",
                     owner);
    if (r == 0 && is_shared) {
        error_set(err, E_DENIED, "the machines of a cluster share these skills and states");
        r = error_hint(err, "change them through the server or a gateway, with a token");
    }
    return r < 0 ? store_commit(store, -1, err) : 0;
}

int store_begin_trial(struct store *store, struct error *err)
{
    if (store_begin(store, err) < 0)
        return -1;
    store->is_trial = true;
    return 0;
}

void store_end_trial(struct store *store)
{
    store->is_trial = false;
    (void)store_commit(store, -1, NULL);
}

void store_set_replicas(struct store *store, struct replicas *replicas)
{
    store->replicas = replicas;
}

struct replicas *store_replicas(const struct store *store)
{
    return store->replicas;
}

int store_forget(struct store *store, const char *owner, struct error *err)
{
    int r;

    if (!store_is_there(store))
        return 0;
    if (store_begin(store, err) < 0)
        return -1;
    /* Versions, folders and files go with what they belong to. */
    r = store_do(store, err, "DELETE FROM work WHERE owner=?", "s", owner);
    if (r == 0)
        r = store_do(store, err, "DELETE FROM skill WHERE owner=?", "s", owner);
    if (r == 0)
        r = store_do(store, err, "DELETE FROM replica WHERE owner=?", "s", owner);
    if (r == 0)
        r = store_do(store, err, "DELETE FROM replica_object WHERE owner=?", "s", owner);
    return store_commit(store, r, err);
}
