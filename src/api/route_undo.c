/* Changes in directories granted for writing: which runs can be undone, what an undo would do, and
 * the undo itself. */
#include <stdlib.h>

#include "api/api.h"
#include "api/undo.h"
#include "base/cleanup.h"
#include "undo/store.h"

static const struct schema_field undo_fields[] = {
    {"dry_run", SCHEMA_BOOLEAN, .help = "only report what would be done"},
    {0},
};

static void on_gone(struct request *request)
{
    struct api_waiting *w = request->user;

    w->request = NULL;
}

static void on_undone(void *user, json_t *answer, struct error *err)
{
    struct api_waiting *w = user;

    if (w->request && answer)
        api_answer_masked(w->request, 200, json_incref(answer));
    else if (w->request)
        request_answer_error(w->request, err);
    free(w);
}

static bool may_use_grants(struct request *request, struct error *err)
{
    if (request->caller->rights.has_grants)
        return true;
    error_set(err, E_DENIED, "this token may not use directories of the host");
    (void)error_hint(err, "create a token for that with `belljar token add --grants`");
    return false;
}

static void begin(struct request *request, bool is_dry)
{
    struct api *api = request->api;
    const struct undo_wish wish = {
        .run = request->params[0],
        .keeper = request->caller->keeper,
        .who = request->owner,
        .is_dry = is_dry,
        .config = api->config,
        .recorder = api->recorder,
        .is_checked = true,
    };
    struct error err = {0};
    struct api_waiting *w = calloc(1, sizeof(*w));

    if (!w)
        error_memory(&err);
    if (w && may_use_grants(request, &err)) {
        w->request = request;
        request->user = w;
        request->on_gone = on_gone;
        if (undo_start(&api->undos, api->loop, &wish, on_undone, w, &err) == 0)
            return;
        request->on_gone = NULL;
    }
    free(w);
    api_refuse(request, "undo", &err);
}

static void undo(struct request *request)
{
    begin(request, json_is_true(json_object_get(request->json, "dry_run")));
}

static void show(struct request *request)
{
    begin(request, true);
}

static void list(struct request *request)
{
    struct error err = {0};
    json_t *runs = NULL;

    if (!may_use_grants(request, &err))
        api_refuse(request, "undo", &err);
    else if (undo_store_list(request->caller->keeper, &runs, &err) < 0)
        request_answer_error(request, &err);
    else
        api_answer_masked(request, 200, json_pack("{s:o}", "runs", runs));
}

/* clang-format off */
const struct route api_undo_routes[] = {
    {"GET", "/v1/undo", list, .answers = "Undoable", .status = 200, .tag = "runs",
     .summary = "runs whose changes in directories granted with `:rw` can be undone, newest first"},
    {"GET", "/v1/runs/{run}/changes", show, .answers = "Undo", .status = 200, .tag = "runs",
     .summary = "what an undo of the run would do"},
    {"POST", "/v1/runs/{run}/undo", undo, .body = undo_fields, .max_body = KIB, .answers = "Undo", .status = 200,
     .tag = "runs", .summary = "undo what the run changed in directories granted with `:rw`"},
    {0},
};
/* clang-format on */
