/* Calls about refactoring sessions: of the run's owner, and of nobody else. Skills are in
 * call_skill.c. */
#include "calls/call_stored.h"
#include "base/cleanup.h"

struct stored call_stored(const struct call *call)
{
    return (struct stored){call->run->origin.store, call->run->origin.keeper};
}

static void on_done(struct stored_work *work, struct error *err)
{
    struct call *call = work->user;
    json_t *value = take_ptr(work->value);

    call->on_cancel = NULL;
    stored_work_free(work);
    if (err->code != E_NONE)
        call_fail(call, err);
    else
        call_answer(call, value);
}

/* A change that is under way may happen. */
static void on_cancel(struct call *call)
{
    stored_work_free(call->user);
}

struct stored_work *call_stored_work(struct call *call, stored_fn fn)
{
    const struct stored stored = call_stored(call);
    struct stored_work *work = stored_work_new(&stored, fn, call->arguments, on_done, call);
    struct error err = {0};

    if (!work) {
        error_memory(&err);
        call_fail(call, &err);
        return NULL;
    }
    call->user = work;
    call->on_cancel = on_cancel;
    return work;
}

void call_stored_answer(struct call *call, stored_fn fn)
{
    struct stored_work *work = call_stored_work(call, fn);

    if (work)
        stored_work_begin(work);
}

#define HANDLER(name)                                                                              \
    static void name(struct call *call)                                                            \
    {                                                                                              \
        call_stored_answer(call, stored_##name);                                                   \
    }

HANDLER(state_create)
HANDLER(state_save)
HANDLER(state_load)
HANDLER(state_list)
HANDLER(state_delete)

/* clang-format off */
static const struct call_field no_fields[] = {{0}};

static const struct call_field create_fields[] = {
    {"session_name", CALL_TEXT, true, STORE_NAME_MAX},
    {"description", CALL_TEXT, false, CALL_DESCRIPTION_MAX},
    {0},
};

static const struct call_field save_fields[] = {
    {"session_id", CALL_TEXT, true, STORE_NAME_MAX},
    {"state", CALL_OBJECT, true},
    {"version", CALL_NUMBER},
    {0},
};

static const struct call_field load_fields[] = {
    {"session_id", CALL_TEXT, true, STORE_NAME_MAX},
    {"version", CALL_NUMBER},
    {0},
};

static const struct call_field session_fields[] = {
    {"session_id", CALL_TEXT, true, STORE_NAME_MAX},
    {0},
};

const struct call_row call_state_rows[] = {
    {"state.create", RUN_REACH_STATE, create_fields, state_create},
    {"state.save", RUN_REACH_STATE, save_fields, state_save},
    {"state.load", RUN_REACH_STATE, load_fields, state_load},
    {"state.list", RUN_REACH_STATE, no_fields, state_list},
    {"state.delete", RUN_REACH_STATE, session_fields, state_delete},
    {0},
};
/* clang-format on */
