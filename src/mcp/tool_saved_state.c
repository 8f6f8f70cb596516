/* Refactoring sessions: work that goes on over several runs, and survives all of them. */
#include <stdlib.h>
#include <string.h>

#include "admit/tokens.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/task.h"
#include "mcp/tools.h"

/* The most bytes of an answer: a state in escapes, twice. */
#define ANSWER_MAX (16 * MIB)

/* --- shared with the other tools of this kind --- */

struct store *mcp_store(const struct mcp_call *call, struct error *err)
{
    return api_store(mcp_host_of(call)->api, err);
}

const char *mcp_store_owner(const struct mcp_call *call)
{
    return mcp_host_of(call)->is_pipe ? TOKEN_FIRST : call->caller->keeper;
}

/* Saved data is untrusted text, and is masked as a whole: a name beside a value tells its kind. If
 * a label breaks the JSON, or both would be too long, only the text is returned. */
static json_t *masked_result(struct mcp_call *call, const char *text, size_t len, bool is_error)
{
    static const struct json_text_limits limits = {
        .bytes = ANSWER_MAX, .depth = 200, .allows_nul = true};
    cleanup(buf_done) struct buf shown = BUF_OF(ANSWER_MAX);
    json_t *result, *object = NULL, *whole = NULL;

    if (json_text_load(text, len, &limits, &whole, NULL) < 0)
        return mcp_text_result(text, len, is_error);
    object = mcp_bound_object(call, whole, call->max_tokens);
    if (json_text_dump(object, JSON_TEXT_COMPACT, &shown, NULL) == 0)
        result = mcp_text_result(buf_str(&shown), shown.len, is_error);
    else
        result = mcp_text_result(text, len, is_error);
    if (mcp_result_has_links(call) &&
        (!call->max_tokens ||
         mcp_tokens(buf_str(&shown), shown.len, call->max_tokens / 2) <= call->max_tokens / 2))
        (void)json_object_set(result, "structuredContent", object);
    json_decref(object);
    json_decref(whole);
    return result;
}

json_t *mcp_object_result(struct mcp_call *call, json_t *object, bool is_error)
{
    cleanup(buf_done) struct buf text = BUF_OF(ANSWER_MAX);
    cleanup_free char *masked = NULL;
    size_t len = 0;

    if (json_text_dump(object, JSON_TEXT_COMPACT, &text, NULL) == 0)
        masked = mcp_mask(mcp_host_of(call), buf_str(&text), text.len, &len);
    json_decref(object);
    return masked ? masked_result(call, masked, len, is_error) : NULL;
}

/* A state may be a MiB of anything: it is written and masked a few milliseconds at a time. */
struct masking {
    struct mcp_call *call;
    json_t *object, *result;
    bool is_error;
    struct task task;
};

static void mask(void *arg)
{
    struct masking *m = arg;

    m->result = mcp_object_result(m->call, json_incref(m->object), m->is_error);
}

static void free_masking(struct masking *m)
{
    json_decref(m->object);
    json_decref(m->result);
    free(m);
}

static void on_masked(void *arg)
{
    struct masking *m = arg;
    struct mcp_call *call = m->call;
    struct error err = {0};

    call->on_cancel = NULL;
    if (m->result) {
        mcp_call_answer(call, json_incref(m->result));
    } else {
        error_set(&err, E_SYSTEM, "the answer could not be masked");
        mcp_call_fail(call, &err);
    }
    free_masking(m);
}

static void on_cancel(struct mcp_call *call)
{
    struct masking *m = call->user;

    (void)task_end(&m->task);
    free_masking(m);
}

static void answer(struct mcp_call *call, json_t *object, bool is_error)
{
    static const struct task_steps steps = {.work = mask, .done = on_masked};
    struct masking *m = calloc(1, sizeof(*m));
    struct error err = {0};

    if (!m) {
        json_decref(object);
        error_memory(&err);
        mcp_call_fail(call, &err);
        return;
    }
    *m = (struct masking){.call = call,
                          .object = object,
                          .is_error = is_error,
                          .task.line = call->caller ? &call->caller->line : NULL};
    call->user = m;
    call->on_cancel = on_cancel;
    task_begin(&m->task, mcp_host_of(call)->api->loop, &steps, m);
}

void mcp_answer_object(struct mcp_call *call, json_t *object)
{
    answer(call, object, false);
}

void mcp_answer_error(struct mcp_call *call, struct error *err)
{
    json_t *object = json_pack("{s:s, s:s, s:s}", "status", "error", "code",
                               error_code_name(err->code), "error", error_message(err));

    if (err->hint)
        (void)json_object_set_new(object, "hint", mcp_hint_json(call, err->hint));
    error_done(err);
    answer(call, object, true);
}

/* --- the tools --- */

static void on_stored(struct stored_work *work, struct error *err)
{
    struct mcp_call *call = work->user;
    json_t *value = take_ptr(work->value);

    call->on_cancel = NULL;
    stored_work_free(work);
    if (err->code != E_NONE)
        mcp_answer_error(call, err);
    else
        mcp_answer_object(call, value);
}

static void on_stored_cancel(struct mcp_call *call)
{
    stored_work_free(call->user);
}

void mcp_answer_stored(struct mcp_call *call, stored_fn fn)
{
    const struct stored stored = {mcp_host_of(call)->api->store, mcp_store_owner(call), UINT32_MAX};
    struct stored_work *work = stored_work_new(&stored, fn, call->arguments, on_stored, call);
    struct error err = {0};

    if (!work) {
        error_memory(&err);
        mcp_call_fail(call, &err);
        return;
    }
    call->user = work;
    call->on_cancel = on_stored_cancel;
    stored_work_begin(work);
}

static void create_work(struct mcp_call *call)
{
    mcp_answer_stored(call, stored_state_create);
}

static void save_work(struct mcp_call *call)
{
    mcp_answer_stored(call, stored_state_save);
}

static void load_work(struct mcp_call *call)
{
    mcp_answer_stored(call, stored_state_load);
}

static void list_work(struct mcp_call *call)
{
    mcp_answer_stored(call, stored_state_list);
}

static void delete_work(struct mcp_call *call)
{
    mcp_answer_stored(call, stored_state_delete);
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
     .help = "up to 1 MiB"},
    {"version", SCHEMA_INTEGER, .min = 0, .max = 1e15, .example = "3",
     .help = "the version it was made from: refused if there is a newer one"},
    {0},
};

static const struct schema_field load_fields[] = {
    NAME_FIELD,
    {"version", SCHEMA_INTEGER, .min = 1, .max = 1e15, .example = "3",
     .help = "default: the last"},
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
