/* Durable jobs: one attempt, from what was asked for to its end on the disk. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/durable_internal.h"
#include "base/cleanup.h"
#include "base/date.h"
#include "base/error_json.h"
#include "base/json.h"
#include "base/log.h"
#include "base/utf8.h"

#define BODY_DEPTH 32

/* Between two attempts, and between two tries to write down a result. */
#define RETRY_MS_MAX 3600000
#define AGAIN_S_MAX  30
#define UNSAFE_S     5
#define PAUSE_S_MAX  60
#define ERROR_MAX    (64 * KIB)

static void write_end(void *arg);
static void take_answer(struct attempt *a, const struct job *job);

struct attempt *attempt_find(const struct durable *durable, const char *id)
{
    struct attempt *a;

    LIST_FOREACH(a, &durable->attempts, link)
        if (strcmp(a->id, id) == 0)
            break;
    return a;
}

void attempt_free(struct attempt *a)
{
    if (!a)
        return;
    (void)task_end(&a->task);
    loop_work_cancel(&a->work);
    loop_watch_free(a->again);
    if (a->job)
        job_unwatch(a->job, &a->watch);
    store_read_end(&a->fresh);
    job_task_done(&a->of);
    buf_done(&a->request);
    buf_done(&a->error_text);
    json_decref(a->body);
    json_decref(a->error);
    shared_unref(a->answer);
    error_done(&a->err);
    free(a);
}

/* The server has no room for it, and the disk still says that it waits. */
static void drop_for(struct attempt *a, unsigned seconds)
{
    if (seconds < 1)
        seconds = 1;
    if (seconds > PAUSE_S_MAX)
        seconds = PAUSE_S_MAX;
    a->line->paused_until_ns = loop_now_ns() + (uint64_t)seconds * 1000000000;
    durable_drop(a);
}

/* --- the end --- */

static void on_ended(void *user, int result)
{
    struct attempt *a = user;
    struct durable *durable = a->durable;
    char id[JOB_ID_SIZE];

    if (result < 0)
        LOG_EVENT(LOG_ERROR, "jobs", {"job", a->id}, {"message", strerror(-result)});
    (void)snprintf(id, sizeof(id), "%s", a->id);
    if (a->is_cancelled && a->end.state == JOB_WAITING) /* meanwhile */
        (void)job_record_cancel(durable->store, a->caller->keeper, id, date_now_ms(),
                                &(enum job_state){0}, NULL);
    durable_drop(a);
    durable_tell(durable, id);
}

/* The result stays in memory until it is on the disk; meanwhile nothing else is begun. */
static void write_again(struct attempt *a, struct error *err)
{
    unsigned wait_s = a->n_failures < 5 ? 1U << a->n_failures : AGAIN_S_MAX;

    if (!a->n_failures++)
        LOG_EVENT(LOG_ERROR, "jobs", {"job", a->id}, {"message", error_message(err)});
    error_done(err);
    durable_pause(a->durable, wait_s);
    loop_timer_start(a->again, (uint64_t)wait_s * 1000);
}

static void on_again(void *arg)
{
    struct attempt *a = arg;

    loop_work_post(a->durable->loop, &a->work, write_end, a);
}

static void write_end(void *arg)
{
    struct attempt *a = arg;
    struct store *store = a->durable->store;
    const struct buf *text = a->end.result_bytes ? &a->answer->text : NULL;
    struct error err = {0};

    if (text && a->written < text->len) {
        size_t len = text->len - a->written;
        const struct span piece = {buf_str(text) + a->written,
                                   len < JOB_PIECE_BYTES ? len : JOB_PIECE_BYTES};

        if (job_record_add_piece(store, a->id, (uint32_t)(a->written / JOB_PIECE_BYTES), piece,
                                 &err) < 0) {
            write_again(a, &err);
            return;
        }
        a->written += piece.len;
        loop_work_post(a->durable->loop, &a->work, write_end, a);
        return;
    }
    if (job_record_end(store, a->id, &a->end, &err) < 0) {
        write_again(a, &err);
        return;
    }
    a->sync = (struct group_sync_wait){.done = on_ended, .user = a};
    log_sync_wait(a->durable->sync, &a->sync);
}

static void end(struct attempt *a, enum job_state state, const char *outcome)
{
    int64_t now = date_now_ms();
    uint64_t wait_ms = a->of.terms.retry_ms;

    a->step = ATTEMPT_ENDS;
    (void)snprintf(a->outcome, sizeof(a->outcome), "%s", outcome);
    for (uint32_t i = 1; i < a->number && wait_ms < RETRY_MS_MAX; i++)
        wait_ms *= 2;
    if (wait_ms > RETRY_MS_MAX)
        wait_ms = RETRY_MS_MAX;
    a->end.number = a->number;
    a->end.outcome = a->outcome;
    a->end.state = state;
    a->end.now_ms = now;
    a->end.due_ms = now + (int64_t)wait_ms;
    if (a->error && state != JOB_WAITING) {
        buf_init(&a->error_text, ERROR_MAX);
        if (json_text_dump(a->error, JSON_TEXT_COMPACT, &a->error_text, NULL) == 0)
            a->end.error = (struct span){buf_str(&a->error_text), a->error_text.len};
    }
    loop_work_post(a->durable->loop, &a->work, write_end, a);
}

static void fail(struct attempt *a, struct error *err)
{
    json_t *whole = error_json(err, HINT_FOR_HTTP);

    a->error = json_incref(json_object_get(whole, "error"));
    json_decref(whole);
    error_done(err);
    end(a, JOB_FAILED, "failed");
}

/* --- the answer of the run --- */

static bool may_repeat(const struct attempt *a)
{
    return a->of.terms.is_repeatable && a->number < a->of.terms.max_attempts;
}

/* It never had its turn. */
static void end_unbegun(struct attempt *a, int status)
{
    const struct durable *durable = a->durable;
    bool has_no_room =
        durable->is_stopping || status == 429 || durable->paused_until_ns > loop_now_ns();

    if (has_no_room && !a->is_cancelled)
        drop_for(a, 1);
    else if (a->is_cancelled || strcmp(a->outcome, "cancelled") == 0) /* as a job, or as a run */
        end(a, JOB_CANCELLED, "cancelled");
    else
        end(a, JOB_FAILED, "failed");
}

static void keep_result(struct attempt *a, enum job_state state)
{
    struct error err = {0};
    char outcome[sizeof(a->outcome)];

    (void)snprintf(outcome, sizeof(outcome), "%s", a->outcome);
    if (a->answer->text.len > LIMIT_JOB_RESULT) {
        error_set(&err, E_TOO_LARGE, "the result has %zu bytes; %zu is the most that is kept",
                  a->answer->text.len, LIMIT_JOB_RESULT);
        error_hint(&err, "print less, lower `output_bytes`, or collect fewer files");
        fail(a, &err);
        return;
    }
    a->end.result_bytes = (int64_t)a->answer->text.len;
    end(a, state, outcome);
}

static void end_begun(struct attempt *a)
{
    unsigned bit = job_retry_bit(a->outcome);
    char outcome[sizeof(a->outcome)];

    memcpy(outcome, a->outcome, sizeof(outcome));
    if (strcmp(a->outcome, "cancelled") == 0) {
        if (a->durable->is_stopping && !a->is_cancelled)
            durable_drop(a); /* the next server finds that it was interrupted */
        else
            keep_result(a, JOB_CANCELLED);
    } else if (strcmp(a->outcome, "failed") == 0) {
        end(a, may_repeat(a) ? JOB_WAITING : JOB_FAILED, "failed");
    } else if ((bit & a->of.terms.retry_on) && may_repeat(a) && !a->is_cancelled) {
        end(a, JOB_WAITING, outcome);
    } else {
        keep_result(a, JOB_DONE);
    }
}

static void take_error(struct attempt *a, const char *text, size_t len)
{
    json_t *whole = json_text_own(text, len);

    a->error = json_incref(json_object_get(whole, "error"));
    json_decref(whole);
}

/* Its number could not be brought to the disk, and the program did not begin. */
static void wait_again(struct attempt *a)
{
    json_decref(take_ptr(a->error));
    end(a, JOB_WAITING, "failed");
}

static void take_answer(struct attempt *a, const struct job *job)
{
    size_t len = 0;
    int status = 0;
    const char *text = job_answer(job, &len, &status);

    (void)snprintf(a->outcome, sizeof(a->outcome), "%s", job_outcome(job));
    a->answer = job_share_answer(job);
    a->job = NULL;
    if (status != 200)
        take_error(a, text, len);
    if (a->is_orphan)
        durable_drop(a);
    else if (a->is_unsafe && !a->is_cancelled)
        wait_again(a);
    else if (!a->number)
        end_unbegun(a, status);
    else
        end_begun(a);
}

static void on_answer(struct job_watch *watch, struct job *job)
{
    take_answer((struct attempt *)watch, job);
}

/* --- the beginning --- */

/* Its number is on the disk. If it could not be brought there, the program does not begin. */
static void on_begun(void *user, int result)
{
    struct attempt *a = user;

    a->step = ATTEMPT_RUNS;
    if (result < 0) {
        LOG_EVENT(LOG_ERROR, "jobs", {"job", a->id}, {"message", strerror(-result)});
        durable_pause(a->durable, UNSAFE_S);
        a->is_unsafe = true;
        job_cancel(a->job);
    }
    job_pass(a->job);
}

static void at_turn(void *user, struct job *job)
{
    struct attempt *a = user;
    uint32_t number = a->of.attempts + 1;
    struct error err = {0};

    a->job = job;
    (void)snprintf(a->run, sizeof(a->run), "%s", job_id(job));
    if (a->is_cancelled || a->is_orphan || a->durable->is_stopping) {
        job_cancel(job);
        job_pass(job);
        return;
    }
    if (job_record_begin(a->durable->store, a->id, number, a->run, date_now_ms(), &err) < 0) {
        LOG_EVENT(LOG_ERROR, "jobs", {"job", a->id}, {"message", error_message(&err)});
        error_done(&err);
        durable_pause(a->durable, 1);
        job_cancel(job);
        job_pass(job);
        return;
    }
    a->number = number;
    a->step = ATTEMPT_BEGINS;
    a->sync = (struct group_sync_wait){.done = on_begun, .user = a};
    log_sync_wait(a->durable->sync, &a->sync);
}

/* The text is masked. */
static void on_event(void *user, const struct run_event *event)
{
    struct attempt *a = user;
    size_t len = event->len < sizeof(a->text) - 1 ? event->len : sizeof(a->text) - 1;

    if (event->kind != RUN_EVENT_PROGRESS)
        return;
    len -= utf8_cut_at_end(event->data, len);
    if (len)
        memcpy(a->text, event->data, len);
    a->text[len] = '\0';
    a->has_progress = true;
    a->done = event->done;
    a->total = event->total;
}

static void enter_queue(struct attempt *a, struct run *run)
{
    struct job_order order = {
        .run = run,
        .owner = a->caller->name,
        .caller = a->caller,
        .is_detached = true,
        .correlation_id = a->of.correlation_id,
        .follower = {.on_event = on_event, .user = a},
        .gate = {.at_turn = at_turn, .user = a},
    };
    unsigned retry_s = 1;
    struct job *job = NULL;

    a->step = ATTEMPT_QUEUED;
    if (jobs_start(a->durable->api->jobs, &order, &retry_s, &job, &a->err) < 0) {
        if (a->err.code == E_BUSY)
            drop_for(a, retry_s);
        else
            fail(a, &a->err);
        return;
    }
    a->job = job;
    if (job_outcome(job)) {
        take_answer(a, job);
        return;
    }
    a->watch.on_answer = on_answer;
    job_watch(job, &a->watch);
}

static void load(void *arg)
{
    static const struct json_text_limits limits = {.bytes = LIMIT_JOB_BODY, .depth = BODY_DEPTH};
    struct attempt *a = arg;

    if (json_text_load(buf_str(&a->request), a->request.len, &limits, &a->body, &a->err) < 0)
        return;
    schema_drop_null(durable_fields, a->body);
    (void)schema_check(durable_fields, a->body, &a->err);
}

static void begin(void *arg)
{
    struct attempt *a = arg;
    struct run *run = NULL;

    if (a->is_orphan || a->durable->is_stopping) {
        durable_drop(a);
    } else if (a->is_cancelled) {
        end(a, JOB_CANCELLED, "cancelled");
    } else if (a->err.code != E_NONE ||
               api_make_run_of(a->durable->api, a->caller, a->body, &run, &a->err) < 0) {
        if (a->err.code == E_BUSY)
            drop_for(a, 1);
        else
            fail(a, &a->err);
    } else {
        json_decref(take_ptr(a->body));
        enter_queue(a, run);
    }
}

static void on_loaded(void *arg)
{
    struct attempt *a = arg;
    bool has_skills = store_read_is_needed(buf_str(&a->request), a->request.len);

    buf_done(&a->request);
    if (has_skills)
        store_read_begin(&a->fresh, a->durable->api, a->caller->keeper, begin, a);
    else
        begin(a);
}

/* A record that cannot be read must not be tried for ever, and hold up all others. */
static bool give_up(struct durable *durable, const char *id, struct error *err)
{
    struct job_end end = {.outcome = "failed", .state = JOB_FAILED, .now_ms = date_now_ms()};
    cleanup(buf_done) struct buf text = BUF_OF(ERROR_MAX);
    cleanup_json json_t *whole = error_json(err, HINT_FOR_HTTP);

    error_done(err);
    if (json_text_dump(json_object_get(whole, "error"), JSON_TEXT_COMPACT, &text, NULL) == 0)
        end.error = (struct span){buf_str(&text), text.len};
    return job_record_end(durable->store, id, &end, NULL) == 0;
}

bool attempt_start(struct durable *durable, struct durable_line *line, struct caller *caller,
                   const char *id)
{
    static const struct task_steps steps = {.work = load, .done = on_loaded};
    struct attempt *a = calloc(1, sizeof(*a));
    struct error err = {0};

    if (!a)
        return false;
    a->durable = durable;
    a->line = line;
    a->caller = caller;
    (void)snprintf(a->id, sizeof(a->id), "%s", id);
    buf_init(&a->request, LIMIT_JOB_BODY);
    a->again = loop_timer(durable->loop, on_again, a);
    if (!a->again || job_record_load(durable->store, id, &a->of, &a->request, &err) < 0) {
        attempt_free(a);
        if (err.code != E_NONE && err.code != E_BUSY && err.code != E_NOT_FOUND)
            return give_up(durable, id, &err);
        error_done(&err);
        return false;
    }
    LIST_INSERT_HEAD(&durable->attempts, a, link);
    durable->n_active++;
    line->n_active++;
    task_post(&a->task, durable->loop, &steps, a);
    return true;
}

void attempt_cancel(struct attempt *a)
{
    a->is_cancelled = true;
    if (a->job)
        job_cancel(a->job);
}
