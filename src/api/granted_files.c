#include "api/granted_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/stream.h"

#define CODE_BYTES (2 * LIMIT_CODE_BYTES)

/* Of a listing. */
#define ENTRIES_MAX 1000

/* --- paths --- */

/* Some part of it is "..": nobody who names a file in a directory needs that. */
static bool climbs(const char *path)
{
    for (const char *at = path; at; at = strchr(at, '/')) {
        at += strspn(at, "/");
        if (strncmp(at, "..", 2) == 0 && (!at[2] || at[2] == '/'))
            return true;
    }
    return false;
}

char *granted_path(const struct run_terms *terms, const char *given)
{
    const char *start = terms->workdir;
    char *path = NULL;

    if (!given || !*given)
        return start ? strdup(start) : NULL;
    if (climbs(given))
        return NULL;
    if (given[0] != '/')
        return start && asprintf(&path, "%s/%s", start, given) >= 0 ? path : NULL;
    for (size_t i = 0; i < terms->n_grants; i++)
        if (paths_below(given, terms->grants[i].path))
            return strdup(given);
    return NULL;
}

char *granted_request_path(const struct session *session, const char *given)
{
    struct session_info info;

    session_info(session, &info);
    return given && *given == '/' ? granted_path(info.terms, given) : NULL;
}

/* --- code --- */

/* A string of JSON is one of Python, too, as long as its characters are not escaped in halves. */
static int add_literal(const json_t *value, struct buf *out, struct error *err)
{
    cleanup_free char *text = json_dumps(value, JSON_ENCODE_ANY);

    return text ? buf_add_str(out, text, err) : error_memory(err);
}

static int add_path(const char *path, struct buf *out, struct error *err)
{
    json_t *value = json_string(path);
    int r = value ? add_literal(value, out, err)
                  : error_set(err, E_INVALID, "`path`: expected text in UTF-8");

    json_decref(value);
    return r;
}

/* By its first bytes, as files of /workspace are told apart. */
#define SHOW_PICTURE                                                                               \
    ") as _:\n    _ = _.read(12)\n"                                                                \
    "_ = 'image/png' if _[:8] == b'\\x89PNG\\r\\n\\x1a\\n' else 'image/jpeg' if _[:3] == "         \
    "b'\\xff\\xd8\\xff' else 'image/gif' if _[:4] == b'GIF8' else 'image/webp' if _[:4] == "       \
    "b'RIFF' "                                                                                     \
    "and _[8:] == b'WEBP' else None\n"                                                             \
    "if _:\n    display({_: pathlib.Path("

#define ELSE_PRINT ").read_bytes()}, raw=True)\nelse:\n    api._text.print_page("

/* Code that shows a picture, or calls a function for the file. */
static int add_picture_or(const char *path, struct buf *out, struct error *err)
{
    if (buf_add_str(out, "import api._text, pathlib\nwith api._text.open_or_tell(", err) < 0 ||
        add_path(path, out, err) < 0 || buf_add_str(out, SHOW_PICTURE, err) < 0 ||
        add_path(path, out, err) < 0 || buf_add_str(out, ELSE_PRINT, err) < 0)
        return -1;
    return add_path(path, out, err);
}

int granted_page_code(const char *path, uint64_t offset, uint64_t limit, struct buf *out,
                      struct error *err)
{
    if (add_picture_or(path, out, err) < 0)
        return -1;
    return buf_printf(out, err, ", %" PRIu64 ", %" PRIu64 ")\n", limit, offset);
}

int granted_lines_code(const char *path, uint64_t line, uint64_t lines, uint64_t limit,
                       struct buf *out, struct error *err)
{
    if (add_picture_or(path, out, err) < 0)
        return -1;
    return buf_printf(out, err, ", %" PRIu64 ", 0, %" PRIu64 ", %" PRIu64 ")\n", limit, line,
                      lines);
}

int granted_read_code(const char *path, uint64_t offset, uint64_t limit, struct buf *out,
                      struct error *err)
{
    if (buf_add_str(out, "import api.filesystem\nprint(api.filesystem.read_file(", err) < 0 ||
        add_path(path, out, err) < 0)
        return -1;
    return buf_printf(out, err, ")[%" PRIu64 ":][:%" PRIu64 "], end='')\n", offset, limit);
}

int granted_write_code(const char *path, const json_t *content, bool is_base64, struct buf *out,
                       struct error *err)
{
    if (buf_add_str(out,
                    is_base64 ? "import base64, pathlib\n_ = pathlib.Path("
                              : "import api.filesystem\n_ = api.filesystem.write_file(",
                    err) < 0 ||
        add_path(path, out, err) < 0 ||
        buf_add_str(out,
                    is_base64 ? ")\n_.parent.mkdir(parents=True, exist_ok=True)\n"
                                "_ = _.write_bytes(base64.b64decode("
                              : ", ",
                    err) < 0 ||
        add_literal(content, out, err) < 0 ||
        buf_add_str(out, is_base64 ? "))\nprint('wrote', " : ")\nprint('wrote', ", err) < 0 ||
        add_path(path, out, err) < 0)
        return -1;
    return buf_add_str(out, ")\n", err);
}

int granted_list_code(const char *path, size_t limit, bool is_json, struct buf *out,
                      struct error *err)
{
    if (buf_add_str(out,
                    is_json ? "import json, pathlib\n_ = sorted(pathlib.Path("
                            : "import pathlib\nfor _ in sorted(pathlib.Path(",
                    err) < 0 ||
        add_path(path, out, err) < 0)
        return -1;
    if (!is_json)
        return buf_printf(
            out, err,
            ").iterdir())[:%zu]:\n"
            "    print(_.name + ('/' if _.is_dir() else f' ({_.lstat().st_size} bytes)'))\n",
            limit);
    return buf_printf(
        out, err,
        ").iterdir())\n"
        "print(json.dumps({'files': [{'path': str(p), 'kind': 'link' if p.is_symlink() else "
        "'directory' if p.is_dir() else 'file', 'size': s.st_size, 'mode': '%%04o' %% (s.st_mode & "
        "0o7777), 'modified': s.st_mtime} for p in _[:%zu] for s in [p.lstat()]], 'has_more': "
        "len(_) > %zu, 'is_partial': False}))\n",
        limit, limit);
}

/* --- requests --- */

struct work {
    struct request *request;
    struct job *job;
    char *path;
    size_t size; /* of what was written */
    void (*answer)(struct work *w, const struct buf *output);
};

static void free_work(struct work *w)
{
    free(w->path);
    free(w);
}

static void on_gone(struct request *request)
{
    struct work *w = request->user;

    job_abandon(w->job);
    free_work(w);
}

static void answer_file(struct work *w, const struct buf *output)
{
    request_begin(w->request, 200, "application/octet-stream", NULL, output->len);
    (void)request_write(w->request, buf_str(output), output->len);
    request_end(w->request);
}

/* The program may have printed anything: it is JSON, or it is nothing. */
static void answer_list(struct work *w, const struct buf *output)
{
    static const struct json_text_limits limits = {.bytes = 2 * MIB, .depth = 8};
    json_t *list = NULL;
    struct error err = {0};

    if (json_text_load(buf_str(output), output->len, &limits, &list, NULL) == 0 &&
        json_is_array(json_object_get(list, "files"))) {
        request_answer_json(w->request, 200, list);
        return;
    }
    json_decref(list);
    error_set(&err, E_INVALID, "the session's kernel did not list the directory");
    error_hint(&err, "restart the kernel: its functions were replaced");
    request_answer_error(w->request, &err);
}

static void answer_write(struct work *w, const struct buf *output)
{
    (void)output;
    request_answer_json(w->request, 200,
                        json_pack("{s:o, s:I}", "path", json_text_string(w->path, strlen(w->path)),
                                  "size", (json_int_t)w->size));
}

/* Answers with the error that the code met, as the other routes for files do. */
static void fail(struct work *w, const struct run *run)
{
    const struct run_exception *e = &run->result.exception;
    const char *name = e->name ? e->name : "", *said = e->message ? e->message : "it failed";
    enum error_code code = E_INVALID;
    struct error err = {0};

    if (strcmp(name, "FileNotFoundError") == 0)
        code = E_NOT_FOUND;
    else if (strcmp(name, "PermissionError") == 0 || strcmp(name, "OSError") == 0 ||
             run->result.status == RUN_REFUSED)
        code = E_DENIED;
    if (run->result.status == RUN_REFUSED && run->result.n_violations &&
        run->result.violations[0].message)
        said = run->result.violations[0].message;
    error_set(&err, code, "%s: %.600s", w->path, said);
    if (run->result.n_denials && run->result.denials[0].hint)
        error_hint(&err, "%s", run->result.denials[0].hint);
    else if (e->hint)
        error_hint(&err, "%s", e->hint);
    request_answer_error(w->request, &err);
}

static void on_done(void *user, const struct run *run)
{
    struct work *w = user;
    cleanup(buf_done) struct buf output = {0};
    struct error err = {0};

    w->request->on_gone = NULL;
    buf_init(&output, LIMIT_OUTPUT_BYTES_MAX + MIB);
    if (run->result.error.code != E_NONE) {
        error_copy(&err, &run->result.error);
        request_answer_error(w->request, &err);
    } else if (run->result.status != RUN_SUCCESS) {
        fail(w, run);
    } else if (run->result.out.dropped) {
        error_set(&err, E_TOO_LARGE, "%s: only files of up to %d MB can be read this way", w->path,
                  (int)(LIMIT_OUTPUT_BYTES_MAX / MIB));
        request_answer_error(w->request, &err);
    } else if (run_stream_render(&run->result.out, &output, &err) < 0) {
        request_answer_error(w->request, &err);
    } else {
        w->answer(w, &output);
    }
    free_work(w);
}

static void start(struct work *w, struct session *session, const struct buf *code)
{
    struct request *request = w->request;
    struct api *api = request->api;
    struct admission admission = api_admission(api, request->caller);
    struct run_request asked = {.code = {buf_str(code), code->len},
                                .language = RUN_PYTHON,
                                .max_output_bytes = LIMIT_OUTPUT_BYTES_MAX};
    struct job_order order = {
        .session = session,
        .owner = request->owner,
        .caller = request->caller,
        .is_helper = true,
        .follower = {.on_done = on_done, .user = w},
    };
    struct error err = {0};

    admission.session = session;
    if (admit_request(&admission, &asked, &order.run, &err) < 0 ||
        jobs_start(api->jobs, &order, &request->retry_s, &w->job, &err) < 0) {
        free_work(w);
        request_answer_error(request, &err);
        return;
    }
    request->user = w;
    request->on_gone = on_gone;
}

static struct work *new_work(struct request *request, char *path,
                             void (*answer)(struct work *w, const struct buf *output))
{
    struct work *w = calloc(1, sizeof(*w));
    struct error err = {0};

    if (!w) {
        free(path);
        error_memory(&err);
        request_answer_error(request, &err);
        return NULL;
    }
    *w = (struct work){.request = request, .path = path, .answer = answer};
    return w;
}

static void start_or_fail(struct work *w, struct session *session, const struct buf *code, int r,
                          struct error *err)
{
    struct request *request = w->request;

    if (r == 0) {
        start(w, session, code);
        return;
    }
    free_work(w);
    request_answer_error(request, err);
}

void granted_answer_file(struct request *request, struct session *session, char *path)
{
    struct work *w = new_work(request, path, answer_file);
    cleanup(buf_done) struct buf code = {0};
    struct error err = {0};
    int r;

    if (!w)
        return;
    buf_init(&code, CODE_BYTES);
    r = granted_read_code(path, 0, LIMIT_OUTPUT_BYTES_MAX, &code, &err);
    start_or_fail(w, session, &code, r, &err);
}

void granted_answer_list(struct request *request, struct session *session, char *path)
{
    struct work *w = new_work(request, path, answer_list);
    cleanup(buf_done) struct buf code = {0};
    struct error err = {0};
    int r;

    if (!w)
        return;
    buf_init(&code, CODE_BYTES);
    r = granted_list_code(path, ENTRIES_MAX, true, &code, &err);
    start_or_fail(w, session, &code, r, &err);
}

void granted_answer_write(struct request *request, struct session *session, char *path,
                          const struct buf *content)
{
    struct work *w = new_work(request, path, answer_write);
    cleanup(buf_done) struct buf code = {0}, encoded = {0};
    struct error err = {0};
    json_t *value;
    int r;

    if (!w)
        return;
    w->size = content->len;
    buf_init(&code, CODE_BYTES);
    buf_init(&encoded, CODE_BYTES);
    r = base64_add(&encoded, buf_str(content), content->len, &err);
    value = json_stringn_nocheck(buf_str(&encoded), encoded.len);
    if (r == 0)
        r = granted_write_code(path, value, true, &code, &err);
    json_decref(value);
    start_or_fail(w, session, &code, r, &err);
}
