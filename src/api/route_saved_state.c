/* Work that goes on over several runs: states that the caller saves by a name. */
#include "admit/quota.h"
#include "api/api.h"
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

static void create_work(struct request *request)
{
    const char *name = json_string_value(json_object_get(request->json, "name"));
    const char *description = json_string_value(json_object_get(request->json, "description"));
    struct error err = {0};
    struct store *store = api_store(request->api, &err);
    bool is_new = false;

    if (!store ||
        saved_state_create(store, request->caller->keeper, name, description, &is_new, &err) < 0)
        request_answer_error(request, &err);
    else
        request_answer_json(request, 200,
                            json_pack("{s:s, s:b}", "name", name, "is_new", (int)is_new));
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

static void save_work(struct request *request)
{
    const json_t *seen = json_object_get(request->json, "version");
    int64_t version = 0, from = seen ? (int64_t)json_integer_value(seen) : -1;
    cleanup(buf_done) struct buf text = BUF_OF(STATE_TEXT_MAX);
    struct error err = {0};
    struct store *store = api_store(request->api, &err);

    if (!store || quota_check_bytes(request->caller, loop_now_ns(), &request->retry_s, &err) < 0 ||
        json_text_dump(json_object_get(request->json, "state"), JSON_TEXT_COMPACT, &text, &err) <
            0 ||
        saved_state_save(store, request->caller->keeper, request->params[0],
                         (struct span){buf_str(&text), text.len}, from, &version, &err) < 0) {
        refuse_save(request, from, &err);
        return;
    }
    quota_spend(request->caller, loop_now_ns(), 0, (double)text.len);
    request_answer_json(
        request, 200,
        json_pack("{s:s, s:I}", "name", request->params[0], "version", (json_int_t)version));
}

static void delete_work(struct request *request)
{
    struct error err = {0};
    struct store *store = api_store(request->api, &err);

    if (!store || saved_state_delete(store, request->caller->keeper, request->params[0], &err) < 0)
        request_answer_error(request, &err);
    else
        request_answer_empty(request, 204);
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
