/* The work of a kernel: cells, and what a prompt wants to know (completion, inspection), which are
 * short cells of ours. All are jobs like any other: admitted, queued, recorded, masked. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/utf8.h"
#include "calls/call.h"
#include "compat/jupyter_internal.h"

/* Seconds that a program may take to say how a word goes on. */
#define PROMPT_S 5

/* Of a report of an exception that is held back, and of what an inspection says. */
#define TRACE_MAX ((size_t)(256 * KIB))
#define TEXT_MAX  ((size_t)(64 * KIB))

#define LINES_MAX 1000

void jupyter_work_free(struct jupyter_work *work)
{
    if (work->input) {
        work->input->on_cancel = NULL;
        work->input->user = NULL;
    }
    store_read_end(&work->fresh);
    json_decref(work->header);
    json_decref(work->display);
    buf_done(&work->text);
    free(work->code);
    free(work);
}

void jupyter_work_forget(struct jupyter_work *work, const struct jupyter_client *client)
{
    if (work->client == client)
        work->client = NULL;
}

/* --- answers --- */

static const char *const replies[] = {
    [JUPYTER_EXECUTE] = "execute_reply",
    [JUPYTER_COMPLETE] = "complete_reply",
    [JUPYTER_INSPECT] = "inspect_reply",
};

static void reply(const struct jupyter_work *work, json_t *content)
{
    jupyter_reply(work->client, JUPYTER_SHELL, replies[work->kind], work->header, content);
}

static json_t *text_json(const char *text)
{
    return json_text_string(text, strlen(text));
}

/* Whether what follows a `<` may become an element that does something. `<module>` does not. */
static bool begins_tag(struct span rest)
{
    size_t n = 0;

    if (!rest.len || (!isalpha((unsigned char)*rest.data) && !memchr("/!?", *rest.data, 3)))
        return false;
    while (n < rest.len && (isalnum((unsigned char)rest.data[n]) || rest.data[n] == '_'))
        n++;
    return !n || n == rest.len || rest.data[n] != '>' ||
           span_is_nocase((struct span){rest.data, n}, "style");
}

/* An editor takes the lines of a report for HTML, unless a sequence of a terminal stands within
 * what would be a tag. Nobody sees that one. */
static json_t *line_json(const char *text, size_t len)
{
    cleanup(buf_done) struct buf line = BUF_OF(8 * TRACE_MAX);
    struct span rest = {text, len};

    while (rest.len) {
        size_t n = span_until(rest, "<");

        n += n < rest.len;
        if (buf_add(&line, rest.data, n, NULL) < 0)
            return json_string("");
        text = rest.data + n;
        rest = (struct span){text, rest.len - n};
        if (text[-1] == '<' && begins_tag(rest) && buf_add_str(&line, "\x1b[0m", NULL) < 0)
            return json_string("");
    }
    return json_text_string(buf_str(&line), line.len);
}

/* Line by line, as notebooks show it. */
static json_t *lines_json(const char *text)
{
    json_t *list = json_array();

    for (size_t i = 0; text && *text && i < LINES_MAX; i++) {
        size_t n = strcspn(text, "\n");

        (void)json_array_append_new(list, line_json(text, n));
        text += n + (text[n] == '\n');
    }
    return list;
}

static void stream(struct jupyter_work *work, const char *name, const char *text, size_t len)
{
    if (len && !work->is_silent)
        jupyter_publish(work->kernel, "stream", work->header,
                        json_pack("{s:s, s:o}", "name", name, "text", json_text_string(text, len)));
}

/* --- while it runs --- */

void jupyter_work_hold(struct jupyter_work *work)
{
    bool is_held = jupyter_is_behind(work->kernel);

    if (!work->run || is_held == work->is_held)
        return;
    work->is_held = is_held;
    pool_hold(work->run, is_held);
}

static void flush_display(struct jupyter_work *work)
{
    json_t *data = work->display;

    work->display = NULL;
    if (data && !work->is_silent)
        jupyter_publish(work->kernel, "display_data", work->header,
                        json_pack("{s:o, s:{}, s:{}}", "data", data, "metadata", "transient"));
    else
        json_decref(data);
}

/* As much as an answer keeps. A character that is cut waits for its end. */
static void on_output(struct jupyter_work *work, const struct run_event *event)
{
    bool is_stderr = event->kind == RUN_EVENT_STDERR;
    uint64_t limit = work->run->terms.limits.output_bytes;
    cleanup_free char *joined = NULL;
    size_t len = event->len, had = work->n_cuts[is_stderr], rest;

    if (event->offset >= limit)
        return;
    len = len < limit - event->offset ? len : (size_t)(limit - event->offset);
    joined = malloc(had + len + 1);
    if (!joined)
        return;
    memcpy(joined, work->cuts[is_stderr], had);
    memcpy(joined + had, event->data, len);
    len += had;
    rest = utf8_cut_at_end(joined, len);
    memcpy(work->cuts[is_stderr], joined + len - rest, rest);
    work->n_cuts[is_stderr] = rest;
    if (work->kind == JUPYTER_INSPECT)
        (void)buf_add(&work->text, joined, len - rest, NULL);
    else if (len > rest)
        stream(work, is_stderr ? "stderr" : "stdout", joined, len - rest);
}

/* One without text may be the value of the cell, whose text comes with the result. */
static void on_display(struct jupyter_work *work, const struct run_display *display)
{
    work->display = jupyter_display_json(display);
    if (run_display_form(display, "text/plain"))
        flush_display(work);
}

static void on_cancel(struct call *call)
{
    struct jupyter_work *work = call->user;

    work->input = NULL;
}

/* The prompt itself came as output. */
static void on_input(struct jupyter_work *work, struct call *call)
{
    if (!work->client || work->input) {
        call_refuse_line(call);
        return;
    }
    work->input = call;
    call->user = work;
    call->on_cancel = on_cancel;
    jupyter_reply(work->client, JUPYTER_STDIN, "input_request", work->header,
                  json_pack("{s:s, s:b}", "prompt", "", "password", call_line_is_hidden(call)));
}

void jupyter_work_input(struct jupyter_work *work, const char *line, size_t len)
{
    cleanup(buf_done) struct buf text = BUF_OF(len + 2);
    struct call *call = work->input;

    if (!call)
        return;
    work->input = NULL;
    call->on_cancel = NULL;
    if (line && buf_add(&text, line, len, NULL) == 0 && buf_add_str(&text, "\n", NULL) == 0)
        call_give_line(call, buf_str(&text), text.len);
    else
        call_give_line(call, NULL, 0);
}

static void on_event(void *user, const struct run_event *event)
{
    struct jupyter_work *work = user;

    if (event->kind == RUN_EVENT_PROGRESS || event->kind == RUN_EVENT_APPROVAL)
        return;
    flush_display(work);
    if (event->kind == RUN_EVENT_STDOUT || event->kind == RUN_EVENT_STDERR)
        on_output(work, event);
    else if (event->kind == RUN_EVENT_INPUT)
        on_input(work, event->input);
    else if (event->kind == RUN_EVENT_DISPLAY && event->display)
        on_display(work, event->display);
    jupyter_work_hold(work);
}

/* --- its end --- */

struct failure {
    const char *name, *message, *traceback;
};

static json_t *failure_json(const struct jupyter_work *work, const struct failure *f,
                            const char *status)
{
    json_t *content = json_pack("{s:o, s:o, s:o}", "ename", text_json(f->name), "evalue",
                                text_json(f->message), "traceback", lines_json(f->traceback));

    if (content && status)
        (void)json_object_update_new(content, json_pack("{s:s, s:I, s:[], s:{}}", "status", status,
                                                        "execution_count", (json_int_t)work->count,
                                                        "payload", "user_expressions"));
    return content;
}

static void fail(struct jupyter_work *work, const struct failure *f)
{
    if (work->kind == JUPYTER_EXECUTE)
        jupyter_publish(work->kernel, "error", work->header, failure_json(work, f, NULL));
    reply(work, failure_json(work, f, "error"));
}

void jupyter_work_abort(struct jupyter_work *work, const char *status, const char *why)
{
    const struct failure f = {"Aborted", why, why};

    jupyter_publish_state(work->kernel, "busy", work->header);
    reply(work, failure_json(work, &f, status));
    jupyter_publish_state(work->kernel, "idle", work->header);
}

/* The end of a run that its program did not report itself. */
static void explain(const struct run *run, struct buf *text, struct failure *f)
{
    const struct run_result *r = &run->result;

    if (r->error.code != E_NONE) {
        f->name = "BelljarError";
        (void)buf_printf(text, NULL, "%s%s%s", r->error.message ? r->error.message : "failed",
                         r->error.hint ? "; " : "", r->error.hint ? r->error.hint : "");
    } else if (r->status == RUN_TIMEOUT) {
        f->name = "TimeoutError";
        (void)buf_printf(text, NULL, "the cell ran longer than %g seconds",
                         run->terms.limits.timeout_ms / 1000.0);
    } else if (r->status == RUN_MEMORY_EXCEEDED) {
        f->name = "MemoryError";
        (void)buf_add_str(text, "the cell used more memory than it may", NULL);
    } else if (r->status == RUN_CANCELLED) {
        f->name = "KeyboardInterrupt";
        (void)buf_add_str(text, "the cell was interrupted", NULL);
    } else if (r->status == RUN_REFUSED && r->n_violations) {
        f->name = "Refused";
        (void)buf_add_str(text, r->violations[0].message ? r->violations[0].message : "", NULL);
    } else {
        f->name = "ExitError";
        (void)buf_printf(text, NULL, "the cell ended with status %d", r->exit_code);
    }
    if (r->state == RUN_STATE_LOST)
        (void)buf_add_str(text, "; the kernel had to be ended, and its variables are lost", NULL);
    f->message = f->traceback = buf_str(text);
}

static void end_badly(struct jupyter_work *work, const struct run *run)
{
    cleanup(buf_done) struct buf text = BUF_OF(TEXT_MAX);
    const struct run_exception *e = &run->result.exception;
    struct failure f = {e->name, e->message ? e->message : "",
                        e->traceback ? e->traceback : e->message};

    if (run->result.error.code != E_NONE || run->result.status != RUN_ERROR || !e->name)
        explain(run, &text, &f);
    fail(work, &f);
}

/* The value of the cell, with the forms that were shown with it. */
static void publish_value(struct jupyter_work *work, const char *text)
{
    json_t *data = work->display ? work->display : json_object();

    work->display = NULL;
    (void)json_object_set_new(data, "text/plain", text_json(text));
    if (work->is_silent)
        json_decref(data);
    else
        jupyter_publish(work->kernel, "execute_result", work->header,
                        json_pack("{s:I, s:o, s:{}}", "execution_count", (json_int_t)work->count,
                                  "data", data, "metadata"));
}

/* Also one that has handled an interrupt, and came to its end. */
static bool is_good(const struct run *run)
{
    const struct run_result *r = &run->result;

    return r->error.code == E_NONE &&
           (r->status == RUN_SUCCESS || (r->status == RUN_CANCELLED && r->has_finished));
}

static void end_cell(struct jupyter_work *work, const struct run *run)
{
    static const char *const names[] = {"stdout", "stderr"};
    const struct run_stream *const streams[] = {&run->result.out, &run->result.err};
    bool is_well = is_good(run);

    for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
        static const char note[] = "\n[the rest of this output was left out]\n";

        stream(work, names[i], work->cuts[i], work->n_cuts[i]);
        if (streams[i]->total > run->terms.limits.output_bytes)
            stream(work, names[i], note, sizeof(note) - 1);
    }
    if (!is_well || !run->result.value_text)
        flush_display(work);
    if (!is_well) {
        end_badly(work, run);
        return;
    }
    if (run->result.value_text)
        publish_value(work, run->result.value_text);
    reply(work, json_pack("{s:s, s:I, s:[], s:{}}", "status", "ok", "execution_count",
                          (json_int_t)work->count, "payload", "user_expressions"));
}

/* --- prompts --- */

/* Characters in so many bytes. */
static json_int_t characters(const char *text, size_t bytes)
{
    json_int_t n = 0;

    for (size_t i = 0; i < bytes; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

/* {"start": bytes, "words": [...]}: a program's word. What has another form counts for nothing. */
static void end_completion(struct jupyter_work *work, const struct run *run)
{
    static const struct json_text_limits limits = {.bytes = MIB, .depth = 2};
    const char *json = run->result.status == RUN_SUCCESS ? run->result.value_json : NULL;
    cleanup_json json_t *answer = NULL;
    cleanup_error struct error ignored = {0};
    json_t *words = NULL;
    json_int_t start = 0;

    if (json && json_text_load(json, strlen(json), &limits, &answer, &ignored) == 0) {
        words = json_object_get(answer, "words");
        start = json_integer_value(json_object_get(answer, "start"));
    }
    if (!json_are_strings(words) || start < 0 || (size_t)start > work->cursor) {
        words = NULL;
        start = (json_int_t)work->cursor;
    }
    reply(work, json_pack("{s:s, s:o, s:I, s:I, s:{}}", "status", "ok", "matches",
                          words ? json_incref(words) : json_array(), "cursor_start",
                          characters(work->code, (size_t)start), "cursor_end",
                          characters(work->code, work->cursor), "metadata"));
}

static void answer_inspection(struct jupyter_work *work, const char *text, size_t len)
{
    json_t *data = json_object();

    if (len)
        (void)json_object_set_new(data, "text/plain", json_text_string(text, len));
    reply(work, json_pack("{s:s, s:b, s:o, s:{}}", "status", "ok", "found", len > 0, "data", data,
                          "metadata"));
}

static void end_inspection(struct jupyter_work *work, const struct run *run)
{
    bool is_found = run->result.status == RUN_SUCCESS && run->result.error.code == E_NONE &&
                    strncmp(buf_str(&work->text), "Object `", 8) != 0;

    answer_inspection(work, buf_str(&work->text), is_found ? work->text.len : 0);
}

static void on_done(void *user, const struct run *run)
{
    struct jupyter_work *work = user;
    bool has_failed = !is_good(run);

    work->job = NULL;
    work->run = NULL;
    if (work->kind == JUPYTER_EXECUTE)
        end_cell(work, run);
    else if (work->kind == JUPYTER_COMPLETE)
        end_completion(work, run);
    else
        end_inspection(work, run);
    if (run->result.state == RUN_STATE_LOST && !work->kernel->restarts)
        jupyter_publish_state(work->kernel, "restarting", NULL); /* by itself */
    jupyter_publish_state(work->kernel, "idle", work->header);
    jupyter_kernel_next(work->kernel, has_failed && work->kind == JUPYTER_EXECUTE);
}

/* --- its beginning --- */

static bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

/* `name.attribute` at the cursor. */
static struct span name_at(const struct jupyter_work *work)
{
    size_t from = work->cursor, to = work->cursor;

    while (from > 0 && is_of_name(work->code[from - 1]))
        from--;
    while (to < work->len && is_of_name(work->code[to]) && work->code[to] != '.')
        to++;
    while (to > from && work->code[to - 1] == '.')
        to--;
    return (struct span){work->code + from, to - from};
}

/* The program of the work; an empty one: there is nothing to run. */
static int program_of(const struct jupyter_work *work, struct buf *code, struct error *err)
{
    struct span name = name_at(work);

    if (work->kind == JUPYTER_EXECUTE)
        return buf_add(code, work->code, work->len, err);
    if (work->kernel->language != RUN_PYTHON)
        return 0;
    if (work->kind == JUPYTER_COMPLETE)
        return buf_printf(code, err, "%%%%complete\n%.*s", (int)work->cursor, work->code);
    return name.len ? buf_printf(code, err, "%.*s?", (int)name.len, name.data) : 0;
}

static int start(struct jupyter_work *work, const struct buf *code, struct error *err)
{
    struct jupyter_kernel *kernel = work->kernel;
    const struct api *api = kernel->api;
    struct admission admission = api_admission(api, work->caller);
    bool is_cell = work->kind == JUPYTER_EXECUTE;
    struct run_request asked = {
        .code = {buf_str(code), code->len},
        .language = kernel->language,
        .can_type = is_cell && work->can_type && work->client,
        .is_notebook = is_cell,
    };
    double most = api_limit_max(api, work->caller, RUN_LIMIT_ROW_timeout_s);
    struct job_order order = {
        .session = kernel->session,
        .owner = kernel->owner,
        .caller = work->caller,
        .is_detached = true,
        .follower = {on_event, on_done, work},
    };
    unsigned retry_s = 0;

    run_request_set_limit(&asked, RUN_LIMIT_ROW_timeout_s,
                          is_cell || PROMPT_S > most ? most : PROMPT_S);
    admission.session = kernel->session;
    admission.has_skills = admission.may_keep = true;
    if (admit_request(&admission, &asked, &order.run, err) < 0)
        return -1;
    work->run = order.run;
    if (jobs_start(api->jobs, &order, &retry_s, &work->job, err) == 0)
        return 0;
    work->run = NULL;
    return -1;
}

static void end_unstarted(struct jupyter_work *work, struct error *err)
{
    const struct failure f = {"BelljarError", error_message(err), err->hint ? err->hint : ""};
    bool is_cell = work->kind == JUPYTER_EXECUTE, has_failed = err->code != E_NONE && is_cell;

    if (err->code != E_NONE)
        fail(work, &f);
    else if (is_cell)
        reply(work, json_pack("{s:s, s:I, s:[], s:{}}", "status", "ok", "execution_count",
                              (json_int_t)work->count, "payload", "user_expressions"));
    else if (work->kind == JUPYTER_INSPECT)
        answer_inspection(work, NULL, 0);
    else
        reply(work, json_pack("{s:s, s:[], s:I, s:I, s:{}}", "status", "ok", "matches",
                              "cursor_start", characters(work->code, work->cursor), "cursor_end",
                              characters(work->code, work->cursor), "metadata"));
    error_done(err);
    jupyter_publish_state(work->kernel, "idle", work->header);
    jupyter_kernel_next(work->kernel, has_failed);
}

static void begin(void *arg)
{
    struct jupyter_work *work = arg;
    cleanup(buf_done) struct buf code = BUF_OF(2 * LIMIT_CODE_BYTES);
    struct error err = {0};

    if (program_of(work, &code, &err) < 0 || !code.len || start(work, &code, &err) < 0)
        end_unstarted(work, &err);
}

void jupyter_work_begin(struct jupyter_work *work)
{
    struct jupyter_kernel *kernel = work->kernel;

    buf_init(&work->text, TEXT_MAX);
    jupyter_publish_state(kernel, "busy", work->header);
    if (work->kind == JUPYTER_EXECUTE) {
        kernel->cells += work->keeps_history && !work->is_silent;
        work->count = kernel->cells;
        if (!work->is_silent)
            jupyter_publish(kernel, "execute_input", work->header,
                            json_pack("{s:o, s:I}", "code", json_text_string(work->code, work->len),
                                      "execution_count", (json_int_t)work->count));
    }
    if (work->kind == JUPYTER_EXECUTE && store_read_is_needed(work->code, work->len))
        store_read_begin(&work->fresh, kernel->api, work->caller->keeper, begin, work);
    else
        begin(work);
}
