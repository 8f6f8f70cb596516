/* A run's events on their way to a client: start, stdout, stderr, display, progress,
 * approval, input, and at the end result or error. */
#include <stdlib.h>
#include <string.h>

#include "api/display.h"
#include "api/job_internal.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "calls/approval.h"
#include "calls/call.h"

#define TICK_MS 1000

/* Proxies close what is silent for a minute or less. */
#define COMMENT_TICKS 15

/* Time to reconnect after a lost connection before the run is cancelled. */
#define RETURN_MS 10000

/* --- back-pressure --- */

void job_hold_for_readers(struct job *job)
{
    job_hold(job, sse_is_behind(&job->events) || job_is_read_slowly(job));
}

/* --- events --- */

void job_add_event(struct job *job, const char *name, json_t *value)
{
    struct shared *text = shared_new();

    /* Without memory an event is missing; the result at the end has it all. */
    if (value && text && json_text_dump(value, JSON_TEXT_COMPACT, &text->text, NULL) == 0)
        (void)sse_add_shared(&job->events, name, text, text->text.len, NULL);
    shared_unref(text);
    json_decref(value);
}

static void add_text(struct job *job, bool is_stderr, uint64_t offset, const char *data, size_t len)
{
    if (len)
        job_add_event(job, is_stderr ? "stderr" : "stdout",
                      json_pack("{s:o, s:I}", "text", json_text_string(data, len), "offset",
                                (json_int_t)offset));
}

/* As much as the answer keeps; from there on the end, which is not known yet, counts more than the
 * middle. */
static void on_output(struct job *job, const struct run_event *event)
{
    bool is_stderr = event->kind == RUN_EVENT_STDERR;
    struct job_cut *cut = &job->cuts[is_stderr];
    uint64_t limit = job->run->terms.limits.output_bytes;
    cleanup_free char *joined = NULL;
    size_t len = event->len, rest;

    if (event->offset >= limit)
        return;
    len = len < limit - event->offset ? len : (size_t)(limit - event->offset);
    joined = malloc(cut->len + len);
    if (!joined)
        return;
    memcpy(joined, cut->bytes, cut->len);
    memcpy(joined + cut->len, event->data, len);
    len += cut->len;
    rest = utf8_cut_at_end(joined, len);
    add_text(job, is_stderr, event->offset - cut->len, joined, len - rest);
    memcpy(cut->bytes, joined + len - rest, rest);
    cut->len = rest;
}

static void on_display(struct job *job, const struct run_event *event)
{
    json_t *forms = json_array();

    if (forms && event->display && display_json_add(forms, event->display, event->offset) == 0)
        job_add_event(job, "display", json_pack("{s:o}", "displays", forms));
    else
        json_decref(forms);
}

/* Reports can be made faster than anybody reads; a missed one is replaced by the next. */
static void on_progress(struct job *job, const struct run_event *event)
{
    if (!sse_is_behind(&job->events))
        job_add_event(job, "progress",
                      json_pack("{s:I, s:o, s:o}", "done", (json_int_t)event->done, "total",
                                event->total ? json_integer((json_int_t)event->total) : json_null(),
                                "text", json_text_string(event->data, event->len)));
}

static void on_approval(struct job *job, const struct run_event *event)
{
    job_add_event(job, "approval", approval_json(event->approval));
}

static void on_input(struct job *job, const struct run_event *event)
{
    if (job_want_line(job, event->input))
        job_add_event(job, "input",
                      json_pack("{s:s, s:i, s:b}", "run_id", job->id, "expires_in_s",
                                LIMIT_INPUT_LINE_S, "hidden", call_line_is_hidden(event->input)));
}

static void on_event(struct run *run, const struct run_event *event)
{
    struct job *job = run->user;

    if (event->kind == RUN_EVENT_CALL)
        job_forward_call(job, event->input);
    else if (event->kind == RUN_EVENT_APPROVAL)
        on_approval(job, event);
    else if (event->kind == RUN_EVENT_INPUT)
        on_input(job, event);
    else if (event->kind == RUN_EVENT_DISPLAY)
        on_display(job, event);
    else if (event->kind == RUN_EVENT_PROGRESS)
        on_progress(job, event);
    else
        on_output(job, event);
    job_hold_for_readers(job);
    job_wake_readers(job);
}

/* --- readers --- */

static void on_gone(struct request *request)
{
    struct job *job = request->user;

    if (job->events.reader != request)
        return;
    sse_detach(&job->events);
    job->left_ns = loop_now_ns();
}

static void on_drained(struct request *request)
{
    struct job *job = request->user;

    sse_pump(&job->events);
    job_hold_for_readers(job);
}

void job_begin_ticks(struct jobs *jobs)
{
    if (!jobs->is_ticking)
        loop_timer_start(jobs->tick, TICK_MS);
    jobs->is_ticking = true;
}

static void attach(struct job *job, struct request *request, uint64_t after_id)
{
    request->user = job;
    request->on_gone = on_gone;
    request->on_drained = on_drained;
    job->left_ns = 0;
    job_begin_ticks(job->jobs);
    sse_attach(&job->events, request, after_id);
    job_hold_for_readers(job);
}

void job_stream_begin(struct job *job, struct request *request)
{
    job->is_stream = true;
    job->run->on_event = on_event;
    job_add_event(job, "start",
                  json_pack("{s:s, s:s}", "id", job->id, "correlation_id", job->correlation_id));
    attach(job, request, 0);
}

/* The answer without its newline. */
static void add_last(struct job *job)
{
    size_t len = job->answer->text.len;

    (void)sse_add_shared(&job->events, job->status == 200 ? "result" : "error", job->answer,
                         len ? len - 1 : 0, NULL);
}

void job_stream_end(struct job *job)
{
    for (int i = 0; i < 2; i++) /* a character that was never finished */
        if (job->cuts[i].len)
            job_add_event(
                job, i ? "stderr" : "stdout",
                json_pack("{s:o}", "text", json_text_string(job->cuts[i].bytes, job->cuts[i].len)));
    if (job->is_stream || job->events.reader)
        add_last(job);
    sse_finish(&job->events);
}

static int read_last_id(const struct request *request, uint64_t *ret_id, struct error *err)
{
    struct span text = request_header(request, "last-event-id");
    uint64_t id = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || i >= 15)
            return error_set(err, E_INVALID, "Last-Event-ID is not the id of an event");
        id = id * 10 + (uint64_t)(text.data[i] - '0');
    }
    *ret_id = id;
    return 0;
}

void job_follow(struct job *job, struct request *request)
{
    struct error err = {0};
    uint64_t id = 0;

    if (read_last_id(request, &id, &err) < 0) {
        request_answer_error(request, &err);
        return;
    }
    if (!job->run && !job->events.last_id) { /* nobody has followed it so far */
        add_last(job);
        job->bytes += job->events.unsent_bytes;
        job->jobs->kept_bytes += job->events.unsent_bytes;
    }
    attach(job, request, id < job->events.last_id ? id : job->events.last_id);
}

void job_stream_tick(void *arg)
{
    struct jobs *jobs = arg;
    uint64_t now = loop_now_ns();

    jobs->ticks++;
    for (struct job *job = TAILQ_FIRST(&jobs->all); job; job = TAILQ_NEXT(job, link)) {
        if (jobs->ticks % COMMENT_TICKS == 0) {
            sse_keep_alive(&job->events);
            job_comment_readers(job);
        }
        if (job->is_stream && job->run && job->left_ns && !job_goes_on(job) &&
            (now - job->left_ns) / 1000000 >= RETURN_MS)
            job_cancel(job);
    }
    jobs->is_ticking = jobs->n_running > 0;
    if (jobs->is_ticking)
        loop_timer_start(jobs->tick, TICK_MS);
}
