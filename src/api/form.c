#include "api/form.h"

#include <stdlib.h>
#include <string.h>

#include "api/router.h"
#include "base/cleanup.h"
#include "base/fiber.h"
#include "base/json.h"
#include "base/shared.h"
#include "http/multipart.h"

#define FORM_DEPTH 32

/* The object the other fields are added to. */
static int read_object(struct request *request, struct span text, struct error *err)
{
    const struct json_text_limits limits = {.bytes = (size_t)request->route->max_body,
                                            .depth = FORM_DEPTH};
    json_t *value = NULL;

    if (json_object_size(request->json))
        return error_set(err, E_INVALID, "the form: `request` is not the first field");
    if (json_text_load(text.data, text.len, &limits, &value, err) < 0)
        return error_wrap(err, "the form: `request`");
    if (!json_is_object(value)) {
        json_decref(value);
        return error_set(err, E_INVALID, "the form: `request` must be a JSON object");
    }
    json_decref(request->json);
    request->json = value;
    return 0;
}

/* Hashes it here, where the work may pause: the trail and an Idempotency-Key need the hash. */
static int read_file(struct multipart_part *part, struct error *err)
{
    struct sha256_stream *hash;

    if (!part->filename.len)
        return error_set(err, E_INVALID, "the form: a file has no file name");
    hash = sha256_begin();
    if (!hash)
        return error_memory(err);
    sha256_feed_slowly(hash, part->content.data, part->content.len);
    sha256_end(hash, part->digest);
    part->has_digest = !fiber_is_cancelled();
    return 0;
}

static int read_part(struct request *request, struct multipart_part *part, struct error *err)
{
    cleanup_free char *name = NULL, *text = NULL;

    if (span_is(part->name, "files"))
        return read_file(part, err);
    if (span_is(part->name, "request"))
        return read_object(request, part->content, err);
    if (part->content.len > request->route->max_body)
        return error_set(err, E_TOO_LARGE, "the form: a field is larger than %llu bytes",
                         (unsigned long long)request->route->max_body);
    if (memchr(part->content.data, '\0', part->content.len))
        return error_set(err, E_INVALID, "the form: a field has bytes that are not text");
    name = span_dup(part->name);
    text = span_dup(part->content);
    if (!name || !text)
        return error_memory(err);
    return schema_add_text(request->route->body, name, text, part->content.len, request->json, err);
}

int form_read(struct request *request, struct error *err)
{
    struct shared *body = shared_new();
    struct span boundary, bytes;

    request->json = json_object();
    request->parts = calloc(1, sizeof(*request->parts));
    if (!request->json || !request->parts || !body) {
        shared_unref(body);
        return error_memory(err);
    }
    /* A run that gets the files keeps the body: copying 60 MB takes long. */
    request->parts->body = body;
    body->text = request->body;
    request->body = (struct buf){.limit = request->body.limit};
    bytes = (struct span){buf_str(&body->text), body->text.len};
    if (multipart_boundary(request_header(request, "content-type"), &boundary, err) < 0 ||
        multipart_parse(bytes, boundary, request->parts, err) < 0)
        return -1;
    for (size_t i = 0; i < request->parts->count; i++)
        if (read_part(request, &request->parts->parts[i], err) < 0)
            return -1;
    schema_drop_null(request->route->body, request->json);
    return schema_check(request->route->body, request->json, err);
}
