/* A session as a notebook shows it: its last cells with their answers, and its variables. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/id.h"
#include "base/json.h"
#include "base/stream.h"

#define CELLS_DEFAULT 50
#define CELLS_MAX     200
#define CELLS_BYTES   (4 * MIB)
#define VARIABLES     "%variables\n" /* library/_belljar_notebook.py */
#define VARIABLES_S   2

/* --- cells --- */

static const struct schema_field cells_fields[] = {
    {"limit", SCHEMA_INTEGER, .min = 1, .max = CELLS_MAX, .help = "at most so many (default 50)"},
    {"before", SCHEMA_STRING, .max_len = ID_SIZE - 1,
     .help = "only cells before the one with this id"},
    {0},
};

static void list_cells(struct request *request)
{
    const struct api *api = request->api;
    const struct session *session = api_find_session(request);
    cleanup(buf_done) struct buf out = BUF_OF(4 * CELLS_BYTES);
    struct session_info info;
    struct error err = {0};
    const json_t *limit;

    if (!session)
        return;
    limit = json_object_get(request->query, "limit");
    session_info(session, &info);
    if (jobs_list_cells(api->jobs, info.id, request_query(request, "before"),
                        limit ? (size_t)json_integer_value(limit) : CELLS_DEFAULT, CELLS_BYTES,
                        &out, &err) < 0)
        request_answer_error(request, &err);
    else
        request_answer_text(request, 200, buf_str(&out), out.len);
}

/* --- variables --- */

struct look {
    struct request *request;
    struct job *job;
};

static void on_gone(struct request *request)
{
    struct look *look = request->user;

    job_abandon(look->job);
    free(look);
}

/* The program may have printed anything: what is not the list is none. */
static json_t *read_list(const struct run *run, struct error *err)
{
    static const struct json_text_limits limits = {.bytes = MIB, .depth = 4, .allows_nul = true};
    cleanup(buf_done) struct buf text = BUF_OF(MIB);
    json_t *list = NULL;

    if (run->result.error.code != E_NONE) {
        error_copy(err, &run->result.error);
        return NULL;
    }
    if (run->result.status == RUN_SUCCESS && !run->result.out.dropped &&
        run_stream_render(&run->result.out, &text, NULL) == 0 &&
        json_text_load(buf_str(&text), text.len, &limits, &list, NULL) == 0 &&
        json_is_array(json_object_get(list, "variables")))
        return list;
    json_decref(list);
    error_set(err, E_BUSY, "the session's kernel did not list its variables");
    (void)error_hint(err, "its values may be too many, or its functions were replaced: restart it");
    return NULL;
}

static json_t *text_of(const json_t *row, const char *name)
{
    const json_t *text = json_object_get(row, name);

    return json_is_string(text)
               ? json_text_string(json_string_value(text), json_string_length(text))
               : json_string("");
}

static void answer(struct request *request, json_t *list)
{
    const json_t *rows = json_object_get(list, "variables"), *row;
    json_t *out = json_array();
    size_t i;

    json_array_foreach(rows, i, row)
    {
        (void)json_array_append_new(out, json_pack("{s:o, s:o, s:o}", "name", text_of(row, "name"),
                                                   "type", text_of(row, "type"), "summary",
                                                   text_of(row, "summary")));
    }
    request_answer_json(request, 200,
                        json_pack("{s:o, s:b}", "variables", out, "has_more",
                                  (int)json_is_true(json_object_get(list, "has_more"))));
    json_decref(list);
}

static void on_done(void *user, const struct run *run)
{
    struct look *look = user;
    struct request *request = look->request;
    struct error err = {0};
    json_t *list = read_list(run, &err);

    request->on_gone = NULL;
    free(look);
    if (list)
        answer(request, list);
    else
        request_answer_error(request, &err);
}

static int begin(struct look *look, struct session *session, struct error *err)
{
    struct request *request = look->request;
    const struct api *api = request->api;
    struct admission admission = api_admission(api, request->caller);
    struct run_request asked = {.code = {VARIABLES, sizeof(VARIABLES) - 1}, .language = RUN_PYTHON};
    struct job_order order = {
        .session = session,
        .owner = request->owner,
        .caller = request->caller,
        .is_helper = true,
        .follower = {.on_done = on_done, .user = look},
    };
    double most = api_limit_max(api, request->caller, RUN_LIMIT_ROW_timeout_s);

    admission.session = session;
    run_request_set_limit(&asked, RUN_LIMIT_ROW_timeout_s, VARIABLES_S < most ? VARIABLES_S : most);
    if (admit_request(&admission, &asked, &order.run, err) < 0)
        return -1;
    request->user = look;
    request->on_gone = on_gone;
    return jobs_start(api->jobs, &order, &request->retry_s, &look->job, err);
}

/* A list that waited behind a long cell would be of another moment than the one that was asked for.
 */
static int check_idle(const struct session *session, struct error *err)
{
    struct session_info info;

    session_info(session, &info);
    if (info.state == SESSION_IDLE && !info.waiting)
        return 0;
    error_set(err, E_BUSY, "the session is not idle");
    return error_hint(err, "ask again when its cell has ended");
}

static void list_variables(struct request *request)
{
    struct session *session = api_find_session(request);
    struct error err = {0};
    struct look *look;

    if (!session)
        return;
    look = calloc(1, sizeof(*look));
    if (look)
        look->request = request;
    else
        error_memory(&err);
    if (look && check_idle(session, &err) == 0 && begin(look, session, &err) == 0)
        return;
    request->on_gone = NULL;
    free(look);
    api_refuse(request, "run", &err);
}

/* clang-format off */
const struct route api_inspect_routes[] = {
    {"GET", "/v1/sessions/{session}/cells", list_cells, .query = cells_fields, .answers = "Cells", .status = 200,
     .tag = "sessions", .summary = "the session's last cells with their answers, while these are kept"},
    {"GET", "/v1/sessions/{session}/variables", list_variables, .answers = "Variables", .status = 200,
     .tag = "sessions", .summary = "names of the session's Python variables, with types and short values"},
    {0},
};
/* clang-format on */
