/* Bodies of messages, and work on them that may take several turns. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/span.h"
#include "compat/e2b_connect.h"
#include "compat/e2b_internal.h"
#include "engine/session_files.h"

#define BODY_DEPTH 32

static json_t *mistake_of(const struct error *err)
{
    const char *text = error_message(err);

    return json_text_string(text, strlen(text));
}

json_t *e2b_load(const char *text, size_t len, json_t **ret_mistake)
{
    static const struct json_text_limits limits = {.bytes = E2B_BODY_BYTES, .depth = BODY_DEPTH};
    cleanup_error struct error err = {0};
    json_t *value = NULL;

    if (!len)
        return json_object();
    if (json_text_load(text, len, &limits, &value, &err) < 0) {
        *ret_mistake = mistake_of(&err);
    } else if (!json_is_object(value)) {
        json_decref(value);
        value = NULL;
        *ret_mistake = json_string("expected a JSON object");
    }
    return value;
}

json_t *e2b_load_envelope(const char *text, size_t len, json_t **ret_mistake)
{
    cleanup_error struct error err = {0};
    struct span message;

    if (e2b_envelope_read((struct span){text, len}, &message, &err) == 0)
        return e2b_load(message.data, message.len, ret_mistake);
    *ret_mistake = mistake_of(&err);
    return NULL;
}

json_t *e2b_body(struct request *request)
{
    struct error err = {0};

    if (!request->is_loaded) {
        request->json =
            request->route->load(buf_str(&request->body), request->body.len, &request->mistake);
        request->is_loaded = true;
    }
    if (request->json)
        return request->json;
    error_set(&err, E_INVALID, "the body: %s",
              request->mistake ? json_string_value(request->mistake) : "out of memory");
    request_answer_error(request, &err);
    return NULL;
}

const char *e2b_text(const json_t *body, const char *camel, const char *snake)
{
    const char *text = json_get_text(body, camel);

    return !*text && snake ? json_get_text(body, snake) : text;
}

uint64_t e2b_header_number(const struct request *request, const char *name)
{
    struct span text = request_header(request, name);
    uint64_t number = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || i >= 15)
            return 0;
        number = number * 10 + (uint64_t)(text.data[i] - '0');
    }
    return number;
}

/* --- tasks --- */

struct begun {
    struct e2b_task base;
    void (*work)(struct e2b_task *task);
};

static void free_task(struct begun *t)
{
    shared_unref(t->base.text);
    error_done(&t->base.err);
    free(t);
}

static void work(void *arg)
{
    struct begun *t = arg;

    t->work(&t->base);
}

static void done(void *arg)
{
    struct begun *t = arg;
    struct request *request = t->base.request;
    const char *message = t->base.err.message;

    request->on_gone = NULL;
    if (t->base.code)
        e2b_rpc_answer_code(request, t->base.status, t->base.code, message ? message : "");
    else if (t->base.err.code != E_NONE)
        request_answer_error(request, &t->base.err);
    else if (t->base.text)
        request_answer_shared(request, 200, t->base.text);
    else
        request_answer_json(request, 200, json_object());
    free_task(t);
}

/* Work that was begun ends soon. */
static void on_gone(struct request *request)
{
    struct begun *t = request->user;

    (void)task_end(&t->base.task);
    free_task(t);
}

void e2b_task_begin(struct request *request, json_t *body, void (*fn)(struct e2b_task *task))
{
    static const struct task_steps steps = {.work = work, .done = done};
    const struct api *api = request->api;
    struct e2b_sandbox *sandbox = e2b_sandbox_of(request);
    struct begun *t;
    struct error err = {0};

    if (!sandbox)
        return;
    t = calloc(1, sizeof(*t));
    if (!t) {
        error_memory(&err);
        request_answer_error(request, &err);
        return;
    }
    t->work = fn;
    t->base.request = request;
    t->base.body = body;
    t->base.session = sandbox->session;
    t->base.task.line = &request->caller->line;
    request->user = t;
    request->on_gone = on_gone;
    task_begin(&t->base.task, api->loop, &steps, t);
}
