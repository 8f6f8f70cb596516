/* Bytes of files in E2B's sandboxes: read, and written as a form or as a stream of bytes. */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "admit/quota.h"
#include "api/attachments.h"
#include "api/upload.h"
#include "base/cleanup.h"
#include "base/closer.h"
#include "base/fiber.h"
#include "base/json.h"
#include "base/span.h"
#include "compat/e2b_internal.h"
#include "engine/session_files.h"
#include "http/multipart.h"

#define PIECE (64 * KIB)

/* A file of at most so many bytes is compressed where a client asks for it: in one go, between two
 * other requests. */
#define GZIP_MAX MIB

/* For deflateInit2(): the format of gzip. */
#define GZIP_BITS (16 + MAX_WBITS)

/* Clients name several codings out of habit, and only gzip when they are told to. */
static bool wants_gzip(const struct request *request)
{
    return span_is_nocase(request_header(request, "accept-encoding"), "gzip") &&
           !request_header(request, "range").data;
}

static int pack_file(int fd, uint64_t size, struct buf *out, struct error *err)
{
    cleanup_free char *data = malloc((size_t)size + 1);
    z_stream zip = {0};
    uint64_t got = 0;
    int r;

    if (!data)
        return error_memory(err);
    while (got < size) {
        ssize_t n = files_read(fd, got, data + got, (size_t)(size - got), err);

        if (n < 0)
            return -1;
        if (n == 0)
            break; /* the program has cut it meanwhile */
        got += (uint64_t)n;
    }
    if (deflateInit2(&zip, Z_BEST_SPEED, Z_DEFLATED, GZIP_BITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return error_memory(err);
    if (buf_reserve(out, deflateBound(&zip, got), err) < 0) {
        (void)deflateEnd(&zip);
        return -1;
    }
    zip.next_in = (Bytef *)data;
    zip.avail_in = (uInt)got;
    zip.next_out = (Bytef *)out->data;
    zip.avail_out = (uInt)deflateBound(&zip, got);
    r = deflate(&zip, Z_FINISH);
    out->len = zip.total_out;
    (void)deflateEnd(&zip);
    return r == Z_STREAM_END ? 0 : error_set(err, E_INTERNAL, "the file could not be compressed");
}

static void send_packed(struct request *request, int fd, uint64_t size)
{
    cleanup(buf_done) struct buf out = BUF_OF(2 * GZIP_MAX);
    struct error err = {0};

    if (pack_file(fd, size, &out, &err) < 0) {
        request_answer_error(request, &err);
    } else {
        quota_spend(request->caller, loop_now_ns(), 0, (double)out.len);
        request_begin(request, 200, "application/octet-stream",
                      "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n", out.len);
        (void)request_write(request, out.data, out.len);
        request_end(request);
    }
    closer_close(&fd);
}

void e2b_file_get(struct request *request)
{
    struct e2b_sandbox *sandbox = e2b_sandbox_of(request);
    const struct files *files;
    struct files_entry entry;
    struct error err = {0};
    char path[PATH_MAX];
    int fd;

    if (!sandbox)
        return;
    files = session_need_files(sandbox->session, &err);
    if (!files || e2b_path_read(json_get_text(request->query, "path"), path, &err) < 0 ||
        upload_check_quota(request, &err) < 0 || files_open(files, path, &fd, &entry, &err) < 0)
        request_answer_error(request, &err);
    else if (entry.size <= GZIP_MAX && wants_gzip(request))
        send_packed(request, fd, entry.size);
    else
        api_send_file(request, fd, entry.size);
}

/* --- a stream of bytes --- */

/* The sandbox that the request was let in to, which may have ended since. */
static struct e2b_sandbox *find_again(const struct request *request, struct error *err)
{
    const struct api *api = request->api;
    const char *id = request->params[REQUEST_PARAMS_MAX - 1];
    struct e2b_sandbox *sandbox = e2b_sandbox_find(api->e2b, id, strlen(id), request->owner);

    if (!sandbox)
        error_set(err, E_NOT_FOUND, "the sandbox has ended");
    return sandbox;
}

/* A form is collected, anything else is written as it comes. */
int e2b_file_begin(struct request *request, struct error *err)
{
    struct e2b_sandbox *sandbox = find_again(request, err);
    struct span encoding = request_header(request, "content-encoding");
    bool is_form = multipart_is_type(request_header(request, "content-type"));
    struct upload_order order = {.options = {.makes_parents = true}};
    char path[PATH_MAX];

    if (!sandbox)
        return -1;
    order.is_gzip = encoding.data && span_is_nocase(encoding, "gzip");
    if (encoding.data && !span_is_nocase(encoding, "identity") && (!order.is_gzip || is_form)) {
        error_set(err, E_INVALID, "this content encoding is not supported");
        return error_hint(err, "send the bytes as they are, or as a stream with `gzip`");
    }
    if (e2b_metadata_check(request, err) < 0 ||
        admission_check_session(request->caller, sandbox->session, err) < 0 ||
        upload_check_quota(request, err) < 0)
        return -1;
    if (is_form) {
        request->body_limit = ATTACHMENTS_BODY_BYTES;
        return 0;
    }
    if (e2b_path_read(json_get_text(request->query, "path"), path, err) < 0)
        return -1;
    order.session = sandbox->session;
    order.path = path;
    return upload_begin(request, &order, err);
}

/* The file has been written; its metadata is what the request says. */
static json_t *written_json(const struct request *request, const char *path)
{
    struct e2b_sandbox *sandbox = find_again(request, NULL);
    cleanup(buf_done) struct buf text = BUF_OF(4 * (size_t)PATH_MAX + 64);
    const char *name;

    if (e2b_path_write(path, &text, NULL) < 0)
        return NULL;
    name = strrchr(buf_str(&text), '/') + 1;
    if (sandbox)
        e2b_watch_written(sandbox, path);
    return json_pack("{s:o, s:o, s:s, s:o*}", "name", json_text_string(name, strlen(name)), "path",
                     json_text_string(buf_str(&text), text.len), "type", "file", "metadata",
                     sandbox ? e2b_metadata_set(sandbox, path, request) : NULL);
}

static void end_stream(struct request *request)
{
    struct error err = {0};
    char path[PATH_MAX];

    if (upload_end(request, path, NULL, &err) < 0)
        request_answer_error(request, &err);
    else
        request_answer_json(request, 200, json_pack("[o]", written_json(request, path)));
}

/* --- a form --- */

/* The path of a part: of the address where there is one, else in its name. */
static int part_path(const struct e2b_task *t, const struct multipart_part *part,
                     char path[PATH_MAX], struct error *err)
{
    const char *given = json_get_text(t->request->query, "path");
    char name[PATH_MAX];

    if (*given)
        return e2b_path_read(given, path, err);
    if (!part->filename.len || part->filename.len >= sizeof(name))
        return error_set(err, E_INVALID, "a file has no name, and the address has no `path`");
    memcpy(name, part->filename.data, part->filename.len);
    name[part->filename.len] = '\0';
    return e2b_path_read(name, path, err);
}

static int write_part(struct e2b_task *t, const struct multipart_part *part, struct buf *out)
{
    static const struct files_write_options options = {.makes_parents = true};
    const struct e2b_sandbox *sandbox = find_again(t->request, &t->err);
    struct session_writer writer;
    cleanup_json json_t *value = NULL;
    char path[PATH_MAX];

    if (!sandbox || part_path(t, part, path, &t->err) < 0 ||
        session_write_begin(&writer, sandbox->session, path, &options, &t->err) < 0)
        return -1;
    for (size_t at = 0; at < part->content.len; at += PIECE) {
        size_t left = part->content.len - at;

        if (fiber_is_cancelled() || session_write_feed(&writer, part->content.data + at,
                                                       left < PIECE ? left : PIECE, &t->err) < 0) {
            session_write_abort(&writer);
            return -1;
        }
        fiber_pause();
    }
    quota_spend(t->request->caller, loop_now_ns(), 0, (double)part->content.len);
    if (session_write_commit(&writer, &t->err) < 0)
        return -1;
    value = written_json(t->request, path);
    if (!value)
        return error_memory(&t->err);
    if (out->len > 1 && buf_add_str(out, ",", &t->err) < 0)
        return -1;
    return json_text_dump(value, JSON_TEXT_COMPACT, out, &t->err);
}

static void work_on_form(struct e2b_task *t)
{
    cleanup_free struct multipart *form = calloc(1, sizeof(*form));
    struct span boundary, body = {buf_str(&t->request->body), t->request->body.len};

    t->text = shared_new();
    if (!form || !t->text) {
        error_memory(&t->err);
        return;
    }
    if (multipart_boundary(request_header(t->request, "content-type"), &boundary, &t->err) < 0 ||
        multipart_parse(body, boundary, form, &t->err) < 0 ||
        buf_add_str(&t->text->text, "[", &t->err) < 0)
        return;
    if (*json_get_text(t->request->query, "path") && form->count > 1) {
        error_set(&t->err, E_INVALID, "the address has one `path`, the form several files");
        return;
    }
    for (size_t i = 0; i < form->count; i++)
        if (span_is(form->parts[i].name, "file") &&
            write_part(t, &form->parts[i], &t->text->text) < 0)
            return;
    if (t->text->text.len == 1)
        error_set(&t->err, E_INVALID, "the form has no part `file`");
    else
        (void)buf_add_str(&t->text->text, "]\n", &t->err);
}

void e2b_file_post(struct request *request)
{
    struct error err = {0};

    if (request->on_piece) {
        end_stream(request);
    } else if (!multipart_is_type(request_header(request, "content-type"))) {
        error_set(&err, E_INVALID, "expected a form, or bytes");
        request_answer_error(request, &err);
    } else {
        e2b_task_begin(request, NULL, work_on_form);
    }
}
