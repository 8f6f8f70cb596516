/* CodeRunner's tasks: cells that nobody waits for, and who asks for their answers later. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/json.h"
#include "compat/coderunner_internal.h"
#include "compat/compat.h"

/* The fields of its request that a task's answer repeats. */
struct coderunner_task {
    char *command;
    const char *language;
    char session[ID_SIZE]; /* "": none */
    double created_at;
};

static void free_task(void *user)
{
    struct coderunner_task *task = user;

    if (task)
        free(task->command);
    free(task);
}

static struct coderunner_task *new_task(const struct run *run, const struct session *session)
{
    struct coderunner_task *task = calloc(1, sizeof(*task));
    struct session_info info;

    if (!task)
        return NULL;
    if (session) {
        session_info(session, &info);
        (void)snprintf(task->session, sizeof(task->session), "%s", info.id);
    }
    task->command = strdup(buf_str(&run->program.code));
    task->language = languages[run->program.language].name;
    task->created_at = coderunner_now_s();
    if (!task->command) {
        free_task(task);
        return NULL;
    }
    return task;
}

/* `result` is taken over. */
static json_t *task_body(const struct coderunner_task *task, const char *id, const char *status,
                         json_t *result, const char *error)
{
    return json_pack("{s:s, s:s, s:o, s:s, s:s?, s:f, s:o, s:o}", "id", id, "status", status,
                     "command", json_text_string(task->command, strlen(task->command)), "language",
                     task->language, "session_id", *task->session ? task->session : NULL,
                     "created_at", task->created_at, "result", result ? result : json_null(),
                     "error", error ? json_text_string(error, strlen(error)) : json_null());
}

/* A program that failed has completed; one that was stopped has not. */
static int write_task(const struct run *run, void *user, struct buf *out, int *ret_status,
                      struct error *err)
{
    bool is_failed = run->result.error.code != E_NONE || run->result.status > RUN_ERROR;
    const char *why = run->result.error.code != E_NONE ? run->result.error.message : NULL;
    json_t *result = NULL, *body;

    *ret_status = 200;
    if (run->result.error.code == E_NONE && coderunner_result(run, &result, err) < 0)
        return -1;
    if (is_failed && !why)
        why = result ? run_status_name(run->result.status) : "out of memory";
    body = task_body(user, run->id, is_failed ? "failed" : "completed", result, why);
    if (!body)
        return error_memory(err);
    (void)json_object_set_new(body, "completed_at", json_real(coderunner_now_s()));
    return compat_dump(body, out, err);
}

static const struct job_form task_form = {.write = write_task, .free = free_task};

void coderunner_show_task(struct request *request)
{
    const struct api *api = request->api;
    struct error err = {0};
    struct job *job = jobs_find(api->jobs, request->owner, request->params[0], &err);
    const struct coderunner_task *task = job ? job_form_user(job, &task_form) : NULL;

    if (!task) {
        error_done(&err);
        error_set(&err, E_NOT_FOUND, "Task not found");
        coderunner_answer_error(request, &err);
    } else if (job_run(job)) {
        request_answer_json(request, 200,
                            task_body(task, job_id(job),
                                      job_run(job)->result.handed_ns ? "running" : "queued", NULL,
                                      NULL));
    } else {
        job_show(job, request);
    }
}

void coderunner_start_task(struct request *request, struct session *session, struct run *cell)
{
    const struct api *api = request->api;
    struct job_order order = job_order_of(request, cell);
    struct error err = {0};
    const struct job *job;

    order.session = session;
    order.request = NULL; /* it is answered at once */
    order.form = task_form;
    order.form.user = new_task(cell, session);
    if (!order.form.user) {
        run_free(cell);
        error_memory(&err);
        coderunner_answer_error(request, &err);
        return;
    }
    job = jobs_start_or_answer(api->jobs, request, &order);
    if (job)
        request_answer_json(request, 200,
                            json_pack("{s:s, s:s}", "task_id", job_id(job), "status", "queued"));
}
