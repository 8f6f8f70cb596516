/* Bytes of files in E2B's sandboxes: read, and written as a form or as a stream of bytes. */
#include <stdlib.h>
#include <string.h>

#include "admit/quota.h"
#include "api/attachments.h"
#include "base/cleanup.h"
#include "base/fiber.h"
#include "base/json.h"
#include "base/span.h"
#include "compat/e2b_internal.h"
#include "engine/session_files.h"
#include "http/multipart.h"

#define PIECE (64 * KIB)

static int check_quota(struct request *request, struct error *err)
{
    return quota_check_bytes(request->caller, loop_now_ns(), &request->retry_s, err);
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
        check_quota(request, &err) < 0 || files_open(files, path, &fd, &entry, &err) < 0)
        request_answer_error(request, &err);
    else
        api_send_file(request, fd, entry.size);
}

/* --- a stream of bytes --- */

struct upload {
    struct session_writer writer;
    struct caller *caller; /* who pays */
};

static void free_upload(struct upload *upload)
{
    quota_spend(upload->caller, loop_now_ns(), 0, (double)upload->writer.files.written);
    session_write_abort(&upload->writer);
    free(upload);
}

static void on_writer_gone(struct request *request)
{
    free_upload(request->user);
}

static int on_piece(struct request *request, const void *data, size_t len, struct error *err)
{
    struct upload *upload = request->user;

    return session_write_feed(&upload->writer, data, len, err);
}

static int begin_stream(struct request *request, struct e2b_sandbox *sandbox, struct error *err)
{
    static const struct files_write_options options = {.makes_parents = true};
    struct upload *upload = calloc(1, sizeof(*upload));
    char path[PATH_MAX];

    if (!upload)
        return error_memory(err);
    upload->caller = request->caller;
    if (e2b_path_read(json_get_text(request->query, "path"), path, err) < 0 ||
        session_write_begin(&upload->writer, sandbox->session, path, &options, err) < 0) {
        free(upload);
        return -1;
    }
    request->user = upload;
    request->on_piece = on_piece;
    request->on_gone = on_writer_gone;
    return 0;
}

/* A form is collected, anything else is written as it comes. */
int e2b_file_begin(struct request *request, struct error *err)
{
    const struct api *api = request->api;
    const char *id = request->params[REQUEST_PARAMS_MAX - 1];
    struct e2b_sandbox *sandbox = e2b_sandbox_find(api->e2b, id, strlen(id), request->owner);
    struct span encoding = request_header(request, "content-encoding");

    if (!sandbox)
        return error_set(err, E_NOT_FOUND, "the sandbox has ended");
    if (encoding.data && !span_is_nocase(encoding, "identity")) {
        error_set(err, E_INVALID, "compressed files are not supported");
        return error_hint(err, "send the bytes as they are");
    }
    if (admission_check_session(request->caller, sandbox->session, err) < 0 ||
        check_quota(request, err) < 0)
        return -1;
    if (!multipart_is_type(request_header(request, "content-type")))
        return begin_stream(request, sandbox, err);
    request->body_limit = ATTACHMENTS_BODY_BYTES;
    return 0;
}

static json_t *written_json(const char *path)
{
    cleanup(buf_done) struct buf text = BUF_OF(4 * (size_t)PATH_MAX + 64);
    const char *name;

    if (e2b_path_write(path, &text, NULL) < 0)
        return NULL;
    name = strrchr(buf_str(&text), '/') + 1;
    return json_pack("{s:o, s:o, s:s}", "name", json_text_string(name, strlen(name)), "path",
                     json_text_string(buf_str(&text), text.len), "type", "file");
}

static void end_stream(struct request *request)
{
    struct upload *upload = request->user;
    struct error err = {0};

    request->on_gone = NULL;
    if (session_write_commit(&upload->writer, &err) < 0)
        request_answer_error(request, &err);
    else
        request_answer_json(request, 200, json_pack("[o]", written_json(upload->writer.path)));
    free_upload(upload);
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

static struct e2b_sandbox *find_again(const struct e2b_task *t, struct error *err)
{
    const struct api *api = t->request->api;
    const char *id = t->request->params[REQUEST_PARAMS_MAX - 1];
    struct e2b_sandbox *sandbox = e2b_sandbox_find(api->e2b, id, strlen(id), t->request->owner);

    if (!sandbox)
        error_set(err, E_NOT_FOUND, "the sandbox has ended");
    return sandbox;
}

static int write_part(struct e2b_task *t, const struct multipart_part *part, struct buf *out)
{
    static const struct files_write_options options = {.makes_parents = true};
    const struct e2b_sandbox *sandbox = find_again(t, &t->err);
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
    value = written_json(path);
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
