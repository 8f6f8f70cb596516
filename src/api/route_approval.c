/* Calls that wait for a yes of who sent the program (calls/approval.h). */
#include "api/api.h"
#include "api/rights.h"
#include "base/limits.h"
#include "calls/approval.h"

static void list_approvals(struct request *request)
{
    const struct api *api = request->api;
    struct error err = {0};
    bool is_all;

    if (api_read_all(request, &is_all, &err) < 0)
        api_refuse(request, "approvals", &err);
    else
        request_answer_json(request, 200,
                            json_pack("{s:o}", "approvals",
                                      approval_list(pool_approvals(api->pool),
                                                    is_all ? NULL : request->owner, NULL)));
}

/* `id`: of a run or a session that is the client's, or anybody's for an operator: who watches may
 * answer what an agent with a token of its own asks. */
static void answer(struct request *request, const char *id)
{
    const json_t *approve = json_object_get(request->json, "approve");
    const struct api *api = request->api;
    bool is_yes = json_is_true(approve);
    const struct approval_word word = {
        .approval_id = json_string_value(json_object_get(request->json, "approval_id")),
        .is_yes = is_yes,
        .accept_hidden =
            (uint64_t)json_integer_value(json_object_get(request->json, "accept_hidden")),
        .sha256 = json_string_value(json_object_get(request->json, "sha256")),
        .by = request->owner,
    };
    struct error err = {0};

    if (approval_answer(pool_approvals(api->pool), id, &word, &err) < 0)
        request_answer_error(request, &err);
    else
        request_answer_json(request, 200, json_pack("{s:b}", "approved", (int)is_yes));
}

static void approve_run(struct request *request)
{
    struct error err = {0};
    struct job *job = api_find_any_job(request, &err);

    if (job)
        answer(request, job_id(job));
    else
        request_answer_error(request, &err);
}

static void approve_cell(struct request *request)
{
    struct error err = {0};
    struct session *session = api_find_any_session(request, &err);
    struct session_info info;

    if (!session) {
        request_answer_error(request, &err);
        return;
    }
    session_info(session, &info);
    answer(request, info.id);
}

/* clang-format off */
static const struct schema_field list_fields[] = {
    API_ALL_FIELD,
    {0},
};

static const struct schema_field approve_fields[] = {
    {"approve", SCHEMA_BOOLEAN, .is_required = true, .help = "true: the call continues; false: it is refused"},
    {"approval_id", SCHEMA_STRING, .is_required = true, .max_len = 64, .help = "id of the question"},
    {"accept_hidden", SCHEMA_INTEGER, .min = 0, .max = 1e15,
     .help = "`hidden_bytes` of the question: approve it although so much of it was not shown"},
    {"sha256", SCHEMA_STRING, .max_len = 64, .help = "hash from the question: only this call, with these arguments"},
    {0},
};

const struct route api_approval_routes[] = {
    {"GET", "/v1/approvals", list_approvals, .query = list_fields, .answers = "Approvals", .status = 200, .tag = "runs",
     .summary = "calls of your programs that wait for approval; with `all`, of everybody's, for operators"},
    {"POST", "/v1/runs/{run}/approve", approve_run, .body = approve_fields, .max_body = KIB,
     .answers = "Approved", .status = 200, .tag = "runs",
     .summary = "approve or refuse a call that a run waits for; also for operators"},
    {"POST", "/v1/sessions/{session}/approve", approve_cell, .body = approve_fields, .max_body = KIB,
     .answers = "Approved", .status = 200, .tag = "sessions",
     .summary = "approve or refuse a call that a session's cell waits for; also for operators"},
    {0},
};
/* clang-format on */
