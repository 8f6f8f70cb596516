/* Requests of clients that make, cancel or delete a durable job: the answer waits for the bus. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/span.h"
#include "cluster/job_internal.h"

#define ANSWER_BYTES MIB
#define KEY_MAX      255

static const char refusal[] =
    "{\"error\":{\"code\":\"unavailable\",\"message\":\"the bus of the cluster did not take the "
    "job\",\"hint\":\"send it again with the same Idempotency-Key in a moment\"}}";

struct job_hook {
    struct job_keep *keep;
    struct relay *relay;
    struct job_work *work; /* that is under way, or NULL */
    enum { HOOK_NEW, HOOK_CANCEL, HOOK_DELETE } kind;
    char id[ID_SIZE];      /* of those that are there already */
    char key[KEY_MAX + 1]; /* "": none */
    struct buf credentials;
    struct buf request;
    struct buf head, body; /* of the answer */
};

static bool find_kind(struct job_hook *hook, const struct http_head *head)
{
    struct span rest = head->path;

    if (span_is(head->method, "POST") && span_is(head->path, "/v1/jobs")) {
        hook->kind = HOOK_NEW;
        return true;
    }
    job_id_of_path(head->path.data, head->path.len, hook->id);
    if (!*hook->id)
        return false;
    rest.data += strlen("/v1/jobs/") + strlen(hook->id);
    rest.len -= strlen("/v1/jobs/") + strlen(hook->id);
    hook->kind = rest.len ? HOOK_CANCEL : HOOK_DELETE;
    return rest.len ? span_is(rest, "/cancel") && span_is(head->method, "POST")
                    : span_is(head->method, "DELETE");
}

/* The token, wherever clients put it. */
static int copy_credentials(struct job_hook *hook, const struct http_head *head)
{
    static const char *const names[] = {"authorization", "x-api-key"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct span value = http_head_get(head, names[i]);

        if (value.data)
            return buf_printf(&hook->credentials, NULL, "%s: %.*s", names[i], (int)value.len,
                              value.data);
    }
    return 0; /* the engine refuses it */
}

struct job_hook *job_hook_new(struct job_keep *keep, struct relay *relay,
                              const struct http_head *head)
{
    struct job_hook *hook = calloc(1, sizeof(*hook));
    struct span key = http_head_get(head, "idempotency-key");

    if (!hook)
        return NULL;
    *hook = (struct job_hook){.keep = keep, .relay = relay};
    buf_init(&hook->credentials, 16 * KIB);
    buf_init(&hook->request, LIMIT_JOB_BODY + 1);
    buf_init(&hook->head, CLUSTER_PAYLOAD_MAX);
    buf_init(&hook->body, ANSWER_BYTES);
    if (!find_kind(hook, head) || copy_credentials(hook, head) < 0) {
        job_hook_free(hook);
        return NULL;
    }
    if (key.data && key.len <= KEY_MAX)
        (void)snprintf(hook->key, sizeof(hook->key), "%.*s", (int)key.len, key.data);
    return hook;
}

bool job_hook_is_new_job(const struct job_hook *hook)
{
    return hook->kind == HOOK_NEW;
}

/* What is too long the engine refuses. */
void job_hook_take_body(struct job_hook *hook, const void *data, size_t len)
{
    if (hook->kind == HOOK_NEW)
        (void)buf_add(&hook->request, data, len, NULL);
}

bool job_hook_holds(struct job_hook *hook, const struct http_head *answer, struct span text)
{
    static const int good[] = {[HOOK_NEW] = 202, [HOOK_CANCEL] = 200, [HOOK_DELETE] = 204};

    return answer->status == good[hook->kind] &&
           buf_add(&hook->head, text.data, text.len, NULL) == 0;
}

int job_hook_take_answer(struct job_hook *hook, const void *data, size_t len)
{
    return buf_add(&hook->body, data, len, NULL);
}

static json_t *read_answer(const struct job_hook *hook)
{
    static const struct json_text_limits limits = {.bytes = ANSWER_BYTES, .depth = 16};
    json_t *answer = NULL;

    return json_text_load(buf_str(&hook->body), hook->body.len, &limits, &answer, NULL) < 0
               ? NULL
               : answer;
}

static void run_new(struct job_hook *hook, const json_t *job)
{
    const char *id = json_get_text(job, "id");
    char checked[ID_SIZE], path[ID_SIZE + 16];
    int n = snprintf(path, sizeof(path), "/v1/jobs/%s", id);
    json_t *head;

    job_id_of_path(path, n < 0 ? 0 : strnlen(path, sizeof(path) - 1), checked);
    if (!*checked || strcmp(checked, id) != 0) {
        job_hook_done(hook, false);
        return;
    }
    /* Known: the same request was sent again. */
    if (job_table_find(&hook->keep->table, id)) {
        job_hook_done(hook, true);
        return;
    }
    head = json_pack("{s:i, s:s, s:s, s:O}", "v", 1, "credentials", buf_str(&hook->credentials),
                     "key", hook->key, "job", job);
    if (!head || job_chain_store(hook->keep, hook, id, head, &hook->request) < 0)
        job_hook_done(hook, false);
}

/* A job that goes on, or had ended, stays in the bus. */
static bool is_cancelled(const struct job_hook *hook)
{
    cleanup_json json_t *answer = read_answer(hook);

    return json_is_true(json_object_get(answer, "cancelled"));
}

/* The machines that had it before may come back: they have to see on the bus that it moved, and the
 * node brings its end there as it does any other. */
static bool has_moved(const struct job_hook *hook)
{
    const struct kept_job *job = job_table_find(&hook->keep->table, hook->id);

    return job && job->last > 1;
}

void job_hook_run(struct job_hook *hook)
{
    cleanup_json json_t *job = hook->kind == HOOK_NEW ? read_answer(hook) : NULL;

    if (hook->kind == HOOK_NEW)
        run_new(hook, job);
    else if (hook->kind == HOOK_CANCEL && (!is_cancelled(hook) || has_moved(hook)))
        job_hook_done(hook, true);
    else if (job_chain_drop(hook->keep, hook, hook->id) < 0)
        job_hook_done(hook, true); /* the node goes on trying */
}

/* The engine has cancelled or deleted it, whatever the bus says; the node goes on trying. */
void job_hook_done(struct job_hook *hook, bool is_good)
{
    if (!is_good && hook->kind == HOOK_NEW) {
        buf_clear(&hook->head);
        buf_clear(&hook->body);
        (void)buf_add_str(&hook->body, refusal, NULL);
        (void)buf_printf(&hook->head, NULL,
                         "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
                         "Retry-After: 1\r\nContent-Length: %zu\r\n\r\n",
                         hook->body.len);
    }
    relay_release(hook->relay);
}

void job_hook_set_work(struct job_hook *hook, struct job_work *work)
{
    hook->work = work;
}

const struct buf *job_hook_answer(const struct job_hook *hook, bool is_head)
{
    return is_head ? &hook->head : &hook->body;
}

void job_hook_free(struct job_hook *hook)
{
    if (!hook)
        return;
    if (hook->work)
        hook->work->hook = NULL;
    buf_wipe(&hook->credentials);
    buf_wipe(&hook->request);
    buf_done(&hook->credentials);
    buf_done(&hook->request);
    buf_done(&hook->head);
    buf_done(&hook->body);
    free(hook);
}
