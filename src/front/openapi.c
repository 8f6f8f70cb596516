#include "front/openapi.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "front/json.h"

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

static json_t *responses_of(const struct route *route)
{
    char status[8];
    json_t *good = json_pack("{s:s}", "description", route->summary);
    json_t *bad = json_pack("{s:s, s:o}", "description", "what went wrong, and what to do",
                            "content", content("application/json", reference("Error")));
    json_t *types = json_object();

    if (route->answers)
        (void)json_object_set_new(types, "application/json",
                                  json_pack("{s:o}", "schema", reference(route->answers)));
    if (route->streams)
        (void)json_object_set_new(types, "text/event-stream",
                                  json_pack("{s:{s:s}}", "schema", "type", "string"));
    if (json_object_size(types))
        (void)json_object_set(good, "content", types);
    json_decref(types);
    (void)snprintf(status, sizeof(status), "%d", route->status);
    return json_pack("{s:o, s:o}", status, good, "default", bad);
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

static json_t *body_content(const struct route *route)
{
    json_t *types = content("application/json", schema_json(route->body));

    if (route->takes_files)
        (void)json_object_set_new(types, "multipart/form-data",
                                  json_pack("{s:{s:s}}", "schema", "type", "object"));
    return types;
}

static json_t *operation(const struct route *route)
{
    json_t *parameters = json_array();
    cleanup(buf_done) struct buf id = {0};
    json_t *object;

    buf_init(&id, KIB);
    operation_id(route, &id);
    add_path_parameters(route->path, parameters);
    add_query_parameters(route->query, parameters);
    if (route->takes_key)
        (void)json_array_append_new(
            parameters,
            json_pack("{s:s, s:s, s:{s:s, s:i, s:i}, s:s}", "name", "Idempotency-Key", "in",
                      "header", "schema", "type", "string", "minLength", 1, "maxLength", 255,
                      "description",
                      "a request that is sent again with the same key gets the answer of the first "
                      "and runs nothing; another body under the same key is 422, a key whose "
                      "answer is not kept any more 409"));
    object = json_pack("{s:s, s:s, s:[s], s:o, s:o}", "operationId", buf_str(&id), "summary",
                       route->summary, "tags", route->tag, "parameters", parameters, "responses",
                       responses_of(route));
    if (route->body)
        (void)json_object_set_new(object, "requestBody",
                                  json_pack("{s:o}", "content", body_content(route)));
    else if (route->begin)
        (void)json_object_set_new(object, "requestBody",
                                  json_pack("{s:{s:{}}}", "content", "application/octet-stream"));
    if (route->access == ROUTE_PUBLIC)
        (void)json_object_set_new(object, "security", json_array());
    return object;
}

json_t *openapi_json(const struct route *const *tables)
{
    static const struct json_text_limits limits = {.bytes = 64 * KIB, .depth = 32};
    json_t *paths = json_object(), *parts = NULL;

    for (; *tables; tables++)
        for (const struct route *r = *tables; r->method; r++) {
            char path[256], method[16];
            json_t *item;

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
    return json_pack("{s:s, s:{s:s, s:s}, s:[{s:[]}], s:o, s:o}", "openapi", "3.1.0", "info",
                     "title", "Belljar", "version", BELLJAR_VERSION, "security", "token", "paths",
                     paths, "components", parts);
}
