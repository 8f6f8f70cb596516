/* Files in E2B's sandboxes: filesystem.Filesystem of its RPC. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/date.h"
#include "base/fiber.h"
#include "base/json.h"
#include "compat/e2b_internal.h"
#include "engine/session_files.h"

#define PATH_BYTES (4 * (size_t)PATH_MAX + 64)

/* --- an entry as JSON --- */

static const char *type_name(enum files_kind kind)
{
    switch (kind) {
    case FILES_REGULAR:
        return "FILE_TYPE_FILE";
    case FILES_DIRECTORY:
        return "FILE_TYPE_DIRECTORY";
    case FILES_LINK:
        return "FILE_TYPE_SYMLINK";
    default:
        return "FILE_TYPE_UNSPECIFIED";
    }
}

/* "-rw-r--r--" */
static void write_permissions(const struct files_entry *entry, char text[11])
{
    static const char letters[] = "rwxrwxrwx";

    (void)snprintf(text, 11, "----------");
    if (entry->kind == FILES_DIRECTORY || entry->kind == FILES_LINK)
        text[0] = "dL"[entry->kind == FILES_LINK];
    for (unsigned i = 0; i < 9; i++)
        if (entry->mode & (0400u >> i))
            text[1 + i] = letters[i];
}

/* As the link says, which need not lead anywhere. NULL: it is no link. */
static json_t *target_json(const struct e2b_sandbox *sandbox, const struct files_entry *entry)
{
    const struct files *files = sandbox ? session_files(sandbox->session) : NULL;
    cleanup(buf_done) struct buf shown = BUF_OF(PATH_BYTES);
    char target[PATH_MAX];

    if (entry->kind != FILES_LINK || !files ||
        files_read_link(files, entry->path, target, NULL) < 0 ||
        files_path_escape(target, &shown, NULL) < 0)
        return NULL;
    return json_text_string(buf_str(&shown), shown.len);
}

json_t *e2b_entry_json(const struct e2b_sandbox *sandbox, const struct files_entry *entry)
{
    const struct timespec at = {.tv_sec = entry->mtime_ns / 1000000000,
                                .tv_nsec = entry->mtime_ns % 1000000000};
    cleanup(buf_done) struct buf path = BUF_OF(PATH_BYTES);
    char permissions[11], size[24], date[DATE_SIZE];
    const char *name;

    if (e2b_path_write(entry->path, &path, NULL) < 0)
        return NULL;
    name = strrchr(buf_str(&path), '/') + 1;
    write_permissions(entry, permissions);
    date_millis(&at, date);
    (void)snprintf(size, sizeof(size), "%llu", (unsigned long long)entry->size);
    return json_pack("{s:o, s:s, s:o, s:s, s:i, s:s, s:s, s:s, s:s, s:o*, s:O*}", "name",
                     json_text_string(name, strlen(name)), "type", type_name(entry->kind), "path",
                     json_text_string(buf_str(&path), path.len), "size", size, "mode",
                     (int)(entry->mode & 07777), "permissions", permissions, "owner", "user",
                     "group", "user", "modifiedTime", date, "symlinkTarget",
                     target_json(sandbox, entry), "metadata",
                     e2b_metadata_get(sandbox, entry->path));
}

/* The sandbox of the task may have ended; NULL then. */
static struct e2b_sandbox *sandbox_of(const struct e2b_task *t)
{
    const struct api *api = t->request->api;
    const char *id = t->request->params[REQUEST_PARAMS_MAX - 1];

    return e2b_sandbox_find(api->e2b, id, strlen(id), t->request->owner);
}

static int add_entry(const struct e2b_task *t, const struct files_entry *entry, struct buf *out,
                     struct error *err)
{
    cleanup_json json_t *value = e2b_entry_json(sandbox_of(t), entry);

    return value ? json_text_dump(value, JSON_TEXT_COMPACT, out, err) : error_memory(err);
}

/* --- what the tasks share --- */

static int open_answer(struct e2b_task *t)
{
    t->text = shared_new();
    return t->text ? 0 : error_memory(&t->err);
}

static void answer_entry(struct e2b_task *t, const struct files_entry *entry)
{
    if (open_answer(t) == 0 && buf_add_str(&t->text->text, "{\"entry\":", &t->err) == 0 &&
        add_entry(t, entry, &t->text->text, &t->err) == 0)
        (void)buf_add_str(&t->text->text, "}\n", &t->err);
}

static int read_path(struct e2b_task *t, const char *name, char path[PATH_MAX])
{
    const json_t *value = json_object_get(t->body, name);

    if (value && !json_is_string(value))
        return error_set(&t->err, E_INVALID, "`%s`: expected a text", name);
    return e2b_path_read(json_get_text(t->body, name), path, &t->err);
}

/* --- the methods --- */

static void work_on_stat(struct e2b_task *t)
{
    const struct files *files = session_need_files(t->session, &t->err);
    struct files_entry entry;

    if (files && read_path(t, "path", t->path) == 0 &&
        files_stat(files, t->path, &entry, &t->err) == 0)
        answer_entry(t, &entry);
}

static int write_list(struct e2b_task *t, const struct files_list *list)
{
    struct buf *text = &t->text->text;

    if (buf_add_str(text, "{\"entries\":[", &t->err) < 0)
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        if ((i && buf_add_str(text, ",", &t->err) < 0) ||
            add_entry(t, &list->entries[i], text, &t->err) < 0)
            return -1;
        if (i % 16 == 0)
            fiber_pause();
    }
    return buf_add_str(text, "]}\n", &t->err);
}

static void work_on_list(struct e2b_task *t)
{
    cleanup(files_list_done) struct files_list list = {0};
    cleanup(files_done) struct files own = {.fd = -1}; /* the session may end meanwhile */
    const struct files *files = session_need_files(t->session, &t->err);
    const json_t *depth = json_object_get(t->body, "depth");
    struct files_page page = {.depth = 1};
    struct files_entry entry;

    if (depth && !json_is_null(depth)) {
        if (!json_is_integer(depth) || json_integer_value(depth) < 0 ||
            json_integer_value(depth) > LIMIT_FILES_DEPTH) {
            error_set(&t->err, E_INVALID, "`depth`: expected 1 to %d", LIMIT_FILES_DEPTH);
            return;
        }
        page.depth = json_integer_value(depth) ? (unsigned)json_integer_value(depth) : 1;
    }
    if (!files || read_path(t, "path", t->path) < 0 || files_copy(files, &own, &t->err) < 0 ||
        files_stat(&own, t->path, &entry, &t->err) < 0)
        return;
    if (entry.kind != FILES_DIRECTORY) {
        error_set(&t->err, E_INVALID, "path is not a directory: %.256s", t->path);
        return;
    }
    if (files_list(&own, t->path, &page, &list, &t->err) < 0)
        return;
    if (list.has_more || list.is_partial)
        error_set(&t->err, E_BUSY, "the directory has more entries than can be listed");
    else if (open_answer(t) == 0)
        (void)write_list(t, &list);
}

static void work_on_new_directory(struct e2b_task *t)
{
    const struct files *files = session_need_files(t->session, &t->err);
    struct files_entry entry;

    if (!files || read_path(t, "path", t->path) < 0)
        return;
    if (files_stat(files, t->path, &entry, NULL) == 0) {
        if (entry.kind == FILES_DIRECTORY) {
            t->code = "already_exists";
            t->status = 409;
            error_set(&t->err, E_INVALID, "directory already exists: %.256s", t->path);
        } else {
            error_set(&t->err, E_INVALID, "path already exists but it is not a directory: %.256s",
                      t->path);
        }
        return;
    }
    if (session_make_directory(t->session, t->path, &t->err) == 0 &&
        files_stat(files, t->path, &entry, &t->err) == 0)
        answer_entry(t, &entry);
}

static void move_metadata(const struct e2b_task *t, const char *to)
{
    struct e2b_sandbox *sandbox = sandbox_of(t);

    if (sandbox)
        e2b_metadata_move(sandbox, t->path, to);
}

static void work_on_move(struct e2b_task *t)
{
    const struct e2b_sandbox *sandbox;
    const struct files *files;
    struct files_entry entry;

    if (read_path(t, "source", t->path) < 0 || read_path(t, "destination", t->to) < 0 ||
        session_move_file(t->session, t->path, t->to, &t->err) < 0)
        return;
    move_metadata(t, t->to);
    sandbox = sandbox_of(t); /* it may have ended meanwhile, and the session with it */
    files = sandbox ? session_need_files(sandbox->session, &t->err) : NULL;
    if (!sandbox)
        error_set(&t->err, E_NOT_FOUND, "the sandbox has ended");
    else if (files && files_stat(files, t->to, &entry, &t->err) == 0)
        answer_entry(t, &entry);
}

/* That it is not there is fine. */
static void work_on_removal(struct e2b_task *t)
{
    if (read_path(t, "path", t->path) < 0)
        return;
    if (session_delete_file(t->session, t->path, true, &t->err) == 0)
        move_metadata(t, NULL);
    else if (t->err.code == E_NOT_FOUND)
        error_done(&t->err);
}

static void begin(struct request *request, void (*work)(struct e2b_task *task))
{
    json_t *body = e2b_body(request);

    if (body)
        e2b_task_begin(request, body, work);
}

void e2b_stat(struct request *request)
{
    begin(request, work_on_stat);
}

void e2b_list_dir(struct request *request)
{
    begin(request, work_on_list);
}

void e2b_make_dir(struct request *request)
{
    begin(request, work_on_new_directory);
}

void e2b_move(struct request *request)
{
    begin(request, work_on_move);
}

void e2b_remove(struct request *request)
{
    begin(request, work_on_removal);
}
