/* Requests that are sent again under the key of the first. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "api/api.h"
#include "http/multipart.h"

/* Where, and what: a body counts by its values, not by how it was written. */
static int read_print(struct request *request, struct error *err)
{
    cleanup(buf_done) struct buf text = {0};
    uint8_t digest[SHA256_BYTES];
    char *json = json_dumps(request->json, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    int r = json ? 0 : error_memory(err);

    buf_init(&text, SIZE_MAX / 2);
    if (r == 0)
        r = buf_add(&text, request->head.path.data, request->head.path.len, err);
    if (r == 0)
        r = buf_add_str(&text, "\n", err) < 0 ? -1 : buf_add_str(&text, json, err);
    free(json);
    for (size_t i = 0; r == 0 && request->parts && i < request->parts->count; i++) {
        const struct multipart_part *part = &request->parts->parts[i];

        if (!span_is(part->name, "files"))
            continue;
        sha256(part->filename.data, part->filename.len, digest);
        r = buf_add(&text, digest, sizeof(digest), err);
        sha256(part->content.data, part->content.len, digest);
        r = r == 0 ? buf_add(&text, digest, sizeof(digest), err) : r;
    }
    sha256(text.data, text.len, request->once.body);
    return r;
}

static void answer_other_body(struct request *request)
{
    struct error err = {0};

    error_set(&err, E_INVALID, "this Idempotency-Key was used for another request");
    error_hint(&err, "a key is for one request and its repetitions; take a new one");
    request_answer_error_as(request, 422, NULL, &err);
}

static void answer_forgotten(struct request *request)
{
    struct error err = {0};

    error_set(&err, E_NOT_FOUND, "this request was accepted before; its answer is no longer kept");
    error_hint(&err, "it is not run again under this Idempotency-Key; take a new one to do so");
    request_answer_error_as(request, 409, NULL, &err);
}

static void answer_again(struct request *request, const struct idempotency_entry *entry)
{
    const struct api *api = request->api;
    struct job *job = *entry->run ? jobs_find(api->jobs, request->owner, entry->run, NULL) : NULL;

    request->is_repeat = job || entry->answer;
    if (job)
        job_repeat(job, request);
    else if (entry->answer)
        request_answer_text(request, request->route->status, entry->answer, entry->len);
    else
        answer_forgotten(request);
}

static const struct idempotency_entry *find(const struct request *request)
{
    const struct api *api = request->api;

    return idempotency_find(api->once, &request->once, loop_now_ns());
}

int api_read_key(struct request *request)
{
    struct span text = request_header(request, "idempotency-key");
    const struct idempotency_entry *entry;
    struct error err = {0};

    if (!text.data)
        return 0;
    if (idempotency_key_read(&request->once, request->owner, text, &err) < 0 ||
        read_print(request, &err) < 0) {
        request_answer_error(request, &err);
        return -1;
    }
    entry = find(request);
    if (entry && sha256_differs(entry->body, request->once.body)) {
        answer_other_body(request);
        return -1;
    }
    return entry != NULL;
}

bool api_is_repeat(struct request *request)
{
    int r = api_read_key(request);

    if (r > 0)
        answer_again(request, find(request));
    return r != 0;
}
