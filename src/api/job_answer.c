/* The answer of a run: its text, and who gets it, now or when it is there. */
#include <stdlib.h>

#include "api/job_internal.h"
#include "api/result.h"
#include "api/router.h"
#include "base/error_json.h"
#include "base/json.h"
#include "calls/approval.h"

/* --- the text --- */

static int write_answer(struct job *job, struct error *err)
{
    const struct run *run = job->run;
    json_t *object = NULL;
    int r;

    if (result_json(run, job->reader, &object, err) < 0)
        return -1;
    r = json_object_set_new(object, "correlation_id", json_string(job->correlation_id)) < 0
            ? error_memory(err)
            : json_text_dump(object, JSON_TEXT_COMPACT, &job->answer->text, err);
    json_decref(object);
    return r == 0 ? buf_add_str(&job->answer->text, "\n", err) : r;
}

static void write_failure(struct job *job, const struct error *why)
{
    json_t *object = error_json(why, job->reader);

    job->status = error_code_http(why->code);
    buf_clear(&job->answer->text);
    if (!object || json_text_dump(object, JSON_TEXT_COMPACT, &job->answer->text, NULL) < 0 ||
        buf_add_str(&job->answer->text, "\n", NULL) < 0)
        buf_clear(&job->answer->text);
    json_decref(object);
}

void job_write_answer(struct job *job)
{
    struct error err = {0};
    int r;

    job->status = 200;
    if (job->form.write) {
        r = job->form.write(job->run, job->form.user, &job->answer->text, &job->status, &err);
    } else if (job->run->result.error.code != E_NONE) {
        write_failure(job, &job->run->result.error);
        r = 0;
    } else {
        r = write_answer(job, &err);
    }
    if (r < 0)
        write_failure(job, &err);
    error_done(&err);
}

/* --- who waits --- */

/* A request that does. */
struct waiter {
    struct job_watch watch;
    struct job *job;
    struct request *request;
};

void job_watch(struct job *job, struct job_watch *watch)
{
    watch->next = job->watches;
    job->watches = watch;
}

void job_unwatch(struct job *job, struct job_watch *watch)
{
    for (struct job_watch **at = &job->watches; *at; at = &(*at)->next)
        if (*at == watch) {
            *at = watch->next;
            return;
        }
}

static void on_answer(struct job_watch *watch, struct job *job)
{
    struct waiter *waiter = (struct waiter *)watch;
    struct request *request = waiter->request;

    free(waiter);
    request->on_gone = NULL;
    request->retry_s = job->retry_s;
    request_answer_shared(request, job->status, job->answer);
}

static void on_gone(struct request *request)
{
    struct waiter *waiter = request->user;
    struct job *job = waiter->job;

    job_unwatch(job, &waiter->watch);
    free(waiter);
    if (!job->watches && !job_goes_on(job))
        job_cancel(job);
}

void job_wait(struct job *job, struct request *request)
{
    struct waiter *waiter = calloc(1, sizeof(*waiter));
    struct error err = {0};

    if (!waiter) {
        error_memory(&err);
        request_answer_error(request, &err);
        return;
    }
    *waiter = (struct waiter){{.on_answer = on_answer}, job, request};
    request->user = waiter;
    request->on_gone = on_gone;
    job_watch(job, &waiter->watch);
}

void job_tell_answer(struct job *job)
{
    while (job->watches) {
        struct job_watch *watch = job->watches;

        job->watches = watch->next;
        watch->on_answer(watch, job);
    }
}

/* --- asked for later --- */

const char *job_answer(const struct job *job, size_t *ret_len, int *ret_status)
{
    if (job->run)
        return NULL;
    *ret_len = job->answer->text.len;
    *ret_status = job->status;
    return buf_str(&job->answer->text);
}

const char *job_outcome(const struct job *job)
{
    return job->run ? NULL : job->note.end;
}

int job_exit_code(const struct job *job)
{
    return job->note.exit_code;
}

struct shared *job_share_answer(const struct job *job)
{
    return shared_ref(job->answer);
}

void job_answer_begun(const struct job *job, struct request *request)
{
    request_answer_json(request, 200,
                        json_pack("{s:s, s:s, s:s}", "id", job->id, "status", "running",
                                  "correlation_id", job->correlation_id));
}

void job_repeat(struct job *job, struct request *request)
{
    request->is_repeat = true;
    if (job->is_detached)
        job_answer_begun(job, request);
    else if (route_wants_events(request))
        job_follow(job, request);
    else if (job->run)
        job_wait(job, request);
    else
        request_answer_shared(request, job->status, job->answer);
}

void job_show(struct job *job, struct request *request)
{
    json_t *running;

    if (job->run) {
        running = json_pack("{s:s, s:s, s:s}", "id", job->id, "status", "running", "correlation_id",
                            job->correlation_id);
        (void)json_object_set_new(
            running, "approvals",
            approval_list(pool_approvals(job->jobs->options.pool), NULL, job->id));
        if (job->note.language == RUN_COMMAND)
            result_add_output(job->run, running);
        request_answer_json(request, 200, running);
    } else {
        request_answer_shared(request, job->status, job->answer);
    }
}
