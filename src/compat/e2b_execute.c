/* Cells of E2B's code interpreter: lines of JSON as things happen. When the client goes, the cell
 * is interrupted; its variables stay. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/date.h"
#include "base/hint.h"
#include "base/json.h"
#include "base/language.h"
#include "base/utf8.h"
#include "compat/e2b_internal.h"

#define LINES_BYTES (256 * MIB)
#define HINT_BYTES  (64 * KIB)
#define PING_MS     5000

static const char ping[] = "{\"type\":\"keepalive\"}\n";

/* Bytes of a character that is cut in two between two reads. */
struct cut {
    char bytes[4];
    size_t len;
};

struct execution {
    struct e2b_stream stream;
    struct job *job; /* NULL: it has not begun */
    bool is_over;
    struct cut cuts[2];
    json_t *held; /* a display that may be the value's, or NULL */
};

/* --- lines --- */

static void say(struct execution *x, json_t *value)
{
    cleanup(buf_done) struct buf line = BUF_OF(LINES_BYTES);

    /* Without memory a line is missing. */
    if (e2b_line_add(&line, value, NULL) == 0)
        e2b_stream_write(&x->stream, buf_str(&line), line.len);
}

static void say_text(struct execution *x, bool is_stderr, const char *data, size_t len)
{
    char date[DATE_SIZE];

    if (!len)
        return;
    date_millis_now(date);
    say(x, json_pack("{s:s, s:o, s:s}", "type", is_stderr ? "stderr" : "stdout", "text",
                     json_text_string(data, len), "timestamp", date));
}

static void on_output(struct execution *x, const struct run_event *event)
{
    bool is_stderr = event->kind == RUN_EVENT_STDERR;
    struct cut *cut = &x->cuts[is_stderr];
    cleanup_free char *joined = malloc(cut->len + event->len + 1);
    size_t len = cut->len + event->len, rest;

    if (!joined)
        return;
    memcpy(joined, cut->bytes, cut->len);
    memcpy(joined + cut->len, event->data, event->len);
    rest = utf8_cut_at_end(joined, len);
    say_text(x, is_stderr, joined, len - rest);
    memcpy(cut->bytes, joined + len - rest, rest);
    cut->len = rest;
}

static void say_held(struct execution *x)
{
    if (x->held)
        say(x, take_ptr(x->held));
}

/* The forms of a cell's value come as its last display, without a text, which the value has. */
static void on_display(struct execution *x, const struct run_display *display)
{
    json_t *value = e2b_display_json(display);

    say_held(x);
    if (run_display_form(display, "text/plain"))
        say(x, value);
    else
        x->held = value;
}

/* The value, with the forms that were shown of it. */
static void say_value(struct execution *x, json_t *value)
{
    if (!value) {
        say_held(x);
        return;
    }
    if (x->held) {
        (void)json_object_update(x->held, value);
        json_decref(value);
        value = take_ptr(x->held);
    }
    say(x, value);
}

static void free_execution(struct execution *x)
{
    json_decref(x->held);
    free(x);
}

static void on_event(void *user, const struct run_event *event)
{
    struct execution *x = user;

    if (event->kind == RUN_EVENT_STDOUT || event->kind == RUN_EVENT_STDERR)
        on_output(x, event);
    else if (event->kind == RUN_EVENT_DISPLAY && event->display)
        on_display(x, event->display);
    if (x->job)
        job_hold(x->job, x->stream.is_behind);
}

/* Programs that were written for a sandbox with a network and packages are told why they fail here.
 * What it takes is the operator's to give, on a command line. */
static void say_hint(struct execution *x, const struct run *run)
{
    const struct run_result *result = &run->result;
    cleanup_free char *hint =
        hint_text(HINT_FOR_CLI, result->exception.hint ? result->exception.hint : result->hint);
    cleanup(buf_done) struct buf line = BUF_OF(HINT_BYTES);

    if (hint && buf_printf(&line, NULL, "hint: %s\n", hint) == 0)
        say_text(x, true, buf_str(&line), line.len);
}

static void on_done(void *user, const struct run *run)
{
    struct execution *x = user;
    json_t *value = run->result.status == RUN_SUCCESS ? e2b_value_json(run) : NULL;
    json_t *error = e2b_error_json(run);

    for (int i = 0; i < 2; i++) /* a character that was never finished */
        say_text(x, i, x->cuts[i].bytes, x->cuts[i].len);
    say_value(x, value);
    if (error) {
        say_hint(x, run);
        say(x, error);
    }
    say(x, json_pack("{s:s}", "type", "end_of_execution"));
    e2b_stream_end(&x->stream);
    x->is_over = true;
    if (x->job)
        free_execution(x); /* else whoever starts it does */
}

/* --- the client --- */

static void on_gone(struct request *request)
{
    struct execution *x = request->user;

    e2b_stream_drop(&x->stream);
    job_abandon(x->job);
    free_execution(x);
}

static void on_drained(struct request *request)
{
    struct execution *x = request->user;

    x->stream.is_behind = false;
    job_hold(x->job, false);
}

/* --- contexts: the kernels of the sandbox --- */

static const enum run_language defaults[] = {RUN_PYTHON, RUN_BASH};

static json_t *context_json(enum run_language language)
{
    const char *name = languages[language].name;

    return json_pack("{s:s, s:s, s:s}", "id", name, "language", name, "cwd", E2B_HOME);
}

/* By the name of its language. -1: there is none. */
static int find_context(const char *id)
{
    for (size_t i = 0; i < ARRAY_SIZE(defaults); i++)
        if (strcmp(languages[defaults[i]].name, id) == 0)
            return (int)defaults[i];
    return -1;
}

static json_t *further_json(const struct context_info *info)
{
    const char *cwd = *info->directory ? info->directory : E2B_HOME;

    return json_pack("{s:s, s:s, s:o}", "id", info->id, "language", languages[info->language].name,
                     "cwd", json_text_string(cwd, strlen(cwd)));
}

/* The default ones come first. */
void e2b_list_contexts(struct request *request)
{
    const struct e2b_sandbox *sandbox = e2b_sandbox_of(request);
    struct context_info info;
    json_t *list;

    if (!sandbox)
        return;
    list = json_array();
    for (size_t i = 0; i < ARRAY_SIZE(defaults); i++)
        (void)json_array_append_new(list, context_json(defaults[i]));
    for (size_t i = 0; session_context_at(sandbox->session, i, &info); i++)
        (void)json_array_append_new(list, further_json(&info));
    request_answer_json(request, 200, list);
}

static int find_language(const char *name, enum run_language *ret_language, struct error *err)
{
    int found = *name ? language_find((struct span){name, strlen(name)}) : (int)RUN_PYTHON;

    if (found < 0) {
        error_set(err, E_UNSUPPORTED, "the language %.32s is not available", name);
        return error_hint(err, "`GET /v1/languages` lists those that are");
    }
    *ret_language = (enum run_language)found;
    return 0;
}

void e2b_make_context(struct request *request)
{
    json_t *body = e2b_body(request);
    struct e2b_sandbox *sandbox = body ? e2b_sandbox_of(request) : NULL;
    const char *cwd = body ? json_get_text(body, "cwd") : "";
    enum run_language language;
    struct context_info info;
    char directory[PATH_MAX];
    struct error err = {0};

    if (!sandbox)
        return;
    if (find_language(json_get_text(body, "language"), &language, &err) < 0 ||
        e2b_path_directory(cwd, directory, &err) < 0 ||
        session_open_context(sandbox->session, language, *cwd ? directory : NULL, &info, &err) < 0)
        request_answer_error(request, &err);
    else
        request_answer_json(request, 200, further_json(&info));
}

/* Clients look for these words. */
static void answer_context(struct request *request, const char *id, int r, struct error *err)
{
    if (r == 0) {
        request_answer_json(request, 200, json_object());
        return;
    }
    if (err->code == E_NOT_FOUND) {
        error_done(err);
        error_set(err, E_NOT_FOUND, "Context %.64s not found", id);
    }
    request_answer_error(request, err);
}

void e2b_restart_context(struct request *request)
{
    const char *id = request->params[0];
    int language = find_context(id), r;
    struct e2b_sandbox *sandbox = e2b_sandbox_of(request);
    struct error err = {0};

    if (!sandbox)
        return;
    r = language >= 0 ? session_restart(sandbox->session, (enum run_language)language, &err)
                      : session_restart_context(sandbox->session, id, &err);
    answer_context(request, id, r, &err);
}

void e2b_remove_context(struct request *request)
{
    const char *id = request->params[0];
    bool is_default = find_context(id) >= 0;
    struct e2b_sandbox *sandbox = e2b_sandbox_of(request);
    struct error err = {0};

    if (!sandbox)
        return;
    if (!is_default) {
        answer_context(request, id, session_close_context(sandbox->session, id, &err), &err);
        return;
    }
    error_set(&err, E_INVALID, "the default contexts stay as long as the sandbox");
    error_hint(&err, "restart the context to lose its variables");
    request_answer_error(request, &err);
}

/* --- execute --- */

/* *ret_context: the id of a further kernel, or "". */
static int read_language(struct e2b_sandbox *sandbox, const json_t *body,
                         enum run_language *ret_language, const char **ret_context,
                         struct error *err)
{
    const char *id = json_get_text(body, "context_id"), *name = json_get_text(body, "language");
    int language = find_context(id);
    struct context_info info;

    *ret_context = "";
    if (*id && *name)
        return error_set(err, E_INVALID, "Only one of context_id or language can be provided");
    if (!*id)
        return find_language(name, ret_language, err);
    if (language >= 0) {
        *ret_language = (enum run_language)language;
        return 0;
    }
    if (session_find_context(sandbox->session, id, &info, NULL) < 0)
        return error_set(err, E_NOT_FOUND, "Context %.64s not found", id);
    *ret_language = info.language;
    *ret_context = info.id;
    return 0;
}

static int make_cell(struct request *request, struct e2b_sandbox *sandbox, const json_t *body,
                     struct run **ret_cell, struct error *err)
{
    struct admission admission = api_admission(request->api, request->caller);
    const json_t *code = json_object_get(body, "code");
    cleanup(run_request_done) struct run_request asked = {.is_notebook = true};
    const char *context;

    if (!json_is_string(code))
        return error_set(err, E_INVALID, "`code` is missing");
    if (read_language(sandbox, body, &asked.language, &context, err) < 0)
        return -1;
    asked.code = (struct span){json_string_value(code), json_string_length(code)};
    run_request_set_limit(&asked, RUN_LIMIT_ROW_timeout_s,
                          api_limit_max(request->api, request->caller, RUN_LIMIT_ROW_timeout_s));
    admission.session = sandbox->session;
    admission.has_skills = true;
    if (admit_request(&admission, &asked, ret_cell, err) < 0)
        return -1;
    (void)snprintf((*ret_cell)->program.context, sizeof((*ret_cell)->program.context), "%s",
                   context);
    return 0;
}

static void begin_stream(struct execution *x, struct e2b_sandbox *sandbox, struct request *request)
{
    x->stream.ping = (struct span){ping, sizeof(ping) - 1};
    x->stream.ping_ms = PING_MS;
    e2b_stream_begin(&x->stream, sandbox->e2b, request, "application/json");
    say(x, json_pack("{s:s, s:i}", "type", "number_of_executions", "execution_count",
                     (int)++sandbox->executions));
}

/* The head leaves at once: a client waits for it only for a while. */
void e2b_execute(struct request *request)
{
    struct api *api = request->api;
    json_t *body = e2b_body(request);
    struct e2b_sandbox *sandbox = body ? e2b_sandbox_of(request) : NULL;
    struct execution *x;
    struct job_order order;
    struct job *job = NULL;
    struct run *cell = NULL;
    struct e2b_variables variables = {0};
    struct error err = {0};

    if (!sandbox)
        return;
    variables.request = request;
    variables.sandbox = sandbox;
    variables.values = json_object_get(body, "env_vars");
    if (make_cell(request, sandbox, body, &cell, &err) < 0 ||
        e2b_variables_begin(&variables, cell, &err) < 0) {
        run_free(cell);
        api_refuse(request, "run", &err);
        return;
    }
    x = calloc(1, sizeof(*x));
    if (!x) {
        run_free(cell);
        error_memory(&err);
        request_answer_error(request, &err);
        return;
    }
    order = job_order_of(request, cell);
    order.session = sandbox->session;
    order.request = NULL;
    order.follower = (struct job_follower){on_event, on_done, x};
    begin_stream(x, sandbox, request);
    if (jobs_start(api->jobs, &order, &request->retry_s, &job, &err) < 0) {
        cleanup(buf_done) struct buf text = BUF_OF(4 * KIB);

        e2b_error_text(&err, &text);
        say(x, json_pack("{s:s, s:s, s:s, s:s}", "type", "error", "name", "SandboxError", "value",
                         buf_str(&text), "traceback", ""));
        say(x, json_pack("{s:s}", "type", "end_of_execution"));
        e2b_stream_end(&x->stream);
        free_execution(x);
        return;
    }
    if (x->is_over) { /* and the request with it */
        free_execution(x);
        return;
    }
    e2b_variables_end(&variables);
    x->job = job;
    request->user = x;
    request->on_gone = on_gone;
    request->on_drained = on_drained;
}
