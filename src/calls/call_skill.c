/* Calls about skills: of the run's owner, and of nobody else.
 *
 * A skill is code that later programs import, with a description that models read. One of a new
 * name is saved at once. To replace or delete one that is there, its owner is asked, as for calls
 * of tools that change something; where nobody can be asked it is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "calls/approval.h"
#include "calls/call_stored.h"
#include "calls/outside.h"
#include "store/skill.h"

/* Time to answer a question. */
#define APPROVAL_S 300

static void skill_list_all(struct call *call)
{
    call_stored_answer(call, stored_skill_list);
}

static void skill_load_one(struct call *call)
{
    call_stored_answer(call, stored_skill_load);
}

/* --- questions --- */

struct asking {
    struct call *call;
    struct approval *approval;
    json_t *old; /* as it was when the question was asked */
    stored_fn then;
};

/* Call it before the call is answered: then nothing of it is left. */
static void end_asking(struct asking *asking)
{
    if (asking->approval) {
        call_asked(asking->call, asking->approval);
        approval_free(asking->approval);
    }
    asking->call->on_cancel = NULL;
    json_decref(asking->old);
    free(asking);
}

static void on_cancel(struct call *call)
{
    end_asking(call->user);
}

static const char *name_of(const struct call *call)
{
    const char *name = json_string_value(json_object_get(call->arguments, "name"));

    return name ? name : json_string_value(json_object_get(call->arguments, "skill_name"));
}

/* NULL, without an error: the owner has none of that name. Of everybody's nothing can be changed in
 * any case. */
static json_t *find_own(const struct call *call, struct error *err)
{
    const struct stored stored = call_stored(call);
    json_t *skill = NULL;
    const char *kind;

    if (stored_check(&stored, err) < 0)
        return NULL;
    if (skill_load(stored.store, stored.owner, name_of(call), 0, &skill, err) < 0) {
        if (err->code == E_NOT_FOUND || err->code == E_INVALID)
            error_done(err); /* a name that cannot be is refused when it is saved */
        return NULL;
    }
    kind = json_string_value(json_object_get(skill, "kind"));
    if (kind && strcmp(kind, "user") == 0)
        return skill;
    json_decref(skill);
    return NULL;
}

static json_int_t version_of(const json_t *skill)
{
    return json_integer_value(json_object_get(skill, "version"));
}

/* Whether it is still the one that the question was about. */
static bool is_unchanged(const struct asking *asking)
{
    struct error err = {0};
    json_t *now = find_own(asking->call, &err);
    bool result = now && version_of(now) == version_of(asking->old);

    error_done(&err);
    json_decref(now);
    return result;
}

static void on_decided(void *user, enum approval_answer said)
{
    struct asking *asking = user;
    struct call *call = asking->call;
    struct error err = {0};
    stored_fn then = asking->then;
    bool is_same = said == APPROVAL_YES && is_unchanged(asking);

    call_note_answer(call, asking->approval, said);
    end_asking(asking);
    if (is_same) {
        call_stored_answer(call, then);
        return;
    }
    if (said == APPROVAL_YES) {
        error_set(&err, E_BUSY, "the skill `%s` has changed since the question", name_of(call));
        error_hint(&err, "review it again");
    } else {
        error_set(&err, E_DENIED,
                  said == APPROVAL_NO ? "the change of the skill `%s` was not approved"
                                      : "nobody approved the change of the skill `%s` in time",
                  name_of(call));
        error_hint(&err, "save it under another name");
    }
    call_fail(call, &err);
}

/* The question: the code that the program sent, and what it would replace. */
static json_t *question_of(const struct call *call, const json_t *old)
{
    json_t *question = json_copy(call->arguments);

    (void)json_object_set_new(question, "replaces",
                              json_pack("{s:I, s:O?}", "version", version_of(old), "description",
                                        json_object_get(old, "description")));
    return question;
}

/* Takes over `old`. */
static void ask(struct call *call, json_t *old, stored_fn then)
{
    struct asking *asking = calloc(1, sizeof(*asking));
    json_t *question = question_of(call, old);
    struct error err = {0};
    char what[STORE_NAME_MAX + 64];

    (void)snprintf(what, sizeof(what), "changing the existing skill `%.*s`", STORE_NAME_MAX,
                   name_of(call));
    if (!asking || !question) {
        error_memory(&err);
    } else if (!call_cannot_ask(call, what,
                                "save it under another name, or have the owner save it: "
                                "`belljar skills add`, or the tool save_reusable_skill",
                                &err)) {
        *asking = (struct asking){.call = call, .old = json_incref(old), .then = then};
        call->user = asking;
        call->on_cancel = on_cancel;
        asking->approval =
            approval_new(&call_outside(call)->approvals, call_loop(call), call->run, call->name,
                         question, call->digest, APPROVAL_S, on_decided, asking, &err);
    }
    json_decref(question);
    json_decref(old);
    if (asking && asking->approval) {
        call_ask(call, asking->approval);
        return;
    }
    if (asking && asking->call)
        end_asking(asking);
    else
        free(asking);
    call_fail(call, &err);
}

static void change(struct call *call, stored_fn then)
{
    struct error err = {0};
    json_t *old = find_own(call, &err);

    if (err.code != E_NONE)
        call_fail(call, &err);
    else if (old)
        ask(call, old, then);
    else
        call_stored_answer(call, then);
}

static void skill_save_one(struct call *call)
{
    change(call, stored_skill_save);
}

/* Else a program would delete it first, and save another one of the same name. */
static void skill_delete_one(struct call *call)
{
    change(call, stored_skill_delete);
}

/* clang-format off */
static const struct call_field no_fields[] = {{0}};

static const struct call_field skill_fields[] = {
    {"name", CALL_TEXT, true, STORE_NAME_MAX},
    {"code", CALL_TEXT, true, LIMIT_SKILL_BYTES},
    {"description", CALL_TEXT, false, CALL_DESCRIPTION_MAX},
    {0},
};

static const struct call_field load_skill_fields[] = {
    {"skill_name", CALL_TEXT, true, STORE_NAME_MAX},
    {"version", CALL_NUMBER},
    {0},
};

static const struct call_field skill_name_fields[] = {
    {"skill_name", CALL_TEXT, true, STORE_NAME_MAX},
    {0},
};

const struct call_row call_skill_rows[] = {
    {"skills.save", RUN_REACH_SKILLS, skill_fields, skill_save_one},
    {"skills.list", RUN_REACH_SKILLS, no_fields, skill_list_all},
    {"skills.load", RUN_REACH_SKILLS, load_skill_fields, skill_load_one},
    {"skills.delete", RUN_REACH_SKILLS, skill_name_fields, skill_delete_one},
    {0},
};
/* clang-format on */
