#include "api/openapi.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/language.h"
#include "base/limits.h"
#include "base/run_limits.h"

static json_t *content(const char *type, json_t *schema)
{
    return json_pack("{s:{s:o}}", type, "schema", schema);
}

static json_t *reference(const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "#/components/schemas/%s", name);
    return json_pack("{s:s}", "$ref", path);
}

/* "/v1/x/{path...}" is "/v1/x/{path}" there. */
static void plain_path(const char *path, char *text, size_t size)
{
    const char *dots = strstr(path, "...}");
    size_t n = dots ? (size_t)(dots - path) : strlen(path);

    (void)snprintf(text, size, "%.*s%s", (int)n, path, dots ? "}" : "");
}

static void add_path_parameters(const char *path, json_t *list)
{
    for (const char *open = strchr(path, '{'); open; open = strchr(open + 1, '{'))
        (void)json_array_append_new(list, json_pack("{s:s%, s:s, s:b, s:{s:s}}", "name", open + 1,
                                                    strcspn(open + 1, ".}"), "in", "path",
                                                    "required", 1, "schema", "type", "string"));
}

static void add_query_parameters(const struct schema_field *fields, json_t *list)
{
    json_t *schema = fields ? schema_json(fields) : NULL;
    json_t *properties = json_object_get(schema, "properties"), *value;
    const char *name;

    json_object_foreach(properties, name, value)
    {
        (void)json_array_append_new(
            list, json_pack("{s:s, s:s, s:O}", "name", name, "in", "query", "schema", value));
    }
    json_decref(schema);
}

static json_t *response(const char *what, json_t *types)
{
    json_t *object = json_pack("{s:s}", "description", what);

    if (json_object_size(types))
        (void)json_object_set(object, "content", types);
    json_decref(types);
    return object;
}

static json_t *good_types(const struct route *route)
{
    json_t *types = json_object();

    if (route->answers)
        (void)json_object_set_new(types, "application/json",
                                  json_pack("{s:o}", "schema", reference(route->answers)));
    if (route->streams)
        (void)json_object_set_new(types, "text/event-stream",
                                  json_pack("{s:{s:s}}", "schema", "type", "string"));
    if (route->gives_lines)
        (void)json_object_set_new(types, "application/x-ndjson",
                                  json_pack("{s:{s:s}}", "schema", "type", "string"));
    if (route->type)
        (void)json_object_set_new(types, route->type, json_object());
    return types;
}

static json_t *responses_of(const struct route *route)
{
    json_t *bad = content("application/json", reference("Error"));
    json_t *responses =
        json_pack("{s:o}", "default", response("what went wrong, and what to do", bad));
    char status[8];

    (void)snprintf(status, sizeof(status), "%d", route->status);
    (void)json_object_set_new(responses, status, response(route->summary, good_types(route)));
    if (route->has_ranges)
        (void)json_object_set_new(responses, "206",
                                  response("the requested part", good_types(route)));
    if (route->reads_body)
        (void)json_object_set_new(
            responses, "422",
            response("the body is invalid; the errors name the fields",
                     content("application/json", reference("ValidationError"))));
    return responses;
}

/* "GET /v1/runs/{run}" as a name that a generator makes a function of: get_v1_runs_by_run. */
static void operation_id(const struct route *route, struct buf *id)
{
    (void)buf_add_str(id, route->method, NULL);
    for (const char *c = route->path; *c; c++) {
        if (isalnum((unsigned char)*c))
            (void)buf_add(id, c, 1, NULL);
        else if (*c == '{')
            (void)buf_add_str(id, "by_", NULL);
        else if (*c == '/' && c[1])
            (void)buf_add_str(id, "_", NULL);
    }
    for (size_t i = 0; i < id->len; i++)
        id->data[i] = (char)tolower((unsigned char)id->data[i]);
}

static void add_header(json_t *list, const char *name, int max_len, const char *help)
{
    (void)json_array_append_new(list,
                                json_pack("{s:s, s:s, s:{s:s, s:i, s:i}, s:s}", "name", name, "in",
                                          "header", "schema", "type", "string", "minLength", 1,
                                          "maxLength", max_len, "description", help));
}

static void add_headers(const struct route *route, json_t *list)
{
    if (route->takes_key)
        add_header(list, "Idempotency-Key", 255,
                   "a repeated request with the same key gets the first answer and runs nothing; "
                   "a different body with the same key gets 422, a key whose answer is no longer "
                   "kept 409");
    if (route->streams && !route->body)
        add_header(list, "Last-Event-ID", 15, "the number of the last event that was read");
    if (route->has_ranges)
        add_header(list, "Range", 64, "`bytes=FIRST-LAST`, `bytes=FIRST-` or `bytes=-COUNT`");
}

/* Without a body it is an empty object, which may be all that is needed. */
static json_t *body_of(const struct route *route, json_t *types)
{
    bool is_required = false;

    for (const struct schema_field *f = route->body; f && f->name; f++)
        is_required |= f->is_required;
    return json_pack("{s:b, s:o}", "required", (int)is_required, "content", types);
}

static json_t *body_content(const struct route *route)
{
    json_t *schema = schema_json(route->body);
    json_t *types = content("application/json", schema);

    if (route->passes_over)
        (void)json_object_del(schema, "additionalProperties");
    if (route->takes_files)
        (void)json_object_set_new(types, "multipart/form-data",
                                  json_pack("{s:{s:s}}", "schema", "type", "object"));
    return types;
}

static json_t *operation(const struct route *route)
{
    json_t *parameters = json_array();
    cleanup(buf_done) struct buf id = BUF_OF(KIB);
    json_t *object;

    operation_id(route, &id);
    add_path_parameters(route->path, parameters);
    add_query_parameters(route->query, parameters);
    add_headers(route, parameters);
    object = json_pack("{s:s, s:s, s:[s], s:o, s:o}", "operationId", buf_str(&id), "summary",
                       route->summary, "tags", route->tag, "parameters", parameters, "responses",
                       responses_of(route));
    if (route->body)
        (void)json_object_set_new(object, "requestBody", body_of(route, body_content(route)));
    else if (route->begin)
        (void)json_object_set_new(object, "requestBody",
                                  body_of(route, json_pack("{s:{}}", "application/octet-stream")));
    if (route->access == ROUTE_PUBLIC)
        (void)json_object_set_new(object, "security", json_array());
    return object;
}

/* The limits of a session as an answer shows them (base/run_limits.h). */
static void add_limits(json_t *schemas)
{
    json_t *limits = json_object_get(
        json_object_get(json_object_get(schemas, "Session"), "properties"), "limits");
    json_t *properties = json_object();

    for (size_t i = 0; i < RUN_LIMIT_REQUEST_ROWS; i++) {
        const struct run_limit *limit = &run_limit_table[i];

        (void)json_object_set_new(properties, limit->name,
                                  json_pack("{s:s, s:s}", "type",
                                            run_limit_is_whole(limit) ? "integer" : "number",
                                            "description", limit->help));
    }
    (void)json_object_set_new(limits, "properties", properties);
}

json_t *openapi_json(const struct route *const *tables)
{
    static const struct json_text_limits limits = {.bytes = 64 * KIB, .depth = 32};
    json_t *paths = json_object(), *parts = NULL;

    for (; *tables; tables++)
        for (const struct route *r = *tables; r->method; r++) {
            char path[256], method[16];
            json_t *item;

            if (r->is_unlisted)
                continue;
            plain_path(r->path, path, sizeof(path));
            item = json_object_get(paths, path);
            if (!item) {
                (void)json_object_set_new(paths, path, json_object());
                item = json_object_get(paths, path);
            }
            (void)snprintf(method, sizeof(method), "%s", r->method);
            for (char *c = method; *c; c++)
                *c = (char)(*c | 0x20);
            (void)json_object_set_new(item, method, operation(r));
        }
    if (json_text_load(openapi_components, strlen(openapi_components), &limits, &parts, NULL) < 0)
        parts = json_object();
    add_limits(json_object_get(parts, "schemas"));
    return json_pack("{s:s, s:{s:s, s:s}, s:[{s:[]}], s:o, s:o}", "openapi", "3.1.0", "info",
                     "title", "Belljar", "version", BELLJAR_VERSION, "security", "token", "paths",
                     paths, "components", parts);
}

const struct buf *openapi_text(struct openapi *openapi, struct error *err)
{
    cleanup(buf_done) struct buf text = {0};
    cleanup_json json_t *value = NULL;

    if (openapi->text.len)
        return &openapi->text;
    value = openapi_json(openapi->tables);
    buf_init(&text, MIB);
    if (!value) {
        error_memory(err);
        return NULL;
    }
    if (json_text_dump(value, JSON_TEXT_COMPACT, &text, err) < 0 ||
        buf_add(&text, "\n", 1, err) < 0)
        return NULL;
    openapi->text = text;
    text = (struct buf){0};
    return &openapi->text;
}

void openapi_done(struct openapi *openapi)
{
    buf_done(&openapi->text);
}

static void show_openapi(struct request *request)
{
    struct api *api = request->api;
    struct error err = {0};
    const struct buf *text = openapi_text(api->openapi, &err);

    if (text)
        request_answer_text(request, 200, text->data, text->len);
    else
        request_answer_error(request, &err);
}

static void show_languages(struct request *request)
{
    request_answer_json(
        request, 200,
        json_pack("{s:o, s:s}", "languages", language_list_json(), "default", languages[0].name));
}

const struct route api_meta_routes[] = {
    {"GET", "/v1/languages", show_languages, .answers = "HostLanguages", .status = 200,
     .tag = "meta", .summary = "languages of programs, and which of them this host can run"},
    {"GET", "/openapi.json", show_openapi, .access = ROUTE_PUBLIC, .answers = "OpenApi",
     .status = 200, .tag = "meta", .summary = "this API, as OpenAPI 3.1"},
    {0},
};
