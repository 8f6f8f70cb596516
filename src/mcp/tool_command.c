/* Commands beside the code of a session: servers, watchers, long builds. One tool for all that is
 * done with them, in no list. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/stream.h"
#include "mcp/tools.h"

/* Of one stream that is shown at once. */
#define SHOWN_BYTES ((size_t)32 * KIB)

#define LISTED_MAX 32

/* --- starting --- */

static int make_run(struct mcp_call *call, struct session *session, const char *command,
                    struct run **ret_run, struct error *err)
{
    cleanup(run_request_done) struct run_request asked = {.is_input_open = true, .input = {"", 0}};
    struct admission admission = mcp_admission(call);
    const json_t *timeout = json_object_get(call->arguments, "timeout_s");
    double long_s = mcp_long_s(call);

    admission.session = session;
    admission.may_keep = true; /* the record of its changes */
    if (timeout || long_s > 0) /* nobody waits for it */
        run_request_set_limit(&asked, RUN_LIMIT_ROW_timeout_s,
                              timeout ? json_number_value(timeout) : long_s);
    if (api_read_line(command, strlen(command), &asked, err) < 0)
        return -1;
    return admit_request(&admission, &asked, ret_run, err);
}

static void start(struct mcp_call *call, struct session *session, const char *command)
{
    struct api *api = mcp_host_of(call)->api;
    struct job_order order = {
        .session = session, .owner = call->owner, .caller = call->caller, .is_detached = true};
    struct job *job = NULL;
    struct error err = {0};
    unsigned retry_s = 0;
    char text[256];

    if (make_run(call, session, command, &order.run, &err) < 0 ||
        jobs_start(api->jobs, &order, &retry_s, &job, &err) < 0) {
        mcp_call_fail(call, &err);
        return;
    }
    (void)snprintf(text, sizeof(text),
                   "[running] command_id %s; it goes on beside your code. Call this tool with the "
                   "id to read its output.",
                   job_id(job));
    mcp_call_answer_text(call, text, false);
}

/* --- looking --- */

static void add_text(struct buf *out, const char *title, const char *text, size_t len)
{
    if (!len)
        return;
    if (title)
        (void)buf_printf(out, NULL, "[%s]\n", title);
    (void)mcp_add_words(out, text, len, MCP_WORDS_LINES);
    if (buf_str(out)[out->len - 1] != '\n')
        (void)buf_add_str(out, "\n", NULL);
}

/* The bytes behind `after`: at most the last of them. */
static void add_stream(struct buf *out, const char *title, const struct run_stream *stream,
                       uint64_t after)
{
    char data[SHOWN_BYTES];
    uint64_t begin = stream->total > SHOWN_BYTES ? stream->total - SHOWN_BYTES : 0, at;
    size_t len;

    at = after > begin ? after : begin;
    if (at > stream->total)
        at = stream->total;
    if (at > after)
        (void)buf_printf(out, NULL, "… [%llu bytes omitted] …\n", (unsigned long long)(at - after));
    len = run_stream_read(stream, &at, data, sizeof(data));
    add_text(out, title, data, len);
}

static void show_running(struct mcp_call *call, const struct job *job, uint64_t after)
{
    cleanup(buf_done) struct buf text = BUF_OF(8 * SHOWN_BYTES);
    const struct run_result *result = &job_run(job)->result;

    add_stream(&text, NULL, &result->out, after);
    add_stream(&text, "stderr", &result->err, 0);
    (void)buf_printf(&text, NULL, "[running] %llu bytes of stdout so far; `after` leaves out those",
                     (unsigned long long)result->out.total);
    mcp_call_answer(call, mcp_text_result(buf_str(&text), text.len, false));
}

/* Its whole answer is kept as that of a run is. */
static void show_end(struct mcp_call *call, const struct job *job)
{
    static const struct json_text_limits limits = {.bytes = 64 * MIB, .depth = 32};
    cleanup(buf_done) struct buf text = BUF_OF(64 * MIB);
    cleanup_json json_t *answer = NULL;
    size_t len;
    int status;
    const char *body = job_answer(job, &len, &status);
    const json_t *out, *err_text, *failure;
    struct error err = {0};

    if (!body || json_text_load(body, len, &limits, &answer, &err) < 0) {
        mcp_call_fail(call, &err);
        return;
    }
    out = json_object_get(answer, "stdout");
    err_text = json_object_get(answer, "stderr");
    failure = json_object_get(json_object_get(answer, "error"), "message");
    (void)buf_printf(&text, NULL, "[%s, exit %d]\n", job_outcome(job), job_exit_code(job));
    if (json_is_string(out))
        add_text(&text, NULL, json_string_value(out), json_string_length(out));
    if (json_is_string(err_text))
        add_text(&text, "stderr", json_string_value(err_text), json_string_length(err_text));
    if (json_is_string(failure))
        add_text(&text, "why", json_string_value(failure), json_string_length(failure));
    mcp_call_answer(call, mcp_text_result(buf_str(&text), text.len, false));
}

static void list(struct mcp_call *call, const char *session)
{
    const struct api *api = mcp_host_of(call)->api;
    const struct job_filter filter = {.session = session, .is_command = true};
    cleanup_json json_t *jobs = jobs_list(api->jobs, call->owner, &filter, LISTED_MAX);
    cleanup(buf_done) struct buf text = BUF_OF(64 * KIB);
    const json_t *job;
    size_t i;

    json_array_foreach(jobs, i, job)
    {
        (void)buf_printf(&text, NULL, "%s %s: ", json_string_value(json_object_get(job, "id")),
                         json_string_value(json_object_get(job, "state")));
        (void)mcp_add_words(&text, json_string_value(json_object_get(job, "code")),
                            json_string_length(json_object_get(job, "code")), MCP_WORDS_INSIDE);
        (void)buf_add_str(&text, "\n", NULL);
    }
    if (!text.len)
        (void)buf_add_str(&text, "no commands in this session", NULL);
    mcp_call_answer(call, mcp_text_result(buf_str(&text), text.len, false));
}

/* --- one that there is --- */

static int act(const struct mcp_call *call, struct job *job, struct error *err)
{
    const json_t *input = json_object_get(call->arguments, "input");

    if (json_is_true(json_object_get(call->arguments, "kill")))
        job_cancel(job);
    else if (input)
        return job_input(job, json_string_value(input), json_string_length(input), false, err);
    return 0;
}

static void handle_one(struct mcp_call *call, const char *session, const char *id)
{
    const struct api *api = mcp_host_of(call)->api;
    const json_t *after = json_object_get(call->arguments, "after");
    struct error err = {0};
    struct job *job = jobs_find_command(api->jobs, call->owner, session, id, &err);

    if (!job || act(call, job, &err) < 0)
        mcp_call_fail(call, &err);
    else if (job_run(job))
        show_running(call, job, (uint64_t)json_integer_value(after));
    else
        show_end(call, job);
}

static void handle(struct mcp_call *call)
{
    const char *command = json_string_value(json_object_get(call->arguments, "command"));
    const char *id = json_string_value(json_object_get(call->arguments, "command_id"));
    struct error err = {0};
    struct session *session = mcp_session_need(call, &err);
    struct session_info info;

    if (session && command && id)
        error_set(&err, E_INVALID, "expected `command` or `command_id`, not both");
    if (err.code != E_NONE) {
        mcp_call_fail(call, &err);
        return;
    }
    session_info(session, &info);
    if (command)
        start(call, session, command);
    else if (id)
        handle_one(call, info.id, id);
    else
        list(call, info.id);
}

/* clang-format off */
static const struct schema_field fields[] = {
    {"command", SCHEMA_STRING, .max_len = LIMIT_COMMAND_BYTES / 2, .example = "\"npm run dev\"",
     .help = "starts this line of Bash"},
    {"command_id", SCHEMA_STRING, .max_len = 64, .help = "one that was started: its output"},
    {"after", SCHEMA_INTEGER, .min = 0, .max = 1e15, .help = "bytes of stdout you have"},
    {"input", SCHEMA_STRING, .max_len = MIB, .help = "what it reads next"},
    {"kill", SCHEMA_BOOLEAN, .help = "end it"},
    API_TIMEOUT_FIELD,
    MCP_SESSION_FIELD,
    MCP_TOKENS_FIELD,
    {0},
};

const struct mcp_tool mcp_tool_command = {
    .name = "session_command",
    .title = "Commands beside the code",
    .description = "Start a command that goes on beside your code (a server, a watcher), read its output, "
                   "give it input, kill it; without arguments, list them.",
    .input = fields,
    .call = handle,
};
/* clang-format on */
