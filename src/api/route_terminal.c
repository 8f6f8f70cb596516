/* The terminal of a command on a WebSocket, for browsers: bytes in binary messages, the rest in
 * JSON.
 *
 * The client sends keys, `resize` and `signal`. It gets `start`, the output from the byte that it
 * asks for on, or the last of it, `dropped` where bytes are not kept any more, and `exit` or
 * `error`. A client that does not read holds the command, as a slow terminal does; one that leaves
 * does not end it.
 */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/credential.h"
#include "api/terminal_size.h"
#include "base/cleanup.h"
#include "base/error_json.h"
#include "base/json.h"
#include "http/websocket.h"

#define PROTOCOL       "belljar.terminal"
#define TOKEN_PROTOCOL "belljar.token."

/* One message of a client. */
#define MESSAGE_BYTES ((size_t)64 * KIB)

/* Of what was printed before a client came. */
#define AGAIN_BYTES ((uint64_t)64 * KIB)

/* Of one command, at once. */
#define CLIENTS_MAX 8

struct terminal_client {
    struct api *api;
    struct request *request;
    struct websocket *socket;
    struct job_reader *reader;
    struct job *job;
};

/* clang-format off */
static const struct schema_field query_fields[] = {
    {"after", SCHEMA_INTEGER, .min = 0, .max = 1e15,
     .help = "bytes of output that you have; without it, the last 64 KiB come again"},
    {0},
};

static const struct schema_field message_fields[] = {
    {"type", SCHEMA_STRING, .is_required = true, .choices = "resize,signal", .help = "what it is"},
    {"cols", SCHEMA_INTEGER, .min = 1, .max = TERMINAL_SIDE_MAX, .help = "of `resize`"},
    {"rows", SCHEMA_INTEGER, .min = 1, .max = TERMINAL_SIDE_MAX, .help = "of `resize`"},
    {"signal", SCHEMA_STRING, .max_len = 16, .help = "of `signal`"},
    {0},
};
/* clang-format on */

/* --- who asks --- */

/* A browser sends the token as a subprotocol. */
static int identify(struct request *request, struct caller **ret_caller, struct error *err)
{
    struct span token = credential_of_headers(request);

    if (!token.data)
        token = credential_of_protocol(request, TOKEN_PROTOCOL);
    return credential_check(request, token, ret_caller, err);
}

/* --- what the client gets --- */

/* False: it is behind. */
static bool send_json(struct terminal_client *client, json_t *value)
{
    cleanup(buf_done) struct buf text = BUF_OF(64 * KIB);
    bool has_room = true;

    if (value && json_text_dump(value, JSON_TEXT_COMPACT, &text, NULL) == 0)
        has_room = websocket_send(client->socket, true, buf_str(&text), text.len);
    json_decref(value);
    return has_room;
}

static void send_error(struct terminal_client *client, struct error *err)
{
    json_t *value = error_json(err, HINT_FOR_HTTP);

    (void)json_object_set_new(value, "type", json_string("error"));
    (void)send_json(client, value);
    error_done(err);
}

static bool on_piece(void *user, const struct job_piece *piece)
{
    struct terminal_client *client = user;

    if (piece->is_stderr) /* of one that could not be started */
        return true;
    if (piece->dropped)
        (void)send_json(client, json_pack("{s:s, s:I}", "type", "dropped", "bytes",
                                          (json_int_t)piece->dropped));
    return websocket_send(client->socket, false, piece->data, piece->len);
}

static void close_socket(struct terminal_client *client, int code, const char *why)
{
    struct websocket *socket = client->socket;

    if (client->reader)
        job_reader_free(client->reader);
    free(client);
    websocket_close(socket, code, why);
}

/* The error of a run that failed is its whole answer. */
static json_t *failure_json(const struct job *job)
{
    static const struct json_text_limits limits = {.bytes = MIB, .depth = 16};
    const char *text;
    size_t len;
    int status;
    json_t *value = NULL;

    text = job_answer(job, &len, &status);
    if (!text || status == 200 || json_text_load(text, len, &limits, &value, NULL) < 0)
        value = json_object();
    (void)json_object_set_new(value, "type", json_string("error"));
    return value;
}

static void tell_end(struct terminal_client *client, const struct job *job)
{
    const char *end = job_outcome(job);

    (void)send_json(client, strcmp(end, "failed") == 0
                                ? failure_json(job)
                                : json_pack("{s:s, s:s, s:i}", "type", "exit", "status", end,
                                            "exit_code", job_exit_code(job)));
    close_socket(client, WEBSOCKET_NORMAL, "the command has ended");
}

static void on_end(void *user, struct job *job)
{
    struct terminal_client *client = user;

    client->reader = NULL;
    tell_end(client, job);
}

static void on_lost(void *user, struct job *job)
{
    struct terminal_client *client = user;

    (void)job;
    client->reader = NULL;
    close_socket(client, WEBSOCKET_GOING_AWAY, "the command was forgotten");
}

/* --- what the client sends --- */

static void on_drained(void *user)
{
    struct terminal_client *client = user;

    if (client->reader)
        job_reader_go_on(client->reader);
}

static void on_closed(void *user)
{
    struct terminal_client *client = user;

    if (client->reader)
        job_reader_free(client->reader);
    free(client);
}

static int resize(const struct terminal_client *client, const json_t *message, struct error *err)
{
    uint16_t columns = terminal_side(message, "cols"), rows = terminal_side(message, "rows");

    if (!columns || !rows)
        return error_set(err, E_INVALID, "`resize`: expected `cols` and `rows`");
    return job_resize(client->job, columns, rows, err);
}

static int send_signal(const struct terminal_client *client, const json_t *message,
                       struct error *err)
{
    const char *name = json_string_value(json_object_get(message, "signal"));
    int sig = name ? api_signal_of(name) : 0;

    if (!sig)
        return error_set(err, E_INVALID, "`signal`: expected " API_SIGNALS);
    return job_signal(client->job, sig, err);
}

static int obey(const struct terminal_client *client, const char *data, size_t len,
                struct error *err)
{
    static const struct json_text_limits limits = {.bytes = MESSAGE_BYTES, .depth = 8};
    cleanup_json json_t *message = NULL;
    const char *type;

    if (json_text_load(data, len, &limits, &message, err) < 0)
        return -1;
    if (!json_is_object(message))
        return error_set(err, E_INVALID, "expected a JSON object");
    if (schema_check(message_fields, message, err) < 0)
        return -1;
    type = json_string_value(json_object_get(message, "type"));
    return strcmp(type, "resize") == 0 ? resize(client, message, err)
                                       : send_signal(client, message, err);
}

/* Input after the end of the command, or more than that reads, is a mistake and not the
 * end of the connection. */
static void on_message(void *user, bool is_text, const char *data, size_t len)
{
    struct terminal_client *client = user;
    struct error err = {0};
    int r;

    if (!route_is_still_known(client->request)) {
        close_socket(client, WEBSOCKET_POLICY, "the token was removed");
        return;
    }
    r = is_text ? obey(client, data, len, &err) : job_input(client->job, data, len, false, &err);
    if (r < 0)
        send_error(client, &err);
    websocket_next(client->socket); /* last: the next piece may be its end */
}

/* --- the connection --- */

static int check_terminal(const struct job *job, struct error *err)
{
    if (!job_has_terminal(job)) {
        error_set(err, E_INVALID, "the command has no terminal");
        return error_hint(err, "start it with `pty`; others are followed as events");
    }
    if (job_count_readers(job) >= CLIENTS_MAX) {
        error_set(err, E_BUSY, "%d clients follow this command already", CLIENTS_MAX);
        return error_hint(err, "close one of them");
    }
    return 0;
}

/* The byte from which it goes on reading. */
static uint64_t begin_of(const struct request *request, const struct job *job)
{
    const json_t *after = json_object_get(request->query, "after");
    uint64_t total = job_run(job) ? job_run(job)->result.out.total : 0;

    if (after)
        return (uint64_t)json_integer_value(after) < total ? (uint64_t)json_integer_value(after)
                                                           : total;
    return total > AGAIN_BYTES ? total - AGAIN_BYTES : 0;
}

static void begin(struct terminal_client *client)
{
    const struct job_reader_to to = {
        .line = &client->request->caller->line,
        .holds = true,
        .on_piece = on_piece,
        .on_end = on_end,
        .on_lost = on_lost,
        .user = client,
    };
    const uint64_t after[2] = {begin_of(client->request, client->job), 0};
    struct error err = {0};

    (void)send_json(client, json_pack("{s:s, s:s, s:I}", "type", "start", "id", job_id(client->job),
                                      "offset", (json_int_t)after[0]));
    if (!job_run(client->job)) {
        tell_end(client, client->job);
        return;
    }
    client->reader = job_reader_new(client->job, &to, after, &err);
    if (client->reader)
        return;
    error_done(&err);
    close_socket(client, WEBSOCKET_TRY_LATER, "out of memory");
}

static void connect_terminal(struct request *request)
{
    struct api *api = request->api;
    struct job *job = api_find_command(request);
    struct terminal_client *client;
    struct websocket_options options = {
        .loop = api->loop,
        .max_message = MESSAGE_BYTES,
        .idle_ms = (uint64_t)(api->config->http_idle_s * 1000),
        .on_message = on_message,
        .on_drained = on_drained,
        .on_closed = on_closed,
    };
    struct error err = {0};

    if (!job)
        return;
    if (check_terminal(job, &err) < 0) {
        request_answer_error(request, &err);
        return;
    }
    if (!websocket_is_asked(request))
        return;
    client = calloc(1, sizeof(*client));
    if (!client) {
        error_memory(&err);
        request_answer_error(request, &err);
        return;
    }
    *client = (struct terminal_client){.api = api, .request = request, .job = job};
    options.protocol = websocket_offers(request, PROTOCOL) ? PROTOCOL : NULL;
    options.line = &request->caller->line;
    options.user = client;
    client->socket = websocket_accept(request, &options);
    if (!client->socket)
        free(client);
    else
        begin(client);
}

/* clang-format off */
const struct route api_terminal_routes[] = {
    {"GET", "/v1/sessions/{session}/commands/{command}/terminal", connect_terminal,
     .query = query_fields, .identify = identify, .status = 101, .tag = "commands",
     .summary = "the terminal of a command, on a WebSocket"},
    {0},
};
/* clang-format on */
