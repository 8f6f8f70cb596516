#include "undo/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/date.h"
#include "base/file.h"
#include "base/id.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/paths.h"
#include "base/utf8.h"
#include "undo/entry.h"
#include "undo/store_internal.h"

#define ALPHABET "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"

/* --- settings --- */

bool undo_store_is_on(const struct config *config)
{
    return strcmp(config->undo, "off") != 0;
}

void undo_store_limits(const struct config *config, struct journal_limits *ret_limits)
{
    *ret_limits = (struct journal_limits){
        /* A record that is larger than all may be would be removed at once. */
        .bytes = (uint64_t)(config->undo_mb < config->undo_total_mb ? config->undo_mb
                                                                    : config->undo_total_mb) *
                 MIB,
        .entries = LIMIT_UNDO_ENTRIES,
    };
}

/* --- files --- */

int store_open(int *ret_dir, struct error *err)
{
    cleanup_free char *path = paths_state("undo", err);
    int fd;

    if (!path)
        return -1;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return error_errno(err, "make `%s`", path);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, "open `%s`", path);
    *ret_dir = fd;
    return 0;
}

bool store_is_id(const char *text)
{
    size_t len = strlen(text);

    return len > 0 && len < ID_SIZE && strspn(text, ALPHABET) == len && text[0] != '-';
}

int store_not_found(const char *id, struct error *err)
{
    error_set(err, E_NOT_FOUND, "there is no undo record of a run `%.40s`", id);
    return error_hint(err, "`belljar undo --list` shows the runs that can be undone");
}

int store_open_run(int store, const char *id, int *ret_dir, struct error *err)
{
    int fd =
        store_is_id(id) ? openat(store, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;

    if (fd < 0)
        return store_not_found(id, err);
    *ret_dir = fd;
    return 0;
}

char *store_read_text(int run, const char *name, size_t *ret_len)
{
    cleanup_close int fd = openat(run, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct buf text;

    buf_init(&text, 512 * MIB);
    if (fd < 0 || buf_read_fd(&text, fd, NULL) < 0 || !text.data) {
        buf_done(&text);
        return NULL;
    }
    *ret_len = text.len;
    return text.data;
}

/* Old or new, whatever happens: written beside it and put in its place. */
int store_write_text(int run, const char *name, const char *text, size_t len, struct error *err)
{
    char other[64];
    cleanup_close int fd = -1;

    (void)snprintf(other, sizeof(other), "%s.new", name);
    (void)unlinkat(run, other, 0);
    fd = openat(run, other, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || file_write_all(fd, text, len) < 0 || renameat(run, other, run, name) < 0)
        return error_errno(err, "write `%s` of a run's changes", name);
    return 0;
}

json_t *store_read_json(int run, const char *name)
{
    const struct json_text_limits limits = {.bytes = STORE_META_BYTES, .depth = 8};
    json_t *value = NULL;
    size_t len = 0;
    cleanup_free char *text = store_read_text(run, name, &len);

    if (!text || json_text_load(text, len, &limits, &value, NULL) < 0)
        return NULL;
    return value;
}

int store_write_json(int run, const char *name, json_t *value, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(STORE_META_BYTES);
    int r = value ? 0 : error_memory(err);

    if (r == 0)
        r = json_text_dump(value, JSON_TEXT_PRETTY, &text, err);
    if (r == 0)
        r = store_write_text(run, name, buf_str(&text), text.len, err);
    json_decref(value);
    return r;
}

int store_open_changes(int run, const char *id, int *ret_dir, struct error *err)
{
    cleanup_close int fd = openat(run, "changes", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 && faccessat(run, STORE_REMOVED, F_OK, 0) == 0) {
        error_set(err, E_NOT_FOUND, "the record of `%s` was removed to make room", id);
        return error_hint(err, "a larger `undo_total_mb` keeps more of them");
    }
    if (fd < 0)
        return store_not_found(id, err);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        error_set(err, E_BUSY, "the run `%s` is still running, or is being undone", id);
        return error_hint(err, "wait until it ends");
    }
    *ret_dir = take_fd(fd);
    return 0;
}

bool store_is_locked(int run)
{
    cleanup_close int fd = openat(run, "changes", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
}

static int by_id(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Prefixes differ, times follow: run_…, and_….  */
static int by_time(const void *a, const void *b)
{
    int r = strcmp((const char *)a + 4, (const char *)b + 4);

    return r ? r : by_id(a, b);
}

int store_ids(int store, char (**ret_ids)[ID_SIZE], size_t *ret_count, struct error *err)
{
    cleanup_closedir DIR *dir = file_open_dir(store, ".");
    cleanup_free char(*ids)[ID_SIZE] = NULL;
    size_t count = 0, size = 0;
    const struct dirent *entry;

    if (!dir)
        return error_errno(err, "list the changes of runs");
    while ((entry = readdir(dir))) {
        void *grown;

        if (!store_is_id(entry->d_name) || strlen(entry->d_name) < 5)
            continue;
        grown = array_grow(ids, count, &size, sizeof(*ids));
        if (!grown)
            return error_memory(err);
        ids = grown;
        (void)snprintf(ids[count++], sizeof(*ids), "%s", entry->d_name);
    }
    if (count)
        qsort(ids, count, sizeof(*ids), by_time);
    *ret_ids = take_ptr(ids);
    *ret_count = count;
    return 0;
}

/* --- meta.json --- */

void store_meta_done(struct store_meta *meta)
{
    for (size_t i = 0; i < LIMIT_GRANTS; i++)
        free(meta->grants[i].path);
    *meta = (struct store_meta){0};
}

static json_t *grants_json(const struct undo_store_run *run, struct error *err)
{
    json_t *list = json_array();

    for (size_t i = 0; i < run->n_grants; i++) {
        const struct run_grant *grant = &run->grants[i];
        struct stat st;

        if (grant->mode != RUN_GRANT_RW) {
            (void)json_array_append_new(list, json_null());
            continue;
        }
        if (fstat(grant->fd, &st) < 0 ||
            utf8_valid(grant->path, strlen(grant->path)) != strlen(grant->path)) {
            json_decref(list);
            error_set(err, E_INVALID, "changes in `%s` cannot be recorded for undo", grant->path);
            (void)error_hint(err, "its path must be UTF-8");
            return NULL;
        }
        (void)json_array_append_new(list,
                                    json_pack("{s:s, s:I, s:I}", "path", grant->path, "dev",
                                              (json_int_t)st.st_dev, "ino", (json_int_t)st.st_ino));
    }
    return list;
}

static int write_meta(int dir, const struct undo_store_run *run, struct error *err)
{
    json_t *grants = grants_json(run, err);

    if (!grants)
        return -1;
    return store_write_json(dir, "meta.json",
                            json_pack("{s:i, s:s, s:s, s:s, s:s, s:I, s:o}", "version", 1, "run",
                                      run->id, "owner", run->owner ? run->owner : "", "session",
                                      run->session ? run->session : "", "undoes",
                                      run->undoes ? run->undoes : "", "began_ns",
                                      (json_int_t)entry_now(), "grants", grants),
                            err);
}

static void copy_string(const json_t *meta, const char *key, char *text, size_t size)
{
    const char *value = json_string_value(json_object_get(meta, key));

    (void)snprintf(text, size, "%s", value ? value : "");
}

int store_read_meta(int run, const char *id, struct store_meta *ret_meta, struct error *err)
{
    cleanup_json json_t *meta = store_read_json(run, "meta.json");
    const json_t *grants = json_object_get(meta, "grants");

    if (json_integer_value(json_object_get(meta, "version")) != 1)
        return store_not_found(id, err);
    *ret_meta = (struct store_meta){.n_grants = json_array_size(grants)};
    copy_string(meta, "run", ret_meta->id, sizeof(ret_meta->id));
    copy_string(meta, "owner", ret_meta->owner, sizeof(ret_meta->owner));
    copy_string(meta, "session", ret_meta->session, sizeof(ret_meta->session));
    copy_string(meta, "undoes", ret_meta->undoes, sizeof(ret_meta->undoes));
    ret_meta->began_ns = json_integer_value(json_object_get(meta, "began_ns"));
    for (size_t i = 0; i < ret_meta->n_grants && i < LIMIT_GRANTS; i++) {
        const json_t *grant = json_array_get(grants, i);
        const char *path = json_string_value(json_object_get(grant, "path"));

        if (!path || *path != '/')
            continue;
        ret_meta->grants[i] = (struct store_grant){
            .path = strdup(path),
            .dev = (uint64_t)json_integer_value(json_object_get(grant, "dev")),
            .ino = (uint64_t)json_integer_value(json_object_get(grant, "ino")),
        };
    }
    if (ret_meta->n_grants > LIMIT_GRANTS)
        ret_meta->n_grants = LIMIT_GRANTS;
    if (strcmp(ret_meta->id, id) == 0)
        return 0;
    store_meta_done(ret_meta);
    return store_not_found(id, err);
}

/* --- a run --- */

static int make_run(int store, const struct undo_store_run *run, int *ret_dir, struct error *err)
{
    cleanup_close int dir = -1, changes = -1;

    if (store_open_run(store, run->id, &dir, err) < 0)
        return -1;
    if (mkdirat(dir, "changes", 0700) < 0)
        return error_errno(err, "make the undo directory of a run");
    if (store_open_changes(dir, run->id, &changes, err) < 0 || write_meta(dir, run, err) < 0)
        return -1;
    if (run->uid != (uid_t)-1 && geteuid() == 0 && fchown(changes, run->uid, run->gid) < 0)
        return error_errno(err, "give the undo directory to the sandbox's user");
    *ret_dir = take_fd(changes);
    return 0;
}

int undo_store_begin(const struct undo_store_run *run, int *ret_dir, struct error *err)
{
    cleanup_close int store = -1;

    if (!store_is_id(run->id))
        return error_set(err, E_INTERNAL, "`%.40s` is not an id of a run", run->id);
    if (store_open(&store, err) < 0)
        return -1;
    if (mkdirat(store, run->id, 0700) < 0)
        return error_errno(err, "make the undo directory of a run");
    if (make_run(store, run, ret_dir, err) == 0)
        return 0;
    (void)store_remove(store, run->id, NULL);
    return -1;
}

void undo_store_end(int dir, const char *id, const struct journal_counts *counts)
{
    cleanup_close int store = -1, run = -1, changes = dir;
    uint64_t sum =
        counts ? counts->created + counts->changed + counts->removed + counts->renamed : 1;
    json_t *end;

    (void)changes;
    if (store_open(&store, NULL) < 0 || store_open_run(store, id, &run, NULL) < 0)
        return;
    /* A writer that has begun a journal may be about to add to it. One that has not, and does after
     * this, finds its directory gone and makes no change. */
    if (sum == 0 && faccessat(run, "changes/journal", F_OK, 0) < 0) {
        (void)store_remove(store, id, NULL);
        return;
    }
    end = counts ? json_pack("{s:I, s:I, s:I, s:I, s:I}", "ended_ns", (json_int_t)entry_now(),
                             "created", (json_int_t)counts->created, "changed",
                             (json_int_t)counts->changed, "removed", (json_int_t)counts->removed,
                             "renamed", (json_int_t)counts->renamed)
                 : json_pack("{s:I}", "ended_ns", (json_int_t)entry_now());
    (void)store_write_json(run, "end.json", end, NULL);
}

/* --- the list --- */

static json_t *number_or_null(const json_t *end, const char *key)
{
    json_t *value = json_object_get(end, key);

    return json_is_integer(value) ? json_incref(value) : json_null();
}

static json_t *run_json(int run, const struct store_meta *meta)
{
    cleanup_json json_t *end = store_read_json(run, "end.json");
    json_t *directories = json_array();
    bool is_running = !end && store_is_locked(run);
    char date[DATE_SIZE];

    for (size_t i = 0; i < meta->n_grants; i++)
        if (meta->grants[i].path)
            (void)json_array_append_new(
                directories, json_text_string(meta->grants[i].path, strlen(meta->grants[i].path)));
    date_seconds((time_t)(meta->began_ns / 1000000000), date);
    return json_pack("{s:s, s:o, s:s, s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:b}", "run",
                     meta->id, "session", *meta->session ? json_string(meta->session) : json_null(),
                     "time", date, "undoes",
                     *meta->undoes ? json_string(meta->undoes) : json_null(), "undone",
                     faccessat(run, "undone", F_OK, 0) == 0, "is_running", (int)is_running,
                     "directories", directories, "created", number_or_null(end, "created"),
                     "changed", number_or_null(end, "changed"), "removed",
                     number_or_null(end, "removed"), "renamed", number_or_null(end, "renamed"),
                     "removed_for_space", faccessat(run, STORE_REMOVED, F_OK, 0) == 0);
}

/* A run may have begun a journal and then been refused everything. */
static bool has_changes(int run)
{
    static const char *const keys[] = {"created", "changed", "removed", "renamed"};
    cleanup_json json_t *end = store_read_json(run, "end.json");
    json_int_t sum = 0;

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const json_t *value = json_object_get(end, keys[i]);

        if (!json_is_integer(value))
            return true; /* it goes on, or it crashed */
        sum += json_integer_value(value);
    }
    return sum > 0;
}

static void add_run(int store, const char *id, const char *owner, json_t *list)
{
    struct store_meta meta = {0};
    cleanup_close int run = -1;

    if (store_open_run(store, id, &run, NULL) < 0 || store_read_meta(run, id, &meta, NULL) < 0)
        return;
    if ((!owner || strcmp(owner, meta.owner) == 0) && has_changes(run))
        (void)json_array_append_new(list, run_json(run, &meta));
    store_meta_done(&meta);
}

int undo_store_list(const char *owner, json_t **ret_list, struct error *err)
{
    cleanup_close int store = -1;
    cleanup_free char(*ids)[ID_SIZE] = NULL;
    size_t count = 0;
    json_t *list;

    if (store_open(&store, err) < 0 || store_ids(store, &ids, &count, err) < 0)
        return -1;
    list = json_array();
    if (!list)
        return error_memory(err);
    for (size_t i = count; i-- > 0 && json_array_size(list) < LIMIT_UNDO_LISTED;)
        add_run(store, ids[i], owner, list);
    *ret_list = list;
    return 0;
}
