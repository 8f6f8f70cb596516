/* Copy-on-write directories of a session: what has changed, and what becomes of it. */
#include <stdlib.h>

#include "api/api.h"
#include "api/changes.h"
#include "base/cleanup.h"

static const struct schema_field show_fields[] = {
    {"path", SCHEMA_STRING, .max_len = 4096, .help = "only changes at or below this path"},
    {"diff", SCHEMA_BOOLEAN, .help = "with the lines that changed, as unified diffs"},
    {0},
};

/* clang-format off */
#define PATHS_FIELD                                                                                \
    {"paths", SCHEMA_STRINGS, .max_len = 100,                                                      \
     .help = "only changes at or below this path, as in the list of changes (default: all)"}, \
    {"version", SCHEMA_STRING, .max_len = 64,                                                      \
     .help = "version of the list you looked at; refused if the changes differ now"}

static const struct schema_field apply_fields[] = {
    PATHS_FIELD,
    {"force", SCHEMA_BOOLEAN, .help = "also overwrite files that changed on the disk"},
    {"accept_hidden", SCHEMA_INTEGER, .min = 0, .max = 1e15,
     .help = "`hidden_bytes` of these changes: apply them although so much of them was not shown"},
    {0},
};

static const struct schema_field discard_fields[] = {
    PATHS_FIELD,
    {0},
};
/* clang-format on */

static void on_settled(void *user, json_t *answer, struct error *err)
{
    struct api_waiting *w = user;

    if (w->request && answer)
        request_answer_json(w->request, 200, json_incref(answer));
    else if (w->request)
        request_answer_error(w->request, err);
    free(w);
}

static void begin(struct request *request, const struct changes_wish *wish)
{
    struct api *api = request->api;
    struct error err = {0};
    struct api_waiting *w = api_wait(request, &err);

    /* Of somebody whose token has lost the right since the session was opened. */
    if (w && !request->caller->rights.has_grants)
        error_set(&err, E_DENIED, "this token may not use directories of the host");
    else if (w &&
             changes_start(&api->changes, api->loop, w->session, wish, on_settled, w, &err) == 0)
        return;
    api_wait_end(w);
    api_refuse(request, "changes", &err);
}

static void show(struct request *request)
{
    const json_t *path = json_object_get(request->query, "path");
    json_t *paths = path ? json_pack("[O]", path) : NULL;

    begin(request, &(struct changes_wish){
                       .action = CHANGES_SHOW,
                       .paths = paths,
                       .has_diffs = json_is_true(json_object_get(request->query, "diff")),
                   });
    json_decref(paths);
}

static void settle(struct request *request, enum changes_action action)
{
    const json_t *body = request->json;

    begin(request,
          &(struct changes_wish){
              .action = action,
              .paths = json_object_get(body, "paths"),
              .version = json_string_value(json_object_get(body, "version")),
              .is_forced = json_is_true(json_object_get(body, "force")),
              .accept_hidden = (uint64_t)json_integer_value(json_object_get(body, "accept_hidden")),
          });
}

static void apply(struct request *request)
{
    settle(request, CHANGES_APPLY);
}

static void discard(struct request *request)
{
    settle(request, CHANGES_DISCARD);
}

/* clang-format off */
const struct route api_changes_routes[] = {
    {"GET", "/v1/sessions/{session}/changes", show, .query = show_fields, .answers = "Changes", .status = 200,
     .tag = "sessions", .summary = "changes in copy-on-write directories that are not on the disk yet"},
    {"POST", "/v1/sessions/{session}/apply", apply, .body = apply_fields, .max_body = MIB,
     .answers = "Settled", .status = 200, .tag = "sessions", .summary = "write the changes to the disk, each file as a whole"},
    {"POST", "/v1/sessions/{session}/discard", discard, .body = discard_fields, .max_body = MIB,
     .answers = "Settled", .status = 200, .tag = "sessions", .summary = "show the session the directories as they are on the disk again"},
    {0},
};
/* clang-format on */
