#include "api/attachments.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/shared.h"
#include "http/multipart.h"
#include "sandbox/files.h"

const struct schema_field attachments_file_fields[] = {
    {"path", SCHEMA_STRING, .is_required = true, .max_len = PATH_MAX - 1,
     .help = "path below /workspace"},
    {"content", SCHEMA_STRING, .is_required = true, .help = "what is in it"},
    {"encoding", SCHEMA_STRING, .choices = "utf-8,base64",
     .help = "encoding of `content` (default utf-8)"},
    {"executable", SCHEMA_BOOLEAN, .help = "whether it is a program"},
    {0},
};

/* --- in --- */

static size_t count_slashes(const char *path)
{
    size_t count = 0;

    for (; *path; path++)
        count += *path == '/';
    return count;
}

/* The fields of `wanted` other than its path. */
static int give(struct run_request *request, struct span path,
                const struct run_request_file *wanted, struct error *err)
{
    struct run_request_file file = *wanted;
    char checked[PATH_MAX];

    if (files_path_check(path.data, path.len, checked, err) < 0)
        return -1;
    if (!*checked)
        return error_set(err, E_INVALID, "a file has no name");
    if (count_slashes(checked) >= LIMIT_FILES_DEPTH)
        return error_set(err, E_INVALID, "a path has more than %d parts", LIMIT_FILES_DEPTH);
    for (size_t i = 0; i < request->n_files; i++)
        if (strcmp(request->files[i].path, checked) == 0)
            return error_set(err, E_INVALID, "two files have the same path");
    file.path = strdup(checked);
    if (!file.path)
        return error_memory(err);
    if (file.owner)
        (void)shared_ref(file.owner);
    return run_request_add_file(request, &file, err);
}

static void drop_decoded(struct shared **decoded)
{
    shared_unref(*decoded);
}

static int read_object(const json_t *object, struct run_request *request, struct error *err)
{
    const json_t *path = json_object_get(object, "path");
    const json_t *content = json_object_get(object, "content");
    const char *encoding = json_string_value(json_object_get(object, "encoding"));
    struct run_request_file file = {
        .content = {json_string_value(content), json_string_length(content)},
        .is_executable = json_is_true(json_object_get(object, "executable")),
    };
    cleanup(drop_decoded) struct shared *decoded = NULL;

    if (encoding && strcmp(encoding, "base64") == 0) {
        decoded = shared_new();
        if (!decoded)
            return error_memory(err);
        decoded->text.limit = ATTACHMENTS_BODY_BYTES;
        if (base64_decode(&decoded->text, file.content.data, file.content.len, err) < 0)
            return error_wrap(err, "`content`");
        file.content = (struct span){buf_str(&decoded->text), decoded->text.len};
        file.owner = decoded;
    }
    return give(request, (struct span){json_string_value(path), json_string_length(path)}, &file,
                err);
}

static int read_files(const json_t *body, const struct multipart *parts,
                      struct run_request *request, struct error *err)
{
    const json_t *object;
    size_t i;

    json_array_foreach(json_object_get(body, "files"), i, object)
    {
        if (read_object(object, request, err) < 0)
            return error_wrap(err, "`files[%zu]`", i);
    }
    for (i = 0; parts && i < parts->count; i++) {
        const struct multipart_part *part = &parts->parts[i];
        const struct run_request_file file = {
            .content = part->content,
            .owner = parts->body,
            .digest = part->has_digest ? part->digest : NULL,
        };

        if (span_is(part->name, "files") && give(request, part->filename, &file, err) < 0)
            return error_wrap(err, "the form: `files`");
    }
    return 0;
}

static int read_patterns(const json_t *list, struct run_request *request, struct error *err)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (json_string_length(item) == 0 || json_string_length(item) >= PATH_MAX)
            return error_set(err, E_INVALID, "`collect[%zu]` is not a pattern", i);
        if (run_request_add(&request->collect, json_string_value(item), err) < 0)
            return -1;
    }
    return 0;
}

int attachments_read(const json_t *body, const struct multipart *parts, struct run_request *request,
                     struct error *err)
{
    if (read_files(body, parts, request, err) < 0)
        return -1;
    request->has_collect = json_object_get(body, "collect") != NULL;
    return read_patterns(json_object_get(body, "collect"), request, err);
}

/* --- out --- */

static json_t *content_json(const struct run_collected *file, const char **ret_encoding)
{
    cleanup(buf_done) struct buf text = BUF_OF(2 * LIMIT_COLLECTED_BYTES);
    size_t len = file->len;

    *ret_encoding = NULL;
    if (!file->data)
        return json_null();
    if (json_text_is_utf8(file->data, len)) {
        *ret_encoding = "utf-8";
        return json_stringn_nocheck(file->data, len);
    }
    *ret_encoding = "base64";
    return base64_add(&text, file->data, len, NULL) < 0 ? NULL : json_string(buf_str(&text));
}

static json_t *path_json(const char *path)
{
    cleanup(buf_done) struct buf shown = BUF_OF(4 * PATH_MAX + 1);

    return files_path_escape(path, &shown, NULL) < 0 ? NULL : json_string(buf_str(&shown));
}

json_t *attachments_json(const struct run *run)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < run->result.n_collected; i++) {
        const struct run_collected *file = &run->result.collected[i];
        const char *encoding;
        json_t *content = content_json(file, &encoding);
        json_t *item = json_pack("{s:o, s:I, s:s?, s:o}", "path", path_json(file->path), "size",
                                 (json_int_t)file->size, "encoding", encoding, "content", content);

        if (json_array_append_new(list, item) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}
