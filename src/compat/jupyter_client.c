/* A client that is connected to a kernel: its messages in. */
#include <stdlib.h>
#include <string.h>

#include "api/router.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "base/json.h"
#include "base/utf8.h"
#include "compat/jupyter_internal.h"

/* Longer messages are read a few milliseconds at a time. */
#define SLOW_BYTES ((size_t)128 << 10)

/* --- what a kernel is asked --- */

static bool flag(const json_t *content, const char *name, bool usual)
{
    const json_t *value = json_object_get(content, name);

    return json_is_boolean(value) ? json_is_true(value) : usual;
}

/* Bytes of so many characters. */
static size_t bytes_of(const char *text, size_t len, json_int_t count)
{
    size_t at = 0;
    int n = 1;

    while (at < len && count > 0 && (n = utf8_decode(text + at, len - at, NULL)) > 0) {
        at += (size_t)n;
        count--;
    }
    return at;
}

static struct jupyter_work *new_work(struct jupyter_client *client, enum jupyter_work_kind kind,
                                     const struct jupyter_message *m)
{
    const json_t *code = json_object_get(m->content, "code");
    const json_t *cursor = json_object_get(m->content, "cursor_pos");
    struct jupyter_work *work = json_is_string(code) ? calloc(1, sizeof(*work)) : NULL;

    if (!work)
        return NULL;
    work->code = strdup(json_string_value(code)); /* up to a NUL, where there is one */
    if (!work->code) {
        free(work);
        return NULL;
    }
    work->len = strlen(work->code);
    work->kernel = client->kernel;
    work->client = client;
    work->caller = client->caller;
    work->kind = kind;
    work->header = json_incref(m->header);
    work->cursor = json_is_integer(cursor)
                       ? bytes_of(work->code, work->len, json_integer_value(cursor))
                       : work->len;
    work->is_silent = flag(m->content, "silent", false);
    work->keeps_history = flag(m->content, "store_history", true);
    work->can_type = flag(m->content, "allow_stdin", true);
    work->stops_on_error = flag(m->content, "stop_on_error", true);
    return work;
}

/* NULL: it is answered at once, and this is its content. */
static json_t *queue(struct jupyter_client *client, enum jupyter_work_kind kind,
                     const struct jupyter_message *m)
{
    struct jupyter_work *work = new_work(client, kind, m);

    if (!work)
        return json_pack("{s:s, s:s, s:s, s:[]}", "status", "error", "ename", "ValueError",
                         "evalue", "`code` is not a text", "traceback");
    jupyter_kernel_queue(work);
    return NULL;
}

static json_t *execute(struct jupyter_client *client, const struct jupyter_message *m)
{
    return queue(client, JUPYTER_EXECUTE, m);
}

static json_t *complete(struct jupyter_client *client, const struct jupyter_message *m)
{
    return queue(client, JUPYTER_COMPLETE, m);
}

static json_t *inspect(struct jupyter_client *client, const struct jupyter_message *m)
{
    return queue(client, JUPYTER_INSPECT, m);
}

static json_t *language_json(enum run_language language)
{
    static const struct {
        const char *version, *mime, *suffix, *mode;
    } facts[RUN_LANGUAGES] = {
        [RUN_PYTHON] = {BELLJAR_PYTHON, "text/x-python", ".py", "python"},
        [RUN_BASH] = {"5", "text/x-sh", ".sh", "shell"},
        [RUN_JAVASCRIPT] = {"", "text/javascript", ".js", "javascript"},
        [RUN_TYPESCRIPT] = {"", "text/typescript", ".ts", "typescript"},
    };

    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "name", languages[language].name, "version",
                     facts[language].version, "mimetype", facts[language].mime, "file_extension",
                     facts[language].suffix, "codemirror_mode", facts[language].mode,
                     "pygments_lexer", languages[language].name);
}

static json_t *tell_info(struct jupyter_client *client, const struct jupyter_message *m)
{
    (void)m;
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:s, s:[], s:b, s:[]}", "status", "ok", "protocol_version",
        JUPYTER_VERSION, "implementation", "belljar", "implementation_version", BELLJAR_VERSION,
        "language_info", language_json(client->kernel->language), "banner",
        "Belljar: a sandboxed kernel", "help_links", "debugger", 0, "supported_features");
}

static json_t *tell_comms(struct jupyter_client *client, const struct jupyter_message *m)
{
    (void)client;
    (void)m;
    return json_pack("{s:s, s:{}}", "status", "ok", "comms");
}

static json_t *tell_history(struct jupyter_client *client, const struct jupyter_message *m)
{
    (void)client;
    (void)m;
    return json_pack("{s:s, s:[]}", "status", "ok", "history");
}

/* The one parser of the language is in the kernel: clients then decide for themselves. */
static json_t *tell_complete(struct jupyter_client *client, const struct jupyter_message *m)
{
    (void)client;
    (void)m;
    return json_pack("{s:s}", "status", "unknown");
}

static json_t *interrupt(struct jupyter_client *client, const struct jupyter_message *m)
{
    (void)m;
    jupyter_kernel_interrupt(client->kernel);
    return json_pack("{s:s}", "status", "ok");
}

/* The session ends from the loop, after the answer. */
static json_t *shut_down(struct jupyter_client *client, const struct jupyter_message *m)
{
    bool restarts = flag(m->content, "restart", false);
    cleanup_error struct error ignored = {0};

    if (restarts)
        (void)jupyter_kernel_restart(client->kernel, &ignored);
    return json_pack("{s:s, s:b}", "status", "ok", "restart", (int)restarts);
}

static const struct row {
    const char *type, *reply;
    json_t *(*handle)(struct jupyter_client *client, const struct jupyter_message *m);
} rows[] = {
    {"execute_request", "execute_reply", execute},
    {"complete_request", "complete_reply", complete},
    {"inspect_request", "inspect_reply", inspect},
    {"kernel_info_request", "kernel_info_reply", tell_info},
    {"comm_info_request", "comm_info_reply", tell_comms},
    {"history_request", "history_reply", tell_history},
    {"is_complete_request", "is_complete_reply", tell_complete},
    {"interrupt_request", "interrupt_reply", interrupt},
    {"shutdown_request", "shutdown_reply", shut_down},
};

static bool ends_kernel(const struct row *row, const struct jupyter_message *m)
{
    return row->handle == shut_down && !flag(m->content, "restart", false);
}

static void handle_request(struct jupyter_client *client, const struct row *row,
                           const struct jupyter_message *m)
{
    struct jupyter_kernel *kernel = client->kernel;
    json_t *content = row->handle(client, m);

    if (!content)
        return; /* it is queued */
    jupyter_publish_state(kernel, "busy", m->header);
    jupyter_reply(client, m->channel, row->reply, m->header, content);
    jupyter_publish_state(kernel, "idle", m->header);
    if (ends_kernel(row, m))
        session_close(kernel->session, "its client shut it down");
}

/* Messages without a row, such as those of widgets, are ignored, as kernels do. */
static void handle(struct jupyter_client *client, const struct jupyter_message *m)
{
    const char *type = json_string_value(json_object_get(m->header, "msg_type"));
    const json_t *value = json_object_get(m->content, "value");
    struct jupyter_kernel *kernel = client->kernel;

    if (m->channel == JUPYTER_STDIN) {
        if (strcmp(type, "input_reply") == 0 && json_is_string(value) && kernel->is_running)
            jupyter_work_input(TAILQ_FIRST(&kernel->queue), json_string_value(value),
                               json_string_length(value));
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(rows) && m->channel != JUPYTER_IOPUB; i++)
        if (strcmp(rows[i].type, type) == 0) {
            handle_request(client, &rows[i], m);
            return;
        }
}

/* --- the connection --- */

static void let_go(struct jupyter_client *client)
{
    struct jupyter_work *work;

    (void)task_end(&client->reading);
    TAILQ_FOREACH(work, &client->kernel->queue, link)
        jupyter_work_forget(work, client);
    LIST_REMOVE(client, link);
    jupyter_message_done(&client->message);
    error_done(&client->err);
    free(client);
}

/* A cell goes on without it, and no longer waits for it to read, or to type. */
static void on_closed(void *user)
{
    struct jupyter_client *client = user;
    struct jupyter_kernel *kernel = client->kernel;
    struct jupyter_work *first = kernel->is_running ? TAILQ_FIRST(&kernel->queue) : NULL;
    struct call *input = first && first->client == client ? first->input : NULL;

    let_go(client);
    if (first)
        jupyter_work_hold(first);
    if (input)
        jupyter_work_input(first, NULL, 0);
}

void jupyter_client_end(struct jupyter_client *client, const char *why)
{
    struct websocket *socket = client->socket;

    let_go(client);
    websocket_close(socket, WEBSOCKET_NORMAL, why);
}

static void on_drained(void *user)
{
    struct jupyter_client *client = user;
    struct jupyter_kernel *kernel = client->kernel;

    client->is_behind = false;
    if (kernel->is_running)
        jupyter_work_hold(TAILQ_FIRST(&kernel->queue));
}

static void read_bytes(void *arg)
{
    struct jupyter_client *client = arg;

    client->result = jupyter_message_read(client->bytes.data, client->bytes.len, client->is_binary,
                                          &client->message, &client->err);
}

static void refuse(struct jupyter_client *client, int code, const char *why)
{
    struct websocket *socket = client->socket;

    on_closed(client);
    websocket_close(socket, code, why);
}

static void end_reading(void *arg)
{
    struct jupyter_client *client = arg;
    struct websocket *socket = client->socket;
    struct jupyter_message m = client->message;
    struct error err = {0};

    client->message = (struct jupyter_message){0};
    error_move(&err, &client->err);
    if (client->result < 0) {
        refuse(client, WEBSOCKET_BAD_DATA, error_message(&err));
    } else if (!route_is_still_known(client->request)) {
        refuse(client, WEBSOCKET_POLICY, "the token was removed");
    } else {
        handle(client, &m);
        websocket_next(socket); /* last: the next piece may be its end */
    }
    jupyter_message_done(&m);
    error_done(&err);
}

static void on_message(void *user, bool is_text, const char *data, size_t len)
{
    static const struct task_steps steps = {.work = read_bytes, .done = end_reading};
    struct jupyter_client *client = user;

    if (is_text == client->is_binary) {
        refuse(client, WEBSOCKET_POLICY,
               "texts without a subprotocol, binary messages with " JUPYTER_PROTOCOL);
        return;
    }
    client->bytes = (struct span){data, len};
    if (len > SLOW_BYTES) {
        client->reading.line = &client->caller->line;
        task_post(&client->reading, client->kernel->api->loop, &steps, client);
        return;
    }
    read_bytes(client);
    end_reading(client);
}

void jupyter_connect(struct request *request)
{
    const struct api *api = request->api;
    struct jupyter_kernel *kernel = jupyter_kernel_find(request, request->params[0]);
    bool is_binary = websocket_offers(request, JUPYTER_PROTOCOL);
    struct jupyter_client *client;
    struct websocket_options options = {
        .loop = api->loop,
        .line = &request->caller->line,
        .max_message = JUPYTER_MESSAGE_BYTES,
        .idle_ms = (uint64_t)(api->config->http_idle_s * 1000),
        .protocol = is_binary ? JUPYTER_PROTOCOL : NULL,
        .on_message = on_message,
        .on_drained = on_drained,
        .on_closed = on_closed,
    };
    struct error err = {0};

    if (!kernel) {
        error_set(&err, E_NOT_FOUND, "there is no such kernel");
        jupyter_answer_error(request, &err);
        return;
    }
    if (!websocket_is_asked(request))
        return;
    client = calloc(1, sizeof(*client));
    if (!client) {
        error_memory(&err);
        jupyter_answer_error(request, &err);
        return;
    }
    client->kernel = kernel;
    client->request = request;
    client->caller = request->caller;
    client->is_binary = is_binary;
    options.user = client;
    client->socket = websocket_accept(request, &options);
    if (!client->socket) {
        free(client);
        return;
    }
    LIST_INSERT_HEAD(&kernel->clients, client, link);
    jupyter_publish_state(kernel, kernel->is_running ? "busy" : "idle", NULL);
}
