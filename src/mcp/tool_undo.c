/* undo_run: takes back what a run changed in directories granted for writing. Answers do not name
 * their runs, so without a name it is the last one of the session that is not undone. */
#include <stdlib.h>
#include <string.h>

#include "api/undo.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/tools.h"
#include "undo/store.h"

/* A model reads that much; the counts say how much more there is. */
#define LISTED_MAX 50

struct undoing {
    struct mcp_call *call; /* NULL: it was cancelled */
};

static void on_cancel(struct mcp_call *call)
{
    struct undoing *undoing = call->user;

    undoing->call = NULL;
}

static void cut(json_t *list)
{
    while (json_array_size(list) > LISTED_MAX)
        (void)json_array_remove(list, json_array_size(list) - 1);
}

static void on_undone(void *user, json_t *answer, struct error *err)
{
    struct undoing *undoing = user;
    struct mcp_call *call = undoing->call;

    free(undoing);
    if (!call)
        return;
    if (!answer) {
        mcp_call_fail(call, err);
        return;
    }
    cut(json_object_get(answer, "done"));
    cut(json_object_get(answer, "conflicts"));
    mcp_answer_object(call, json_incref(answer));
}

static bool is_candidate(const json_t *run, const char *session)
{
    const char *of = json_string_value(json_object_get(run, "session"));

    return of && strcmp(of, session) == 0 && json_is_null(json_object_get(run, "undoes")) &&
           !json_is_true(json_object_get(run, "undone")) &&
           !json_is_true(json_object_get(run, "removed_for_space"));
}

/* Its id, in `runs`; NULL where `err` says why. */
static const char *last_run(struct mcp_call *call, json_t **ret_runs, struct error *err)
{
    struct session *session = NULL;
    struct session_info info;
    const char *note;
    const json_t *run;
    size_t i;

    if (mcp_session_pick(call, false, &session, &note, err) < 0)
        return NULL;
    if (session) {
        session_info(session, &info);
        if (undo_store_list(mcp_store_owner(call), ret_runs, err) < 0)
            return NULL;
        json_array_foreach(
            *ret_runs, i,
            run) if (is_candidate(run, info.id)) return json_string_value(json_object_get(run,
                                                                                          "run"));
    }
    error_set(err, E_NOT_FOUND, "this session has changed nothing that can be undone");
    return NULL;
}

static void undo(struct mcp_call *call)
{
    const struct mcp_host *host = mcp_host_of(call);
    const char *named = json_string_value(json_object_get(call->arguments, "run_id"));
    cleanup_json json_t *runs = NULL;
    struct error err = {0};
    const char *run = named ? named : last_run(call, &runs, &err);
    const struct undo_wish wish = {
        .run = run ? run : "",
        .keeper = mcp_store_owner(call),
        .who = call->caller ? call->caller->name : NULL,
        .is_dry = json_is_true(json_object_get(call->arguments, "dry_run")),
        .config = host->api->config,
        .recorder = host->api->recorder,
        .is_checked = true,
        .granted = host->is_pipe ? host->granted : NULL,
    };
    struct undoing *undoing = run ? calloc(1, sizeof(*undoing)) : NULL;

    /* The one client of a pipe has what the command line grants. */
    if (undoing && !host->is_pipe && (!call->caller || !call->caller->rights.has_grants)) {
        error_set(&err, E_DENIED, "this token may not use directories of the host");
    } else if (undoing) {
        undoing->call = call;
        call->user = undoing;
        call->on_cancel = on_cancel;
        if (undo_start(&host->api->undos, host->api->loop, &wish, on_undone, undoing, &err) == 0)
            return;
    }
    if (err.code == E_NONE)
        error_memory(&err);
    free(undoing);
    call->on_cancel = NULL;
    mcp_call_fail(call, &err);
}

/* clang-format off */
static const struct schema_field undo_fields[] = {
    {"run_id", SCHEMA_STRING, .max_len = 64, .example = "\"run_…\"", .help = "default: the last that changed something"},
    {"dry_run", SCHEMA_BOOLEAN, .help = "only report"},
    {"session_id", SCHEMA_STRING, .max_len = 64, .example = "\"ses_…\"", .help = "a session"},
    {0},
};

const struct mcp_tool mcp_tool_undo = {
    .name = "undo_run",
    .title = "Undo a run",
    .description = "Take back what a run changed in writable directories.",
    .input = undo_fields,
    .hints = MCP_DESTRUCTIVE,
    .call = undo,
};
/* clang-format on */
