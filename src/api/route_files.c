/* Files of a session: a listing, and their bytes, streamed both ways. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admit/quota.h"
#include "api/api.h"
#include "api/granted_files.h"
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

    if (!session || files_path_check(request->params[1], strlen(request->params[1]), path, err) < 0)
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
#define AFTER_BYTES (4 * PATH_MAX)

static const struct schema_field list_fields[] = {
    {"path", SCHEMA_STRING, .max_len = 4096,
     .help = "the directory (default /workspace); one in a granted directory by its absolute path"},
    {"depth", SCHEMA_INTEGER, .min = 0, .max = 64,
     .help = "1 (the default): its own entries; 0: all the way down"},
    {"after", SCHEMA_STRING, .max_len = AFTER_BYTES,
     .help = "only paths that sort after this one: the last path of the previous page"},
    {"limit", SCHEMA_INTEGER, .min = 1, .max = LIMIT_FILES_WALK,
     .help = "entries per page (default 1000); a page also ends at 512 KiB of paths"},
    {0},
};

static json_t *entry_json(const struct files_entry *entry)
{
    cleanup(buf_done) struct buf path = BUF_OF(4 * PATH_MAX + 1);
    char mode[8];

    if (files_path_escape(entry->path, &path, NULL) < 0)
        return NULL;
    (void)snprintf(mode, sizeof(mode), "%04o", entry->mode & 07777);
    return json_pack("{s:o, s:s, s:I, s:s, s:f}", "path",
                     json_text_string(buf_str(&path), path.len), "kind",
                     files_kind_name(entry->kind), "size", (json_int_t)entry->size, "mode", mode,
                     "modified", (double)entry->mtime_ns / 1e9);
}

json_t *api_files_json(const struct files_list *list)
{
    json_t *entries = json_array();

    for (size_t i = 0; entries && i < list->count; i++) {
        (void)json_array_append_new(entries, entry_json(&list->entries[i]));
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
        json_t *entry = entry_json(&list->entries[i]);
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
    if (!session || (dir && files_path_check(dir, strlen(dir), path, &t->err) < 0) ||
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
    const char *dir = json_string_value(json_object_get(request->query, "path"));
    struct session *session = NULL;
    char *path = find_granted(request, dir, &session);

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

static int check_quota(struct request *request, struct error *err)
{
    return quota_check_bytes(request->caller, loop_now_ns(), &request->retry_s, err);
}

static void get_file(struct request *request)
{
    struct files_entry entry;
    struct error err = {0};
    char path[PATH_MAX];
    struct session *session = NULL;
    char *granted = find_granted(request, request->params[1], &session);
    int fd;

    if (granted) {
        granted_answer_file(request, session, granted);
        return;
    }
    session = find_path(request, path, &err);
    if (!session || check_quota(request, &err) < 0 ||
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

struct upload {
    struct caller *caller; /* who pays */
    struct session_writer writer;
    bool is_new;        /* it must not replace a file */
    char *granted;      /* its path, in a granted directory; NULL: in /workspace */
    struct buf content; /* of that one */
};

static void upload_free(struct upload *upload)
{
    uint64_t bytes = upload->granted ? upload->content.len : upload->writer.files.written;

    quota_spend(upload->caller, loop_now_ns(), 0, (double)bytes);
    if (!upload->granted)
        session_write_abort(&upload->writer);
    free(upload->granted);
    buf_done(&upload->content);
    free(upload);
}

static void on_writer_gone(struct request *request)
{
    upload_free(request->user);
}

static int on_piece(struct request *request, const void *data, size_t len, struct error *err)
{
    struct upload *upload = request->user;

    if (!upload->granted)
        return session_write_feed(&upload->writer, data, len, err);
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

/* Whether a file may be written there: known before its content comes, and again at the end. */
static int check_new(const struct upload *upload, struct session *session, const char *path,
                     struct error *err)
{
    struct files_entry entry;

    if (!upload->is_new)
        return 0;
    if (upload->granted)
        return error_set(err, E_INVALID, "`new` is not supported for files in granted directories");
    return files_stat(session_files(session), path, &entry, NULL) == 0 ? refuse_existing(path, err)
                                                                       : 0;
}

static int begin_put(struct request *request, struct error *err)
{
    const struct files_write_options options = {
        .is_executable = json_is_true(json_object_get(request->query, "executable")),
        .makes_parents = true,
        .is_new = json_is_true(json_object_get(request->query, "new")),
    };
    struct upload *upload = calloc(1, sizeof(*upload));
    struct session *session = NULL;
    char path[PATH_MAX];

    if (!upload)
        return error_memory(err);
    upload->caller = request->caller;
    upload->is_new = options.is_new;
    upload->granted = find_granted(request, request->params[1], &session);
    buf_init(&upload->content, GRANTED_WRITE_MAX);
    if (!upload->granted)
        session = find_path(request, path, err);
    if (!session || check_quota(request, err) < 0 || check_new(upload, session, path, err) < 0 ||
        (!upload->granted &&
         session_write_begin(&upload->writer, session, path, &options, err) < 0)) {
        free(upload->granted);
        free(upload);
        return -1;
    }
    request->user = upload;
    request->on_piece = on_piece;
    request->on_gone = on_writer_gone;
    return 0;
}

/* The session may have ended while the content came. */
static void put_granted(struct request *request, struct upload *upload)
{
    struct session *session = NULL;
    char *path = find_granted(request, upload->granted, &session);
    struct error err = {0};

    request->on_gone = NULL;
    if (path) {
        granted_answer_write(request, session, path, &upload->content);
    } else {
        error_set(&err, E_NOT_FOUND, "the session has ended");
        request_answer_error(request, &err);
    }
    upload_free(upload);
}

/* All of it is there: now it gets its name. */
static void put_file(struct request *request)
{
    struct upload *upload = request->user;
    struct error err = {0};
    const char *path = upload->writer.path;

    if (upload->granted) {
        put_granted(request, upload);
        return;
    }
    if (session_write_commit(&upload->writer, &err) < 0 && upload->is_new && err.errnum == EEXIST) {
        error_done(&err); /* it was made while the content came */
        (void)refuse_existing(path, &err);
    }
    if (err.code != E_NONE)
        request_answer_error(request, &err);
    else
        request_answer_json(request, 200,
                            json_pack("{s:o, s:I}", "path", json_text_string(path, strlen(path)),
                                      "size", (json_int_t)upload->writer.files.written));
    upload_free(upload);
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

    begin_file_task(request, &steps);
}

/* clang-format off */
const struct route api_file_routes[] = {
    {"GET", "/v1/sessions/{session}/files", list_files, .query = list_fields, .answers = "Files",
     .status = 200, .tag = "files", .summary = "the entries of a directory of /workspace, by path"},
    {"GET", "/v1/sessions/{session}/files/{path...}", get_file, .type = "application/octet-stream",
     .has_ranges = true, .status = 200, .tag = "files",
     .summary = "the bytes of a file, or with `Range` a part of them (206)"},
    {"PUT", "/v1/sessions/{session}/files/{path...}", put_file, .begin = begin_put,
     .query = put_fields, .max_body = UPLOAD_BYTES, .answers = "File", .status = 200, .tag = "files",
     .summary = "write a file, whole or not at all; missing parent directories are created"},
    {"DELETE", "/v1/sessions/{session}/files/{path...}", delete_file, .query = delete_fields,
     .status = 204, .tag = "files", .summary = "delete a file, a link or a directory"},
    {0},
};
/* clang-format on */
