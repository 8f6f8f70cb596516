/* What the handlers of the native API have in common. */
#include "front/api.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "front/openapi.h"
#include "gate/admit.h"

/* CodeRunner's first: one of its paths is that of a session by the name of `session`. */
const struct route *const api_tables[] = {
    coderunner_routes, api_run_routes,  api_session_routes,
    api_copy_routes,   api_file_routes, api_output_routes,
    pyrunner_routes,   api_meta_routes, NULL,
};

static void show_openapi(struct request *request)
{
    request_answer_json(request, 200, openapi_json(api_tables));
}

const struct route api_meta_routes[] = {
    {"GET",         "/openapi.json", show_openapi, .access = ROUTE_PUBLIC, .status = 200, .tag = "meta",
     .summary = "this API, as OpenAPI 3.1"},
    {0},
};

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
        return error_set(err, E_SYSTEM, "out of memory");
    json_object_foreach((json_t *)env, name, value)
    {
        if (!is_variable_name(name))
            return error_set(err, E_INVALID, "`env`: a name is not made of letters, digits and _");
        if (strlen(name) + 1 + json_string_length(value) > LIMIT_ENV_BYTES)
            return error_set(err, E_TOO_LARGE, "`env`: `%s` is longer than %zu bytes", name,
                             LIMIT_ENV_BYTES);
        if (asprintf(&run->env[count], "%s=%s", name, json_string_value(value)) < 0) {
            run->env[count] = NULL;
            return error_set(err, E_SYSTEM, "out of memory");
        }
        count++;
    }
    return 0;
}

static int above(const char *name, double max, struct error *err)
{
    error_set(err, E_INVALID, "`%s`: the operator allows at most %.15g", name, max);
    return error_hint(err, "ask for less, or raise `max_%s`", name);
}

int api_read_limits(const struct api *api, const json_t *body, struct run_limits *limits,
                    struct error *err)
{
    const json_t *value;

#define GET(name) ((value = json_object_get(body, name)) != NULL)
    if (GET("timeout_s")) {
        if (json_number_value(value) > api->config->max_timeout_s)
            return above("timeout_s", api->config->max_timeout_s, err);
        limits->timeout_ms = (uint32_t)(json_number_value(value) * 1000);
    }
    if (GET("cpu_time_s"))
        limits->cpu_ms = (uint32_t)(json_number_value(value) * 1000);
    if (GET("memory_mb")) {
        if (json_integer_value(value) > api->config->max_memory_mb)
            return above("memory_mb", (double)api->config->max_memory_mb, err);
        limits->memory_bytes = (uint64_t)json_integer_value(value) * MIB;
    }
    if (GET("cpus"))
        limits->cpu_percent = (uint32_t)(json_number_value(value) * 100);
    if (GET("pids"))
        limits->processes = (uint32_t)json_integer_value(value);
    if (GET("disk_mb"))
        limits->disk_bytes = (uint64_t)json_integer_value(value) * MIB;
    if (GET("output_bytes"))
        limits->output_bytes = (uint64_t)json_integer_value(value);
#undef GET
    return 0;
}

int api_admit(const struct api *api, const json_t *body, struct run *run, struct error *err)
{
    const struct profile *profile;

    if (profiles_get(api->profiles, string_of(body, "profile"), &profile, err) < 0 ||
        admit_run(run, api->config, profile, err) < 0)
        return -1;
    if (read_env(json_object_get(body, "env"), run, err) < 0)
        return -1;
    return api_read_limits(api, body, &run->limits, err);
}
