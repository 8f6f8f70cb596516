/* A file as an answer, masked as everything that leaves. It may be megabytes, and slow to mask, so
 * that it is done as a task (base/task.h). */
#include <stdlib.h>
#include <string.h>

#include "admit/quota.h"
#include "api/api.h"
#include "base/cleanup.h"
#include "base/fiber.h"
#include "base/task.h"
#include "engine/masking.h"

struct masked_file {
    struct task task;
    struct request *request;
    struct mask_context context;
    struct error failure; /* of the masker */
    char *data;
    size_t len;
    struct shared *text;
    bool is_done;
};

static void mask_file(void *arg)
{
    struct masked_file *m = arg;
    struct clean_text clean = mask_text(m->context, (struct span){m->data, m->len});

    m->is_done = m->failure.code == E_NONE && !fiber_is_cancelled() &&
                 buf_add(&m->text->text, clean_data(clean), clean_len(clean), NULL) == 0;
}

static void free_file(struct masked_file *m)
{
    if (!m)
        return;
    error_done(&m->failure);
    free(m->data);
    shared_unref(m->text);
    free(m);
}

/* A stranger's bytes are never a page of ours: the type says only that they are bytes. */
static void on_masked(void *arg)
{
    struct masked_file *m = arg;
    struct request *request = m->request;
    size_t len = m->text->text.len;
    struct error err = {0};

    request->on_gone = NULL;
    if (m->is_done) {
        quota_spend(request->caller, loop_now_ns(), 0, (double)len);
        request_begin(request, 200, "application/octet-stream", NULL, len);
        (void)request_write_shared(request, m->text, len);
        request_end(request);
    } else {
        error_set(&err, E_SYSTEM, "the file could not be masked");
        request_answer_error(request, &err);
    }
    free_file(m);
}

static void on_file_gone(struct request *request)
{
    struct masked_file *m = request->user;

    (void)task_end(&m->task);
    free_file(m);
}

void api_send_masked(struct request *request, struct span data)
{
    static const struct task_steps steps = {.work = mask_file, .done = on_masked};
    const struct api *api = request->api;
    struct masked_file *m = calloc(1, sizeof(*m));
    struct error err = {0};

    if (m) {
        m->request = request;
        m->text = shared_new();
        m->len = data.len;
        m->data = malloc(data.len + 1);
    }
    if (!m || !m->text || !m->data) {
        free_file(m);
        error_memory(&err);
        request_answer_error(request, &err);
        return;
    }
    memcpy(m->data, data.data, data.len);
    m->context = (struct mask_context){
        .level = config_masking(api->config), .masks = pool_masks(api->pool), .error = &m->failure};
    m->task.line = &request->caller->line;
    request->user = m;
    request->on_gone = on_file_gone;
    task_begin(&m->task, api->loop, &steps, m);
}
