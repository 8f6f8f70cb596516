/* What the handlers of the native API have in common. */
#include "front/api.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "front/grants.h"
#include "front/mcp_http.h"
#include "front/openapi.h"
#include "gate/admit.h"
#include "pool/environment.h"
#include "pool/mask.h"

/* CodeRunner's first: one of its paths is that of a session by the name of `session`. */
const struct route *const api_tables[] = {
    coderunner_routes,  api_run_routes,     api_approval_routes,
    api_batch_routes,   api_session_routes, api_copy_routes,
    api_changes_routes, api_file_routes,    api_output_routes,
    api_skill_routes,   api_undo_routes,    api_work_routes,
    pyrunner_routes,    metrics_routes,     mcp_http_routes,
    mcp_sse_routes,     api_meta_routes,    NULL,
};

/* Made once: the tables never change, and anybody may ask for it as often as he likes. */
const struct buf *api_openapi_text(struct error *err)
{
    static struct buf made;
    cleanup(buf_done) struct buf text = {0};
    cleanup_json json_t *value = NULL;

    if (made.len)
        return &made;
    value = openapi_json(api_tables);
    buf_init(&text, MIB);
    if (!value) {
        error_memory(err);
        return NULL;
    }
    if (json_text_dump(value, JSON_TEXT_COMPACT, &text, err) < 0 ||
        buf_add(&text, "\n", 1, err) < 0)
        return NULL;
    made = text;
    text = (struct buf){0};
    return &made;
}

static void show_openapi(struct request *request)
{
    struct error err = {0};
    const struct buf *text = api_openapi_text(&err);

    if (text)
        request_answer_text(request, 200, text->data, text->len);
    else
        request_answer_error(request, &err);
}

const struct route api_meta_routes[] = {
    {"GET",         "/openapi.json", show_openapi, .access = ROUTE_PUBLIC, .answers = "OpenApi",
     .status = 200, .tag = "meta", .summary = "this API, as OpenAPI 3.1"},
    {0},
};

void api_refuse(struct request *request, const char *what, struct error *err)
{
    const struct api *api = request->api;

    if (err->code == E_DENIED)
        (void)witness_refusal(api->witness, request->owner, what, err, NULL);
    request_answer_error(request, err);
}

/* --- waiting for a session --- */

static void on_gone(struct request *request)
{
    struct api_waiting *w = request->user;

    w->request = NULL;
}

struct api_waiting *api_wait(struct request *request, struct error *err)
{
    struct api *api = request->api;
    struct session *session = sessions_find(api->sessions, request->owner, request->params[0], err);
    struct api_waiting *w = session ? calloc(1, sizeof(*w)) : NULL;

    if (session && !w)
        error_memory(err);
    if (!w)
        return NULL;
    *w = (struct api_waiting){request, session};
    request->user = w;
    request->on_gone = on_gone;
    return w;
}

void api_wait_end(struct api_waiting *w)
{
    if (w && w->request)
        w->request->on_gone = NULL;
    free(w);
}

/* --- what outlives runs --- */

/* A state, or a folder's texts, in escapes. */
#define KEPT_MAX (32 * MIB)

struct store *api_kept(const struct api *api, struct error *err)
{
    if (!api->kept) {
        error_set(err, E_UNSUPPORTED, "there is no place to keep anything");
        error_hint(err, "start Belljar with HOME or XDG_STATE_HOME set");
    }
    return api->kept;
}

void api_answer_masked(struct request *request, int status, json_t *value)
{
    const struct api *api = request->api;
    struct run *run = run_new();
    cleanup(buf_done) struct buf text = {0};
    cleanup_free char *masked = NULL;
    struct error err = {0};

    buf_init(&text, KEPT_MAX);
    if (run && json_text_dump(value, JSON_TEXT_COMPACT, &text, NULL) == 0) {
        run->masking = config_masking(api->config);
        masked = mask_json(run, (struct span){buf_str(&text), text.len});
    }
    run_free(run);
    json_decref(value);
    buf_clear(&text);
    if (masked && buf_printf(&text, NULL, "%s\n", masked) == 0) {
        request_answer_text(request, status, buf_str(&text), text.len);
        return;
    }
    error_set(&err, E_SYSTEM, "the answer could not be masked");
    request_answer_error(request, &err);
}

/* --- bodies --- */

static const char *string_of(const json_t *body, const char *name)
{
    return json_string_value(json_object_get(body, name));
}

int api_read_code(const struct api *api, const json_t *body, struct run *run, struct error *err)
{
    const char *language = string_of(body, "language");
    const json_t *code = json_object_get(body, "code"), *input = json_object_get(body, "stdin");
    const char *text = json_string_value(code);

    run->language = language && strcmp(language, "bash") == 0 ? RUN_BASH : RUN_PYTHON;
    run->auto_print = json_is_true(json_object_get(body, "auto_print"));
    run->wants_receipt = json_is_true(json_object_get(body, "receipt"));
    buf_done(&run->code);
    buf_init(&run->code, (size_t)api->config->code_bytes);
    if (strspn(text, " \t\r\n\f") == strlen(text))
        return error_set(err, E_INVALID, "`code`: the program is empty");
    if (buf_add(&run->code, text, json_string_length(code), err) < 0)
        return error_wrap(err, "`code`");
    run->has_input = input != NULL;
    if (!input)
        return 0;
    buf_init(&run->input, LIMIT_STDIN_BYTES);
    return buf_add(&run->input, json_string_value(input), json_string_length(input), err);
}

static bool is_variable_name(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '_')
            return false;
    return true;
}

static int read_env(const json_t *env, struct run *run, struct error *err)
{
    size_t count = 0;
    const char *name;
    json_t *value;

    if (!env)
        return 0;
    run->env = calloc(json_object_size(env) + 1, sizeof(*run->env));
    if (!run->env)
        return error_memory(err);
    json_object_foreach((json_t *)env, name, value)
    {
        if (!is_variable_name(name))
            return error_set(err, E_INVALID, "`env`: a name is not made of letters, digits and _");
        if (strlen(name) + 1 + json_string_length(value) > LIMIT_ENV_BYTES)
            return error_set(err, E_TOO_LARGE, "`env`: `%s` is longer than %zu bytes", name,
                             LIMIT_ENV_BYTES);
        if (asprintf(&run->env[count], "%s=%s", name, json_string_value(value)) < 0) {
            run->env[count] = NULL;
            return error_memory(err);
        }
        count++;
    }
    return 0;
}

static int above(const char *name, double max, const char *whose, struct error *err)
{
    error_set(err, E_INVALID, "`%s`: %s allows at most %.15g", name, whose, max);
    return error_hint(err, "ask for less, or have it raised: `max_%s`", name);
}

double api_limit_max(const struct api *api, const struct caller *caller, enum run_limit_row row)
{
    const struct run_limit *limit = &run_limit_table[row];
    double most = config_limit_max(api->config, limit), own;

    own = rights_limit_max(&caller->rights, limit);
    return own >= 0 && own < most ? own : most;
}

long api_max_sessions(const struct caller *caller)
{
    double own = caller->rights.max_sessions;

    return own < 0 ? 0 : own == 0 ? -1 : (long)own;
}

int api_read_limits(const struct api *api, const struct caller *caller, const json_t *body,
                    struct run_limits *limits, struct error *err)
{
    for (size_t i = 0; i < RUN_LIMIT_REQUEST_ROWS; i++) {
        const struct run_limit *limit = &run_limit_table[i];
        const json_t *asked = json_object_get(body, limit->name);
        double value = json_number_value(asked), most = config_limit_max(api->config, limit);
        double own = rights_limit_max(&caller->rights, limit);

        if (!asked)
            continue;
        if (value > most)
            return above(limit->name, most, "the operator", err);
        if (own >= 0 && run_limit_exceeds(limit, value, own))
            return above(limit->name, own, "this token", err);
        run_limit_set(limits, limit, value);
    }
    return 0;
}

/* The one asked for, if the token has it; else the settings' own, or the token's first. */
static int pick_profile(const struct api *api, const struct rights *own, const json_t *body,
                        const struct profile **ret_profile, struct error *err)
{
    const char *asked = string_of(body, "profile");

    if (asked && !rights_allow_profile(own, asked)) {
        error_set(err, E_DENIED, "this token may not use the profile `%s`", asked);
        return error_hint(err, "it may use `%s`", own->profiles[0]);
    }
    if (profiles_get(api->profiles, asked, ret_profile, err) < 0)
        return -1;
    if (asked || rights_allow_profile(own, profile_name(*ret_profile)))
        return 0;
    return profiles_get(api->profiles, own->profiles[0], ret_profile, err);
}

/* By name alone: which trees of the host a sandbox sees is not the client's to say. */
static int pick_environment(const struct api *api, const json_t *body, struct run *run,
                            struct error *err)
{
    const char *asked = string_of(body, "environment");

    if (!asked || strcmp(asked, api->config->environment) == 0)
        return 0;
    if (environment_check_name(api->config, asked, err) < 0)
        return -1;
    run->environment = strdup(asked);
    return run->environment ? 0 : error_memory(err);
}

int api_admit(const struct api *api, const struct caller *caller, const json_t *body,
              struct run *run, struct error *err)
{
    const struct profile *profile;

    if (pick_profile(api, &caller->rights, body, &profile, err) < 0 ||
        pick_environment(api, body, run, err) < 0 || grants_read(api, caller, body, run, err) < 0 ||
        admit_run(run, api->config, profile, err) < 0)
        return -1;
    rights_lower(&caller->rights, &run->limits);
    if (read_env(json_object_get(body, "env"), run, err) < 0)
        return -1;
    return api_read_limits(api, caller, body, &run->limits, err);
}
