/* Files of a session's /workspace: list, read, write. What is read is masked like output. Those in
 * granted directories are in granted_files.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/closer.h"
#include "base/id.h"
#include "base/json.h"
#include "base/task.h"
#include "base/utf8.h"
#include "engine/masking.h"
#include "engine/session_files.h"
#include "mcp/internal.h"
#include "mcp/tools.h"

#define READ_DEFAULT (32 * KIB)
#define READ_MAX     MIB
#define PIECE        (64 * KIB)

/* A text has hardly more of them in a token. */
#define BYTES_OF_TOKEN ((size_t)6)

/* For the words behind a page. */
#define WORDS_TOKENS 50

/* Bytes of a file that are not text are given out whole or not at all. */
#define BINARY_MAX (4 * MIB)

/* To find the page of a text everything before it has to go through the masker, and everything else
 * waits for that. */
#define SCANNED_MAX (64 * MIB)

#define LIST_MAX 500

/* --- a session that starts --- */

#define LOOK_MS 10

struct waiting {
    struct mcp_call *call;
    char session_id[ID_SIZE];
    struct loop_watch *timer;
    void (*then)(struct mcp_call *call, const char *session_id, const struct files *files);
};

static void free_waiting(struct waiting *w)
{
    loop_watch_free(w->timer);
    free(w);
}

static void on_wait_cancel(struct mcp_call *call)
{
    free_waiting(call->user);
}

static void look(void *arg)
{
    struct waiting *w = arg;
    struct mcp_call *call = w->call;
    struct error err = {0};
    struct session *session =
        sessions_find(mcp_host_of(call)->api->sessions, call->owner, w->session_id, &err);
    const struct files *files = session ? session_files(session) : NULL;
    char id[ID_SIZE];

    if (session && session_elsewhere(session)) {
        files = session_need_files(session, &err);
    } else if (session && !files) {
        loop_timer_start(w->timer, LOOK_MS);
        return;
    }
    memcpy(id, w->session_id, sizeof(id));
    call->on_cancel = NULL;
    if (files)
        w->then(call, id, files);
    else
        mcp_call_fail(call, &err);
    free_waiting(w);
}

void mcp_with_files(struct mcp_call *call, struct session *session,
                    void (*then)(struct mcp_call *call, const char *session_id,
                                 const struct files *files))
{
    struct waiting *w = calloc(1, sizeof(*w));
    struct session_info info;
    struct error err = {0};

    session_info(session, &info);
    if (w)
        w->timer = loop_timer(mcp_host_of(call)->api->loop, look, w);
    if (!w || !w->timer) {
        free(w);
        error_memory(&err);
        mcp_call_fail(call, &err);
        return;
    }
    w->call = call;
    w->then = then;
    (void)snprintf(w->session_id, sizeof(w->session_id), "%s", info.id);
    call->user = w;
    call->on_cancel = on_wait_cancel;
    look(w);
}

/* A path from the root on that is nowhere in reach. */
static bool is_elsewhere(const struct mcp_call *call)
{
    const char *given = json_string_value(json_object_get(call->arguments, "path"));

    return given && !files_path_is_inside(given);
}

static void refuse_elsewhere(struct mcp_call *call, struct session *session)
{
    cleanup(buf_done) struct buf place = BUF_OF(4 * KIB);
    struct error err = {0};

    mcp_place_note(call, session, &place);
    error_set(&err, E_INVALID, "`path`: not in /workspace, and not in a granted directory");
    error_hint(&err, "relative paths are the safest; ask the user for another directory; %s",
               place.len ? buf_str(&place) : "no directory is granted here");
    mcp_call_fail(call, &err);
}

static void begin(struct mcp_call *call, enum mcp_file_work work,
                  void (*then)(struct mcp_call *call, const char *session_id,
                               const struct files *files))
{
    struct error err = {0};
    struct session *session = mcp_session_need(call, &err);

    if (!session)
        mcp_call_fail(call, &err);
    else if (mcp_granted_file(call, session, work))
        return;
    else if (is_elsewhere(call))
        refuse_elsewhere(call, session);
    else
        mcp_with_files(call, session, then);
}

/* The path as the tool was given it. Models like to write it from the root on. */
static int read_path(const struct mcp_call *call, char path[PATH_MAX], struct error *err)
{
    const char *given = json_string_value(json_object_get(call->arguments, "path"));

    if (!given)
        given = "";
    if (files_path_check(given, strlen(given), path, err) < 0) {
        error_wrap(err, "`path`");
        return error_hint(err, "name a file in /workspace or in a granted directory; "
                               "get_kernel_status lists those");
    }
    return 0;
}

/* --- reading --- */

/* The type of a file, by its first bytes. */
static const char *picture_type(const char *head, size_t len)
{
    if (len >= 8 && memcmp(head, "\x89PNG\r\n\x1a\n", 8) == 0)
        return "image/png";
    if (len >= 3 && memcmp(head, "\xff\xd8\xff", 3) == 0)
        return "image/jpeg";
    if (len >= 6 && memcmp(head, "GIF8", 4) == 0)
        return "image/gif";
    if (len >= 12 && memcmp(head, "RIFF", 4) == 0 && memcmp(head + 8, "WEBP", 4) == 0)
        return "image/webp";
    return NULL;
}

struct reader {
    int fd;
    uint64_t size;
    const char *picture; /* its type, or NULL */
    bool is_text;
};

static int open_file(const struct files *files, const char *path, struct reader *r,
                     struct error *err)
{
    struct files_entry entry;
    char head[8 * KIB];
    ssize_t n;

    if (files_open(files, path, &r->fd, &entry, err) < 0)
        return -1;
    n = files_read(r->fd, 0, head, sizeof(head), err);
    if (n < 0)
        return -1;
    r->size = entry.size;
    r->picture = picture_type(head, (size_t)n);
    r->is_text = !r->picture && !memchr(head, '\0', (size_t)n);
    return 0;
}

/* A part of a text that comes in pieces. */
struct page {
    uint64_t from, at;
    bool is_by_line;
    uint64_t lines_before; /* to leave out */
    bool is_within_line;   /* what was left out ends so */
    size_t limit;
    bool has_more;
    struct buf *out;
};

/* Leaves out lines before the page; returns how many bytes they have of this piece. */
static size_t skip_lines(struct page *page, struct clean_text text)
{
    const char *begin = clean_data(text), *end = begin + clean_len(text), *at = begin;

    while (page->lines_before && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));

        page->is_within_line = !newline;
        page->lines_before -= newline != NULL;
        at = newline ? newline + 1 : end;
    }
    return (size_t)(at - begin);
}

static int add_page(struct page *page, struct clean_text text, struct error *err)
{
    uint64_t begin = page->at < page->from ? page->from - page->at : 0;
    size_t len, room = page->limit - page->out->len;

    if (page->is_by_line && !page->out->len) {
        begin = skip_lines(page, text);
        page->from = page->at + begin;
    }
    page->at += clean_len(text);
    if (begin >= clean_len(text))
        return 0;
    len = clean_len(text) - (size_t)begin;
    page->has_more |= len > room;
    return buf_add(page->out, clean_data(text) + begin, len < room ? len : room, err);
}

/* The masker sees the file from its beginning, so that no page cuts a secret in two. */
static int read_text(const struct mcp_host *host, const struct reader *r, struct page *page,
                     struct error *err)
{
    struct error failure = {0};
    const struct mask_context context = {.level = config_masking(host->api->config),
                                         .masks = pool_masks(host->api->pool),
                                         .error = &failure};
    struct masker *masker = NULL;
    char piece[PIECE];
    uint64_t offset = 0;
    ssize_t n = 1;
    int result = 0;

    while (result == 0 && n > 0 && !page->has_more) {
        n = files_read(r->fd, offset, piece, sizeof(piece), err);
        if (n < 0)
            result = -1;
        else if (offset > SCANNED_MAX)
            result = error_set(err, E_TOO_LARGE, "only the first %zu MB can be read this way",
                               SCANNED_MAX / MIB);
        else if (n > 0)
            result = add_page(page, mask_stream(context, &masker, piece, (size_t)n), err);
        else
            result = add_page(page, mask_stream_end(context, &masker), err);
        offset += n > 0 ? (uint64_t)n : 0;
    }
    if (result == 0 && failure.code != E_NONE) {
        error_copy(err, &failure);
        result = -1;
    }
    masker_free(masker);
    error_done(&failure);
    return result;
}

static int read_binary(const struct reader *r, struct buf *out, struct error *err)
{
    cleanup_free char *data = NULL;
    size_t at = 0;

    if (r->size > BINARY_MAX) {
        error_set(err, E_TOO_LARGE, "the file is not text and has %" PRIu64 " bytes", r->size);
        return error_hint(err, "read it with code and print only what you need");
    }
    data = malloc((size_t)r->size + 1);
    if (!data)
        return error_memory(err);
    while (at < r->size) {
        ssize_t n = files_read(r->fd, at, data + at, (size_t)r->size - at, err);

        if (n < 0)
            return -1;
        if (n == 0)
            break;
        at += (size_t)n;
    }
    return base64_add(out, data, at, err);
}

json_t *mcp_file_contents(const struct mcp_host *host, const struct files *files, const char *path,
                          const char *uri, struct error *err)
{
    cleanup(buf_done) struct buf data = {0};
    struct page page = {.limit = READ_MAX, .out = &data};
    struct reader r = {.fd = -1};
    json_t *contents = NULL;

    buf_init(&data, 2 * BINARY_MAX);
    if (open_file(files, path, &r, err) == 0) {
        if (r.is_text && read_text(host, &r, &page, err) == 0)
            contents = json_pack("{s:s, s:s, s:o}", "uri", uri, "mimeType", "text/plain", "text",
                                 json_text_string(buf_str(&data), data.len));
        else if (!r.is_text && read_binary(&r, &data, err) == 0)
            contents = json_pack("{s:s, s:s, s:o}", "uri", uri, "mimeType",
                                 r.picture ? r.picture : "application/octet-stream", "blob",
                                 json_stringn_nocheck(buf_str(&data), data.len));
    }
    closer_close(&r.fd);
    return contents;
}

/* Back to the end of the last whole character. */
static void trim_character(struct buf *text)
{
    for (size_t back = 1; back <= 3 && back < text->len; back++)
        if (utf8_decode(text->data + text->len - back, back, NULL) == UTF8_PARTIAL) {
            text->len -= back;
            return;
        }
}

/* At the end of a line, unless that is far back. */
static void trim_line(struct buf *text)
{
    const char *end = memrchr(buf_str(text), '\n', text->len);

    if (end && (size_t)(end + 1 - text->data) >= text->len / 2)
        text->len = (size_t)(end + 1 - text->data);
    else
        trim_character(text);
}

/* The line after the first `len` bytes of the page, or 0: they end within one. Where a secret of
 * several lines is masked there are fewer lines than in the file, so the part without one is
 * counted. */
static uint64_t next_line(const struct mcp_page *page, const struct buf *text, size_t len)
{
    static const char mask[] = "[REDACTED";

    if (!page->line || !len || text->data[len - 1] != '\n')
        return 0;
    if (memmem(text->data, len, mask, sizeof(mask) - 1))
        return page->end_line - mcp_count_lines(text->data + len, text->len - len);
    return page->line + mcp_count_lines(text->data, len);
}

static void add_nothing(const struct mcp_page *page, struct buf *out)
{
    if (!page->size)
        (void)buf_add_str(out, "(empty file)", NULL);
    else if (page->line)
        (void)buf_printf(out, NULL, "(the file has %" PRIu64 " lines)", page->end_line - 1);
    else
        (void)buf_printf(out, NULL,
                         "(nothing from that offset on: it counts bytes, and the file has %" PRIu64
                         "; `line` counts lines)",
                         page->size);
}

json_t *mcp_page_result(const struct mcp_call *call, struct buf *text, const struct mcp_page *page)
{
    size_t len = text->len;
    size_t fits = call->max_tokens
                      ? mcp_tokens_fit(buf_str(text), len, call->max_tokens - WORDS_TOKENS, NULL)
                      : len;
    uint64_t line;

    if (fits < len || page->has_more) {
        text->len = fits;
        trim_line(text);
        fits = text->len;
        text->len = len;
        line = next_line(page, text, fits);
        text->len = fits;
        (void)buf_printf(text, NULL, "%s[file] %" PRIu64 " bytes in all; read on with ",
                         fits && text->data[fits - 1] == '\n' ? "" : "\n", page->size);
        if (line)
            (void)buf_printf(text, NULL, "line %" PRIu64 "\n", line);
        else
            (void)buf_printf(text, NULL, "offset %" PRIu64 "\n", page->end - (len - fits));
    } else if (!len) {
        add_nothing(page, text);
    }
    return mcp_text_result(buf_str(text), text->len, false);
}

void mcp_part_of(const struct mcp_call *call, struct mcp_part *ret_part)
{
    const json_t *line = json_object_get(call->arguments, "line");
    const json_t *limit = json_object_get(call->arguments, "limit");
    const json_t *offset = json_object_get(call->arguments, "offset");
    bool is_by_bytes = line ? json_integer_value(offset) > 0 : offset != NULL;
    size_t fits = call->max_tokens * BYTES_OF_TOKEN;

    *ret_part = (struct mcp_part){
        .limit = !fits             ? READ_DEFAULT
                 : fits < READ_MAX ? fits
                                   : READ_MAX,
    };
    if (is_by_bytes) {
        ret_part->offset = (uint64_t)json_integer_value(offset);
        if (limit)
            ret_part->limit = (size_t)json_integer_value(limit);
    } else {
        ret_part->line = line ? (uint64_t)json_integer_value(line) : 1;
        ret_part->lines = (uint64_t)json_integer_value(limit);
    }
}

/* No more lines than were asked for. True: there are more. */
static bool keep_lines(struct buf *text, uint64_t lines)
{
    const char *at = buf_str(text), *end = at + text->len;

    while (lines && at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
        at++;
        if (--lines == 0 && at < end) {
            text->len = (size_t)(at - text->data);
            return true;
        }
    }
    return false;
}

static int answer_text(struct mcp_call *call, const struct reader *r, struct error *err)
{
    cleanup(buf_done) struct buf text = {0};
    struct mcp_page shown = {.size = r->size};
    struct page page = {.out = &text};
    struct mcp_part part;

    mcp_part_of(call, &part);
    page.from = part.offset;
    page.is_by_line = part.line > 0;
    page.lines_before = part.line ? part.line - 1 : 0;
    page.limit = part.limit;
    buf_init(&text, READ_MAX + KIB);
    if (read_text(mcp_host_of(call), r, &page, err) < 0)
        return -1;
    shown.has_more = keep_lines(&text, part.lines) || page.has_more;
    shown.end = page.from + text.len;
    shown.line = part.line;
    shown.end_line = part.line - page.lines_before + page.is_within_line +
                     mcp_count_lines(buf_str(&text), text.len);
    mcp_call_answer(call, mcp_page_result(call, &text, &shown));
    return 0;
}

static int check_picture(const struct reader *r, struct error *err)
{
    char head[24];
    ssize_t n = files_read(r->fd, 0, head, sizeof(head), err);

    if (n < 0)
        return -1;
    if (mcp_picture_fits(head, (size_t)n, r->size))
        return 0;
    error_set(err, E_TOO_LARGE, "the picture is too large to show: more than %d pixels or %zu KB",
              MCP_PICTURE_SIDE, MCP_PICTURE_MAX / KIB);
    return error_hint(err,
                      "make a smaller copy with code, such as PIL.Image.open(path), "
                      "thumbnail((%d, %d)) and save(), and read that",
                      MCP_PICTURE_SIDE, MCP_PICTURE_SIDE);
}

static int answer_binary(struct mcp_call *call, const struct reader *r, const char *session_id,
                         const char *path, struct error *err)
{
    cleanup(buf_done) struct buf data = {0}, uri = {0};
    json_t *block, *content;

    buf_init(&data, 2 * BINARY_MAX);
    buf_init(&uri, MCP_URI_MAX);
    if ((r->picture && check_picture(r, err) < 0) || read_binary(r, &data, err) < 0 ||
        mcp_file_uri(session_id, path, &uri, err) < 0)
        return -1;
    content = json_stringn_nocheck(buf_str(&data), data.len);
    if (r->picture)
        block =
            json_pack("{s:s, s:o, s:s}", "type", "image", "data", content, "mimeType", r->picture);
    else
        block = json_pack("{s:s, s:{s:s, s:s, s:o}}", "type", "resource", "resource", "uri",
                          buf_str(&uri), "mimeType", "application/octet-stream", "blob", content);
    mcp_call_answer(call, json_pack("{s:[o]}", "content", block));
    return 0;
}

static void read_then(struct mcp_call *call, const char *session_id, const struct files *files)
{
    struct reader r = {.fd = -1};
    struct error err = {0};
    char path[PATH_MAX];
    int result = read_path(call, path, &err);

    if (result == 0)
        result = open_file(files, path, &r, &err);
    if (result == 0)
        result = r.is_text ? answer_text(call, &r, &err)
                           : answer_binary(call, &r, session_id, path, &err);
    closer_close(&r.fd);
    if (result < 0)
        mcp_call_fail(call, &err);
}

static void read_file(struct mcp_call *call)
{
    begin(call, MCP_FILE_READ, read_then);
}

/* --- writing --- */

static int decode(const json_t *content, bool is_base64, struct buf *plain, struct error *err)
{
    const char *text = json_string_value(content);

    buf_init(plain, MCP_MESSAGE_BYTES);
    if (!is_base64)
        return buf_add(plain, text, json_string_length(content), err);
    if (base64_decode(plain, text, json_string_length(content), err) < 0) {
        error_wrap(err, "`content`");
        return error_hint(err, "for text leave `encoding` out");
    }
    return 0;
}

static int write_bytes(const struct mcp_call *call, const char *session_id, const char *path,
                       const struct buf *plain, struct error *err)
{
    const struct files_write_options options = {.makes_parents = true};
    struct session *session =
        sessions_find(mcp_host_of(call)->api->sessions, call->owner, session_id, err);
    struct session_writer writer;

    if (!session || session_write_begin(&writer, session, path, &options, err) < 0)
        return -1;
    if (session_write_feed(&writer, buf_str(plain), plain->len, err) < 0) {
        session_write_abort(&writer);
        return -1;
    }
    return session_write_commit(&writer, err);
}

static void tell_written(const struct mcp_call *call, const char *session_id, const char *path)
{
    cleanup(buf_done) struct buf uri = BUF_OF(MCP_URI_MAX);

    if (mcp_file_uri(session_id, path, &uri, NULL) == 0)
        mcp_server_updated(call->server, call->owner, buf_str(&uri));
    mcp_server_changed_for(call->server, call->owner, MCP_RESOURCES);
}

static void write_then(struct mcp_call *call, const char *session_id, const struct files *files)
{
    const char *encoding = json_string_value(json_object_get(call->arguments, "encoding"));
    cleanup(buf_done) struct buf plain = {0};
    struct error err = {0};
    char path[PATH_MAX], said[PATH_MAX + 128];
    json_t *result;

    (void)files;
    if (read_path(call, path, &err) < 0 ||
        decode(json_object_get(call->arguments, "content"),
               encoding && strcmp(encoding, "base64") == 0, &plain, &err) < 0 ||
        write_bytes(call, session_id, path, &plain, &err) < 0) {
        mcp_call_fail(call, &err);
        return;
    }
    tell_written(call, session_id, path);
    (void)snprintf(said, sizeof(said), "wrote %zu bytes to /workspace/%s in session %s", plain.len,
                   path, session_id);
    result = mcp_text_result(said, strlen(said), false);
    if (mcp_result_has_links(call))
        (void)json_object_set_new(result, "structuredContent",
                                  json_pack("{s:o, s:I, s:s}", "path",
                                            json_text_string(path, strlen(path)), "size",
                                            (json_int_t)plain.len, "session_id", session_id));
    mcp_call_answer(call, result);
}

static void write_file(struct mcp_call *call)
{
    begin(call, MCP_FILE_WRITE, write_then);
}

/* --- listing --- */

/* A workspace may have thousands of files: a task (base/task.h). */
struct listing {
    struct task task;
    struct mcp_call *call;
    struct files files; /* its own: the session may end meanwhile */
    char path[PATH_MAX];
    json_t *result;
    struct error err;
};

static void free_listing(struct listing *l)
{
    files_done(&l->files);
    json_decref(l->result);
    error_done(&l->err);
    free(l);
}

static json_t *list_result(const struct mcp_call *call, const struct files_list *list)
{
    const struct mcp_host *host = mcp_host_of(call);
    cleanup(buf_done) struct buf text = BUF_OF(MIB);
    json_t *result, *structured;

    for (size_t i = 0; i < list->count; i++)
        if (mcp_add_name(host, list->entries[i].path, &text) < 0 ||
            buf_printf(&text, NULL,
                       list->entries[i].kind == FILES_DIRECTORY ? "/\n" : " (%" PRIu64 " bytes)\n",
                       list->entries[i].size) < 0)
            break;
    if (list->has_more || list->is_partial)
        (void)buf_printf(&text, NULL, "… and more: give `path`, a directory of these\n");
    if (!text.len)
        (void)buf_add_str(&text, "(no files)", NULL);
    result = mcp_text_result(buf_str(&text), text.len, false);
    if (mcp_result_has_links(call)) {
        structured = api_files_json(list);
        mcp_mask_names(host, json_object_get(structured, "files"));
        (void)json_object_set_new(result, "structuredContent", structured);
    }
    return result;
}

static void work_on_list(void *arg)
{
    const struct files_page page = {.limit = LIST_MAX};
    cleanup(files_list_done) struct files_list list = {0};
    struct listing *l = arg;

    if (files_list(&l->files, l->path, &page, &list, &l->err) == 0)
        l->result = list_result(l->call, &list);
}

static void on_listed(void *arg)
{
    struct listing *l = arg;
    struct mcp_call *call = l->call;

    call->on_cancel = NULL;
    if (l->err.code != E_NONE)
        mcp_call_fail(call, &l->err);
    else
        mcp_call_answer(call, take_ptr(l->result));
    free_listing(l);
}

static void on_list_cancel(struct mcp_call *call)
{
    struct listing *l = call->user;

    (void)task_end(&l->task);
    free_listing(l);
}

static void list_then(struct mcp_call *call, const char *session_id, const struct files *files)
{
    static const struct task_steps steps = {.work = work_on_list, .done = on_listed};
    struct listing *l = calloc(1, sizeof(*l));
    struct error err = {0};

    (void)session_id;
    if (l)
        l->files.fd = -1;
    else
        error_memory(&err);
    if (!l || read_path(call, l->path, &err) < 0 || files_copy(files, &l->files, &err) < 0) {
        if (l)
            free_listing(l);
        mcp_call_fail(call, &err);
        return;
    }
    l->call = call;
    l->task.line = call->caller ? &call->caller->line : NULL;
    call->user = l;
    call->on_cancel = on_list_cancel;
    task_begin(&l->task, mcp_host_of(call)->api->loop, &steps, l);
}

static void list_files(struct mcp_call *call)
{
    begin(call, MCP_FILE_LIST, list_then);
}

/* clang-format off */
static const struct schema_field read_fields[] = {
    {"path", SCHEMA_STRING, .is_required = true, .max_len = 4096, .example = "\"data/in.csv\""},
    {"line", SCHEMA_INTEGER, .min = 1, .max = 1e12, .example = "1"},
    {"limit", SCHEMA_INTEGER, .min = 1, .max = READ_MAX, .example = "200",
     .help = "lines; with offset, bytes"},
    {"offset", SCHEMA_INTEGER, .min = 0, .max = 1e12, .example = "0",
     .help = "first byte"},
    MCP_SESSION_FIELD,
    {0},
};

static const struct schema_field write_fields[] = {
    {"path", SCHEMA_STRING, .is_required = true, .max_len = 4096, .example = "\"data/in.csv\"",
     .help = "directories are created"},
    {"content", SCHEMA_STRING, .is_required = true, .example = "\"a,b\\n1,2\\n\"",
     .help = "the whole file"},
    {"encoding", SCHEMA_STRING, .choices = "utf-8,base64", .example = "\"base64\"",
     .help = "default utf-8"},
    MCP_SESSION_FIELD,
    {0},
};

static const struct schema_field list_fields[] = {
    {"path", SCHEMA_STRING, .max_len = 4096, .example = "\"data\"",
     .help = "a directory"},
    MCP_SESSION_FIELD,
    {0},
};

const struct mcp_tool mcp_tool_read = {
    .name = "read_file",
    .title = "Read a file",
    .description = "Read text from a line on, or a picture.",
    .input = read_fields,
    .hints = MCP_READ_ONLY,
    .call = read_file,
};

const struct mcp_tool mcp_tool_write = {
    .name = "write_file",
    .title = "Write a file",
    .description = "Write a file, replacing an existing one.",
    .input = write_fields,
    .hints = MCP_DESTRUCTIVE | MCP_IDEMPOTENT,
    .call = write_file,
};

/* These two, on the short list. */
const struct mcp_tool mcp_door_read = {
    .name = "read_file",
    .description = "Read text or an image",
    .input = read_fields,
    .input_json = "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},"
                  "\"line\":{\"type\":\"integer\"}},\"required\":[\"path\"]}",
    .hints = MCP_READ_ONLY,
    .call = read_file,
    .is_brief = true,
};

const struct mcp_tool mcp_door_write = {
    .name = "write_file",
    .description = "Write a file",
    .input = write_fields,
    .input_json = "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},"
                  "\"content\":{\"type\":\"string\"}},\"required\":[\"path\",\"content\"]}",
    .hints = MCP_DESTRUCTIVE | MCP_IDEMPOTENT,
    .call = write_file,
    .is_brief = true,
};

const struct mcp_tool mcp_tool_list = {
    .name = "list_files",
    .title = "List files",
    .description = "List files with their sizes.",
    .input = list_fields,
    .hints = MCP_READ_ONLY,
    .call = list_files,
};
/* clang-format on */
