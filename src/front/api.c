/* What the handlers of the native API have in common. */
#include "front/api.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "front/mcp_http.h"
#include "front/openapi.h"
#include "pool/mask.h"

/* CodeRunner's first: one of its paths is that of a session by the name of `session`. */
const struct route *const api_tables[] = {
    coderunner_routes,  api_run_routes,     api_approval_routes,
    api_batch_routes,   api_session_routes, api_copy_routes,
    api_changes_routes, api_file_routes,    api_output_routes,
    api_skill_routes,   api_undo_routes,    api_work_routes,
    pyrunner_routes,    metrics_routes,     mcp_http_routes,
    mcp_sse_routes,     api_meta_routes,    NULL,
};

/* Made once: the tables never change, and anybody may ask for it as often as he likes. */
const struct buf *api_openapi_text(struct error *err)
{
    static struct buf made;
    cleanup(buf_done) struct buf text = {0};
    cleanup_json json_t *value = NULL;

    if (made.len)
        return &made;
    value = openapi_json(api_tables);
    buf_init(&text, MIB);
    if (!value) {
        error_memory(err);
        return NULL;
    }
    if (json_text_dump(value, JSON_TEXT_COMPACT, &text, err) < 0 ||
        buf_add(&text, "\n", 1, err) < 0)
        return NULL;
    made = text;
    text = (struct buf){0};
    return &made;
}

static void show_openapi(struct request *request)
{
    struct error err = {0};
    const struct buf *text = api_openapi_text(&err);

    if (text)
        request_answer_text(request, 200, text->data, text->len);
    else
        request_answer_error(request, &err);
}

const struct route api_meta_routes[] = {
    {"GET",         "/openapi.json", show_openapi, .access = ROUTE_PUBLIC, .answers = "OpenApi",
     .status = 200, .tag = "meta", .summary = "this API, as OpenAPI 3.1"},
    {0},
};

void api_refuse(struct request *request, const char *what, struct error *err)
{
    const struct api *api = request->api;

    if (err->code == E_DENIED)
        (void)witness_refusal(api->witness, request->owner, what, err, NULL);
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

struct store *api_kept(const struct api *api, struct error *err)
{
    if (!api->kept) {
        error_set(err, E_UNSUPPORTED, "there is no place to keep anything");
        error_hint(err, "start Belljar with HOME or XDG_STATE_HOME set");
    }
    return api->kept;
}

void api_answer_masked(struct request *request, int status, json_t *value)
{
    const struct api *api = request->api;
    struct run *run = run_new();
    cleanup(buf_done) struct buf text = {0};
    cleanup_free char *masked = NULL;
    struct error err = {0};

    buf_init(&text, KEPT_MAX);
    if (run && json_text_dump(value, JSON_TEXT_COMPACT, &text, NULL) == 0) {
        run->masking = config_masking(api->config);
        masked = mask_json(run, (struct span){buf_str(&text), text.len});
    }
    run_free(run);
    json_decref(value);
    buf_clear(&text);
    if (masked && buf_printf(&text, NULL, "%s\n", masked) == 0) {
        request_answer_text(request, status, buf_str(&text), text.len);
        return;
    }
    error_set(&err, E_SYSTEM, "the answer could not be masked");
    request_answer_error(request, &err);
}

double api_limit_max(const struct api *api, const struct caller *caller, enum run_limit_row row)
{
    return admission_limit_max(api->config, caller, row);
}
