#include "calls/stored.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "store/saved_state.h"
#include "store/skill.h"

/* The docstring is escaped, character by character. */
#define SKILL_TEXT_MAX (LIMIT_SKILL_BYTES + 16 * KIB)

static const char *text_of(const json_t *arguments, const char *name)
{
    return json_string_value(json_object_get(arguments, name));
}

static int64_t version_of(const json_t *arguments, int64_t none)
{
    const json_t *version = json_object_get(arguments, "version");

    return json_is_integer(version) ? (int64_t)json_integer_value(version) : none;
}

static int give(json_t *value, json_t **ret_value, struct error *err)
{
    if (!value)
        return error_memory(err);
    *ret_value = value;
    return 0;
}

int stored_check(const struct stored *stored, struct error *err)
{
    if (stored->store)
        return 0;
    error_set(err, E_UNSUPPORTED, "there is no directory for stored data");
    return error_hint(err, "start Belljar with HOME or XDG_STATE_HOME set");
}

/* --- at work --- */

/* Changes, and the argument that names the item. The others read. */
static const struct {
    stored_fn fn;
    enum replica_kind kind;
    const char *name;
} changes[] = {
    {stored_state_create, REPLICA_STATE, "session_name"},
    {stored_state_save, REPLICA_STATE, "session_id"},
    {stored_state_delete, REPLICA_STATE, "session_id"},
    {stored_skill_save, REPLICA_SKILL, "name"},
    {stored_skill_delete, REPLICA_SKILL, "skill_name"},
};

static int make(struct replica_wait *wait, struct error *err)
{
    struct stored_work *work = (struct stored_work *)wait;

    json_decref(work->value);
    work->value = NULL;
    if (work->check && work->check(work, err) < 0)
        return -1;
    return work->fn(&work->stored, work->arguments, &work->value, err);
}

static void on_changed(struct replica_wait *wait, struct error *err)
{
    struct stored_work *work = (struct stored_work *)wait;

    work->done(work, err);
}

static void on_read(struct replica_wait *wait, struct error *err)
{
    (void)make(wait, err);
    on_changed(wait, err);
}

struct stored_work *stored_work_new(const struct stored *stored, stored_fn fn,
                                    const json_t *arguments,
                                    void (*done)(struct stored_work *work, struct error *err),
                                    void *user)
{
    struct stored_work *work = calloc(1, sizeof(*work));

    if (work)
        *work = (struct stored_work){
            .stored = *stored, .fn = fn, .arguments = arguments, .done = done, .user = user};
    return work;
}

void stored_work_begin(struct stored_work *work)
{
    struct replica_wait *wait = &work->wait;
    struct error err = {0};
    const char *name;

    wait->make = make;
    wait->done = on_read;
    if (stored_check(&work->stored, &err) < 0) {
        work->done(work, &err);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        if (changes[i].fn != work->fn)
            continue;
        wait->done = on_changed;
        wait->kind = changes[i].kind;
        name = json_get_text(work->arguments, changes[i].name);
        /* The function refuses what is not a name. */
        if (wait->kind != REPLICA_SKILL || skill_key(name, wait->name, NULL) < 0)
            (void)snprintf(wait->name, sizeof(wait->name), "%s", name);
        replica_change(work->stored.store, work->stored.owner, wait);
        return;
    }
    replica_read(work->stored.store, work->stored.owner, wait);
}

void stored_work_free(struct stored_work *work)
{
    replica_forget(&work->wait);
    json_decref(work->value);
    free(work);
}

/* --- refactoring sessions --- */

int stored_state_create(const struct stored *stored, const json_t *arguments, json_t **ret_value,
                        struct error *err)
{
    const char *name = text_of(arguments, "session_name");
    bool is_new = false;

    if (stored_check(stored, err) < 0 ||
        saved_state_create(stored->store, stored->owner, name, text_of(arguments, "description"),
                           &is_new, err) < 0)
        return -1;
    return give(json_pack("{s:s, s:s, s:s, s:s+, s:s}", "status", "success", "id", name,
                          "session_id", name, "path", "state/", name, "message",
                          is_new ? "created; save_session_state saves its state"
                                 : "it already exists, unchanged; load_session_state returns it"),
                ret_value, err);
}

int stored_state_save(const struct stored *stored, const json_t *arguments, json_t **ret_value,
                      struct error *err)
{
    const char *name = text_of(arguments, "session_id");
    cleanup(buf_done) struct buf text = {0};
    int64_t version = 0;

    buf_init(&text,
             8 * LIMIT_STATE_BYTES); /* how much is too much is for saved_state_save() to say */
    if (stored_check(stored, err) < 0 ||
        json_text_dump(json_object_get(arguments, "state"), JSON_TEXT_COMPACT, &text, err) < 0 ||
        saved_state_save(stored->store, stored->owner, name,
                         (struct span){buf_str(&text), text.len}, version_of(arguments, -1),
                         &version, err) < 0)
        return -1;
    return give(json_pack("{s:s, s:s, s:I}", "status", "success", "session_id", name, "version",
                          (json_int_t)version),
                ret_value, err);
}

int stored_state_load(const struct stored *stored, const json_t *arguments, json_t **ret_value,
                      struct error *err)
{
    const char *name = text_of(arguments, "session_id");
    json_t *work = NULL;

    if (stored_check(stored, err) < 0 || saved_state_load(stored->store, stored->owner, name,
                                                          version_of(arguments, 0), &work, err) < 0)
        return -1;
    (void)json_object_set_new(work, "status", json_string("success"));
    (void)json_object_set_new(work, "session_id", json_string(name));
    *ret_value = work;
    return 0;
}

int stored_state_list(const struct stored *stored, const json_t *arguments, json_t **ret_value,
                      struct error *err)
{
    json_t *list = NULL;

    (void)arguments;
    if (stored_check(stored, err) < 0 ||
        saved_state_list(stored->store, stored->owner, &list, err) < 0)
        return -1;
    return give(json_pack("{s:s, s:o}", "status", "success", "sessions", list), ret_value, err);
}

int stored_state_delete(const struct stored *stored, const json_t *arguments, json_t **ret_value,
                        struct error *err)
{
    const char *name = text_of(arguments, "session_id");

    if (stored_check(stored, err) < 0 ||
        saved_state_delete(stored->store, stored->owner, name, err) < 0)
        return -1;
    return give(json_pack("{s:s, s:s}", "status", "success", "session_id", name), ret_value, err);
}

/* --- skills --- */

int stored_skill_save(const struct stored *stored, const json_t *arguments, json_t **ret_value,
                      struct error *err)
{
    const char *name = text_of(arguments, "name"), *description = text_of(arguments, "description");
    const json_t *code = json_object_get(arguments, "code");
    cleanup(buf_done) struct buf text = BUF_OF(SKILL_TEXT_MAX);
    int64_t version = 0;

    if (stored_check(stored, err) < 0 ||
        skill_compose((struct span){json_string_value(code), json_string_length(code)}, description,
                      &text, err) < 0 ||
        skill_save(stored->store, stored->owner, name, (struct span){buf_str(&text), text.len},
                   description, &version, err) < 0)
        return -1;
    return give(json_pack("{s:s, s:s, s:I, s:s++, s:s++}", "status", "success", "skill_name", name,
                          "version", (json_int_t)version, "path", "skills/", name, ".py", "message",
                          "from skills.", name, " import *"),
                ret_value, err);
}

int stored_skill_list(const struct stored *stored, const json_t *arguments, json_t **ret_value,
                      struct error *err)
{
    json_t *list = NULL;

    (void)arguments;
    if (stored_check(stored, err) < 0 || skill_list(stored->store, stored->owner, &list, err) < 0)
        return -1;
    return give(json_pack("{s:s, s:o}", "status", "success", "skills", list), ret_value, err);
}

int stored_skill_load(const struct stored *stored, const json_t *arguments, json_t **ret_value,
                      struct error *err)
{
    json_t *skill = NULL;

    if (stored_check(stored, err) < 0 ||
        skill_load(stored->store, stored->owner, text_of(arguments, "skill_name"),
                   version_of(arguments, 0), &skill, err) < 0)
        return -1;
    (void)json_object_set_new(skill, "status", json_string("success"));
    *ret_value = skill;
    return 0;
}

int stored_skill_delete(const struct stored *stored, const json_t *arguments, json_t **ret_value,
                        struct error *err)
{
    const char *name = text_of(arguments, "skill_name");

    if (stored_check(stored, err) < 0 || skill_delete(stored->store, stored->owner, name, err) < 0)
        return -1;
    return give(json_pack("{s:s, s:s}", "status", "success", "skill_name", name), ret_value, err);
}
