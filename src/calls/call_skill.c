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

/* NULL, without an error: the owner has no skill of that name. Nobody changes a public one in any
 * case. */
static json_t *find_own(const struct stored *stored, const char *name, struct error *err)
{
    json_t *skill = NULL;
    const char *kind;

    if (stored_check(stored, err) < 0)
        return NULL;
    if (skill_load(stored->store, stored->owner, name, 0, &skill, err) < 0) {
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

/* --- the change --- */

/* Whether it is still the one that the question was about, or is still missing: also if another
 * machine has changed it meanwhile. */
static int check_unchanged(const struct stored_work *work, struct error *err)
{
    const struct call *call = work->user;
    json_t *now = find_own(&work->stored, name_of(call), err);
    bool is_same = version_of(now) == work->seen;

    json_decref(now);
    if (err->code != E_NONE)
        return -1;
    if (is_same)
        return 0;
    error_set(err, E_BUSY,
              work->seen ? "the skill `%s` has changed since the question"
                         : "another program has saved the skill `%s` meanwhile",
              name_of(call));
    return error_hint(err, work->seen ? "review it again" : "save it again: its owner is asked");
}

/* `seen`: its version, or 0. */
static void begin_change(struct call *call, stored_fn then, int64_t seen)
{
    struct stored_work *work = call_stored_work(call, then);

    if (!work)
        return;
    work->check = check_unchanged;
    work->seen = seen;
    stored_work_begin(work);
}

static void on_decided(void *user, enum approval_answer said)
{
    struct asking *asking = user;
    struct call *call = asking->call;
    struct error err = {0};
    stored_fn then = asking->then;
    int64_t seen = version_of(asking->old);

    call_note_answer(call, asking->approval, said);
    end_asking(asking);
    if (said == APPROVAL_YES) {
        begin_change(call, then, seen);
        return;
    }
    error_set(&err, E_DENIED,
              said == APPROVAL_NO ? "the change of the skill `%s` was not approved"
                                  : "nobody approved the change of the skill `%s` in time",
              name_of(call));
    error_hint(&err, "save it under another name");
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

/* The store is brought up to date first: a skill of another machine is there, too. */
struct looking {
    struct replica_wait wait; /* first: it is how the looking is found again */
    struct call *call;
    stored_fn then;
};

static void on_looked(struct replica_wait *wait, struct error *err)
{
    struct looking *looking = (struct looking *)wait;
    struct call *call = looking->call;
    const struct stored stored = call_stored(call);
    stored_fn then = looking->then;
    json_t *old = find_own(&stored, name_of(call), err);

    call->on_cancel = NULL;
    free(looking);
    if (err->code != E_NONE)
        call_fail(call, err);
    else if (old)
        ask(call, old, then);
    else
        begin_change(call, then, 0);
}

static void on_looking_cancel(struct call *call)
{
    struct looking *looking = call->user;

    replica_forget(&looking->wait);
    free(looking);
}

static void change(struct call *call, stored_fn then)
{
    const struct stored stored = call_stored(call);
    struct error err = {0};
    struct looking *looking = NULL;

    if (stored_check(&stored, &err) == 0) {
        looking = calloc(1, sizeof(*looking));
        if (!looking)
            error_memory(&err);
    }
    if (!looking) {
        call_fail(call, &err);
        return;
    }
    *looking = (struct looking){.wait.done = on_looked, .call = call, .then = then};
    call->user = looking;
    call->on_cancel = on_looking_cancel;
    replica_read(stored.store, stored.owner, &looking->wait);
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
