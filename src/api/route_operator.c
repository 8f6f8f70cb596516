/* The server itself, for operators: its settings and its tokens. */
#include <string.h>

#include "admit/auth.h"
#include "admit/quota.h"
#include "api/api.h"
#include "base/cleanup.h"
#include "base/date.h"
#include "base/json.h"

/* Settings hold no secrets: keys and tokens are files, of which they have the names. Tables of
 * servers and environments, whose variables may be secret, are not among the options. */
static void show_settings(struct request *request)
{
    const struct api *api = request->api;
    size_t count;
    const struct config_option *options = config_options(&count);
    json_t *object = json_object();

    for (size_t i = 0; i < count; i++) {
        cleanup_free char *source = config_source_text(api->config, &options[i]);

        (void)json_object_set_new(
            object, options[i].name,
            json_pack("{s:o, s:o, s:b}", "value", config_value(api->config, &options[i]), "from",
                      json_string_or_null(source), "reloadable", options[i].is_reloadable));
    }
    api_answer_masked(request, 200, json_pack("{s:o}", "settings", object));
}

/* --- tokens --- */

static json_t *limits_json(const struct rights *rights)
{
    size_t count;
    const struct rights_bound *bounds = rights_bounds(&count);
    json_t *limits = json_object();

    for (size_t i = 0; i < count; i++) {
        double value = rights_get(rights, &bounds[i]);

        if (value >= 0)
            json_set(limits, bounds[i].name,
                     bounds[i].is_whole ? json_integer((json_int_t)value) : json_real(value));
    }
    return limits;
}

static json_t *last_use(const struct caller *caller)
{
    char text[DATE_SIZE];

    if (!caller->last_used)
        return json_null();
    date_seconds(caller->last_used, text);
    return json_string(text);
}

static json_t *token_json(struct caller *caller)
{
    json_t *profiles = json_array();

    for (size_t i = 0; i < caller->rights.n_profiles; i++)
        (void)json_array_append_new(profiles, json_string(caller->rights.profiles[i]));
    return json_pack("{s:s, s:b, s:b, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:o, s:o}", "name",
                     caller->name, "operator", (int)caller->rights.is_operator, "grants",
                     (int)caller->rights.has_grants, "profiles", profiles, "limits",
                     limits_json(&caller->rights), "used", quota_used(caller, loop_now_ns()),
                     "running", (json_int_t)caller->n_running, "waiting",
                     (json_int_t)caller->n_waiting, "done", (json_int_t)caller->n_done, "refused",
                     (json_int_t)caller->n_refused, "created_at",
                     json_string_or_null(*caller->created ? caller->created : NULL), "last_used_at",
                     last_use(caller));
}

static void list_tokens(struct request *request)
{
    const struct api *api = request->api;
    json_t *list = json_array();

    auth_refresh(api->auth);
    for (struct caller *c = auth_next(api->auth, NULL); c; c = auth_next(api->auth, c))
        if (c->is_known)
            (void)json_array_append_new(list, token_json(c));
    request_answer_json(request, 200, json_pack("{s:o}", "tokens", list));
}

static void show_me(struct request *request)
{
    json_t *value = token_json(request->caller);

    if (value)
        json_set(value, "is_page", json_boolean(request->page != 0));
    request_answer_json(request, 200, value);
}

/* clang-format off */
const struct route api_operator_routes[] = {
    {"GET", "/v1/config", show_settings, .access = ROUTE_OPERATOR, .answers = "Settings", .status = 200, .tag = "meta",
     .summary = "the settings in force and where each comes from; for operators"},
    {"GET", "/v1/tokens", list_tokens, .access = ROUTE_OPERATOR, .answers = "Tokens", .status = 200, .tag = "meta",
     .summary = "names, rights and use of the tokens, never the tokens themselves; for operators"},
    {"GET", "/v1/me", show_me, .answers = "Me", .status = 200, .tag = "meta",
     .summary = "name, rights and use of the token that asks"},
    {0},
};
/* clang-format on */
