/* Calls about refactoring sessions: of the run's owner, and of nobody else. Skills are in
 * call_skill.c. */
#include "calls/call_stored.h"

struct stored call_stored(const struct call *call)
{
    return (struct stored){call->run->origin.store, call->run->origin.keeper};
}

void call_stored_answer(struct call *call, stored_fn fn)
{
    const struct stored stored = call_stored(call);
    struct error err = {0};
    json_t *value = NULL;

    if (fn(&stored, call->arguments, &value, &err) < 0)
        call_fail(call, &err);
    else
        call_answer(call, value);
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
