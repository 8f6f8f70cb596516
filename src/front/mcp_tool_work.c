/* Refactoring sessions: work that goes on over several runs, and survives all of them. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "front/mcp_tools.h"
#include "gate/tokens.h"
#include "state/work.h"

/* What one answer may have: a state in escapes, twice over. */
#define ANSWER_MAX (16 * MIB)

/* --- shared with the other tools of this kind --- */

struct store *mcp_kept(const struct mcp_call *call, struct error *err)
{
    struct store *store = mcp_host_of(call)->api->kept;

    if (!store) {
        error_set(err, E_UNSUPPORTED, "there is no place to keep anything");
        error_hint(err, "start Belljar with HOME or XDG_STATE_HOME set");
    }
    return store;
}

const char *mcp_kept_owner(const struct mcp_call *call)
{
    return mcp_host_of(call)->is_pipe ? TOKEN_FIRST : call->owner;
}

/* What was kept was a stranger's text, and is masked as a whole: a name beside a value says what
 * that is. Where a label breaks the JSON there is the text alone. */
static json_t *masked_result(struct mcp_call *call, const char *text, size_t len, bool is_error)
{
    static const struct json_text_limits limits = {
        .bytes = ANSWER_MAX, .depth = 200, .allows_nul = true};
    json_t *result = mcp_text_result(text, len, is_error), *object = NULL;

    if (mcp_result_has_links(call) && json_text_load(text, len, &limits, &object, NULL) == 0)
        (void)json_object_set_new(result, "structuredContent", object);
    return result;
}

json_t *mcp_object_result(struct mcp_call *call, json_t *object, bool is_error)
{
    cleanup(buf_done) struct buf text = {0};
    cleanup_free char *masked = NULL;
    size_t len = 0;

    buf_init(&text, ANSWER_MAX);
    if (json_text_dump(object, JSON_TEXT_COMPACT, &text, NULL) == 0)
        masked = mcp_mask(mcp_host_of(call), buf_str(&text), text.len, &len);
    json_decref(object);
    return masked ? masked_result(call, masked, len, is_error) : NULL;
}

static void answer(struct mcp_call *call, json_t *object, bool is_error)
{
    json_t *result = mcp_object_result(call, object, is_error);
    struct error err = {0};

    if (result) {
        mcp_call_answer(call, result);
        return;
    }
    error_set(&err, E_SYSTEM, "the answer could not be masked");
    mcp_call_fail(call, &err);
}

void mcp_answer_object(struct mcp_call *call, json_t *object)
{
    answer(call, object, false);
}

void mcp_answer_error(struct mcp_call *call, struct error *err)
{
    json_t *object =
        json_pack("{s:s, s:s, s:s}", "status", "error", "code", error_code_name(err->code), "error",
                  err->message ? err->message : "out of memory");

    if (err->hint)
        (void)json_object_set_new(object, "hint", json_string(err->hint));
    error_done(err);
    answer(call, object, true);
}

/* --- the tools --- */

static const char *argument(const struct mcp_call *call, const char *name)
{
    return json_string_value(json_object_get(call->arguments, name));
}

static int64_t version_of(const struct mcp_call *call, int64_t none)
{
    const json_t *version = json_object_get(call->arguments, "version");

    return version ? (int64_t)json_integer_value(version) : none;
}

static void create_work(struct mcp_call *call)
{
    const char *name = argument(call, "session_name");
    struct error err = {0};
    struct store *store = mcp_kept(call, &err);
    bool is_new = false;

    if (!store || work_create(store, mcp_kept_owner(call), name, argument(call, "description"),
                              &is_new, &err) < 0) {
        mcp_answer_error(call, &err);
        return;
    }
    mcp_answer_object(
        call, json_pack("{s:s, s:s, s:s+, s:s}", "status", "success", "session_id", name, "path",
                        "state/", name, "message",
                        is_new ? "created; save_session_state keeps its state"
                               : "it was there already, and stays; load_session_state has it"));
}

static void save_work(struct mcp_call *call)
{
    const char *name = argument(call, "session_id");
    cleanup(buf_done) struct buf text = {0};
    struct error err = {0};
    struct store *store = mcp_kept(call, &err);
    int64_t version = 0;

    buf_init(&text, ANSWER_MAX);
    if (!store ||
        json_text_dump(json_object_get(call->arguments, "state"), JSON_TEXT_COMPACT, &text, &err) <
            0 ||
        work_save(store, mcp_kept_owner(call), name, (struct span){buf_str(&text), text.len},
                  version_of(call, -1), &version, &err) < 0) {
        mcp_answer_error(call, &err);
        return;
    }
    mcp_answer_object(call, json_pack("{s:s, s:s, s:I}", "status", "success", "session_id", name,
                                      "version", (json_int_t)version));
}

static void load_work(struct mcp_call *call)
{
    const char *name = argument(call, "session_id");
    struct error err = {0};
    struct store *store = mcp_kept(call, &err);
    json_t *work = NULL;

    if (!store ||
        work_load(store, mcp_kept_owner(call), name, version_of(call, 0), &work, &err) < 0) {
        mcp_answer_error(call, &err);
        return;
    }
    (void)json_object_set_new(work, "status", json_string("success"));
    (void)json_object_set_new(work, "session_id", json_string(name));
    mcp_answer_object(call, work);
}

static void list_work(struct mcp_call *call)
{
    struct error err = {0};
    struct store *store = mcp_kept(call, &err);
    json_t *list = NULL;

    if (!store || work_list(store, mcp_kept_owner(call), &list, &err) < 0)
        mcp_answer_error(call, &err);
    else
        mcp_answer_object(call, json_pack("{s:s, s:o}", "status", "success", "sessions", list));
}

static void delete_work(struct mcp_call *call)
{
    const char *name = argument(call, "session_id");
    struct error err = {0};
    struct store *store = mcp_kept(call, &err);

    if (!store || work_delete(store, mcp_kept_owner(call), name, &err) < 0)
        mcp_answer_error(call, &err);
    else
        mcp_answer_object(call, json_pack("{s:s, s:s}", "status", "success", "session_id", name));
}

/* clang-format off */
#define NAME_FIELD                                                                                 \
    {"session_id", SCHEMA_STRING, .is_required = true, .max_len = STORE_NAME_MAX,                  \
     .example = "\"rename-api\"", .help = "its name"}

static const struct schema_field create_fields[] = {
    {"session_name", SCHEMA_STRING, .is_required = true, .max_len = STORE_NAME_MAX,
     .example = "\"rename-api\"", .help = "letters, digits, _ - and ."},
    {"description", SCHEMA_STRING, .max_len = 4096, .example = "\"rename the API\"",
     .help = "what it is about"},
    {0},
};

static const struct schema_field save_fields[] = {
    NAME_FIELD,
    {"state", SCHEMA_OBJECT, .is_required = true, .example = "{\"done\": [\"a.py\"]}",
     .help = "all that the next step needs, up to 1 MiB"},
    {"version", SCHEMA_INTEGER, .min = 0, .max = 1e15, .example = "3",
     .help = "the version it was made from: refused if there is a newer one"},
    {0},
};

static const struct schema_field load_fields[] = {
    NAME_FIELD,
    {"version", SCHEMA_INTEGER, .min = 1, .max = 1e15, .example = "3",
     .help = "an earlier one; without it, the last"},
    {0},
};

static const struct schema_field name_fields[] = {
    NAME_FIELD,
    {0},
};

static const struct schema_field no_fields[] = {
    {0},
};

const struct mcp_tool mcp_tool_work_create = {
    .name = "create_refactoring_session",
    .title = "Begin resumable work",
    .description = "Begin work whose state is kept, by its name, until it is deleted.",
    .input = create_fields,
    .hints = MCP_IDEMPOTENT,
    .call = create_work,
};

const struct mcp_tool mcp_tool_work_save = {
    .name = "save_session_state",
    .title = "Save state",
    .description = "Save the state of a refactoring session; earlier ones stay as its history.",
    .input = save_fields,
    .call = save_work,
};

const struct mcp_tool mcp_tool_work_load = {
    .name = "load_session_state",
    .title = "Load state",
    .description = "The saved state of a refactoring session, and its history.",
    .input = load_fields,
    .hints = MCP_READ_ONLY,
    .call = load_work,
};

const struct mcp_tool mcp_tool_work_list = {
    .name = "list_sessions",
    .title = "Refactoring sessions",
    .description = "The refactoring sessions there are.",
    .input = no_fields,
    .hints = MCP_READ_ONLY,
    .call = list_work,
};

const struct mcp_tool mcp_tool_work_delete = {
    .name = "delete_session",
    .title = "Delete resumable work",
    .description = "Delete a refactoring session with its history.",
    .input = name_fields,
    .hints = MCP_DESTRUCTIVE,
    .call = delete_work,
};
/* clang-format on */
