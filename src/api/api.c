/* Shared by the handlers of the native API. */
#include "api/api.h"

#include <stdlib.h>

#include "admit/access.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/task.h"
#include "engine/masking.h"

void api_refuse(struct request *request, const char *what, struct error *err)
{
    const struct api *api = request->api;

    if (err->code == E_DENIED)
        access_refused(api->recorder, request->owner, what, err);
    request_answer_error(request, err);
}

/* --- waiting for a session --- */

static void on_gone(struct request *request)
{
    struct api_waiting *w = request->user;

    w->request = NULL;
}

struct api_waiting *api_wait(struct request *request, struct error *err)
{
    struct api *api = request->api;
    struct session *session = sessions_find(api->sessions, request->owner, request->params[0], err);
    struct api_waiting *w = session ? calloc(1, sizeof(*w)) : NULL;

    if (session && !w)
        error_memory(err);
    if (!w)
        return NULL;
    *w = (struct api_waiting){request, session};
    request->user = w;
    request->on_gone = on_gone;
    return w;
}

void api_wait_end(struct api_waiting *w)
{
    if (w && w->request)
        w->request->on_gone = NULL;
    free(w);
}

/* --- what outlives runs --- */

/* A state, or a folder's texts, in escapes. */
#define KEPT_MAX (32 * MIB)

/* As deep as jansson reads. */
#define KEPT_DEPTH 2048

struct store *api_store(const struct api *api, struct error *err)
{
    if (!api->store) {
        error_set(err, E_UNSUPPORTED, "there is no directory for stored data");
        error_hint(err, "start Belljar with HOME or XDG_STATE_HOME set");
    }
    return api->store;
}

/* Saved data may be a MiB of anything: it is written and masked a few milliseconds at a time. */
struct masked_answer {
    struct request *request;
    int status;
    json_t *value;
    const char *name; /* of a member that is still to be read, or NULL: */
    struct buf unread;
    enum run_masking masking;
    struct masks *masks;
    struct task task;
    char *text; /* NULL: it could not be made */
};

static int read_member(struct masked_answer *answer)
{
    static const struct json_text_limits limits = {
        .bytes = KEPT_MAX, .depth = KEPT_DEPTH, .allows_nul = true, .allows_many = true};
    json_t *member = NULL;

    if (!answer->name)
        return 0;
    if (json_text_load(buf_str(&answer->unread), answer->unread.len, &limits, &member, NULL) < 0)
        return -1;
    return json_object_set_new(answer->value, answer->name, member);
}

static void mask_answer(void *arg)
{
    struct masked_answer *answer = arg;
    const struct mask_context context = {.level = answer->masking, .masks = answer->masks};
    cleanup(buf_done) struct buf text = BUF_OF(KEPT_MAX);

    if (read_member(answer) == 0 &&
        json_text_dump(answer->value, JSON_TEXT_COMPACT, &text, NULL) == 0)
        answer->text = mask_json(context, (struct span){buf_str(&text), text.len});
}

static void free_answer(struct masked_answer *answer)
{
    json_decref(answer->value);
    buf_done(&answer->unread);
    free(answer->text);
    free(answer);
}

static void on_masked(void *arg)
{
    struct masked_answer *answer = arg;
    struct request *request = answer->request;
    cleanup(buf_done) struct buf text = BUF_OF(KEPT_MAX);
    struct error err = {0};

    request->on_gone = NULL;
    if (answer->text && buf_add_str(&text, answer->text, NULL) == 0 &&
        buf_add(&text, "\n", 1, NULL) == 0) {
        request_answer_text(request, answer->status, buf_str(&text), text.len);
    } else {
        error_set(&err, E_SYSTEM, "the answer could not be masked");
        request_answer_error(request, &err);
    }
    free_answer(answer);
}

static void on_answer_gone(struct request *request)
{
    struct masked_answer *answer = request->user;

    (void)task_end(&answer->task);
    free_answer(answer);
}

void api_answer_masked(struct request *request, int status, json_t *value)
{
    api_answer_masked_with(request, status, value, NULL, NULL);
}

void api_answer_masked_with(struct request *request, int status, json_t *value, const char *name,
                            struct buf *text)
{
    static const struct task_steps steps = {.work = mask_answer, .done = on_masked};
    const struct api *api = request->api;
    struct masked_answer *answer = calloc(1, sizeof(*answer));
    struct error err = {0};

    if (!answer) {
        json_decref(value);
        error_memory(&err);
        request_answer_error(request, &err);
        return;
    }
    *answer = (struct masked_answer){.request = request,
                                     .status = status,
                                     .value = value,
                                     .name = name,
                                     .masking = config_masking(api->config),
                                     .masks = pool_masks(api->pool),
                                     .task.line = &request->caller->line};
    if (text) {
        answer->unread = *text;
        *text = (struct buf){0};
    }
    request->user = answer;
    request->on_gone = on_answer_gone;
    task_begin(&answer->task, api->loop, &steps, answer);
}

double api_limit_max(const struct api *api, const struct caller *caller, enum run_limit_row row)
{
    return admission_limit_max(api->config, caller, row);
}
