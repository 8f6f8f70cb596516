/* Work that goes on over several runs: states that the caller saves by a name. */
#include "admit/quota.h"
#include "api/api.h"
#include "api/store_change.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "store/saved_state.h"

/* A state in escapes. */
#define STATE_TEXT_MAX (8 * LIMIT_STATE_BYTES)

static void list_work(struct request *request)
{
    struct error err = {0};
    struct store *store = api_store(request->api, &err);
    json_t *list = NULL;

    if (!store || saved_state_list(store, request->caller->keeper, &list, &err) < 0)
        request_answer_error(request, &err);
    else
        api_answer_masked(request, 200, json_pack("{s:o}", "states", list));
}

static const struct schema_field create_fields[] = {
    {"name", SCHEMA_STRING, .is_required = true, .max_len = STORE_NAME_MAX,
     .help = "up to 64 letters, digits, `_`, `-` and `.`"},
    {"description", SCHEMA_STRING, .max_len = 4096, .help = "what it is about"},
    {0},
};

static int make_work(struct store_change *change, struct error *err)
{
    const json_t *body = change->request->json;

    return saved_state_create(change->store, change->owner, json_get_text(body, "name"),
                              json_string_value(json_object_get(body, "description")),
                              &change->is_new, err);
}

static void answer_created(struct store_change *change, struct error *err)
{
    struct request *request = change->request;

    if (err->code != E_NONE)
        request_answer_error(request, err);
    else
        request_answer_json(request, 200,
                            json_pack("{s:O, s:b}", "name", json_object_get(request->json, "name"),
                                      "is_new", (int)change->is_new));
}

static void create_work(struct request *request)
{
    struct store_change *change =
        store_change_new(request, REPLICA_STATE, json_get_text(request->json, "name"));

    if (!change)
        return;
    change->make = make_work;
    change->answer = answer_created;
    store_change_begin(change);
}

static const struct schema_field load_fields[] = {
    {"version", SCHEMA_INTEGER, .min = 0, .max = 1e15,
     .help = "an earlier one; without it, or 0, the last"},
    {0},
};

static void load_work(struct request *request)
{
    int64_t version = (int64_t)json_integer_value(json_object_get(request->query, "version"));
    struct error err = {0};
    struct store *store = api_store(request->api, &err);
    cleanup(buf_done) struct buf state = BUF_OF(STATE_TEXT_MAX);
    json_t *work = NULL;

    if (!store || saved_state_load_text(store, request->caller->keeper, request->params[0], version,
                                        &work, &state, &err) < 0)
        request_answer_error(request, &err);
    else
        api_answer_masked_with(request, 200, work, "state", &state);
}

static const struct schema_field save_fields[] = {
    {"state", SCHEMA_OBJECT, .is_required = true,
     .help = "all that the next step needs, up to 1 MiB"},
    {"version", SCHEMA_INTEGER, .min = 0, .max = 1e15,
     .help = "the version it was made from: 409 if there is a newer one"},
    {0},
};

/* The name being one, what is wrong can only be that somebody has saved meanwhile. */
static void refuse_save(struct request *request, int64_t seen, struct error *err)
{
    if (err->code == E_INVALID && seen >= 0 && store_check_name("", request->params[0], NULL) == 0)
        request_answer_error_as(request, 409, NULL, err);
    else
        request_answer_error(request, err);
}

static int64_t seen_version(const struct request *request)
{
    const json_t *seen = json_object_get(request->json, "version");

    return seen ? (int64_t)json_integer_value(seen) : -1;
}

static int make_save(struct store_change *change, struct error *err)
{
    const struct span text = {json_string_value(change->input), json_string_length(change->input)};

    if (!text.data)
        return error_memory(err);
    return saved_state_save(change->store, change->owner, change->request->params[0], text,
                            seen_version(change->request), &change->version, err);
}

static void answer_saved(struct store_change *change, struct error *err)
{
    struct request *request = change->request;

    if (err->code != E_NONE) {
        refuse_save(request, seen_version(request), err);
        return;
    }
    quota_spend(request->caller, loop_now_ns(), 0, (double)json_string_length(change->input));
    request_answer_json(request, 200,
                        json_pack("{s:s, s:I}", "name", request->params[0], "version",
                                  (json_int_t)change->version));
}

static void save_work(struct request *request)
{
    cleanup(buf_done) struct buf text = BUF_OF(STATE_TEXT_MAX);
    struct error err = {0};
    struct store_change *change;

    if (quota_check_bytes(request->caller, loop_now_ns(), &request->retry_s, &err) < 0 ||
        json_text_dump(json_object_get(request->json, "state"), JSON_TEXT_COMPACT, &text, &err) <
            0) {
        request_answer_error(request, &err);
        return;
    }
    change = store_change_new(request, REPLICA_STATE, request->params[0]);
    if (!change)
        return;
    change->input = json_stringn(buf_str(&text), text.len);
    change->make = make_save;
    change->answer = answer_saved;
    store_change_begin(change);
}

static int make_deletion(struct store_change *change, struct error *err)
{
    return saved_state_delete(change->store, change->owner, change->request->params[0], err);
}

static void answer_deleted(struct store_change *change, struct error *err)
{
    if (err->code != E_NONE)
        request_answer_error(change->request, err);
    else
        request_answer_empty(change->request, 204);
}

static void delete_work(struct request *request)
{
    struct store_change *change = store_change_new(request, REPLICA_STATE, request->params[0]);

    if (!change)
        return;
    change->make = make_deletion;
    change->answer = answer_deleted;
    store_change_begin(change);
}

/* clang-format off */
const struct route api_work_routes[] = {
    {"GET", "/v1/states", list_work, .answers = "Works", .status = 200, .tag = "states",
     .summary = "the caller's refactoring sessions, the last changed first"},
    {"POST", "/v1/states", create_work, .body = create_fields, .max_body = 64 * KIB,
     .answers = "WorkMade", .status = 200, .tag = "states",
     .summary = "begin a refactoring session, unless there is one of that name"},
    {"GET", "/v1/states/{work}", load_work, .query = load_fields, .answers = "Work", .status = 200,
     .tag = "states", .summary = "the saved state of a refactoring session, and its history"},
    {"POST", "/v1/states/{work}/versions", save_work, .body = save_fields,
     .max_body = API_BODY_BYTES, .answers = "WorkSaved", .status = 200, .tag = "states",
     .summary = "save the state of a refactoring session; earlier ones stay as its history"},
    {"DELETE", "/v1/states/{work}", delete_work, .status = 204, .tag = "states",
     .summary = "delete a refactoring session with its history"},
    {0},
};
/* clang-format on */
