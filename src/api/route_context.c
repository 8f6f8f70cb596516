/* Contexts of a session: kernels besides those of its languages. */
#include <string.h>

#include "admit/profile.h"
#include "api/api.h"
#include "base/json.h"
#include "base/language.h"

static const struct schema_field open_fields[] = {
    API_LANGUAGE_FIELD,
    {"workdir", SCHEMA_STRING, .max_len = 4095,
     .help = "where it starts, in /workspace or in a granted directory; without it, where the "
             "session's code does"},
    {0},
};

static const struct schema_field nothing[] = {{0}};

static json_t *context_json(const struct context_info *info)
{
    return json_pack("{s:s, s:s, s:o}", "context_id", info->id, "language",
                     languages[info->language].name, "workdir",
                     *info->directory ? json_text_string(info->directory, strlen(info->directory))
                                      : json_null());
}

/* NULL: the answer has been given. */
static struct session *find(struct request *request)
{
    struct session *session = api_find_session(request);
    struct error err = {0};

    if (!session || admission_check_session(request->caller, session, &err) == 0)
        return session;
    api_refuse(request, "session", &err);
    return NULL;
}

static int check_language(const struct api *api, const struct session *session,
                          enum run_language language, struct error *err)
{
    const struct profile *profile;
    struct session_info info;

    session_info(session, &info);
    if (profiles_get(api->profiles, info.profile, &profile, err) < 0 ||
        profile_check_language(profile, language, err) < 0)
        return -1;
    return language_check_installed(language, err);
}

static void open_context(struct request *request)
{
    const char *directory = json_string_value(json_object_get(request->json, "workdir"));
    enum run_language language = language_of_json(request->json);
    struct session *session = find(request);
    struct context_info info;
    struct error err = {0};

    if (!session)
        return;
    if (check_language(request->api, session, language, &err) < 0 ||
        session_open_context(session, language, directory, &info, &err) < 0)
        api_refuse(request, "session", &err);
    else
        request_answer_json(request, 201, context_json(&info));
}

static void list_contexts(struct request *request)
{
    const struct session *session = find(request);
    json_t *list = session ? json_array() : NULL;
    struct context_info info;

    if (!session)
        return;
    for (size_t i = 0; session_context_at(session, i, &info); i++)
        (void)json_array_append_new(list, context_json(&info));
    request_answer_json(request, 200, json_pack("{s:o}", "contexts", list));
}

static void restart_context(struct request *request)
{
    struct session *session = find(request);
    struct context_info info;
    struct error err = {0};

    if (!session)
        return;
    if (session_restart_context(session, request->params[1], &err) < 0 ||
        session_find_context(session, request->params[1], &info, &err) < 0)
        request_answer_error(request, &err);
    else
        request_answer_json(request, 200, context_json(&info));
}

static void close_context(struct request *request)
{
    struct session *session = find(request);
    struct error err = {0};

    if (!session)
        return;
    if (session_close_context(session, request->params[1], &err) < 0)
        request_answer_error(request, &err);
    else
        request_answer_empty(request, 204);
}

/* clang-format off */
const struct route api_context_routes[] = {
    {"POST", "/v1/sessions/{session}/contexts", open_context, .body = open_fields, .max_body = 8 * KIB,
     .answers = "Context", .status = 201, .tag = "sessions",
     .summary = "a further kernel in the same sandbox, with variables and a directory of its own"},
    {"GET", "/v1/sessions/{session}/contexts", list_contexts, .answers = "Contexts", .status = 200,
     .tag = "sessions", .summary = "the contexts that were opened"},
    {"POST", "/v1/sessions/{session}/contexts/{context}/restart", restart_context, .body = nothing,
     .max_body = KIB, .answers = "Context", .status = 200, .tag = "sessions",
     .summary = "a fresh kernel for the context; its variables are lost, files stay"},
    {"DELETE", "/v1/sessions/{session}/contexts/{context}", close_context, .status = 204,
     .tag = "sessions", .summary = "end a context; its variables are gone"},
    {0},
};
/* clang-format on */
