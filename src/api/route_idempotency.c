/* Requests that are sent again under the key of the first. */
#include "api/api.h"
#include "api/fingerprint.h"

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

    return idempotency_find(api->idempotency, &request->idempotency, loop_now_ns());
}

int api_read_key(struct request *request)
{
    struct span text = request_header(request, "idempotency-key");
    const struct idempotency_entry *entry;
    struct error err = {0};

    if (!text.data)
        return 0;
    if (idempotency_key_read(&request->idempotency, request->owner, text, &err) < 0 ||
        (!request->idempotency.has_body && fingerprint_read(request, &err) < 0)) {
        request_answer_error(request, &err);
        return -1;
    }
    entry = find(request);
    if (entry && sha256_differs(entry->body, request->idempotency.body)) {
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
