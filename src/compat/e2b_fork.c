/* Forks: sandboxes that begin with the memory and the files of another one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "compat/e2b_internal.h"

#define FORKS_MAX 100
#define TIMEOUT_S 300

/* A request that waits for its forks. */
struct forking {
    struct e2b *e2b;
    struct request *request; /* NULL: the client has gone */
    struct e2b_order order;
    char *template;
    size_t wanted;
};

static void free_forking(struct forking *f)
{
    json_decref(f->order.metadata);
    free(f->template);
    free(f);
}

static void on_gone(struct request *request)
{
    struct forking *f = request->user;

    f->request = NULL;
}

static json_t *fork_json(struct forking *f, struct session *session)
{
    struct error err = {0};
    const struct e2b_sandbox *sandbox =
        f->request ? e2b_sandbox_adopt(f->e2b, &f->order, session, &err) : NULL;

    if (sandbox)
        return json_pack("{s:o}", "sandbox", e2b_sandbox_json(sandbox));
    error_done(&err);
    session_close(session, "nobody knows of it");
    return json_pack("{s:{s:i, s:s}}", "error", "code", 500, "message", "out of memory");
}

static void on_copied(void *user, const struct session_copied *result)
{
    struct forking *f = user;
    struct request *request = f->request;
    json_t *list = json_array();
    struct error err = {0};

    for (size_t i = 0; i < result->n_sessions; i++)
        (void)json_array_append_new(list, fork_json(f, result->sessions[i]));
    for (size_t i = result->n_sessions; i < f->wanted; i++)
        (void)json_array_append_new(list, json_pack("{s:{s:i, s:s}}", "error", "code", 500,
                                                    "message", "the fork could not be started"));
    free_forking(f);
    if (!request) {
        json_decref(list);
        return;
    }
    request->on_gone = NULL;
    if (result->err->code == E_NONE) {
        request_answer_json(request, 201, list);
        return;
    }
    json_decref(list);
    error_copy(&err, result->err);
    request_answer_error(request, &err);
}

static struct forking *new_forking(struct request *request, const struct e2b_sandbox *s)
{
    struct forking *f = calloc(1, sizeof(*f));

    if (!f)
        return NULL;
    f->e2b = s->e2b;
    f->request = request;
    f->template = strdup(s->template);
    f->order = (struct e2b_order){.caller = request->caller,
                                  .generation = request->generation,
                                  .template = f->template,
                                  .metadata = json_incref(s->metadata),
                                  .has_no_token = s->has_no_token,
                                  .pauses = s->pauses,
                                  .resumes = s->resumes};
    (void)snprintf(f->order.domain, sizeof(f->order.domain), "%s", s->domain);
    if (f->template)
        return f;
    free_forking(f);
    return NULL;
}

static int read_count(const json_t *body, size_t *ret_count, struct error *err)
{
    const json_t *count = json_object_get(body, "count");

    if (count && !json_is_null(count) &&
        (!json_is_integer(count) || json_integer_value(count) < 1 ||
         json_integer_value(count) > FORKS_MAX))
        return error_set(err, E_INVALID, "`count`: expected 1 to %d", FORKS_MAX);
    *ret_count = json_is_integer(count) ? (size_t)json_integer_value(count) : 1;
    return 0;
}

/* The copies end by their own clock, and have the lifetime of their source. */
static int begin(struct request *request, struct e2b_sandbox *s, const json_t *body,
                 struct error *err)
{
    struct forking *f = new_forking(request, s);
    struct session_options options = {.max_own = admission_max_sessions(request->caller),
                                      .on_end = e2b_sandbox_on_end,
                                      .user = s->e2b};
    struct session_info info;

    if (!f)
        return error_memory(err);
    session_info(s->session, &info);
    options.lifetime_ms = info.lifetime_ms;
    request->user = f;
    request->on_gone = on_gone;
    if (read_count(body, &f->wanted, err) == 0 &&
        e2b_read_timeout(request, body, "timeout", TIMEOUT_S, &f->order.timeout_ms, err) == 0 &&
        admission_check_session(request->caller, s->session, err) == 0 &&
        session_fork(s->session, f->wanted, &options, on_copied, f, err) == 0)
        return 0;
    request->on_gone = NULL;
    free_forking(f);
    return -1;
}

void e2b_fork(struct request *request)
{
    struct e2b_sandbox *s = e2b_sandbox_in_path(request);
    json_t *body = s ? e2b_body(request) : NULL;
    struct error err = {0};

    if (body && begin(request, s, body, &err) < 0)
        api_refuse(request, "session", &err);
}
