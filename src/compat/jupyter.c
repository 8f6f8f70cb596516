/* Jupyter's REST interface below `/jupyter`: kernels, and of sessions and files as much as its
 * clients ask for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error_json.h"
#include "base/json.h"
#include "base/language.h"
#include "compat/compat.h"
#include "compat/jupyter_internal.h"

#define BODY_BYTES (64 * KIB)
#define NAME_BYTES 1024

/* Bodies are read leniently: clients send more than we know. */
static const struct schema_field any_fields[] = {{0}};

/* `message` is where its clients look, `error` where ours do. */
void jupyter_answer_error(struct request *request, struct error *err)
{
    int status = error_code_http(err->code);
    json_t *body = error_json(err, HINT_FOR_HTTP);
    const char *text = error_message(err);

    (void)json_object_set_new(body, "message", json_text_string(text, strlen(text)));
    error_done(err);
    request_answer_json(request, status, body);
}

static struct jupyter_kernel *find(struct request *request, const char *id)
{
    struct jupyter_kernel *kernel = jupyter_kernel_find(request, id);
    struct error err = {0};

    if (!kernel) {
        error_set(&err, E_NOT_FOUND, "there is no such kernel");
        error_hint(&err, "/jupyter/api/kernels lists them; one that is idle for long ends");
        jupyter_answer_error(request, &err);
    }
    return kernel;
}

static struct jupyter_kernel *find_kernel(struct request *request)
{
    return find(request, request->params[0]);
}

/* -1: the answer has been given. */
static int read_body(struct request *request, json_t **ret_body)
{
    static const struct json_text_limits limits = {.bytes = BODY_BYTES, .depth = 16};
    struct error err = {0};

    *ret_body = NULL;
    if (request->body.len == 0)
        return 0;
    if (json_text_load(buf_str(&request->body), request->body.len, &limits, ret_body, &err) == 0)
        return 0;
    jupyter_answer_error(request, &err);
    return -1;
}

/* --- what there is --- */

static void show_version(struct request *request)
{
    request_answer_json(request, 200, json_pack("{s:s}", "version", "2.14.0"));
}

static json_t *spec_json(enum run_language language)
{
    const char *name = jupyter_kernel_name(language);
    char title[64];

    (void)snprintf(title, sizeof(title), "%s (Belljar)", languages[language].title);
    return json_pack("{s:s, s:{s:[], s:{}, s:s, s:s, s:s, s:{}}, s:{}}", "name", name, "spec",
                     "argv", "env", "display_name", title, "language", languages[language].name,
                     "interrupt_mode", "message", "metadata", "resources");
}

static void list_specs(struct request *request)
{
    json_t *list = json_object();

    for (size_t i = 0; i < RUN_LANGUAGES; i++)
        if (language_is_installed((enum run_language)i))
            (void)json_object_set_new(list, jupyter_kernel_name((enum run_language)i),
                                      spec_json((enum run_language)i));
    request_answer_json(request, 200,
                        json_pack("{s:s, s:o}", "default", "python3", "kernelspecs", list));
}

/* --- kernels --- */

static void list_kernels(struct request *request)
{
    const struct api *api = request->api;
    const struct jupyter_kernel *kernel;
    json_t *list = json_array();

    LIST_FOREACH(kernel, &api->jupyter->kernels, link)
        if (jupyter_kernel_find(request, kernel->id) == kernel)
            (void)json_array_append_new(list, jupyter_kernel_json(kernel));
    request_answer_json(request, 200, list);
}

static void open_kernel(struct request *request)
{
    cleanup_json json_t *body = NULL;
    struct jupyter_kernel *kernel;
    struct error err = {0};
    char location[128];

    if (read_body(request, &body) < 0)
        return;
    if (jupyter_kernel_open(request, json_string_value(json_object_get(body, "name")), &kernel,
                            &err) < 0) {
        jupyter_answer_error(request, &err);
        return;
    }
    (void)snprintf(location, sizeof(location), "Location: /jupyter/api/kernels/%s\r\n", kernel->id);
    request_answer_json_with(request, 201, location, jupyter_kernel_json(kernel));
}

static void show_kernel(struct request *request)
{
    const struct jupyter_kernel *kernel = find_kernel(request);

    if (kernel)
        request_answer_json(request, 200, jupyter_kernel_json(kernel));
}

static void close_kernel(struct request *request)
{
    struct jupyter_kernel *kernel = find_kernel(request);

    if (!kernel)
        return;
    session_close(kernel->session, "it was closed by its owner");
    request_answer_empty(request, 204);
}

static void interrupt(struct request *request)
{
    struct jupyter_kernel *kernel = find_kernel(request);

    if (!kernel)
        return;
    jupyter_kernel_interrupt(kernel);
    request_answer_empty(request, 204);
}

static void restart(struct request *request)
{
    struct jupyter_kernel *kernel = find_kernel(request);
    struct error err = {0};

    if (!kernel)
        return;
    if (jupyter_kernel_restart(kernel, &err) < 0)
        jupyter_answer_error(request, &err);
    else
        request_answer_json(request, 200, jupyter_kernel_json(kernel));
}

/* --- sessions: a notebook's name for a kernel, under the same id --- */

static json_t *session_json(const struct jupyter_kernel *kernel)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:{s:s, s:s}}", "id", kernel->id, "path",
                     kernel->path, "name", kernel->name, "type", kernel->type, "kernel",
                     jupyter_kernel_json(kernel), "notebook", "path", kernel->path, "name",
                     kernel->name);
}

static void list_sessions(struct request *request)
{
    const struct api *api = request->api;
    const struct jupyter_kernel *kernel;
    json_t *list = json_array();

    LIST_FOREACH(kernel, &api->jupyter->kernels, link)
        if (kernel->path && jupyter_kernel_find(request, kernel->id) == kernel)
            (void)json_array_append_new(list, session_json(kernel));
    request_answer_json(request, 200, list);
}

/* Replaces the text if the body has another one. */
static void take_text(const json_t *body, const char *name, char **text)
{
    const json_t *value = json_object_get(body, name);
    const char *given = json_is_string(value) ? json_string_value(value) : NULL;
    char *copy = given && strlen(given) <= NAME_BYTES ? strdup(given) : NULL;

    if (!copy && !*text)
        copy = strdup("");
    if (!copy)
        return;
    free(*text);
    *text = copy;
}

static void name_session(struct jupyter_kernel *kernel, const json_t *body)
{
    take_text(body, "path", &kernel->path);
    take_text(body, "name", &kernel->name);
    take_text(body, "type", &kernel->type);
}

static void open_session(struct request *request)
{
    cleanup_json json_t *body = NULL;
    const json_t *asked;
    const char *id;
    struct jupyter_kernel *kernel = NULL;
    struct error err = {0};

    if (read_body(request, &body) < 0)
        return;
    asked = json_object_get(body, "kernel");
    id = json_string_value(json_object_get(asked, "id"));
    if (id && !(kernel = find(request, id)))
        return;
    if (!kernel && jupyter_kernel_open(request, json_string_value(json_object_get(asked, "name")),
                                       &kernel, &err) < 0) {
        jupyter_answer_error(request, &err);
        return;
    }
    name_session(kernel, body);
    request_answer_json(request, 201, session_json(kernel));
}

static struct jupyter_kernel *find_session(struct request *request)
{
    struct jupyter_kernel *kernel = find_kernel(request);
    struct error err = {0};

    if (!kernel || kernel->path)
        return kernel;
    error_set(&err, E_NOT_FOUND, "there is no such session");
    jupyter_answer_error(request, &err);
    return NULL;
}

static void show_session(struct request *request)
{
    const struct jupyter_kernel *kernel = find_session(request);

    if (kernel)
        request_answer_json(request, 200, session_json(kernel));
}

static void change_session(struct request *request)
{
    cleanup_json json_t *body = NULL;
    struct jupyter_kernel *kernel;

    if (read_body(request, &body) < 0 || !(kernel = find_session(request)))
        return;
    name_session(kernel, body);
    request_answer_json(request, 200, session_json(kernel));
}

static void close_session(struct request *request)
{
    if (find_session(request))
        close_kernel(request);
}

/* --- files: the client keeps notebooks on its own side --- */

static void show_root(struct request *request)
{
    static const char date[] = "1970-01-01T00:00:00Z";

    request_answer_json(request, 200,
                        json_pack("{s:s, s:s, s:s, s:s, s:b, s:s, s:s, s:[], s:n, s:n}", "name", "",
                                  "path", "", "type", "directory", "format", "json", "writable", 0,
                                  "created", date, "last_modified", date, "content", "mimetype",
                                  "size"));
}

static void list_nothing(struct request *request)
{
    request_answer_json(request, 200, json_array());
}

/* Clients say of a body that it is text. */
/* clang-format off */
#define COMMON .identify = jupyter_identify, .passes_query = true, .is_unlisted = true
#define ROW(method_, path_, handle_, status_, summary_)                                            \
    {(method_), "/jupyter/api" path_, (handle_), .status = (status_), COMMON,                      \
     .summary = (summary_)}
#define BODY_ROW(method_, path_, handle_, status_, summary_)                                       \
    {(method_), "/jupyter/api" path_, (handle_), .body = any_fields, .max_body = BODY_BYTES,       \
     .reads_body = true, .body_type = ROUTE_ANY_TYPE, .status = (status_), COMMON,                 \
     .summary = (summary_)}

const struct route jupyter_routes[] = {
    ROW("GET", "", show_version, 200, "the version of the interface"),
    ROW("GET", "/kernelspecs", list_specs, 200, "which kernels there may be"),
    ROW("GET", "/kernels", list_kernels, 200, "the caller's kernels"),
    BODY_ROW("POST", "/kernels", open_kernel, 201, "open a kernel"),
    ROW("GET", "/kernels/{kernel}", show_kernel, 200, "one kernel"),
    ROW("DELETE", "/kernels/{kernel}", close_kernel, 204, "end a kernel"),
    BODY_ROW("POST", "/kernels/{kernel}/interrupt", interrupt, 204, "stop the cell that runs"),
    BODY_ROW("POST", "/kernels/{kernel}/restart", restart, 200, "a fresh kernel"),
    ROW("GET", "/kernels/{kernel}/channels", jupyter_connect, 101, "its messages, on a WebSocket"),
    ROW("GET", "/sessions", list_sessions, 200, "notebooks and their kernels"),
    BODY_ROW("POST", "/sessions", open_session, 201, "open a kernel for a notebook"),
    ROW("GET", "/sessions/{session}", show_session, 200, "a notebook and its kernel"),
    BODY_ROW("PATCH", "/sessions/{session}", change_session, 200, "rename a notebook"),
    ROW("DELETE", "/sessions/{session}", close_session, 204, "end the kernel of a notebook"),
    ROW("GET", "/contents", show_root, 200, "an empty directory"),
    ROW("GET", "/terminals", list_nothing, 200, "none"),
    {0},
};
/* clang-format on */
