/* Files of a session: a listing, and their bytes, streamed both ways. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admit/quota.h"
#include "api/api.h"
#include "api/away_files.h"
#include "api/granted_files.h"
#include "api/upload.h"
#include "base/cleanup.h"
#include "base/closer.h"
#include "base/fiber.h"
#include "base/json.h"
#include "base/shared.h"
#include "base/task.h"
#include "engine/session_files.h"
#include "sandbox/files.h"

#define PIECE (64 * KIB)

/* More than any disk of a sandbox: what does not fit there is refused when it comes. */
#define UPLOAD_BYTES ((uint64_t)1 << 40)

#define LIST_DEFAULT 1000

/* The session in the path. What is in a sandbox is not known before it is there. */
static struct session *find_session(struct request *request, struct error *err)
{
    struct api *api = request->api;
    struct session *session = sessions_find(api->sessions, request->owner, request->params[0], err);

    if (!session || admission_check_session(request->caller, session, err) < 0 ||
        !session_need_files(session, err))
        return NULL;
    return session;
}

/* Also returns the file's path in its canonical form. */
static struct session *find_path(struct request *request, char path[PATH_MAX], struct error *err)
{
    struct session *session = find_session(request, err);

    if (!session ||
        files_path_check_tmp(request->params[1], strlen(request->params[1]), path, err) < 0)
        return NULL;
    return session;
}

/* A path in a directory that the session was granted, or NULL. Errors are for whoever looks for it
 * in /workspace next. */
static char *find_granted(struct request *request, const char *given, struct session **ret_session)
{
    struct api *api = request->api;
    struct session *session = given && *given == '/' ? sessions_find(api->sessions, request->owner,
                                                                     request->params[0], NULL)
                                                     : NULL;

    if (!session || admission_check_session(request->caller, session, NULL) < 0)
        return NULL;
    *ret_session = session;
    return granted_request_path(session, given);
}

/* --- work that may take several turns ---
 *
 * A directory may have thousands of entries: they are listed and deleted as a task (base/task.h).
 */

struct file_task {
    struct task task;
    struct request *request;
    struct error err;
    struct shared *text; /* of a listing */
};

static void free_file_task(struct file_task *t)
{
    shared_unref(t->text);
    error_done(&t->err);
    free(t);
}

static void end_file_task(void *arg)
{
    struct file_task *t = arg;
    struct request *request = t->request;

    request->on_gone = NULL;
    if (t->err.code != E_NONE)
        request_answer_error(request, &t->err);
    else if (t->text)
        request_answer_shared(request, 200, t->text);
    else
        request_answer_empty(request, 204);
    free_file_task(t);
}

/* Work that was begun ends soon. */
static void on_file_task_gone(struct request *request)
{
    struct file_task *t = request->user;

    (void)task_end(&t->task);
    free_file_task(t);
}

static void begin_file_task(struct request *request, const struct task_steps *steps)
{
    const struct api *api = request->api;
    struct file_task *t = calloc(1, sizeof(*t));
    struct error err = {0};

    if (!t) {
        error_memory(&err);
        request_answer_error(request, &err);
        return;
    }
    t->request = request;
    t->task.line = &request->caller->line;
    request->user = t;
    request->on_gone = on_file_task_gone;
    task_begin(&t->task, api->loop, steps, t);
}

/* --- listing --- */

/* A path as it is shown, each byte as four characters at worst. */
#define AFTER_BYTES ((size_t)4 * PATH_MAX)

static const struct schema_field list_fields[] = {
    {"path", SCHEMA_STRING, .max_len = 4096,
     .help = "the directory (default /workspace); one in /tmp or in a granted directory by its "
             "absolute path"},
    {"depth", SCHEMA_INTEGER, .min = 0, .max = 64,
     .help = "1 (the default): its own entries; 0: all the way down"},
    {"after", SCHEMA_STRING, .max_len = AFTER_BYTES,
     .help = "only paths that sort after this one: the last path of the previous page"},
    {"limit", SCHEMA_INTEGER, .min = 1, .max = LIMIT_FILES_WALK,
     .help = "entries per page (default 1000); a page also ends at 512 KiB of paths"},
    {0},
};

/* The one user of a sandbox, by the name that programs see. */
#define OWNER "user"

static json_t *entry_json(const struct files_entry *entry, bool has_all)
{
    json_t *value;
    cleanup(buf_done) struct buf path = BUF_OF(4 * PATH_MAX + 1);
    char mode[8];

    if (files_path_escape(entry->path, &path, NULL) < 0)
        return NULL;
    (void)snprintf(mode, sizeof(mode), "%04o", entry->mode & 07777);
    value =
        json_pack("{s:o, s:s, s:I, s:s, s:f}", "path", json_text_string(buf_str(&path), path.len),
                  "kind", files_kind_name(entry->kind), "size", (json_int_t)entry->size, "mode",
                  mode, "modified", (double)entry->mtime_ns / 1e9);
    if (value && has_all) {
        (void)json_object_set_new(value, "owner", json_string(OWNER));
        (void)json_object_set_new(value, "changed", json_real((double)entry->ctime_ns / 1e9));
    }
    return value;
}

json_t *api_files_json(const struct files_list *list)
{
    json_t *entries = json_array();

    for (size_t i = 0; entries && i < list->count; i++) {
        (void)json_array_append_new(entries, entry_json(&list->entries[i], false));
        if (i % 16 == 0)
            fiber_pause();
    }
    return json_pack("{s:o, s:b, s:b}", "files", entries, "has_more", (int)list->has_more,
                     "is_partial", (int)list->is_partial);
}

/* Writes the list as text, one entry after the other: a tree of thousands would be freed in one
 * go. */
static int write_list(const struct files_list *list, struct buf *text, struct error *err)
{
    if (buf_add_str(text, "{\"files\":[", err) < 0)
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        json_t *entry = entry_json(&list->entries[i], true);
        int r = entry ? 0 : error_memory(err);

        if (r == 0 && i)
            r = buf_add(text, ",", 1, err);
        if (r == 0)
            r = json_text_dump(entry, JSON_TEXT_COMPACT, text, err);
        json_decref(entry);
        if (r < 0)
            return -1;
        if (i % 16 == 0)
            fiber_pause();
    }
    return buf_printf(text, err, "],\"has_more\":%s,\"is_partial\":%s}\n",
                      list->has_more ? "true" : "false", list->is_partial ? "true" : "false");
}

static void work_on_list(void *arg)
{
    cleanup(files_list_done) struct files_list list = {0};
    cleanup(files_done) struct files own = {.fd = -1}; /* the session may end meanwhile */
    struct file_task *t = arg;
    const json_t *query = t->request->query;
    const char *dir = json_string_value(json_object_get(query, "path"));
    const char *shown = json_string_value(json_object_get(query, "after"));
    char after[AFTER_BYTES + 1] = "";
    const json_t *depth = json_object_get(query, "depth"), *limit = json_object_get(query, "limit");
    const struct files_page page = {
        .depth = depth ? (unsigned)json_integer_value(depth) : 1,
        .after = shown ? after : NULL,
        .limit = limit ? (size_t)json_integer_value(limit) : LIST_DEFAULT,
    };
    struct session *session = find_session(t->request, &t->err);
    char path[PATH_MAX] = "";

    /* It was given out as text, and the order is that of the bytes. */
    if (shown)
        files_path_unescape(shown, after);
    if (!session || (dir && files_path_check_tmp(dir, strlen(dir), path, &t->err) < 0) ||
        files_copy(session_files(session), &own, &t->err) < 0 ||
        files_list(&own, path, &page, &list, &t->err) < 0)
        return;
    t->text = shared_new();
    if (!t->text)
        error_memory(&t->err);
    else
        (void)write_list(&list, &t->text->text, &t->err);
}

static void list_files(struct request *request)
{
    static const struct task_steps steps = {.work = work_on_list, .done = end_file_task};
    const char *dir = request_query(request, "path");
    struct session *session = NULL;
    char *path;

    if (away_files_has(request)) {
        away_files_list(request);
        return;
    }
    path = find_granted(request, dir, &session);
    if (path) {
        granted_answer_list(request, session, path);
        return;
    }
    begin_file_task(request, &steps);
}

/* --- reading --- */

struct download {
    int fd;
    uint64_t offset, end;
};

static void download_free(struct download *download)
{
    closer_close(&download->fd); /* its session may have ended meanwhile */
    free(download);
}

static void on_reader_gone(struct request *request)
{
    download_free(request->user);
}

/* As much as the reader has room for. The program may have cut the file meanwhile: then the length
 * that was promised cannot be kept, and the client has to notice. */
static void pump(struct request *request)
{
    struct download *d = request->user;
    char data[PIECE];
    bool has_room = true;

    while (has_room && d->offset < d->end) {
        uint64_t left = d->end - d->offset;
        ssize_t n = files_read(d->fd, d->offset, data, left < PIECE ? (size_t)left : PIECE, NULL);

        if (n <= 0) {
            download_free(d);
            request_abort(request);
            return;
        }
        d->offset += (uint64_t)n;
        has_room = request_write(request, data, (size_t)n);
    }
    if (d->offset == d->end) {
        download_free(d);
        request_end(request);
    }
}

static bool read_number(const char **text, const char *end, uint64_t *ret_number)
{
    const char *from = *text;

    *ret_number = 0;
    while (*text < end && **text >= '0' && **text <= '9' && *text - from < 18)
        *ret_number = *ret_number * 10 + (uint64_t)(*(*text)++ - '0');
    return *text > from;
}

/* One range of bytes. Returns 1 for a part, 0 for the whole (several ranges, or what is none, may
 * be ignored: RFC 9110, 14.2), -1 for a part that is not there. */
static int read_range(const struct request *request, uint64_t size, uint64_t *ret_from,
                      uint64_t *ret_end)
{
    struct span header = request_header(request, "range");
    const char *at = header.data, *end = at ? at + header.len : NULL;
    uint64_t from = 0, last = 0;
    bool has_from, has_last;

    *ret_from = 0;
    *ret_end = size;
    if (!at || request_header(request, "if-range").data || header.len < 7 ||
        memcmp(at, "bytes=", 6) != 0)
        return 0;
    at += 6;
    has_from = read_number(&at, end, &from);
    if (at == end || *at++ != '-')
        return 0;
    has_last = read_number(&at, end, &last);
    if (at != end || (!has_from && !has_last) || (has_from && has_last && last < from))
        return 0;
    if (!has_from) { /* the last so many */
        from = last < size ? size - last : 0;
        has_last = false;
    }
    if (from >= size)
        return -1;
    *ret_from = from;
    *ret_end = has_last && last < size ? last + 1 : size;
    return 1;
}

static void refuse_range(struct request *request, uint64_t size)
{
    struct error err = {0};
    char header[64];

    (void)snprintf(header, sizeof(header), "Content-Range: bytes */%" PRIu64 "\r\n", size);
    error_set(&err, E_INVALID, "the file has only %" PRIu64 " bytes", size);
    request_answer_error_as(request, 416, header, &err);
}

void api_send_file(struct request *request, int fd, uint64_t size)
{
    struct download *download = calloc(1, sizeof(*download));
    char headers[160] = "Accept-Ranges: bytes\r\n";
    struct error err = {0};
    uint64_t from, end;
    int r = read_range(request, size, &from, &end);

    if (!download || r < 0) {
        free(download);
        closer_close(&fd);
        error_memory(&err);
        if (r < 0)
            refuse_range(request, size);
        else
            request_answer_error(request, &err);
        error_done(&err);
        return;
    }
    *download = (struct download){fd, from, end};
    if (r > 0)
        (void)snprintf(headers, sizeof(headers),
                       "Accept-Ranges: bytes\r\nContent-Range: bytes %" PRIu64 "-%" PRIu64
                       "/%" PRIu64 "\r\n",
                       from, end - 1, size);
    request->user = download;
    request->on_gone = on_reader_gone;
    request->on_drained = pump;
    quota_spend(request->caller, loop_now_ns(), 0, (double)(end - from));
    request_begin(request, r > 0 ? 206 : 200, "application/octet-stream", headers, end - from);
    pump(request);
}

static void get_file(struct request *request)
{
    struct files_entry entry;
    struct error err = {0};
    char path[PATH_MAX];
    struct session *session = NULL;
    char *granted;
    int fd;

    if (away_files_has(request)) {
        away_files_get(request);
        return;
    }
    granted = find_granted(request, request->params[1], &session);
    if (granted) {
        granted_answer_file(request, session, granted);
        return;
    }
    session = find_path(request, path, &err);
    if (!session || upload_check_quota(request, &err) < 0 ||
        files_open(session_files(session), path, &fd, &entry, &err) < 0)
        request_answer_error(request, &err);
    else
        api_send_file(request, fd, entry.size);
}

/* --- writing --- */

static const struct schema_field put_fields[] = {
    {"executable", SCHEMA_BOOLEAN, .help = "mode 0755 instead of 0644"},
    {"new", SCHEMA_BOOLEAN, .help = "refuse to replace a file"},
    {0},
};

/* A file in a granted directory is written in one go, by the sandbox. */
struct granted_upload {
    struct caller *caller; /* who pays */
    char *path;
    struct buf content;
};

static void granted_free(struct granted_upload *upload)
{
    quota_spend(upload->caller, loop_now_ns(), 0, (double)upload->content.len);
    free(upload->path);
    buf_done(&upload->content);
    free(upload);
}

static void on_granted_gone(struct request *request)
{
    granted_free(request->user);
}

static int on_granted_piece(struct request *request, const void *data, size_t len,
                            struct error *err)
{
    struct granted_upload *upload = request->user;

    if (len <= GRANTED_WRITE_MAX - upload->content.len)
        return request_hold(request, len, err) < 0 ? -1 : buf_add(&upload->content, data, len, err);
    error_set(err, E_TOO_LARGE, "a file in a granted directory is written with at most %zu KB",
              GRANTED_WRITE_MAX / KIB);
    return error_hint(err, "write it to /workspace, and let code copy it");
}

static int refuse_existing(const char *path, struct error *err)
{
    error_set(err, E_INVALID, "`%s` exists", path);
    return error_hint(err, "leave out `new` to replace it");
}

/* Takes the path over. */
static int begin_granted(struct request *request, char *path, bool is_new, struct error *err)
{
    struct granted_upload *upload = calloc(1, sizeof(*upload));

    if (!upload || is_new || upload_check_quota(request, err) < 0) {
        free(path);
        free(upload);
        if (upload && !is_new)
            return -1;
        return upload ? error_set(err, E_INVALID,
                                  "`new` is not supported for files in granted directories")
                      : error_memory(err);
    }
    upload->caller = request->caller;
    upload->path = path;
    buf_init(&upload->content, GRANTED_WRITE_MAX);
    request->user = upload;
    request->on_piece = on_granted_piece;
    request->on_gone = on_granted_gone;
    return 0;
}

/* Whether a file may be written there is known before its content comes, and again at the end. */
static int begin_put(struct request *request, struct error *err)
{
    bool is_new = json_is_true(json_object_get(request->query, "new"));
    struct session *session = NULL;
    char *granted;
    struct files_entry entry;
    char path[PATH_MAX];
    struct upload_order order;

    if (away_files_has(request))
        return away_files_begin_put(request, err);
    granted = find_granted(request, request->params[1], &session);
    if (granted)
        return begin_granted(request, granted, is_new, err);
    session = find_path(request, path, err);
    if (!session || upload_check_quota(request, err) < 0)
        return -1;
    if (is_new && files_stat(session_files(session), path, &entry, NULL) == 0)
        return refuse_existing(path, err);
    order = (struct upload_order){
        .session = session,
        .path = path,
        .options = {.is_executable = json_is_true(json_object_get(request->query, "executable")),
                    .makes_parents = true,
                    .is_new = is_new}};
    return upload_begin(request, &order, err);
}

/* The session may have ended while the content came. */
static void put_granted(struct request *request)
{
    struct granted_upload *upload = request->user;
    struct session *session = NULL;
    char *path = find_granted(request, upload->path, &session);
    struct error err = {0};

    request->on_gone = NULL;
    if (path) {
        granted_answer_write(request, session, path, &upload->content);
    } else {
        error_set(&err, E_NOT_FOUND, "the session has ended");
        request_answer_error(request, &err);
    }
    granted_free(upload);
}

/* All of it is there: now it gets its name. */
static void put_file(struct request *request)
{
    bool is_new = json_is_true(json_object_get(request->query, "new"));
    struct error err = {0};
    char path[PATH_MAX];
    uint64_t size = 0;

    if (away_files_is_put(request)) {
        away_files_put(request);
        return;
    }
    if (request->on_piece == on_granted_piece) {
        put_granted(request);
        return;
    }
    if (upload_end(request, path, &size, &err) < 0 && is_new && err.errnum == EEXIST) {
        error_done(&err); /* it was made while the content came */
        (void)refuse_existing(path, &err);
    }
    if (err.code != E_NONE)
        request_answer_error(request, &err);
    else
        request_answer_json(request, 200,
                            json_pack("{s:o, s:I}", "path", json_text_string(path, strlen(path)),
                                      "size", (json_int_t)size));
}

/* --- deleting --- */

static const struct schema_field delete_fields[] = {
    {"recursive", SCHEMA_BOOLEAN, .help = "a directory with all that is in it"},
    {0},
};

static void work_on_deletion(void *arg)
{
    struct file_task *t = arg;
    char path[PATH_MAX];
    struct session *session = find_path(t->request, path, &t->err);
    bool is_recursive = json_is_true(json_object_get(t->request->query, "recursive"));

    if (session)
        (void)session_delete_file(session, path, is_recursive, &t->err);
}

static void delete_file(struct request *request)
{
    static const struct task_steps steps = {.work = work_on_deletion, .done = end_file_task};

    if (away_files_has(request))
        away_files_delete(request);
    else
        begin_file_task(request, &steps);
}

/* --- moving --- */

static const struct schema_field move_fields[] = {
    {"to", SCHEMA_STRING, .is_required = true, .max_len = 4096, .example = "\"done/data.csv\"",
     .help =
         "its new path in /workspace, or an absolute one in /tmp; missing directories are made"},
    {"new", SCHEMA_BOOLEAN, .help = "refuse to replace a file"},
    {0},
};

static int move(struct request *request, char to[PATH_MAX], struct error *err)
{
    const char *given = json_string_value(json_object_get(request->json, "to"));
    char from[PATH_MAX];
    struct session *session = find_path(request, from, err);
    struct files_entry entry;

    if (!session || files_path_check_tmp(given, strlen(given), to, err) < 0)
        return -1;
    if (json_is_true(json_object_get(request->json, "new")) &&
        files_stat(session_files(session), to, &entry, NULL) == 0)
        return refuse_existing(to, err);
    return session_move_file(session, from, to, err);
}

/* From /workspace to /tmp a file is copied, which may take several turns. */
static void work_on_move(void *arg)
{
    struct file_task *t = arg;
    cleanup_json json_t *value = NULL;
    char to[PATH_MAX];

    if (move(t->request, to, &t->err) < 0)
        return;
    value = json_pack("{s:o}", "path", json_text_string(to, strlen(to)));
    t->text = shared_new();
    if (!value || !t->text)
        error_memory(&t->err);
    else if (json_text_dump(value, JSON_TEXT_COMPACT, &t->text->text, &t->err) == 0)
        (void)buf_add_str(&t->text->text, "\n", &t->err);
}

static void move_file(struct request *request)
{
    static const struct task_steps steps = {.work = work_on_move, .done = end_file_task};

    if (away_files_has(request))
        away_files_move(request);
    else
        begin_file_task(request, &steps);
}

/* clang-format off */
const struct route api_file_routes[] = {
    {"GET", "/v1/sessions/{session}/files", list_files, .query = list_fields, .answers = "Files",
     .status = 200, .tag = "files", .summary = "the entries of a directory of /workspace or /tmp, by path"},
    {"GET", "/v1/sessions/{session}/files/{path...}", get_file, .type = "application/octet-stream",
     .has_ranges = true, .status = 200, .tag = "files",
     .summary = "the bytes of a file, or with `Range` a part of them (206)"},
    {"PUT", "/v1/sessions/{session}/files/{path...}", put_file, .begin = begin_put,
     .query = put_fields, .max_body = UPLOAD_BYTES, .answers = "File", .status = 200, .tag = "files",
     .summary = "write a file, whole or not at all; missing parent directories are created"},
    {"POST", "/v1/sessions/{session}/files/{path...}", move_file, .body = move_fields,
     .max_body = 64 * KIB, .answers = "Moved", .status = 200, .tag = "files",
     .summary = "give a file or directory another path"},
    {"DELETE", "/v1/sessions/{session}/files/{path...}", delete_file, .query = delete_fields,
     .status = 204, .tag = "files", .summary = "delete a file, a link or a directory"},
    {0},
};
/* clang-format on */
