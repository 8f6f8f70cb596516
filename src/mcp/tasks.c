/* Tasks (extension io.modelcontextprotocol/tasks): calls that were answered with a promise. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/date.h"
#include "base/id.h"
#include "mcp/internal.h"

/* --- the table --- */

static void free_task(struct mcp_task *task)
{
    struct mcp_server *server = task->server;

    TAILQ_REMOVE(&server->tasks, task, link);
    server->n_tasks--;
    json_decref(task->outcome);
    json_decref(task->requests);
    free(task);
}

static struct mcp_task *oldest_over(const struct mcp_server *server, const char *owner)
{
    for (struct mcp_task *task = TAILQ_FIRST(&server->tasks); task; task = TAILQ_NEXT(task, link))
        if (!task->call && (!owner || strcmp(task->owner, owner) == 0))
            return task;
    return NULL;
}

/* The oldest finished task is removed; an owner with half of all loses one of its own. */
static bool find_room(const struct mcp_server *server, const char *owner,
                      struct mcp_task **ret_oldest)
{
    size_t his = 0;

    for (const struct mcp_task *task = TAILQ_FIRST(&server->tasks); task;
         task = TAILQ_NEXT(task, link))
        his += strcmp(task->owner, owner) == 0;
    *ret_oldest = NULL;
    if (his < MCP_TASKS_MAX / 2) {
        if (server->n_tasks < MCP_TASKS_MAX)
            return true;
        owner = NULL;
    }
    *ret_oldest = oldest_over(server, owner);
    return *ret_oldest != NULL;
}

bool mcp_tasks_have_room(const struct mcp_server *server, const char *owner)
{
    struct mcp_task *oldest;

    return find_room(server, owner, &oldest);
}

struct mcp_task *mcp_task_new(struct mcp_call *call)
{
    struct mcp_server *server = call->server;
    struct mcp_task *oldest, *task = NULL;

    if (find_room(server, call->owner, &oldest))
        task = calloc(1, sizeof(*task));

    if (!task || id_make(task->id, "tsk_") < 0) {
        free(task);
        return NULL;
    }
    if (oldest)
        free_task(oldest);
    task->server = server;
    task->call = call;
    memcpy(task->owner, call->owner, sizeof(task->owner));
    (void)clock_gettime(CLOCK_REALTIME, &task->created);
    task->updated = task->created;
    TAILQ_INSERT_TAIL(&server->tasks, task, link);
    server->n_tasks++;
    mcp_server_wake(server);
    return task;
}

struct mcp_task *mcp_task_find(struct mcp_server *server, const char *owner, const char *id)
{
    for (struct mcp_task *task = TAILQ_FIRST(&server->tasks); task; task = TAILQ_NEXT(task, link))
        if (strcmp(task->id, id) == 0 && strcmp(task->owner, owner) == 0)
            return task;
    return NULL;
}

void mcp_tasks_sweep(struct mcp_server *server)
{
    uint64_t now = loop_now_ns();

    for (struct mcp_task *task = TAILQ_FIRST(&server->tasks), *after; task; task = after) {
        after = TAILQ_NEXT(task, link);
        if (task->call && task->call->on_tick)
            task->call->on_tick(task->call);
        else if (!task->call && (now - task->ended_ns) / 1000000 > MCP_TASK_TTL_MS)
            free_task(task);
    }
}

void mcp_tasks_free(struct mcp_server *server)
{
    struct mcp_task *task;

    while ((task = TAILQ_FIRST(&server->tasks))) {
        if (task->call)
            mcp_call_cancel(task->call, false);
        free_task(task);
    }
}

void mcp_server_forget(struct mcp_server *server, const char *owner)
{
    for (struct mcp_task *task = TAILQ_FIRST(&server->tasks), *after; task; task = after) {
        after = TAILQ_NEXT(task, link);
        if (strcmp(task->owner, owner) != 0)
            continue;
        if (task->call)
            mcp_call_cancel(task->call, false);
        free_task(task);
    }
    mcp_saved_answers_forget(server, owner);
}

/* --- as JSON --- */

static json_t *time_json(const struct timespec *at)
{
    char text[DATE_SIZE];

    date_millis(at, text);
    return json_string(text);
}

json_t *mcp_task_json(const struct mcp_task *task)
{
    static const char *const names[] = {
        [TASK_WORKING] = "working", [TASK_INPUT] = "input_required", [TASK_COMPLETED] = "completed",
        [TASK_FAILED] = "failed",   [TASK_CANCELLED] = "cancelled",
    };
    json_t *object = json_pack("{s:s, s:s, s:o, s:o, s:I, s:i}", "taskId", task->id, "status",
                               names[task->status], "createdAt", time_json(&task->created),
                               "lastUpdatedAt", time_json(&task->updated), "ttlMs",
                               (json_int_t)MCP_TASK_TTL_MS, "pollIntervalMs", MCP_TASK_POLL_MS);

    if (task->status == TASK_COMPLETED)
        (void)json_object_set(object, "result", task->outcome);
    if (task->status == TASK_FAILED) {
        (void)json_object_set(object, "error", task->outcome);
        (void)json_object_set(object, "statusMessage", json_object_get(task->outcome, "message"));
    }
    if (task->status == TASK_INPUT)
        (void)json_object_set(object, "inputRequests", task->requests);
    return object;
}

/* --- its life --- */

static void change(struct mcp_task *task, enum mcp_task_status status)
{
    task->status = status;
    (void)clock_gettime(CLOCK_REALTIME, &task->updated);
    mcp_listen_task(task->server, task);
}

void mcp_task_end(struct mcp_task *task, enum mcp_task_status status, json_t *outcome)
{
    task->call = NULL;
    task->outcome = outcome;
    task->ended_ns = loop_now_ns();
    change(task, status);
}

void mcp_task_ask(struct mcp_task *task, json_t *requests)
{
    json_decref(task->requests);
    task->requests = json_copy(requests);
    change(task, TASK_INPUT);
}

bool mcp_call_become_task(struct mcp_call *call)
{
    json_t *result;

    if (call->task)
        return true;
    if (!call->tool || !mcp_call_client_has(call, "extensions." EXTENSION_TASKS))
        return false;
    call->task = mcp_task_new(call);
    if (!call->task)
        return false;
    result = mcp_task_json(call->task);
    (void)json_object_set_new(result, "resultType", json_string("task"));
    mcp_call_part(call, result);
    return true;
}

/* --- calls that were left, which are tasks that no client knows as such --- */

bool mcp_left_has_room(const struct mcp_server *server, const char *owner)
{
    size_t count = 0;

    for (const struct mcp_task *task = TAILQ_FIRST(&server->tasks); task;
         task = TAILQ_NEXT(task, link))
        count += *task->name && task->call && strcmp(task->owner, owner) == 0;
    return count < MCP_LEFT_MAX && mcp_tasks_have_room(server, owner);
}

bool mcp_call_leave(struct mcp_call *call, const char *name, json_t *result)
{
    if (!call->task && call->exchange && mcp_left_has_room(call->server, call->owner))
        call->task = mcp_task_new(call);
    else
        name = NULL;
    if (!name || !call->task) {
        json_decref(result);
        return false;
    }
    (void)snprintf(call->task->name, sizeof(call->task->name), "%s", name);
    call->task->peer = call->era == MCP_LEGACY ? call->peer : NULL;
    mcp_bound(call, result);
    mcp_call_part(call, result);
    return true;
}

bool mcp_left_find(struct mcp_server *server, const char *owner, const char *name,
                   bool *ret_goes_on, json_t **ret_result)
{
    for (struct mcp_task *task = TAILQ_FIRST(&server->tasks); task; task = TAILQ_NEXT(task, link))
        if (*task->name && strcmp(task->name, name) == 0 && strcmp(task->owner, owner) == 0) {
            *ret_goes_on = task->call != NULL;
            *ret_result = task->status == TASK_COMPLETED ? task->outcome : NULL;
            return true;
        }
    return false;
}

void mcp_tasks_part(struct mcp_peer *peer)
{
    for (struct mcp_task *task = TAILQ_FIRST(&peer->server->tasks); task;
         task = TAILQ_NEXT(task, link)) {
        if (task->peer != peer)
            continue;
        task->peer = NULL;
        if (task->call)
            mcp_call_cancel(task->call, false);
    }
}

/* --- methods --- */

/* The task that is asked for. NULL: the answer has been given. */
static struct mcp_task *find(struct mcp_request *request)
{
    const char *id = json_string_value(json_object_get(request->params, "taskId"));
    struct mcp_task *task;

    if (!mcp_capability_has(json_object_get(request->meta, META_CAPS),
                            "extensions." EXTENSION_TASKS)) {
        mcp_request_error(request, MCP_MISSING_CAPABILITY, "Missing required client capability",
                          json_pack("{s:o}", "requiredCapabilities",
                                    mcp_capability_json("extensions." EXTENSION_TASKS)));
        return NULL;
    }
    task = mcp_task_find(request->server, request->peer->owner, id);
    if (!task)
        mcp_request_error(request, MCP_INVALID_PARAMS,
                          "`taskId`: no such task; it may have expired", NULL);
    return task;
}

static void get_task(struct mcp_request *request)
{
    const struct mcp_task *task = find(request);

    if (task)
        mcp_request_result(request, mcp_task_json(task));
}

/* Answers to what it asked, all or some; others are left alone. */
static void update_task(struct mcp_request *request)
{
    struct mcp_task *task = find(request);
    struct mcp_call *call = NULL;
    const json_t *given;
    const char *key;
    json_t *answer;

    if (!task)
        return;
    given = json_object_get(request->params, "inputResponses");
    if (!json_is_object(given)) {
        mcp_request_error(request, MCP_INVALID_PARAMS, "`inputResponses`: expected an object",
                          NULL);
        return;
    }
    if (task->status == TASK_INPUT) {
        call = task->call;
        if (!call->answers)
            call->answers = json_object();
        json_object_foreach((json_t *)given, key, answer)
        {
            if (!json_object_get(task->requests, key))
                continue;
            (void)json_object_set(call->answers, key, answer);
            (void)json_object_del(task->requests, key);
        }
        if (json_object_size(task->requests))
            call = NULL;
    }
    if (call)
        change(task, TASK_WORKING);
    mcp_request_result(request, json_object());
    if (call)
        mcp_call_start(call);
}

static void cancel_task(struct mcp_request *request)
{
    struct mcp_task *task = find(request);

    if (!task)
        return;
    if (task->call)
        mcp_call_cancel(task->call, false);
    mcp_request_result(request, json_object());
}

const struct mcp_method mcp_task_methods[] = {
    {"tasks/get", ERA_MODERN, get_task, "taskId", mcp_has_tasks},
    {"tasks/update", ERA_MODERN, update_task, "taskId", mcp_has_tasks},
    {"tasks/cancel", ERA_MODERN, cancel_task, "taskId", mcp_has_tasks},
    {0},
};
