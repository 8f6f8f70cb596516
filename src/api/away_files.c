#include "api/away_files.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admit/quota.h"
#include "api/api.h"
#include "api/upload.h"
#include "base/cleanup.h"
#include "base/fiber.h"
#include "base/http1.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/shared.h"
#include "base/task.h"
#include "engine/elsewhere.h"
#include "engine/session_files.h"
#include "http/client.h"
#include "sandbox/files.h"

#define ANSWER_MAX ((size_t)16 << 20)
#define TARGET_MAX ((size_t)3 * PATH_MAX + 512)

/* A path as it is shown, each byte as four characters at worst. */
#define SHOWN_MAX ((size_t)4 * PATH_MAX)

/* The one user of a sandbox, by the name that programs see. */
#define OWNER "user"

/* One request that is on its way. */
struct work {
    struct request *request;
    const struct elsewhere *elsewhere;
    struct away_file *file;
    struct caller *caller;
    struct session_change change; /* its paths, and what is recorded of it */
    struct sha256_stream *hash;   /* of what is written */
    uint64_t bytes;
    size_t unread;   /* of what came and was not taken */
    char range[160]; /* of a file that does not have it: a header */
    bool has_begun;  /* the answer to the client has */
    struct buf answer;
    struct task reading;
    struct shared *text;
    struct error err;
};

static void work_free(struct work *w)
{
    uint8_t digest[SHA256_BYTES];

    (void)task_end(&w->reading);
    if (w->file)
        w->elsewhere->file_free(w->file);
    if (w->hash)
        sha256_end(w->hash, digest);
    if (w->bytes)
        quota_spend(w->caller, loop_now_ns(), 0, (double)w->bytes);
    buf_done(&w->answer);
    shared_unref(w->text);
    error_done(&w->err);
    session_change_done(&w->change);
    free(w);
}

static void on_gone(struct request *request)
{
    work_free(request->user);
}

/* --- the session --- */

static struct session *find(const struct request *request, struct error *err)
{
    const struct api *api = request->api;

    return sessions_find(api->sessions, request->owner, request->params[0], err);
}

bool away_files_has(const struct request *request)
{
    struct session *session = find(request, NULL);

    return session && session_elsewhere(session);
}

static struct work *work_new(struct request *request, const char *path, struct error *err)
{
    struct session *session = find(request, err);
    struct work *w;

    if (!session || admission_check_session(request->caller, session, err) < 0 ||
        !session_away(session, err))
        return NULL;
    w = calloc(1, sizeof(*w));
    if (!w) {
        error_memory(err);
        return NULL;
    }
    w->request = request;
    w->elsewhere = session_elsewhere(session);
    w->caller = request->caller;
    w->reading.line = &request->caller->line;
    buf_init(&w->answer, ANSWER_MAX);
    if (path && files_path_check_tmp(path, strlen(path), w->change.path, err) < 0) {
        work_free(w);
        return NULL;
    }
    return w;
}

/* --- the request --- */

/* A part of a target: each byte that is not plain as %XX. */
static int add_escaped(struct buf *target, const char *text, struct error *err)
{
    cleanup_free char *escaped = client_path("", text, "");

    return escaped ? buf_add_str(target, escaped, err) : error_memory(err);
}

/* "/files/a%2Fb%20c", or with a path in /tmp "/files/%2Ftmp%2Fx". */
static int add_path(struct buf *target, const char *path, struct error *err)
{
    return buf_add_str(target, "/files/", err) < 0 ? -1 : add_escaped(target, path, err);
}

static int add_flag(struct buf *target, const json_t *query, const char *name, struct error *err)
{
    if (!json_is_true(json_object_get(query, name)))
        return 0;
    return buf_printf(target, err, "%s%s=true", strchr(buf_str(target), '?') ? "&" : "?", name);
}

static int record(struct work *w, const char *event, const uint8_t *digest, struct error *err)
{
    const struct session *session = find(w->request, err);

    return session ? session_change_begin(&w->change, session, event, digest, err) : -1;
}

static void refuse(struct work *w, struct request *request, struct error *err)
{
    session_change_failed(&w->change, err);
    request->on_gone = NULL;
    request_answer_error(request, err);
    work_free(w);
}

static void on_failed(void *user, const struct error *err)
{
    struct work *w = user;
    cleanup_error struct error copy = {0};

    w->file = NULL;
    error_copy(&copy, err);
    if (!w->has_begun) {
        refuse(w, w->request, &copy);
        return;
    }
    w->request->on_gone = NULL;
    request_abort(w->request);
    work_free(w);
}

static int on_small_head(void *user, const struct http_head *head, struct error *err)
{
    (void)user;
    (void)head;
    (void)err;
    return 0;
}

static int on_small_piece(void *user, const char *data, size_t len, struct error *err)
{
    struct work *w = user;

    return buf_add(&w->answer, data, len, err);
}

static int send(struct work *w, struct away_file_order *order, struct error *err)
{
    struct session *session = find(w->request, err);
    struct away *away = session ? session_away(session, err) : NULL;

    if (!away)
        return -1;
    order->user = w;
    w->file = w->elsewhere->file(away, order);
    if (!w->file)
        return error_memory(err);
    w->request->user = w;
    w->request->on_gone = on_gone;
    return 0;
}

/* --- listing --- */

static bool is_kind(const char *word)
{
    for (int i = FILES_REGULAR; i <= FILES_OTHER; i++)
        if (strcmp(word, files_kind_name((enum files_kind)i)) == 0)
            return true;
    return false;
}

static double time_of(const json_t *entry, const char *name)
{
    double seconds = json_number_value(json_object_get(entry, name));

    return isfinite(seconds) ? seconds : 0;
}

/* A path as it is shown, which cannot be trusted to be one. */
static json_t *path_json(const json_t *text)
{
    cleanup(buf_done) struct buf shown = BUF_OF(SHOWN_MAX);
    char path[SHOWN_MAX + 1];

    if (!json_is_string(text) || json_string_length(text) > SHOWN_MAX)
        return NULL;
    files_path_unescape(json_string_value(text), path);
    if (files_path_escape(path, &shown, NULL) < 0)
        return NULL;
    return json_text_string(buf_str(&shown), shown.len);
}

/* NULL: it is not an entry. */
static json_t *entry_json(const json_t *entry)
{
    const char *kind = json_get_text(entry, "kind"), *mode = json_get_text(entry, "mode");
    json_int_t size = json_integer_value(json_object_get(entry, "size"));
    json_t *path = path_json(json_object_get(entry, "path"));

    if (!path || !is_kind(kind) || strlen(mode) != 4 || strspn(mode, "01234567") != 4 || size < 0) {
        json_decref(path);
        return NULL;
    }
    return json_pack("{s:o, s:s, s:I, s:s, s:f, s:s, s:f}", "path", path, "kind", kind, "size",
                     size, "mode", mode, "modified", time_of(entry, "modified"), "owner", OWNER,
                     "changed", time_of(entry, "changed"));
}

static int write_list(const json_t *answer, struct buf *text, struct error *err)
{
    const json_t *list = json_object_get(answer, "files"), *one;
    size_t i;

    if (buf_add_str(text, "{\"files\":[", err) < 0)
        return -1;
    json_array_foreach(list, i, one)
    {
        json_t *entry = i < LIMIT_FILES_WALK ? entry_json(one) : NULL;
        int r = entry ? 0 : error_set(err, E_PROTOCOL, "the virtual machine's list has no entries");

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
                      json_is_true(json_object_get(answer, "has_more")) ? "true" : "false",
                      json_is_true(json_object_get(answer, "is_partial")) ? "true" : "false");
}

static void read_list(void *arg)
{
    static const struct json_text_limits limits = {
        .bytes = ANSWER_MAX, .depth = 8, .allows_nul = true};
    cleanup_json json_t *answer = NULL;
    struct work *w = arg;

    w->text = shared_new();
    if (!w->text)
        error_memory(&w->err);
    else if (json_text_load(buf_str(&w->answer), w->answer.len, &limits, &answer, &w->err) == 0)
        (void)write_list(answer, &w->text->text, &w->err);
}

static void end_list(void *arg)
{
    struct work *w = arg;

    w->request->on_gone = NULL;
    if (w->err.code != E_NONE)
        request_answer_error(w->request, &w->err);
    else
        request_answer_shared(w->request, 200, w->text);
    work_free(w);
}

static void on_list(void *user)
{
    static const struct task_steps steps = {.work = read_list, .done = end_list};
    struct work *w = user;
    const struct api *api = w->request->api;

    w->file = NULL;
    task_begin(&w->reading, api->loop, &steps, w);
}

static int ask_for_list(struct work *w, struct error *err)
{
    static const struct away_file_events events = {.on_head = on_small_head,
                                                   .on_piece = on_small_piece,
                                                   .on_end = on_list,
                                                   .on_failed = on_failed};
    const json_t *query = w->request->query;
    const char *after = request_query(w->request, "after");
    const json_t *depth = json_object_get(query, "depth"), *limit = json_object_get(query, "limit");
    cleanup(buf_done) struct buf target = BUF_OF(TARGET_MAX + 3 * SHOWN_MAX);
    struct away_file_order order = {.method = "GET", .events = &events};

    if (buf_add_str(&target, "/files?path=", err) < 0 ||
        add_escaped(&target, w->change.path, err) < 0 ||
        (after &&
         (buf_add_str(&target, "&after=", err) < 0 || add_escaped(&target, after, err) < 0)) ||
        (depth && buf_printf(&target, err, "&depth=%d", (int)json_integer_value(depth)) < 0) ||
        (limit && buf_printf(&target, err, "&limit=%d", (int)json_integer_value(limit)) < 0))
        return -1;
    order.target = buf_str(&target);
    return send(w, &order, err);
}

void away_files_list(struct request *request)
{
    const char *path = request_query(request, "path");
    struct error err = {0};
    struct work *w = work_new(request, path ? path : "", &err);

    if (w && ask_for_list(w, &err) == 0)
        return;
    request_answer_error(request, &err);
    if (w)
        work_free(w);
}

/* --- reading --- */

/* "bytes 0-9/20", and in 416 "bytes * /20" without the space; anything else is nobody's range. */
static bool is_range(struct span text, int status, uint64_t length)
{
    uint64_t from, last, size;
    char copy[96];
    int end = 0;

    if (!text.data || text.len >= sizeof(copy))
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    if (strspn(copy, "bytes 0123456789-/*") != text.len)
        return false;
    if (status == 416)
        return sscanf(copy, "bytes */%18" SCNu64 "%n", &size, &end) == 1 && (size_t)end == text.len;
    return sscanf(copy, "bytes %18" SCNu64 "-%18" SCNu64 "/%18" SCNu64 "%n", &from, &last, &size,
                  &end) == 3 &&
           (size_t)end == text.len && from <= last && last < size && last - from + 1 == length;
}

static int on_file_head(void *user, const struct http_head *head, struct error *err)
{
    struct span range = http_head_get(head, "content-range");
    char headers[160] = "Accept-Ranges: bytes\r\n";
    struct work *w = user;
    bool has_range = head->status == 206 || head->status == 416;

    if ((head->status != 200 && !has_range) || head->framing == HTTP_CHUNKED ||
        http_head_count(head, "content-range") > 1 ||
        (has_range && !is_range(range, head->status, head->length)))
        return http_malformed("not a file", err);
    if (head->status == 416) {
        (void)snprintf(w->range, sizeof(w->range), "Content-Range: %.*s\r\n", (int)range.len,
                       range.data);
        return 0;
    }
    if (has_range)
        (void)snprintf(headers, sizeof(headers), "Accept-Ranges: bytes\r\nContent-Range: %.*s\r\n",
                       (int)range.len, range.data);
    w->has_begun = true;
    request_begin(w->request, head->status, "application/octet-stream", headers,
                  head->framing == HTTP_LENGTH ? head->length : 0);
    return 0;
}

static int on_file_piece(void *user, const char *data, size_t len, struct error *err)
{
    struct work *w = user;

    if (!w->has_begun)
        return buf_add(&w->answer, data, len, err);
    w->bytes += len; /* what comes is charged for, not what was promised */
    if (!request_write(w->request, data, len))
        w->elsewhere->file_hold(w->file, true);
    return 0;
}

static void on_drained(struct request *request)
{
    struct work *w = request->user;

    if (w->file)
        w->elsewhere->file_hold(w->file, false);
}

static void on_file_end(void *user)
{
    struct work *w = user;
    cleanup_error struct error err = {0};

    w->file = NULL;
    w->request->on_gone = NULL;
    if (w->has_begun) {
        request_end(w->request);
    } else {
        error_set(&err, E_INVALID, "the file has fewer bytes");
        request_answer_error_as(w->request, 416, w->range, &err);
    }
    work_free(w);
}

/* A header that route_files.c would understand. */
static void copy_range(const struct request *request, char *header, size_t size)
{
    struct span range = request_header(request, "range");

    *header = '\0';
    if (!range.data || request_header(request, "if-range").data || range.len > 64)
        return;
    for (size_t i = 0; i < range.len; i++)
        if (!strchr("bytes=0123456789-", range.data[i]))
            return;
    (void)snprintf(header, size, "Range: %.*s\r\n", (int)range.len, range.data);
}

static int ask_for_file(struct work *w, struct error *err)
{
    static const struct away_file_events events = {.on_head = on_file_head,
                                                   .on_piece = on_file_piece,
                                                   .on_end = on_file_end,
                                                   .on_failed = on_failed};
    cleanup(buf_done) struct buf target = BUF_OF(TARGET_MAX);
    struct away_file_order order = {.method = "GET", .events = &events};
    char header[96];

    copy_range(w->request, header, sizeof(header));
    order.headers = header;
    if (add_path(&target, w->change.path, err) < 0)
        return -1;
    order.target = buf_str(&target);
    w->request->on_drained = on_drained;
    return send(w, &order, err);
}

void away_files_get(struct request *request)
{
    struct error err = {0};
    struct work *w =
        upload_check_quota(request, &err) == 0 ? work_new(request, request->params[1], &err) : NULL;

    if (w && ask_for_file(w, &err) == 0)
        return;
    request_answer_error(request, &err);
    if (w)
        work_free(w);
}

/* --- deleting and moving --- */

static void on_deleted(void *user)
{
    struct work *w = user;

    w->file = NULL;
    w->request->on_gone = NULL;
    request_answer_empty(w->request, 204);
    work_free(w);
}

static void on_moved(void *user)
{
    struct work *w = user;

    w->file = NULL;
    w->request->on_gone = NULL;
    request_answer_json(
        w->request, 200,
        json_pack("{s:o}", "path", json_text_string(w->change.to, strlen(w->change.to))));
    work_free(w);
}

static int ask_to_change(struct work *w, const char *method, const char *body,
                         const struct away_file_events *events, struct error *err)
{
    cleanup(buf_done) struct buf target = BUF_OF(TARGET_MAX);
    struct away_file_order order = {.method = method, .body = body, .events = events};

    if (add_path(&target, w->change.path, err) < 0 ||
        (!body && add_flag(&target, w->request->query, "recursive", err) < 0))
        return -1;
    order.target = buf_str(&target);
    return send(w, &order, err);
}

void away_files_delete(struct request *request)
{
    static const struct away_file_events events = {.on_head = on_small_head,
                                                   .on_piece = on_small_piece,
                                                   .on_end = on_deleted,
                                                   .on_failed = on_failed};
    struct error err = {0};
    struct work *w = work_new(request, request->params[1], &err);

    if (w && record(w, "delete", NULL, &err) == 0 &&
        ask_to_change(w, "DELETE", NULL, &events, &err) == 0)
        return;
    if (w)
        refuse(w, request, &err);
    else
        request_answer_error(request, &err);
}

static int begin_move(struct work *w, const json_t *json, struct error *err)
{
    static const struct away_file_events events = {.on_head = on_small_head,
                                                   .on_piece = on_small_piece,
                                                   .on_end = on_moved,
                                                   .on_failed = on_failed};
    const char *to = json_string_value(json_object_get(json, "to"));
    cleanup(buf_done) struct buf text = BUF_OF(TARGET_MAX);
    cleanup_json json_t *body = NULL;

    if (files_path_check_tmp(to, strlen(to), w->change.to, err) < 0)
        return -1;
    body = json_pack("{s:s, s:b}", "to", w->change.to, "new",
                     (int)json_is_true(json_object_get(json, "new")));
    if (!body)
        return error_set(err, E_INVALID, "`to` is not UTF-8");
    if (json_text_dump(body, JSON_TEXT_COMPACT, &text, err) < 0 || record(w, "move", NULL, err) < 0)
        return -1;
    return ask_to_change(w, "POST", buf_str(&text), &events, err);
}

void away_files_move(struct request *request)
{
    struct error err = {0};
    struct work *w = work_new(request, request->params[1], &err);

    if (w && begin_move(w, request->json, &err) == 0)
        return;
    if (w)
        refuse(w, request, &err);
    else
        request_answer_error(request, &err);
}

/* --- writing --- */

/* It refused before all of it had come, or at the end. */
static void on_put_failed(void *user, const struct error *err)
{
    struct work *w = user;
    size_t unread = w->unread;

    w->file = NULL;
    error_copy(&w->err, err);
    if (w->change.event) {
        on_failed(w, err);
        return;
    }
    w->unread = 0;
    request_taken(w->request, unread); /* the next piece, or the end, answers */
}

static void on_put(void *user)
{
    struct work *w = user;
    struct request *request = w->request;
    cleanup_error struct error err = {0};

    if (!w->change.event) { /* before it had all of it */
        error_set(&err, E_PROTOCOL, "the virtual machine's answer came too early");
        on_put_failed(w, &err);
        return;
    }
    w->file = NULL;
    request->on_gone = NULL;
    request_answer_json(request, 200,
                        json_pack("{s:o, s:I}", "path",
                                  json_text_string(w->change.path, strlen(w->change.path)), "size",
                                  (json_int_t)w->bytes));
    work_free(w);
}

static void on_put_room(void *user)
{
    struct work *w = user;
    size_t unread = w->unread;

    w->unread = 0;
    if (unread)
        request_taken(w->request, unread);
}

static int on_put_piece(struct request *request, const void *data, size_t len, struct error *err)
{
    struct work *w = request->user;

    if (!w->file) {
        error_move(err, &w->err);
        return -1;
    }
    sha256_feed(w->hash, data, len);
    w->bytes += len;
    if (w->elsewhere->file_write(w->file, data, len))
        request_taken(request, len);
    else
        w->unread += len;
    return 0;
}

bool away_files_is_put(const struct request *request)
{
    return request->on_piece == on_put_piece;
}

int away_files_begin_put(struct request *request, struct error *err)
{
    static const struct away_file_events events = {.on_head = on_small_head,
                                                   .on_piece = on_small_piece,
                                                   .on_end = on_put,
                                                   .on_failed = on_put_failed,
                                                   .on_room = on_put_room};
    cleanup(buf_done) struct buf target = BUF_OF(TARGET_MAX);
    struct away_file_order order = {.method = "PUT", .is_upload = true, .events = &events};
    struct work *w =
        upload_check_quota(request, err) == 0 ? work_new(request, request->params[1], err) : NULL;

    if (!w)
        return -1;
    w->hash = sha256_begin();
    if (add_path(&target, w->change.path, err) < 0 ||
        add_flag(&target, request->query, "executable", err) < 0 ||
        add_flag(&target, request->query, "new", err) < 0) {
        work_free(w);
        return -1;
    }
    order.target = buf_str(&target);
    request->on_piece = on_put_piece;
    request->takes_itself = true;
    if (send(w, &order, err) == 0)
        return 0;
    request->on_piece = NULL;
    work_free(w);
    return -1;
}

/* Recorded before the machine knows that it is whole, and gives it its name. */
void away_files_put(struct request *request)
{
    struct work *w = request->user;
    uint8_t digest[SHA256_BYTES] = {0};
    struct error err = {0};

    sha256_end(take_ptr(w->hash), digest);
    if (!w->file) {
        error_move(&err, &w->err);
        refuse(w, request, &err);
        return;
    }
    w->change.bytes = w->bytes;
    if (record(w, "write", digest, &err) < 0) {
        refuse(w, request, &err);
        return;
    }
    w->elsewhere->file_written(w->file);
}
