/* Kernels: a session each, with the clients that are connected to it and what they asked for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/date.h"
#include "base/json.h"
#include "base/language.h"
#include "compat/jupyter_internal.h"

/* As notebooks expect it; what a token may have decides. */
#define PROFILE "open"

/* Cells that wait, and bytes of them. */
#define QUEUE_MAX       256
#define QUEUE_BYTES_MAX (2 * LIMIT_CODE_BYTES)

/* A message with its pictures. */
#define ANSWER_MAX (4 * LIMIT_DISPLAY_BYTES)

/* --- messages out --- */

static void send_to(struct jupyter_client *client, const struct jupyter_answer *answer)
{
    cleanup(buf_done) struct buf text = BUF_OF(ANSWER_MAX);

    if (jupyter_message_write(answer, client->is_binary, &text, NULL) == 0)
        client->is_behind =
            !websocket_send(client->socket, !client->is_binary, buf_str(&text), text.len);
}

/* "ses_..._12" */
static void name_message(struct jupyter_kernel *kernel, char id[64])
{
    (void)snprintf(id, 64, "%s_%llu", kernel->id, (unsigned long long)++kernel->messages);
}

void jupyter_publish(struct jupyter_kernel *kernel, const char *type, const json_t *parent,
                     json_t *content)
{
    char id[64];
    const struct jupyter_answer answer = {JUPYTER_IOPUB, type, id, kernel->id, parent, content};
    struct jupyter_client *client;

    name_message(kernel, id);
    if (content)
        LIST_FOREACH(client, &kernel->clients, link)
            send_to(client, &answer);
    json_decref(content);
}

void jupyter_publish_state(struct jupyter_kernel *kernel, const char *state, const json_t *parent)
{
    jupyter_publish(kernel, "status", parent, json_pack("{s:s}", "execution_state", state));
}

void jupyter_reply(struct jupyter_client *client, enum jupyter_channel channel, const char *type,
                   const json_t *parent, json_t *content)
{
    char id[64];

    if (client && content) {
        const struct jupyter_answer answer = {channel, type,   id, client->kernel->id,
                                              parent,  content};

        name_message(client->kernel, id);
        send_to(client, &answer);
    }
    json_decref(content);
}

bool jupyter_is_behind(const struct jupyter_kernel *kernel)
{
    const struct jupyter_client *client;

    LIST_FOREACH(client, &kernel->clients, link)
        if (client->is_behind)
            return true;
    return false;
}

/* --- the queue --- */

static void drop_first(struct jupyter_kernel *kernel)
{
    struct jupyter_work *work = TAILQ_FIRST(&kernel->queue);

    TAILQ_REMOVE(&kernel->queue, work, link);
    kernel->queued_bytes -= work->len;
    jupyter_work_free(work);
}

static void abort_all(struct jupyter_kernel *kernel, const char *status, const char *why,
                      bool spares_others)
{
    struct jupyter_work *work = TAILQ_FIRST(&kernel->queue), *next;

    if (work && kernel->is_running)
        work = TAILQ_NEXT(work, link);
    for (; work; work = next) {
        next = TAILQ_NEXT(work, link);
        if (spares_others && work->kind != JUPYTER_EXECUTE)
            continue;
        jupyter_work_abort(work, status, why);
        TAILQ_REMOVE(&kernel->queue, work, link);
        kernel->queued_bytes -= work->len;
        jupyter_work_free(work);
    }
}

static void begin_first(struct jupyter_kernel *kernel)
{
    if (TAILQ_EMPTY(&kernel->queue) || kernel->is_running)
        return;
    kernel->is_running = true;
    jupyter_work_begin(TAILQ_FIRST(&kernel->queue));
}

static void restart_now(struct jupyter_kernel *kernel)
{
    cleanup_error struct error err = {0};

    kernel->restarts = false;
    if (session_restart(kernel->session, kernel->language, &err) == 0)
        kernel->cells = 0;
    jupyter_publish_state(kernel, "idle", NULL);
}

void jupyter_kernel_next(struct jupyter_kernel *kernel, bool has_failed)
{
    bool stops = has_failed && TAILQ_FIRST(&kernel->queue)->stops_on_error;

    drop_first(kernel);
    kernel->is_running = false;
    if (stops)
        abort_all(kernel, "aborted", "a cell before it failed", true);
    if (kernel->restarts)
        restart_now(kernel);
    begin_first(kernel);
}

void jupyter_kernel_queue(struct jupyter_work *work)
{
    struct jupyter_kernel *kernel = work->kernel;
    size_t count = 0;
    struct jupyter_work *w;

    TAILQ_FOREACH(w, &kernel->queue, link)
        count++;
    if (count >= QUEUE_MAX || work->len > QUEUE_BYTES_MAX - kernel->queued_bytes) {
        jupyter_work_abort(work, "error", "too many cells wait for this kernel");
        jupyter_work_free(work);
        return;
    }
    TAILQ_INSERT_TAIL(&kernel->queue, work, link);
    kernel->queued_bytes += work->len;
    begin_first(kernel);
}

void jupyter_kernel_interrupt(struct jupyter_kernel *kernel)
{
    abort_all(kernel, "aborted", "the kernel was interrupted", true);
    (void)session_interrupt(kernel->session);
}

/* A cell that runs is ended first. */
int jupyter_kernel_restart(struct jupyter_kernel *kernel, struct error *err)
{
    struct jupyter_work *first = kernel->is_running ? TAILQ_FIRST(&kernel->queue) : NULL;

    abort_all(kernel, "aborted", "the kernel was restarted", false);
    if (first && first->job) {
        kernel->restarts = true;
        job_cancel(first->job);
        return 0;
    }
    if (session_restart(kernel->session, kernel->language, err) < 0)
        return -1;
    kernel->cells = 0;
    jupyter_publish_state(kernel, "idle", NULL);
    return 0;
}

/* --- life --- */

static void free_kernel(struct jupyter_kernel *kernel)
{
    LIST_REMOVE(kernel, link);
    free(kernel->path);
    free(kernel->name);
    free(kernel->type);
    free(kernel);
}

/* A cell that runs was answered before, or is told by its job. */
static void on_session_end(void *user, struct session *session, const char *why)
{
    struct jupyter_kernel *kernel = user;
    struct jupyter_work *first;

    (void)session;
    kernel->session = NULL;
    abort_all(kernel, "aborted", "the kernel has ended", false);
    first = TAILQ_FIRST(&kernel->queue);
    if (first && first->job)
        job_abandon(first->job);
    while (!TAILQ_EMPTY(&kernel->queue))
        drop_first(kernel);
    jupyter_publish_state(kernel, "dead", NULL);
    while (!LIST_EMPTY(&kernel->clients))
        jupyter_client_end(LIST_FIRST(&kernel->clients), why);
    free_kernel(kernel);
}

/* "python3" is what notebooks name. */
static int find_language(const char *name, enum run_language *ret_language, struct error *err)
{
    int found = name && *name ? language_find((struct span){name, strlen(name)}) : RUN_PYTHON;

    if (found < 0 || !language_is_installed((enum run_language)found)) {
        error_set(err, E_NOT_FOUND, "there is no kernel of that name");
        return error_hint(err, "/jupyter/api/kernelspecs lists them");
    }
    *ret_language = (enum run_language)found;
    return 0;
}

const char *jupyter_kernel_name(enum run_language language)
{
    return language == RUN_PYTHON ? "python3" : languages[language].name;
}

static struct jupyter_kernel *new_kernel(const struct request *request, enum run_language language)
{
    struct api *api = request->api;
    struct jupyter_kernel *kernel = calloc(1, sizeof(*kernel));

    if (!kernel)
        return NULL;
    kernel->jupyter = api->jupyter;
    kernel->api = api;
    kernel->language = language;
    (void)snprintf(kernel->owner, sizeof(kernel->owner), "%s", request->owner);
    LIST_INIT(&kernel->clients);
    TAILQ_INIT(&kernel->queue);
    LIST_INSERT_HEAD(&api->jupyter->kernels, kernel, link);
    return kernel;
}

int jupyter_kernel_open(const struct request *request, const char *name,
                        struct jupyter_kernel **ret_kernel, struct error *err)
{
    const struct api *api = request->api;
    const struct admission admission = api_admission(api, request->caller);
    const struct run_request asked = {.profile = PROFILE};
    enum run_language language = RUN_PYTHON;
    struct jupyter_kernel *kernel;
    struct session_info info;
    struct session_options options;

    if (find_language(name, &language, err) < 0)
        return -1;
    kernel = new_kernel(request, language);
    if (!kernel)
        return error_memory(err);
    options = (struct session_options){
        .owner = kernel->owner,
        .idle_ms = (uint64_t)(api->config->session_idle_s * 1000),
        .lifetime_ms = (uint64_t)(api->config->session_lifetime_s * 1000),
        .evicts = admission_evicts(api->config, false),
        .on_end = on_session_end,
        .user = kernel,
    };
    if (admit_session(&admission, &asked, api->sessions, &options, &kernel->session, err) < 0) {
        free_kernel(kernel);
        return -1;
    }
    session_info(kernel->session, &info);
    (void)snprintf(kernel->id, sizeof(kernel->id), "%s", info.id);
    *ret_kernel = kernel;
    return 0;
}

struct jupyter_kernel *jupyter_kernel_find(const struct request *request, const char *id)
{
    const struct api *api = request->api;
    struct jupyter_kernel *kernel;

    LIST_FOREACH(kernel, &api->jupyter->kernels, link)
        if (strcmp(kernel->id, id) == 0 && strcmp(kernel->owner, request->owner) == 0 &&
            sessions_find(api->sessions, request->owner, id, NULL) == kernel->session)
            return kernel;
    return NULL;
}

json_t *jupyter_kernel_json(const struct jupyter_kernel *kernel)
{
    const struct jupyter_client *client;
    struct session_info info;
    json_int_t connections = 0;
    char active[DATE_SIZE];

    session_info(kernel->session, &info);
    date_seconds(time(NULL) - (time_t)(info.idle_ms / 1000), active);
    LIST_FOREACH(client, &kernel->clients, link)
        connections++;
    return json_pack("{s:s, s:s, s:s, s:s, s:I}", "id", kernel->id, "name",
                     jupyter_kernel_name(kernel->language), "last_activity", active,
                     "execution_state",
                     kernel->is_running || info.state == SESSION_BUSY ? "busy" : "idle",
                     "connections", connections);
}

int jupyter_new(struct jupyter **ret_jupyter, struct error *err)
{
    *ret_jupyter = calloc(1, sizeof(**ret_jupyter));
    return *ret_jupyter ? 0 : error_memory(err);
}

void jupyter_free(struct jupyter *jupyter)
{
    if (!jupyter)
        return;
    while (!LIST_EMPTY(&jupyter->kernels))
        free_kernel(LIST_FIRST(&jupyter->kernels));
    free(jupyter);
}
